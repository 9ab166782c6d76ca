"""Numbers written by C are the text that Python's repr gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dressage.native.text import native_lines
from dressage.runs.writer import metrics_lines

RANDOM = np.random.default_rng(0)
BITS = RANDOM.integers(0, 2**64, 50_000, dtype=np.uint64).view(np.float64)
SIZES = 10.0 ** RANDOM.integers(-20, 25, 20_000)
EDGES = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308]
CELLS: dict[str, list[Any]] = {
    "any bits": BITS.tolist(),
    "of a size": (RANDOM.standard_normal(20_000) * SIZES).tolist(),
    "of few digits": np.round(RANDOM.standard_normal(20_000) * 1000, 3).tolist(),
    "single precision": RANDOM.random(20_000).astype(np.float32).astype(float).tolist(),
    "powers of two": [2.0**e for e in range(-1074, 1024)],
    "powers of ten": [float(f"1e{e}") for e in range(-323, 309)],
    "around exponents": [1e15, 1e16, 9999999999999998.0, 1e-4, 1e-5, 123456.0, 9.999e-5],
    "edges": EDGES,
    "whole and absent": [1, 0, -5, None, 2**53 - 1, 1 - 2**53, 0.5, None],
    "left to Python": [1, 2**53, 10**400, True, np.float64(0.1), np.int64(3), None],
}


@pytest.mark.parametrize("kind", CELLS)
def test_text_is_that_of_repr(kind: str) -> None:
    cells = CELLS[kind]
    for rows in ([cells], [[cell] for cell in cells], [cells, cells[::-1]]):
        assert native_lines(rows) == metrics_lines(rows)

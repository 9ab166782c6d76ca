"""Every algorithm keeps the promises of the conformance suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from dressage import conformance
from dressage.algos import ALGORITHMS

PAIRS = [(algo, case) for algo in ALGORITHMS for case in conformance.cases(algo)]


@pytest.mark.parametrize(("algo", "case"), PAIRS, ids=[f"{a}-{c}" for a, c in PAIRS])
def test_case(algo: str, case: conformance.Case, tmp_path: Path) -> None:
    conformance.check_case(algo, case, tmp_path)


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_fresh_process(algo: str, tmp_path: Path) -> None:
    conformance.check_fresh_process(algo, tmp_path)


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_saved_part_matters(algo: str, tmp_path: Path) -> None:
    tried = conformance.check_saved_parts(algo, tmp_path)
    # the suite must have looked at each of these, or it proves less than it says
    for part in ("policy/weights", "optimizer/moments", "collector/carry", "collector/trace/"):
        assert part in tried
    for part in ("clock/iterations", "collector/vector_steps", "recorder/totals", "clock/best"):
        assert part in tried
    for part in ("policy/normalizer/obs/mean", "collector/normalizer/reward/discounted"):
        assert part in tried
    assert ("memory/epochs" in tried) == (algo == "ppo")  # the others use a rollout whole, once


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_seed_in_a_group_equals_it_alone(algo: str, tmp_path: Path) -> None:
    conformance.check_group(algo, tmp_path)

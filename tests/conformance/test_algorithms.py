"""Every algorithm keeps the promises of the conformance suite."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dressage import conformance
from dressage.algos import ALGORITHMS, load_algorithm

TORCH_ONLY = ("gru", "lstm", "image", "dict-observation")  # recurrent, or with an image
NATIVE: dict[str, dict[str, Any]] = {
    algo: {"engine": "native"} for algo in ALGORITHMS if load_algorithm(algo).NEEDS.native
}
NATIVE["rainbow"]["noisy"] = False  # such layers are torch's
PAIRS = [
    (algo, case, settings["engine"])
    for algo in ALGORITHMS
    for settings in ({"engine": "torch"}, *([NATIVE[algo]] if algo in NATIVE else []))
    for case in conformance.cases(algo, settings)
    if settings["engine"] == "torch" or not any(word in case.name for word in TORCH_ONLY)
]
# One of each kind in the default suite; the costly checks of the rest are `make test-conformance`.
EVERY_DAY = ("ppo", "dqn", "q_learning", "sac", "recurrent_td3")


def some(names: Iterable[str]) -> list[Any]:
    long = pytest.mark.long_conformance
    return [name if name in EVERY_DAY else pytest.param(name, marks=long) for name in names]


@pytest.mark.parametrize(
    ("algo", "case", "engine"),
    PAIRS,
    ids=[f"{algo}-{case}-{engine}" for algo, case, engine in PAIRS],
)
def test_case(algo: str, case: conformance.Case, engine: str, tmp_path: Path) -> None:
    conformance.check_case(algo, case, tmp_path)


@pytest.mark.parametrize("algo", some(ALGORITHMS))
def test_fresh_process(algo: str, tmp_path: Path) -> None:
    conformance.check_fresh_process(algo, tmp_path)


@pytest.mark.parametrize("algo", some(ALGORITHMS))
def test_every_saved_part_matters(algo: str, tmp_path: Path) -> None:
    tried = conformance.check_saved_parts(algo, tmp_path)
    # the suite must have looked at each of these, or it proves less than it says
    for part in ("policy/weights", "collector/trace/"):
        assert part in tried
    needs = load_algorithm(algo).NEEDS
    assert ("optimizer/moments" in tried) == (not needs.tabular)
    remembers = needs.recurrent or algo == "bootstrapped_dqn"  # which of its heads acts
    assert ("collector/carry" in tried) == remembers
    for part in ("clock/iterations", "collector/vector_steps", "recorder/totals", "clock/best"):
        assert part in tried
    assert "collector/normalizer/reward/discounted" in tried
    assert ("policy/normalizer/obs/mean" in tried) == (not needs.tabular)
    assert ("memory/epochs" in tried) == (algo == "ppo")  # the others use a rollout whole, once
    assert ("memory/draws" in tried) == (needs.feed == "replay" and not needs.tabular)


@pytest.mark.parametrize("algo", some(NATIVE))
def test_every_saved_part_of_a_native_run_matters(algo: str, tmp_path: Path) -> None:
    tried = conformance.check_saved_parts(algo, tmp_path, NATIVE[algo] | {"recurrent": "none"})
    for part in ("policy/weights", "optimizer/moments", "collector/trace/", "clock/iterations"):
        assert part in tried
    assert ("memory/priorities" in tried) == (algo == "rainbow")


@pytest.mark.parametrize("algo", some(NATIVE))
def test_a_seed_of_a_native_group_equals_it_alone(algo: str, tmp_path: Path) -> None:
    conformance.check_group(algo, tmp_path, NATIVE[algo] | {"recurrent": "none"})


@pytest.mark.parametrize("algo", some(ALGORITHMS))
def test_a_seed_in_a_group_equals_it_alone(algo: str, tmp_path: Path) -> None:
    conformance.check_group(algo, tmp_path)

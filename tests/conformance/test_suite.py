"""The suite itself: it passes a sound algorithm of one's own and catches unsound ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from dressage import conformance

SOUND = """
from dressage.algos import a2c
from dressage.algos.a2c import *

Config, NEEDS, update = a2c.Config, a2c.NEEDS, a2c.update
"""
# Counts its updates where nobody saves the count.
FORGETFUL = (
    SOUND
    + """
def update(learner, memory, rng, cfg):
    learner.seen = getattr(learner, "seen", 0) + 1
    return a2c.update(learner, memory, rng, cfg.model_copy(update={"vf_coef": 1 / learner.seen}))
"""
)
BOASTFUL = (
    SOUND
    + """
import dataclasses

NEEDS = dataclasses.replace(a2c.NEEDS, metrics=(*a2c.NEEDS.metrics, "train/loss/td"))
"""
)
SECRETIVE = (
    SOUND
    + """
def update(learner, memory, rng, cfg):
    return a2c.update(learner, memory, rng, cfg) | {"train/loss/secret": 1.0}
"""
)
# Draws from a generator that is not the run's.
RANDOM = (
    SOUND
    + """
import numpy

def act(learner, obs, carry, mask, noise):
    acted = a2c.act(learner, obs, carry, mask, noise)
    return acted._replace(action=acted.action + numpy.random.default_rng().random())
"""
)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder of algorithms outside the package; named as `own_algos_….<name>`."""
    package = f"own_algos_{tmp_path.name.replace('-', '_')}"
    (tmp_path / package).mkdir()
    for name in ("SOUND", "FORGETFUL", "BOASTFUL", "SECRETIVE", "RANDOM"):
        (tmp_path / package / f"{name.lower()}.py").write_text(globals()[name])
    monkeypatch.syspath_prepend(str(tmp_path))
    return package


def case(algo: str, name: str) -> conformance.Case:
    return next(one for one in conformance.cases(algo) if one.name == name)


def test_a_sound_one_passes(own: str, tmp_path: Path) -> None:
    algo = f"{own}.sound"
    conformance.check_case(algo, case(algo, "gru"), tmp_path / "runs")


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("forgetful", "discrete", "stopped and resumed differs"),
        ("boastful", "discrete", "declares .'train/loss/td'."),
        ("secretive", "discrete", "train/loss/secret"),
        ("random", "continuous", "policy from disk"),
    ],
)
def test_an_unsound_one_is_caught(
    own: str, tmp_path: Path, name: str, kind: str, words: str
) -> None:
    algo = f"{own}.{name}"
    with pytest.raises(AssertionError, match=words):
        conformance.check_case(algo, case(algo, kind), tmp_path / "runs")


def test_all_failures_are_told_at_once(
    own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance, "CASES", conformance.CASES[:2])
    for check in ("check_fresh_process", "check_saved_parts", "check_group"):
        monkeypatch.setattr(conformance, check, lambda *args: None)
    passed = conformance.check_algorithm(f"{own}.sound", tmp_path / "a")
    assert passed == ["discrete", "discrete-normalised", *passed[2:]]
    assert len(passed) == 5
    with pytest.raises(AssertionError, match="fails 2 of 5 checks"):
        conformance.check_algorithm(f"{own}.secretive", tmp_path / "b")


def test_cases_follow_what_an_algorithm_can() -> None:
    names = {str(one) for one in conformance.cases("ppo")}
    assert {"discrete", "continuous", "hybrid-dict", "masked", "masked-lstm", "image"} <= names
    assert all(one.settings["gamma"] == 0.5 for one in conformance.cases("ppo", {"gamma": 0.5}))

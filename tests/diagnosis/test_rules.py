"""Every rule says what it is, fires on what it is for, and stays quiet on what looks alike."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import numpy as np
import pytest
import rule_cases_configuration
import rule_cases_environment
import rule_cases_optimisation
import rule_cases_progress
import rule_cases_value
from rule_views import FLAT, STEPS, view

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.rule import FAMILIES
from dressage.runs.metrics import SOURCES, describe
from dressage.runs.view import Series

HEADINGS = (
    "Why it hurts",
    "Evidence",
    "Threshold and source",
    "Prescription",
    "Known false alarms",
    "References",
)
PLAIN_SOURCES = (
    "guess",
    "arithmetic",
    "by construction",
    "rounding of float32",
    "rlwatch",
    "our labelled runs, 2026-11-16",
    "our labelled runs, 2026-11-17",
    "our labelled runs, 2026-11-18",
)
CASES = {
    **rule_cases_configuration.CASES,
    **rule_cases_environment.CASES,
    **rule_cases_optimisation.CASES,
    **rule_cases_progress.CASES,
    **rule_cases_value.CASES,
}


@pytest.mark.parametrize("id", all_rules())
def test_what_a_rule_says_of_itself(id: str) -> None:
    rule = all_rules()[id]
    text = inspect.getdoc(type(rule)) or ""
    places = [text.find(f"\n{heading}\n") for heading in HEADINGS]
    assert all(place > 0 for place in places) and places == sorted(places)
    assert rule.family in FAMILIES and inspect.getfile(type(rule)).split("/")[-2] == rule.family
    assert Path(inspect.getfile(type(rule))).stem.replace("_", "-") == rule.name
    for cause, chance in rule.expected.items():
        assert cause in CAUSES or cause == HEALTHY
        assert 0.0 < chance < 1.0
    for name in (*rule.needs, *(either for either in rule.either if "/" in either)):
        describe(name)
    for threshold in rule.thresholds.values():
        assert threshold.source in {*SOURCES, *PLAIN_SOURCES}


def test_every_rule_has_a_case() -> None:
    """Those that open checkpoints are tried on files, elsewhere."""
    assert {id for id, rule in all_rules().items() if rule.family != "checkpoint"} == set(CASES)


@pytest.mark.parametrize("id", CASES)
def test_a_rule_fires_and_stays_quiet(id: str) -> None:
    rule, (ill, well) = all_rules()[id], CASES[id]
    assert rule.can_see(ill)
    found = rule.check(ill)
    assert found is not None and found.rule == id
    assert found.says.endswith(".") and any(c.isdigit() for c in found.says)
    assert rule.check(well) is None


def test_every_cause_is_expected_by_a_rule() -> None:
    speak = {
        cause: [id for id, rule in all_rules().items() if rule.expected.get(cause, 0) >= 0.3]
        for cause in CAUSES
    }
    assert [cause for cause, rules in speak.items() if not rules] == []


@pytest.mark.parametrize("id", all_rules())
def test_a_rule_needs_what_it_looks_at(id: str) -> None:
    rule = all_rules()[id]
    empty = view()
    if rule.needs or rule.settings or rule.either:
        assert not rule.can_see(empty)
    assert rule.look(empty)[1] is None


def test_a_short_log_is_no_sign_of_health() -> None:
    rule = all_rules()["PRO003"]
    short = view(ep_rew_mean=FLAT)
    curve = short.series["train/roll/ep_rew_mean"]
    assert rule.look(short) == (True, None)
    few = {"train/roll/ep_rew_mean": Series(curve.env_steps[:4], curve.values[:4])}
    short = dataclasses.replace(short, series=short.series | few)
    assert rule.look(short) == (False, None)


def test_a_rule_that_stands_in_leaves_the_field_to_gradients() -> None:
    rule = all_rules()["OPT048"]
    assert rule.can_see(view(kl_divergence=2e-4))
    assert not rule.can_see(view(kl_divergence=2e-4, **{"train/metrics/grad_norm/policy": 0.1}))


def test_an_overshoot_is_told_of_one_row() -> None:
    """The KL divergence of another row is not that of the row with most ratios clipped."""
    clipped, kl = np.where(STEPS < 1500, 0.7, 0.4), np.where(STEPS < 1500, 4.0, 18.0)
    found = all_rules()["OPT031"].check(view(clip_fraction=clipped, kl_divergence=kl))
    assert found is not None
    assert found.says == "70% of the ratios are clipped at 1,000 env steps, at a KL of 4."


@pytest.mark.parametrize(
    ("change", "says"),
    [(-5.0, "no nearer to the 475"), (-0.1, "no nearer to the 475"), (50.0, "11% of the way")],
)
def test_how_far_from_solved_is_told_in_words(change: float, says: str) -> None:
    curve = np.linspace(20.0, 20.0 + change, len(STEPS))
    found = all_rules()["PRO009"].check(view(ep_rew_mean=curve, threshold=475.0))
    assert found is not None and says in found.says and "-" not in found.says

"""What is told of rules and causes comes from their files, whole."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.pages import HEADINGS, page, rule_named, rules_of
from dressage.diagnosis.registry import all_rules
from dressage.runs.metrics import SOURCES
from dressage.ui.glossary import entries


@pytest.mark.parametrize("id", all_rules())
def test_every_rule_is_told_in_full(id: str) -> None:
    told = page(all_rules()[id])
    assert tuple(told.sections) == HEADINGS
    assert told.title.endswith(".") and all(told.sections.values())
    assert told.speaks_for == sorted(told.speaks_for, key=lambda pair: -pair[1])
    (entry,) = [e for e in entries(id) if e["kind"] == "rule"]
    assert entry["meaning"] == told.title


def test_a_rule_is_found_by_id_and_name() -> None:
    rule = all_rules()["OPT001"]
    assert rule_named("opt001") is rule_named("kl-too-large") is rule
    assert rule_named("kl") is None


def test_causes_name_the_rules_that_speak_for_them() -> None:
    for cause in CAUSES:
        (entry,) = [e for e in entries(cause) if e["kind"] == "cause"]
        assert list(entry["rules"]) == [rule.id for rule, _ in rules_of(cause)]
    assert rules_of("lr-too-high")[0][1] >= rules_of("lr-too-high")[-1][1]


def test_the_command_explains_rules_and_causes() -> None:
    from dressage.ui.cli.app import app

    rule = CliRunner().invoke(app, ["explain", "OPT001"])
    assert rule.exit_code == 0 and "Threshold and source" in rule.stdout
    cause = CliRunner().invoke(app, ["explain", "lr-too-high"])
    assert cause.exit_code == 0 and "shows as" in cause.stdout


MARK = re.compile(r"\[([A-Z]{2,3}|37)(?:, [A-Z0-9]{2,3})*\]")


@pytest.mark.parametrize("id", all_rules())
def test_letters_in_brackets_are_told(id: str) -> None:
    told = page(all_rules()[id])
    marks = MARK.findall(" ".join(told.sections.values()))
    assert set(marks) <= SOURCES.keys()
    assert set(marks) <= told.sources.keys() <= SOURCES.keys()


def test_the_command_tells_what_letters_stand_for() -> None:
    from dressage.ui.cli.app import app

    def said(word: str) -> str:
        return " ".join(CliRunner().invoke(app, ["explain", word]).stdout.split())

    for word in ("OPT001", "train/metrics/kl_divergence"):
        assert "[GS]: gymnasium-solver's alerts" in said(word)
        assert "[37]: “The 37 implementation details of PPO”" in said(word)
        assert "[AJ]" not in said(word)
    (entry,) = [e for e in entries("OPT001") if e["kind"] == "rule"]
    assert entry["sources"]["GS"] == "gymnasium-solver's alerts"
    assert "[" not in said("env_steps").partition("metric")[2].partition("Config")[0]


@pytest.mark.parametrize("id", all_rules())
def test_counts_of_environments_are_whole(id: str) -> None:
    """An environment counts by the share of its runs: shares are told in percent."""
    told = page(all_rules()[id]).on_labelled_runs
    assert not re.search(r"\d\.\d", told), told
    assert not re.search(r"\b(?:[2-9]\d\d|1[1-9]\d|10[1-9]) %", told), told

"""Rates that are counted on labelled runs come back from their file, and count what they say."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.faults.learn import counted, learn
from benchmarks.faults.symptoms import Case

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.infer import HEALTHY, Rates


def case(
    setting: str, cause: str | None, fired: set[str], seen: set[str], variant: str = ""
) -> Case:
    label = {"setting": setting, "cause": cause, "variant": f"{cause or 'clean'}{variant}"}
    right = frozenset({cause or HEALTHY})
    return Case(label, "on-policy", tuple(CAUSES), frozenset(seen), frozenset(fired), right)


CASES = [
    case("a-ppo", "lr-too-high", {"OPT001"}, {"OPT001", "OPT002"}),
    case("b-ppo", "lr-too-high", set(), {"OPT001"}),
    case("a-ppo", None, set(), {"OPT001", "OPT002"}),
    case("b-ppo", None, {"OPT002"}, {"OPT001", "OPT002"}),
]


def test_counts_are_of_environments_in_which_a_rule_could_be_seen() -> None:
    again = case("a-a2c", "lr-too-high", {"OPT001"}, {"OPT001", "OPT002"})
    rates = counted([*CASES, again])  # another setting of an environment adds nothing
    assert rates.counted("OPT001", "lr-too-high") == ({"on-policy": 1.0}, {"on-policy": 2.0})
    assert rates.counted("OPT002", "lr-too-high") == ({}, {"on-policy": 1.0})
    assert rates.counted("OPT002", HEALTHY) == ({"on-policy": 1.0}, {"on-policy": 2.0})


def test_runs_whose_log_hides_the_reward_are_counted_apart() -> None:
    hidden = case("a-ppo", "lr-too-high", set(), {"OPT001"}, ".unlogged")
    rates = counted([*CASES, hidden])
    assert rates.counted("OPT001", "lr-too-high") == ({"on-policy": 1.0}, {"on-policy": 2.0})
    assert rates.counted("OPT001", "lr-too-high.unlogged") == ({}, {"on-policy": 1.0})
    assert rates.ways("lr-too-high") == ["lr-too-high", "lr-too-high.unlogged"]


def test_learned_rates_come_back_from_their_file(tmp_path: Path) -> None:
    made = learn([CASES, CASES], CASES, tmp_path / "rates.json")
    assert Rates.from_json(json.loads((tmp_path / "rates.json").read_text())) == made

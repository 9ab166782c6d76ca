"""The report of an optimization, from hand-made rounds: what did help, and what did not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dressage.diagnosis.diagnose import RankedCause
from dressage.prove.bootstrap import Estimate
from dressage.prove.looks import Verdict
from dressage.prove.optimize import Candidate, Diagnosed, Optimization, Round, Trial
from dressage.prove.optimize_report import OptimizeReport, optimize_report
from dressage.prove.verify import Look, Verification
from dressage.reporting.document import Chart, Table
from dressage.runs.view import RunView, Series

SEEDS = [*range(10_000, 10_008)]
SETTINGS: dict[str, Any] = {"learning_rate": 0.05, "gamma": 0.99, "epsilon": 0.3}
RUN = RunView(Path("x"), "cartpole-1", "dressage", "ppo", "CartPole-v1")
RATE = Candidate({"learning_rate": 0.001}, ("lr-too-high",))
FAR = Candidate({"gamma": 0.9}, ("horizon-too-long",))
BOTH = Candidate({"learning_rate": 0.001, "gamma": 0.9}, ("lr-too-high", "horizon-too-long"))
CAUSES = [
    RankedCause("lr-too-high", 0.8, ["The KL divergence is 0.4."], []),
    RankedCause("horizon-too-long", 0.1, [], []),
]
FAULTY = Diagnosed("faulty", CAUSES, [FAR, RATE, BOTH])
# Of so many env steps to the threshold on two seeds; the best one and the settings again on four.
RACE = [
    Trial(None, 2, -40_000.0),
    Trial(FAR, 2, -44_000.0),
    Trial(RATE, 2, -10_000.0),
    Trial(BOTH, 2, -30_000.0),
    Trial(None, 4, -50_000.0),
    Trial(RATE, 4, -10_000.0),
]


def proof(verdict: Verdict, first_seed: int = 10_000) -> Verification:
    return Verification(
        patch=RATE.patch,
        goal="frames",
        threshold=475.0,
        threshold_from="as asked for",
        verdict=verdict,
        looks=[Look(8, 0.001, 0.02, 1.0)],
        final=Estimate(400.0, 300.0, 450.0),
        steps_ratio=(0.2, 0.1, 0.3),
        env_steps=1e6,
        seconds=60.0,
        baseline=[50.0] * 8,
        patched=[450.0] * 8,
        first_seed=first_seed,
    )


def views(level: float) -> list[RunView]:
    steps = np.linspace(500, 50_000, 100)
    return [
        RunView(
            Path("x"), "x", "dressage",
            series={"train/roll/ep_rew_mean": Series(steps, level * steps + seed)},
        )
        for seed in range(8)
    ]  # fmt: skip


def ours(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"algo": "ppo", **settings}


def theirs(settings: Mapping[str, Any]) -> dict[str, Any]:
    """As another library would spell it."""
    return {"lr": settings["learning_rate"], "exploration": settings["epsilon"]}


def optimization(*rounds: Round, patch: dict[str, Any] | None = None, **more: Any) -> Optimization:
    return Optimization(
        more.pop("goal", "frames"), list(rounds), patch or {}, seconds=125.0, runs=34,
        env_steps=1.7e6, **more,
    )  # fmt: skip


def proven() -> OptimizeReport:
    made = optimization(
        Round(FAULTY, RACE, RATE, SEEDS, proof("proven")),
        Round(Diagnosed("healthy", [], [])),
        patch=RATE.patch,
        ended="no bottleneck is left that a setting mends",
    )
    sides = {"optimized": views(0.009), "the run's settings": views(0.001)}
    return optimize_report(made, RUN, SETTINGS, ours, sides, Path("there/optimized.yaml"))


def table(report: OptimizeReport, key: str) -> list[dict[str, str]]:
    """Rows of a section's first table, by their headings."""
    (section,) = [one for one in report.document.sections if one.key == key]
    block = next(block for block in section.blocks if isinstance(block, Table))
    words = [[cell if isinstance(cell, str) else "".join(cell) for cell in r] for r in block.rows]
    return [dict(zip(block.header, row, strict=True)) for row in words]


def outcomes(*rounds: Round, **more: Any) -> list[tuple[str, str]]:
    made = optimization(*rounds, **more)
    report = optimize_report(made, RUN, SETTINGS, ours, {}, Path("optimized.yaml"))
    return [(row["change"], row["outcome"]) for row in table(report, "metrics")]


def test_every_change_stands_there_with_its_effect_and_its_outcome() -> None:
    proof, won, *race = table(proven(), "metrics")
    assert (proof["outcome"], proof["seeds"]) == ("proven", "8 fresh")
    assert proof["effect"] == "0.20 times [0.10, 0.30]"
    assert won == {
        "outcome": "won the race",
        "seeds": "4",
        "env steps to the threshold": "10,000",
        "without it": "50,000",
        "effect": "0.20 times",
        "answers": "lr-too-high",
        "change": "learning_rate=0.001",
    }
    assert [(one["outcome"], one["change"], one["effect"]) for one in race] == [
        ("kept", "learning_rate=0.001", "0.25 times"),
        ("dropped", "learning_rate=0.001, gamma=0.9", "0.75 times"),
        ("dropped", "gamma=0.9", "1.10 times"),
    ]
    assert race[1]["answers"] == "lr-too-high, horizon-too-long"


def test_verdict_diagnoses_settings_cost_and_command_are_told() -> None:
    report = proven()
    for text in (report.markdown, report.html):
        assert "Proven:" in text and "no bottleneck is left" in text
        assert "Round 1, 2 seeds of the run's settings: " in text.replace("&#x27;", "'")
        assert "Round 2, 2 seeds of the settings proven so far: " in text
        assert "1,700,000" in text and "2 min 05 s" in text and "34" in text
        assert "dressage train --config there/optimized.yaml" in text
    assert "Proven: learning_rate=0.001. Proven over 8 seeds a side" in report.text
    # Means over the last tenth of the curves: 47,500 env steps, and 3.5 for the seed.
    shown = [line.split("  ") for line in report.text.splitlines() if "fresh seeds" in line]
    figures = {line[0]: line[-2].strip() for line in shown if line[0].startswith("final return")}
    assert figures == {
        "final return, optimized": "431",
        "final return, the run's settings": "51",
    }
    assert table(report, "bottlenecks")[0] == {
        "cause": "lr-too-high",
        "probability": "80%",
        "what speaks for it": "The KL divergence is 0.4.",
    }
    (change,) = table(report, "differences")
    assert (change["setting"], change["before"], change["after"]) == (
        "learning_rate",
        "0.05",
        "0.001",
    )
    assert report.document.status == "proven"


def test_curves_of_both_sides_have_their_intervals() -> None:
    curve = proven().document.curve
    assert isinstance(curve, Chart)
    means = [one for one in curve.series if one.low is not None]
    assert [one.name.split(",")[0] for one in means] == ["optimized", "the run's settings"]
    assert means[0].low[-1] > means[1].high[-1] > means[1].y[-1] > means[1].low[-1]


def test_json_holds_the_rounds_and_what_changed() -> None:
    told = json.loads(json.dumps(proven().to_json()))
    assert told["changes"] == {"learning_rate": [0.05, 0.001]} and told["proven"]
    assert told["rounds"][0]["diagnosed"]["causes"][0]["id"] == "lr-too-high"
    assert told["command"] == "dressage train --config there/optimized.yaml"


@pytest.mark.parametrize("verdict", ["not proven", "worse"])
def test_what_was_not_proven_changes_no_setting(verdict: Verdict) -> None:
    made = optimization(Round(FAULTY, RACE, RATE, SEEDS, proof(verdict)), ended="it was not proven")
    report = optimize_report(made, RUN, SETTINGS, ours, {}, Path("optimized.yaml"))
    assert report.document.status == verdict and report.changes == {}
    assert "Nothing was proven to help." in report.markdown
    assert f"{verdict[0].upper()}{verdict[1:]} over 8 seeds a side" in report.markdown
    assert "the run's own settings" in report.markdown
    assert table(report, "metrics")[0]["outcome"] == verdict


def test_what_was_cut_short_is_not_called_dropped() -> None:
    rate, both, far = "learning_rate=0.001", "learning_rate=0.001, gamma=0.9", "gamma=0.9"
    proving = outcomes(Round(FAULTY, RACE, RATE, SEEDS))
    assert proving[:2] == [(rate, "proof unfinished"), (rate, "won the race")]
    assert outcomes(Round(FAULTY, RACE, RATE))[0] == (rate, "won the race")
    racing = outcomes(Round(FAULTY, RACE[:4]))
    assert racing == [(one, "race unfinished") for one in (rate, both, far)]
    begun = outcomes(Round(FAULTY))
    assert begun == [(one, "not compared yet") for one in (far, rate, both)]


def test_the_last_of_a_race_that_is_no_better_is_told_so() -> None:
    race = [*RACE[:4], Trial(None, 4, -9000.0), Trial(RATE, 4, -10_000.0)]
    told = [outcome for _, outcome in outcomes(Round(FAULTY, race))]
    assert told == ["dropped: no better", "kept", "dropped", "dropped"]


def test_an_effect_on_the_return_is_a_difference() -> None:
    race = [Trial(None, 2, 100.0), Trial(RATE, 2, 350.0)]
    one = Round(Diagnosed("faulty", CAUSES, [RATE]), race, RATE)
    made = optimization(one, goal="return")
    (row,) = table(optimize_report(made, RUN, SETTINGS, ours, {}, Path("x.yaml")), "metrics")
    assert (row["final return"], row["without it"], row["effect"]) == ("350", "100", "+250")


def test_an_end_before_the_first_diagnosis_is_a_report_too() -> None:
    made = optimization(ended="interrupted; the same command goes on from here")
    report = optimize_report(made, RUN, SETTINGS, ours, {}, Path("optimized.yaml"))
    assert "before anything was diagnosed" in report.markdown and "interrupted" in report.text


def test_another_librarys_settings_are_in_its_own_words() -> None:
    made = optimization(
        Round(FAULTY, RACE, RATE, SEEDS, proof("proven")), patch=RATE.patch, library="sb3"
    )
    report = optimize_report(made, RUN, SETTINGS, theirs, {}, Path("optimized.yaml"))
    assert report.changes == {"lr": (0.05, 0.001)} and report.command is None
    assert report.run_it == "the settings: optimized.yaml"
    assert table(report, "metrics")[0]["change"] == "lr=0.001"
    assert "learning_rate" not in report.markdown and "as sb3 spells them" in report.markdown


def test_a_second_round_changes_what_the_first_one_proved() -> None:
    again = Candidate({"learning_rate": 0.05, "gamma": 0.9}, ("other",))
    race = [Trial(None, 2, -9000.0), Trial(again, 2, -8000.0)]
    made = optimization(
        Round(FAULTY, RACE, RATE, SEEDS, proof("proven")),
        Round(Diagnosed("faulty", [], [again]), race, again, SEEDS, proof("not proven", 11_000)),
        patch=RATE.patch,
    )
    report = optimize_report(made, RUN, SETTINGS, ours, {}, Path("optimized.yaml"))
    (section,) = [one for one in report.document.sections if one.key == "metrics"]
    second = [block for block in section.blocks if isinstance(block, Table)][1]
    assert second.rows[0][-1] == "learning_rate=0.05, gamma=0.9"
    assert report.document.status == "proven"

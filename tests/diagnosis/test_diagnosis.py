"""From symptoms to ranked causes, and to what is said of them."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from typer.testing import CliRunner

import dressage
from dressage.diagnosis import diagnose as diagnosis
from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.diagnose import RankedCause, diagnose
from dressage.diagnosis.infer import (
    BARE,
    HEALTHY,
    NEVER,
    OF_FAMILY,
    STRENGTH,
    Evidence,
    Rates,
    Seen,
    evidence,
    posterior,
    ranking,
    tells,
    undertrained,
    weighed,
)
from dressage.diagnosis.registry import all_rules
from dressage.runs.view import RunView, Series

RULES = [all_rules()[id] for id in ("OPT001", "OPT002", "OPT003", "OPT004")]


def test_probabilities_by_hand() -> None:
    """Two rules, against Bayes' rule written out."""
    kl, rate = all_rules()["OPT001"], all_rules()["CFG004"]
    rates = Rates(temperature=1.0, healthy=0.5)
    ids = ["lr-too-high", "lr-too-low", "too-many-epochs", "reward-noise"]
    found = posterior([kl, rate], {"OPT001": 1}, ids, "on-policy", rates)
    weight = {HEALTHY: 0.5 * 0.02 * (1 - 0.005)}
    for id in ids:
        weight[id] = (
            0.5
            / len(ids)
            * kl.expected.get(id, kl.elsewhere)
            * (1 - rate.expected.get(id, rate.elsewhere))
        )
    assert found["lr-too-high"] == pytest.approx(weight["lr-too-high"] / sum(weight.values()))
    assert sum(found.values()) == pytest.approx(1.0)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_labelled_runs_outweigh_what_a_rule_expects() -> None:
    rule = all_rules()["OPT001"]
    everywhere = {"lr-too-high": {"on-policy": 48.0, "value-based": 50.0}}
    unseen = {"lr-too-high": {"value-based": 2.0}}
    rates = Rates(everywhere, {"OPT001": Seen(unseen=unseen)})
    overall = STRENGTH * rule.expected["lr-too-high"] / (96 + STRENGTH)
    assert rates.chance(rule, "lr-too-high") == pytest.approx(overall)
    assert rates.chance(rule, "lr-too-high", "on-policy") == pytest.approx(4 * overall / 52)
    assert Rates().chance(rule, "lr-too-high") == pytest.approx(rule.expected["lr-too-high"])


def test_bare_logs_have_rates_of_their_own_shrunk_to_their_family() -> None:
    rule = all_rules()["OPT001"]
    counts = {"lr-too-high": {"on-policy": 10.0, "on-policy" + BARE: 6.0}}
    rates = Rates(counts, {"OPT001": Seen(fired={"lr-too-high": {"on-policy": 10.0}})})
    whole = rates.chance(rule, "lr-too-high", "on-policy")
    assert whole > 0.85  # and the bare ones, in which it never fired, are not counted in it
    bare = rates.chance(rule, "lr-too-high", "on-policy" + BARE)
    assert bare == pytest.approx(OF_FAMILY * whole / (6.0 + OF_FAMILY))


def test_bare_logs_have_a_temperature_of_their_own() -> None:
    rates = Rates(temperature=1.0, temperature_bare=4.0)
    scores = {HEALTHY: -1.0, "lr-too-high": 3.0}
    nothing = dict.fromkeys(scores, 0.0)
    told = Evidence(scores, scores, nothing, nothing)
    sure = weighed(told, "on-policy", rates)["lr-too-high"]
    assert weighed(told, "on-policy" + BARE, rates)["lr-too-high"] < sure


def test_what_is_read_off_the_settings_is_not_tempered() -> None:
    rates = Rates(temperature=4.0)
    rules = [all_rules()[id] for id in ("CFG004", "OPT001")]
    told = evidence(rules, {"CFG004"}, ["lr-too-high"], "on-policy", rates)
    alone = evidence(rules[:1], {"CFG004"}, ["lr-too-high"], "on-policy", rates)
    assert told.settings == alone.settings and not any(alone.symptoms.values())
    chances = weighed(told, "on-policy", rates)
    apart = {c: told.symptoms[c] / 4.0 + told.settings[c] + math.log(0.5) for c in told.symptoms}
    sizes = {c: math.exp(value) for c, value in apart.items()}
    assert chances["lr-too-high"] == pytest.approx(sizes["lr-too-high"] / sum(sizes.values()))
    assert told.less(told).settings == dict.fromkeys(told.settings, 0.0)


def test_a_cause_that_is_one_of_many_is_not_called_the_cause() -> None:
    many = dict.fromkeys(("lr-too-high", "obs-stale", "reward-noise", "gamma-too-low"), 0.12)
    assert not tells({HEALTHY: 0.16, **many})
    assert tells({HEALTHY: 0.1, **many, "lr-too-high": 0.2})
    assert tells({HEALTHY: 0.6, "lr-too-high": 0.2, "obs-stale": 0.2})


def test_before_anything_is_seen_what_hurts_more_environments_of_a_family_is_likelier() -> None:
    counts = {"lr-too-high": {"on-policy": 8.0}, "gamma-too-low": {"value-based": 8.0}}
    rates = Rates(counts)
    scores = {"healthy": 0.0, "lr-too-high": 0.0, "gamma-too-low": 0.0, "reward-noise": 0.0}
    told = Evidence(scores, scores, scores, scores)
    chances = weighed(told, "on-policy", rates)
    assert chances["lr-too-high"] == pytest.approx(3.0 * chances["gamma-too-low"])
    assert chances["gamma-too-low"] == pytest.approx(10.0 * chances["reward-noise"])
    either = weighed(told, "unknown", rates)
    assert either["lr-too-high"] == pytest.approx(either["gamma-too-low"])


def test_arithmetic_is_counted_for_the_causes_that_it_names() -> None:
    """Restarted schedules were made to hurt by a high rate; that rate speaks for itself alone."""
    rule = all_rules()["CFG004"]
    everywhere = {cause: {"on-policy": 40.0} for cause in ("lr-too-high", "schedule-restarts")}
    rates = Rates(everywhere, {"CFG004": Seen(everywhere)})
    assert rates.chance(rule, "lr-too-high", "on-policy") > 0.95
    assert rates.chance(rule, "schedule-restarts", "on-policy") == rule.elsewhere


def test_a_cause_is_as_likely_as_its_ways_to_show_are_on_average() -> None:
    rules = [all_rules()[id] for id in ("OPT001", "OPT003")]
    everywhere = {"reward-noise": {"on-policy": 40.0}, "reward-noise.hidden": {"on-policy": 40.0}}
    always, never = {"reward-noise.hidden": {"on-policy": 40.0}}, Seen()
    rates = Rates(everywhere, {"OPT001": Seen(always), "OPT003": Seen(always)})
    told = evidence(rules, {"OPT001", "OPT003"}, ["reward-noise"], "on-policy", rates)
    assert set(told.symptoms) == {HEALTHY, "reward-noise", "reward-noise.hidden"}
    sizes = {way: math.exp(score) for way, score in told.symptoms.items()}
    mean = (sizes["reward-noise"] + sizes["reward-noise.hidden"]) / 2
    chances = weighed(told, "on-policy", rates)
    assert chances["reward-noise"] == pytest.approx(mean / (mean + sizes[HEALTHY]))
    flat = Rates({"reward-noise": {"on-policy": 80.0}}, {"OPT001": never, "OPT003": never})
    alone = posterior(rules, {"OPT001", "OPT003"}, ["reward-noise"], "on-policy", flat)
    assert alone["reward-noise"] < chances["reward-noise"]


def test_a_cause_may_show_by_its_own_symptoms_alone() -> None:
    """A counter that is not reset, in a run that learns nevertheless: rules that expect a failure
    stay quiet, and the one that names the cause has fired."""
    ids, cause = ("ENV007", "PRO001", "PRO004"), "env-not-reset"
    rules = [all_rules()[id] for id in ids]
    everywhere = {cause: {"on-policy": 100.0}, HEALTHY: {"on-policy": 100.0}}
    fails = Seen({cause: {"on-policy": 100.0}})
    rates = Rates(everywhere, dict.fromkeys(ids, fails))
    told = evidence(rules, {"ENV007"}, [cause], "on-policy", rates)
    assert told.mild[cause] > told.symptoms[cause]
    assert told.mild[HEALTHY] == told.symptoms[HEALTHY]
    given = [
        weighed(told, "on-policy", dataclasses.replace(rates, mild=mild)) for mild in (0.0, 0.3)
    ]
    assert given[0][HEALTHY] > 0.5 > given[1][HEALTHY]
    nothing = evidence(rules, (), [cause], "on-policy", rates)
    assert weighed(nothing, "on-policy", dataclasses.replace(rates, mild=0.3))[HEALTHY] > 0.9


def test_what_only_named_causes_can_show_rules_out_all_else() -> None:
    rule = all_rules()["DAT015"]
    often = {cause: {"value-based": 20.0} for cause in ("replay-corrupted", "lr-too-high", HEALTHY)}
    rates = Rates(often, {"DAT015": Seen(often)})  # whatever was counted
    assert rates.chance(rule, "replay-corrupted", "value-based") > 0.9
    for cause in ("lr-too-high", HEALTHY):
        assert rates.chance(rule, cause, "value-based") == NEVER
    chances = posterior(
        [rule], {"DAT015"}, ["replay-corrupted", "lr-too-high"], "value-based", rates
    )
    assert chances["replay-corrupted"] > 0.999


def test_a_family_in_which_a_rule_fires_is_judged_by_itself() -> None:
    rule = all_rules()["OPT001"]
    everywhere = {"lr-too-high": {"on-policy": 40.0, "value-based": 40.0}}
    rates = Rates(everywhere, {"OPT001": Seen({"lr-too-high": {"on-policy": 40.0}})})
    assert rates.chance(rule, "lr-too-high", "on-policy") > 0.9
    assert rates.chance(rule, "lr-too-high", "value-based") < 0.1
    assert 0.4 < rates.chance(rule, "lr-too-high", "actor-critic") < 0.6


def test_a_symptom_that_is_explained_no_longer_speaks_for_others() -> None:
    few = [all_rules()[id] for id in ("OPT001", "OPT002", "OPT003", "OPT004")]
    alone = posterior(few, {"OPT001": 1}, CAUSES, "on-policy", Rates())
    both = posterior(few, {"OPT001": 1, "OPT004": 1}, CAUSES, "on-policy", Rates())
    assert both["clip-range-too-wide"] > alone["clip-range-too-wide"]
    assert both["too-many-epochs"] < alone["too-many-epochs"]


def test_no_log_cannot_be_told() -> None:
    assert diagnose(RunView(Path("x"), "x", "table")).verdict == "cannot_tell"


def test_a_patch_speaks_the_runs_own_language() -> None:
    steps = np.linspace(1000, 50_000, 50)
    run = RunView(
        Path("x"), "x", "cleanrl", "dqn", "CartPole-v1", {"learning_starts": 50_000},
        own_settings={"learning_starts": "their_name"}, budget=50_000, env_steps=50_000,
        series={"train/roll/ep_rew_mean": Series(steps, 20 + np.sin(steps))},
    )  # fmt: skip
    found = diagnose(run)
    assert found.verdict == "faulty" and found.causes[0].id == "learning-never-starts"
    assert found.prescriptions[0].patch == {"their_name": 1000}
    json.dumps(found.to_json())


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dressage.ui.cli.app import app

    run = dressage.train(
        "CartPole-v1", runs=tmp_path, env_steps=20_480, lr=1e-7, final_eval_episodes=0
    )
    (found,) = (made.diagnosis for made in dressage.diagnose(run))
    assert dataclasses.asdict(found)["algo"] == "ppo"
    assert found.verdict == "faulty" and found.causes[0].id == "lr-too-low"
    done = CliRunner().invoke(app, ["diagnose", str(run.path), "--json"])
    assert done.exit_code == 0
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert told["causes"][0]["id"] == "lr-too-low"
    assert told["prescriptions"][0]["patch"]["learning_rate"] > 1e-7
    shown = CliRunner().invoke(app, ["diagnose", str(run.path)])
    assert "lr-too-low" in shown.stdout and "Something holds this run back" in shown.stdout


def test_the_same_change_is_asked_for_once() -> None:
    config = {"train_freq": 64, "gradient_steps": 1, "n_envs": 1, "batch_size": 256}
    run = RunView(Path("x"), "x", "sb3", "sac", None, config, budget=20_000, env_steps=20_000)
    asked = diagnosis._prescriptions(run, ["updates-too-few", "updates-starved"], {}, [])
    assert [(change.cause, change.patch) for change in asked] == [
        ("updates-too-few", {"train_freq": 1})
    ]


def test_a_setting_far_outside_its_range_is_mended_beside_the_likeliest_cause() -> None:
    ranked = [RankedCause("lr-too-high", 0.9, [], []), RankedCause("obs-stale", 0.05, [], [])]
    ids = dict.fromkeys(["lr-too-high", "final-epsilon-too-high"], 0.5)
    assert diagnosis._to_mend("faulty", ranked, ids, {"EXP009"}) == [
        "lr-too-high",
        "final-epsilon-too-high",
    ]
    assert diagnosis._to_mend("faulty", ranked, {}, {"EXP009"}) == ["lr-too-high"]
    assert not diagnosis._to_mend("healthy", [], ids, {"EXP009"})


def test_without_a_fault_in_its_log_a_run_far_from_its_threshold_is_not_healthy() -> None:
    steps = np.linspace(1000, 30_000, 60)

    def verdict(returns: npt.NDArray[np.float64], found: set[str]) -> str:
        series = {"train/roll/ep_rew_mean": Series(steps, returns)}
        run = RunView(Path("x"), "x", "sb3", "ppo", series=series, env_steps=30_000, threshold=475)
        chances = {HEALTHY: 0.9, "obs-stale": 0.1}
        if diagnosis.not_done(run, found):
            chances = undertrained(chances)
            assert chances == {"budget-too-small": 0.9, "obs-stale": 0.1, HEALTHY: 0.0}
        return diagnosis._verdict([run], chances, found)

    low, high = np.full(60, 20.0), np.full(60, 490.0)
    assert verdict(low, {"PRO009"}) == "cannot_tell"
    assert verdict(np.linspace(20, 300, 60), {"PRO002"}) == "undertrained"
    assert verdict(high, {"PRO002", "PRO009"}) == "healthy"


def test_a_run_that_surely_has_one_of_many_faults_is_not_called_healthy() -> None:
    many = {f"fault-{i}": 0.04 for i in range(23)}
    assert ranking({HEALTHY: 0.08, **many})[0] != HEALTHY
    few = {f"fault-{i}": 0.07 for i in range(10)}
    assert ranking({HEALTHY: 0.3, **few})[0] == HEALTHY

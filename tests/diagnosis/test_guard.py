"""The guard: what a run cannot recover from, and that looking for it changes nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dressage
from dressage.core.hooks import Hook, Moment
from dressage.diagnosis import watch
from dressage.diagnosis.guard import Guard
from dressage.diagnosis.watch import Watch, hooks_for
from dressage.runs.group import Group
from dressage.runs.run import Run

BUDGET = 10_000
TINY: dict[str, Any] = {
    "n_envs": 2,
    "n_steps": 32,
    "batch_size": 32,
    "n_epochs": 1,
    "net_arch": [8],
    "eval_every": 0,
    "final_eval_episodes": 0,
    "backend": "inline",
    "engine": "torch",
    "env_steps": 6_400,
}
OVER = "steps(1e-3, 0.3:0)"


def rows(count: int = 100, **metrics: Any) -> list[dict[str, float]]:
    """Rows of an even run; a metric is a number or a function of the row's place from 0 to 1."""
    made = []
    for i in range(1, count + 1):
        row = {
            "env_steps": BUDGET * i / count,
            "updates": 10.0 * i,
            "train/loss/policy": 0.1,
            "train/metrics/grad_norm/policy": 0.3,
            "train/roll/ep_rew_std": 5.0,
            "train/hp/lr": 1e-3,
        }
        for name, value in metrics.items():
            full = next((known for known in row if known.endswith(f"/{name}")), name)
            row[full] = value(i / count) if callable(value) else value
        made.append(row)
    return made


def first_word(guard: Guard, seen: list[dict[str, float]]) -> tuple[float, str] | None:
    """Env steps at which the guard first speaks, and what it says."""
    return next(((row["env_steps"], says) for row in seen if (says := guard.see(row))), None)


def test_a_healthy_run_is_left_alone() -> None:
    assert first_word(Guard(BUDGET, 1e-3), rows()) is None
    falling = rows(lr=lambda x: 1e-3 * (1 - x))
    assert first_word(Guard(BUDGET, "linear(1e-3, 0)"), falling) is None


def test_losses_that_are_no_numbers() -> None:
    seen = rows(policy=lambda x: math.nan if x > 0.5 else 0.1)
    found = first_word(Guard(BUDGET), seen)
    assert found is not None and found[0] == 5_300 and "train/loss/policy" in found[1]
    once = rows(policy=lambda x: math.inf if x == 0.5 else 0.1)
    assert first_word(Guard(BUDGET), once) is None


def test_every_update_dropped() -> None:
    seen = rows(**{"train/metrics/skipped_updates": lambda x: 10.0 if x > 0.2 else 9.0})
    found = first_word(Guard(BUDGET), seen)
    assert found is not None and found[0] == 2_300 and "dropped" in found[1]


def test_a_dead_gradient() -> None:
    dead = {"train/metrics/grad_norm/policy": lambda x: 0.0 if x > 0.4 else 0.3}
    found = first_word(Guard(BUDGET), rows(**dead))
    assert found is not None and "'policy'" in found[1]
    assert found[0] == 6_000  # twenty rows after 4,000
    assert first_word(Guard(BUDGET), rows(**dead, ep_rew_std=0.0)) is None  # nothing to learn from
    small = {"train/metrics/grad_norm/policy": 1e-9}
    assert first_word(Guard(BUDGET), rows(**small)) is None


def test_a_schedule_that_is_over() -> None:
    seen = rows(lr=lambda x: 1e-3 if x < 0.5 else 0.0)
    found = first_word(Guard(BUDGET, "steps(1e-3, 0.5:0)"), seen)
    assert found is not None and found[0] == 5_500 and "5,000 of 10,000" in found[1]
    later = "steps(1e-3, 0.5:0, 0.8:1e-4)"
    assert first_word(Guard(BUDGET, later), seen[:75]) is None
    warm = rows(lr=lambda x: 0.0 if x < 0.2 else 1e-3)
    assert first_word(Guard(BUDGET, 1e-3), warm) is None
    at_the_end = rows(lr=lambda x: 1e-3 if x < 0.93 else 0.0)
    assert first_word(Guard(BUDGET, 1e-3), at_the_end) is None


@pytest.mark.parametrize("cut", [1, 30, 52, 57])
def test_its_counters_survive_a_checkpoint(cut: int) -> None:
    seen = rows(
        lr=lambda x: 1e-3 if x < 0.5 else 0.0,
        **{"train/metrics/grad_norm/policy": lambda x: 0.0 if x > 0.45 else 0.3},
    )
    whole = Guard(BUDGET, 1e-3)
    said = [whole.see(row) for row in seen]
    first, second = Guard(BUDGET, 1e-3), Guard(BUDGET, 1e-3)
    told = [first.see(row) for row in seen[:cut]]
    second.load(json.loads(json.dumps(first.state())))
    assert told + [second.see(row) for row in seen[cut:]] == said and any(said)


# -- with training ------------------------------------------------------------------------------


def train(runs: Path, **settings: Any) -> Run:
    run = dressage.train("CartPole-v1", runs=runs, **(TINY | settings))
    assert isinstance(run, Run)
    return run


def numbers(run: Run) -> dict[str, list[float]]:
    return {
        name: values.tolist()
        for name, values in run.metrics().items()
        if name != "wall_seconds" and not name.startswith("sys/")
    }


def test_a_run_that_cannot_recover_is_halted(tmp_path: Path) -> None:
    run = train(tmp_path, lr=OVER, guard="stop")
    assert run.status == "halted"
    reason = run.status_details()["reason"]
    assert "learning rate has been zero" in reason
    (event,) = run.events("guard")
    assert event["reason"] == reason and event["stops"]
    steps = run.metrics("env_steps")["env_steps"][-1]
    assert 0.34 * 6400 <= steps <= 0.37 * 6400
    resumed = dressage.train(resume=run, guard="off")
    assert isinstance(resumed, Run) and resumed.status == "finished"
    assert resumed.events("resume")[0]["exact"]


def test_by_default_it_only_warns_and_changes_nothing(tmp_path: Path) -> None:
    warned = train(tmp_path / "warned", lr=OVER)
    off = train(tmp_path / "off", lr=OVER, guard="off")
    assert warned.status == off.status == "finished"
    assert len(warned.events("guard")) == 1 and not off.events("guard")
    assert json.dumps(numbers(warned)) == json.dumps(numbers(off))


class StopAt(Hook):
    def __init__(self, env_steps: int) -> None:
        self.env_steps = env_steps

    def on_iteration(self, moment: Moment) -> None:
        if moment.env_steps >= self.env_steps:
            moment.stop("test")


def test_a_resumed_run_is_halted_at_the_same_place(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", lr=OVER, guard="stop")
    # within the stretch in which the rate is zero and the guard waits
    stopped = train(tmp_path / "parts", lr=OVER, guard="stop", hooks=[StopAt(2_050)])
    assert stopped.status == "stopped"
    resumed = dressage.train(resume=stopped)
    assert isinstance(resumed, Run) and resumed.status == "halted"
    assert json.dumps(numbers(resumed)) == json.dumps(numbers(whole))


def test_members_of_a_group_are_guarded(tmp_path: Path) -> None:
    settings = TINY | {"backend": "auto", "engine": "auto", "seeds": 2}
    group = dressage.train("CartPole-v1", runs=tmp_path, lr=OVER, guard="stop", **settings)
    assert isinstance(group, Group)
    assert [member.status for member in group.members] == ["halted", "halted"]
    assert group.status == "halted"


def test_the_command_says_so_and_has_a_code_of_its_own(tmp_path: Path) -> None:
    from dressage.ui.cli.app import app

    words = [f"{key}={value}" for key, value in TINY.items()]
    done = CliRunner().invoke(
        app, ["train", "CartPole-v1", f"lr={OVER}", "guard=stop", *words, "--runs", str(tmp_path)]
    )
    assert done.exit_code == 4
    assert "Halted by the guard." in done.stdout
    assert "dressage diagnose @last" in done.stdout


def test_off_is_off() -> None:
    assert hooks_for({"guard": "off"}) == []
    (hook,) = hooks_for({})
    assert isinstance(hook, Watch) and not hook.stops


# -- the top finding ------------------------------------------------------------------------------


def test_the_top_finding_is_told_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for after every row, it is written once, and the display gets it."""
    monkeypatch.setattr(watch, "FIRST", 0.0)
    monkeypatch.setattr(watch, "PAUSE", 0.0)
    monkeypatch.setattr(watch, "LARGEST_SHARE", math.inf)
    said: list[str] = []

    class Listen(Hook):
        def on_iteration(self, moment: Moment) -> None:
            said.append(moment.said)

    looks: list[int] = []

    def found(moment: Moment) -> tuple[str | None, float, str]:
        looks.append(moment.env_steps)
        return ("lr-too-low", 0.7, "likely low") if moment.progress > 0.5 else (None, 0.0, "")

    monkeypatch.setattr(watch, "top_finding", found)
    run = train(tmp_path, hooks=[Listen()], env_steps=1280)
    (event,) = run.events("finding")
    assert event["cause"] == "lr-too-low" and event["says"] == "likely low"
    assert len(looks) == 19  # of twenty rows, one is too early
    assert said[0] == "" and said[-1] == "likely low"


@pytest.mark.parametrize(("verdict", "probability"), [("faulty", 0.7), ("faulty", 0.4)])
def test_only_a_likely_cause_is_a_finding(
    verdict: Any, probability: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dressage.diagnosis import diagnose as module

    run = train(tmp_path, env_steps=640)
    causes = [module.RankedCause("lr-too-low", probability, [], [])]
    made = module.Diagnosis("x", "dressage", "ppo", "y", verdict, causes, [], [], [], [])
    monkeypatch.setattr(module, "diagnose", lambda view: made)
    nothing: Any = lambda *args: None  # noqa: E731
    now = Moment(640, 640, 1, 1, 1.0, {}, run.path, nothing, nothing, nothing)
    line = "likely a learning rate that is too low (lr-too-low, 70%)"
    likely = ("lr-too-low", 0.7, line)
    assert watch.top_finding(now) == (likely if probability > 0.5 else (None, 0.0, ""))
    elsewhere = Moment(1, 2, 0, 0, 0.0, {}, tmp_path / "absent", nothing, nothing, nothing)
    assert watch.top_finding(elsewhere) == (None, 0.0, "")


def test_looks_are_rare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look of 0.2 s is followed by none for more than a minute."""
    now = [0.0]
    looks: list[float] = []

    def slow(moment: Moment) -> tuple[str | None, float, str]:
        looks.append(now[0])
        now[0] += 0.2
        return None, 0.0, ""

    monkeypatch.setattr(watch, "top_finding", slow)
    hook = Watch(stops=False, clock=lambda: now[0])
    nothing: Any = lambda *args: None  # noqa: E731
    for second in np.arange(0.0, 300.0, 0.5):
        now[0] = max(now[0], float(second))
        row = {"env_steps": 500.0, "updates": second}
        moment = Moment(500, 1000, 1, 1, 1.0, row, tmp_path, nothing, nothing, nothing)
        if second == 0.0:
            hook.on_start(moment)
        hook.on_row(moment)
    assert looks[0] == watch.FIRST and len(looks) == 4
    assert looks[1] - looks[0] >= 0.2 / watch.LARGEST_SHARE

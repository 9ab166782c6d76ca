"""What a report shows of every run, against series made by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dressage.diagnosis.analyses import analyse
from dressage.diagnosis.analyses.gradients import gradients
from dressage.diagnosis.analyses.losses import losses
from dressage.diagnosis.analyses.phases import Phase, change_points, phases
from dressage.diagnosis.analyses.reach import reach
from dressage.diagnosis.analyses.schedule import parts_of, rate_schedule
from dressage.diagnosis.analyses.throughput import throughput
from dressage.presets import Preset
from dressage.runs.view import RunView, Series

T = 300
STEPS = np.linspace(100.0, 30_000.0, T)
NOISE = np.random.default_rng(3).normal(size=T)


def view(config: dict[str, Any] | None = None, **more: Any) -> RunView:
    series = {
        name: Series(STEPS, np.broadcast_to(np.asarray(values, float), T).copy())
        for name, values in more.items()
    }
    return RunView(
        Path("x"), "x", "dressage", "ppo", "Nowhere-v0", config or {}, series=series,
        budget=30_000, env_steps=30_000, state="finished",
    )  # fmt: skip


def kinds(values: Any, floor: float = 0.0) -> list[str]:
    return [phase.kind for phase in phases(Series(STEPS, np.asarray(values)), floor)]


# -- phases ---------------------------------------------------------------------------------------


def test_phases_of_a_learning_curve() -> None:
    """Flat to 9,000, rising to 18,000, level after it."""
    curve = np.interp(STEPS, [0, 9_000, 18_000, 30_000], [20, 20, 400, 400]) + 4 * NOISE
    found = phases(Series(STEPS, curve), floor=5.0)
    assert [phase.kind for phase in found] == ["flat", "rising", "plateau"]
    assert found[1].begin == pytest.approx(9_000, abs=1_000)
    assert found[1].end == pytest.approx(18_000, abs=1_000)
    assert found[1].gain == pytest.approx(380, rel=0.1)
    assert found[0].begin == STEPS[0] and found[-1].end == STEPS[-1]


def test_phases_of_a_collapse() -> None:
    curve = np.interp(STEPS, [0, 10_000, 16_000, 20_000, 30_000], [0, 300, 300, 30, 30])
    assert kinds(curve + 3 * NOISE, 5.0) == ["rising", "plateau", "falling", "plateau"]


def test_noise_has_one_phase() -> None:
    assert kinds(20 + 2 * NOISE, 2.0) == ["flat"]
    assert kinds(np.full(T, 7.0)) == ["flat"]


def test_a_straight_rise_is_one_phase_without_change_points() -> None:
    assert kinds(STEPS / 100 + NOISE) == ["rising"]
    assert change_points(np.linspace(0, 1, 60)) == []


def test_change_points_by_exhaustive_search() -> None:
    """The best single cut of a bent line, against trying them all."""
    y = np.interp(np.arange(40), [0, 25, 39], [0, 0, 9.0])
    y += 0.05 * np.random.default_rng(0).normal(size=40)

    def squares(part: Any) -> float:
        t = np.arange(len(part))
        return float(((np.polyval(np.polyfit(t, part, 1), t) - part) ** 2).sum())

    best = min(range(4, 37), key=lambda at: squares(y[:at]) + squares(y[at:]))
    assert change_points(y) == [best]


def test_a_phase_ends_within_what_was_measured() -> None:
    """A line through a bend overshoots it: CartPole's return is 500 at most."""
    curve = np.minimum(20 + 600 * np.sqrt(STEPS / 30_000), 500.0)
    for phase in phases(Series(STEPS, curve)):
        assert curve.min() <= min(phase.first, phase.last)
        assert max(phase.first, phase.last) <= 500.0


def test_too_few_values_have_no_phases() -> None:
    assert phases(Series(STEPS[:5], NOISE[:5])) == []
    assert phases(Series(STEPS, np.full(T, math.nan))) == []


# -- env steps to the threshold -------------------------------------------------------------------


PRESET = Preset(
    "Nowhere-v0", "ppo", {"env_steps": 20_000}, "nobody",
    {"returns": [80.0, 90.0, 100.0, 110.0], "date": "2026-01-02"},
)  # fmt: skip


def test_reach_beside_a_reference() -> None:
    run = view(**{"train/roll/ep_rew_mean": STEPS / 200, "val/roll/ep_rew_mean": STEPS / 250})
    run.threshold = 100.0
    found = reach(run, PRESET)
    assert found.training == STEPS[np.argmax(STEPS / 200 >= 100)]
    assert found.evaluation == STEPS[np.argmax(STEPS / 250 >= 100)]
    assert found.first == found.training and found.best == pytest.approx(120)
    assert found.reference is not None and found.reference.reached == 2
    assert found.reference.iqm == 95.0 and found.reference.env_steps == 20_000
    assert "2026-01-02" in found.reference.source


def test_reach_without_a_threshold_takes_the_references_worst_seed() -> None:
    run = view(**{"train/roll/ep_rew_mean": STEPS / 1000})
    found = reach(run, PRESET)
    assert found.target == 80.0 and "worst" in found.target_source and found.first is None
    assert reach(run).target is None and reach(run).reference is None


def test_shipped_presets_are_references() -> None:
    run = view(**{"train/roll/ep_rew_mean": STEPS / 100})
    run.env = "CartPole-v1"
    found = reach(run).reference
    assert found is not None and found.iqm > 450 and found.seeds >= 5


# -- losses and gradients -------------------------------------------------------------------------


def test_shares_of_gradient_norms() -> None:
    norm = "train/metrics/grad_norm/"
    rising = np.linspace(1, 9, T)
    found = losses(view(**{f"{norm}policy": 1.0, f"{norm}value": rising, f"{norm}total": 99.0}))
    assert found.signal.source == "gradient norms"
    assert found.signal.shares == pytest.approx({"policy": 1 / 6, "value": 5 / 6}, rel=0.01)
    assert found.signal.first["value"] < 0.7 < 0.88 < found.signal.last["value"]


def test_shares_of_weighted_losses() -> None:
    run = view(
        {"vf_coef": 0.5},
        **{"train/loss/policy": -1.0, "train/loss/value": 6.0, "train/loss/total": 2.0},
    )
    found = losses(run)
    assert {c.name: c.size for c in found.components} == {"policy": 1.0, "value": 3.0}
    assert found.signal.source == "weighted losses"
    assert found.signal.shares == pytest.approx({"policy": 0.25, "value": 0.75})
    del run.config["vf_coef"]
    assert losses(run).signal.source == "not known"


def test_gradient_norms_by_phase() -> None:
    norm = np.where(STEPS < 15_000, 1.0, 4.0)
    two = [Phase("flat", 100, 15_000, 0, 0), Phase("rising", 15_000, 30_000, 0, 9)]
    found = gradients(view({"max_grad_norm": 2.0}, **{"train/metrics/grad_norm/all": norm}), two)
    assert [(n.phase, n.median, n.clipped) for n in found.norms] == [
        ("flat", 1.0, 0.0),
        ("rising", 4.0, 1.0),
    ]
    assert found.clipped == pytest.approx(0.5, abs=0.01) and found.bound == 2.0
    logged = view(**{"train/metrics/grad_norm/all": norm, "train/metrics/grad_clipped": 0.25})
    assert gradients(logged, two).norms[1].clipped == 0.25
    norm[7] = math.inf
    assert gradients(view(**{"train/metrics/grad_norm/all": norm}), []).not_finite == 1


# -- schedule and speed ---------------------------------------------------------------------------


def test_what_each_part_of_a_schedule_gained() -> None:
    """All of the return comes in the first quarter; the rate falls to nothing at two thirds."""
    rate = np.maximum(0.0, 1e-3 * (1 - STEPS / 20_000))
    curve = np.minimum(STEPS / 75, 100.0)
    found = rate_schedule(view(**{"train/hp/lr": rate, "train/roll/ep_rew_mean": curve}))
    assert found.source == "as logged" and found.shape == "falls" and len(found.parts) == 4
    assert found.parts[0].share == pytest.approx(1.0, abs=0.05)
    assert found.parts[3].gained == 0.0 and found.parts[3].first == 0.0
    assert found.over_at == pytest.approx(19_800, abs=200) and found.left == pytest.approx(
        0.34, 0.05
    )


def test_a_loss_has_no_share_of_a_gain() -> None:
    falling = {"train/hp/lr": 1e-3, "train/roll/ep_rew_mean": 100 - STEPS / 1000}
    (part,) = rate_schedule(view(**falling)).parts
    assert part.gained < 0 and math.isnan(part.share)


def test_a_stepped_and_a_restarted_schedule() -> None:
    stepped = np.where(STEPS < 12_000, 1e-3, 1e-4)
    edges, shape = parts_of(STEPS, stepped)
    assert shape == "steps" and edges[1] == STEPS[np.argmax(STEPS >= 12_000)]
    found = rate_schedule(view(**{"train/hp/lr": stepped}))
    assert [(p.first, p.last) for p in found.parts] == [(1e-3, 1e-3), (1e-4, 1e-4)]
    again = 1e-3 * (1 - (STEPS % 15_000) / 15_000)
    edges, shape = parts_of(STEPS, again)
    assert shape == "steps" and any(abs(edge - 15_000) < 200 for edge in edges[1:-1])


def test_a_schedule_from_the_config_alone() -> None:
    found = rate_schedule(view({"learning_rate": "linear(1e-3, 0)"}))
    assert found.source == "as configured" and found.parts[0].first == 1e-3
    assert math.isnan(found.parts[0].gained)
    assert rate_schedule(view({"learning_rate": 1e-3})).shape == "constant"
    assert rate_schedule(view()).shape == "not known"


def test_speed_as_logged_and_from_the_clock() -> None:
    logged = throughput(view(**{"sys/env_steps_per_second": np.linspace(1000, 500, T)}))
    assert logged.source == "as logged" and logged.change == pytest.approx(-0.42, abs=0.02)
    made = view(wall_seconds=STEPS / 2000, **{"sys/env_steps_per_second": 2000.0})
    made.own_names["sys/env_steps_per_second"] = "wall_seconds"
    assert throughput(made).source == "from the clock"
    clock = throughput(view(wall_seconds=STEPS / 2000))
    assert clock.source == "from the clock" and clock.median == pytest.approx(2000)
    assert clock.wall_seconds == pytest.approx(15)
    spent = throughput(view(**{"sys/time/collect": 1.0, "sys/time/update": 3.0}))
    assert list(spent.time.items()) == [("update", 0.75), ("collect", 0.25)]
    assert spent.source == "not known" and math.isnan(spent.median)


def test_all_of_them_on_an_empty_log() -> None:
    found = analyse(RunView(Path("x"), "x", "table"))
    assert found.phases == [] and found.schedule.parts == [] and found.gradients.norms == []

"""Several runs of one setting are one diagnosis."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dressage.diagnosis.diagnose import diagnose, diagnose_seeds, pooled
from dressage.runs.view import RunView, Series

STEPS = np.linspace(1000, 60_000, 60)


def flat_run(seed: int, kl: float) -> RunView:
    noise = np.random.default_rng(seed).normal(size=60)
    series = {
        "train/roll/ep_rew_mean": Series(STEPS, 20 + 2 * noise),
        "train/metrics/kl_divergence": Series(STEPS, kl * (1 + 0.01 * noise)),
    }
    return RunView(
        Path("x"), f"run-{seed}", "dressage", "ppo", "CartPole-v1", {"seed": seed}, series=series,
        budget=60_000, env_steps=60_000, state="finished",
    )  # fmt: skip


def test_pooling_by_hand() -> None:
    found = pooled([{"a": 0.9, "b": 0.1}, {"a": 0.2, "b": 0.8}])
    a, b = math.sqrt(0.9 * 0.2), math.sqrt(0.1 * 0.8)
    assert found == pytest.approx({"a": a / (a + b), "b": b / (a + b)})
    assert list(found) == ["a", "b"]


def test_equal_seeds_are_no_surer_than_one() -> None:
    run = flat_run(0, 0.3)
    alone, three = diagnose(run), diagnose_seeds([run, run, run])
    assert alone.seeds is None and alone.verdict == three.verdict == "faulty"
    assert [c.id for c in three.causes] == [c.id for c in alone.causes]
    assert three.causes[0].probability == pytest.approx(alone.causes[0].probability)


def test_a_symptom_is_counted_over_the_seeds_that_could_show_it() -> None:
    runs = [flat_run(0, 0.3), flat_run(1, 0.3), flat_run(2, 0.01), flat_run(3, 0.01)]
    del runs[3].series["train/metrics/kl_divergence"]
    found = diagnose_seeds(runs)
    assert found.seeds is not None
    assert found.seeds.symptoms["OPT001"] == [2, 3]
    assert found.seeds.symptoms["PRO001"] == [4, 4]
    assert found.seeds.runs == ["run-0", "run-1", "run-2", "run-3"]
    assert len(found.seeds.verdicts) == 4
    assert found.seeds.returns == pytest.approx([20] * 4, abs=2)

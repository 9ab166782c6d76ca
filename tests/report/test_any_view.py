"""A report of any view whatever: no traceback, a sound page, JSON that any reader takes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dressage.diagnosis.report import examine
from dressage.runs.view import Episodes, RunView, Series
from dressage.ui.text import one_line_json

from .builders import check_page

NAMES = (
    "train/roll/ep_rew_mean", "val/roll/ep_rew_mean", "train/metrics/kl_divergence",
    "train/loss/policy", "train/loss/value", "train/metrics/grad_norm/policy",
    "train/metrics/grad_norm/value", "train/hp/lr", "wall_seconds", "sys/env_steps_per_second",
    "sys/time/collect", "own/metric", "train/metrics/q_mean", "train/roll/ep_rew_std",
)  # fmt: skip
ODD = st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-320, 5.0])
VALUE = st.one_of(st.floats(-1e3, 1e3), ODD)
SETTING = st.one_of(st.none(), VALUE, st.text(max_size=8), st.just("linear(1e-3, 0)"))


@st.composite
def views(draw: Any) -> RunView:
    series = {}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6)):
        values = np.array(draw(st.lists(VALUE, min_size=1, max_size=40)))
        if draw(st.booleans()):  # long enough for every analysis
            values = np.resize(values, 200)
        steps = np.sort(draw(st.integers(0, 3)) * np.arange(len(values), dtype=float))
        series[name] = Series(steps, values)
    config = draw(
        st.dictionaries(
            st.sampled_from(["learning_rate", "vf_coef", "max_grad_norm", "seed", "n_steps"]),
            SETTING,
            max_size=4,
        )
    )
    count = draw(st.integers(0, 12))
    returns = np.array(draw(st.lists(VALUE, min_size=count, max_size=count)), float)
    return RunView(
        Path("nowhere"),
        draw(st.text(min_size=1, max_size=10)),
        draw(st.sampled_from(["sb3", "table"])),
        draw(st.sampled_from([None, "ppo", "dqn", "sac"])),
        draw(st.sampled_from([None, "CartPole-v1", "<b>"])),
        config,
        own_config=dict(config),
        series=series,
        episodes=Episodes(np.arange(count, dtype=float), returns, returns),
        budget=draw(st.sampled_from([None, 1.0, 1e5])),
        env_steps=draw(st.sampled_from([0.0, 400.0])),
        threshold=draw(st.sampled_from([None, 475.0, math.nan])),
    )


@given(st.lists(views(), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_a_report_of_anything(runs: list[RunView]) -> None:
    for made in examine(runs):
        check_page(made.html)
        json.loads(one_line_json(made.to_json()))
        assert made.markdown.startswith("# ") and made.text

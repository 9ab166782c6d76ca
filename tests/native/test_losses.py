"""Whole updates in C against the torch learner: the same parameters, batches and settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from .kernels import ACTIVATIONS, OPTIMIZERS, Case, error, loss_metric

DISCRETE = {"categories": (3,)}
MULTI = {"categories": (3, 2, 4)}
GAUSSIAN = {"continuous": 3}
SQUASHED = {"continuous": 2, "squash": True}
MIXED = {"categories": (3, 2), "continuous": 2}
SMALL = {"net_arch": [16, 13], "rows": 96, "batch_size": 24, "learning_rate": 1e-2}
WHOLE = SMALL | {"batch_size": None}
REINFORCE = {"family": "reinforce", "baseline_steps": 3}

CASES: dict[str, dict[str, Any]] = {
    "discrete": SMALL | DISCRETE,
    "masks": SMALL | DISCRETE | {"masked": True, "ent_coef": 0.1},
    "multi-discrete": SMALL | MULTI | {"ent_coef": 0.05},
    "multi-discrete masks": SMALL | MULTI | {"ent_coef": 0.05, "masked": True},
    "Gaussian": SMALL | GAUSSIAN | {"ent_coef": 0.02},
    "squashed": SMALL | SQUASHED | {"ent_coef": 0.02},
    "mixed": SMALL | MIXED | {"ent_coef": 0.02, "masked": True},
    "shared": SMALL | DISCRETE | {"share_features": True, "ent_coef": 0.01},
    "shared Gaussian": SMALL | GAUSSIAN | {"share_features": True, "vf_coef": 0.1},
    "layer norm": SMALL | DISCRETE | {"layer_norm": True},
    "layer norm shared": SMALL | MIXED | {"layer_norm": True, "share_features": True},
    "value clip": SMALL | DISCRETE | {"clip_range_vf": 0.2},
    "no normalisation": SMALL | GAUSSIAN | {"normalize_advantage": "off"},
    "wide clip": SMALL | DISCRETE | {"clip_range": 0.5, "max_grad_norm": 100.0},
    "two rates": SMALL | DISCRETE | {"value_learning_rate": 3e-2},
    "linear": SMALL | MIXED | {"net_arch": []},
    "linear shared": SMALL | DISCRETE | {"net_arch": [], "share_features": True},
    "own widths": SMALL | DISCRETE | {"net_arch": {"policy": [7], "value": [33, 9, 5]}},
    "one deep": SMALL | DISCRETE | {"net_arch": {"policy": [], "value": [8] * 8}},
    **{f"activation {a}": SMALL | GAUSSIAN | {"activation": a} for a in ACTIVATIONS},
    **{f"{a} norm": SMALL | MIXED | {"activation": a, "layer_norm": True} for a in ACTIVATIONS},
    **{
        f"optimizer {name}": SMALL
        | DISCRETE
        | {"optimizer": name, "weight_decay": 0.1, "momentum": 0.9, "betas": (0.8, 0.95)}
        for name in OPTIMIZERS
    },
    **{f"plain {n}": SMALL | DISCRETE | {"optimizer": n} for n in OPTIMIZERS},
    "A2C": WHOLE | DISCRETE | {"family": "a2c", "ent_coef": 0.01},
    "A2C Gaussian": WHOLE | GAUSSIAN | {"family": "a2c", "ent_coef": 0.01, "share_features": True},
    "REINFORCE": WHOLE | DISCRETE | REINFORCE | {"ent_coef": 0.01, "value_learning_rate": 3e-3},
    "REINFORCE shared": WHOLE | GAUSSIAN | REINFORCE | {"share_features": True},
    "REINFORCE shared norm": WHOLE
    | MIXED
    | REINFORCE
    | {"share_features": True, "layer_norm": True},
    "REINFORCE linear shared": WHOLE
    | DISCRETE
    | REINFORCE
    | {"net_arch": [], "share_features": True},
    "REINFORCE own widths": WHOLE
    | DISCRETE
    | REINFORCE
    | {"net_arch": {"policy": [], "value": [33, 9]}, "optimizer": "rmsprop", "momentum": 0.5},
    "REINFORCE bare": WHOLE | DISCRETE | {"family": "reinforce", "baseline": False},
    "REINFORCE bare shared": WHOLE
    | SQUASHED
    | {"family": "reinforce", "baseline": False, "share_features": True, "ent_coef": 0.01},
}


def same(found: dict[str, float], expected: dict[str, float], tolerance: float) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        close = abs(found[name] - value) <= tolerance * max(1.0, abs(value))
        assert close, f"{name}: {found[name]}, torch {value}"


@pytest.mark.parametrize("name", CASES)
def test_twenty_updates_are_torchs(name: str) -> None:
    case = Case(**CASES[name])
    native = case.native()
    calls = 20 if case.family == "reinforce" else 1  # it takes one step of the policy a rollout
    order = case.order(20 // calls // (case.rows // case.batch_size))
    for _ in range(calls):
        found = native.update(order, len(order), inspect=True)
        expected = case.torch_update(order, inspect=True)
    assert native.steps[case.family] == 20
    assert error(native.parameters, case.parameters()) < 1e-9
    same(found, expected, 1e-6)  # torch keeps some metrics in float


@pytest.mark.parametrize("name", CASES)
def test_float_gradients(name: str) -> None:
    case = Case(**CASES[name] | {"dtype": np.float32, "batch_size": None})
    judge = Case(**CASES[name] | {"dtype": np.float64, "batch_size": None})
    with torch.no_grad():
        for mine, other in zip(judge.net.parameters(), case.net.parameters(), strict=True):
            mine.copy_(other)
    judge.data = {k: x if x.dtype == bool else x.astype(float) for k, x in case.data.items()}
    for family in case.families():
        gradient, metrics = case.native().gradient(family=family)
        expected, total = judge.gradient(family)
        assert error(gradient, expected) < 1e-5
        assert metrics[loss_metric(family)] == pytest.approx(total, rel=1e-5, abs=1e-6)

"""Off-policy updates in C against torch: parameters after K updates, gradients, metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dressage.native.off_structs import PARTS

from .off_kernels import OffCase

CASES: dict[str, dict[str, Any]] = {
    "dqn": {"algo": "dqn", "categories": (3,), "double": False},
    "dqn-double": {"algo": "dqn", "categories": (3,), "batch_size": 37},
    "dqn-dueling": {"algo": "dqn", "categories": (4,), "dueling": True, "layer_norm": True},
    "dqn-choices": {"algo": "dqn", "categories": (2, 5, 3), "dueling": True, "activation": "tanh"},
    "dqn-masked": {"algo": "dqn", "categories": (3, 2), "masked": True, "tau": 0.3},
    "dqn-normalised": {"algo": "dqn", "categories": (2,), "normalize": True, "activation": "elu"},
    "dqn-clipped": {"algo": "dqn", "categories": (2,), "max_grad_norm": 0.1, "obs_size": 30},
    "dqn-rmsprop": {"algo": "dqn", "categories": (2,), "optimizer": "rmsprop", "net_arch": [8]},
    "dqn-linear": {"algo": "dqn", "categories": (2,), "net_arch": [], "optimizer": "sgd"},
    "sac": {"algo": "sac", "continuous": 2, "batch_size": 70},
    "sac-fixed": {"algo": "sac", "continuous": 3, "ent_coef": 0.2, "activation": "silu"},
    "sac-norms": {"algo": "sac", "continuous": 1, "layer_norm": True, "activation": "gelu"},
    "sac-three": {"algo": "sac", "continuous": 2, "n_critics": 3, "value_learning_rate": 0.01},
    "sac-one": {"algo": "sac", "continuous": 2, "n_critics": 1, "tau": 0.7, "normalize": True},
    "sac-parts": {"algo": "sac", "continuous": 2, "net_arch": {"policy": [33], "value": [8, 40]}},
    "sac-entropy": {"algo": "sac", "continuous": 2, "target_entropy": -3.5, "max_grad_norm": 0.2},
    "td3": {"algo": "td3", "continuous": 2},
    "td3-norms": {"algo": "td3", "continuous": 3, "layer_norm": True, "activation": "tanh"},
    "td3-delayed": {"algo": "td3", "continuous": 1, "policy_delay": 3, "weight_decay": 0.1},
    "ddpg": {"algo": "ddpg", "continuous": 2, "batch_size": 33},
    "tqc": {"algo": "tqc", "continuous": 2, "batch_size": 70},
    "tqc-fixed": {"algo": "tqc", "continuous": 3, "ent_coef": 0.2, "n_quantiles": 16},
    "tqc-norms": {"algo": "tqc", "continuous": 1, "layer_norm": True, "activation": "gelu"},
    "tqc-five": {"algo": "tqc", "continuous": 2, "n_critics": 5, "value_learning_rate": 0.01},
    "tqc-one": {"algo": "tqc", "continuous": 2, "n_critics": 1, "tau": 0.7, "normalize": True},
    "tqc-whole": {"algo": "tqc", "continuous": 2, "top_quantiles_to_drop_per_net": 0},
    "tqc-few": {
        "algo": "tqc",
        "continuous": 2,
        "n_quantiles": 5,
        "top_quantiles_to_drop_per_net": 4,
        "net_arch": {"policy": [33], "value": [8, 40]},
    },
    "tqc-many": {"algo": "tqc", "continuous": 1, "n_quantiles": 70, "net_arch": []},
}
CASES |= {
    "qr_dqn": {"algo": "qr_dqn", "categories": (3,), "n_quantiles": 11},
    "qr_dqn-double": {"algo": "qr_dqn", "categories": (3,), "double": True, "n_step": 3},
    "qr_dqn-dueling": {"algo": "qr_dqn", "categories": (4,), "dueling": True, "n_quantiles": 5},
    "qr_dqn-choices": {
        "algo": "qr_dqn",
        "categories": (2, 5, 3),
        "dueling": True,
        "double": True,
        "n_quantiles": 17,
        "kappa": 0.3,
    },
    "qr_dqn-masked": {
        "algo": "qr_dqn",
        "categories": (3, 2),
        "masked": True,
        "n_quantiles": 32,
        "max_grad_norm": 0.1,
    },
    "qr_dqn-one": {"algo": "qr_dqn", "categories": (2,), "n_quantiles": 1, "layer_norm": True},
}
C51: dict[str, Any] = {"algo": "c51", "v_min": -3.0, "v_max": 4.0}
CASES |= {
    "c51": {**C51, "categories": (3,)},
    "c51-wide": {"algo": "c51", "categories": (3,), "double": True, "n_step": 3},
    "c51-dueling": {**C51, "categories": (4,), "dueling": True, "n_atoms": 16},
    "c51-choices": {
        **C51,
        "categories": (2, 5, 3),
        "dueling": True,
        "double": True,
        "n_atoms": 21,
        "tau": 0.4,
    },
    "c51-masked": {**C51, "categories": (3, 2), "masked": True, "max_grad_norm": 0.1},
    "c51-two": {**C51, "categories": (2,), "n_atoms": 2, "layer_norm": True},
}
CASES |= {
    f"{name}-prioritized": {**CASES[name], "prioritized": True, "priority_alpha": 0.7}
    for name in (
        *("dqn", "dqn-choices", "dqn-masked", "dqn-normalised"),
        *("qr_dqn-double", "qr_dqn-choices", "c51-wide", "c51-choices", "c51-masked"),
        *("sac", "sac-three", "td3", "ddpg", "tqc", "tqc-five"),
    )
}
OF_EACH = ("dqn-double", "sac", "td3", "ddpg", "qr_dqn-choices", "c51-choices", "tqc")
OF_EACH += tuple(f"{name}-prioritized" for name in ("dqn-choices", "sac", "td3", "tqc"))
OF_EACH += ("qr_dqn-choices-prioritized", "c51-choices-prioritized")
KINDS = [pytest.param(CASES[name], id=name) for name in OF_EACH]
CHOICES = ("dqn", "qr_dqn", "c51")  # without an actor


def make(case: dict[str, Any], **more: Any) -> OffCase:
    given = {"batch_size": 48, "gradient_steps": 4, "learning_rate": 3e-3, **case, **more}
    return OffCase(**given)


@pytest.mark.parametrize("name", CASES)
def test_updates_are_torchs(name: str) -> None:
    """In double: weights, slow copies, priorities and metrics after two calls of four updates."""
    case = make(CASES[name])
    parts, priorities = case.native_parts(), case.memory.priorities
    for _ in range(2):
        ours, theirs = case.native_update(parts, inspect=True), case.torch_update(inspect=True)
        case.memory.draws += case.cfg.gradient_steps
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            assert ours[key] == pytest.approx(value, rel=1e-6, abs=1e-9), key
    weights = case.native_weights(parts)
    for key, value in case.torch_weights().items():
        np.testing.assert_allclose(weights[key], value, rtol=1e-9, atol=1e-9, err_msg=key)
    if priorities is not None:
        np.testing.assert_allclose(case.priorities, priorities.tree, rtol=1e-9, atol=1e-9)
        assert case.largest == pytest.approx(priorities.largest, rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_quantiles_are_of_the_errors_whose_mean_is_told(name: str) -> None:
    """Of distributions too, whose priorities are something else."""
    case = make(CASES[name], gradient_steps=1)
    found = case.native_update(case.native_parts(), inspect=True)
    errors = np.sort(case.native.updates.td_errors)
    assert errors.shape == (case.cfg.batch_size,) and errors[0] >= 0
    assert errors.mean() == pytest.approx(found["train/metrics/td_error_mean"], rel=1e-9)
    assert errors[-1] <= found["train/metrics/td_error_max"] * (1 + 1e-9)
    for share in (0.5, 0.9):
        at, rest = divmod(share * (len(errors) - 1), 1)
        between = errors[int(at)] + rest * (errors[int(at) + 1] - errors[int(at)])
        told = found[f"train/metrics/td_error_p{share * 100:.0f}"]
        assert told == pytest.approx(between, rel=1e-9)


@pytest.mark.parametrize("case", KINDS)
def test_float_gradients(case: dict[str, Any]) -> None:
    made = (
        make(case, dtype=np.float32, gradient_steps=1, policy_delay=1, batch_size=200)
        if (case["algo"] == "td3")
        else make(case, dtype=np.float32, gradient_steps=1, batch_size=200)
    )
    parts = made.native_parts()
    made.native_update(parts)
    made.torch_update()
    for group, gradient in made.first_gradients(parts).items():
        state = made.learner.groups[group].optimizer.state_dict()["state"][0]["exp_avg"].numpy()
        theirs = state / (1.0 - made.cfg.betas[0])
        assert np.abs(gradient - theirs).max() <= 1e-5 * np.abs(theirs).max() + 1e-7, group


@pytest.mark.parametrize("case", KINDS)
@pytest.mark.parametrize("part", ["critic", "actor"])
def test_gradients_are_those_of_the_loss(case: dict[str, Any], part: str) -> None:
    """Finite differences; the critics stand still, so that the actor's loss is of itself alone."""
    if part == "actor" and case["algo"] in CHOICES:
        pytest.skip("there is no actor")
    still = {} if case["algo"] in CHOICES else {"value_learning_rate": 0.0}
    if case["algo"] == "td3":
        still["policy_delay"] = 1
    made = make(case, gradient_steps=1, activation="tanh", **still)
    names = {"critic": "train/loss/critic", "actor": "train/loss/actor"}
    loss = "train/loss/td" if case["algo"] in CHOICES else names[part]
    parts = made.native_parts()
    start = {name: {k: a.copy() for k, a in arrays.items()} for name, arrays in parts.items()}
    made.native_update(parts)
    gradient = parts[part]["first"] / (1.0 - made.cfg.betas[0])
    for at in np.random.default_rng(1).permutation(np.flatnonzero(gradient))[:12]:
        found = []
        for step in (1e-5, -1e-5):
            moved = {n: {k: a.copy() for k, a in arrays.items()} for n, arrays in start.items()}
            moved[part]["parameters"][at] += step
            for p in made.native_learner.parts.values():
                p.steps = 0
            made.share_priorities()
            found.append(made.native_update(moved)[loss])
        slope = (found[0] - found[1]) / 2e-5
        assert gradient[at] == pytest.approx(slope, rel=2e-4, abs=1e-7)


@pytest.mark.parametrize("case", KINDS)
def test_no_result_depends_on_threads(case: dict[str, Any]) -> None:
    found = []
    for threads in (1, 2, 3):
        made = make(case, dtype=np.float32, batch_size=150)
        parts = made.native_parts()
        metrics = made.native_update(parts, threads, inspect=True)
        ends = {n: {k: a.tobytes() for k, a in p.items()} for n, p in parts.items()}
        found.append((metrics, ends, made.priorities.tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("case", KINDS)
def test_an_update_that_is_not_finite_is_left_out(case: dict[str, Any]) -> None:
    """Weights and moments stand; slow copies may go on towards them."""
    made = make(case)
    made.memory.ring.columns["reward"][:] = np.nan
    made.memory.ring.columns["obs"][:] = np.nan
    parts = made.native_parts()
    before = {n: {k: a.copy() for k, a in p.items()} for n, p in parts.items()}
    metrics = made.native_update(parts)
    steps = sum(made.native.updates.call.measured[PARTS.index(n)].steps for n in parts)
    assert metrics["train/metrics/skipped_updates"] == steps > 0
    for name, arrays in parts.items():
        for kind in ("parameters", "first", "second"):
            np.testing.assert_array_equal(arrays[kind], before[name][kind])


def test_the_lowest_of_equal_critics_shares_its_gradient() -> None:
    """torch.amin's rule: equal critics get equal parts."""
    made = make(CASES["sac"], gradient_steps=1)
    critic = made.learner.groups["critic"].modules["critic"]
    import torch

    with torch.no_grad():
        for parameter in critic.parameters():
            parameter[1] = parameter[0]
    parts = made.native_parts()
    made.native_update(parts)
    made.torch_update()
    weights = made.native_weights(parts)
    for key, value in made.torch_weights().items():
        np.testing.assert_allclose(weights[key], value, rtol=1e-9, atol=1e-9, err_msg=key)


def test_a_nan_among_the_quantiles_of_a_target_is_the_largest() -> None:
    """Tensor.sort's rule: it is among those left out."""
    made = make(CASES["tqc"], gradient_steps=1)
    import torch

    with torch.no_grad():
        made.learner.nets["target"].mlp.layers[-1].bias[0, 0, 3] = torch.nan
    parts = made.native_parts()
    metrics = made.native_update(parts)
    made.torch_update()
    assert metrics["train/metrics/skipped_updates"] == 0
    weights = made.native_weights(parts)
    for key, value in made.torch_weights().items():
        np.testing.assert_allclose(weights[key], value, rtol=1e-9, atol=1e-9, err_msg=key)

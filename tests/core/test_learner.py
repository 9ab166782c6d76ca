"""The gradient seam against plain torch: flat views, clipping, guard, optimizers, saved state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import nn

from dressage.core.config import Optimizer, OptimizerSettings
from dressage.core.learner import Learner, flatten, unflatten

Data = tuple[torch.Tensor, torch.Tensor]


def make_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.ModuleDict(
        {
            "policy": nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)),
            "value": nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)),
        }
    )


def batches(count: int) -> list[Data]:
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(16, 3, generator=generator), 3 * torch.randn(16, 3, generator=generator))
        for _ in range(count)
    ]


def loss(nets: dict[str, Any], data: Data) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    x, y = data
    net = nets["net"]
    out = torch.cat((net["policy"](x), net["value"](x)), dim=-1)
    total = (out - y).square().mean()
    return total, {"train/loss/total": total.detach()}


def make_learner(**settings: Any) -> Learner:
    learner = Learner()
    net = learner.add_net("net", make_net())
    learner.add_group("all", dict(net.items()), OptimizerSettings(**settings))
    learner.set_learning_rate("all", {"policy": 0.01, "value": 0.03})
    return learner


JUDGES: dict[str, Callable[[Any], Any]] = {
    "adam": lambda p: torch.optim.Adam(p, eps=1e-5),
    "adamw": lambda p: torch.optim.AdamW(p, eps=1e-5, weight_decay=0.1),
    "sgd": lambda p: torch.optim.SGD(p, momentum=0.9),
    "rmsprop": lambda p: torch.optim.RMSprop(p, alpha=0.99, eps=1e-5, momentum=0.9),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "adamw": {"weight_decay": 0.1},
    "sgd": {"momentum": 0.9},
    "rmsprop": {"momentum": 0.9},
}


@pytest.mark.parametrize("name", JUDGES)
def test_flat_parameters_give_what_one_tensor_a_layer_gives(name: str) -> None:
    learner = make_learner(optimizer=name, max_grad_norm=0.5, **SETTINGS.get(name, {}))
    net = make_net()
    optimizer = JUDGES[name](
        [
            {"params": net["policy"].parameters(), "lr": 0.01},
            {"params": net["value"].parameters(), "lr": 0.03},
        ]
    )
    for data in batches(20):
        metrics = learner.step("all", loss, data)
        optimizer.zero_grad()
        loss({"net": net}, data)[0].backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        assert float(metrics["train/metrics/grad_norm/total"]) == pytest.approx(float(norm), 1e-5)
    for (key, mine), theirs in zip(
        learner.nets["net"].state_dict().items(), net.state_dict().values(), strict=True
    ):
        assert torch.allclose(mine, theirs, atol=1e-6), key


def test_clipping_keeps_the_direction_and_says_when() -> None:
    learner = make_learner(optimizer="sgd", max_grad_norm=1e-3)
    before = learner.groups["all"].flat.clone()
    learner.set_learning_rate("all", {"policy": 1.0, "value": 1.0})
    metrics = learner.step("all", loss, batches(1)[0])
    moved = before - learner.groups["all"].flat
    assert float(torch.linalg.vector_norm(moved)) == pytest.approx(1e-3, rel=1e-2)
    assert float(metrics["train/metrics/grad_clipped"]) == 1.0
    loose = make_learner(optimizer="sgd", max_grad_norm=1e6)
    metrics = loose.step("all", loss, batches(1)[0])
    assert float(metrics["train/metrics/grad_clipped"]) == 0.0
    parts = [metrics[f"train/metrics/grad_norm/{name}"] for name in ("policy", "value")]
    total = float(metrics["train/metrics/grad_norm/total"])
    assert float(torch.linalg.vector_norm(torch.stack(parts))) == pytest.approx(total)


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd", "rmsprop", "rmsprop_tf"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_changes_nothing(name: str, bad: float) -> None:
    """Moments are warm: a mere gradient of zero would still move the weights."""
    learner = make_learner(
        optimizer=name, weight_decay=0.1, momentum=0.9 if name != "adam" else 0.0
    )
    for data in batches(3):
        learner.step("all", loss, data)
    weights = learner.groups["all"].flat.clone()
    arrays, _ = learner.optimizer_state()
    arrays = {key: value.copy() for key, value in arrays.items()}
    x, y = batches(1)[0]
    metrics = learner.step("all", loss, (x, y * bad))
    assert float(metrics["train/metrics/skipped_updates"]) == 1.0
    assert torch.equal(learner.groups["all"].flat, weights)
    after, _ = learner.optimizer_state()
    assert all(np.array_equal(after[key], value) for key, value in arrays.items())
    metrics = learner.step("all", loss, (x, y))  # and the next one is as good as ever
    assert float(metrics["train/metrics/skipped_updates"]) == 0.0
    assert torch.isfinite(learner.groups["all"].flat).all()


@pytest.mark.parametrize("name", get_args(Optimizer))
def test_every_optimizer_learns_and_resumes_to_the_bit(name: str) -> None:
    if name in ("lamb", "shampoo"):
        pytest.importorskip("pytorch_optimizer")
    settings = {"optimizer": name, "momentum": 0.9 if name in ("sgd", "rmsprop_tf") else 0.0}
    learner = make_learner(**settings)
    data = batches(1) * 6
    values = [float(learner.step("all", loss, one)["train/loss/total"]) for one in data]
    assert values[-1] < values[0]
    weights = {key: value.copy() for key, value in learner.weights().items()}
    arrays, plain = learner.optimizer_state()
    arrays = {key: value.copy() for key, value in arrays.items()}
    other = make_learner(**settings)
    other.load_weights(weights)
    other.load_optimizer_state(arrays, plain)
    for one in batches(5):
        for each in (learner, other):
            each.step("all", loss, one)
    assert torch.equal(learner.groups["all"].flat, other.groups["all"].flat)
    assert learner.updates == other.updates == 11
    forgetful = make_learner(**settings)
    forgetful.load_weights(weights)
    for one in batches(5):
        forgetful.step("all", loss, one)
    if name != "sgd" or settings["momentum"]:
        assert not torch.equal(learner.groups["all"].flat, forgetful.groups["all"].flat)


@pytest.mark.parametrize("name", get_args(Optimizer))
def test_an_optimizers_settings_may_change_between_steps(name: str) -> None:
    """A schedule ends where the same numbers given by hand end, and elsewhere than without."""
    if name in ("lamb", "shampoo"):
        pytest.importorskip("pytorch_optimizer")
    rates = {"policy": 0.01, "value": 0.01}
    scheduled = OptimizerSettings(
        optimizer=name,
        weight_decay="linear(0, 0.5)",
        momentum="linear(0.9, 0.1)",
        optimizer_eps="linear(1e-5, 0.1)",
        rmsprop_alpha="linear(0.99, 0.5)",
    )
    takers = {
        "weight_decay": get_args(Optimizer),
        "momentum": ("sgd", "rmsprop", "rmsprop_tf", "shampoo"),
        "optimizer_eps": ("adam", "adamw", "rmsprop", "rmsprop_tf", "lamb"),
        "rmsprop_alpha": ("rmsprop", "rmsprop_tf"),
    }
    for what, names in takers.items():
        ends = []
        for follows in (True, False):
            learner = make_learner(**scheduled.model_dump())
            for i, data in enumerate(batches(5)):
                now = scheduled.at(i / 4)
                if not follows:
                    now = now.model_copy(update={what: getattr(scheduled.at(0.0), what)})
                learner.set_optimizer("all", now, rates)
                learner.step("all", loss, data)
            ends.append(learner.groups["all"].flat.clone())
        assert torch.equal(*ends) is (name not in names), what


def test_rmsprop_tf_equals_a_numpy_loop() -> None:
    """Epsilon inside the root, squares that start at one, the rate inside the momentum."""
    learner = make_learner(
        optimizer="rmsprop_tf", momentum=0.5, weight_decay=0.01, max_grad_norm=1e9
    )
    net = make_net()
    chunks = {"policy": 0.01, "value": 0.03}
    w = {
        name: np.concatenate([p.detach().numpy().ravel() for p in net[name].parameters()])
        for name in chunks
    }
    square = {name: np.ones_like(x) for name, x in w.items()}
    buffer = {name: np.zeros_like(x) for name, x in w.items()}
    for data in batches(10):
        net.zero_grad()
        loss({"net": net}, data)[0].backward()
        for name, rate in chunks.items():
            g = np.concatenate([p.grad.numpy().ravel() for p in net[name].parameters()])
            g = g + 0.01 * w[name]
            square[name] = 0.99 * square[name] + 0.01 * g * g
            buffer[name] = 0.5 * buffer[name] + rate * g / np.sqrt(square[name] + 1e-5)
            w[name] = w[name] - buffer[name]
            nn.utils.vector_to_parameters(torch.from_numpy(w[name]), net[name].parameters())
        learner.step("all", loss, data)
    for name, mine in learner.groups["all"].values.items():
        assert np.allclose(mine.detach().numpy(), w[name], atol=1e-6)


def test_parameters_are_views_of_the_flat_tensor() -> None:
    learner = make_learner()
    flat = learner.groups["all"].flat
    assert flat.numel() == sum(p.numel() for p in learner.nets["net"].parameters())
    with torch.no_grad():
        flat.fill_(0.25)
    for parameter in learner.nets["net"].parameters():
        assert torch.equal(parameter, torch.full_like(parameter, 0.25))
    weights = {k: np.full_like(v, 0.5) for k, v in learner.weights().items()}
    learner.load_weights(weights)  # into the views, not beside them
    assert torch.equal(flat, torch.full_like(flat, 0.5))


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_mixed_precision_learns_on_a_cpu(precision: str) -> None:
    learner = Learner(precision=precision)
    net = learner.add_net("net", make_net())
    learner.add_group("all", dict(net.items()), OptimizerSettings())
    learner.set_learning_rate("all", {"policy": 0.01, "value": 0.01})
    values = [float(learner.step("all", loss, batches(1)[0])["train/loss/total"]) for _ in range(9)]
    assert values[-1] < values[0]
    assert learner.groups["all"].flat.dtype == torch.float32


def test_costly_metrics_come_when_asked_for_and_dormant_units_are_counted() -> None:
    learner = Learner()
    net = nn.ModuleDict({"policy": nn.Sequential(nn.Linear(3, 4), nn.Identity())})
    net["policy"][1].is_activation = True
    with torch.no_grad():
        net["policy"][0].weight.zero_()
        net["policy"][0].bias.copy_(torch.tensor([0.0, 1.0, 1.0, 0.01]))  # two of four sleep
    learner.add_net("net", net)
    learner.add_group("all", dict(net.items()), OptimizerSettings(optimizer="sgd"))
    learner.set_learning_rate("all", {"policy": 0.1})

    def total(nets: Any) -> Any:
        return nets["net"]["policy"](torch.ones(2, 3)).sum(), {}

    norm = float(torch.linalg.vector_norm(learner.groups["all"].flat))
    assert "train/metrics/weight_norm/policy" not in learner.step("all", total)
    learner.groups["all"].flat.data.zero_()
    with torch.no_grad():
        net["policy"][0].bias.copy_(torch.tensor([0.0, 1.0, 1.0, 0.01]))
    learner.inspect_next = True
    metrics = learner.step("all", total)
    assert float(metrics["train/metrics/dormant_share/policy"]) == 0.5
    assert float(metrics["train/metrics/weight_norm/policy"]) == pytest.approx(norm)
    # the clipped gradient has norm 0.5, the rate is 0.1
    moved = float(metrics["train/metrics/update_to_weight/policy"])
    assert moved == pytest.approx(0.05 / norm, rel=1e-3)
    assert not learner.inspect_next


def test_a_compiled_loss_is_inspected_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks that come after a graph was traced are not in it: no unit would be seen."""
    graph = Mock(side_effect=loss)  # the real compiler takes 10 s
    monkeypatch.setattr("dressage.core.learner.torch.compile", lambda _: graph)
    learner = make_learner()
    learner.compile = True
    data = batches(1)[0]
    learner.step("all", loss, data)
    assert graph.call_count == 1
    learner.inspect_next = True
    metrics = learner.step("all", loss, data)
    assert "train/metrics/weight_norm/policy" in metrics
    assert graph.call_count == 1


def test_nested_states_survive_flattening() -> None:
    state = {0: {"step": torch.tensor(3.0), "list": [torch.ones(2), torch.zeros(1)]}, 1: {"n": 4}}
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    flatten("all/", state, arrays, plain)
    again = unflatten("all/", arrays, plain)
    assert again.keys() == state.keys()
    assert torch.equal(again[0]["list"][0], torch.ones(2))
    assert again[1]["n"] == 4
    assert again[0]["step"].shape == ()

"""What is said about saved weights and optimizer state."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

import dressage
from dressage.diagnosis.checkpoints import (
    Problem,
    SavedModelRule,
    dormant_units,
    first_moment_bound,
    inspect,
)
from dressage.diagnosis.registry import all_rules
from dressage.runs.readers import read
from dressage.runs.weights import Moments, Weights


def weights(**tensors: np.ndarray) -> dict[str, np.ndarray]:
    return {name.replace("__", "."): value for name, value in tensors.items()}


def kinds(problems: list[Problem]) -> list[str]:
    return [problem.kind for problem in problems]


def held(first: list[float], second: list[float], step: float = 10.0) -> Weights:
    moments = Moments("all", step, np.array(first), np.array(second))
    return Weights(Path("x"), {"a": np.zeros(50)}, [moments], updates=10.0)


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.5, 0.9), (0.0, 0.99)])
def test_no_gradients_pass_the_bound_on_first_moments_and_some_reach_it(
    betas: tuple[float, float],
) -> None:
    bound, generator = first_moment_bound(betas), np.random.default_rng(0)
    largest = 0.0
    for _ in range(200):
        decay = generator.uniform(0.5, 1.0)  # of the gradients, back in time
        gradients = decay ** np.arange(100)[::-1] * (1 + 0.1 * generator.normal(size=100))
        first = second = 0.0
        for gradient in gradients:
            first = betas[0] * first + (1 - betas[0]) * gradient
            second = betas[1] * second + (1 - betas[1]) * gradient**2
        largest = max(largest, abs(first) / np.sqrt(second))
    # the gradients that reach it fall off as (b1 / b2)^k
    best = (betas[0] / betas[1]) ** np.arange(400)[::-1] if betas[0] else np.array([1.0])
    first = second = 0.0
    for gradient in best:
        first = betas[0] * first + (1 - betas[0]) * gradient
        second = betas[1] * second + (1 - betas[1]) * gradient**2
    assert largest <= bound * (1 + 1e-9)
    assert abs(first) / np.sqrt(second) == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (held([0.1, 0.1], [1.0, 1.0]), []),
        (held([0.1, 0.1], [1.0, -1.0]), ["impossible-moments"]),
        (held([100.0, 0.1], [1.0, 1.0]), ["impossible-moments"]),
        (held([7.0, 0.1], [1.0, 1.0]), []),
        (held([0.1, 0.1], [1e8, 1.0]), ["exploding-moments"]),
        (held([0.1, 0.1], [np.nan, 1.0]), ["not-finite"]),
        (held([0.1], [1.0], step=11.0), ["wrong-steps"]),
        (held([0.1], [1.0], step=0.0), ["wrong-steps"]),
        (held([0.1] * 60, [1.0] * 60), ["misfit-moments"]),
        (held([0.1], [1.0, 1.0]), ["misfit-moments"]),
    ],
)
def test_what_is_wrong_with_moments(state: Weights, kind: list[str]) -> None:
    assert kinds(inspect(state).problems) == kind


def test_dormant_units_are_those_of_the_definition() -> None:
    generator = np.random.default_rng(3)
    first, second = generator.normal(size=(16, 4)), np.abs(generator.normal(size=(8, 16)))
    first[3] = 0.0  # two units that say nothing
    first[5] *= 1e-3
    second[6] *= -1  # of positive inputs a ReLU makes nothing
    head = generator.normal(size=(2, 8))
    named = {"net.mlp.0.weight": first, "net.mlp.2.weight": second, "net.head.weight": head}
    found = dormant_units(named, "relu")
    assert [(u.layer, u.count, u.dormant) for u in found] == [
        ("net.mlp.0.weight", 16, 2),
        ("net.mlp.2.weight", 8, 1),
    ]


def test_the_last_of_a_chain_is_an_output_where_no_head_follows() -> None:
    ones = np.ones
    named = {"q.0.weight": ones((8, 4)), "q.2.weight": ones((2, 8))}
    assert [u.layer for u in dormant_units(named, "relu")] == ["q.0.weight"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = dressage.train(
        "CartPole-v1", env_steps=2048, seed=0, runs=tmp_path_factory.mktemp("runs"), eval_every=0
    )
    return Path(made.path)


def fired(path: Path) -> set[str]:
    (view,) = read(path)
    rules = [rule for rule in all_rules().values() if rule.family == "checkpoint"]
    ours = [
        rule for rule in rules if not isinstance(rule, SavedModelRule)
    ]  # those are of SB3's zips
    assert ours and all(rule.can_see(view) for rule in ours)
    assert not any(rule.can_see(view) for rule in rules if rule not in ours)
    return {rule.id for rule in ours if rule.check(view) is not None}


def test_a_healthy_checkpoint_is_left_alone(run: Path) -> None:
    assert fired(run) == set()


@pytest.mark.parametrize(
    ("part", "name", "change", "rule"),
    [
        ("policy", "weight", lambda x: np.where(x == x.max(), np.nan, x), "CKP001"),
        ("optimizer", "exp_avg_sq", lambda x: -x, "CKP002"),
        ("optimizer", "exp_avg$", lambda x: 1e6 * np.sqrt(np.abs(x)), "CKP002"),
        ("optimizer", "exp_avg_sq", lambda x: x + 1e9, "CKP003"),
        ("optimizer", "step", lambda x: x + 1e6, "CKP004"),
        ("optimizer", "exp_avg$", lambda x: x[:5], "CKP005"),
        (
            "policy",
            "layers.0.",
            lambda x: x * (np.arange(len(x)) < 5).reshape(-1, *[1] * (x.ndim - 1)),
            "CKP006",
        ),
    ],
)
def test_each_rule_sees_what_it_is_for(
    run: Path, tmp_path: Path, part: str, name: str, change, rule: str
) -> None:
    """Damage with a manifest that fits: as a faulty program writes it, not a broken disk."""
    import hashlib
    import json
    import shutil

    copy = tmp_path / run.name
    shutil.copytree(run, copy, symlinks=True)
    for manifest in copy.glob("checkpoints/*/manifest.json"):
        file = manifest.with_name(f"{part}.safetensors")
        arrays = load_file(file)
        for key in arrays:
            if re.search(name, key):
                arrays[key] = np.array(change(arrays[key]), arrays[key].dtype, order="C")
        save_file(arrays, file)
        content = json.loads(manifest.read_text())
        entry = content["files"][file.name]
        entry["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
        entry["bytes"] = file.stat().st_size
        manifest.write_text(json.dumps(content))
    assert rule in fired(copy)


def test_a_run_without_weights_is_not_judged(run: Path) -> None:
    (view,) = read(run)
    view.weights = []
    assert not any(
        rule.can_see(view) for rule in all_rules().values() if rule.family == "checkpoint"
    )


def test_the_activation_of_torch_and_ours_agree() -> None:
    from dressage.diagnosis.checkpoints import ACTIVATIONS

    x = np.linspace(-3, 3, 50)
    torch_ones = {
        "tanh": torch.tanh,
        "relu": torch.relu,
        "gelu": lambda v: torch.nn.functional.gelu(v, approximate="tanh"),
        "elu": torch.nn.functional.elu,
        "sigmoid": torch.sigmoid,
    }
    for name, function in ACTIVATIONS.items():
        np.testing.assert_allclose(
            function(x), torch_ones[name](torch.tensor(x)).numpy(), atol=1e-6
        )

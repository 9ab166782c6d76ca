"""What is said about saved weights and optimizer state."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

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
from dressage.runs.table import Array
from dressage.runs.weights import Moments, Weights
from dressage.ui.cli.app import app


def weights(**tensors: np.ndarray) -> dict[str, np.ndarray]:
    return {name.replace("__", "."): value for name, value in tensors.items()}


def kinds(problems: list[Problem]) -> list[str]:
    return [problem.kind for problem in problems]


def held(first: list[float], second: list[float], step: float = 10.0) -> Weights:
    moments = Moments("all", step, np.array(first), np.array(second))
    tensors = {"a": np.zeros(50), "b": np.zeros(2), "c": np.zeros(1)}
    return Weights(Path("x"), tensors, [moments], updates=10.0)


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
        (held([0.1] * 51, [1.0] * 51), []),
        (held([0.1] * 49, [1.0] * 49), ["misfit-moments"]),
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


def damaged(run: Path, copy: Path, part: str, change: Callable[[str, Array], Array]) -> Path:
    """Damage with a manifest that fits: as a faulty program writes it, not a broken disk."""
    shutil.copytree(run, copy, symlinks=True)
    for manifest in copy.glob("checkpoints/*/manifest.json"):
        file = manifest.with_name(f"{part}.safetensors")
        arrays = load_file(file)
        for key, value in arrays.items():
            arrays[key] = np.array(change(key, value), value.dtype, order="C")
        save_file(arrays, file)
        content = json.loads(manifest.read_text())
        entry = content["files"][file.name]
        entry["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
        entry["bytes"] = file.stat().st_size
        manifest.write_text(json.dumps(content))
    return copy


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
    run: Path, tmp_path: Path, part: str, name: str, change: Callable[[Array], Array], rule: str
) -> None:
    copy = damaged(
        run,
        tmp_path / run.name,
        part,
        lambda key, value: change(value) if re.search(name, key) else value,
    )
    assert rule in fired(copy)


def said(path: Path) -> str:
    """By the command itself."""
    told = CliRunner().invoke(app, ["diagnose", str(path)])
    assert told.exit_code == 0, told.output
    return " ".join(told.output.split())


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("exp_avg$", lambda x: x[:-3], "The moments of all/#0 have sizes [4607, 4610]"),
        ("exp_avg", lambda x: x[:-3], "The optimizer remembers 4,607 numbers of all/#0"),
        ("exp_avg", lambda x: np.tile(x, 9), "more than the 9,155 weights there are"),
    ],
)
def test_moments_that_do_not_fit_are_told_of_a_checkpoint(
    run: Path, tmp_path: Path, name: str, change: Callable[[Array], Array], says: str
) -> None:
    copy = damaged(
        run,
        tmp_path / run.name,
        "optimizer",
        lambda key, value: change(value) if re.search(name, key) else value,
    )
    assert "CKP005" not in said(run)
    told = said(copy)
    assert "CKP005" in told and says in told


SAMPLES = Path(__file__).parents[1] / "readers" / "samples"


@pytest.mark.parametrize("sample", ["sb3_ppo", "sb3_dqn", "sb3_sac"])
@pytest.mark.parametrize(
    ("names", "change", "says"),
    [
        (("exp_avg",), lambda x: x.flatten()[:-1], "have sizes"),
        (("exp_avg", "exp_avg_sq"), lambda x: x[:-1], "which no tensor of the weights has"),
        (("exp_avg", "exp_avg_sq"), lambda x: x.flatten(), "have the shape"),
        (("exp_avg", "exp_avg_sq"), lambda x: x.repeat(40, 1), "more than the"),
    ],
)
def test_moments_that_do_not_fit_are_told_of_a_model_of_sb3(
    sample: str,
    names: tuple[str, ...],
    change: Callable[[torch.Tensor], torch.Tensor],
    says: str,
    tmp_path: Path,
) -> None:
    """One tensor's, as SB3 would save them after they were loaded into another network's place."""
    folder = tmp_path / sample
    shutil.copytree(SAMPLES / sample, folder)
    assert "CKP005" not in said(folder)
    model = folder / "model.zip"
    with zipfile.ZipFile(model) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (part, *_) = (name for name in parts if name.endswith(".optimizer.pth"))
    state = torch.load(io.BytesIO(parts[part]), weights_only=True)
    for name in names:
        state["state"][0][name] = change(state["state"][0][name]).contiguous()
    buffer = io.BytesIO()
    torch.save(state, buffer)
    with zipfile.ZipFile(model, "w") as archive:
        for name, content in (parts | {part: buffer.getvalue()}).items():
            archive.writestr(name, content)
    for given in (folder, model):
        told = said(given)
        assert "CKP005" in told and says in told
        assert "could not be looked for" not in told


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

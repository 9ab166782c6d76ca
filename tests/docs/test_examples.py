"""The examples of the documentation train, resume, and are refused where they are not trusted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dressage
from dressage import conformance
from dressage.core.hooks import Hook, Moment
from dressage.errors import DressageError
from dressage.runs.run import Run

DOCS = Path(__file__).parents[2] / "docs"
TINY: dict[str, Any] = {
    "env_steps": 512,
    "n_envs": 2,
    "n_steps": 32,
    "net_arch": [8],
    "eval_every": 128,
    "eval_episodes": 2,
    "final_eval_episodes": 2,
    "checkpoint_every": 128,
    "backend": "inline",
}
PPO = {"batch_size": 32, "n_epochs": 1}
CORRIDOR = "examples.my_env:Corridor"
PARTS: dict[str, dict[str, Any]] = {
    "env": PPO | {"env_kwargs": {"length": 6}},
    "algo": {"algo": "examples.my_algo"},
    "net": PPO | {"net": "examples.my_net:make_net"},
    "wrapper": PPO | {"wrappers": ["examples.my_wrapper:NoisyObservation"]},
    "callback": PPO | {"callbacks": ["examples.my_callback:StopWhenFlat"]},
}


@pytest.fixture(autouse=True)
def _from_the_docs_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))


class StopAt(Hook):
    def __init__(self, env_steps: int) -> None:
        self.env_steps = env_steps

    def on_iteration(self, moment: Moment) -> None:
        if moment.env_steps >= self.env_steps:
            moment.stop("test")


def train(runs: Path, **settings: Any) -> Run:
    run = dressage.train(CORRIDOR, runs=runs, **(TINY | settings))
    assert isinstance(run, Run)
    return run


def exact(run: Run) -> dict[str, list[float]]:
    return {
        name: values.tolist()
        for name, values in run.metrics().items()
        if name != "wall_seconds" and not name.startswith("sys/")
    }


def same(a: dict[str, list[float]], b: dict[str, list[float]]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k], equal_nan=True) for k in a)


@pytest.mark.parametrize("part", PARTS)
def test_trains_resumes_exactly_and_needs_trust(part: str, tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", **PARTS[part])
    run = train(tmp_path / "parts", hooks=[StopAt(200)], **PARTS[part])
    assert run.status == "stopped"
    with pytest.raises(DressageError, match="--trust"):
        dressage.train(resume=run)
    resumed = dressage.train(resume=run, trust=True)
    assert isinstance(resumed, Run)
    assert resumed.status == whole.status
    assert resumed.events("resume")[0]["exact"]
    assert same(exact(resumed), exact(whole))
    with pytest.raises(DressageError, match="--trust"):
        dressage.evaluate(resumed)
    assert dressage.evaluate(resumed, episodes=2, trust=True)["episodes"] == 2


def test_an_untrusted_module_is_not_imported(tmp_path: Path) -> None:
    run = train(tmp_path, hooks=[StopAt(64)], **PARTS["algo"])
    sys.modules.pop("examples.my_algo")
    with pytest.raises(DressageError):
        dressage.load(run)
    assert "examples.my_algo" not in sys.modules


def test_the_corridor_is_learned(tmp_path: Path) -> None:
    run = train(tmp_path, **PARTS["env"] | {"env_steps": 4096, "lr": 3e-3})
    best = dressage.evaluate(run, episodes=10, trust=True)
    assert best["success_rate"] == 1.0


def test_walls_are_never_walked_into(tmp_path: Path) -> None:
    policy = dressage.load(train(tmp_path, **PARTS["env"]), trust=True)
    for _ in range(20):
        action, _ = policy.predict(np.zeros(1, np.float32), mask=[False, True], deterministic=False)
        assert action == 1


def test_the_callback_logs_and_stops(tmp_path: Path) -> None:
    # a learning rate of nothing: no evaluation is better than the first
    settings = PARTS["callback"] | {"lr": 1e-12, "env_steps": 4096}
    run = train(tmp_path, **settings)
    assert run.status == "stopped"
    assert "no better evaluation" in run.status_details()["reason"]
    assert run.metrics()["my/evaluations_without_progress"].max() >= 1


def test_a_net_without_outputs_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from examples import my_net

    def broken(shapes: Any) -> Any:
        net = my_net.Fourier(shapes[0])
        del net.outputs
        return net

    monkeypatch.setattr(my_net, "make_net", broken)
    with pytest.raises(DressageError, match="outputs"):
        train(tmp_path, **PARTS["net"])


@pytest.mark.parametrize("case", ["discrete", "hybrid-dict", "masked-lstm"])
def test_the_algorithm_conforms(case: str, tmp_path: Path) -> None:
    [chosen] = [c for c in conformance.cases("examples.my_algo") if c.name == case]
    conformance.check_case("examples.my_algo", chosen, tmp_path)

"""Networks that are built wrongly; the torch engine has them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.faults.setting import Setting

Change = Callable[[Any], None]


@contextmanager
def built(setting: Setting, change: Change) -> Iterator[None]:
    """Changes the networks that `init` has made."""
    module = importlib.import_module(f"dressage.algos.{setting.algo}")
    original = module.init

    def init(task: Any, cfg: Any) -> Any:
        learner = original(task, cfg)
        change(learner)
        return learner

    with patch.object(module, "init", init):
        yield


def actor_frozen(setting: Setting, parts: str) -> Any:
    """The policy's parameters get no gradient: all of them, or its torso or head alone."""

    def change(learner: Any) -> None:
        policy = learner.nets["actor_critic"].policy
        for module in [policy] if parts == "all" else [policy[parts]]:
            _freeze(module)

    return built(setting, change)


def features_frozen(setting: Setting, layers: int) -> Any:
    """The first layers of every network do not learn; 0: no hidden layer does."""

    def change(learner: Any) -> None:
        for net in learner.nets.values():
            for torso in [m for m in net.modules() if type(m).__name__ == "Torso"] or [net]:
                linear = [m for m in torso.modules() if type(m).__name__ == "Linear"]
                for layer in linear[: layers or len(linear)]:
                    _freeze(layer)

    return built(setting, change)


def output_activated(setting: Setting, activation: str, factor: float = 1.0) -> Any:
    """An activation after the last layer of values, and of the policy where it is a choice."""
    import torch

    function = {"relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh}[activation]

    def after(module: Any, given: Any, output: Any) -> Any:
        return factor * function(output)

    def change(learner: Any) -> None:
        for name, net in learner.nets.items():
            if name == "actor_critic":
                net.value["head"].register_forward_hook(after)
            elif name in ("q", "target") and hasattr(net, "advantage"):
                net.advantage.register_forward_hook(after)
            elif name in ("critic", "target"):
                net.register_forward_hook(after)

    return built(setting, change)


def _freeze(module: Any) -> None:
    for parameter in module.parameters():
        parameter.requires_grad_(False)


PATCHES = (actor_frozen, features_frozen, output_activated)

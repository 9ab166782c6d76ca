"""Wrong losses and targets; the torch engine computes them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.faults.setting import Setting

from dressage.core.replay import Replay


def _module(setting: Setting) -> Any:
    return importlib.import_module(f"dressage.algos.{setting.algo}")


@contextmanager
def td_target_wrong(setting: Setting, how: str) -> Iterator[None]:
    """`minus`: r - gamma V; `unpaid`: gamma V; `flipped`: gamma V - r; `entropy`: SAC's entropy is
    a cost; `largest`: the largest of the critics counts."""
    module = _module(setting)
    if setting.algo == "dqn":
        of_reward, of_value = {"minus": (1, -1), "unpaid": (0, 1), "flipped": (-1, 1)}[how]

        def td_target(batch: Any, value: Any) -> Any:
            return of_reward * batch.reward + of_value * batch.extras["discount"] * value

        replaced: tuple[str, Any] = ("td_target", td_target)
    else:
        original = module.critic_loss

        def critic_loss(nets: dict[str, Any], batch: Any, *rest: Any) -> Any:
            if how == "entropy":
                return original(nets, batch, rest[0], -20.0 * rest[1])
            target = nets["target"]
            sign = -1.0 if how == "minus" else 1.0

            def other(obs: Any, action: Any) -> Any:
                q = target(obs, action)
                return sign * q if how == "minus" else q.amax(0, keepdim=True) + 1.0

            return original(nets | {"target": other}, batch, *rest)

        replaced = ("critic_loss", critic_loss)
    with patch.object(module, *replaced):
        yield


@contextmanager
def target_broadcast(setting: Setting, share: float) -> Iterator[None]:
    """`[B, 1]` with `[B]`: every value is drawn towards the mean of the batch's targets."""
    module = _module(setting)
    name = "huber_loss" if setting.algo == "dqn" else "critic_regression"
    original = getattr(module, name)

    def loss(first: Any, second: Any, third: Any) -> Any:
        if setting.algo == "dqn":
            mean = second.mean()
            return original(first, second + share * (mean - second), third)
        mean = third.mean()
        return original(first, second, third + share * (mean - third))

    with patch.object(module, name, loss):
        yield


@contextmanager
def actor_negated(setting: Setting) -> Iterator[None]:
    """The actor goes down where it should go up."""
    module = _module(setting)
    original = module.actor_loss

    def actor_loss(*args: Any) -> Any:
        loss, metrics = original(*args)
        return -loss, metrics

    with patch.object(module, "actor_loss", actor_loss):
        yield


@contextmanager
def batch_reused(setting: Setting, calls: int) -> Iterator[None]:
    """The batch is drawn anew only at every `calls`-th time that batches are asked for."""
    original = Replay.batches
    kept: dict[str, Any] = {"calls": 0}

    def batches(self: Replay, rng: Any, count: int, cfg: Any) -> Iterator[Any]:
        if not count:
            return
        if kept["calls"] % calls == 0:
            kept["batch"] = next(iter(original(self, rng, 1, cfg)))
        kept["calls"] += 1
        for _ in range(count):
            self.draws += 1
            yield kept["batch"]

    with patch.object(Replay, "batches", batches):
        yield


PATCHES = (td_target_wrong, target_broadcast, actor_negated, batch_reused)

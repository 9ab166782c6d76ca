"""Faults that strike in the middle of a run: what a bad resume loses or damages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.faults.setting import Setting

from dressage.core.trainer import Trainer
from dressage.math.running import RunningMoments


@contextmanager
def striking(share: float, strike: Callable[[Trainer], None]) -> Iterator[None]:
    """Calls `strike` once, before the first iteration at or after a share of the budget."""
    original, struck = Trainer._iterate, []

    def iterate(self: Trainer) -> None:
        if not struck and self.clock.env_steps >= share * self.cfg_run.env_steps:
            struck.append(True)
            strike(self)
        original(self)

    with patch.object(Trainer, "_iterate", iterate):
        yield


def moments_damaged(setting: Setting, share: float, first: float = 1.0, second: float = 1.0) -> Any:
    """The optimizer's first and second moments are multiplied."""

    def strike(trainer: Trainer) -> None:
        arrays, plain = trainer.learner.optimizer_state()
        factors = {"exp_avg": first, "exp_avg_sq": second, "square_avg": second}
        changed = {
            name: np.asarray(array * factors.get(name.rpartition("/")[2], 1.0), dtype=array.dtype)
            for name, array in arrays.items()
        }
        trainer.learner.load_optimizer_state(changed, plain)

    return striking(share, strike)


def weights_forgotten(setting: Setting, share: float) -> Any:
    """Training goes on with the first weights: what was loaded is not what is trained."""
    first: dict[str, Any] = {}
    original = Trainer._iterate

    def strike(trainer: Trainer) -> None:
        trainer.learner.load_weights(first["weights"])
        if "moments" in first:
            trainer.learner.load_optimizer_state(*first["moments"])

    @contextmanager
    def both() -> Iterator[None]:
        def remembering(self: Trainer) -> None:
            if not first:
                weights = self.learner.weights()
                first["weights"] = {name: array.copy() for name, array in weights.items()}
            original(self)

        with patch.object(Trainer, "_iterate", remembering), striking(share, strike):
            yield

    return both()


def state_lost(setting: Setting, share: float, schedules: bool = True) -> Any:
    """A resume that begins with an empty memory, fresh moments and normalisers, and (where
    `schedules`) with its schedules from the start."""

    def strike(trainer: Trainer) -> None:
        learner, collector = trainer.learner, trainer.collector
        arrays, plain = learner.optimizer_state()
        blank = {name: np.zeros_like(array) for name, array in arrays.items()}
        learner.load_optimizer_state(blank, plain)
        if hasattr(trainer.memory, "ring"):
            trainer.memory.attach(collector, trainer.writer.path)
        if collector.obs_normalizer is not None:
            moments = collector.obs_normalizer.moments
            collector.obs_normalizer.moments = (
                {key: RunningMoments(old.mean.shape) for key, old in moments.items()}
                if isinstance(moments, dict)
                else RunningMoments(moments.mean.shape)
            )
        if schedules:
            trainer.schedules = {
                name: _restarted(schedule, share) for name, schedule in trainer.schedules.items()
            }

    return striking(share, strike)


def _restarted(schedule: Any, share: float) -> Any:
    return lambda progress: schedule((progress - share) / (1.0 - share))


def schedules_restarted(setting: Setting, parts: int, share: float) -> Any:
    """The schedules begin anew in each part of the run, and get only so far in it: training is
    called in a loop, each time with a budget that it does not use up."""

    def strike(trainer: Trainer) -> None:
        def again(schedule: Any) -> Any:
            return lambda progress: schedule(share * (progress * parts % 1.0))

        trainer.schedules = {name: again(s) for name, s in trainer.schedules.items()}

    return striking(0.0, strike)


def heads_scaled(setting: Setting, factor: float) -> Any:
    """The first weights of the last layers are far too large."""

    def strike(trainer: Trainer) -> None:
        weights = trainer.learner.weights()
        ends = ("head", "mean", "advantage", "out")
        changed = {
            name: array * np.float32(factor) if any(e in name for e in ends) else array.copy()
            for name, array in weights.items()
        }
        trainer.learner.load_weights(changed)

    return striking(0.0, strike)


def weights_scaled(setting: Setting, factor: float) -> Any:
    """All first weights are far too large."""

    def strike(trainer: Trainer) -> None:
        weights = trainer.learner.weights()
        changed = {name: array * np.float32(factor) for name, array in weights.items()}
        trainer.learner.load_weights(changed)

    return striking(0.0, strike)


PATCHES = (
    moments_damaged,
    weights_forgotten,
    state_lost,
    schedules_restarted,
    heads_scaled,
    weights_scaled,
)

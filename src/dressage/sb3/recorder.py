"""`Recorder`: a callback that adds our metrics to the rows that SB3 logs."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import HumanOutputFormat, KVWriter

from dressage.core.summaries import combined
from dressage.core.trainer import MOST_ROUND_STEPS
from dressage.envs.actions import ActionCodec
from dressage.runs.metrics import BEFORE_OURS
from dressage.sb3.memory import Memory
from dressage.sb3.networks import stepped
from dressage.sb3.phases import Phases
from dressage.sb3.rollouts import Rollouts
from dressage.sb3.settings import write_settings
from dressage.sb3.updates import Watch

MOST_ROWS, FEWEST_ROWS = 200, 20  # of a run that logs often enough
APART = 256  # env steps between rows at least; half with critics, whose updates take longer
# SB3's tables for people shorten names, and end the run where two become the same.
NOT_IN = ("stdout", "log")
NOWHERE = (
    "Recorder has nowhere to write to: give the model tensorboard_log='logs', or "
    "model.set_logger(configure('logs', ['stdout', 'csv'])) of stable_baselines3.common.logger."
)


class Recorder(BaseCallback):  # type: ignore[misc]
    """Records what `dressage diagnose` looks at and SB3 does not log, through SB3's own logger.

    `env`: the environment's id, where it runs in worker processes and no monitor file tells it.
    Training is not changed: nothing is drawn from its generators, and parameters stay the same to
    the last bit.
    """

    def __init__(self, env: str | None = None) -> None:
        super().__init__()
        self.env = env
        self._row = _Row(self)
        self._watches: list[Watch] = []
        self._told = False
        self._best = -math.inf  # mean return of the last episodes

    # -- when SB3 calls --------------------------------------------------------------------------

    def _on_training_start(self) -> None:
        self._detach()
        model: Any = self.model
        self._knows = hasattr(model, "rollout_buffer") or hasattr(model, "replay_buffer")
        if not self._knows:
            warnings.warn(f"Recorder has nothing to say of {type(model).__name__}.", stacklevel=2)
            return
        codec = ActionCodec.from_space(model.action_space)
        budget = int(model._total_timesteps)
        self._rollouts = None
        if hasattr(model, "rollout_buffer"):
            apart = max(1, min(APART, budget // FEWEST_ROWS))
            self._rollouts = Rollouts(model, codec, apart)
        else:
            each = max(1, min(MOST_ROUND_STEPS, budget // 100))  # as in our own runs
            wanted = APART // 2 if hasattr(model.policy, "critic") else APART
            apart = max(each, min(wanted, budget // FEWEST_ROWS))
            self._memory = Memory(model, codec, each)
        self._least = max(apart, budget // MOST_ROWS)  # env steps of a row
        self._row_at = model.num_timesteps
        self._dynamics_every, self._dynamics_at = max(1, budget // 5), -1
        self._episodes = self._truncated = 0
        self._step_ended = time.perf_counter()
        self._phases = Phases()
        self._watches = [Watch(each) for each in stepped(model)]
        self._attach()
        write_settings(model, self.env, codec)

    def _on_rollout_start(self) -> None:
        if not self._knows:
            return
        self._phases.enter("collect")
        if self._row not in self.logger.output_formats:  # somebody has set another logger
            self._attach()
        if self._rollouts is not None:
            with self._recording():
                self._rollouts.updated(self._updates())

    def _on_step(self) -> bool:
        if not self._knows:
            return True
        if self._rollouts is not None and self._rollouts.normalizer is not None:
            self._rollouts.stepped()
        if np.count_nonzero(self.locals["dones"]):  # a tenth of the time of any()
            with self._recording():
                self._count_episodes()
        self._step_ended = time.perf_counter()
        return True

    def _on_rollout_end(self) -> None:
        if not self._knows:
            return
        if self._rollouts is not None:
            with self._recording():
                dones, updates = self.locals["dones"], self._updates()
                self._rollouts.collected(dones, updates, self._dynamics_due())
        self._phases.enter("update")

    def _on_training_end(self) -> None:
        self._detach()

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """What goes wrong within is told once, and the run goes on: it may be many hours long, and
        its model of parts that nobody has tried this with."""
        before = self._phases.enter("record")
        try:
            yield
        except Exception as error:
            if not self._told:
                self._told = True
                warnings.warn(f"Recorder could not measure: {error!r}", stacklevel=4)
        finally:
            self._phases.enter(before)

    def _attach(self) -> None:
        formats = self.logger.output_formats
        if all(isinstance(one, HumanOutputFormat) for one in formats):
            warnings.warn(NOWHERE, stacklevel=2)
        formats.insert(0, self._row)

    def _detach(self) -> None:
        for watch in self._watches:
            watch.remove()
        self._watches = []
        formats = self.logger.output_formats
        formats[:] = [one for one in formats if one is not self._row]

    # -- a row -----------------------------------------------------------------------------------

    def write(self, logged: dict[str, Any]) -> None:
        """SB3 is about to write `logged`; our metrics join it where enough has happened since the
        last time, which in a log of short episodes is not at every row."""
        if "time/fps" not in logged:  # not a row of training
            if any(name.startswith("eval/") for name in logged):
                self._phases.evaluated(self._step_ended)
            return
        now = self.model.num_timesteps
        if now - self._row_at < self._least:
            return
        self._row_at, metrics = now, {}
        with self._recording():
            metrics = self._measured(logged)
        for name, value in (metrics | self._phases.take()).items():
            self.logger.record(f"{BEFORE_OURS}{name}", value, exclude=NOT_IN)

    def _measured(self, logged: dict[str, Any]) -> dict[str, float]:
        if self._rollouts is not None:
            found = self._rollouts.take(logged)
        else:
            found = self._memory.take(self._dynamics_due())
        for watch in self._watches:
            measured, looked = watch.take()
            found |= combined([*measured, looked])
        return found | self._of_episodes()

    def _updates(self) -> int:
        return sum(watch.count for watch in self._watches)

    def _dynamics_due(self) -> bool:
        """At the first row and at every fifth of the budget, as in our own runs."""
        part = self.model.num_timesteps // self._dynamics_every
        due, self._dynamics_at = part != self._dynamics_at, part
        return bool(due)

    def _count_episodes(self) -> None:
        for i in np.flatnonzero(self.locals["dones"]):
            self._episodes += 1
            if self.locals["infos"][i].get("TimeLimit.truncated", False):
                self._truncated += 1
                if self._rollouts is not None:
                    self._rollouts.clock_ended(int(i), float(self.locals["rewards"][i]))

    def _of_episodes(self) -> dict[str, float]:
        """Of the interval's episodes, and of the last hundred."""
        found: dict[str, float] = {"train/roll/episodes": self._episodes}
        if self._episodes:
            found["train/roll/truncated_share"] = self._truncated / self._episodes
        self._episodes = self._truncated = 0
        returns = [info["r"] for info in self.model.ep_info_buffer or () if "r" in info]
        if returns:
            self._best = max(self._best, float(np.mean(returns)))
            found["train/roll/ep_rew_best"] = self._best
            found["train/roll/ep_rew_std"] = float(np.std(returns))
        return found


class _Row(KVWriter):  # type: ignore[misc]
    """The first of a logger's outputs, which is asked when a row is about to be written."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        self.recorder.write(key_values)

    def close(self) -> None:
        pass

"""The whole of an iteration in one call of C, where the environments are native too."""

from __future__ import annotations

import ctypes
from collections.abc import MutableMapping
from typing import Any

import numpy as np

from dressage.core.collector import Collector, Episode
from dressage.core.memory import Rollout
from dressage.core.rng import stream_key
from dressage.core.steps import Steps
from dressage.errors import EnvError, TrainingError
from dressage.math.running import RunningMoments
from dressage.native.env_batch import NativeBatch
from dressage.native.face import Int64, Pointer, address, library
from dressage.native.learner import NativeLearner
from dressage.native.structs import (
    ITERATION_ERRORS,
    PHASES,
    FinishedEpisode,
    Iteration,
    LearnerState,
    RolloutMetrics,
    UpdateMetrics,
    layout,
)
from dressage.native.structs import RunningMoments as Moments

# Where each of C's rollout_metrics goes.
ROLLED = {
    "reward_mean": "train/roll/reward_mean",
    "reward_std": "train/roll/reward_std",
    "obs_mean": "train/roll/obs_mean",
    "obs_std": "train/roll/obs_std",
    "obs_abs_max": "train/roll/obs_abs_max",
    "action_share_max": "train/roll/action_share_max",
    "action_entropy": "train/roll/action_entropy",
    "action_mean": "train/roll/action_mean",
    "action_std": "train/roll/action_std",
    "action_saturation": "train/roll/action_saturation",
    "adv_mean": "train/roll/adv_mean",
    "adv_std": "train/roll/adv_std",
    "return_mean": "train/roll/return_mean",
    "return_std": "train/roll/return_std",
    "value_mean": "train/roll/value_mean",
    "explained_variance": "train/metrics/explained_variance",
    "policy_std": "train/metrics/action_std",
}


_ROLLED_LAYOUT = layout(RolloutMetrics)
_ROLLED_NAMES = [ROLLED[field] for field, *_ in RolloutMetrics._fields_]
_PHASE_METRICS = [f"sys/time/{phase}" for phase in PHASES]
_EPISODE = layout(FinishedEpisode)


class WholeIteration:
    """Collecting, advantages, epochs and minibatches: the arrays they need, and one call."""

    def __init__(
        self, learner: NativeLearner, collector: Collector, memory: Rollout, n_steps: int
    ) -> None:
        self.learner, self.collector, self.memory = learner, collector, memory
        batch, net = collector.batch, learner.network
        assert isinstance(batch, NativeBatch)
        n, d = batch.n_envs, net.obs_size
        rows = (n_steps, n)
        self.arrays: dict[str, Any] = {
            "obs": np.empty((*rows, d), np.float32),
            **{
                name: np.empty(rows, np.float32)
                for name in ("action", "reward", "log_prob", "value", "advantage", "returns")
            },
            **{name: np.empty(rows, np.bool_) for name in ("first", "terminated", "truncated")},
            "episodes": np.empty(n_steps * n * _EPISODE.size, np.uint8),
        }
        self._actions, self._episodes = (
            self.arrays["action"][..., None],
            memoryview(self.arrays["episodes"]),
        )
        ends = (self.arrays["terminated"], self.arrays["truncated"])
        # C writes each rollout here: the memory's newest steps are always the last one's
        made = {name: self.arrays[name] for name in ("value", "advantage", "returns")}
        memory.add(
            Steps(self.arrays["obs"], self._actions, self.arrays["reward"], *ends, None, made)
        )
        self.it = it = Iteration(shape=net.shape, envs=batch.handle, n_envs=n, n_steps=n_steps)
        for name, array in self.arrays.items():
            setattr(it, name, array.ctypes.data)
        self.settings = it.update  # to be filled in before each call
        if net.continuous:
            codec = batch.action_codec
            it.action_low, it.action_high = float(codec.low[0]), float(codec.high[0])
        it.seed = collector.rng.seed
        it.choice_stream, it.normal_stream = stream_key("act/choice"), stream_key("act/normal")
        it.episode_stream, it.minibatch_stream = stream_key("episode"), stream_key("minibatch")
        it.shuffle = memory.batch_size is not None
        it.learner = LearnerState(
            address(learner.flat, np.float32),
            address(learner.first, np.float32),
            address(learner.second, np.float32),
        )
        it.current_obs = address(batch.obs, np.float32)
        it.current_first = address(collector.first, np.bool_)
        it.episode_index = address(collector.episode_index, np.int64)
        it.episode_length = address(collector.episode_length, np.int64)
        it.episode_return = address(collector.episode_return, np.float64)
        find = library().kernel
        self._bytes = find("iterate_bytes", "f32", [Pointer], Int64)
        self._iterate = find("iterate", "f32", [Pointer, Pointer], Int64)
        self._scratch, self._scratch_at = np.empty(0, np.uint8), 0
        self._placed_for = 0  # threads

    def __call__(
        self, cfg: Any, seconds: MutableMapping[str, float]
    ) -> tuple[UpdateMetrics, dict[str, float]]:
        """What the update measured, and the metrics of the rollout; adds the time of each phase."""
        it, learner = self.it, self.learner
        self.settings.inspect, learner.inspect_next = int(learner.inspect_next), False
        it.learner.steps = learner.groups["all"].steps
        it.gamma, it.gae_lambda = cfg.gamma, cfg.gae_lambda
        it.normalize_batch = cfg.normalize_advantage == "batch"
        self._share_state()
        if self.settings.n_threads != self._placed_for:  # nothing else of the sizes ever changes
            self._make_room()
        done = self._iterate(ctypes.byref(it), self._scratch_at)
        if done < 0:
            raise failure(it)
        self._take_state()
        spent: list[float] = it.seconds[:]
        learner.updated("all", done, it.learner.steps, sum(spent))
        for phase, phase_seconds in zip(_PHASE_METRICS, spent, strict=True):
            seconds[phase] += phase_seconds
        rolled = {
            name: value
            for name, value in zip(
                _ROLLED_NAMES, _ROLLED_LAYOUT.unpack_from(it.rolled), strict=True
            )
            if value == value  # NaN: does not apply
        }
        return it.updated, rolled

    def _make_room(self) -> None:
        needed = self._bytes(ctypes.byref(self.it))
        if needed > self._scratch.size:
            self._scratch = np.empty(needed, np.uint8)
            self._scratch_at = address(self._scratch, np.uint8)
        self._placed_for = self.settings.n_threads

    def _share_state(self) -> None:
        """What Collector and Rollout keep in other places than at first, for C to change."""
        it, c = self.it, self.collector
        it.vector_steps, it.epochs = c.vector_steps, self.memory.epochs
        if c.obs_normalizer is not None:
            it.obs_moments = moments_for_c(c.obs_normalizer.moments)
            it.obs_clip = float(c.obs_normalizer.clip)
        if c.reward_normalizer is not None:
            it.reward_moments = moments_for_c(c.reward_normalizer.moments)
            it.discounted = address(c.reward_normalizer.discounted, np.float64)
            it.reward_gamma = c.reward_normalizer.gamma
            it.reward_clip = float(c.reward_normalizer.clip)

    def _take_state(self) -> None:
        it, c = self.it, self.collector
        self.memory.epochs = it.epochs
        if c.obs_normalizer is not None:
            c.obs_normalizer.moments.count = it.obs_moments.count
            c.obs_normalizer.refresh()
        if c.reward_normalizer is not None:
            c.reward_normalizer.moments.count = it.reward_moments.count
        episodes: list[Episode] = []
        if ended := it.n_episodes:
            read = _EPISODE.iter_unpack(self._episodes[: ended * _EPISODE.size])
            episodes = [*map(Episode._make, read)]
        c.collected(self._actions, episodes)


def failure(it: Any) -> Exception:
    """What a call of C that ended with an error found."""
    what = ITERATION_ERRORS[it.error]
    if what == "nonsense":
        return TrainingError("The native engine refused the settings of this iteration.")
    column = f", column {it.error_column}" if what == "observation" else ""
    expected = "an index of a choice" if what == "action" else "a finite number"
    return EnvError(
        f"environment {it.error_env} had {it.error_value} as {what}{column} at vector step "
        f"{it.error_step} of the rollout, expected {expected}."
    )


def moments_for_c(moments: RunningMoments) -> Moments:
    """The arrays are C's to change: nobody holds the old ones while an iteration runs."""
    mean, m2 = moments.mean.reshape(-1), moments.m2.reshape(-1)
    return Moments(moments.count, mean.size, address(mean, np.float64), address(m2, np.float64))

"""Rounds of acting and learning in one call of C, where the environments are native too."""

from __future__ import annotations

import ctypes
from collections.abc import MutableMapping
from typing import Any

import numpy as np

from dressage.core.collector import Collector, Episode
from dressage.core.replay import Replay
from dressage.core.rng import stream_key
from dressage.core.steps import Steps
from dressage.core.summaries import combined, experience_metrics
from dressage.native.env_batch import NativeBatch
from dressage.native.face import address, library
from dressage.native.iteration import failure, moments_for_c
from dressage.native.off_structs import ROUND_PHASES, OffRounds
from dressage.native.off_updates import Updates
from dressage.native.structs import FinishedEpisode, Int64, Pointer, layout

_EPISODE = layout(FinishedEpisode)
Metrics = dict[str, float]


class WholeRounds:
    """core/trainer.Trainer._replay_rounds in few calls: the arrays they need."""

    def __init__(
        self, updates: Updates, collector: Collector, memory: Replay, n_steps: int
    ) -> None:
        self.updates, self.collector, self.memory = updates, collector, memory
        batch = collector.batch
        assert isinstance(batch, NativeBatch)
        self.r = r = OffRounds(n_steps=n_steps, envs=batch.handle)
        r.learning = ctypes.addressof(updates.call)
        r.choice_stream, r.uniform_stream = stream_key("act/choice"), stream_key("act/uniform")
        r.normal_stream, r.episode_stream = stream_key("act/normal"), stream_key("episode")
        r.current_obs = address(batch.obs, np.float32)
        r.current_first = address(collector.first, np.bool_)
        r.episode_index = address(collector.episode_index, np.int64)
        r.episode_length = address(collector.episode_length, np.int64)
        r.episode_return = address(collector.episode_return, np.float64)
        find = library().kernel
        self._bytes = find("off_rounds_bytes", "f32", [Pointer], Int64)
        self._run = find("off_rounds_run", "f32", [Pointer, Pointer], Int64)
        self._scratch = np.empty(0, np.uint8)
        self._actions, self._episodes = np.empty((0, 1, 1), np.float32), np.empty(0, np.uint8)

    def __call__(
        self, cfg: Any, seconds: MutableMapping[str, float], rounds: int
    ) -> tuple[Metrics, Metrics]:
        """The metrics of the experience and those of the updates."""
        learner, memory, call = self.updates.learner, self.memory, self.updates.call
        if not memory.ring.columns:
            self._allocate()
        self._make_room(rounds)
        measured: list[Metrics] = []
        call.adds, left, made = 0, rounds, 0
        while left:
            inspects = learner.inspect_next  # what is measured then is of the memory at that time
            done = self._rounds(1 if inspects else left, cfg, seconds)
            if inspects and done:
                measured.append(self.updates.measure(memory, cfg))
            left, made, call.adds = left - (1 if inspects else left), made + done, 1
        steps = memory.newest(self.r.n_steps * rounds)
        rolled = experience_metrics(steps, self.collector.batch.action_codec)
        return rolled, combined([*self.updates.metrics(), *measured]) if made else {}

    def _rounds(self, rounds: int, cfg: Any, seconds: MutableMapping[str, float]) -> int:
        """Makes them, and says how many updates that were."""
        r, c, memory = self.r, self.collector, self.memory
        self.updates.fill(memory, c.rng, cfg)
        self.updates.family.exploration(r, cfg)
        self._share_state(rounds, cfg)
        needed = self._bytes(ctypes.byref(r))
        if needed > self._scratch.size:
            self._scratch = np.empty(needed, np.uint8)
        done = int(self._run(ctypes.byref(r), self._scratch.ctypes.data))
        if done < 0:
            raise failure(r)
        self._take_state(rounds)
        spent = r.seconds[:]
        self.updates.take(done, spent[1])
        for phase, phase_seconds in zip(ROUND_PHASES, spent, strict=True):
            seconds[f"sys/time/{phase}"] += phase_seconds
        return done

    def _allocate(self) -> None:
        """Columns for steps like those to come."""
        batch, n = self.collector.batch, self.collector.n_envs
        assert not isinstance(batch.obs, dict)
        obs, flags = np.empty((0, *batch.obs.shape), np.float32), np.empty((0, n), np.bool_)
        action, reward = np.empty((0, n, 1), np.float32), np.empty((0, n), np.float32)
        self.memory.add(Steps(obs, action, reward, flags, flags, obs, {"first": flags}))

    def _make_room(self, rounds: int) -> None:
        length, n = rounds * self.r.n_steps, self.collector.n_envs
        if len(self._actions) < length:
            self._actions = np.empty((length, n, 1), np.float32)
            self._episodes = np.empty(length * n * _EPISODE.size, np.uint8)
            self.r.actions = address(self._actions, np.float32)
            self.r.episodes = address(self._episodes, np.uint8)

    def _share_state(self, rounds: int, cfg: Any) -> None:
        r, c = self.r, self.collector
        r.rounds, r.vector_steps = rounds, c.vector_steps
        r.learning_starts, r.gradient_steps = cfg.learning_starts, cfg.gradient_steps
        r.seconds[:] = (0.0, 0.0)
        r.first = address(self.memory.ring.columns["extras/first"], np.bool_)
        if c.obs_normalizer is not None:
            r.obs_moments = moments_for_c(c.obs_normalizer.moments)
        if c.reward_normalizer is not None:
            r.reward_moments = moments_for_c(c.reward_normalizer.moments)
            r.discounted = address(c.reward_normalizer.discounted, np.float64)
            r.reward_gamma = c.reward_normalizer.gamma

    def _take_state(self, rounds: int) -> None:
        r, c = self.r, self.collector
        self.updates.view.take(self.updates.call.memory, self.memory)
        if c.obs_normalizer is not None:
            c.obs_normalizer.moments.count = r.obs_moments.count
            c.obs_normalizer.refresh()
        if c.reward_normalizer is not None:
            c.reward_normalizer.moments.count = r.reward_moments.count
        ended: Any = self._episodes[: r.n_episodes * _EPISODE.size]
        episodes = [*map(Episode._make, _EPISODE.iter_unpack(ended))]
        c.collected(self._actions[: rounds * r.n_steps], episodes)

"""A replay memory as C reads it: the addresses of its columns, and what normalises them now."""

from __future__ import annotations

from typing import Any

import numpy as np

from dressage.core.normalizer import EPSILON
from dressage.core.replay import Replay
from dressage.core.rng import Rng, stream_key
from dressage.native.face import address
from dressage.native.off_structs import ReplayView

FLOATS, FLAGS = ("obs", "next_obs", "action", "reward"), ("terminated", "truncated")


class MemoryView:
    """Keeps alive what C is given."""

    def __init__(self) -> None:
        self.columns: Any = None
        self.mean = self.scale = np.empty(0, np.float32)

    def fill(self, view: ReplayView, memory: Replay, rng: Rng, cfg: Any) -> None:
        """The memory as it stands."""
        ring = memory.ring
        if self.columns is not ring.columns:  # they are allocated once
            self._place(view, memory, rng)
        view.low, view.high, view.draws = ring.low, ring.high, memory.draws
        view.n_step, view.gamma = cfg.n_step, cfg.gamma
        if memory.priorities is not None:
            view.largest = memory.priorities.largest
            view.priority_alpha, view.priority_beta = cfg.priority_alpha, cfg.priority_beta
        if (seen := memory.collector.obs_normalizer) is not None:
            self.mean = seen.moments.mean.astype(np.float32)
            self.scale = (1.0 / np.sqrt(seen.moments.var + EPSILON)).astype(np.float32)
            view.obs_mean, view.obs_scale = self.mean.ctypes.data, self.scale.ctypes.data
            view.obs_clip = float(seen.clip)
        if (scaled := memory.collector.reward_normalizer) is not None:
            view.reward_scale = float(np.float32(1.0 / np.sqrt(scaled.moments.var + EPSILON)))
            view.reward_clip = float(scaled.clip)

    def take(self, view: ReplayView, memory: Replay) -> None:
        """After a call of C; columns and priorities it has changed in place."""
        memory.ring.low, memory.ring.high, memory.draws = view.low, view.high, view.draws
        if memory.priorities is not None:
            memory.priorities.largest = view.largest

    def _place(self, view: ReplayView, memory: Replay, rng: Rng) -> None:
        ring = memory.ring
        self.columns = columns = ring.columns
        view.capacity, view.n_envs = ring.capacity, ring.n_envs
        view.seed, view.stream = rng.seed, stream_key("replay")
        view.obs_size, view.action_size = columns["obs"].shape[2], columns["action"].shape[2]
        for name in FLOATS:
            setattr(view, name, address(columns[name], np.float32))
        for name in FLAGS:
            setattr(view, name, address(columns[name], np.bool_))
        if (mask := columns.get("extras/next_mask")) is not None:
            view.next_mask, view.mask_size = address(mask, np.bool_), mask.shape[2]
        if memory.priorities is not None:
            view.priorities = address(memory.priorities.tree, np.float64)

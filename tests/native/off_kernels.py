"""Off-policy updates by C and by torch, of one memory and from the same weights."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from dressage.algos import c51, ddpg, dqn, qr_dqn, sac, td3, tqc
from dressage.core.algorithm import Task
from dressage.core.learner import Learner
from dressage.core.normalizer import ObsNormalizer, RewardNormalizer
from dressage.core.replay import Replay
from dressage.core.replay.due import error_quantiles
from dressage.core.rng import Rng
from dressage.core.steps import Steps, map_steps
from dressage.core.summaries import combined
from dressage.native.off_policy import NativeOffPolicy
from dressage.native.off_structs import PARTS

from .kernels import kernel

ALGOS: dict[str, Any] = {"dqn": dqn, "sac": sac, "td3": td3, "ddpg": ddpg, "tqc": tqc}
ALGOS |= {"qr_dqn": qr_dqn, "c51": c51}
Long = ctypes.c_int64
SMALL = {"learning_starts": 0, "buffer_size": 60, "net_arch": [17, 9], "train_freq": 1}


class OffCase:
    """A definition with a filled memory; `torch_update` and `native_update` learn from it."""

    def __init__(
        self,
        algo: str,
        obs_size: int = 5,
        categories: Sequence[int] = (),
        continuous: int = 0,
        masked: bool = False,
        n_envs: int = 2,
        rows: int = 40,
        normalize: bool = False,
        dtype: Any = np.float64,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self.module, self.dtype, self.seed = ALGOS[algo], np.dtype(dtype), seed
        self.cfg: Any = self.module.Config(**SMALL | settings).at(0.0)
        self.obs_size, self.categories, self.continuous = obs_size, tuple(categories), continuous
        size = len(self.categories) + continuous
        bounds = np.ones(continuous, np.float32)
        action = SimpleNamespace(
            categories=self.categories, continuous=continuous, size=size, low=-bounds, high=bounds
        )
        spec: Any = SimpleNamespace(obs_shapes=(obs_size,), action=action)
        run: Any = SimpleNamespace(precision="fp32", compile=False, threads=1)
        self.task, self.rng = Task(spec, run, Rng(seed)), Rng(seed + 1)
        self.random = np.random.default_rng(seed)
        self.memory = self._memory(n_envs, rows, masked, normalize)
        self.learner = self._learner()
        self.native = NativeOffPolicy(self.module)
        self.native_learner = self.native.init(self.task, self.cfg)
        self.share_priorities()

    def _memory(self, n_envs: int, rows: int, masked: bool, normalize: bool) -> Replay:
        r, shape = self.random, (rows, n_envs)
        obs, scaled = None, None
        if normalize:
            obs = ObsNormalizer(self.obs_size, 1.5)
            obs.update(r.normal(size=(50, self.obs_size)) * 3 + 1)
            scaled = RewardNormalizer(n_envs, 0.9, 1.0)
            scaled.update(
                r.normal(size=(20, n_envs)).astype(np.float32), np.zeros((20, n_envs), bool)
            )
        collector: Any = SimpleNamespace(
            n_envs=n_envs, keep_raw=lambda: None, obs_normalizer=obs, reward_normalizer=scaled
        )
        memory = Replay(self.cfg)
        memory.attach(collector, Path())
        parts = [r.integers(0, n, (*shape, 1)) for n in self.categories]
        parts += [np.tanh(r.normal(size=(*shape, self.continuous)))] if self.continuous else []
        extras = {}
        if masked:
            legal = r.random((*shape, sum(self.categories))) < 0.6
            start = 0
            for n in self.categories:
                legal[..., start + r.integers(0, n)] = True
                start += n
            extras["next_mask"] = legal
        floats = [
            r.normal(size=(*shape, self.obs_size)),
            np.concatenate(parts, -1),
            r.normal(size=shape) * 2,
            r.normal(size=(*shape, self.obs_size)),
        ]
        seen, action, reward, following = (x.astype(np.float32) for x in floats)
        ended, cut = r.random(shape) < 0.15, r.random(shape) < 0.1
        memory.add(Steps(seen, action, reward, ended, cut, following, extras))
        if memory.priorities is not None:  # as if it had been learned from: weights differ
            memory.priorities.set(np.arange(len(memory)), r.random(len(memory)) + 0.1)
            memory.priorities.largest = 1.5
        memory.recent_returns = lambda *_: None  # type: ignore[method-assign]
        return memory

    @contextmanager
    def _default_dtype(self) -> Iterator[None]:
        before = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, self.dtype.name))
        try:
            yield
        finally:
            torch.set_default_dtype(before)

    def _learner(self) -> Learner:
        """The definition's, in `dtype`; constants (layer norms) would hide mistakes."""
        with self._default_dtype(), torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(self.seed)
            learner = self.module.init(self.task, self.cfg)
            for group in learner.groups.values():
                group.flat += 0.1 * torch.randn_like(group.flat)
            for values, _ in learner.targets.values():
                values += 0.1 * torch.randn_like(values)
        exact = getattr(torch, self.dtype.name)

        def as_exact(x: Any) -> Any:
            found = torch.from_numpy(x)
            return found.to(exact) if found.is_floating_point() else found

        learner.tensors = lambda steps: map_steps(as_exact, steps)  # type: ignore[method-assign]
        return learner

    # -- torch -----------------------------------------------------------------------------------

    def torch_update(self, inspect: bool = False) -> dict[str, float]:
        """One `update` of the definition; the memory then counts as before it."""
        self.learner.inspect_next, draws = inspect, self.memory.draws
        with self._default_dtype():
            found = self.module.update(self.learner, self.memory, self.rng, self.cfg)
        self.memory.draws = draws
        return {name: value for name, value in combined(found).items() if measured_by_c(name)}

    def torch_weights(self) -> dict[str, np.ndarray]:
        return {name: x.copy() for name, x in self.learner.weights().items()}

    # -- C ---------------------------------------------------------------------------------------

    def native_parts(self) -> dict[str, dict[str, np.ndarray]]:
        """Arrays of each part in C's order, from torch's weights as they are."""
        found = {}
        weights = self.learner.weights()
        for name, part in self.native_learner.parts.items():
            flat = [weights[n].ravel() for n in part.named(part.net, part.flat)]
            arrays = {"parameters": self._from_torch(part, np.concatenate(flat))}
            for kind in ("first", "second"):
                arrays[kind] = np.zeros_like(arrays["parameters"])
            if part.target_net is not None:
                flat = [weights[n].ravel() for n in part.named(part.target_net, part.flat)]
                arrays["target"] = self._from_torch(part, np.concatenate(flat))
            arrays["backward"] = np.empty(self._sizes(part)[2], self.dtype)
            found[name] = arrays
        return found

    def _sizes(self, part: Any) -> tuple[int, ...]:
        if part.tower is None:
            return 1, 1, 0
        sizes = Long(), Long(), Long()
        call = kernel("tower_sizes", self.dtype)
        call(ctypes.byref(part.tower.shape), *map(ctypes.byref, sizes))
        return tuple(size.value for size in sizes)

    def _from_torch(self, part: Any, flat: np.ndarray) -> np.ndarray:
        flat = np.ascontiguousarray(flat, self.dtype)
        if part.tower is None:
            return flat.copy()
        ours = np.full(self._sizes(part)[0], np.nan, self.dtype)
        where = (ctypes.c_void_p(flat.ctypes.data), ctypes.c_void_p(ours.ctypes.data))
        kernel("tower_from_torch", self.dtype)(ctypes.byref(part.tower.shape), *where)
        return ours

    def to_torch(self, part: Any, ours: np.ndarray) -> np.ndarray:
        if part.tower is None:
            return ours.copy()
        flat = np.full(self._sizes(part)[1], np.nan, self.dtype)
        where = (ctypes.c_void_p(ours.ctypes.data), ctypes.c_void_p(flat.ctypes.data))
        kernel("tower_to_torch", self.dtype)(ctypes.byref(part.tower.shape), *where)
        return flat

    def share_priorities(self) -> None:
        """C's own are the memory's as they stand, which torch's updates then change."""
        self.priorities, self.largest = np.empty(0), 0.0
        if (of_torch := self.memory.priorities) is not None:
            self.priorities, self.largest = of_torch.tree.copy(), of_torch.largest

    def native_update(
        self, parts: dict[str, dict[str, np.ndarray]], threads: int = 1, inspect: bool = False
    ) -> dict[str, float]:
        """The same update in C, on `parts`; the memory counts as before it."""
        updates, learner = self.native.updates, self.native_learner
        call = updates.call
        updates.fill(self.memory, self.rng, self.cfg)
        call.updates = self.cfg.gradient_steps
        call.n_threads = threads
        if self.memory.priorities is not None:
            call.memory.priorities = self.priorities.ctypes.data
            call.memory.largest = self.largest
        for name, arrays in parts.items():
            c = call.parts[PARTS.index(name)]
            for kind, array in arrays.items():
                setattr(c, kind, array.ctypes.data)
            c.transposed, c.inspect, c.steps = 0, inspect, learner.parts[name].steps
        needed = kernel("off_policy_bytes", self.dtype, Long)(ctypes.byref(call))
        assert needed > 0
        memory = np.full(needed, 0xFF, np.uint8)  # NaN: nothing may be read before it is written
        done = kernel("off_policy_update", self.dtype, Long)(
            ctypes.byref(call), ctypes.c_void_p(memory.ctypes.data)
        )
        assert done == self.cfg.gradient_steps
        self.largest = call.memory.largest
        for name in parts:
            learner.parts[name].steps = call.parts[PARTS.index(name)].steps
        found = combined(updates.metrics())
        return found | error_quantiles(updates.td_errors) if inspect else found

    def native_weights(self, parts: dict[str, dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """By torch's names."""
        found = {}
        for name, arrays in parts.items():
            part = self.native_learner.parts[name]
            nets = {part.net: arrays["parameters"]}
            if part.target_net is not None:
                nets[part.target_net] = arrays["target"]
            for net, ours in nets.items():
                flat, start = self.to_torch(part, ours), 0
                for key, like in part.named(net, part.flat).items():
                    size = max(1, like.size)
                    found[key] = flat[start : start + size].reshape(like.shape)
                    start += size
        return found

    def first_gradients(self, parts: dict[str, dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """After one update with Adam from zero moments: what it was made of, by group."""
        rest = 1.0 - self.cfg.betas[0]
        return {
            self.native_learner.parts[name].group: self.to_torch(
                self.native_learner.parts[name], arrays["first"]
            )
            / rest
            for name, arrays in parts.items()
        }


def measured_by_c(name: str) -> bool:
    """What the engine measures of a memory and of networks afterwards is Python's."""
    after = ("buffer", "priority_spread", "update_to_data", "q_gap", "target_drift")
    return not any(part in name for part in after)

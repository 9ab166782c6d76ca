"""Algorithms with a replay memory on the native engine: their definitions, with acting and updates
in C."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.algorithm import Algorithm, Task
from dressage.core.collector import Acted
from dressage.core.replay import Replay
from dressage.core.replay.due import GAP_STEPS, replay_metrics, updates_due
from dressage.core.rng import Rng
from dressage.core.steps import Tree
from dressage.native.face import library
from dressage.native.families import FAMILIES, Family
from dressage.native.learner import optim_settings
from dressage.native.network import Floats
from dressage.native.off_learner import OffPolicyLearner
from dressage.native.off_structs import MOST_CHOICES, OFF_FAMILIES, PARTS, OffPolicyCall
from dressage.native.replay_view import MemoryView
from dressage.native.structs import MOST_LAYERS, Int64, Pointer
from dressage.native.threads import Threads


def why_not(spec: Any, s: Any, custom_net: str | None) -> str:
    """Why C has no such update; "" where it has."""
    shapes = spec.obs_shapes
    if isinstance(shapes, dict) or len(shapes) != 1:
        return "observations with images need a convolutional network"
    if custom_net is not None:
        return f"net={custom_net} is a network of your own"
    for setting in ("recurrent", "noisy", "prioritized", "parameter_noise", "use_sde"):
        value = getattr(s, setting, False)
        if value not in (False, None, "none"):
            return f"{setting}={str(value).lower()}"
    arch = s.net_arch.values() if isinstance(s.net_arch, dict) else [s.net_arch]
    if max(map(len, arch)) > MOST_LAYERS:
        return f"networks of more than {MOST_LAYERS} hidden layers"
    if len(spec.action.categories) > MOST_CHOICES:
        return f"actions of more than {MOST_CHOICES} choices"
    return ""


class NativeOffPolicy:
    """What core/algorithm.Algorithm asks for; the memory is the definition's own."""

    def __init__(self, definition: Algorithm) -> None:
        self.definition, self.__name__ = definition, definition.__name__
        self.Config, self.NEEDS = definition.Config, definition.NEEDS
        self.check, self.rollout_length = definition.check, definition.rollout_length
        self.memory, self.prepare = definition.memory, definition.prepare

    def init(self, task: Task, cfg: Any) -> OffPolicyLearner:
        assert self.NEEDS.native is not None
        self.family: Family = FAMILIES[self.NEEDS.native](task, cfg)
        learner = OffPolicyLearner(self.family.parts(), cfg)
        learner.threads = Threads(task.run.threads)
        self.updates = Updates(self.family, learner, cfg)
        self.updates.call.family = OFF_FAMILIES.index(self.NEEDS.native)
        return learner

    def carry_size(self, learner: OffPolicyLearner) -> int:
        return self.family.carry_size()

    def noise(self, rng: Rng, index: int, n_envs: int, learner: OffPolicyLearner, cfg: Any) -> Any:
        return self.family.noise(rng, index, n_envs, cfg)

    def act(
        self,
        learner: OffPolicyLearner,
        obs: Tree,
        carry: Floats | None,
        mask: npt.NDArray[np.bool_] | None,
        noise: Any,
    ) -> Acted:
        assert not isinstance(obs, dict)
        return self.family.act(learner, obs, carry, mask, noise)

    def update(
        self, learner: OffPolicyLearner, memory: Replay, rng: Rng, cfg: Any
    ) -> list[dict[str, float]]:
        """All updates that are due in one call; the metrics of each part."""
        return self.updates(memory, rng, cfg)


class Updates:
    """The call of C that makes updates, and what it keeps from one to the next."""

    def __init__(self, family: Family, learner: OffPolicyLearner, cfg: Any) -> None:
        self.family, self.learner = family, learner
        self.call = OffPolicyCall(batch_size=cfg.batch_size)
        self.view = MemoryView()
        self.places = np.empty(cfg.batch_size, np.int64)
        self.call.places = self.places.ctypes.data
        for i, name in enumerate(PARTS):
            if (part := learner.parts.get(name)) is not None:
                self.call.parts[i] = part.for_c()
        find = library().kernel
        self._bytes = find("off_policy_bytes", "f32", [Pointer], Int64)
        self._update = find("off_policy_update", "f32", [Pointer, Pointer], Int64)
        self._scratch = np.empty(0, np.uint8)

    def __call__(self, memory: Replay, rng: Rng, cfg: Any) -> list[dict[str, float]]:
        learner, call = self.learner, self.call
        count, inspect = updates_due(memory, cfg), learner.inspect_next
        self._fill(memory, rng, cfg)
        call.updates = count
        if not count and not call.follow_last:
            return []
        self._run()
        memory.draws = call.memory.draws
        if not count:
            return []
        found = self._metrics()
        found[-1] |= self.family.extra_metrics()
        if inspect:
            found[-1] |= replay_metrics(memory, self.places, count, cfg)
            found[-1] |= self._drift_and_gap(memory, cfg)
        return found

    def _fill(self, memory: Replay, rng: Rng, cfg: Any) -> None:
        """The settings in force and the memory as it stands."""
        call, learner = self.call, self.learner
        self.view.fill(call.memory, memory, rng, cfg)
        optim_settings(cfg, call.optimizer)
        call.max_grad_norm, call.tau = cfg.max_grad_norm, cfg.tau
        call.n_threads = learner.threads.now
        for i, name in enumerate(PARTS):
            if (part := learner.parts.get(name)) is not None:
                c = call.parts[i]
                c.steps, c.inspect = part.steps, name in learner.inspected
                c.transposed = part.transposed
        self.family.settings(call, memory, cfg)

    def _run(self) -> None:
        call, learner = self.call, self.learner
        needed = self._bytes(ctypes.byref(call))
        if needed > self._scratch.size:
            self._scratch = np.empty(needed, np.uint8)
        began = time.perf_counter()
        done = self._update(ctypes.byref(call), self._scratch.ctypes.data)
        assert done >= 0, "the kernel refused its settings"
        if done:
            learner.threads.took((time.perf_counter() - began) / done)
        for i, name in enumerate(PARTS):
            if (part := learner.parts.get(name)) is not None:
                part.steps, part.transposed = call.parts[i].steps, True
                learner.updates += int(call.measured[i].steps)
                if call.measured[i].steps:
                    learner.inspected.discard(name)

    def _metrics(self) -> list[dict[str, float]]:
        """As `Learner.step` and the losses tell them, one dict a part."""
        found = []
        for name, metrics in self.family.losses(self.call).items():
            m, part = self.call.measured[PARTS.index(name)], self.learner.parts[name]
            metrics[f"train/metrics/grad_norm/{part.net}"] = m.norm / m.steps
            if len(self.learner.parts) == 1:  # of several optimizers there is no norm in total
                metrics["train/metrics/grad_norm/total"] = m.norm / m.steps
            metrics["train/metrics/grad_clipped"] = m.clipped / m.steps
            metrics["train/metrics/skipped_updates"] = m.skipped
            for measured in ("dormant_share", "weight_norm", "update_to_weight"):
                if (value := getattr(m, measured)) == value:
                    metrics[f"train/metrics/{measured}/{part.net}"] = value
            found.append(metrics)
        return found

    def _drift_and_gap(self, memory: Replay, cfg: Any) -> dict[str, float]:
        """What is too costly for every update; see the definitions."""
        family, learner, ring = self.family, self.learner, memory.ring
        at = ring.row_of(self.places)
        obs, action = ring.take("obs", *at), ring.take("action", *at)
        if (normalizer := memory.collector.obs_normalizer) is not None:
            obs = normalizer(obs)
        metrics = {"train/metrics/target_drift": family.drift(learner, obs, action)}
        if (recent := memory.recent_returns(cfg.gamma, GAP_STEPS)) is not None:
            obs, action, returns = recent
            q = family.values(learner, obs, action)
            metrics["train/metrics/q_gap"] = float(q.mean()) - float(returns.mean())
        return metrics

"""The call of C that makes off-policy updates, and what is told of them."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np

from dressage.core.replay import Replay
from dressage.core.replay.due import GAP_STEPS, error_quantiles, replay_metrics, updates_due
from dressage.core.rng import Rng
from dressage.native.face import library
from dressage.native.families import Family
from dressage.native.learner import optim_settings
from dressage.native.off_learner import OffPolicyLearner
from dressage.native.off_structs import PARTS, OffPolicyCall
from dressage.native.replay_view import MemoryView
from dressage.native.structs import Int64, Pointer


class Updates:
    """The call of C that makes updates, and what it keeps from one to the next."""

    def __init__(self, family: Family, learner: OffPolicyLearner, cfg: Any) -> None:
        self.family, self.learner = family, learner
        self.call = OffPolicyCall(batch_size=cfg.batch_size)
        self.view = MemoryView()
        self.places = np.empty(cfg.batch_size, np.int64)
        self.td_errors = np.empty(cfg.batch_size)
        self.call.places = self.places.ctypes.data
        self.call.td_errors = self.td_errors.ctypes.data
        for i, name in enumerate(PARTS):
            if (part := learner.parts.get(name)) is not None:
                self.call.parts[i] = part.for_c()
        find = library().kernel
        self._bytes = find("off_policy_bytes", "f32", [Pointer], Int64)
        self._update = find("off_policy_update", "f32", [Pointer, Pointer], Int64)
        self._scratch = np.empty(0, np.uint8)
        self._counted = [0] * len(PARTS)  # steps of each part since metrics began

    def __call__(self, memory: Replay, rng: Rng, cfg: Any) -> list[dict[str, float]]:
        """All that are due; the metrics of each part."""
        call, inspects = self.call, self.learner.inspect_next
        call.adds = 0
        self.fill(memory, rng, cfg)
        call.updates = updates_due(memory, cfg)
        if not call.updates and not call.follow_last:
            return []
        self._run()
        self.view.take(call.memory, memory)
        if not call.updates:
            return []
        found = self.metrics()
        if inspects:
            found[-1] |= self.measure(memory, cfg)
        return found

    def fill(self, memory: Replay, rng: Rng, cfg: Any) -> None:
        """The settings in force and the memory as it stands."""
        call, learner = self.call, self.learner
        if not call.adds:
            self._counted = [0] * len(PARTS)
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
        call = self.call
        needed = self._bytes(ctypes.byref(call))
        if needed > self._scratch.size:
            self._scratch = np.empty(needed, np.uint8)
        began = time.perf_counter()
        done = self._update(ctypes.byref(call), self._scratch.ctypes.data)
        assert done >= 0, "the kernel refused its settings"
        self.take(done, time.perf_counter() - began)

    def take(self, done: int, seconds: float) -> None:
        """After a call of C that has made so many updates."""
        call, learner = self.call, self.learner
        if done:
            learner.threads.took(seconds / done)
        for i, name in enumerate(PARTS):
            if (part := learner.parts.get(name)) is not None:
                part.steps, part.transposed = call.parts[i].steps, True
                steps = int(call.measured[i].steps)
                learner.updates += steps - self._counted[i]
                self._counted[i] = steps
                if steps:
                    learner.inspected.discard(name)

    def metrics(self) -> list[dict[str, float]]:
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
        found[-1] |= self.family.extra_metrics()
        return found

    def measure(self, memory: Replay, cfg: Any) -> dict[str, float]:
        """What is too costly for every update: of the memory and the last batch, and the
        definitions' drift and gap."""
        family, learner, ring = self.family, self.learner, memory.ring
        at = ring.row_of(self.places)
        obs, action = ring.take("obs", *at), ring.take("action", *at)
        if (normalizer := memory.collector.obs_normalizer) is not None:
            obs = normalizer(obs)
        count = updates_due(memory, cfg)
        metrics: dict[str, float] = replay_metrics(memory, self.places, count, cfg)
        metrics |= error_quantiles(self.td_errors)
        metrics["train/metrics/target_drift"] = family.drift(learner, obs, action)
        if (recent := memory.recent_returns(cfg.gamma, GAP_STEPS)) is not None:
            obs, action, returns = recent
            q = family.values(learner, obs, action)
            metrics["train/metrics/q_gap"] = float(q.mean()) - float(returns.mean())
        return metrics

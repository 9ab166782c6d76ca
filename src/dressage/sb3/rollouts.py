"""On-policy: each rollout is measured as it ends, before its update takes it apart."""

from __future__ import annotations

import math
from typing import Any

from stable_baselines3 import A2C

from dressage.core.audit import advantage_metrics
from dressage.core.summaries import (
    column_metrics,
    combined,
    dynamics_metrics,
    experience_metrics,
)
from dressage.core.trainer import DYNAMICS_STEPS
from dressage.envs.actions import ActionCodec
from dressage.lazy import torch
from dressage.sb3.experience import (
    Ended,
    newest_of,
    raw_metrics,
    reward_normalizer,
    rollout_metrics,
    rollout_steps,
)
from dressage.sb3.values import undisturbed


class Rollouts:
    def __init__(self, model: Any, codec: ActionCodec, apart: int) -> None:
        """`apart`: of short rollouts one is measured each time so many env steps have passed."""
        self.model, self.codec, self.apart = model, codec, apart
        self.measured_at = -math.inf
        self.env_steps = model.n_steps * model.n_envs  # of one
        self.found: list[dict[str, float]] = []  # since the last row
        self.clocks: list[Ended] = []
        self.normalizer = reward_normalizer(model)
        self.raw: list[Any] = []  # rewards of each step before they were normalised
        self.newest: Any = None  # arrays of the rollout that is being learned from
        self.updates_before = 0
        self.wants_divergence = isinstance(model, A2C)  # which does not log it

    def stepped(self) -> None:
        """Where rewards are normalised."""
        self.raw.append(self.normalizer.get_original_reward())

    def clock_ended(self, env: int, reward: float) -> None:
        self.clocks.append(Ended(self.model.rollout_buffer.pos, env, reward))

    def collected(self, dones: Any, updates: int, dynamics: bool) -> None:
        """A rollout is whole; `updates` were made before it is learned from."""
        buffer, now = self.model.rollout_buffer, self.model.num_timesteps
        # arrays that SB3 replaces and never writes to again
        self.newest = buffer.observations, buffer.actions, buffer.log_probs
        clocks, self.clocks, self.updates_before = self.clocks, [], updates
        raw, self.raw = self.raw, []
        if now - self.measured_at >= self.apart or dynamics:
            self.measured_at = now
            self._measure(dones, clocks, dynamics)
            if raw:
                self.found.append(raw_metrics(raw))

    def _measure(self, dones: Any, clocks: list[Ended], dynamics: bool) -> None:
        buffer = self.model.rollout_buffer
        steps = rollout_steps(self.model, self.codec, dones, clocks)
        metrics = experience_metrics(steps, self.codec) | rollout_metrics(buffer)
        if dynamics:
            recent = newest_of(steps, DYNAMICS_STEPS // self.model.n_envs + 1)
            metrics |= dynamics_metrics(recent, self.codec) | column_metrics(recent)
            made = {
                "value": buffer.values, "returns": buffer.returns, "advantage": buffer.advantages,
            }  # fmt: skip
            metrics |= advantage_metrics(steps._replace(extras=made), self.model)
        self.found.append(metrics)

    def updated(self, updates: int) -> None:
        """It has been learned from."""
        if self.newest is None:
            return
        if hasattr(self.model, "n_epochs"):
            batches = math.ceil(self.env_steps / self.model.batch_size)
            made = (updates - self.updates_before) / batches
            self.found.append({"train/metrics/epochs_done": made})
        elif self.wants_divergence:
            self.found.append({"train/metrics/kl_divergence": self._divergence()})
            self.wants_divergence = False  # until the next row
        self.newest = None

    def _divergence(self) -> float:
        """KL(old || new) of the rollout's actions, Schulman's k3 estimator."""
        model = self.model
        obs, actions, old = self.newest
        rows = old.size
        with undisturbed(model.device):
            if isinstance(obs, dict):
                flat: Any = {
                    k: _tensor(model, x.reshape(rows, *x.shape[2:])) for k, x in obs.items()
                }
            else:
                flat = _tensor(model, obs.reshape(rows, *obs.shape[2:]))
            chosen = _tensor(model, actions.reshape(rows, *actions.shape[2:]))
            if not self.codec.continuous:
                chosen = chosen.long()
                chosen = chosen.flatten() if len(self.codec.categories) == 1 else chosen
            _, log_prob, _ = model.policy.evaluate_actions(flat, chosen)
            ratio = log_prob - _tensor(model, old.reshape(rows))
            return float((ratio.exp() - 1.0 - ratio).mean())

    def take(self, logged: dict[str, Any]) -> dict[str, float]:
        """The metrics of a row; `logged`: what SB3 has for it."""
        found = combined(self.found)
        self.found, self.wants_divergence = [], isinstance(self.model, A2C)
        weight, entropy = self.model.ent_coef, logged.get("train/entropy_loss")
        found["train/hp/ent_coef"] = float(weight)
        if entropy is not None:
            found["train/loss/entropy"] = float(weight * entropy)
        return found


def _tensor(model: Any, x: Any) -> Any:
    return torch.as_tensor(x, device=model.device)

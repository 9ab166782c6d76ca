"""Off-policy: the newest rows of the replay memory are measured when a row of the log is due."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from dressage.core.summaries import (
    column_metrics,
    combined,
    dynamics_metrics,
    experience_metrics,
)
from dressage.core.trainer import DYNAMICS_STEPS
from dressage.envs.actions import ActionCodec
from dressage.sb3.experience import (
    newest_rows,
    newest_steps,
    part_of,
    raw_metrics,
    reward_normalizer,
)
from dressage.sb3.values import memory_metrics, value_metrics

MOST_ENV_STEPS = 4096  # of an interval that are looked at: the newest


class Memory:
    def __init__(self, model: Any, codec: ActionCodec, env_steps: int) -> None:
        self.model, self.codec = model, codec
        self.env_steps = env_steps  # that one figure is of; a row has the mean of several
        self.updates = int(model._n_updates)
        self.at = int(model.num_timesteps)

    def take(self, dynamics: bool) -> dict[str, float]:
        """The metrics of a row."""
        model, now = self.model, int(self.model.num_timesteps)
        passed, self.at = now - self.at, now
        rows = max(1, math.ceil(min(passed, MOST_ENV_STEPS) / model.n_envs))
        steps = newest_steps(model, self.codec, rows)
        each = max(1, self.env_steps // model.n_envs)
        parts = max(1, len(steps.reward) // each)
        cuts = np.linspace(0, len(steps.reward), parts + 1).astype(int)
        found = combined(
            [
                experience_metrics(part_of(steps, begin, end), self.codec)
                for begin, end in pairwise(cuts)
            ]
        )
        if reward_normalizer(model) is not None:
            found |= raw_metrics(
                model.replay_buffer.rewards[newest_rows(model.replay_buffer, rows)]
            )
        if dynamics:
            recent = newest_steps(model, self.codec, DYNAMICS_STEPS // model.n_envs + 1)
            found |= dynamics_metrics(recent, self.codec) | column_metrics(recent)
        made, self.updates = model._n_updates - self.updates, int(model._n_updates)
        if made > 0:
            found |= value_metrics(model) | memory_metrics(model)
            found["train/metrics/update_to_data"] = made / max(1, passed)
        return found | self._in_force()

    def _in_force(self) -> dict[str, float]:
        """Noise on actions, and the entropy that a temperature moves the policy towards."""
        model, found = self.model, {}
        noise = getattr(model, "action_noise", None)
        sigma = getattr(getattr(noise, "base_noise", noise), "_sigma", None)
        if sigma is not None:
            found["train/hp/noise_std"] = float(np.mean(sigma))
        elif noise is None and hasattr(model.policy, "actor_target"):  # TD3 and DDPG
            found["train/hp/noise_std"] = 0.0
        if getattr(model, "ent_coef_optimizer", None) is not None:
            found["train/metrics/target_entropy"] = float(model.target_entropy)
        return found

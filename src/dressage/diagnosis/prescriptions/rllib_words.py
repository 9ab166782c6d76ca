"""A change as RLlib's config spells it, the older or the newer one as the run's own does; what it
has no key for has no words."""

from __future__ import annotations

from typing import Any

from dressage.diagnosis.prescriptions.fix import Patch, budget, epsilon_line, number_in, rollout
from dressage.runs.readers.names import renamed
from dressage.runs.readers.rllib import SETTINGS
from dressage.runs.view import RunView

UNCLIPPED = 1e10  # as vf_clip_param, which bounds a squared error


def rllib_words(run: RunView, name: str, value: Any, patch: Patch) -> Patch:
    """One setting of `patch`."""
    keys = run.own_settings or renamed(SETTINGS, {}, run.algo)[1]
    match name:
        case "n_steps" | "n_envs" if run.family == "on-policy":  # RLlib counts the whole rollout
            rows = rollout(run, patch)
            newer = "train_batch_size_per_learner"
            return {newer if newer in run.own_config else "train_batch_size": rows} if rows else {}
        case "n_envs":
            return {}
        case "clip_range_vf" if value is None:
            return {keys[name]: UNCLIPPED}
        case "epsilon":
            line = epsilon_line(value)
            after = int(line.until * budget(run))
            if any(key.startswith("exploration_config") for key in run.own_config):
                words = {"initial": line.first, "final": line.last}
                told = {f"exploration_config/{word}_epsilon": at for word, at in words.items()}
                return told | {"exploration_config/epsilon_timesteps": after}
            return {"epsilon": [[0, line.first], [after, line.last]]}
    return {keys[name]: number_in(value)} if name in keys else {}

"""A change as the flags of CleanRL's scripts spell it; what they have no flag for has no words."""

from __future__ import annotations

from typing import Any

from dressage.diagnosis.prescriptions.fix import Patch, epsilon_line, number_in, rollout
from dressage.math.schedules import schedule_in
from dressage.runs.readers.cleanrl import SETTINGS
from dressage.runs.readers.names import renamed
from dressage.runs.view import RunView


def cleanrl_words(run: RunView, name: str, value: Any, patch: Patch) -> Patch:
    """One setting of `patch`."""
    flags = run.own_settings or renamed(SETTINGS, {}, run.algo)[1]
    match name:
        case "batch_size" if run.family == "on-policy":  # minibatch_size is worked out from these
            rows = rollout(run, patch)
            return {"num_minibatches": rows // value} if rows and rows % value == 0 else {}
        case "batch_size":
            return {"batch_size": value}
        case "clip_range_vf":  # the range itself is clip_coef's
            return {"clip_vloss": False} if value is None else {}
        case "normalize_advantage":
            return {"norm_adv": value not in ("off", False)}
        case "ent_coef" if run.algo == "sac":
            return {"autotune": True} if value == "auto" else {"autotune": False, "alpha": value}
        case "epsilon":
            line = epsilon_line(value)
            return {"start_e": line.first, "end_e": line.last, "exploration_fraction": line.until}
        case "learning_rate" if run.family == "on-policy":
            schedule = schedule_in(value)
            to_zero = schedule is not None and schedule.kind == "linear" and schedule.end == 0
            return {flags[name]: number_in(value)} | ({"anneal_lr": True} if to_zero else {})
    return {flags[name]: number_in(value)} if name in flags else {}

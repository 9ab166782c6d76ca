"""A patch as the run's own library spells it: its names, its values, and nothing that it lacks."""

from __future__ import annotations

from typing import Any

from dressage.diagnosis.prescriptions.cleanrl_words import cleanrl_words
from dressage.diagnosis.prescriptions.fix import Patch, number_in
from dressage.diagnosis.prescriptions.rllib_words import rllib_words
from dressage.diagnosis.prescriptions.sb3_words import sb3_tellable, sb3_words
from dressage.runs.view import RunView

# Settings that no other library has a word for: what they do is told in the advice alone.
OURS_ALONE = {
    "value_learning_rate", "threads", "backend", "engine", "bonus", "bonus_coef", "recurrent",
    "eval_every", "eval_episodes", "scale_actions", "share_features",
}  # fmt: skip
WORDS = {"cleanrl": cleanrl_words, "rllib": rllib_words}


def tellable(run: RunView, patch: Patch) -> tuple[Patch, str]:
    """What of a patch the run's library has a setting for, and a sentence about the rest."""
    if run.library == "dressage":
        return patch, ""
    if run.library == "sb3":
        return sb3_tellable(run, patch)
    told = {name: value for name, value in patch.items() if name not in OURS_ALONE}
    return {name: value for name, value in told.items() if _words(run, name, value, patch)}, ""


def own_words(run: RunView, patch: Patch) -> Patch:
    """`patch`, of which the run's library can be told all, in its words."""
    if run.library == "dressage":
        return patch
    if run.library == "sb3":
        return sb3_words(run, patch)
    made: Patch = {}
    for name, value in patch.items():
        made |= _words(run, name, value, patch)
    return made


def _words(run: RunView, name: str, value: Any, patch: Patch) -> Patch:
    if run.library in WORDS:
        return WORDS[run.library](run, name, value, patch)
    # where it begins says nothing of how far epsilon falls: told whole, as we write it
    return {run.own_setting(name): value if name == "epsilon" else number_in(value)}

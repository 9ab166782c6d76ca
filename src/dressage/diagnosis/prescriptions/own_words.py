"""A patch as the run's own library spells it: its names, its values, and nothing that it lacks."""

from __future__ import annotations

from dressage.diagnosis.prescriptions.fix import Patch
from dressage.diagnosis.prescriptions.sb3_words import number_in, sb3_tellable, sb3_words
from dressage.runs.view import RunView

# Settings that no other library has a word for: what they do is told in the advice alone.
OURS_ALONE = {
    "value_learning_rate", "threads", "backend", "engine", "bonus", "bonus_coef", "recurrent",
    "eval_every", "eval_episodes", "scale_actions", "share_features",
}  # fmt: skip


def tellable(run: RunView, patch: Patch) -> tuple[Patch, str]:
    """What of a patch the run's library has a setting for, and a sentence about the rest."""
    if run.library == "dressage":
        return patch, ""
    if run.library == "sb3":
        return sb3_tellable(run, patch)
    return {name: value for name, value in patch.items() if name not in OURS_ALONE}, ""


def own_words(run: RunView, patch: Patch) -> Patch:
    """`patch`, of which the run's library can be told all, in its words."""
    if run.library == "dressage":
        return patch
    if run.library == "sb3":
        return sb3_words(run, patch)
    return {run.own_setting(name): number_in(value) for name, value in patch.items()}

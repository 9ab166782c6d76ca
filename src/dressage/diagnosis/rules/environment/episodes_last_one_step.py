"""ENV007."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EpisodesLastOneStep(Rule):
    """After the first episodes, all others end at once.

    Why it hurts
        The environment still believes that its time is up.

    Evidence
        The lengths of episodes, or their mean.

    Threshold and source
        Nine of ten of at most two steps, after longer ones (guess).

    Prescription
        Reset every counter in reset().

    Known false alarms
        Tasks of one step: there the first episodes are short too.

    References
        banana-gym issue 4.
    """

    id = "ENV007"
    name = "episodes-last-one-step"
    family = "environment"
    severity = "critical"
    needs = ("train/roll/ep_len_mean",)
    thresholds = {"share": Threshold(0.9, "guess")}
    expected = {
        "env-not-reset": 0.95,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        lengths = run.episodes.lengths[np.isfinite(run.episodes.lengths)]
        if len(lengths) < 4 * FEWEST:
            lengths = part(run["train/roll/ep_len_mean"])
        if len(lengths) < 4 * FEWEST:
            return None
        first, rest = (
            float(lengths[: max(3, len(lengths) // 100)].max()),
            lengths[len(lengths) // 5 :],
        )
        short = float((rest <= 2.0).mean())
        if not (short > self.bound("share") and first > 4.0):
            return None
        return self.found(
            f"{short:.0%} of the later episodes have at most two steps; one of the first "
            f"had {first:.0f}.",
            "train/roll/ep_len_mean",
            share=short,
        )

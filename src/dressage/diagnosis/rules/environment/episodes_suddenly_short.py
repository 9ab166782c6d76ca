"""ENV007."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EpisodesSuddenlyShort(Rule):
    """After the first episodes, all others end after the same few steps.

    Why it hurts
        The environment still believes that its time is up.

    Evidence
        The lengths of episodes, or their mean.

    Threshold and source
        Nine of ten of the same length of at most 10 steps, after some of twice that
        (guess).

    Prescription
        Reset every counter in reset().

    Known false alarms
        Tasks of a few steps: there the first episodes are short too.

    References
        banana-gym issue 4.
    """

    id = "ENV007"
    name = "episodes-suddenly-short"
    family = "environment"
    severity = "critical"
    needs = ("train/roll/ep_len_mean",)
    thresholds = {"share": Threshold(0.9, "guess"), "steps": Threshold(10.0, "guess")}
    elsewhere = 0.003
    expected = {
        "env-not-reset": 0.95,
        "truncation-as-termination": 0.02,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        lengths = run.episodes.lengths[np.isfinite(run.episodes.lengths)]
        if len(lengths) < 4 * FEWEST:
            lengths = part(run["train/roll/ep_len_mean"])
        if len(lengths) < 4 * FEWEST:
            raise TooLittle
        rest = lengths[len(lengths) // 3 :]
        usual, longest = float(np.median(rest)), float(lengths[: len(lengths) // 5 + 1].max())
        same = float((np.abs(rest - usual) < 0.5).mean())
        if not (
            usual <= self.bound("steps") and same > self.bound("share") and longest >= 2 * usual
        ):
            return None
        return self.found(
            f"{same:.0%} of the later episodes have {usual:.0f} steps; one of the first had "
            f"{longest:.0f}.",
            "train/roll/ep_len_mean",
            share=same,
            steps=usual,
        )

"""ENV007."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EpisodesSuddenlyShort(Rule):
    """After the first episodes, no other outlasts a few steps, and most end just there.

    Why it hurts
        The environment still believes that its time is up.

    Evidence
        The lengths of episodes, or their mean.

    Threshold and source
        Half of the later episodes are as long as the longest of them, and one of the first was
        at least twice that. Labelled runs of training (2026-11-18): 31 of 32 with a counter that
        is not reset, none of 692 healthy ones, 3 of 2,278 with other faults.

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
    thresholds = {
        "share": Threshold(0.5, "our labelled runs, 2026-11-18"),
        "times": Threshold(2.0, "our labelled runs, 2026-11-18"),
    }
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
        end, longest = float(rest.max()), float(lengths[: len(lengths) // 5 + 1].max())
        same = float((rest > end - 0.5).mean())
        if not (same >= self.bound("share") and longest >= self.bound("times") * end):
            return None
        return self.found(
            f"None of the later episodes has more than {end:.0f} steps, and {same:.0%} have just "
            f"that; one of the first had {longest:.0f}.",
            "train/roll/ep_len_mean",
            share=same,
            steps=end,
        )

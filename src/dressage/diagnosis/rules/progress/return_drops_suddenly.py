"""PRO008."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, early_spread, part, returns, start
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.math.summary import change_point, moving_median
from dressage.runs.view import RunView


class ReturnDropsSuddenly(Rule):
    """The return falls off a cliff.

    Why it hurts
        A single event, not a slow decay, took what had been learned.

    Evidence
        The single split of the second part of the run into two levels that explains most of
        it.

    Threshold and source
        A fall by over half of the rise, of which a step explains over 85 % (guess; 75 % for
        a straight line).

    Prescription
        Look at what happened there: a resume, a spike of a loss, a change of settings.

    Known false alarms
        Curricula that become harder.

    References
        Scott and Knott 1974 for the statistic.
    """

    id = "PRO008"
    name = "return-drops-suddenly"
    family = "progress"
    severity = "medium"
    thresholds = {"share": Threshold(0.5, "guess"), "explained": Threshold(0.85, "guess")}
    expected = {
        "optimizer-state-corrupted": 0.6,
        "resume-lost-state": 0.5,
        "loaded-model-ignored": 0.5,
        "catastrophic-forgetting": 0.5,
        "lr-too-high": 0.3,
        "grad-clip-missing": 0.3,
        "too-many-epochs": 0.25,
        "advantage-normalisation": 0.3,
        "q-divergence": 0.3,
        "schedule-restarts": 0.3,
        "updates-too-many": 0.2,
        "best-policy-lost": 0.4,
        "nan-input": 0.3,
        "clip-range-too-wide": 0.2,
        "buffer-too-small": 0.2,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        curve = returns(run)
        values = part(curve, 0.1)
        if len(values) < 6 * FEWEST:
            raise TooLittle
        first, best = start(curve), float(moving_median(values, 5).max())
        peak = int(moving_median(values, 5).argmax())
        split = change_point(values[max(0, peak - len(values) // 3) :])
        rise = best - first
        if split is None or not rise > 2.0 * early_spread(run):
            return None
        fall = split.before - split.after
        if not (fall > self.bound("share") * rise and split.explained > self.bound("explained")):
            return None
        return self.found(
            f"The return falls from {split.before:.4g} to {split.after:.4g} at once.",
            "train/roll/ep_rew_mean",
            before=split.before,
            after=split.after,
        )

"""ENV034."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ReturnsOfEitherSign(Rule):
    """Episodes earn the same amount, now with one sign and now with the other.

    Why it hurts
        What is paid for in one episode is punished in the next: nothing can be learned from both.

    Evidence
        The sizes of single late returns (or returns a step) beside the returns themselves, and the
        worst episode of an evaluation beside its best.

    Threshold and source
        A deviation of the sizes below 0.35 of that of the returns, with at least one in thirty of
        the rarer sign (our labelled runs, 2026-11-16: 0.05 to 0.25 with a sign that changes from
        episode to episode); or two evaluations whose worst is the opposite of their best within
        15 %.

    Prescription
        Look for a sign in the reward that depends on a flag, a player or an episode.

    Known false alarms
        Games that are won, lost or drawn: where all returns are of one size, nothing is said.

    References
        The cause reward-sign-flipped.
    """

    id = "ENV034"
    name = "returns-of-either-sign"
    family = "environment"
    severity = "high"
    thresholds = {
        "ratio": Threshold(0.35, "our labelled runs, 2026-11-16"),
        "share": Threshold(1 / 30, "guess"),
    }
    elsewhere = 0.004
    expected = {
        "reward-sign-flipped": 0.9,
        "reward-uninformative": 0.03,
        "healthy": 0.001,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and len(run.episodes.returns) > 0

    def check(self, run: RunView) -> Finding | None:
        if _won_or_lost(run):
            return None
        return self._of_training(run) or self._of_evaluations(run)

    def _of_evaluations(self, run: RunView) -> Finding | None:
        low, high = run["val/roll/ep_rew_min"].values, run["val/roll/ep_rew_max"].values
        if len(low) != len(high):
            return None
        close = (np.abs(low + high) < 0.15 * high) & (low < 0)
        if not close.sum() >= 2:
            return None
        return self.found(
            f"The worst episode of {close.sum()} of {len(low)} evaluations is the opposite of the "
            "best.",
            "val/roll/ep_rew_mean",
            evaluations=int(close.sum()),
        )

    def _of_training(self, run: RunView) -> Finding | None:
        earned, lengths = run.episodes.returns, run.episodes.lengths
        late = np.flatnonzero(np.isfinite(earned) & np.isfinite(lengths))
        late = late[len(late) // 2 :]
        if len(late) < 3 * FEWEST:
            raise TooLittle
        single = earned[late]
        rarer = min(float((single > 0).mean()), float((single < 0).mean()))
        if not (rarer >= self.bound("share") and rarer * len(late) >= 2):
            return None
        ratios = [
            float(np.std(np.abs(x)) / np.std(x))
            for x in (single, single / np.maximum(lengths[late], 1.0))
        ]
        if not min(ratios) < self.bound("ratio"):
            return None
        return self.found(
            f"{rarer:.0%} of the late returns have the other sign; their sizes deviate by "
            f"{min(ratios):.2f} of what they do.",
            "train/roll/ep_rew_mean",
            ratio=min(ratios),
            share=rarer,
        )


def _won_or_lost(run: RunView) -> bool:
    """Whether an episode has two ends that pay the same, one with the other's sign, or is drawn."""
    sizes = np.abs(run.episodes.returns[np.isfinite(run.episodes.returns)])
    paid = sizes[sizes > 0]
    return len(paid) > 0 and float(paid.max() - paid.min()) < 0.02 * float(paid.max())

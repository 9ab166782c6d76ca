"""DAT001."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, done, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class TimeLimitsCountedAsEnds(Rule):
    """Episodes end at one length and are called terminated.

    Why it hurts
        A value that is told the task ends there does not look beyond the clock, and late
        states seem worthless.

    Evidence
        The lengths of episodes and how they ended, and whether all is paid at the end.

    Threshold and source
        Over 80 % of the later episodes of exactly the longest length, with fewer than 1 %
        truncated (guess).

    Prescription
        Return truncated, not terminated, at a time limit; SB3: handle_timeout_termination.

    Known false alarms
        Tasks that truly end after a fixed number of steps; where an episode pays but once,
        nothing is said.

    References
        Pardo et al. 2018, “Time limits in reinforcement learning”.
    """

    id = "DAT001"
    name = "time-limits-counted-as-ends"
    family = "data"
    severity = "high"
    thresholds = {"share": Threshold(0.8, "guess"), "truncated": Threshold(0.01, "guess")}
    elsewhere = 0.003
    expected = {
        "truncation-as-termination": 0.9,
        "time-limit-hidden": 0.6,
        "episode-limit-too-short": 0.15,
        "healthy": 0.003,
    }

    def can_see(self, run: RunView) -> bool:
        known = run.episodes.ended is not None or bool(run["train/roll/truncated_share"])
        return known and len(run.episodes.lengths) > 0

    def check(self, run: RunView) -> Finding | None:
        lengths = run.episodes.lengths[np.isfinite(run.episodes.lengths)]
        cut = (
            median(run["train/roll/truncated_share"]) if run["train/roll/truncated_share"] else 0.0
        )
        if run.episodes.ended is not None and len(run.episodes.ended):
            cut = float(np.mean(run.episodes.ended == "truncated"))
        if len(lengths) < 4 * FEWEST or done(run):  # a task may end by itself after so many steps
            return None
        if _pays_once(run):
            return None
        lengths = lengths[len(lengths) // 2 :]
        longest = float(lengths.max())
        share = float((lengths == longest).mean())
        if not (share > self.bound("share") and longest > 1 and cut < self.bound("truncated")):
            return None
        return self.found(
            f"{share:.0%} of the later episodes have exactly {longest:.0f} steps, and "
            f"{cut:.0%} are "
            "called truncated.",
            "train/roll/ep_len_mean",
            share=share,
            length=longest,
        )


def _pays_once(run: RunView) -> bool:
    """Whether an episode pays in a single step: squares of its rewards then add up to that of its
    return. Where every step pays they add up to less, by about the episode's length."""
    of_a_step = [median(run[f"train/roll/reward_{word}"]) for word in ("mean", "std")]
    of_all = [median(run[f"train/roll/ep_rew_{word}"]) for word in ("mean", "std")]
    squares = [x[0] ** 2 + x[1] ** 2 for x in (of_a_step, of_all)]
    length = median(run["train/roll/ep_len_mean"])
    return bool(0.8 * squares[1] < length * squares[0] < 1.25 * squares[1])

"""PRO012."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, like, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.math.summary import moving_median, swings
from dressage.runs.view import RunView


class WinRateGoesInCircles(Rule):
    """The win rate goes up and down without end.

    Why it hurts
        Each policy beats the one before it and loses to an older one: nothing is gained.

    Evidence
        Swings of a win rate, or of an Elo rating against fixed opponents.

    Threshold and source
        At least four turns of over 0.2 in the second half (guess).

    Prescription
        A pool of old opponents instead of the latest alone.

    Known false alarms
        A league whose opponents become stronger.

    References
        Balduzzi et al. 2019, “Open-ended learning in symmetric zero-sum games”.
    """

    id = "PRO012"
    name = "win-rate-goes-in-circles"
    family = "progress"
    severity = "medium"
    families = ("multi-agent", "on-policy", "value-based", "actor-critic")
    thresholds = {"height": Threshold(0.2, "guess")}
    elsewhere = 0.01
    expected = {
        "self-play-cycling": 0.9,
        "lr-too-high": 0.1,
        "healthy": 0.02,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and bool(like(run, "win_rate", "winrate", "win_ratio", "wins"))

    def check(self, run: RunView) -> Finding | None:
        rate = like(run, "win_rate", "winrate", "win_ratio", "wins")
        values = part(rate, 0.3)
        if len(values) < 4 * FEWEST:
            raise TooLittle
        smooth = moving_median(values, 3)
        turns = swings(smooth, self.bound("height"))
        if not turns >= 4:
            return None
        return self.found(
            f"The win rate turns {turns} times by over {self.bound('height'):g} between "
            f"{smooth.min():.2f} and {smooth.max():.2f}.",
            turns=turns,
        )

"""PRO006."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, early_spread, median, part, returns
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.math.summary import moving_median, swings
from dressage.runs.view import RunView


class ReturnSwingsLate(Rule):
    """The return swings up and down late in the run.

    Why it hurts
        Updates are still large enough to undo what they do.

    Evidence
        Swings of the return in the last half, beside its whole rise.

    Threshold and source
        At least three turns of over 30 % of the rise (guess).

    Prescription
        A learning rate that decays to zero, larger rollouts or a larger memory, slower
        targets.

    Known false alarms
        Tasks that are noisy by nature: the swings of a mean over many episodes are looked
        at.

    References
        “The 37 implementation details of PPO”, detail 4: annealing.
    """

    id = "PRO006"
    name = "return-swings-late"
    family = "progress"
    severity = "medium"
    thresholds = {"share": Threshold(0.3, "guess")}
    expected = {
        "lr-decay-too-little": 0.7,
        "lr-too-high": 0.4,
        "buffer-too-small": 0.5,
        "target-updates-too-often": 0.4,
        "self-play-cycling": 0.3,
        "catastrophic-forgetting": 0.4,
        "rollout-too-short": 0.4,
        "batch-too-small": 0.35,
        "too-many-epochs": 0.4,
        "updates-too-many": 0.3,
        "advantage-normalisation": 0.3,
        "target-tau-extreme": 0.3,
        "reward-noise": 0.1,
        "q-divergence": 0.2,
        "best-policy-lost": 0.4,
        "schedule-restarts": 0.5,
        "clip-range-too-wide": 0.4,
        "batch-reused": 0.25,
        "optimizer-state-corrupted": 0.1,
        "td3-smoothing-off": 0.25,
        "gae-lambda-extreme": 0.15,
        "healthy": 0.06,
    }

    def check(self, run: RunView) -> Finding | None:
        curve = returns(run)
        values = part(curve, 0.5)
        whole = part(curve)
        if len(values) < 4 * FEWEST:
            raise TooLittle
        smooth = moving_median(values, max(3, len(values) // 30))
        first = median(curve, 0.0, 0.1)
        rise = max(float(whole.max()) - first, 1e-12)
        if not rise > 2.0 * early_spread(run):
            return None
        turns = swings(smooth, self.bound("share") * rise)
        if not turns >= 3:
            return None
        return self.found(
            f"The return turns {turns} times by over {self.bound('share') * rise:.3g} in "
            "the last half "
            "of the run.",
            "train/roll/ep_rew_mean",
            turns=turns,
        )

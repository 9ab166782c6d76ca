"""PRO005."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, median, part, returns, rises, slope
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ReturnStopsMidway(Rule):
    """The return rose, and then stopped short of the threshold.

    Why it hurts
        Something that is learned early is used up, and what is missing cannot be learned
        this way.

    Evidence
        The return in the last half of the run: its level against the threshold, and its
        trend.

    Threshold and source
        A rise of over two early spreads, no rise in the last half, and 3 to 90 % of the
        way to the threshold (guess).

    Prescription
        Look at what is observed, how far ahead values look, how exploration ends, and how
        large the networks are.

    Known false alarms
        Thresholds that an algorithm never meets.

    References
        Gymnasium’s reward thresholds.
    """

    id = "PRO005"
    name = "return-stops-midway"
    family = "progress"
    severity = "medium"
    thresholds = {"way": Threshold(0.9, "guess"), "least": Threshold(0.03, "guess")}
    elsewhere = 0.15
    expected = {
        "partial-observability": 0.7,
        "network-too-small": 0.6,
        "gamma-too-low": 0.6,
        "final-epsilon-too-high": 0.6,
        "action-delay": 0.7,
        "epsilon-decays-too-fast": 0.4,
        "truncation-as-termination": 0.5,
        "time-limit-hidden": 0.4,
        "lr-schedule-ends-early": 0.8,
        "reward-noise": 0.3,
        "activation-choice": 0.35,
        "lr-too-high": 0.4,
        "too-many-epochs": 0.4,
        "gae-lambda-extreme": 0.4,
        "obs-stale": 0.5,
        "action-noise-too-large": 0.5,
        "buffer-too-small": 0.4,
        "batch-too-small": 0.35,
        "target-updates-too-often": 0.4,
        "clip-range-too-wide": 0.3,
        "weight-decay-too-strong": 0.4,
        "entropy-bonus-too-high": 0.4,
        "entropy-collapse": 0.4,
        "critic-too-weak": 0.3,
        "reward-misaligned": 0.3,
        "autoreset-leak": 0.3,
        "rollout-too-short": 0.35,
        "action-saturation": 0.3,
        "best-policy-lost": 0.15,
        "features-frozen": 0.4,
        "returns-misaligned": 0.3,
        "shape-broadcast": 0.25,
        "value-lr-mismatch": 0.3,
        "obs-unnormalised": 0.3,
        "sac-alpha-too-high": 0.3,
        "sac-alpha-too-low": 0.3,
        "updates-too-many": 0.3,
        "batch-reused": 0.3,
        "td3-smoothing-off": 0.3,
        "advantage-normalisation": 0.3,
        "value-clip-too-tight": 0.3,
        "network-too-deep": 0.2,
        "learning-starts-misplaced": 0.05,
        "reward-hacking": 0.1,
        "envs-share-seed": 0.2,
        "normaliser-mismatch": 0.1,
        "healthy": 0.04,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and run.threshold is not None

    def check(self, run: RunView) -> Finding | None:
        curve = returns(run)
        if run.threshold is None or len(part(curve)) < 2 * FEWEST:
            return None
        first, late, before = median(curve, 0.0, 0.1), median(curve, 0.8), median(curve, 0.45, 0.6)
        way = (late - first) / (run.threshold - first) if run.threshold > first else 1.0
        gained = late - before
        if not (self.bound("least") < way < self.bound("way") and gained < 0.1 * (late - first)):
            return None
        if rises(curve, 0.7) and slope(curve, 0.7) > 0.1 * (late - first):
            return None
        return self.found(
            f"The return rose from {first:.4g} to {late:.4g} by half of the run, and stayed; "
            f"{run.threshold:g} solves it.",
            "train/roll/ep_rew_mean",
            share_of_way=way,
        )

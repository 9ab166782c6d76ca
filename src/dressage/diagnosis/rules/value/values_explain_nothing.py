"""VAL001."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import SINGLE_STEP, learned, median, part, returns, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesExplainNothing(Rule):
    """The value function explains nothing of the returns.

    Why it hurts
        Advantages are then as noisy as the returns themselves: learning is slow, or does not
        happen.

    Evidence
        The explained variance in the second half of the run, where returns vary at all.

    Threshold and source
        At or below 0 in the median [GS]. It means nothing where returns do not vary, which is
        looked at.

    Prescription
        A reward on a scale near one, normalised observations, vf_coef 0.5, a value network of its
        own.

    Known false alarms
        Tasks in which all returns are equal (MountainCar before its first success).

    References
        gymnasium-solver’s alerts.
    """

    id = "VAL001"
    name = "values-explain-nothing"
    family = "value"
    severity = "high"
    needs = ("train/metrics/explained_variance",)
    families = ("on-policy",)
    thresholds = {"explained_variance": Threshold(0.05, "GS")}
    elsewhere = 0.1
    expected = {
        "critic-too-weak": 0.7,
        "returns-misaligned": 0.8,
        "value-clip-too-tight": 0.7,
        "reward-scale-too-large": 0.6,
        "obs-constant": 0.8,
        "obs-unnormalised": 0.3,
        "obs-stale": 0.3,
        "reward-uninformative": 0.6,
        "lr-too-low": 0.4,
        "optimizer-choice": 0.4,
        "value-lr-mismatch": 0.6,
        "output-activation": 0.7,
        "gamma-too-high": 0.3,
        "healthy": 0.04,
        "optimizer-eps": 0.3,
        "grad-clip-too-tight": 0.3,
        "critic-dominates": 0.2,
        "shape-broadcast": 0.5,
        "reward-noise": 0.2,
        "lr-too-high": 0.4,
        "bad-initialisation": 0.15,
        "weight-decay-too-strong": 0.35,
        "reward-scale-too-small": 0.1,
        "entropy-collapse": 0.1,
        "sparse-reward": 0.2,
        "features-frozen": 0.2,
        "network-too-deep": 0.2,
        "autoreset-leak": 0.2,
        "rollout-too-short": 0.3,
        "episode-limit-too-short": 0.1,
        "partial-observability": 0.3,
    }

    def check(self, run: RunView) -> Finding | None:
        explained = run["train/metrics/explained_variance"]
        late, spread = median(explained, 0.5), part(returns(run))
        if not late <= self.thresholds["explained_variance"].value:
            return None
        if (len(spread) and float(np.ptp(spread)) < 1e-6) or solved(run):
            return None
        if run.algo in SINGLE_STEP and learned(run):
            return None  # targets of a few steps hardly differ where all goes well
        return self.found(
            f"The value function explains {late:.0%} of the variance of the returns in the "
            "second half of "
            "the run; above 50 % is healthy.",
            "train/metrics/explained_variance",
            explained_variance_late=late,
        )

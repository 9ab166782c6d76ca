"""PRO001."""

from __future__ import annotations

from dressage.diagnosis.look import early_spread, median, part, returns
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ReturnNeverRose(Rule):
    """The return is where it was at the start.

    Why it hurts
        Nothing has been learned.

    Evidence
        The median return of the last third of the run against that of the first, beside the spread
        of single episodes at the start.

    Threshold and source
        A rise below half of that spread (guess).

    Prescription
        See the other symptoms: this one says that there is something to find.

    Known false alarms
        Runs that begin solved.

    References
        RLExplorer looks for returns that do not vary.
    """

    id = "PRO001"
    name = "return-never-rose"
    family = "progress"
    severity = "critical"
    needs = ()
    thresholds = {"deviations": Threshold(0.5, "guess")}
    expected = {
        "lr-too-low": 0.9,
        "dead-policy-gradient": 0.95,
        "optimizer-choice": 0.9,
        "optimizer-eps": 0.85,
        "sparse-reward": 0.9,
        "reward-uninformative": 0.8,
        "obs-constant": 0.8,
        "obs-stale": 0.5,
        "action-ignored": 0.85,
        "policy-loss-sign": 0.6,
        "entropy-bonus-too-high": 0.6,
        "learning-never-starts": 0.95,
        "no-exploration": 0.8,
        "lr-too-high": 0.5,
        "returns-misaligned": 0.6,
        "entropy-collapse": 0.5,
        "healthy": 0.01,
        "budget-too-small": 0.15,
        "bad-initialisation": 0.5,
        "reward-scale-too-large": 0.5,
        "reward-scale-too-small": 0.4,
        "td-target-wrong": 0.75,
        "q-divergence": 0.5,
        "replay-corrupted": 0.7,
        "grad-clip-too-tight": 0.6,
        "lr-schedule-ends-early": 0.15,
        "target-kl-too-tight": 0.4,
        "clip-range-too-tight": 0.4,
        "critic-too-weak": 0.4,
        "critic-dominates": 0.6,
        "value-clip-too-tight": 0.4,
        "network-too-deep": 0.6,
        "network-too-small": 0.3,
        "actor-saturation": 0.7,
        "action-saturation": 0.5,
        "action-space-degenerate": 0.85,
        "action-range-unnormalised": 0.7,
        "sac-alpha-too-high": 0.8,
        "sac-alpha-explodes": 0.7,
        "sac-alpha-too-low": 0.3,
        "no-action-noise": 0.6,
        "action-noise-too-large": 0.5,
        "updates-starved": 0.6,
        "updates-too-few": 0.4,
        "target-updates-too-rarely": 0.4,
        "target-tau-extreme": 0.5,
        "discount-misapplied": 0.4,
        "gamma-too-low": 0.4,
        "gamma-too-high": 0.3,
        "episode-limit-too-short": 0.8,
        "epsilon-decays-too-fast": 0.4,
        "final-epsilon-too-high": 0.4,
        "obs-unnormalised": 0.4,
        "shape-broadcast": 0.5,
        "weight-decay-too-strong": 0.5,
        "output-activation": 0.3,
        "env-not-reset": 0.6,
        "reward-sign-flipped": 0.2,
        "nan-input": 0.4,
        "learning-starts-misplaced": 0.2,
        "action-std-explosion": 0.5,
        "features-frozen": 0.3,
        "partial-observability": 0.2,
        "terminal-not-stored": 0.3,
        "too-many-epochs": 0.3,
        "buffer-too-small": 0.3,
        "updates-too-many": 0.3,
        "batch-reused": 0.2,
        "reward-misaligned": 0.15,
        "action-delay": 0.3,
        "image-scaling": 0.4,
        "value-lr-mismatch": 0.2,
        "reward-scale-vs-alpha": 0.3,
        "loaded-model-ignored": 0.1,
        "advantage-normalisation": 0.3,
        "truncation-as-termination": 0.2,
        "time-limit-hidden": 0.2,
        "autoreset-leak": 0.2,
        "rollout-too-long": 0.3,
        "rollout-too-short": 0.2,
        "batch-too-large": 0.2,
        "gae-lambda-extreme": 0.15,
    }

    def check(self, run: RunView) -> Finding | None:
        series = returns(run)
        if len(part(series)) < 10:
            return None
        early, late = median(series, 0.0, 0.3), median(series, 0.7)
        if not late - early <= self.bound("deviations") * early_spread(run):
            return None
        return self.found(
            f"The return was {early:.4g} in the first third of the run and is {late:.4g} in the "
            "last.",
            "train/roll/ep_rew_mean",
            return_early=early,
            return_late=late,
        )

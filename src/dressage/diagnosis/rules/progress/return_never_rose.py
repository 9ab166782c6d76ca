"""PRO001."""

from __future__ import annotations

from dressage.diagnosis.look import beginning, early_spread, median, part, returns
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ReturnNeverRose(Rule):
    """The return is where it was at the start.

    Why it hurts
        Nothing has been learned.

    Evidence
        The median return of the last third of the run against that of the first, and against the
        first episodes, beside the spread of single episodes at the start.

    Threshold and source
        A rise below half of that spread, and from the first episodes below all of it (guess).

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
    elsewhere = 0.12
    expected = {
        "lr-too-low": 0.9,
        "dead-policy-gradient": 0.95,
        "optimizer-choice": 0.9,
        "optimizer-eps": 0.55,
        "sparse-reward": 0.9,
        "reward-uninformative": 0.8,
        "obs-constant": 0.8,
        "obs-stale": 0.33,
        "action-ignored": 0.85,
        "policy-loss-sign": 0.6,
        "entropy-bonus-too-high": 0.39,
        "learning-never-starts": 0.95,
        "no-exploration": 0.8,
        "lr-too-high": 0.33,
        "returns-misaligned": 0.39,
        "entropy-collapse": 0.33,
        "healthy": 0.004,
        "budget-too-small": 0.15,
        "bad-initialisation": 0.33,
        "reward-scale-too-large": 0.33,
        "reward-scale-too-small": 0.26,
        "td-target-wrong": 0.75,
        "q-divergence": 0.33,
        "replay-corrupted": 0.45,
        "grad-clip-too-tight": 0.39,
        "lr-schedule-ends-early": 0.1,
        "target-kl-too-tight": 0.26,
        "clip-range-too-tight": 0.26,
        "critic-too-weak": 0.26,
        "critic-dominates": 0.39,
        "value-clip-too-tight": 0.26,
        "network-too-deep": 0.25,
        "network-too-small": 0.2,
        "actor-saturation": 0.45,
        "action-saturation": 0.33,
        "action-space-degenerate": 0.55,
        "action-range-unnormalised": 0.45,
        "sac-alpha-too-high": 0.52,
        "sac-alpha-explodes": 0.45,
        "sac-alpha-too-low": 0.2,
        "no-action-noise": 0.39,
        "action-noise-too-large": 0.33,
        "updates-starved": 0.39,
        "updates-too-few": 0.26,
        "target-updates-too-rarely": 0.26,
        "target-tau-extreme": 0.33,
        "discount-misapplied": 0.26,
        "gamma-too-low": 0.26,
        "gamma-too-high": 0.2,
        "episode-limit-too-short": 0.52,
        "epsilon-decays-too-fast": 0.26,
        "final-epsilon-too-high": 0.26,
        "obs-unnormalised": 0.26,
        "shape-broadcast": 0.33,
        "weight-decay-too-strong": 0.33,
        "output-activation": 0.2,
        "env-not-reset": 0.39,
        "reward-sign-flipped": 0.13,
        "nan-input": 0.26,
        "learning-starts-misplaced": 0.13,
        "action-std-explosion": 0.33,
        "features-frozen": 0.2,
        "partial-observability": 0.13,
        "terminal-not-stored": 0.2,
        "too-many-epochs": 0.2,
        "buffer-too-small": 0.2,
        "updates-too-many": 0.2,
        "batch-reused": 0.13,
        "reward-misaligned": 0.1,
        "action-delay": 0.2,
        "image-scaling": 0.26,
        "value-lr-mismatch": 0.13,
        "reward-scale-vs-alpha": 0.2,
        "loaded-model-ignored": 0.1,
        "advantage-normalisation": 0.2,
        "truncation-as-termination": 0.13,
        "time-limit-hidden": 0.13,
        "autoreset-leak": 0.13,
        "rollout-too-long": 0.2,
        "rollout-too-short": 0.13,
        "batch-too-large": 0.13,
        "gae-lambda-extreme": 0.1,
    }

    def check(self, run: RunView) -> Finding | None:
        series = returns(run)
        if len(part(series)) < 10:
            raise TooLittle
        early, late = median(series, 0.0, 0.3), median(series, 0.7)
        bound = self.bound("deviations") * early_spread(run)
        if not late - early <= bound or late - beginning(run) > 2.0 * bound:
            return None
        return self.found(
            f"The return was {early:.4g} in the first third of the run and is {late:.4g} in the "
            "last.",
            "train/roll/ep_rew_mean",
            return_early=early,
            return_late=late,
        )

"""PRO009."""

from __future__ import annotations

from dressage.diagnosis.look import late_return, returns, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView

SOME = 0.005  # of the way, below which it rounds to nothing


class EndsFarFromSolved(Rule):
    """The run ends far from the return that solves its task.

    Why it hurts
        Whatever else is seen: it has not learned the task.

    Evidence
        The late return, on its way from the first to the environment’s threshold: the highest of
        the last 15 % of the logged means, the last three of them and the last tenth of the single
        episodes, since means over many episodes trail.

    Threshold and source
        Under a quarter of the way (our labelled runs, 2026-11-16: short runs that are healthy end
        at 27 % or above).

    Prescription
        See the other symptoms; a larger budget where there are none.

    Known false alarms
        Thresholds that are out of reach for an algorithm.

    References
        Gymnasium’s reward thresholds.
    """

    id = "PRO009"
    name = "ends-far-from-solved"
    family = "progress"
    severity = "medium"
    thresholds = {"way": Threshold(0.25, "our labelled runs, 2026-11-16")}
    elsewhere = 0.35
    expected = {
        "lr-too-high": 0.7,
        "lr-too-low": 0.85,
        "lr-schedule-ends-early": 0.6,
        "too-many-epochs": 0.5,
        "clip-range-too-wide": 0.5,
        "clip-range-too-tight": 0.7,
        "rollout-too-short": 0.5,
        "rollout-too-long": 0.7,
        "entropy-collapse": 0.8,
        "entropy-bonus-too-high": 0.7,
        "action-std-explosion": 0.7,
        "advantage-normalisation": 0.5,
        "gae-lambda-extreme": 0.4,
        "gamma-too-low": 0.6,
        "gamma-too-high": 0.5,
        "critic-too-weak": 0.6,
        "critic-dominates": 0.7,
        "value-clip-too-tight": 0.6,
        "grad-clip-missing": 0.6,
        "grad-clip-too-tight": 0.8,
        "target-kl-too-tight": 0.6,
        "dead-policy-gradient": 0.9,
        "policy-loss-sign": 0.9,
        "returns-misaligned": 0.7,
        "shape-broadcast": 0.7,
        "reward-sign-flipped": 0.8,
        "reward-scale-too-large": 0.6,
        "reward-scale-too-small": 0.7,
        "sparse-reward": 0.8,
        "reward-uninformative": 0.9,
        "reward-misaligned": 0.4,
        "nan-input": 0.7,
        "reward-noise": 0.4,
        "obs-unnormalised": 0.6,
        "obs-constant": 0.9,
        "obs-stale": 0.7,
        "partial-observability": 0.6,
        "replay-corrupted": 0.8,
        "truncation-as-termination": 0.6,
        "terminal-not-stored": 0.5,
        "autoreset-leak": 0.4,
        "time-limit-hidden": 0.5,
        "episode-limit-too-short": 0.9,
        "action-ignored": 0.8,
        "action-delay": 0.6,
        "env-not-reset": 0.9,
        "reward-hacking": 0.5,
        "learning-never-starts": 0.9,
        "learning-starts-misplaced": 0.6,
        "buffer-too-small": 0.6,
        "no-exploration": 0.7,
        "epsilon-decays-too-fast": 0.6,
        "final-epsilon-too-high": 0.8,
        "target-updates-too-often": 0.5,
        "target-updates-too-rarely": 0.7,
        "q-divergence": 0.7,
        "updates-too-few": 0.7,
        "updates-too-many": 0.5,
        "batch-reused": 0.5,
        "batch-too-small": 0.5,
        "resume-lost-state": 0.5,
        "discount-misapplied": 0.6,
        "td-target-wrong": 0.8,
        "no-action-noise": 0.6,
        "action-noise-too-large": 0.7,
        "actor-saturation": 0.7,
        "sac-alpha-too-high": 0.8,
        "sac-alpha-too-low": 0.5,
        "sac-alpha-explodes": 0.8,
        "target-tau-extreme": 0.6,
        "updates-starved": 0.8,
        "optimizer-eps": 0.7,
        "optimizer-choice": 0.8,
        "weight-decay-too-strong": 0.6,
        "optimizer-state-corrupted": 0.6,
        "loaded-model-ignored": 0.6,
        "network-too-small": 0.6,
        "network-too-deep": 0.6,
        "bad-initialisation": 0.7,
        "features-frozen": 0.5,
        "output-activation": 0.5,
        "activation-choice": 0.3,
        "budget-too-small": 0.85,
        "batch-too-large": 0.7,
        "lr-decay-too-little": 0.4,
        "value-lr-mismatch": 0.4,
        "catastrophic-forgetting": 0.6,
        "logged-reward-normalised": 0.6,
        "schedule-restarts": 0.2,
        "distributed-desync": 0.5,
        "action-saturation": 0.6,
        "envs-share-seed": 0.3,
        "best-policy-lost": 0.3,
        "td3-smoothing-off": 0.3,
        "hardware-underused": 0.05,
        "pipeline-bottleneck": 0.05,
        "throughput-decay": 0.05,
        "healthy": 0.03,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and run.threshold is not None

    def check(self, run: RunView) -> Finding | None:
        curve = returns(run)
        late, first = late_return(run, evaluated=False), start(curve)
        if run.threshold is None or not run.threshold > first:
            return None
        way = (late - first) / (run.threshold - first)
        if not way < self.bound("way"):
            return None
        solves = f"the {run.threshold:g} that solve the task"
        how = f"{way:.0%} of the way from the {first:.4g} it began at to {solves}"
        if way < SOME:
            how = f"no nearer to {solves} than the {first:.4g} it began at"
        return self.found(
            f"The best that late training shows is a return of {late:.4g}, {how}.",
            "train/roll/ep_rew_mean",
            share_of_way=way,
        )

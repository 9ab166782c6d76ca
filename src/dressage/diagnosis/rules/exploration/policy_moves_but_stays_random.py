"""EXP003."""

from __future__ import annotations

from dressage.diagnosis.look import SINGLE_STEP, deviation_grew, done, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class PolicyMovesButStaysRandom(Rule):
    """Updates move the policy, and it stays as random as it can be.

    Why it hurts
        The updates pull towards randomness, or have nothing to pull towards.

    Evidence
        The entropy of the second half beside its highest, while the KL divergence of
        updates is normal.

    Threshold and source
        Above 90 % of its highest with a KL above 5e-4 (guess; “stays near 1” [AJ]), or above
        1e-6 where a rollout gets one step (our labelled runs, 2026-11-16).

    Prescription
        Divide ent_coef by ten; look whether the reward depends on what is done.

    Known false alarms
        Tasks whose best policy is random. A Gaussian whose deviation grows is a symptom of
        its own.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "EXP003"
    name = "policy-moves-but-stays-random"
    family = "exploration"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/entropy", "train/metrics/kl_divergence")
    thresholds = {
        "share": Threshold(0.9, "guess"),
        "kl": Threshold(0.0005, "guess"),
        "single": Threshold(1e-6, "our labelled runs, 2026-11-16"),
    }
    expected = {
        "entropy-bonus-too-high": 0.5,
        "reward-uninformative": 0.7,
        "action-std-explosion": 0.1,
        "weight-decay-too-strong": 0.4,
        "obs-constant": 0.4,
        "obs-stale": 0.2,
        "action-ignored": 0.5,
        "sparse-reward": 0.4,
        "reward-scale-too-small": 0.4,
        "returns-misaligned": 0.35,
        "shape-broadcast": 0.35,
        "reward-noise": 0.15,
        "budget-too-small": 0.1,
        "rollout-too-long": 0.15,
        "network-too-deep": 0.2,
        "autoreset-leak": 0.1,
        "batch-too-large": 0.1,
        "reward-misaligned": 0.1,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        entropy = run["train/metrics/entropy"]
        known, kl = part(entropy), median(run["train/metrics/kl_divergence"], 0.1)
        late = median(entropy, 0.5)
        if not len(known) or done(run) or deviation_grew(run):
            return None
        if run.algo in SINGLE_STEP and run["train/metrics/action_std"]:
            return None  # its deviation hardly changes where it learns too
        if not kl > self.bound("single" if run.algo in SINGLE_STEP else "kl"):
            return None
        highest = float(known.max())
        if not (highest > 0 and late > self.bound("share") * highest):
            return None
        return self.found(
            f"The entropy is {late:.3g} nats in the second half, {late / highest:.0%} of "
            "its highest, "
            f"while updates move the policy by a KL of {kl:.2g}.",
            "train/metrics/entropy",
            entropy_late=late,
            kl_median=kl,
        )

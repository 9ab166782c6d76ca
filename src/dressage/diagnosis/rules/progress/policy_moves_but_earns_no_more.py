"""PRO030."""

from __future__ import annotations

from dressage.diagnosis.look import (
    FEWEST,
    beginning,
    done,
    early_spread,
    median,
    part,
    returns,
    start,
    worst_at_first,
)
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class PolicyMovesButEarnsNoMore(Rule):
    """Updates look healthy and the return does not rise.

    Why it hurts
        The optimizer does its work: what it is told, or what its actions do, is wrong.

    Evidence
        KL divergence and entropy of the policy, beside the return.

    Threshold and source
        A KL between 2e-4 and 0.03 with an entropy that neither collapses nor explodes, while the
        return gains less than two deviations of early episodes (our labelled runs, 2026-11-16).

    Prescription
        Probe the environment: does the action change anything, does the observation show it, does
        the reward follow.

    Known false alarms
        Tasks that need more time.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "PRO030"
    name = "policy-moves-but-earns-no-more"
    family = "progress"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/kl_divergence", "train/metrics/entropy")
    thresholds = {
        "kl_low": Threshold(2e-4, "our labelled runs, 2026-11-16"),
        "kl_high": Threshold(0.03, "our labelled runs, 2026-11-16"),
        "rise": Threshold(2.0, "guess"),
    }
    elsewhere = 0.08
    expected = {
        "action-ignored": 0.8,
        "action-delay": 0.8,
        "obs-stale": 0.8,
        "partial-observability": 0.6,
        "reward-uninformative": 0.8,
        "reward-misaligned": 0.8,
        "returns-misaligned": 0.7,
        "sparse-reward": 0.7,
        "action-space-degenerate": 0.8,
        "action-range-unnormalised": 0.8,
        "env-not-reset": 0.6,
        "reward-sign-flipped": 0.4,
        "reward-noise": 0.6,
        "truncation-as-termination": 0.4,
        "obs-unnormalised": 0.4,
        "gamma-too-low": 0.4,
        "reward-hacking": 0.2,
        "lr-too-low": 0.01,
        "lr-too-high": 0.03,
        "healthy": 0.01,
    }

    def can_see(self, run: RunView) -> bool:
        rows = run["train/metrics/kl_divergence"].values
        return super().can_see(run) and len(rows) >= 4 * FEWEST

    def check(self, run: RunView) -> Finding | None:
        kl = median(run["train/metrics/kl_divergence"], 0.1, 0.6)
        entropy, curve = run["train/metrics/entropy"], returns(run)
        first, late = start(entropy), median(entropy, 0.7)
        clipped = run["train/metrics/clip_fraction"]
        if not self.bound("kl_low") < kl < self.bound("kl_high") or len(part(curve)) < 10:
            return None
        if done(run) or (clipped and not median(clipped, 0.1, 0.6) < 0.3):
            return None
        gaussian = bool(run["train/metrics/action_std"])
        if not first - late < (1.0 if gaussian else 0.9 * first) or late > first + 0.3:
            return None
        if median(curve, 0.7) <= worst_at_first(run):
            return None  # it has learned the opposite
        gain, spread = median(curve, 0.7) - beginning(run), early_spread(run)
        if not gain < self.bound("rise") * spread:
            return None
        return self.found(
            f"The KL divergence of an update is {kl:.2g}, and the return has gained {gain:.3g} "
            f"where single episodes deviate by {spread:.3g}.",
            "train/roll/ep_rew_mean",
            kl=kl,
            gain=gain,
        )

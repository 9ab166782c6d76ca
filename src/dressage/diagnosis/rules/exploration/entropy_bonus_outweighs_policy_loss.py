"""EXP005."""

from __future__ import annotations

from dressage.diagnosis.look import late_return, learned, median, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EntropyBonusOutweighsPolicyLoss(Rule):
    """The entropy bonus is larger than all that the policy can gain.

    Why it hurts
        The cheapest way to lower the loss is then to become random.

    Evidence
        The weighted entropy loss beside the size of the policy loss.

    Threshold and source
        More than 10 times in the first half (guess; about 1 with ent_coef 0.01 in healthy runs
        of ours), or 30 where the return has risen (our labelled runs, 2026-11-16: 160 at 1).

    Prescription
        Divide ent_coef by ten.

    Known false alarms
        Policies that have converged, or that do not move, whose policy loss is near zero: the
        return of training and the KL are looked at.

    References
        SB3 issue 2240.
    """

    id = "EXP005"
    name = "entropy-bonus-outweighs-policy-loss"
    family = "exploration"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/loss/entropy", "train/loss/policy")
    thresholds = {
        "times": Threshold(10.0, "guess"),
        "risen": Threshold(30.0, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.02
    expected = {
        "entropy-bonus-too-high": 0.9,
        "reward-scale-too-small": 0.35,
        "action-std-explosion": 0.95,
        "advantage-normalisation": 0.1,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        bonus, policy = (
            -median(run["train/loss/entropy"], 0.05, 0.5),
            size(run["train/loss/policy"], 0.05, 0.5),
        )
        times = bonus / max(policy, 1e-9)
        # The return of training counts: without its noise a policy may still be right.
        solved = run.threshold is not None and late_return(run, False) >= run.threshold
        rose = run.threshold is None and learned(run)
        still = median(run["train/metrics/kl_divergence"], 0.05, 0.5) < 1e-5
        if not times > self.bound("risen" if rose else "times") or bonus < 1e-3 or solved or still:
            return None
        return self.found(
            f"The entropy part of the loss is {bonus:.3g}, the policy part {policy:.3g}.",
            "train/loss/entropy",
            entropy_loss=bonus,
            policy_loss=policy,
        )

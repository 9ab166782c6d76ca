"""OPT006."""

from __future__ import annotations

from dressage.diagnosis.look import SINGLE_STEP, learned, median, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class PolicyFrozenWhileValuesLearn(Rule):
    """The values learn and the policy stays where it was.

    Why it hurts
        What the values have learned is not used.

    Evidence
        The KL divergence of updates or the drift of the entropy, beside a value loss that
        falls or an explained variance that rises.

    Threshold and source
        KL below 1e-5 in the median while the value loss falls by a fifth or the explained
        variance gains 0.3 since the first rows (guess; KL 0.003 to 0.02 is usual [37]); a
        hundredth of that for algorithms that make one step a rollout (guess).

    Prescription
        Use the stored log-probabilities in the ratio, let gradients through, weigh the
        value loss less in a shared network.

    Known false alarms
        A return that cannot be improved on.

    References
        rl-debug-bench; what to look at where the KL is near zero.
    """

    id = "OPT006"
    name = "policy-frozen-while-values-learn"
    family = "optimisation"
    severity = "critical"
    families = ("on-policy",)
    needs = ("train/metrics/kl_divergence",)
    either = ("train/loss/value", "train/metrics/explained_variance")
    thresholds = {"kl": Threshold(1e-05, "guess"), "single": Threshold(1e-07, "guess")}
    elsewhere = 0.02
    expected = {
        "dead-policy-gradient": 0.85,
        "lr-too-high": 0.2,
        "entropy-collapse": 0.25,
        "bad-initialisation": 0.2,
        "policy-loss-sign": 0.1,
        "critic-dominates": 0.3,
        "grad-clip-too-tight": 0.3,
        "lr-too-low": 0.15,
        "optimizer-choice": 0.25,
        "optimizer-eps": 0.2,
        "value-lr-mismatch": 0.1,
        "reward-uninformative": 0.1,
        "target-kl-too-tight": 0.1,
        "clip-range-too-tight": 0.1,
        "features-frozen": 0.1,
        "lr-schedule-ends-early": 0.1,
        "healthy": 0.005,
        "shape-broadcast": 0.4,
    }

    def check(self, run: RunView) -> Finding | None:
        kl = median(run["train/metrics/kl_divergence"], 0.05, 0.6)
        loss = run["train/loss/value"]
        explained = run["train/metrics/explained_variance"]
        fell = start(loss) > 1.25 * median(loss, 0.5)
        gained = median(explained, 0.5) - start(explained)
        bound = self.bound("single" if run.algo in SINGLE_STEP else "kl")
        if not kl < bound or not (fell or gained > 0.3) or learned(run):
            return None
        return self.found(
            f"The KL divergence of an update is {kl:.2g} in the median while the values learn"
            f" (explained variance {median(explained, 0.5):.2f}).",
            "train/metrics/kl_divergence",
            kl_median=kl,
        )

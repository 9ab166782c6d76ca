"""OPT007."""

from __future__ import annotations

import math

from dressage.diagnosis.look import done, median, members, start, value_loss
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class WeightsHardlyMove(Rule):
    """An update changes hardly anything in any network.

    Why it hurts
        The steps are too small to arrive within the budget, whatever their direction.

    Evidence
        The norm of an update over the norm of the weights, of the network that moves most;
        where that is not logged, a tiny KL beside a value loss that stays.

    Threshold and source
        Below 3e-5 in the median of the first 80 %, and not above 3e-4 in the first rows
        (guess; about 1e-3 is usual [KA]).

    Prescription
        Raise the learning rate by ten; look at the optimizer, its epsilon and the gradient
        clip.

    Known false alarms
        Networks that begin with very large weights: steps of a value network are taken beside
        the policy's weights where those are lighter; runs in their last, decayed part, which
        is left out.

    References
        Karpathy, CS231n.
    """

    id = "OPT007"
    name = "weights-hardly-move"
    family = "optimisation"
    severity = "high"
    either = ("train/metrics/update_to_weight/*", "train/metrics/kl_divergence")
    thresholds = {"ratio": Threshold(3e-05, "guess"), "kl": Threshold(0.0001, "guess")}
    elsewhere = 0.02
    expected = {
        "lr-too-low": 0.9,
        "optimizer-choice": 0.85,
        "optimizer-eps": 0.8,
        "grad-clip-too-tight": 0.8,
        "lr-schedule-ends-early": 0.02,
        "reward-scale-too-small": 0.1,
        "learning-never-starts": 0.05,
        "network-too-deep": 0.1,
        "target-kl-too-tight": 0.1,
        "weight-decay-too-strong": 0.05,
        "budget-too-small": 0.03,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        moves = members(run, "train/metrics/update_to_weight/*")
        moves.pop("alpha", None)
        norms = {net: start(run[f"train/metrics/weight_norm/{net}"]) for net in moves}
        usual = norms.get("shared", norms.get("policy", math.nan))

        def heavier(net: str) -> float:
            return max(1.0, norms[net] / usual) if norms[net] > 0 and usual > 0 else 1.0

        if moves:
            most = max(
                (m * heavier(net) for net, s in moves.items() if (m := median(s, 0.05, 0.8)) == m),
                default=1.0,
            )
            first = max(start(series) for series in moves.values())
            if not most < self.bound("ratio") or first > 10 * self.bound("ratio") or done(run):
                return None
            return self.found(
                f"The largest update is {most:.2g} of its weights in the median; 1e-3 is usual.",
                "train/metrics/update_to_weight/*",
                update_to_weight=most,
            )
        kl, loss = median(run["train/metrics/kl_divergence"], 0.05, 0.8), value_loss(run)[1]
        early, late = median(loss, 0.0, 0.2), median(loss, 0.8)
        if not kl < self.bound("kl") or not 0.7 < late / early < 1.5 or done(run):
            return None
        return self.found(
            f"The KL of an update is {kl:.2g}; the value loss went from {early:.3g} to {late:.3g}.",
            "train/metrics/kl_divergence",
            kl_median=kl,
        )

"""OPT008."""

from __future__ import annotations

from dressage.diagnosis.look import median, members
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class GradientsAlwaysClipped(Rule):
    """Every gradient is clipped to a small part of itself.

    Why it hurts
        Clipping is for the few large gradients. Where all are cut, it sets the step size,
        and the loudest loss takes all of it.

    Evidence
        The share of clipped updates, and the gradient norm before clipping.

    Threshold and source
        Over 98 % clipped in the median (guess) with a norm above 50, or with updates below
        1e-4 of the weights (guess).

    Prescription
        max_grad_norm 0.5 to 10, near the usual norm; rewards on a scale near one.

    Known false alarms
        Algorithms that are tuned with a clip far below their norms.

    References
        the cause grad-clip-too-tight and critic-dominates.
    """

    id = "OPT008"
    name = "gradients-always-clipped"
    family = "optimisation"
    severity = "medium"
    needs = ("train/metrics/grad_clipped", "train/metrics/grad_norm/*")
    thresholds = {
        "share": Threshold(0.98, "guess"),
        "norm": Threshold(50.0, "guess"),
        "update": Threshold(0.0001, "guess"),
    }
    expected = {
        "grad-clip-too-tight": 0.85,
        "lr-too-low": 0.55,
        "optimizer-choice": 0.55,
        "optimizer-eps": 0.5,
        "critic-too-weak": 0.1,
        "reward-scale-too-large": 0.8,
        "critic-dominates": 0.8,
        "q-divergence": 0.5,
        "gamma-too-high": 0.3,
        "lr-too-high": 0.2,
        "terminal-not-stored": 0.2,
        "obs-unnormalised": 0.2,
        "value-clip-too-tight": 0.2,
        "sac-alpha-explodes": 0.2,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        clipped = median(run["train/metrics/grad_clipped"], 0.05, 0.8)
        norms = members(run, "train/metrics/grad_norm/*")
        norm = max((m for s in norms.values() if (m := median(s, 0.05, 0.8)) == m), default=0.0)
        moves = members(run, "train/metrics/update_to_weight/*")
        move = max((m for s in moves.values() if (m := median(s, 0.05, 0.8)) == m), default=1.0)
        if not clipped > self.bound("share"):
            return None
        if not (norm > self.bound("norm") or move < self.bound("update")):
            return None
        return self.found(
            f"{clipped:.0%} of the updates are clipped; the norm before is {norm:.3g}, an update "
            f"{move:.2g} of the weights.",
            "train/metrics/grad_clipped",
            grad_clipped=clipped,
            grad_norm=norm,
        )

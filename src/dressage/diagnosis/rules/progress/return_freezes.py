"""PRO009."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, learned, part, returns, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ReturnFreezes(Rule):
    """From some point on, the return does not change at all any more.

    Why it hurts
        Training has stopped to act: the policy of that point is the last.

    Evidence
        The spread of the return in the last third against that before, below the threshold.

    Threshold and source
        Less than a tenth of the spread before, with no trend (guess).

    Prescription
        Look at the learning rate, the KL limit and the epsilon at that point.

    Known false alarms
        Runs that are solved.

    References
        The cause lr-schedule-ends-early.
    """

    id = "PRO009"
    name = "return-freezes"
    family = "progress"
    severity = "medium"
    thresholds = {"share": Threshold(0.1, "guess")}
    expected = {
        "lr-schedule-ends-early": 0.6,
        "entropy-collapse": 0.4,
        "lr-too-high": 0.35,
        "policy-loss-sign": 0.3,
        "actor-saturation": 0.3,
        "epsilon-decays-too-fast": 0.2,
        "no-exploration": 0.2,
        "reward-sign-flipped": 0.2,
        "gamma-too-low": 0.2,
        "bad-initialisation": 0.2,
        "td-target-wrong": 0.2,
        "q-divergence": 0.15,
        "sac-alpha-too-low": 0.2,
        "network-too-small": 0.15,
        "nan-input": 0.3,
        "obs-constant": 0.2,
        "weight-decay-too-strong": 0.2,
        "healthy": 0.05,
    }

    def check(self, run: RunView) -> Finding | None:
        curve = returns(run)
        if len(part(curve)) < 6 * FEWEST or solved(run):
            return None
        middle, late = part(curve, 0.15, 0.6), part(curve, 0.67)
        before, after = float(np.std(np.diff(middle))), float(np.std(np.diff(late)))
        moved = float(np.ptp(middle))
        whole = float(np.ptp(part(curve)))
        if not (moved > 0.2 * whole > 0 and float(np.ptp(late)) < self.bound("share") * whole):
            return None
        if before == 0 or after > before or (learned(run) and run.threshold is None):
            return None
        return self.found(
            f"The return moves by {float(np.ptp(late)):.3g} in the last third; it moved by "
            f"{moved:.3g} "
            "before.",
            "train/roll/ep_rew_mean",
            late=float(np.ptp(late)),
            before=moved,
        )

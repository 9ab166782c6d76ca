"""EXP032."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EntropyJumps(Rule):
    """The policy's entropy leaps from one row of the log to the next.

    Why it hurts
        Single updates change what the policy does from the ground up.

    Evidence
        The deviation of the entropy's changes between rows, after the first third, and the largest
        rise among them.

    Threshold and source
        Both above 0.1 nats (our labelled runs, 2026-11-17: no healthy run).

    Prescription
        A lower learning rate, larger batches, clipped gradients.

    Known false alarms
        Logs with few rows of a policy that becomes sure quickly.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "EXP032"
    name = "entropy-jumps"
    family = "exploration"
    severity = "high"
    stands_in = True
    needs = ("train/metrics/entropy",)
    families = ("on-policy",)
    thresholds = {"nats": Threshold(0.1, "our labelled runs, 2026-11-17")}
    elsewhere = 0.03
    expected = {
        "loaded-model-ignored": 0.34,
        "grad-clip-missing": 0.27,
        "too-many-epochs": 0.21,
        "lr-too-high": 0.26,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        late = part(run["train/metrics/entropy"], 0.3)
        if len(late) < FEWEST:
            raise TooLittle
        changes = np.diff(late)
        leap = float(np.std(changes))
        if not min(leap, float(changes.max())) > self.bound("nats"):
            return None  # nothing, or a policy that becomes surer quickly
        return self.found(
            f"From row to row the policy's entropy changes by {leap:.2g} nats.",
            "train/metrics/entropy",
            leap=leap,
        )

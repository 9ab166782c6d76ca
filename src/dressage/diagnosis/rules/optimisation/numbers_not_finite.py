"""OPT014."""

from __future__ import annotations

import re

import numpy as np

from dressage.diagnosis.look import FEWEST
from dressage.diagnosis.rule import Finding, Rule
from dressage.runs.view import RunView

NOT_A_NUMBER = re.compile(r"\bnan\b|not finite|not a number|\binf\b", re.IGNORECASE)


class NumbersNotFinite(Rule):
    """Losses, gradients or returns are not finite.

    Why it hurts
        One such update ruins every weight; where updates are skipped instead, their data is
        lost.

    Evidence
        Losses that are NaN or infinite, returns that are after finite ones, and updates that were
        skipped because a gradient was.

    Threshold and source
        Any [RX].

    Prescription
        Find the first row that has one; check rewards and observations, then the learning
        rate and the gradient clip.

    Known false alarms
        Losses that a library logs as NaN before its first update.

    References
        SB3, VecCheckNan; rlwatch.
    """

    id = "OPT014"
    name = "numbers-not-finite"
    family = "optimisation"
    severity = "critical"
    fatal = True
    either = (
        "train/metrics/skipped_updates",
        "train/loss/policy",
        "train/loss/value",
        "train/loss/td",
        "train/loss/critic",
        "train/loss/total",
        "train/roll/ep_rew_mean",
    )
    elsewhere = 0.01
    expected = {
        "nan-input": 0.95,
        "lr-too-high": 0.12,
        "grad-clip-missing": 0.35,
        "q-divergence": 0.15,
        "reward-scale-too-large": 0.1,
        "batch-not-dividing-rollout": 0.1,
        "optimizer-state-corrupted": 0.15,
        "sac-alpha-explodes": 0.15,
        "replay-corrupted": 0.1,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        skipped = float(np.nansum(run["train/metrics/skipped_updates"].values))
        for name, series in run.series.items():
            values = series.values
            if name.startswith("train/loss/") and len(values) >= FEWEST:
                values = values[2:]
            elif name == "train/roll/ep_rew_mean":  # of no episode before the first one ends
                values = values[np.logical_or.accumulate(np.isfinite(values))]
            else:
                continue
            bad = ~np.isfinite(values)
            if bad.any():
                return self.found(
                    f"{run.own_name(name)} is not finite in {bad.sum()} of {len(bad)} rows.",
                    name,
                    rows=int(bad.sum()),
                )
        said = [*run.notes, *run.log_lines[-50:]]
        told = (
            next((s for s in said if NOT_A_NUMBER.search(s)), None)
            if run.state == "crashed"
            else None
        )
        if told is not None:
            return self.found(
                f"The run ended after {run.env_steps:,.0f} env steps: {told.strip()[:200]}."
            )
        if not skipped > 0:
            return None
        return self.found(
            f"{skipped:.0f} updates were skipped because a gradient was not finite.",
            "train/metrics/skipped_updates",
            skipped=skipped,
        )

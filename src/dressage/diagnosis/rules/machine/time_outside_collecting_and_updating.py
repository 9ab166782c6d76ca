"""MAC002."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import members
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class TimeOutsideCollectingAndUpdating(Rule):
    """Much of the time goes to neither collecting nor updating.

    Why it hurts
        Logging, evaluating and saving do not train.

    Evidence
        The time of each part of the loop, beside that of the run.

    Threshold and source
        Above 60 % of the whole (guess; below 10 % is healthy, and runs of a few seconds
        have up to 30 %).

    Prescription
        Log, evaluate and save less often.

    Known false alarms
        Very short runs, in which one evaluation counts for much.

    References
        The cause pipeline-bottleneck.
    """

    id = "MAC002"
    name = "time-outside-collecting-and-updating"
    family = "machine"
    severity = "low"
    needs = ("sys/time/update", "sys/time/collect")
    thresholds = {"share": Threshold(0.6, "guess")}
    elsewhere = 0.01
    expected = {
        "pipeline-bottleneck": 0.9,
        "throughput-decay": 0.2,
        "healthy": 0.03,
    }

    def check(self, run: RunView) -> Finding | None:
        parts = members(run, "sys/time/*")
        total = {name: float(np.nansum(series.values)) for name, series in parts.items()}
        rest = {n: t for n, t in total.items() if n not in ("collect", "update", "prepare")}
        clock = run["wall_seconds"].values  # of rows that are left out of the log too
        whole = max([sum(total.values()), *clock[-1:]])
        if not whole > 0 or "update" not in total or not rest:
            return None
        other = sum(rest.values()) / whole
        if not other > self.bound("share"):
            return None
        most = max(rest, key=lambda name: rest[name])
        return self.found(
            f"{other:.0%} of the time goes to neither collecting nor updating, most of it "
            f"to {most}.",
            f"sys/time/{most}",
            share=other,
        )

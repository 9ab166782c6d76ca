"""DAT002."""

from __future__ import annotations

import math

from dressage.diagnosis.look import median, number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class MemoryTurnsOver(Rule):
    """The replay memory holds only the last few steps.

    Why it hurts
        What it learns from is one narrow stretch, and all before it is forgotten.

    Evidence
        The env steps at which the memory is full, and the age of the transitions in a
        batch.

    Threshold and source
        Full before 5 % of the run, or batches whose mean age stays below 2.5 % of it
        (guess; 1e5 to 1e6 transitions are usual [ML]).

    Prescription
        buffer_size 1e5 to 1e6, at least ten episodes.

    Known false alarms
        Very long runs with a memory of a million.

    References
        ml-agents’ documentation of SAC; Fedus et al. 2020.
    """

    id = "DAT002"
    name = "memory-turns-over"
    family = "data"
    severity = "high"
    families = ("value-based", "actor-critic")
    either = ("train/metrics/buffer_fill", "buffer_size")
    thresholds = {"full": Threshold(0.05, "guess"), "age": Threshold(0.025, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "buffer-too-small": 0.95,
        "catastrophic-forgetting": 0.5,
        "batch-reused": 0.05,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        fill, age = run["train/metrics/buffer_fill"], run["train/metrics/buffer_age"]
        span = max(run.env_steps, 1.0)
        full = fill.env_steps[fill.values >= 0.999]
        holds = float(full[0]) if len(full) else math.nan
        if math.isnan(holds) and not fill:
            holds = number(run, "buffer_size")
        late = median(age, 0.7)
        soon = holds < self.bound("full") * span and holds < 50_000
        young = late < self.bound("age") * span and holds == holds and holds < 50_000
        if not (soon or young):
            return None
        return self.found(
            f"The memory holds about {holds:,.0f} of {span:,.0f} env steps"
            + (f"; a batch is {late:,.0f} steps old." if late == late else "."),
            "train/metrics/buffer_fill",
            capacity=holds,
        )

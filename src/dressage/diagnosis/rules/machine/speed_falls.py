"""MAC001."""

from __future__ import annotations

import math

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView, Series


class SpeedFalls(Rule):
    """The run becomes slower and slower.

    Why it hurts
        Something grows with every step: a list, a log, the memory in use.

    Evidence
        Env steps per second by fifths of the run, after learning began.

    Threshold and source
        Below 40 % of what it was, falling throughout (guess).

    Prescription
        Look for what grows: lists in the environment, figures that are not closed, a log
        that is rewritten.

    Known false alarms
        Other work on the same machine; episodes that become costlier.

    References
        The cause throughput-decay.
    """

    id = "MAC001"
    name = "speed-falls"
    family = "machine"
    severity = "medium"
    needs = ("sys/env_steps_per_second",)
    thresholds = {"share": Threshold(0.4, "guess")}
    elsewhere = 0.01
    expected = {
        "throughput-decay": 0.9,
        "pipeline-bottleneck": 0.05,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        speed = run["sys/env_steps_per_second"]
        begun = min(
            (s.env_steps[0] for n, s in run.series.items() if n.startswith("train/loss/")),
            default=0,
        )
        kept = speed.env_steps > begun
        speed = Series(speed.env_steps[kept], speed.values[kept])
        levels = [median(speed, i / 5, (i + 1) / 5) for i in range(5)]
        if any(math.isnan(level) for level in levels) or not levels[0] > 0:
            return None
        falling = sum(levels[i + 1] < 0.95 * levels[i] for i in range(4))
        share = levels[-1] / levels[0]
        if not (share < self.bound("share") and falling == 4):
            return None
        return self.found(
            f"The run makes {levels[-1]:.3g} env steps a second, and made {levels[0]:.3g}.",
            "sys/env_steps_per_second",
            share=share,
        )

"""Advice on the batch size: from the gradient's noise, the rate that goes with it, and the clock.

McCandlish et al. 2018 (arXiv 1812.06162), with B_noise the gradient noise scale: a batch of B rows
needs S_min (1 + B_noise / B) updates (equation 2.11), thus E_min (1 + B / B_noise) rows. A rollout
is used up by its epochs, so that env steps follow the rows; from a replay memory the updates an env
step are fixed, so that env steps follow the updates. Divided by the measured env steps a second,
either is the time that learning takes, compared with the run's own batch. A model, to be proven.

The rate that goes with a batch: proportional to it under SGD (Goyal et al. 2017, arXiv 1706.02677),
to its square root under Adam and RMSprop, which divide by the gradient's size (Malladi et al. 2022,
arXiv 2205.10287).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from dressage.math.noise_scale import NoiseScale
from dressage.prove.spaces import RATE, Patch

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
SMALLEST = 8
WORTH = 0.9  # of the time, below which another batch is worth a trial
LINEAR = ("sgd",)


@dataclass(frozen=True)
class Point:
    """The noise scale at a checkpoint."""

    env_steps: int
    part: str  # of the networks
    scale: NoiseScale


@dataclass(frozen=True)
class Candidate:
    batch: int
    patch: Patch  # over the run's settings, its rate included
    speeds: list[float]  # env steps a second, of every round
    steps: tuple[float, float, float]  # env steps needed, times the run's own: model, low, high
    time: tuple[float, float, float]  # the same of the time

    @property
    def speed(self) -> float:
        return median(self.speeds)


@dataclass
class BatchAdvice:
    env: str
    algo: str
    batch: int
    optimizer: str
    replays: bool
    points: list[Point]
    noise: tuple[float, float, float]  # over training: typical, low, high
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def rule(self) -> str:
        if self.optimizer in LINEAR:
            return "proportional to the batch (SGD, Goyal et al. 2017)"
        return f"with the square root of the batch ({self.optimizer}, Malladi et al. 2022)"

    @property
    def suggested(self) -> Candidate | None:
        """The one that is fastest in its worst case, if that is worth a trial."""
        others = [one for one in self.candidates if one.batch != self.batch]
        best = min(others, key=lambda one: one.time[2], default=None)
        return best if best is not None and best.time[2] < WORTH else None

    @property
    def says(self) -> str:
        noise = f"The gradient's noise scale is {rows(self.noise)} over training"
        best = self.suggested
        if best is None:
            sure = f"no other is sure to be {1 - WORTH:.0%} faster"
            return f"{noise}: keep batch_size={self.batch}; {sure}."
        _, low, high = best.time
        return (
            f"{noise}: try batch_size={best.batch}; by the model it takes {low:.2f} to {high:.2f} "
            "times as long."
        )

    def to_json(self) -> dict[str, Any]:
        best = self.suggested
        derived = {"rule": self.rule, "says": self.says, "suggested": best and best.patch}
        return {"format": 1, **asdict(self), **derived}


def rows(noise: tuple[float, float, float]) -> str:
    value, low, high = (f"{one:,.0f}" if math.isfinite(one) else "beyond measure" for one in noise)
    return f"about {value} rows ({low} to {high})"


def scaled_rate(rate: float, batch: int, other: int, optimizer: str) -> float:
    """The learning rate for another batch."""
    ratio = other / batch
    return rate * (ratio if optimizer in LINEAR else math.sqrt(ratio))


def batches(batch: int, rollout: int | None) -> list[int]:
    """Those beside a batch that are worth measuring; of a rollout, those that divide it."""
    found = [max(SMALLEST, round(batch * factor)) for factor in FACTORS]
    if rollout is not None:
        found = [one for one in found if rollout % one == 0]
    return sorted({*found, batch})


def patch_for(batch: int, settings: Mapping[str, Any]) -> Patch:
    """Another batch with the rate that goes with it; a schedule keeps its shape."""
    own = int(settings["batch_size"])
    if batch == own:
        return {}
    patch: Patch = {"batch_size": batch}
    rate = RATE.read(settings)
    if rate is not None:
        made = float(f"{scaled_rate(rate, own, batch, str(settings['optimizer'])):.2g}")
        patch["learning_rate"] = RATE.write(made, settings)
    return patch


def over_training(points: Sequence[Point]) -> tuple[float, float, float]:
    """Typical noise scale (geometric mean), and the range of the checkpoints' own values: it grows
    while a policy learns. Where the signal is lost in noise, the bound counts."""
    known = [
        max(one.scale.value if math.isfinite(one.scale.value) else one.scale.low, 1.0)
        for one in points
    ]
    logs = [math.log(value) for value in known]
    return math.exp(sum(logs) / len(logs)), min(known), max(known)


def candidate(
    batch: int,
    patch: Patch,
    speeds: list[float],
    own: int,
    own_speed: float,
    noise: tuple[float, float, float],
    replays: bool,
) -> Candidate:
    def needed(scale: float) -> float:
        if replays:
            return (1 + scale / batch) / (1 + scale / own)
        return (1 + batch / scale) / (1 + own / scale)

    model, *ends = (needed(scale) for scale in noise)
    pace = own_speed / median(speeds)
    low, high = min(ends), max(ends)
    return Candidate(
        batch, patch, speeds, (model, low, high), (pace * model, pace * low, pace * high)
    )

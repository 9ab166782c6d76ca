"""Looking more than once without cheating: how much of alpha each planned look may spend.

Peeking after every seed and stopping at the first p below 0.05 finds a difference in far more than
5 % of the comparisons where there is none. Here the looks are planned, and the levels of all looks
add up to alpha: by the union bound the chance of ever crossing one is at most alpha, for any test
and any dependence between looks. Levels follow Lan and DeMets' spending function of Pocock's kind,
alpha ln(1 + (e - 1) t) at the share t of the largest number of seeds, which leaves the first look
enough to end a clear case.
"""

from __future__ import annotations

import math
from typing import Literal

from dressage.errors import ConfigError

PLANNED = (8, 12, 16, 24)  # seeds a side
ALPHA = 0.05
Verdict = Literal["proven", "not proven", "worse"]


def spent(share: float, alpha: float = ALPHA) -> float:
    """How much of alpha may be spent by this share of the seeds."""
    return alpha * math.log(1 + (math.e - 1) * min(max(share, 0.0), 1.0))


def levels(planned: tuple[int, ...] = PLANNED, alpha: float = ALPHA) -> tuple[float, ...]:
    """The level of each look; they add up to alpha."""
    if not planned or list(planned) != sorted(set(planned)) or planned[0] < 2:
        raise ValueError(f"looks {planned}: expected rising numbers of seeds, from two on")
    by_then = [spent(n / planned[-1], alpha) for n in planned]
    return tuple(b - a for a, b in zip((0.0, *by_then), by_then, strict=False))


def up_to(most: int, planned: tuple[int, ...] = PLANNED) -> int:
    """How many of the planned looks have at most so many seeds a side. Their levels stay those of
    the whole plan, so that a later call may go on to the looks that were left out."""
    if most not in planned:
        known = ", ".join(map(str, planned[:-1]))
        raise ConfigError(
            f"A proof looks at {known} or {planned[-1]} seeds a side, and not at {most}: "
            "looks that were not planned would find differences where there are none."
        )
    return planned.index(most) + 1


def verdict(p: float, level: float, better: float) -> Verdict | None:
    """At one look: None where it goes on. `better`: probability that the change improves a run."""
    if p > level or better == 0.5:
        return None
    return "proven" if better > 0.5 else "worse"

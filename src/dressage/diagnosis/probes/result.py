"""What a probe returns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

# How much likelier the result is under a cause than otherwise: over 1 speaks for it, under 1
# against it. All are guesses until labelled runs have been probed; what proves a cause, such as an
# action that never changes anything, has hundreds.
Factors = Mapping[str, float]
LARGEST_FACTOR = 1000.0  # by which all probes together may move a cause, either way
State = Literal["done", "cut short", "not run"]


@dataclass(frozen=True)
class ProbeResult:
    """One measurement: numbers, a sentence, and what it says for and against causes."""

    name: str
    says: str
    numbers: Mapping[str, float | str] = field(default_factory=dict)
    factors: Factors = field(default_factory=dict)
    state: State = "done"
    seconds: float = 0.0

    @property
    def rules_in(self) -> list[str]:
        return _sorted((id, f) for id, f in self.factors.items() if f > 1.0)

    @property
    def rules_out(self) -> list[str]:
        return _sorted((id, 1.0 / f) for id, f in self.factors.items() if f < 1.0)


def _sorted(weights: Iterable[tuple[str, float]]) -> list[str]:
    return [id for id, _ in sorted(weights, key=lambda pair: -pair[1]) if id != "healthy"]


def joined(results: Iterable[ProbeResult]) -> dict[str, float]:
    """The factors of several probes as one: their product, within bounds, since probes of one
    environment are not independent."""
    logs: dict[str, float] = {}
    for result in results:
        for cause, factor in result.factors.items():
            logs[cause] = logs.get(cause, 0.0) + math.log(factor)
    most = math.log(LARGEST_FACTOR)
    return {cause: math.exp(min(max(log, -most), most)) for cause, log in logs.items()}


def each(factor: float, *causes: str) -> dict[str, float]:
    """The same factor for several causes."""
    return dict.fromkeys(causes, factor)

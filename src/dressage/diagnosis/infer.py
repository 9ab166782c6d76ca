"""From symptoms to causes: what each cause would lead one to see, against what was seen.

One fault at a time is taken to be at work, or none (`HEALTHY`), or none but too little training:

    P(cause | seen) ~ P(cause) prod over rules that could be seen of P(fires or not | cause)^(1/T)

A symptom that two causes share speaks for neither against the other, and one that a leading cause
explains no longer speaks for the rest: that is what dividing by the sum does. Rules of one run are
not independent, so their product is too sure of itself; the temperature T, learned on labelled
runs, makes the probabilities mean what they say. Rates are counted on labelled runs and shrunk
towards what each rule expects, so that a cause with few runs is not judged by them alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.rule import Rule

HEALTHY = "healthy"
STRENGTH = 4.0  # labelled runs that a rule's own expectation counts as
FALSE_ALARM = 0.02  # how often a rule is expected to fire on a healthy run
OTHER = 0.05  # and on a run with a fault that it does not name


@dataclass(frozen=True)
class Rates:
    """What labelled runs have told: for each rule and cause `[fired, could be seen]`."""

    counts: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    temperature: float = 1.0
    healthy: float = 0.4  # share of runs, before anything is seen, without a fault

    def chance(self, rule: Rule, cause: str) -> float:
        """P(rule fires | cause), where it can be seen."""
        expected = rule.expected.get(cause, FALSE_ALARM if cause == HEALTHY else OTHER)
        fired, seen = self.counts.get(rule.id, {}).get(cause, (0.0, 0.0))
        return (fired + STRENGTH * expected) / (seen + STRENGTH)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rates:
        counts = {
            rule: {cause: (float(f), float(n)) for cause, (f, n) in by_cause.items()}
            for rule, by_cause in data["counts"].items()
        }
        return cls(counts, float(data["temperature"]), float(data["healthy"]))


def posterior(
    rules: Iterable[Rule], fired: Mapping[str, Any], families: str, rates: Rates
) -> dict[str, float]:
    """Probabilities of all causes of a family of algorithms, and of `HEALTHY`, largest first.

    `rules`: those that could see the run; `fired`: the ids of those that did.
    """
    possible = [c.id for c in CAUSES.values() if families in c.families or families == "unknown"]
    prior = {id: (1.0 - rates.healthy) / len(possible) for id in possible}
    scores = {HEALTHY: math.log(rates.healthy), **{id: math.log(p) for id, p in prior.items()}}
    for rule in rules:
        for cause in scores:
            chance = min(max(rates.chance(rule, cause), 1e-3), 1.0 - 1e-3)
            seen = chance if rule.id in fired else 1.0 - chance
            scores[cause] += math.log(seen) / rates.temperature
    highest = max(scores.values())
    weights = {cause: math.exp(score - highest) for cause, score in scores.items()}
    total = sum(weights.values())
    ranked = sorted(weights.items(), key=lambda item: -item[1])
    return {cause: weight / total for cause, weight in ranked}


def separating(
    leaders: tuple[str, str], rules: Iterable[Rule], rates: Rates
) -> list[tuple[Rule, float]]:
    """Rules that would tell two causes apart, best first, by how differently they fire."""
    a, b = leaders
    apart = [(rule, abs(rates.chance(rule, a) - rates.chance(rule, b))) for rule in rules]
    return sorted((pair for pair in apart if pair[1] >= 0.2), key=lambda pair: -pair[1])

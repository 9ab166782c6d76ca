"""Learns the rates that `dressage diagnose` ships from the training runs, and nothing else.

Hit and false-alarm rates of each rule are counted; the temperature and the share of healthy runs,
the only two other numbers, are those that give the best mean log probability of the right answers
when one setting at a time is left out of the counts.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.faults.symptoms import Case

from dressage.diagnosis.diagnose import RATES
from dressage.diagnosis.infer import HEALTHY, Counts, Rates, likelihoods, weighed
from dressage.diagnosis.registry import all_rules

COMMAND = "python -m benchmarks.faults learn"
TEMPERATURES = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
HEALTHY_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
FALSE_ALARMS = 0.02  # at most, on healthy and benign runs


def counted(cases: Iterable[Case]) -> Counts:
    """Rule -> cause -> family -> (fired, could be seen)."""
    counts: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))
    )
    for case in cases:
        for id in case.seen:
            cell = counts[id][case.truth][case.family]
            cell[0] += id in case.fired
            cell[1] += 1.0
    return {
        rule: {
            cause: {family: (cell[0], cell[1]) for family, cell in by_family.items()}
            for cause, by_family in by_cause.items()
        }
        for rule, by_cause in counts.items()
    }


def left_out(cases: Sequence[Case]) -> list[dict[str, float]]:
    """The likelihoods of each case, by rates that its setting had no part in."""
    rules = all_rules()
    found: dict[int, dict[str, float]] = {}
    for setting in sorted({case.label["setting"] for case in cases}):
        rates = Rates(counted(c for c in cases if c.label["setting"] != setting))
        for i, case in enumerate(cases):
            if case.label["setting"] == setting:
                seen = [rules[id] for id in case.seen]
                found[i] = likelihoods(seen, case.fired, case.family, rates)
    return [found[i] for i in range(len(cases))]


def chosen(cases: Sequence[Case], counts: Counts) -> Rates:
    """The two numbers with which left-out settings are told best, false alarms being few enough."""
    scores = left_out(cases)
    best: tuple[bool, float, Rates] | None = None
    for temperature in TEMPERATURES:
        for share in HEALTHY_SHARES:
            rates = Rates(counts, temperature, share)
            logs, alarms = [], []
            for case, score in zip(cases, scores, strict=True):
                given = weighed(score, rates)
                logs.append(math.log(max(sum(given.get(c, 0.0) for c in case.right), 1e-6)))
                if case.truth == HEALTHY:
                    alarms.append(next(iter(given)) != HEALTHY)
            quiet = not alarms or float(np.mean(alarms)) <= FALSE_ALARMS
            found = (quiet, float(np.mean(logs)), rates)
            if best is None or found[:2] > best[:2]:
                best = found
    assert best is not None
    return best[2]


def learn(cases: Sequence[Case], path: Path = RATES) -> Rates:
    rates = chosen(cases, counted(cases))
    path.write_text(json.dumps(as_json(rates, cases), indent=1) + "\n")
    return rates


def as_json(rates: Rates, cases: Sequence[Case]) -> dict[str, Any]:
    """A rule's causes on a line each: `family fired/seen` is read at a glance."""
    return {
        "format": 1,
        "command": COMMAND,
        "runs": len(cases),
        "settings": sorted({case.label["setting"] for case in cases}),
        "temperature": rates.temperature,
        "healthy": rates.healthy,
        "counts": {
            rule: {
                cause: {family: [int(f), int(n)] for family, (f, n) in sorted(by_family.items())}
                for cause, by_family in sorted(by_cause.items())
                if any(f for f, _ in by_family.values()) or cause == HEALTHY
            }
            for rule, by_cause in sorted(rates.counts.items())
        },
        "seen": {rule: _seen(by_cause) for rule, by_cause in sorted(rates.counts.items())},
    }


def _seen(by_cause: Any) -> Any:
    return None

"""Learns the rates that `dressage diagnose` ships from the training runs, and nothing else.

Hit and false-alarm rates of each rule are counted; the temperature and the share of healthy runs,
the only two other numbers, are those that give the best log probability of the right answers, with
few false alarms, when one environment at a time is left out of the counts.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.faults import store
from benchmarks.faults.admit import admitted
from benchmarks.faults.symptoms import Case, cases

from dressage.diagnosis.diagnose import RATES, shipped_rates
from dressage.diagnosis.infer import HEALTHY, Counts, Rates, likelihoods, ranking, weighed
from dressage.diagnosis.registry import all_rules

COMMAND = "python -m benchmarks.faults learn"
TEMPERATURES = (0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
HEALTHY_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
FALSE_ALARMS = 0.02  # of healthy runs: what is wanted


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
    """The likelihoods of each case, by rates that its environment had no part in."""
    rules = all_rules()
    found: dict[int, dict[str, float]] = {}
    for env in sorted({environment(case) for case in cases}):
        rates = Rates(counted(c for c in cases if environment(c) != env))
        for i, case in enumerate(cases):
            if environment(case) == env:
                seen = [rules[id] for id in case.seen]
                found[i] = likelihoods(seen, case.fired, case.family, rates)
    return [found[i] for i in range(len(cases))]


def environment(case: Case) -> str:
    """A setting is named after its environment and its algorithm, and before them SB3."""
    return str(case.label["setting"]).removeprefix("sb3-").partition("-")[0]


def chosen(cases: Sequence[Sequence[Case]], counts: Counts) -> Rates:
    """The two numbers with which left-out environments are told best: the mean log probability of
    the right answers over faulty runs and over healthy ones, which count as much, however many,
    among those pairs that give the fewest false alarms, `FALSE_ALARMS` being few enough.

    `cases`: with the config, and without it; one pair of numbers serves both.
    """
    both = [case for each in cases for case in each]
    scores = [score for each in cases for score in left_out(each)]
    best: tuple[float, float, Rates] | None = None
    for temperature in TEMPERATURES:
        for share in HEALTHY_SHARES:
            rates = Rates(counts, temperature, share)
            logs: dict[bool, list[float]] = {True: [], False: []}
            alarms = []
            for case, score in zip(both, scores, strict=True):
                given = weighed(score, rates)
                right = sum(given.get(cause, 0.0) for cause in case.right)
                logs[case.truth == HEALTHY].append(math.log(max(right, 1e-6)))
                if case.truth == HEALTHY:
                    alarms.append(ranking(given)[0] != HEALTHY)
            value = sum(float(np.mean(part)) for part in logs.values() if part)
            quiet = -max(float(np.mean(alarms)) if alarms else 0.0, FALSE_ALARMS)
            if best is None or (quiet, value) > best[:2]:
                best = quiet, value, rates
    assert best is not None
    return best[2]


def learn(with_config: Sequence[Case], without: Sequence[Case], path: Path = RATES) -> Rates:
    """Counts where every rule can be seen, with the config; both kinds choose the two numbers."""
    rates = chosen((with_config, without), counted(with_config))
    path.write_text(as_text(as_json(rates, with_config)))
    return rates


def learn_shipped() -> str:
    """From all admitted runs of the training split; says what was chosen."""
    runs = [run for run in admitted(store.load()) if run.label["split"] == "train"]
    rates = learn(cases(runs, True), cases(runs, False))
    return (
        f"{len(runs)} runs: temperature {rates.temperature:g}, healthy {rates.healthy:g}; "
        f"written to {RATES.name}"
    )


def misses(with_config: bool) -> str:
    """Wrong answers on the training split, by rates that the run's environment had no part in: what
    to look at when a rule is made or mended."""
    runs = [run for run in admitted(store.load()) if run.label["split"] == "train"]
    given, told = cases(runs, with_config), shipped_rates()
    lines = []
    for case, scores in zip(given, left_out(given), strict=True):
        chances = weighed(scores, told)
        named = ranking(chances)[:4]
        if named[0] not in case.right:
            said = ", ".join(f"{cause} {chances[cause]:.2f}" for cause in named)
            lines.append(f"{case.label['key']}: {said} ({' '.join(sorted(case.fired))})")
    wrong = f"{len(lines)} of {len(given)} are wrong"
    return "\n".join([*sorted(lines), wrong])


def as_text(data: dict[str, Any]) -> str:
    """JSON with a line for each cause and for each rule, to be read and compared."""
    parts = []
    for key, value in data.items():
        if isinstance(value, dict):
            lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            parts.append(f" {json.dumps(key)}: {{\n{lines}\n }}")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def as_json(rates: Rates, cases: Sequence[Case]) -> dict[str, Any]:
    """How many runs there were, and for each rule only where it fired or could not be seen."""
    runs: dict[str, dict[str, int]] = {}
    for case in cases:
        by_family = runs.setdefault(case.truth, {})
        by_family[case.family] = by_family.get(case.family, 0) + 1
    rules: dict[str, Any] = {}
    for id in sorted(all_rules()):
        fired: dict[str, dict[str, int]] = {}
        unseen: dict[str, dict[str, int]] = {}
        for cause, by_family in sorted(runs.items()):
            for family, count in sorted(by_family.items()):
                f, n = rates.counts.get(id, {}).get(cause, {}).get(family, (0.0, 0.0))
                if f:
                    fired.setdefault(cause, {})[family] = int(f)
                if n < count:
                    unseen.setdefault(cause, {})[family] = count - int(n)
        rules[id] = {"fired": fired, "unseen": unseen}
    return {
        "format": 1,
        "command": COMMAND,
        "settings": sorted({case.label["setting"] for case in cases}),
        "temperature": rates.temperature,
        "healthy": rates.healthy,
        "runs": {
            cause: dict(sorted(by_family.items())) for cause, by_family in sorted(runs.items())
        },
        "rules": rules,
    }

"""Learns the rates that `dressage diagnose` ships from the training runs, and nothing else.

Hit and false-alarm rates of each rule are counted; rules that only repeat others are not counted
with. So are the ranges in which gauges lie. Two temperatures and the shares of healthy runs and of
mild faults, the only other numbers, are those with which answers are right, probabilities mean what
they say and false alarms are few. All of that is chosen with one environment at a time left out of
the counts.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.faults import gauged, store
from benchmarks.faults.admit import admitted
from benchmarks.faults.gauged import candidates, ranges
from benchmarks.faults.score import answer, calibration_error, share
from benchmarks.faults.silence import silent
from benchmarks.faults.symptoms import Case, cases, countable, without_recorder

from dressage.diagnosis.diagnose import RATES, shipped_rates
from dressage.diagnosis.infer import BARE, Evidence, Rates, Seen, evidence, ranking, weighed
from dressage.diagnosis.registry import all_rules

COMMAND = "python -m benchmarks.faults learn"
TEMPERATURES = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)  # rules depend on one another: never below 1
MILD_SHARES = (0.0, 0.1, 0.2, 0.3, 0.5)
HEALTHY_SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
NUMBERS = ("temperature", "temperature_bare", "healthy", "mild")
NO_RATES = Rates()
ALLOWED = 0.02  # false alarms on environments left out
TOO_MANY = 100.0  # right answers that each more costs: nobody asks again who cried wolf


def counted(cases: Iterable[Case], silenced: Iterable[str] = ()) -> Rates:
    """In environments: runs that are alike count together as one."""
    cases = list(cases)
    alike = Counter((case.like, case.kind) for case in cases)
    environments: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    fired: dict[str, dict[str, dict[str, float]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(float))
    )
    seen: dict[str, dict[str, dict[str, float]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(float))
    )
    for case in cases:
        share = 1.0 / alike[case.like, case.kind]
        environments[case.way][case.kind] += share
        for id in case.seen:
            seen[id][case.way][case.kind] += share
        for id in case.fired:
            fired[id][case.way][case.kind] += share
    whole = _rounded(environments)
    rules = {}
    for id in sorted(all_rules()):
        lacking = {
            cause: {kind: n - seen[id][cause][kind] for kind, n in by_kind.items()}
            for cause, by_kind in whole.items()
        }
        rules[id] = Seen(_rounded(fired[id]), _rounded(lacking))
    return Rates(whole, rules, frozenset(silenced))


def _rounded(counts: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Without what is nothing, in order."""
    kept = {
        cause: {kind: round(n, 3) for kind, n in sorted(by_kind.items()) if round(n, 3)}
        for cause, by_kind in sorted(counts.items())
    }
    return {cause: by_kind for cause, by_kind in kept.items() if by_kind}


def without_own(
    cases: Sequence[Case],
    silenced: Iterable[str] = (),
    gauges: Iterable[str] = (),
    bare: Sequence[Case] = (),
    like: Rates = NO_RATES,
) -> Callable[[Case], Rates]:
    """By case: rates that its environment had no part in. `bare`: cases without the config, on
    which `gauges` are counted. `like`: whose temperatures and shares they have."""
    silenced, gauges = list(silenced), list(gauges)
    numbers = {name: getattr(like, name) for name in NUMBERS}
    rates = {
        env: replace(
            counted((c for c in cases if c.environment != env), silenced),
            gauges={gauge: ranges(gauge, bare, without=env) for gauge in gauges},
            **numbers,
        )
        for env in {case.environment for case in cases}
    }
    return lambda case: rates[case.environment]


def told_of(case: Case, rates: Rates) -> Evidence:
    """What the rules and gauges say of a case."""
    rules = all_rules()
    read = {gauge: case.readings[gauge] for gauge in rates.gauges if gauge in case.readings}
    seen = [rules[id] for id in case.seen]
    return evidence(seen, case.fired, case.possible, case.kind, rates, read)


def left_out(cases: Sequence[Case], rates_for: Callable[[Case], Rates]) -> list[Evidence]:
    """The same by rates that a case's environment had no part in."""
    return [told_of(case, rates_for(case)) for case in cases]


def chosen(
    cases: Sequence[Sequence[Case]], counts: Rates, rates_for: Callable[[Case], Rates]
) -> Rates:
    """The temperature and the share of healthy runs with which most is won on environments that
    were left out: answers that are right, among one and among three, less what they are wrong
    about themselves (the calibration error), with few enough false alarms; then the share of mild
    faults, and the temperature of bare logs, in the same way.

    `cases`: with the config, and without it; the same numbers serve both. `rates_for`: those that a
    case's own environment had no part in.
    """
    told = [list(zip(each, left_out(each, rates_for), strict=True)) for each in cases]
    split = {
        bare: [[pair for pair in each if pair[0].kind.endswith(BARE) == bare] for each in told]
        for bare in (False, True)
    }

    def won(rates: Rates, bare: bool) -> float:
        answers = [
            [answer(case, weighed(said, case.kind, rates)) for case, said in each]
            for each in split[bare]
        ]
        return sum(
            share(each, "top 1")
            + share(each, "top 3")
            - calibration_error(each)
            - TOO_MANY * max(share(each, "called faulty") - ALLOWED, 0.0)
            for each in answers
        )

    tried = [
        replace(counts, temperature=t, temperature_bare=t, healthy=h, mild=MILD_SHARES[-2])
        for t, h in product(TEMPERATURES, HEALTHY_SHARES)
    ]
    best = max(tried, key=lambda rates: won(rates, False))
    best = max((replace(best, mild=m) for m in MILD_SHARES), key=lambda rates: won(rates, False))
    if not all(split[True]):
        return best
    tried = [replace(best, temperature_bare=t) for t in TEMPERATURES]
    return max(tried, key=lambda rates: won(rates, True))


def learn(cases: Sequence[Sequence[Case]], counting: Sequence[Case], path: Path = RATES) -> Rates:
    """`cases`: with the config and without it. `counting`: where as many rules as possible are seen
    and counted."""
    bare = cases[1]
    silenced = silent([case for each in cases for case in each], without_own(counting))
    # temperatures and shares are chosen after gauges, which are chosen by those of last time
    gauges = gauged.chosen(bare, without_own(counting, silenced, like=shipped_rates()))
    counts = replace(
        counted(counting, silenced), gauges={gauge: ranges(gauge, bare) for gauge in gauges}
    )
    rates = chosen(cases, counts, without_own(counting, silenced, gauges, bare))
    path.write_text(as_text(as_json(rates, counting)))
    return rates


def learn_shipped() -> str:
    """From all admitted runs of the training split, SB3's as their users log them and counted with
    what the Recorder adds; says what was chosen."""
    runs = [run for run in admitted(store.load()) if run.label["split"] == "train"]
    plain = list(map(without_recorder, runs))
    given = [cases(plain, with_config, candidates) for with_config in (True, False)]
    rates = learn(given, countable(runs))
    return (
        f"{len(runs)} runs: temperature {rates.temperature:g}, of bare logs "
        f"{rates.temperature_bare:g}, healthy {rates.healthy:g}, "
        f"mild {rates.mild:g}, "
        f"{len(rates.gauges)} gauges, not counted: {', '.join(sorted(rates.silent)) or 'none'}; "
        f"written to {RATES.name}"
    )


def misses(with_config: bool) -> str:
    """Wrong answers on the training split, by rates that the run's environment had no part in: what
    to look at when a rule is made or mended."""
    runs = [run for run in admitted(store.load()) if run.label["split"] == "train"]
    given, told = cases(map(without_recorder, runs), with_config), shipped_rates()
    bare = cases(map(without_recorder, runs), False)
    rates_for = without_own(countable(runs), told.silent, told.gauges, bare)
    lines = []
    for case, said_of in zip(given, left_out(given, rates_for), strict=True):
        chances = weighed(said_of, case.kind, told)
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
    """How many environments there were, and for each rule only in how many it fired or could not be
    seen."""
    return {
        "format": 1,
        "command": COMMAND,
        "settings": sorted({case.label["setting"] for case in cases}),
        "temperature": rates.temperature,
        "temperature_bare": rates.temperature_bare,
        "healthy": rates.healthy,
        "mild": rates.mild,
        "silent": sorted(rates.silent),
        "gauges": {id: asdict(told) for id, told in rates.gauges.items()},
        "runs": len(cases),
        "in": rates.environments,
        "rules": {id: asdict(told) for id, told in rates.rules.items()},
    }

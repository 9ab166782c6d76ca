"""From symptoms to causes: what each cause would lead one to see, against what was seen.

One fault at a time is taken to be at work, or none (`HEALTHY`), or none but too little training:

    P(cause | seen) ~ P(cause) prod over rules that could be seen of P(fires or not | cause)^(1/T)

A symptom that two causes share speaks for neither against the other, and one that a leading cause
explains no longer speaks for the rest: that is what dividing by the sum does. Rules of one run are
not independent, so their product is too sure of itself; the temperature T, learned on labelled
runs, makes the probabilities mean what they say, and rules that only repeat others are shown and
not counted. What is read off the settings repeats nothing, and is not tempered. Rates are counted
on labelled runs and shrunk towards what each rule expects, so that a cause with few runs is not
judged by them alone. P(cause) grows with the number of environments in which it was seen to hurt
such algorithms.

A cause may show in more ways than one: a reward of the wrong sign, in the log or hidden from it by
a wrapper outside of what logs. Each way has rates of its own, and the cause is as likely as its
ways are on average; rates over both together would fit neither. And any cause may do little harm:
in a share of runs it shows by its own symptoms alone, and all else looks as in a healthy run.

Numbers that have no threshold count too, by the range in which they lie (`gauges.py`), for a share
of what they say, since they depend on one another and on what rules see.

Logs without gradient norms are *bare*: what most libraries write. Rows are fewer there and means
are taken otherwise, so their rates are counted apart and shrunk to those of all logs, and as little
tells causes apart they have a temperature of their own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from dressage.diagnosis.gauges import Ranges
from dressage.diagnosis.rule import GRADIENTS, Rule
from dressage.runs.table import Array
from dressage.runs.uses import first_of
from dressage.runs.view import RunView

HEALTHY, SHORT = "healthy", "budget-too-small"
STRENGTH = 8.0  # environments that a rule's own expectation counts as
OTHER_WAY = 2.0  # the same of another way to show, of which rules expect little
OF_ALL = 4.0  # of one family of algorithms: that the rate over all families counts as
OF_FAMILY = 4.0  # of bare logs: that the rate of the family counts as
BARE = ", bare"  # behind a family: its logs without gradient norms
FALSE_ALARM = 0.02  # how often a rule is expected to fire on a healthy run
RAREST = 1e-3  # the smallest chance of a symptom; few environments were seen
RAREST_SETTING = 1e-4  # of a setting far outside its range, which is hardly ever healthy
NEVER = 1e-5  # of what only the causes that a rule names can show
QUIET = 0.4  # below a half: few metrics (SB3 logs few) leave healthy runs in some doubt
SCARCE = 0.25  # below, nothing is called healthy, however many faults share the rest
UNSURE = 0.15  # below, the first of many causes is a guess, and seldom right
NO_FAULT_NEAR = 1.5  # times the likeliest fault (chosen on training environments left out)
GAUGED = 0.5  # share of what gauges say that counts (chosen on training environments left out)
UNPROVEN = 0.1  # prior of a cause without labelled runs, beside one that has some
NOTHING: Mapping[str, float] = {}
Count = Mapping[str, Mapping[str, float]]  # cause -> family, and its bare logs -> environments


@dataclass(frozen=True)
class Seen:
    """Of one rule: in how many environments it fired, and in how many it could not be seen."""

    fired: Count = field(default_factory=dict)
    unseen: Count = field(default_factory=dict)


@dataclass(frozen=True)
class Rates:
    """What labelled runs have told, in environments: all runs of a cause in one, by one family of
    algorithms, count together as one."""

    # In which runs of a cause were looked at; "cause.word" is another way in which it shows.
    environments: Count = field(default_factory=dict)
    rules: Mapping[str, Seen] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()  # rules that are shown and not counted: others say it too
    gauges: Mapping[str, Ranges] = field(default_factory=dict)
    # These numbers are chosen on labelled runs of training: python -m benchmarks.faults learn
    temperature: float = 1.0
    temperature_bare: float = 1.0
    healthy: float = 0.5  # share of runs, before anything is seen, without a fault
    mild: float = 0.0  # of faulty ones, that show by the symptoms of their cause alone

    def counted(self, rule: str, cause: str) -> tuple[Mapping[str, float], dict[str, float]]:
        """By family: environments of a cause in which a rule fired, and where it could be seen."""
        told, everywhere = self.rules.get(rule), self.environments.get(cause, {})
        if told is None:
            return {}, {}
        unseen = told.unseen.get(cause)
        if not unseen:
            return told.fired.get(cause, {}), dict(everywhere)
        seen = {family: n - unseen.get(family, 0.0) for family, n in everywhere.items()}
        return told.fired.get(cause, {}), seen

    def chance(self, rule: Rule, cause: str, kind: str = "unknown") -> float:
        """P(rule fires | cause), where it can be seen: counted in the family, shrunk to the rate
        over all families, and that to what the rule expects. `kind`: the family, and whether the
        log is bare.

        Rules of arithmetic are counted for the causes that they name alone: labelled runs of other
        causes have such a setting because it makes their fault hurt (a schedule that begins anew
        does so at a high rate), and nobody else's runs do."""
        named, _, other_way = cause.partition(".")
        expected = rule.expected.get(named, FALSE_ALARM if cause == HEALTHY else rule.elsewhere)
        if rule.proof and (cause == HEALTHY or named not in rule.expected):
            return NEVER
        if rule.fatal and cause == HEALTHY:
            return NEVER
        if rule.arithmetic and named not in rule.expected:
            return expected
        fired, seen = self.counted(rule.id, cause)
        if not seen:
            return expected
        weight = OTHER_WAY if other_way else STRENGTH
        overall = (of_all(fired) + weight * expected) / (of_all(seen) + weight)
        family = kind.removesuffix(BARE)
        rate = (fired.get(family, 0.0) + OF_ALL * overall) / (seen.get(family, 0.0) + OF_ALL)
        if family == kind:
            return rate
        return (fired.get(kind, 0.0) + OF_FAMILY * rate) / (seen.get(kind, 0.0) + OF_FAMILY)

    def weight(self, cause: str, kind: str) -> float:
        """How likely a cause is before anything is seen, beside others: one that was made to hurt
        algorithms of this family in more environments is the likelier one."""
        if self.environments and cause not in self.environments:
            return UNPROVEN
        counts = [self.environments.get(way, {}) for way in self.ways(cause)]
        if (family := kind.removesuffix(BARE)) == "unknown":
            return math.sqrt(1.0 + sum(map(of_all, counts)))
        return math.sqrt(1.0 + sum(by_kind.get(family, 0.0) for by_kind in counts))

    def logs(self, rule: Rule, kind: str) -> _Logs:
        """By way: ln P(rule fires | a cause that shows in this way), and of its staying quiet."""
        return self._logs.setdefault((rule.id, kind), _Logs(self, rule, kind))

    def lies(self, gauge: str, reading: float, kind: str) -> dict[str, float]:
        """By cause: ln of how much oftener than usual a gauge lies where it does."""
        family = kind.removesuffix(BARE)
        if (gauge, family) not in self._ranges:
            self._ranges[gauge, family] = self.gauges[gauge].logs(family)
        place = self.gauges[gauge].place(reading)
        return {cause: float(logs[place]) for cause, logs in self._ranges[gauge, family].items()}

    def ways(self, cause: str) -> list[str]:
        """In which a cause shows: as itself, and as labelled runs have shown it otherwise."""
        return [cause, *self._other_ways.get(cause, ())]

    @cached_property
    def _other_ways(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for way in self.environments:
            cause, _, word = way.partition(".")
            if word:
                found.setdefault(cause, []).append(way)
        return found

    @cached_property
    def _logs(self) -> dict[tuple[str, str], _Logs]:
        return {}

    @cached_property
    def _ranges(self) -> dict[tuple[str, str], dict[str, Array]]:
        return {}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rates:
        """As `benchmarks/faults/learn.py` writes it."""
        rules = {rule: Seen(told["fired"], told["unseen"]) for rule, told in data["rules"].items()}
        gauges = {id: Ranges(told["cuts"], told["counts"]) for id, told in data["gauges"].items()}
        return cls(
            data["in"],
            rules,
            frozenset(data["silent"]),
            gauges,
            float(data["temperature"]),
            float(data["temperature_bare"]),
            float(data["healthy"]),
            float(data["mild"]),
        )


def kind_of(run: RunView) -> str:
    """The family of a run's algorithm, and whether its log is bare."""
    return run.family + BARE * (first_of(GRADIENTS, run.series) is None)


def of_all(counts: Mapping[str, float]) -> float:
    """Over all families; bare logs are counted in their families too."""
    return sum(n for kind, n in counts.items() if not kind.endswith(BARE))


class _Logs(dict[str, tuple[float, float]]):
    """Worked out when they are asked for, and kept: of firing and of staying quiet, neither of
    which is ever certain."""

    def __init__(self, rates: Rates, rule: Rule, kind: str) -> None:
        self.rates, self.rule, self.kind = rates, rule, kind

    def __missing__(self, way: str) -> tuple[float, float]:
        rule = self.rule
        never = rule.proof or (rule.fatal and way == HEALTHY)
        least = NEVER if never else RAREST_SETTING if rule.arithmetic else RAREST
        chance = min(max(self.rates.chance(rule, way, self.kind), least), 1.0 - least)
        self[way] = found = math.log(chance), math.log1p(-chance)
        return found


class Evidence(NamedTuple):
    """ln P(what was seen | cause), by the ways in which causes show: of rules that look for
    symptoms; of the same if a cause shows by its own alone; of rules of arithmetic, which read
    settings and repeat no symptom; and of gauges."""

    symptoms: Mapping[str, float]
    mild: Mapping[str, float]
    settings: Mapping[str, float]
    gauges: Mapping[str, float]

    def less(self, other: Evidence) -> Evidence:
        """Without what another part of it says."""
        return Evidence(
            *({way: n - b[way] for way, n in a.items()} for a, b in zip(self, other, strict=True))
        )


def evidence(
    rules: Iterable[Rule],
    fired: Collection[str],
    possible: Iterable[str],
    kind: str,
    rates: Rates,
    readings: Mapping[str, float] = NOTHING,
) -> Evidence:
    """What the rules that could see a run, and the readings of gauges, say of every cause that it
    can have, and of `HEALTHY`."""
    ways = [way for cause in (HEALTHY, *possible) for way in rates.ways(cause)]
    of_cause: dict[str, list[str]] = {}
    for way in ways:
        of_cause.setdefault(way.partition(".")[0], []).append(way)
    symptoms, own, settings, gauges = (dict.fromkeys(ways, 0.0) for _ in range(4))
    usual = 0.0
    for rule in rules:
        if rule.id in rates.silent:
            continue
        logs, quiet = rates.logs(rule, kind), rule.id not in fired
        told = settings if rule.arithmetic else symptoms
        for way in ways:
            told[way] += logs[way][quiet]
        if rule.arithmetic:
            continue
        healthy = logs[HEALTHY][quiet]
        usual += healthy
        for cause in rule.own_causes & of_cause.keys():
            for way in of_cause[cause]:
                own[way] += logs[way][quiet] - healthy
    for gauge, reading in readings.items():
        for cause, log in rates.lies(gauge, reading, kind).items():
            for way in of_cause.get(cause, ()):
                gauges[way] += log
    return Evidence(symptoms, {way: usual + more for way, more in own.items()}, settings, gauges)


def _mean(logs: list[float], weights: Sequence[float] = ()) -> float:
    """The logarithm of the mean of what these are logarithms of."""
    highest = max(logs)
    weights = weights or [1.0 / len(logs)] * len(logs)
    shares = (w * math.exp(one - highest) for one, w in zip(logs, weights, strict=True))
    return highest + math.log(sum(shares))


def posterior(
    rules: Iterable[Rule],
    fired: Collection[str],
    possible: Iterable[str],
    kind: str,
    rates: Rates,
    readings: Mapping[str, float] = NOTHING,
) -> dict[str, float]:
    """Probabilities of the possible causes, and of `HEALTHY`, largest first.

    `rules`: those that could see the run; `fired`: the ids of those that did; `kind`: `kind_of` it;
    `readings`: of gauges.
    """
    return weighed(evidence(rules, fired, possible, kind, rates, readings), kind, rates)


def weighed(told: Evidence, kind: str, rates: Rates) -> dict[str, float]:
    """Likelihoods, those of symptoms tempered, times the priors, made to sum to one, largest
    first."""
    temperature = rates.temperature_bare if kind.endswith(BARE) else rates.temperature
    by_cause: dict[str, list[float]] = {}
    for way, symptoms in told.symptoms.items():
        if way != HEALTHY and rates.mild:
            symptoms = _mean([symptoms, told.mild[way]], (1.0 - rates.mild, rates.mild))
        score = symptoms / temperature + told.settings[way] + GAUGED * told.gauges[way]
        by_cause.setdefault(way.partition(".")[0], []).append(score)
    weights = {cause: rates.weight(cause, kind) for cause in by_cause if cause != HEALTHY}
    total = sum(weights.values())
    prior = {HEALTHY: rates.healthy} | {
        cause: (1.0 - rates.healthy) * weight / total for cause, weight in weights.items()
    }
    logs = {cause: math.log(prior[cause]) + _mean(scores) for cause, scores in by_cause.items()}
    highest = max(logs.values())
    shares = {cause: math.exp(value - highest) for cause, value in logs.items()}
    total = sum(shares.values())
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    return {cause: share / total for cause, share in ranked}


def undertrained(chances: Mapping[str, float]) -> dict[str, float]:
    """Of a run that has not solved its task and was still rising: what would be a healthy run has
    too small a budget."""
    moved = {SHORT: chances.get(SHORT, 0.0) + chances[HEALTHY], HEALTHY: 0.0}
    return dict(sorted({**chances, **moved}.items(), key=lambda item: -item[1]))


def ranking(chances: Mapping[str, float]) -> list[str]:
    """The answers in order. `HEALTHY` is the first where its probability is `QUIET` or more, about
    that of all faults together, or `SCARCE` or more where no single fault comes near it; and the
    last where it is not: a run that surely has a fault may have one of several."""
    faults = [cause for cause in chances if cause != HEALTHY]
    likeliest = max((chances[cause] for cause in faults), default=0.0)
    quiet = chances[HEALTHY] >= min(QUIET, max(SCARCE, NO_FAULT_NEAR * likeliest))
    return [HEALTHY, *faults] if quiet else [*faults, HEALTHY]


def tells(chances: Mapping[str, float]) -> bool:
    """Whether an answer stands out: nothing wrong, or a cause that is more than one of many."""
    leader = ranking(chances)[0]
    return leader == HEALTHY or chances[leader] >= UNSURE


def separating(
    leaders: tuple[str, str], rules: Iterable[Rule], kind: str, rates: Rates
) -> list[tuple[Rule, float]]:
    """Rules that would tell two causes apart, best first, by how differently they fire."""
    a, b = leaders
    apart = [
        (rule, abs(rates.chance(rule, a, kind) - rates.chance(rule, b, kind))) for rule in rules
    ]
    return sorted((pair for pair in apart if pair[1] >= 0.2), key=lambda pair: -pair[1])

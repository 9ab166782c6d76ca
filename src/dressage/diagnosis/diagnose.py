"""`diagnose`: a run's view in, everything that is said about it out; likewise of several seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dressage.diagnosis.analyses.reach import OTHER_REWARD
from dressage.diagnosis.gauges import readings, sentence
from dressage.diagnosis.infer import (
    HEALTHY,
    SHORT,
    Rates,
    kind_of,
    posterior,
    ranking,
    separating,
    tells,
    undertrained,
)
from dressage.diagnosis.look import FEWEST, median, part, returns, solved, thin
from dressage.diagnosis.possible import possible_causes
from dressage.diagnosis.prescriptions import MOST, Prescription, prescribe, tuned
from dressage.diagnosis.probes.about import separating_probes
from dressage.diagnosis.probes.result import ProbeResult, joined
from dressage.diagnosis.record import Verified
from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.rule import Finding, Rule, Severity
from dressage.runs.uses import RECORD
from dressage.runs.view import RunView

Verdict = Literal["healthy", "undertrained", "faulty", "cannot_tell"]
STILL_RISING, FAR_FROM_SOLVED = "PRO002", "PRO009"  # rules that bear on the verdict by themselves
ASKED = 0.1  # share of the first cause's probability, below which no change is asked for
SHOWN = 0.02  # probability below which a cause is not named
LEAST = 0.003  # probability that a log leaves a cause of which a probe speaks
CLEARLY = 1.5  # likelihood ratio from which a probe counts as evidence for a cause
OFTEN, MUCH_MORE = 0.2, 2.0  # share of a cause's labelled runs that show a symptom, which it does
# not name; and times the share of healthy ones
GAUGE_TELLS, MOST_GAUGES = 4.0, 2  # likelihood ratio from which a gauge is evidence; how many are
CLOSE = 3.0  # times that a leader must be ahead, or what separates the two is named
RATES = Path(__file__).with_name("rates.json")
ORDER: tuple[Severity, ...] = ("critical", "high", "medium", "low")


@dataclass(frozen=True)
class RankedCause:
    id: str  # of the page of causes
    probability: float  # among all causes of the algorithm's family, and none
    evidence: list[str]  # what the symptoms say that speak for it
    separates: list[str]  # what would tell it from its nearest rival


@dataclass(frozen=True)
class Seeds:
    """What the runs of a set show, each for itself."""

    runs: list[str]  # ids
    verdicts: list[Verdict]  # of each run alone
    symptoms: dict[str, list[int]]  # by rule: in how many runs it shows, of how many that could
    returns: list[float]  # of each run: median over its last fifth


@dataclass(frozen=True)
class Diagnosis:
    run: str  # id; of a set of runs, of its group or of all of them
    library: str  # that wrote the log
    algo: str | None  # in our spelling
    env: str | None  # as the log names it
    verdict: Verdict  # in a word
    causes: list[RankedCause]  # most probable first; none of a healthy run
    symptoms: list[Finding]  # worst first
    prescriptions: list[Prescription]  # what to change, first things first
    not_visible: list[str]  # what the log lacks, and how to make it visible
    notes: list[str]  # what was left out or guessed in reading
    seeds: Seeds | None = None  # of a set of runs
    probes: list[ProbeResult] = field(
        default_factory=list
    )  # what --probe measured, if it was asked

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@cache
def shipped_rates() -> Rates:
    if not RATES.is_file():
        return Rates()
    return Rates.from_json(json.loads(RATES.read_text(encoding="utf-8")))


class Looked(NamedTuple):
    """What the rules make of one run."""

    seen: list[Rule]  # that could look at it
    findings: dict[str, Finding]
    readings: dict[str, float]  # of gauges
    chances: dict[str, float]
    failed: list[str]  # sentences about rules that broke on it


def diagnose(
    run: RunView,
    rates: Rates | None = None,
    probes: Sequence[ProbeResult] = (),
    verified: Sequence[Verified] = (),
) -> Diagnosis:
    """Symptoms, causes by probability, and what to change."""
    return diagnose_seeds([run], rates, probes, verified)


def diagnose_seeds(
    runs: Sequence[RunView],
    rates: Rates | None = None,
    probes: Sequence[ProbeResult] = (),
    verified: Sequence[Verified] = (),
) -> Diagnosis:
    """One diagnosis of several runs of one setting, which are taken to share their cause.

    `probes`: what was measured on the first of them, which re-ranks the causes. `verified`: fixes
    whose effects were measured.
    """
    rates = rates or shipped_rates()
    looked = [look_at(run, rates) for run in runs]
    chances = reweighted(pooled([one.chances for one in looked]), joined(probes))
    findings: dict[str, Finding] = {}
    for one in looked:
        findings = one.findings | findings
    first = runs[0]
    verdict = _verdict(runs, chances, findings)
    ranked: list[RankedCause] = []
    if verdict == "cannot_tell" or ranking(chances)[0] != HEALTHY:
        seen = list(dict.fromkeys(rule for one in looked for rule in one.seen))
        ranked = _ranked(first, chances, seen, findings, looked[0].readings, probes, rates)
    to_mend = _to_mend(verdict, ranked, chances, findings)
    return Diagnosis(
        run=first.id if len(runs) == 1 else ", ".join(run.id for run in runs),
        library=first.library,
        algo=first.algo,
        env=first.env,
        verdict=verdict,
        causes=ranked,
        symptoms=sorted(
            (found for found in findings.values() if not _rule(found.rule).sign),
            key=lambda f: ORDER.index(_rule(f.rule).severity),
        ),
        prescriptions=_prescriptions(first, to_mend, findings, verified),
        not_visible=[f"{', '.join(names)}: {how}" for how, names in first.what_to_log().items()],
        notes=list(
            dict.fromkeys([*_notes(runs), *(says for one in looked for says in one.failed)])
        ),
        seeds=_seeds(runs, looked) if len(runs) > 1 else None,
        probes=list(probes),
    )


def look_at(run: RunView, rates: Rates) -> Looked:
    """Odd values of a log may break a rule: the others are still looked at, and that is said."""
    run = thin(run)
    seen: list[Rule] = []
    findings: dict[str, Finding] = {}
    failed: list[str] = []
    for rule in all_rules().values():
        try:
            could, found = rule.look(run)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            failed.append(f"{rule.id} could not be looked for ({type(error).__name__}: {error}).")
            continue
        if could:
            seen.append(rule)
        if found is not None:
            findings[rule.id] = found
    told = readings(run, rates.gauges)
    chances = posterior(seen, findings, possible_causes(run), kind_of(run), rates, told)
    if not_done(run, findings):
        chances = undertrained(chances)
    return Looked(seen, findings, told, chances, failed)


def not_done(run: RunView, findings: Collection[str]) -> bool:
    """Whether the run was still rising when it ended, short of its task's threshold."""
    return STILL_RISING in findings and run.threshold is not None and not solved(run)


def pooled(chances: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The geometric mean of several runs' probabilities, largest first: the prior counts once, and
    n runs of one setting, which are alike, are no surer than one."""
    if len(chances) == 1:
        return dict(chances[0])
    logs = {
        cause: math.fsum(math.log(max(one.get(cause, 0.0), 1e-12)) for one in chances)
        / len(chances)
        for cause in dict.fromkeys(cause for one in chances for cause in one)
    }
    weights = {cause: math.exp(log) for cause, log in logs.items()}
    total = sum(weights.values())
    ranked = sorted(weights.items(), key=lambda item: -item[1])
    return {cause: weight / total for cause, weight in ranked}


def reweighted(chances: Mapping[str, float], factors: Mapping[str, float]) -> dict[str, float]:
    """Probabilities after evidence beside the log: each times its likelihood ratio. What a probe
    has measured may bring back a cause that the log seemed to rule out."""
    weights = {
        cause: max(chance, LEAST if cause in factors else 0.0) * factors.get(cause, 1.0)
        for cause, chance in chances.items()
    }
    total = sum(weights.values())
    ranked = sorted(weights.items(), key=lambda item: -item[1])
    return {cause: weight / total for cause, weight in ranked}


def _notes(runs: Sequence[RunView]) -> list[str]:
    return [note for run in runs for note in run.notes]


def _seeds(runs: Sequence[RunView], looked: Sequence[Looked]) -> Seeds:
    ids = dict.fromkeys(id for one in looked for id in one.findings if not _rule(id).sign)
    return Seeds(
        runs=[run.id for run in runs],
        verdicts=[
            _verdict([run], one.chances, one.findings)
            for run, one in zip(runs, looked, strict=True)
        ],
        symptoms={
            id: [
                sum(id in one.findings for one in looked),
                sum(_rule(id) in one.seen for one in looked),
            ]
            for id in ids
        },
        returns=[median(returns(run), 0.8, 1.0) for run in runs],
    )


def _verdict(
    runs: Sequence[RunView], chances: Mapping[str, float], findings: Collection[str]
) -> Verdict:
    leader = ranking(chances)[0]
    if not tells(chances):
        return "cannot_tell"
    if leader != HEALTHY:
        return "undertrained" if leader == SHORT else "faulty"
    if not any(len(part(returns(run))) >= FEWEST for run in runs):
        return "cannot_tell"
    # Without a fault in the log a run that is far from its task's threshold is still not done.
    unsolved = any(run.threshold is not None for run in runs) and not any(map(solved, runs))
    return "cannot_tell" if unsolved and FAR_FROM_SOLVED in findings else "healthy"


def _ranked(
    run: RunView,
    chances: Mapping[str, float],
    seen: list[Rule],
    findings: Mapping[str, Finding],
    read: Mapping[str, float],
    probes: Sequence[ProbeResult],
    rates: Rates,
) -> list[RankedCause]:
    named = [(id, p) for id, p in chances.items() if id != HEALTHY and p >= SHOWN]
    ranked = []
    for i, (id, probability) in enumerate(named):
        rival = named[i + 1] if i == 0 and len(named) > 1 else named[0] if i else None
        separates: list[str] = []
        if rival is not None and probability < CLOSE * rival[1] and rival[1] < CLOSE * probability:
            hidden = [rule for rule in all_rules().values() if rule not in seen]
            separates = [
                rule.name + (f" ({', '.join(looks_at)})" if (looks_at := rule.looks_at) else "")
                for rule, _ in separating((id, rival[0]), hidden, kind_of(run), rates)[:3]
                if run.family in rule.families
            ]
            if not probes:
                separates += _probes_to_run(run, (id, rival[0]))
            recorder = RECORD.get(run.library)
            if i == 0 and separates and recorder in run.what_to_log():
                separates.append(f"{recorder}, which records what SB3 does not log")
        evidence = [*_speaks_for(id, findings, kind_of(run), rates), *_lies(id, read, run, rates)]
        evidence += [probe.says for probe in probes if probe.factors.get(id, 1.0) > CLEARLY]
        ranked.append(RankedCause(id, probability, evidence, separates))
    return ranked


def _probes_to_run(run: RunView, causes: tuple[str, str]) -> list[str]:
    """The first probe that would tell two causes apart, as it is typed."""
    ours = run.library == "dressage"
    possible = [probe for probe in separating_probes(causes) if ours or not probe.trains]
    option = "--probe" if ours else f"--probe --env {run.env or 'ENV'}"
    return [f"`{option}`, which asks “{probe.asks}”" for probe in possible[:1]]


def _speaks_for(cause: str, findings: Mapping[str, Finding], kind: str, rates: Rates) -> list[str]:
    """The symptoms that this cause is known to show: those whose rule names it, and those that
    labelled runs of it showed much more often than healthy ones. What is read off settings and
    counts leads, since nobody has to be convinced of it; then the strongest."""
    known = []
    for id, found in findings.items():
        rule = _rule(id)
        chance = rates.chance(rule, cause, kind)
        usual = max(OFTEN, MUCH_MORE * rates.chance(rule, HEALTHY, kind))
        if not rule.sign and (cause in rule.expected or chance >= usual):
            known.append((rule.arithmetic, chance, found.says))
    return [says for *_, says in sorted(known, reverse=True)]


def _lies(cause: str, read: Mapping[str, float], run: RunView, rates: Rates) -> list[str]:
    """Gauges that lie where they do much oftener with a cause than in healthy runs."""
    known = []
    for gauge, value in read.items():
        logs = rates.lies(gauge, value, kind_of(run))
        times = math.exp(logs.get(cause, 0.0) - logs.get(HEALTHY, 0.0))
        if times >= GAUGE_TELLS and logs.get(cause, 0.0) > 0.0:
            known.append((times, sentence(run, gauge, value, times)))
    return [told for _, told in sorted(known, reverse=True)[:MOST_GAUGES]]


def _prescriptions(
    run: RunView,
    causes: list[str],
    findings: Mapping[str, Finding],
    verified: Sequence[Verified],
) -> list[Prescription]:
    asked: list[Prescription] = []
    for cause in causes:
        own = [
            found
            for id, found in findings.items()
            if cause in _rule(id).expected and not _rule(id).sign
        ]
        severities = [_rule(found.rule).severity for found in own]
        worst: Severity = min(severities, key=ORDER.index, default="medium")
        change = prescribe(cause, run, own, worst, verified)
        if not change.ours or all(change.ours != other.ours for other in asked):
            asked.append(change)
    # a preset's returns say nothing where the reward is not the environment's
    preset = tuned(run) if asked and OTHER_REWARD not in findings else None
    return asked if preset is None else [*asked, preset]


def _to_mend(
    verdict: Verdict,
    ranked: list[RankedCause],
    possible: Collection[str],
    findings: Collection[str],
) -> list[str]:
    """Causes for which changes are asked for: the likeliest, and with them settings that are far
    outside their range, which one likely cause does not excuse."""
    if verdict == "healthy":
        return []
    if not ranked:
        return []
    likely = [one.id for one in ranked if one.probability >= ASKED * ranked[0].probability]
    outside = [
        max((cause for cause in rule.expected if cause != HEALTHY), key=rule.expected.__getitem__)
        for rule in map(_rule, findings)
        if rule.arithmetic and not rule.sign and rule.severity in ("critical", "high")
    ]
    also = [cause for cause in outside if cause in possible]
    return list(dict.fromkeys([likely[0], *also, *likely]))[:MOST]


def _rule(id: str) -> Rule:
    return all_rules()[id]

"""`diagnose`: a run's view in, everything that is said about it out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from dressage.diagnosis.infer import HEALTHY, Rates, posterior, separating
from dressage.diagnosis.look import FEWEST, part, returns
from dressage.diagnosis.prescriptions import MOST, Prescription, prescribe
from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.rule import Finding, Rule, Severity
from dressage.runs.view import RunView

Verdict = Literal["healthy", "undertrained", "faulty", "cannot_tell"]
SHOWN = 0.02  # probability below which a cause is not named
CLOSE = 3.0  # times that a leader must be ahead, or what separates the two is named
RATES = Path(__file__).with_name("rates.json")
ORDER: tuple[Severity, ...] = ("critical", "high", "medium", "low")


@dataclass(frozen=True)
class RankedCause:
    id: str
    probability: float
    evidence: list[str]  # what the symptoms say that speak for it
    separates: list[str]  # what would tell it from its nearest rival


@dataclass(frozen=True)
class Diagnosis:
    run: str
    library: str
    algo: str | None
    env: str | None
    verdict: Verdict
    causes: list[RankedCause]
    symptoms: list[Finding]
    prescriptions: list[Prescription]
    not_visible: list[str]
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@cache
def shipped_rates() -> Rates:
    if not RATES.is_file():
        return Rates()
    return Rates.from_json(json.loads(RATES.read_text(encoding="utf-8")))


def diagnose(run: RunView, rates: Rates | None = None) -> Diagnosis:
    """Symptoms, causes by probability, and what to change."""
    rates = rates or shipped_rates()
    seen = [rule for rule in all_rules().values() if rule.can_see(run)]
    findings = {rule.id: found for rule in seen if (found := rule.check(run)) is not None}
    chances = posterior(seen, findings, run.family, rates)
    verdict = _verdict(run, chances)
    ranked = [] if verdict in ("healthy", "cannot_tell") else _ranked(run, chances, seen, findings)
    return Diagnosis(
        run=run.id,
        library=run.library,
        algo=run.algo,
        env=run.env,
        verdict=verdict,
        causes=ranked,
        symptoms=sorted(findings.values(), key=lambda f: ORDER.index(_rule(f.rule).severity)),
        prescriptions=_prescriptions(run, ranked, findings),
        not_visible=[f"{m.metric}: {m.how}" for m in run.not_visible()],
        notes=list(run.notes),
    )


def _verdict(run: RunView, chances: Mapping[str, float]) -> Verdict:
    leader = next(iter(chances))
    if leader == HEALTHY:
        return "healthy" if len(part(returns(run))) >= FEWEST else "cannot_tell"
    if leader == "budget-too-small":
        return "undertrained"
    return "faulty"


def _ranked(
    run: RunView, chances: Mapping[str, float], seen: list[Rule], findings: Mapping[str, Finding]
) -> list[RankedCause]:
    named = [(id, p) for id, p in chances.items() if id != HEALTHY and p >= SHOWN]
    ranked = []
    for i, (id, probability) in enumerate(named):
        rival = named[i + 1] if i == 0 and len(named) > 1 else named[0] if i else None
        separates: list[str] = []
        if rival is not None and probability < CLOSE * rival[1] and rival[1] < CLOSE * probability:
            hidden = [rule for rule in all_rules().values() if rule not in seen]
            separates = [
                f"{rule.name} ({', '.join(rule.needs or rule.settings)})"
                for rule, _ in separating((id, rival[0]), hidden, shipped_rates())[:3]
                if run.family in rule.families
            ]
        ranked.append(RankedCause(id, probability, _speaks_for(id, findings), separates))
    return ranked


def _speaks_for(cause: str, findings: Mapping[str, Finding]) -> list[str]:
    """The symptoms that this cause is known to show, strongest first."""
    known = [
        (shipped_rates().chance(_rule(id), cause), found.says)
        for id, found in findings.items()
        if cause in _rule(id).expected
    ]
    return [says for _, says in sorted(known, reverse=True)]


def _prescriptions(
    run: RunView, ranked: list[RankedCause], findings: Mapping[str, Finding]
) -> list[Prescription]:
    asked = []
    for cause in ranked[:MOST]:
        own = [found for id, found in findings.items() if cause.id in _rule(id).expected]
        severities = [_rule(found.rule).severity for found in own]
        worst: Severity = min(severities, key=ORDER.index, default="medium")
        asked.append(prescribe(cause.id, run, own, worst))
    return asked


def _rule(id: str) -> Rule:
    return all_rules()[id]

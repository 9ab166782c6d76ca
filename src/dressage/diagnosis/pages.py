"""What a rule says of itself, from its docstring: for `dressage explain` and the docs."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.diagnose import shipped_rates
from dressage.diagnosis.infer import HEALTHY, of_all
from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.rule import Rule
from dressage.runs.metrics import cited

ENOUGH = 8  # healthy environments that could show a rule, before its rates count as measured
HEADINGS = (
    "Why it hurts",
    "Evidence",
    "Threshold and source",
    "Prescription",
    "Known false alarms",
    "References",
)


@dataclass(frozen=True)
class RulePage:
    rule: Rule
    title: str
    sections: dict[str, str]  # by heading, each a paragraph

    @property
    def looks_at(self) -> list[str]:
        return [*self.rule.needs, *self.rule.either, *self.rule.settings]

    @property
    def measured(self) -> bool:
        """Whether there were labelled runs enough to tell how often it fires without need."""
        return self._counted().get(HEALTHY, (0, 0))[1] >= ENOUGH

    @property
    def on_labelled_runs(self) -> str:
        """How often it fired, as a sentence."""
        counted = self._counted()
        if not counted:
            return "It was not looked for on labelled runs yet."
        quiet, healthy = counted.pop(HEALTHY, (0, 0))
        often = sorted(counted.items(), key=lambda item: -item[1][0])[:6]
        hits = ", ".join(f"{_named(way)} {_share(f, n)}" for way, (f, n) in often if f)
        return (
            f"It fired in {_share(quiet, healthy)} healthy environments (each counts by the share "
            f"of its runs); {hits or 'in no faulty one'}."
        )

    @property
    def sources(self) -> dict[str, str]:
        """What the letters of its sources stand for."""
        letters = [f"[{threshold.source}]" for threshold in self.rule.thresholds.values()]
        return cited(" ".join([*self.sections.values(), *letters]))

    def _counted(self) -> dict[str, tuple[float, float]]:
        """By cause: environments of training in which it fired, and where it could be seen."""
        rates = shipped_rates()
        counted = {cause: rates.counted(self.rule.id, cause) for cause in rates.environments}
        return {
            cause: (of_all(fired), of_all(seen))
            for cause, (fired, seen) in counted.items()
            if any(seen.values())
        }

    @property
    def speaks_for(self) -> list[tuple[str, float]]:
        """Causes that are expected to show it, most often first."""
        known = [item for item in self.rule.expected.items() if item[0] != HEALTHY]
        return sorted(known, key=lambda item: -item[1])


def _named(way: str) -> str:
    """A cause, and in brackets in which other way it showed."""
    cause, _, word = way.partition(".")
    return f"{cause} ({word})" if word else cause


def _share(fired: float, seen: float) -> str:
    """Environments are counted by the share of their runs, and so are no whole numbers."""
    share = 100 * min(fired / seen, 1.0) if seen else 0.0
    percent = "below 1" if 0 < share < 0.5 else f"{share:.0f}"
    return f"{percent} % of {max(round(seen), 1) if seen else 0}"


def page(rule: Rule) -> RulePage:
    title, *lines = (inspect.getdoc(type(rule)) or "").split("\n")
    sections: dict[str, list[str]] = {}
    heading = ""
    for line in lines:
        if line in HEADINGS:
            heading = line
        elif line.strip() and heading:
            sections.setdefault(heading, []).append(line.strip())
    if rule.stands_in:
        sections["Evidence"].append("Looked for only in logs without gradient norms.")
    return RulePage(rule, title, {name: " ".join(text) for name, text in sections.items()})


def rules_of(cause: str, least: float = 0.2) -> list[tuple[Rule, float]]:
    """Rules that a cause is expected to make fire, most often first."""
    assert cause in CAUSES
    known = [(rule, rule.expected.get(cause, 0.0)) for rule in all_rules().values()]
    return sorted((pair for pair in known if pair[1] >= least), key=lambda pair: -pair[1])


def rule_named(word: str) -> Rule | None:
    """By id, whatever its case, or by name."""
    for id, rule in all_rules().items():
        if word.upper() == id or word.lower() == rule.name:
            return rule
    return None

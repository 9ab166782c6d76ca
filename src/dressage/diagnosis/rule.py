"""What a rule is: one symptom, looked for in one run, with its evidence and its threshold's source.

A rule is a class in a file of its own under `rules/<family>/`. Its docstring has fixed headings
(Why it hurts, Evidence, Threshold and source, Prescription, Known false alarms, References), from
which `dressage explain` and the docs page are made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

from dressage.runs.uses import first_of
from dressage.runs.view import RunView

Severity = Literal["critical", "high", "medium", "low"]
FAMILIES = (
    "configuration",
    "optimisation",
    "exploration",
    "value",
    "data",
    "environment",
    "evaluation",
    "progress",
    "machine",
    "checkpoint",
)
GUESS = "guess"
GRADIENTS = "train/metrics/grad_norm/*"


class TooLittle(Exception):
    """What is logged is too little to look for a symptom: to stay quiet would say that it is not
    there."""


class Threshold(NamedTuple):
    value: float
    source: str  # a letter of runs/metrics.SOURCES, a paper, a study of ours, or GUESS


@dataclass(frozen=True)
class Finding:
    """A symptom that was seen, with the numbers that show it."""

    rule: str
    says: str  # one sentence, with the numbers
    evidence: Mapping[str, float | str] = field(default_factory=dict)
    metric: str | None = None  # to plot
    window: tuple[float, float] | None = None  # env steps in which it shows


class Rule(ABC):
    """`check` is pure: a view in, a finding or nothing out."""

    id: ClassVar[str]  # such as OPT001
    name: ClassVar[str]  # states the symptom, never the cure
    family: ClassVar[str]
    severity: ClassVar[Severity]
    needs: ClassVar[tuple[str, ...]] = ()  # metrics without which it cannot be looked for
    settings: ClassVar[tuple[str, ...]] = ()  # of the config, likewise
    either: ClassVar[tuple[str, ...]] = ()  # metrics or settings, of which one is enough
    families: ClassVar[tuple[str, ...]] = ("on-policy", "value-based", "actor-critic")
    thresholds: ClassVar[Mapping[str, Threshold]] = {}
    # How often it is expected to show, by cause, until labelled runs have told; and with causes
    # that are not named: often for what any failure shows, hardly ever for plain arithmetic.
    expected: ClassVar[Mapping[str, float]] = {}
    elsewhere: ClassVar[float] = 0.05
    # It reads a setting or a count, not how training went; all rules of configuration do.
    arithmetic: ClassVar[bool] = False
    # It compares two numbers that can only differ through a cause that it names: neither a healthy
    # run nor any other fault shows it.
    proof: ClassVar[bool] = False
    fatal: ClassVar[bool] = False  # numbers that no sound training can have: never of a healthy run
    sign: ClassVar[bool] = False  # of health: counted, and not shown among symptoms
    # Looked for only in logs without gradient norms, as most libraries write them: what it tells,
    # those and what is logged with them tell better.
    stands_in: ClassVar[bool] = False

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        cls.arithmetic = cls.arithmetic or getattr(cls, "family", "") == "configuration"

    @abstractmethod
    def check(self, run: RunView) -> Finding | None:
        """What is seen; None where all is well. Raises `TooLittle` where too few rows are known."""

    def look(self, run: RunView) -> tuple[bool, Finding | None]:
        """Whether the symptom could be looked for, and what was seen."""
        try:
            return (True, self.check(run)) if self.can_see(run) else (False, None)
        except TooLittle:
            return False, None

    def can_see(self, run: RunView) -> bool:
        """Whether the run's log and config hold what this rule looks at."""
        return (
            (run.family in self.families or run.family == "unknown")
            and not (self.stands_in and first_of(GRADIENTS, run.series))
            and all(first_of(name, run.series) is not None for name in self.needs)
            and all(run.config.get(name) is not None for name in self.settings)
            and (not self.either or any(_known(name, run) for name in self.either))
        )

    @property
    def looks_at(self) -> tuple[str, ...]:
        """The metrics or settings that it takes."""
        return self.needs or self.settings or self.either

    @cached_property
    def own_causes(self) -> frozenset[str]:
        """Causes that show by this themselves, not only in that the run fails somehow."""
        general = self.family == "progress" or self.sign
        return frozenset() if general else frozenset(self.expected) - {"healthy"}

    def bound(self, name: str) -> float:
        return self.thresholds[name].value

    def found(self, says: str, metric: str | None = None, **evidence: Any) -> Finding:
        return Finding(self.id, says, evidence, metric)


def _known(name: str, run: RunView) -> bool:
    """A metric (they have a slash, or are a column before all others) or a setting."""
    return first_of(name, run.series) is not None or run.config.get(name) is not None

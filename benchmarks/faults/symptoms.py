"""What the rules see in a stored run, with its config and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.faults.accepted import accepted
from benchmarks.faults.store import Stored

from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.registry import all_rules
from dressage.runs.view import RunView


@dataclass(frozen=True)
class Case:
    """One run as inference gets it, with the answers that count as right."""

    label: dict[str, Any]
    family: str
    seen: frozenset[str]  # rules that could be looked for
    fired: frozenset[str]
    right: frozenset[str]

    @property
    def truth(self) -> str:
        return str(self.label["cause"] or HEALTHY)


def case(stored: Stored, with_config: bool) -> Case:
    view = stored.view if with_config else without_config(stored.view)
    seen = {id: rule for id, rule in all_rules().items() if rule.can_see(view)}
    fired = frozenset(id for id, rule in seen.items() if rule.check(view) is not None)
    label = stored.label
    right = accepted(label["variant"], label["cause"]) if label["cause"] else frozenset({HEALTHY})
    return Case(label, view.family, frozenset(seen), fired, right)


def without_config(view: RunView) -> RunView:
    """The log alone: its library, its algorithm and its metrics, and nothing that was set."""
    spec = {k: v for k, v in view.spec.items() if k in ("spaces", "time_limit")}
    return replace(view, config={}, own_config={}, budget=None, spec=spec, events=[])


def cases(runs: Sequence[Stored], with_config: bool) -> list[Case]:
    return [case(run, with_config) for run in runs]

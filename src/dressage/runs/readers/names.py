"""Tables that say what another library calls our metrics and settings, and how to look up in them.

One table a library, in that library's file; the documentation prints them. A name may hold `*` for
a part that varies (a policy's name). The first row that fits counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple


class Metric(NamedTuple):
    theirs: str
    ours: str
    scale: float = 1.0  # ours = scale * theirs; -1 where they log the opposite sign
    algos: tuple[str, ...] = ()  # only in logs of these algorithms; empty: in all
    note: str = ""  # a sentence about how the two differ


class Setting(NamedTuple):
    theirs: str
    ours: str
    algos: tuple[str, ...] = ()


class Names:
    """A table of metrics, and the names that come after whatever the library puts before them."""

    def __init__(self, table: Iterable[Metric]) -> None:
        self.table = tuple(table)

    @cached_property
    def _exact(self) -> dict[str, list[Metric]]:
        found: dict[str, list[Metric]] = {}
        for row in self.table:
            if "*" not in row.theirs:
                found.setdefault(row.theirs, []).append(row)
        return found

    @cached_property
    def _patterns(self) -> dict[str, list[tuple[re.Pattern[str], Metric]]]:
        """By the last part of the name, since a log may have thousands; `*` where that varies."""
        found: dict[str, list[tuple[re.Pattern[str], Metric]]] = {}
        for row in self.table:
            if "*" in row.theirs:
                pattern = re.compile(re.escape(row.theirs).replace(r"\*", "([^/]+)"))
                found.setdefault(row.theirs.rpartition("/")[2], []).append((pattern, row))
        return found

    def find(self, theirs: str, algo: str | None = None) -> Metric | None:
        """The row for a name; a `*` in our name stands for what it stood for in theirs."""
        for row in self._exact.get(theirs, ()):
            if not row.algos or algo in row.algos:
                return row
        last = theirs.rpartition("/")[2]
        for pattern, row in self._patterns.get(last, []) + self._patterns.get("*", []):
            if (match := pattern.fullmatch(theirs)) and (not row.algos or algo in row.algos):
                return row._replace(ours=row.ours.replace("*", match[1]))
        return None


def renamed(
    settings: Iterable[Setting], own: Mapping[str, object], algo: str | None
) -> tuple[dict[str, object], dict[str, str]]:
    """Values by our names, and their name of each; of several rows for a name the first counts."""
    values: dict[str, object] = {}
    names: dict[str, str] = {}
    taken: set[str] = set()
    for row in settings:
        if (row.algos and algo not in row.algos) or row.theirs in taken:
            continue
        taken.add(row.theirs)
        names.setdefault(row.ours, row.theirs)
        if row.ours not in values and own.get(row.theirs) is not None:
            values[row.ours] = own[row.theirs]
            names[row.ours] = row.theirs
    return values, names

"""What other libraries call our metrics and settings, from the tables of their readers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dressage.runs.readers import sb3
from dressage.runs.readers.names import Metric, Setting
from dressage.runs.readers.vocabulary import KNOWN, Vocabulary


class OtherName(NamedTuple):
    ours: str
    says: str  # train/approx_kl in sb3


def metrics_named(word: str) -> list[OtherName]:
    """By the whole name; where no library has it, by the last part."""
    whole = [(one.library, row) for one in KNOWN for row in _rows(one, word)]
    by_end = [
        (one.library, row)
        for one in KNOWN
        for row in one.names.table
        if row.theirs.rpartition("/")[2] == word and "*" not in row.theirs
    ]
    return [
        OtherName(row.ours, f"{row.theirs} in {library}{_where(row.algos)}{_scale(row.scale)}")
        for library, row in whole or by_end
        if row.ours != row.theirs
    ]


def settings_named(word: str) -> list[OtherName]:
    rows = [(one.library, row) for one in KNOWN for row in one.settings]
    # three numbers that are one schedule of ours
    rows += [(sb3.LIBRARY, Setting(part, "epsilon")) for part in sb3.EPSILON]
    return [
        OtherName(row.ours, f"{row.theirs} in {library}{_where(row.algos)}")
        for library, row in rows
        if row.theirs == word and row.ours != word
    ]


def _rows(library: Vocabulary, word: str) -> Iterable[Metric]:
    """All rows of that very name, for whichever algorithms; else one of a name that varies."""
    exact = [row for row in library.names.table if row.theirs == word]
    found = library.names.find(word)
    return exact or ([found._replace(theirs=word)] if found is not None else [])


def _where(algos: tuple[str, ...]) -> str:
    return f" for {', '.join(algos)}" if algos else ""


def _scale(scale: float) -> str:
    if scale == 1.0:
        return ""
    return ", with the opposite sign" if scale == -1.0 else f", ours is {scale:g} times theirs"

"""Runs whose files would give them one name: told apart by suffix, by folder, by file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dressage.runs.readers import own
from dressage.runs.view import RunView


def tell_apart(views: Iterable[RunView]) -> None:
    """Runs of ours keep their ids, by which commands find them."""
    alike: dict[str, list[RunView]] = {}
    for view in views:
        if view.library != own.LIBRARY:
            alike.setdefault(view.id, []).append(view)
    for id, runs in alike.items():
        if len(runs) > 1:
            for view, name in zip(runs, _names(id, runs), strict=True):
                view.id = name


def _names(id: str, runs: Sequence[RunView]) -> list[str]:
    """As much of each path's end as it takes, with suffixes where files of one stem lie together;
    the files' names where the id is no part of the path."""
    places = [_place(id, view.path.resolve()) for view in runs]
    if len(set(places)) < len(places) and all(place.name == id for place in places):
        places = [place.with_name(view.path.name) for place, view in zip(places, runs, strict=True)]
    for count in range(1, max(len(place.parts) for place in places)):
        names = ["/".join(place.parts[-count:]) for place in places]
        if len(set(names)) == len(names):
            return names
    return [f"{id} ({view.path.name})" for view in runs]


def _place(id: str, path: Path) -> Path:
    """Where a run lies, as a path that ends in its id."""
    if path.name == id:
        return path
    if path.is_file() and path.stem == id:
        return path.with_suffix("")
    return path.parent if path.parent.name == id else path.parent / id

"""Weights in the safetensors format, whoever wrote them: beside a log they belong to its run; alone
they are a run of which nothing else is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dressage.errors import RunError
from dressage.runs.algorithms import canonical_algorithm
from dressage.runs.checkpoint import MANIFEST
from dressage.runs.readers import assemble, own
from dressage.runs.readers.safe import is_file, walk, written
from dressage.runs.view import RunView

LIBRARY = "unknown"
SUFFIX = ".safetensors"
BELOW = 2  # folders below a run's own in which its weights are looked for
NO_LOG = (
    "A file of weights is no log: what is wrong with the weights themselves can be told, and "
    "nothing of how training went."
)


def read(path: Path, files: Sequence[Path]) -> RunView:
    """A run without a log; one whose every file is broken is none."""
    from dressage.runs.weights import read_weights  # it imports readers itself

    view = RunView(path, path.stem if path.is_file() else path.name, LIBRARY)
    view.algo = canonical_algorithm(view.id)
    refused: list[RunError] = []
    for file in files:
        try:
            tensors = read_weights(file).tensors
            count = sum(tensor.size for tensor in tensors.values())
            assemble.note(view, f"{file.name} holds {len(tensors)} tensors, {count:,} numbers.")
        except RunError as error:
            refused.append(error)
    if len(refused) == len(files):
        raise refused[-1]
    assemble.note(view, NO_LOG)
    _add(view, files)
    return assemble.finish(view)


def by_folder(folder: Path, below: int) -> dict[Path, list[Path]]:
    """The files of weights in a folder and below by where they lie; a checkpoint of ours is one."""
    if is_file(folder / MANIFEST):
        return {folder: [folder]}
    found: dict[Path, list[Path]] = {}
    for file in _files(folder, below):
        found.setdefault(file.parent, []).append(file)
    return found


def join(folder: Path, views: Sequence[RunView], below: int) -> None:
    """Adds the weights that lie beside logs to their runs: those in a run's folder, or anywhere in
    `folder` if that holds a single run."""
    theirs = [view for view in views if view.library != own.LIBRARY]
    homes: dict[Path, list[RunView]] = {}
    for view in theirs:
        homes.setdefault(view.path.parent if view.path.is_file() else view.path, []).append(view)
    if len(views) == len(theirs) == 1:
        _add(theirs[0], _files(folder, below))
        return
    for home, runs in homes.items():
        files = _files(home, BELOW)
        if len(runs) == 1:
            _add(runs[0], files)
        elif files:
            assemble.note(
                runs[0],
                f"{files[-1].name} was left out: nothing tells which of the {len(runs)} logs "
                "beside it is of the same run.",
            )


def _files(folder: Path, below: int) -> list[Path]:
    """Without the parts of our own checkpoints, which are no weights each by itself."""
    return [
        file
        for file in walk(folder, below)
        if file.suffix == SUFFIX and not is_file(file.with_name(MANIFEST))
    ]


def _add(view: RunView, files: Sequence[Path]) -> None:
    if new := [file for file in files if file not in view.weights]:
        view.weights = sorted([*view.weights, *new], key=written)
    if len(files) > 1:
        assemble.note(
            view,
            f"There are {len(files)} files of weights, of which the newest is looked at: name "
            "another one to have it looked at alone.",
        )

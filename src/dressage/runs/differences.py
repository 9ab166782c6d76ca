"""Where two runs that should be equal are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np

from dressage.runs.checkpoint import Checkpoint, load_checkpoint
from dressage.runs.metrics import is_exact
from dressage.runs.run import Run


def differences(a: Path, b: Path) -> list[str]:
    """Where two run folders differ, times and speed apart; nothing for equal ones."""
    first, second = Run(a), Run(b)
    found: list[str] = []
    if list(first.checkpoints()) != list(second.checkpoints()):
        found.append(f"checkpoints {list(first.checkpoints())} and {list(second.checkpoints())}")
    for env_steps in first.checkpoints().keys() & second.checkpoints().keys():
        one = load_checkpoint(first.checkpoint(env_steps))
        two = load_checkpoint(second.checkpoint(env_steps))
        found += [f"checkpoint {env_steps}: {text}" for text in _unequal(one, two)]
    found += _unequal_columns("metrics.csv", first.metrics(), second.metrics())
    found += _unequal_columns("episodes.csv", first.episodes(), second.episodes())
    if first.best != second.best:
        found.append(f"best.json: {first.best} and {second.best}")
    return found


def _unequal(a: Checkpoint, b: Checkpoint) -> Iterator[str]:
    if a.parts.keys() != b.parts.keys():
        yield f"parts {list(a.parts)} and {list(b.parts)}"
    for part in a.parts.keys() & b.parts.keys():
        if a.parts[part].keys() != b.parts[part].keys():
            yield f"arrays of {part}"
            continue
        for name, array in a.parts[part].items():
            if array.tobytes() != b.parts[part][name].tobytes():
                yield f"{part}/{name}"
    shared = a.meta["hooks"].keys() & b.meta["hooks"].keys()
    one, two = _flat(_own(a.meta, shared)), _flat(_own(b.meta, shared))
    for name in sorted(one.keys() | two.keys()):
        if name != "clock/wall_seconds" and one.get(name) != two.get(name):
            yield f"{name}: {one.get(name)} and {two.get(name)}"


def _own(meta: dict[str, Any], hooks: Set[str]) -> dict[str, Any]:
    """What is the run's; a hook that only one of two has, such as what stopped it, is not."""
    return {**meta, "hooks": {name: meta["hooks"][name] for name in hooks}}


def _flat(tree: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(tree, dict):
        return {name: tree}
    return {
        key: leaf
        for part, value in tree.items()
        for key, leaf in _flat(value, f"{name}/{part}".strip("/")).items()
    }


def _unequal_columns(file: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    one, two = ({name: c for name, c in x.items() if is_exact(name)} for x in (a, b))
    if list(one) != list(two):
        yield f"{file}: header {sorted(one.keys() ^ two.keys())}"
    for name in one.keys() & two.keys():
        x, y = one[name], two[name]
        same = np.array_equal(x, y, equal_nan=True) if x.dtype.kind == "f" else np.array_equal(x, y)
        if not same:
            yield f"{file}: {name}"

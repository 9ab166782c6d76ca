"""`assert_same_run(a, b)`: two runs are equal in everything that training determines."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from dressage.runs.group import Group
from dressage.runs.run import Run

# Written by the machine and the moment, not by training.
EXEMPT_FILES = {"status.json", "system.json", "run.lock", "run.log"}
EXEMPT_EVENTS = {"resume", "end", "failure", "finding"}


def documents(path: Path) -> dict[str, Any]:
    """Every file of a run by its name, in a form in which equal runs are equal."""
    found: dict[str, Any] = {}
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        if file.is_dir() or name in EXEMPT_FILES or name.startswith("report"):
            continue
        if name == "metrics.csv":
            found[name] = metrics_rows(file)
        elif name == "events.jsonl":
            found[name] = events(file)
        elif file.name == "manifest.json":
            found[name] = manifest(file)
        elif name == "config.json":
            found[name] = json.loads(file.read_text())["values"]
        else:
            found[name] = file.read_bytes()
    return found


def metrics_rows(file: Path) -> list[dict[str, str]]:
    """The table as text (shortest round trip: equal text is equal bits); exempt cells are blank."""
    with file.open(newline="") as handle:
        header, *rows = csv.reader(handle)
    exempt = ("sys/", "wall_seconds")
    cells = [
        {k: "" if k.startswith(exempt) else v for k, v in zip(header, row, strict=True)}
        for row in rows
    ]
    return [dict(enumerate(header)), *cells]  # the columns' order is equal, too


def events(file: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [
        {k: v for k, v in line.items() if k != "time"}
        for line in lines
        if line["kind"] not in EXEMPT_EVENTS
    ]


def manifest(file: Path) -> dict[str, Any]:
    """Hashes of the parts included; without wall time and the bytes of logs that hold times."""
    content = json.loads(file.read_text())
    del content["meta"]["clock"]["wall_seconds"]
    # sys/* cells differ in width, and a resume leaves an event
    for log in ("metrics.csv", "events.jsonl", "run.log"):
        del content["offsets"][log]
    return content


def assert_same_run(a: Run | Path, b: Run | Path) -> None:
    """Equal: weights, optimizer, normalisers, counters, logs and the set of checkpoints."""
    ours, theirs = (documents(x if isinstance(x, Path) else x.path) for x in (a, b))
    assert set(ours) == set(theirs), f"in one of them only: {sorted(set(ours) ^ set(theirs))}"
    assert any(name.endswith("policy.safetensors") for name in ours), "no checkpoint to compare"
    for name, content in ours.items():
        other = theirs[name]
        if isinstance(content, list):
            assert len(content) == len(other), f"{name} has {len(content)} and {len(other)} rows"
            for at, (x, y) in enumerate(zip(content, other, strict=True)):
                assert x == y, f"{name}, row {at}: {difference(x, y)}"
        elif isinstance(content, dict):
            assert content == other, f"{name}: {difference(content, other)}"
        else:
            assert content == other, f"{name} differs"


def difference(x: dict[str, Any], y: dict[str, Any]) -> str:
    keys = [key for key in {**x, **y} if x.get(key) != y.get(key)]
    return ", ".join(f"{key}: {x.get(key)!r} and {y.get(key)!r}" for key in keys[:5])


def assert_same_group(a: Group, b: Group) -> None:
    for x, y in zip(a.members, b.members, strict=True):
        assert_same_run(x, y)

"""The record of verified fixes: one JSON line for each verdict, never rewritten.

`diagnose` reads its expected effects from it. The user's own lies in the folder of runs; the first
one ships with the package.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dressage.errors import RunError
from dressage.runs.files import read_bytes, sync_file, writing

FILE = "verified.jsonl"
SHIPPED = Path(__file__).with_name(FILE)
LIMIT = 64 * 2**20  # bytes
FORMAT = 1


@dataclass(frozen=True)
class Verified:
    """What a change did, over how many seeds a side."""

    env: str | None
    algo: str | None
    library: str
    patch: dict[str, Any]  # in our words
    cause: str | None  # that it was prescribed for
    verdict: str  # proven, not proven, worse
    goal: str
    seeds: int
    p: float
    final: tuple[float, float, float]  # difference of the final return, with its interval
    steps_ratio: tuple[float, float, float]  # env steps to the threshold, patched over baseline
    returns: tuple[float, float]  # mean final return of the baseline, and with the patch
    env_steps: float  # trained in all
    seconds: float
    date: str = field(default_factory=lambda: datetime.date.today().isoformat())


def add(folder: Path, verified: Verified) -> None:
    """One line more, on the disk before this returns; none where the same was said before, as by a
    command that is called again."""
    if any(_same(verified, other) for other in read(folder / FILE)):
        return
    line = json.dumps({"format": FORMAT, **asdict(verified)}, default=str) + "\n"
    path = folder / FILE
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
        sync_file(path)


def _same(one: Verified, other: Verified) -> bool:
    """But for when it was said, and how long it took."""
    alike = replace(one, date=other.date, seconds=other.seconds)
    return json.dumps(asdict(alike), default=str) == json.dumps(asdict(other), default=str)


def known(root: Path | None = None) -> list[Verified]:
    """What ships, and what was verified in this folder of runs."""
    return read(SHIPPED, *([root / FILE] if root is not None else []))


def read(*files: Path) -> list[Verified]:
    """All lines that can be read; a cut-off last one is left out."""
    return [entry for file in files if file.is_file() for entry in _entries(file)]


def _entries(path: Path) -> Iterator[Verified]:
    try:
        text = bytes(read_bytes(path, LIMIT)).decode("utf-8", "replace")
    except RunError:
        return
    names = set(Verified.__dataclass_fields__)
    for line in text.splitlines():
        try:
            told = json.loads(line)
            known = {name: told[name] for name in names if name in told}
            for name in ("final", "steps_ratio", "returns"):
                known[name] = tuple(float(value) for value in known[name])
            yield Verified(**known)
        except (KeyError, TypeError, ValueError):
            continue


def similar(
    entries: Iterable[Verified], cause: str, algo: str | None, env: str | None
) -> list[tuple[float, Verified]]:
    """Entries of a cause with what each counts: the same algorithm and environment most."""
    found = []
    for entry in entries:
        if entry.cause != cause:
            continue
        weight = 1.0
        weight *= 1.0 if entry.algo == algo else 0.3
        weight *= 1.0 if entry.env == env else 0.5
        found.append((weight * min(entry.seeds, 16) / 8, entry))
    return sorted(found, key=lambda item: -item[0])


@dataclass(frozen=True)
class Effect:
    """What a fix has done where it was tried, weighted to settings like this one."""

    steps_ratio: float  # env steps to the threshold, with it over without it
    returns: tuple[float, float]  # without it and with it, of the verdict that counts most
    where: str  # that one's environment, algorithm and library
    same: bool  # whether it is of the same environment and algorithm
    low: float  # the least and the greatest of the verdicts
    high: float
    n: int  # verdicts
    proven: int

    @property
    def share_lost(self) -> float:
        """Of the return, without the fix."""
        before, after = self.returns
        return (after - before) / max(abs(before), abs(after), 1e-9)

    @property
    def says(self) -> str:
        spread = f", {self.low:.2f} to {self.high:.2f}" if self.n > 1 else ""
        before, after = self.returns
        return (
            f"{'' if self.same else 'not measured on this task; elsewhere '}final return "
            f"{before:.4g} to {after:.4g} on {self.where}, and the return aimed at "
            f"in {self.steps_ratio:.2f} times the env steps (measured{spread}; proven in "
            f"{self.proven} of {self.n} {'verdict' if self.n == 1 else 'verdicts'})"
        )


def expected_effect(
    entries: Iterable[Verified], cause: str, algo: str | None, env: str | None
) -> Effect | None:
    """The weighted mean over the verdicts on fixes of a cause; None where there is none."""
    found = [
        (weight, entry)
        for weight, entry in similar(entries, cause, algo, env)
        if math.isfinite(entry.steps_ratio[0])
    ]
    if not found:
        return None
    total, nearest = sum(weight for weight, _ in found), found[0][1]
    ratios = [entry.steps_ratio[0] for _, entry in found]
    return Effect(
        steps_ratio=sum(weight * entry.steps_ratio[0] for weight, entry in found) / total,
        returns=nearest.returns,
        where=f"{nearest.env} with {nearest.algo} of {nearest.library}",
        same=(nearest.env, nearest.algo) == (env, algo),
        low=min(ratios),
        high=max(ratios),
        n=len(found),
        proven=sum(entry.verdict == "proven" for _, entry in found),
    )

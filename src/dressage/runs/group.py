"""`Group`: many seeds as one thing. `group.json` lists the members, each a full run below it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from dressage.errors import RunError
from dressage.runs.files import read_json, write_json, writing
from dressage.runs.run import FORMAT, Run, has_file, is_run
from dressage.runs.table import Array


class Group:
    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not is_group(self.path):
            raise RunError(f"{self.path} is not a group of runs: it has no group.json.")

    def __repr__(self) -> str:
        return f"Group({self.id!r}, {len(self.members)} members, {self.status})"

    @property
    def id(self) -> str:
        return self.path.resolve().name

    @cached_property
    def listed(self) -> list[dict[str, Any]]:
        """The entries of group.json: seed, path (a folder of the group) and what else was noted."""
        where = self.path / "group.json"
        document = read_json(where)
        match document:
            case {"format": version} if version != FORMAT:
                raise RunError(f"{where} has format {version!r}, expected {FORMAT}.")
            case {"members": list(members)}:
                pass
            case _:
                raise RunError(f"{where} is damaged: it has no list of members.")
        for member in members:
            match member:
                case {"seed": int(), "path": str(name)} if name == Path(name).name != "..":
                    continue
            raise RunError(f"{where} is damaged: a member has no seed or an impossible path.")
        return members

    @property
    def members(self) -> list[Run]:
        """Members that have begun; one that never did is only in `listed`."""
        paths = [self.path / member["path"] for member in self.listed]
        return [Run(path) for path in paths if is_run(path)]

    def member(self, seed: int) -> Run:
        for entry in self.listed:
            if entry["seed"] == seed:
                return Run(self.path / entry["path"])
        seeds = ", ".join(str(entry["seed"]) for entry in self.listed)
        raise RunError(f"The group {self.id} has no seed {seed}: its seeds are {seeds}.")

    def best_member(self) -> Run:
        """The member with the best evaluation; the first with a checkpoint where there is none."""
        able = [member for member in self.members if member.checkpoints()]
        if not able:
            raise RunError(f"No member of the group {self.id} has a checkpoint.")
        return max(able, key=_best_return)

    @property
    def config(self) -> dict[str, Any]:
        """The settings that all members share; `seed` is the first member's."""
        members = self.members
        if not members:
            raise RunError(f"The group {self.id} has no member with a config.")
        return members[0].config

    @property
    def status(self) -> str:
        """running while any member is; else failed, crashed, halted or stopped if any is."""
        states = [member.status for member in self.members]
        missing = len(self.listed) - len(states)
        for state in ("running", "failed", "crashed", "halted", "stopped"):
            if state in states:
                return state
        if states and not missing:
            return "finished"
        return (
            "failed" if any(entry.get("status") == "failed" for entry in self.listed) else "stopped"
        )

    def metrics(self, names: str | Iterable[str] | None = None) -> dict[int, dict[str, Array]]:
        """Each seed's `Run.metrics`."""
        names = names if names is None or isinstance(names, str) else list(names)
        return {seed: run.metrics(names) for seed, run in self._by_seed().items()}

    def _by_seed(self) -> dict[int, Run]:
        return {
            entry["seed"]: Run(self.path / entry["path"])
            for entry in self.listed
            if is_run(self.path / entry["path"])
        }

    def summary(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "path": str(self.path),
            "status": self.status,
            "members": [member.summary() for member in self.members],
        }

    def _repr_html_(self) -> str:
        from dressage.runs.show import group_html_view

        return group_html_view(self)


def _best_return(run: Run) -> float:
    best = run.best
    return float(best["evaluation"]["val/roll/ep_rew_mean"]) if best else -math.inf


def is_group(path: Path) -> bool:
    return has_file(path, "group.json")


def write_group(path: Path, members: Iterable[Mapping[str, Any]]) -> Group:
    """Create or update group.json; each member needs `seed` and `path` (its folder's name)."""
    path = Path(path)
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    entries = [dict(member) for member in members]
    write_json(path / "group.json", {"format": FORMAT, "id": path.name, "members": entries})
    return Group(path)

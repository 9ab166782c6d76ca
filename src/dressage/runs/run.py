"""`Run`: a run directory as the rest of the product reads it. Nothing is read before it is asked
for, nothing is ever written, and a crash at any byte leaves something to read."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from dressage.errors import RunError, did_you_mean
from dressage.runs import checkpoint as checkpoints_
from dressage.runs.files import parse_json, read_bytes, read_json
from dressage.runs.lock import is_locked
from dressage.runs.table import Array, number_columns, read_lines

if TYPE_CHECKING:
    from pandas import DataFrame

FORMAT = 1


class Run:
    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not is_run(self.path):
            raise RunError(f"{self.path} is not a run directory: it has no config.json.")

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self.status})"

    @property
    def id(self) -> str:
        """The folder's name; a member of a group is `<group>/<seed>`."""
        path = self.path.resolve()
        if (path.parent / "group.json").is_file():
            return f"{path.parent.name}/{path.name}"
        return path.name

    @property
    def members(self) -> list[Run]:
        """Itself: so that what works on a group works on a run."""
        return [self]

    def _document(self, name: str) -> dict[str, Any]:
        document = read_json(self.path / name)
        if not isinstance(document, dict):
            raise RunError(f"{self.path / name} is damaged: it is not a JSON object.")
        version = document.get("format")
        if version != FORMAT:
            raise RunError(
                f"{self.path / name} has format {version!r}, and this version of dressage reads "
                f"format {FORMAT}: update dressage."
            )
        return document

    @cached_property
    def _config(self) -> dict[str, Any]:
        config = self._document("config.json")
        if not isinstance(config.get("values"), dict):
            raise RunError(f"{self.path / 'config.json'} is damaged: it has no values.")
        return config

    @property
    def config(self) -> dict[str, Any]:
        """The resolved settings."""
        values: dict[str, Any] = self._config["values"]
        return values

    @property
    def sources(self) -> dict[str, str]:
        """Where each setting came from: default, preset, override."""
        sources = self._config.get("sources")
        return sources if isinstance(sources, dict) else {}

    @cached_property
    def spec(self) -> dict[str, Any]:
        return self._document("spec.json")

    @cached_property
    def system(self) -> dict[str, Any]:
        return self._document("system.json")

    @property
    def status(self) -> str:
        """running, finished, stopped, halted (by the guard), failed, or crashed: said to run, but
        nobody writes it."""
        return str(self.status_details()["state"])

    def status_details(self) -> dict[str, Any]:
        """The content of status.json (state, reason, pid, started, time), with `crashed` told."""
        try:
            details = self._document("status.json")
        except RunError:
            details = {"state": "running", "reason": ""}
        if is_locked(self.path):
            return {**details, "state": "running"}
        if details.get("state") not in ("finished", "stopped", "halted", "failed"):
            return {**details, "state": "crashed"}
        return details

    @overload
    def metrics(
        self, names: str | Iterable[str] | None = None, *, frame: Literal[False] = False
    ) -> dict[str, Array]: ...

    @overload
    def metrics(
        self, names: str | Iterable[str] | None = None, *, frame: Literal[True]
    ) -> DataFrame: ...

    def metrics(
        self, names: str | Iterable[str] | None = None, *, frame: bool = False
    ) -> dict[str, Array] | DataFrame:
        """metrics.csv as float64 arrays (nan: not measured), all of one length.

        `names` chooses columns and may hold patterns (`train/loss/*`); `frame=True` gives a
        pandas data frame.
        """
        header, lines = read_lines(self.path / "metrics.csv")
        chosen = header
        if names is not None:
            chosen = self._chosen([names] if isinstance(names, str) else list(names), header)
        columns = number_columns(lines, [header.index(name) for name in chosen])
        arrays = dict(zip(chosen, columns, strict=True))
        if not frame:
            return arrays
        import pandas

        return pandas.DataFrame(arrays)

    def _chosen(self, asked: list[str], header: list[str]) -> list[str]:
        chosen: dict[str, None] = {}
        for name in asked:
            matches = [name] if name in header else fnmatch.filter(header, name)
            if not matches and "*" not in name:
                raise RunError(
                    f"The run {self.id} has no metric '{name}'.{did_you_mean(name, header)}"
                )
            chosen.update(dict.fromkeys(matches))
        return list(chosen)

    def episodes(self) -> dict[str, Array]:
        """episodes.csv by column: numbers as float64, `ended` as text."""
        header, lines = read_lines(self.path / "episodes.csv")
        numeric = [at for at, name in enumerate(header) if name != "ended"]
        columns = dict(zip(numeric, number_columns(lines, numeric), strict=True))
        return {
            name: columns[at]
            if at in columns
            else np.array([line.split(",")[at] for line in lines], dtype=np.str_)
            for at, name in enumerate(header)
        }

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """What happened, in order, optionally of one kind; damaged lines are left out."""
        path = self.path / "events.jsonl"
        if not path.is_file():
            return []
        found = []
        for line in bytes(read_bytes(path)).split(b"\n")[:-1]:
            try:
                entry = parse_json(line, path)
            except RunError:
                continue
            if isinstance(entry, dict) and kind in (None, entry.get("kind")):
                found.append(entry)
        return found

    def checkpoints(self) -> dict[int, Path]:
        """Checkpoint folders by env_steps, oldest first."""
        return checkpoints_.checkpoint_folders(self.path)

    @property
    def best(self) -> dict[str, Any] | None:
        """The best evaluation: `env_steps` of its checkpoint and `evaluation`."""
        return checkpoints_.read_best(self.path)

    def checkpoint(self, name: str | int = "last") -> Path:
        """The folder of checkpoint "best", "last" or a number of env steps."""
        folders = self.checkpoints()
        if name == "last":
            latest = checkpoints_.latest_checkpoint(self.path)
            if latest.path is None:
                why = f" ({latest.skipped[0]})" if latest.skipped else ""
                raise RunError(f"The run {self.id} has no whole checkpoint{why}.")
            return latest.path
        if name == "best":
            best = self.best
            if best is None:
                raise RunError(
                    f"The run {self.id} has no best checkpoint, since none was evaluated: use "
                    f"{self.id}@last."
                )
            name = best["env_steps"]
        if str(name).isdecimal() and int(name) in folders:
            return folders[int(name)]
        known = ", ".join(map(str, folders)) or "none"
        raise RunError(
            f"The run {self.id} has no checkpoint '{name}': choose best, last, or one of {known}."
        )

    def summary(self) -> dict[str, Any]:
        """The run in a dozen values; None for what is not known."""
        from dressage.runs.show import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from dressage.runs.show import html_view

        return html_view(self)


def is_run(path: Path) -> bool:
    return has_file(path, "config.json")


def has_file(folder: Path, name: str) -> bool:
    """Whether a folder holds a file; False for names that no file can have."""
    try:
        return (folder / name).is_file()
    except (OSError, ValueError):
        return False

"""Logs in which no metric is known: what they hold, what is needed, and which are none at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from dressage.errors import RunError
from dressage.runs.readers import assemble, generic, own
from dressage.runs.readers.tables import quoted
from dressage.runs.view import RunView

COUNTERS = ("env_steps", "wall_seconds", "updates", "episodes")
BESIDE = ("sys/", "train/cnt/")
MOST_COLUMNS = 8
NEEDED = (
    "--map train/roll/ep_rew_mean=NAME says which is the return, --map env_steps=NAME the clock"
)


def nothing_known(view: RunView) -> bool:
    """Whether a log tells nothing of what was learned: counters and speed alone are not enough."""
    told = (name for name in view.visible() if name not in COUNTERS)
    return all(name.startswith(BESIDE) for name in told) and not len(view.episodes.returns)


def say_what_is_needed(view: RunView) -> None:
    if view.library == own.LIBRARY or not nothing_known(view):
        return
    if view.unknown:
        found = shortened(view.unknown, MOST_COLUMNS)
        assemble.note(view, f"No metric of {quoted(view.id)} is known. Found: {found}. {NEEDED}.")
    elif not view.weights:
        assemble.note(view, f"{quoted(view.id)} holds no metric that can be read.")


def without_strangers(
    folder: Path, views: list[RunView], mapping: Mapping[str, str]
) -> list[RunView]:
    """Tables of a folder without those that are no logs: neither a metric nor a clock is known."""
    named = {theirs for ours, theirs in mapping.items() if ours != "env_steps"}
    logs: list[RunView] = []
    strangers: list[RunView] = []
    for view in views:
        clock = "env_steps" in view.own_names or named & set(view.unknown)
        stranger = view.library == generic.LIBRARY and not clock and nothing_known(view)
        (strangers if stranger else logs).append(view)
    if not strangers or len(views) == 1:
        return views
    files = shortened(view.path.name for view in strangers)
    if logs:
        assemble.note(logs[0], f"Tables without a known column were left out: {files}.")
        return logs
    columns = shortened(dict.fromkeys(name for view in strangers for name in view.unknown))
    raise RunError(
        f"None of the {len(strangers)} tables in {folder} has a column that is known: {files}. "
        f"Found: {columns or 'no numbers'}. {NEEDED}."
    )


def shortened(names: Iterable[str], most: int = 3) -> str:
    """The first few of a list, and how many more there are."""
    every = [quoted(name) for name in names]
    left = len(every) - most
    return ", ".join(every) if left <= 0 else f"{', '.join(every[:most])} and {left} more"

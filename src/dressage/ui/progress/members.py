"""A group of seeds while it trains: one line a seed, and one for all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Group
from rich.table import Table
from rich.text import Text

from dressage.core.hooks import MemberState
from dressage.ui.progress.track import EVALUATION, RETURN, Speed
from dressage.ui.text import count, duration, number

STATE_STYLES = {
    "waiting": "dim",
    "running": "cyan",
    "finished": "green",
    "stopped": "yellow",
    "halted": "red",
    "failed": "red",
    "crashed": "red",
}


@dataclass
class GroupTrack:
    """All members as they last stood. Most rows hold no evaluation, so the newest are kept here."""

    members: Sequence[MemberState] = ()
    latest: dict[str, dict[int, float]] = field(
        default_factory=lambda: {RETURN: {}, EVALUATION: {}}
    )
    speed: Speed = field(default_factory=Speed)
    began: float = field(default_factory=time.monotonic)
    title: str = ""

    def see(self, members: Sequence[MemberState]) -> list[MemberState]:
        """Takes the new states in; those whose status has changed."""
        before = {member.seed: member.status for member in self.members}
        self.members = members
        for name, values in self.latest.items():
            values |= {m.seed: m.metrics[name] for m in members if name in m.metrics}
        self.speed.add(self.env_steps)
        if not self.title:
            self.title = _title(members)
        return [m for m in members if before.get(m.seed, m.status) != m.status]

    @property
    def env_steps(self) -> int:
        return sum(member.env_steps for member in self.members)

    @property
    def budget(self) -> int:
        return max(1, sum(member.budget for member in self.members))

    def mean(self, name: str) -> float | None:
        return mean_of(list(self.latest[name].values()))

    def seconds_left(self) -> float | None:
        rate = self.speed.rate()
        return None if rate is None else (self.budget - self.env_steps) / rate


def _title(members: Sequence[MemberState]) -> str:
    """What is trained, as soon as a member's files can tell."""
    from dressage.errors import RunError
    from dressage.runs.run import Run, is_run

    for member in members:
        if is_run(member.path):
            try:
                config = Run(member.path).config
            except RunError:
                continue
            return f"{config['env']}  {config['algo']}  {len(members)} seeds"
    return ""


def mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return math.fsum(known) / len(known) if known else None


def members_view(group: GroupTrack, width: int, height: int) -> Group:
    """Rows for the members that fit; the rest are counted."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("seed", "state", "progress"):
        table.add_column(name, no_wrap=True)
    for name in ("return", "evaluation"):
        table.add_column(name, justify="right", no_wrap=True)
    members, room = group.members, max(1, height - 7)
    if len(members) > room:
        members = [member for member in members if member.status != "waiting"]
    for member in members[:room]:
        style = STATE_STYLES.get(member.status, "")
        table.add_row(
            str(member.seed),
            Text(member.status, style),
            _small_bar(member.env_steps / member.budget, style, width),
            number(group.latest[RETURN].get(member.seed)),
            number(group.latest[EVALUATION].get(member.seed)),
        )
    finished = sum(member.status == "finished" for member in group.members)
    table.add_row(
        Text("all", "bold"),
        f"{finished} of {len(group.members)}",
        _small_bar(group.env_steps / group.budget, "bold", width),
        Text(number(group.mean(RETURN)), "bold"),
        Text(number(group.mean(EVALUATION)), "bold"),
    )
    hidden = len(group.members) - len(members[:room])
    foot = Text(f"{hidden} more   " if hidden else "", "dim", no_wrap=True, overflow="ellipsis")
    foot.append(f"{count(group.speed.rate())} env steps a second   ")
    foot.append(f"left {duration(group.seconds_left())}   ")
    foot.append(f"elapsed {duration(time.monotonic() - group.began)}")
    notes = [said_line(group.members)] if any(m.said for m in group.members) else []
    title = Text(group.title or f"{len(group.members)} seeds", "bold", no_wrap=True)
    return Group(title, table, *notes, foot)


def said_line(members: Sequence[MemberState]) -> Text:
    """What is said of the members, most often said first."""
    said = [member.said for member in members if member.said]
    most = max(said, key=said.count)
    line = f"{said.count(most)} of {len(members)} seeds: {most}"
    return Text(line, "yellow", no_wrap=True, overflow="ellipsis")


def _small_bar(progress: float, style: str, width: int) -> Text:
    room = 20 if width >= 76 else 8
    progress = min(1.0, progress)
    full = round(progress * room)
    line = Text("━" * full, style, no_wrap=True)
    return line.append("─" * (room - full), "bright_black").append(f"{progress * 100:4.0f} %")

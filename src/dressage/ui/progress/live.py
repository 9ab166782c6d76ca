"""The display in a terminal: redrawn at most five times a second, from the training loop itself.

No thread: a redraw takes about four milliseconds, and nothing changes between two iterations.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from dressage.core.hooks import Hook, MemberState, Moment
from dressage.reporting.braille import draw, frame_of
from dressage.ui.progress.members import GroupTrack, members_view
from dressage.ui.progress.track import Track
from dressage.ui.text import count, duration, number, short_count

REFRESH_SECONDS = 0.2
LARGEST_SHARE = 0.01  # of the time may go into drawing, however slow the terminal is
WIDEST = 100  # columns
LEAST_ROWS, MOST_ROWS = 3, 10  # of the plot
SUMMARY_ROWS = 18  # of everything else, the summary at the end included: it all fits one screen
STYLES = {"line": "cyan", "mark": "bold yellow", "level": "green", "blank": ""}


class LiveProgress(Hook):
    """Bar, return, speed, time left and a learning curve; for a group, one line a seed."""

    def __init__(self, console: Console) -> None:
        self.console, self.track, self.group = console, Track(), GroupTrack()
        self.live: Live | None = None
        self._next_refresh = 0.0

    def open(self, words: str) -> None:
        """Says at once what is being prepared: importing torch takes seconds."""
        self._show(Group(Text(words, "dim")))
        assert self.live is not None
        self.live.transient = True

    def on_start(self, moment: Moment) -> None:
        self.track.start(moment)
        self.track.speed.add(moment.env_steps)
        self._refresh(force=True)

    def on_iteration(self, moment: Moment) -> None:
        self.track.see(moment)
        self._refresh()

    def on_row(self, moment: Moment) -> None:
        self.track.row(moment)

    def on_evaluation(self, moment: Moment) -> None:
        self.track.evaluation(moment)
        self._refresh()

    def on_checkpoint(self, moment: Moment) -> None:
        self.track.checkpoint(moment)

    def on_end(self, moment: Moment) -> None:
        self.track.see(moment)
        self._refresh(force=True)
        self.close()

    def on_group(self, members: Sequence[MemberState]) -> None:
        self.group.see(members)
        ended = all(m.status not in ("waiting", "running") for m in members)
        if ended or time.monotonic() >= self._next_refresh:
            self._show(members_view(self.group, self._width(), self.console.height))

    def close(self) -> None:
        """Leaves the last picture of a run on the screen; also after a failure."""
        if self.live is not None:
            # The summary of a group is the same table, only whole.
            self.live.transient |= bool(self.group.members)
            self.live.stop()
            self.live = None

    def _width(self) -> int:
        return min(self.console.width, WIDEST)

    def _refresh(self, force: bool = False) -> None:
        if not force and time.monotonic() < self._next_refresh:
            return
        self.track.speed.add(self.track.env_steps)
        self._show(run_view(self.track, self._width(), self.console.height))

    def _show(self, picture: Group) -> None:
        began = time.monotonic()
        if self.live is None:
            self.live = Live(console=self.console, auto_refresh=False, vertical_overflow="crop")
            self.live.start()
        self.live.transient = False
        try:
            self.live.update(picture, refresh=True)
        except OSError:  # the terminal is gone; training is not
            self.console.quiet = True
        now = time.monotonic()
        self._next_refresh = now + max(REFRESH_SECONDS, (now - began) / LARGEST_SHARE)


def run_view(track: Track, width: int, height: int) -> Group:
    """Everything about one run, on at most `width` columns and `height` rows."""
    lines = [_title(track, width), bar(track.progress, width), *_figures(track, width)]
    rows = max(LEAST_ROWS, min(MOST_ROWS, height - SUMMARY_ROWS))
    lines += _plot(track, width, rows)
    lines.append(Text(track.event, "dim", no_wrap=True, overflow="ellipsis"))
    if track.said:
        lines.append(Text(track.said, "yellow", no_wrap=True, overflow="ellipsis"))
    return Group(*lines)


def _title(track: Track, width: int) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(track.env, "bold").append(f"  {track.algo}  seed {track.seed}", "dim")
    where = f"  {track.path}"
    if line.cell_len + len(where) <= width:
        line.append(where, "dim")
    return line


def bar(progress: float, width: int) -> Text:
    """A bar with its share; halves of a character make it move evenly."""
    room = width - 6
    halves = round(progress * room * 2)
    full, half = divmod(halves, 2)
    line = Text(no_wrap=True)
    line.append("━" * full + "╸" * half, "green" if progress >= 1 else "cyan")
    line.append("─" * (room - full - half), "bright_black")
    return line.append(f"{progress * 100:4.0f} %")


def _figures(track: Track, width: int) -> list[Text]:
    """Labelled numbers; the same ones always share a line, so that nothing jumps."""
    evaluation = number(track.latest_evaluation)
    if track.threshold is not None:
        evaluation += f" (solved at {number(track.threshold)})"
    left = track.seconds_left() if track.progress < 1 else 0.0
    pairs = [
        ("return", number(track.latest_return)),
        ("evaluation", evaluation),
        ("env steps", f"{count(track.env_steps)} of {count(track.budget)}"),
        ("speed", f"{count(track.speed.rate())} a second"),
        ("left", duration(left)),
        ("elapsed", duration(track.wall_seconds)),
    ]
    groups = [pairs[:3], pairs[3:]] if width >= 78 else [pairs[:2], pairs[2:4], pairs[4:]]
    return [_figure_line(group) for group in groups]


def _figure_line(pairs: Sequence[tuple[str, str]]) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    for label, value in pairs:
        line.append("   " if line else "").append(f"{label} ", "dim").append(value, "bold")
    return line


def _plot(track: Track, width: int, rows: int) -> list[Text]:
    level = track.threshold
    right = max(track.budget, track.env_steps)
    curves = [track.curve, track.evaluations]
    frame = frame_of(curves, right, width - 10, rows)
    if frame is None:
        return [Text("the curve begins with the first finished episode", "dim")]
    labels = {0: number(frame.high), rows - 1: number(frame.low)}
    lines = []
    for index, cells in enumerate(draw(frame, track.curve, track.evaluations, level)):
        line = Text(no_wrap=True)
        line.append(f"{labels.get(index, ''):>8} ", "dim").append("│", "dim")
        for role, run in groupby(cells, key=itemgetter(1)):  # a style for each cell is slow
            line.append("".join(character for character, _ in run), STYLES[role])
        lines.append(line)
    end = f"{short_count(right)} env steps"
    axis = Text(f"{'':8} └", "dim", no_wrap=True)
    axis.append("─" * max(1, frame.width - len(end) - 1) + " " + end)
    legend = Text(f"{'':10}", no_wrap=True, overflow="ellipsis")
    legend.append("⣀⠤⠒ ", STYLES["line"]).append("training  ", "dim")
    legend.append("• ", STYLES["mark"]).append("evaluation  ", "dim")
    if level is not None and frame.low <= level <= frame.high:
        legend.append("┈ ", STYLES["level"]).append("threshold", "dim")
    return [*lines, axis, legend]

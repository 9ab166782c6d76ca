"""The display in a plain log: a line at every tenth of the budget, or every half minute."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console

from dressage.core.hooks import Hook, MemberState, Moment
from dressage.ui.progress.members import GroupTrack
from dressage.ui.progress.track import EVALUATION, RETURN, Track
from dressage.ui.text import count, duration, number

LINE_SECONDS = 30.0
SHARE = 0.1


class PlainProgress(Hook):
    """Lines that read well in a file, a notebook or a terminal that cannot move its cursor."""

    def __init__(self, console: Console) -> None:
        self.console, self.track, self.group = console, Track(), GroupTrack()
        self._next_time = 0.0
        self._next_share = SHARE

    def open(self, words: str) -> None:
        """The first line comes with the first fact."""

    def on_start(self, moment: Moment) -> None:
        track = self.track
        track.start(moment)
        track.speed.add(moment.env_steps)
        verb = f"Resuming at {track.env_steps:,}:" if track.env_steps else "Training"
        self._say(
            f"{verb} {track.env} with {track.algo}, seed {track.seed}, "
            f"{track.budget:,} env steps, in {track.path}"
        )
        for sentence in track.resumed_with:
            self._say(sentence)
        self._plan_next(track.progress)

    def on_row(self, moment: Moment) -> None:
        # Rows come after evaluations, so that a line shows both of the same moment.
        track = self.track
        track.see(moment)
        track.row(moment)
        if track.progress < self._next_share and time.monotonic() < self._next_time:
            return
        track.speed.add(track.env_steps)
        pieces = [
            f"{track.progress * 100:3.0f} %",
            f"{count(track.env_steps)} env steps",
            f"return {number(track.latest_return)}",
        ]
        if track.latest_evaluation is not None:
            pieces.append(f"evaluation {number(track.latest_evaluation)}")
        pieces.append(f"{count(track.speed.rate())}/s")
        if track.progress < 1:
            pieces.append(f"{duration(track.seconds_left())} left")
        if track.said:
            pieces.append(track.said)
        self._say("  ".join(pieces))
        self._plan_next(track.progress)

    def on_evaluation(self, moment: Moment) -> None:
        self.track.evaluation(moment)

    def on_group(self, members: Sequence[MemberState]) -> None:
        group = self.group
        if not group.members:
            seeds = f"seeds {members[0].seed} to {members[-1].seed}"
            self._say(f"Training {seeds}, {members[0].budget:,} env steps each")
            self._plan_next(0.0)
        for member in group.see(members):
            if member.status not in ("waiting", "running"):
                self._say(f"       seed {member.seed} {member.status}")
        progress = min(1.0, group.env_steps / group.budget)
        if progress < self._next_share and time.monotonic() < self._next_time:
            return
        running = sum(member.status == "running" for member in members)
        self._say(
            f"{progress * 100:3.0f} %  {count(group.env_steps)} env steps  {running} running  "
            f"return {number(group.mean(RETURN))}  evaluation {number(group.mean(EVALUATION))}  "
            f"{count(group.speed.rate())}/s  {duration(group.seconds_left())} left"
        )
        self._plan_next(progress)

    def close(self) -> None:
        """Nothing stays open."""

    def _plan_next(self, progress: float) -> None:
        self._next_time = time.monotonic() + LINE_SECONDS
        # The end is reached by rows alone: 1.0 must not be missed by rounding.
        self._next_share = min(1.0, (int(progress / SHARE + 1e-9) + 1) * SHARE)
        if progress >= 1.0:
            self._next_share = 2.0

    def _say(self, text: str) -> None:
        if self.console.quiet:
            return
        try:
            print(text, file=self.console.file, flush=True)
        except OSError:  # nobody reads on, as after `| head`: training is worth more than its lines
            self.console.quiet = True

"""What a display remembers of a run while it trains."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dressage.core.hooks import Moment
from dressage.ui.text import number

RETURN = "train/roll/ep_rew_mean"
EVALUATION = "val/roll/ep_rew_mean"
MOST_POINTS = 500  # more than twice what a wide terminal can show
SPEED_WINDOW = 30.0  # seconds over which speed and time left are measured


@dataclass
class Speed:
    """env steps a second over the last half minute; evaluations and checkpoints count as time."""

    clock: Callable[[], float] = time.monotonic
    samples: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, env_steps: int) -> None:
        now = self.clock()
        self.samples.append((now, env_steps))
        while len(self.samples) > 2 and self.samples[1][0] < now - SPEED_WINDOW:
            self.samples.popleft()

    def rate(self) -> float | None:
        if len(self.samples) < 2:
            return None
        (began, first), (now, last) = self.samples[0], self.samples[-1]
        return (last - first) / (now - began) if now > began and last > first else None


@dataclass
class Track:
    """One run's curve, evaluations and position."""

    env: str = ""
    algo: str = ""
    seed: Any = None
    threshold: float | None = None
    path: str = ""
    env_steps: int = 0
    budget: int = 1
    wall_seconds: float = 0.0
    curve: list[tuple[float, float]] = field(default_factory=list)
    evaluations: list[tuple[float, float]] = field(default_factory=list)
    event: str = ""
    resumed_with: list[str] = field(default_factory=list)  # what a person should know of it
    said: str = ""  # of the run, by who watches it
    event_env_steps: int = -1
    speed: Speed = field(default_factory=Speed)

    def start(self, moment: Moment) -> None:
        """Reads what the run's own files say; a resumed run brings the curve it had."""
        from dressage.errors import RunError
        from dressage.runs.run import Run

        run = Run(moment.path)
        config = run.config
        self.env, self.algo, self.seed = config["env"], config["algo"], config["seed"]
        self.threshold = run.spec.get("reward_threshold")
        self.path = str(moment.path)
        self.see(moment)
        self.event = ""
        if moment.env_steps:
            for resumed in run.events("resume")[-1:]:
                skipped, reasons = resumed.get("skipped", ()), resumed.get("reasons", ())
                self.resumed_with = [
                    *(f"Resumed from the checkpoint before: {why}" for why in skipped),
                    *(f"Resumed, but not exactly: {why}" for why in reasons),
                ]
            self.event = " ".join(
                [f"resumed at {moment.env_steps:,} env steps", *self.resumed_with]
            )
            for name, points in ((RETURN, self.curve), (EVALUATION, self.evaluations)):
                try:
                    columns = run.metrics(["env_steps", name])
                except RunError:
                    continue  # a short run has not evaluated yet
                known = zip(columns["env_steps"].tolist(), columns[name].tolist(), strict=True)
                points.extend((x, y) for x, y in known if y == y)

    def see(self, moment: Moment) -> None:
        self.env_steps, self.budget = moment.env_steps, moment.budget
        self.wall_seconds, self.said = moment.wall_seconds, moment.said

    def row(self, moment: Moment) -> None:
        value = moment.metrics.get(RETURN)
        if value is not None:
            self.curve.append((moment.env_steps, value))
        if len(self.curve) > MOST_POINTS:
            del self.curve[1::2]

    def evaluation(self, moment: Moment) -> None:
        value = moment.metrics[EVALUATION]
        best = not self.evaluations or value > max(y for _, y in self.evaluations)
        self.evaluations.append((moment.env_steps, value))
        praise = ", the best so far" if best else ""
        self.event = f"evaluation at {moment.env_steps:,}: {number(value)}{praise}"
        self.event_env_steps = moment.env_steps

    def checkpoint(self, moment: Moment) -> None:
        if self.event_env_steps == moment.env_steps and self.event.startswith("evaluation"):
            self.event += ", saved"
        else:
            self.event = f"checkpoint at {moment.env_steps:,}"

    @property
    def progress(self) -> float:
        return min(1.0, self.env_steps / self.budget)

    @property
    def latest_return(self) -> float | None:
        return self.curve[-1][1] if self.curve else None

    @property
    def latest_evaluation(self) -> float | None:
        return self.evaluations[-1][1] if self.evaluations else None

    def seconds_left(self) -> float | None:
        rate = self.speed.rate()
        return None if rate is None else max(0.0, self.budget - self.env_steps) / rate

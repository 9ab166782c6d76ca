"""What a fix is, and what fixes read of a run: its settings and a few of its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dressage.diagnosis.look import median
from dressage.errors import ConfigError
from dressage.math.schedules import at, parse_schedule, schedule_in
from dressage.runs.view import RunView

Patch = dict[str, Any]


@dataclass(frozen=True)
class Fix:
    """A change for one cause: settings made from the run's numbers, and what is said of it."""

    advice: str  # what to do, in a sentence
    risk: str = "none known"
    make: Callable[[RunView], Patch] | None = None  # None: no setting mends it
    watch: str = ""  # a metric by which the next run shows whether it helped
    expects: str = ""  # a guess at its effect, where fewer env steps to the threshold is none


def rate(run: RunView, default: float = 3e-4) -> float:
    """The learning rate at its start: of the config, else as it was logged."""
    try:
        return float(at(parse_schedule(run.config["learning_rate"]), 0.0))
    except (ConfigError, KeyError, TypeError, ValueError):
        logged = run["train/hp/lr"]
        return float(logged.values[0]) if logged and logged.values[0] > 0 else default


def whole(run: RunView, name: str, default: int) -> int:
    try:
        return int(run.config.get(name) or default)
    except (TypeError, ValueError):
        return default


def number(run: RunView, name: str, default: float) -> float:
    try:
        value = run.config.get(name)
        return default if value is None else float(value)
    except (TypeError, ValueError):
        return default


def rollout(run: RunView, patch: Patch) -> int:
    """Rows between two updates with a patch, of all environments together; 0 where not known."""
    n_steps, n_envs = (patch.get(name, whole(run, name, 0)) for name in ("n_steps", "n_envs"))
    return int(n_steps) * int(n_envs)


def budget(run: RunView) -> float:
    return float(run.budget or run.env_steps or 100_000)


def episode_length(run: RunView) -> float:
    """The usual length of an episode; 200 where it is not known."""
    length = median(run["train/roll/ep_len_mean"], 0.5)
    return 200.0 if math.isnan(length) or length < 1 else length


SHORT = 200_000  # env steps: up to here RL-Zoo3's settings use rates of about 1e-3, in all families


def usual_rate(run: RunView) -> float:
    """What most runs of the family and of such a budget begin with."""
    if budget(run) <= SHORT:
        return 1e-3
    return {"on-policy": 3e-4, "value-based": 5e-4, "actor-critic": 3e-4}.get(run.family, 3e-4)


def tidy(value: float) -> float:
    """Two digits, as a person would write it."""
    return float(f"{value:.2g}")


def same(a: Any, b: Any) -> bool:
    """Whether two values of a setting mean the same, however a schedule is written."""
    if a == b:
        return True
    try:
        return bool(isinstance(a, str | dict) and parse_schedule(a) == parse_schedule(b))
    except (ConfigError, TypeError, ValueError):
        return False


LARGE = 10.0  # deviation of what the value function learns [AJ]; healthy labelled runs: up to 7.2


def to_scale(make: Callable[[RunView], Patch]) -> Callable[[RunView], Patch]:
    """The fix, and rewards brought to scale where the values they add up to are large: what is
    wrong does its harm through them."""

    def both(run: RunView) -> Patch:
        deviation = median(run["train/roll/return_std"])
        if math.isnan(deviation):  # not logged: the loss of a value function that knows nothing
            deviation = median(run["train/loss/value"]) ** 0.5
        large = run.family == "on-policy" and deviation > LARGE
        return make(run) | ({"normalize_reward": True} if large else {})

    return both


def sets(**settings: Any) -> Callable[[RunView], Patch]:
    """The same settings for every run."""
    return lambda run: dict(settings)


def number_in(value: Any) -> Any:
    """The first value of a schedule, and a number that is written as text; else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return float(at(parse_schedule(value), 0.0))
    except ConfigError:
        return value


class Line(NamedTuple):
    """How libraries without schedules of every kind explore."""

    first: float
    last: float
    until: float  # share of the budget at which the last value is reached


def epsilon_line(value: Any) -> Line:
    schedule = schedule_in(value)
    if schedule is None:
        return Line(float(value), float(value), 1.0)
    return Line(
        schedule.start, schedule.start if schedule.end is None else schedule.end, schedule.until
    )

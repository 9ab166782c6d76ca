"""Section 1: what was trained, how far it came, how well it did."""

from __future__ import annotations

import math

import numpy as np

from dressage.reporting.document import Floats, Tile
from dressage.reporting.numbers import UNKNOWN, clean, duration, interval, number, percent, whole
from dressage.reporting.source import OURS, RETURN, Evaluations, RunData

WINDOW = 100  # episodes that these libraries average over, unless told otherwise
WINDOWED = (OURS, "sb3", "cleanrl", "rllib", "gymnasium-solver")


def first_at(x: Floats, y: Floats, threshold: float) -> float | None:
    """The env steps at which a series first reaches the threshold."""
    reached = np.flatnonzero(y >= threshold)
    return float(x[reached[0]]) if reached.size else None


def speed(data: RunData) -> float | None:
    steps, seconds = data.last("env_steps"), data.last("wall_seconds")
    return steps / seconds if steps and seconds and seconds > 0 else None


def solved(data: RunData, evaluations: Evaluations) -> bool | None:
    """Whether the last evaluation's mean reaches the threshold; None where that is not known."""
    if data.threshold is None or not len(evaluations):
        return None
    return bool(evaluations.mean[-1] >= data.threshold)


def tiles(data: RunData, evaluations: Evaluations) -> list[Tile]:
    made = [_return_tile(data, evaluations)]
    if len(evaluations) > 1:
        best = int(evaluations.mean.argmax())
        where = f"at {whole(evaluations.env_steps[best])} env steps"
        bounds = interval(evaluations.low[best], evaluations.high[best])
        detail = f"95 % {bounds}, {where}" if bounds else where
        made.append(Tile("Best evaluation", number(evaluations.mean[best]), detail))
    made.append(_solved_tile(data, evaluations))
    steps = data.last("env_steps")
    used = (
        f"{percent(steps / data.budget)} of a budget of {whole(data.budget)}"
        if steps is not None and data.budget
        else "budget not known"
    )
    made.append(Tile("Env steps", whole(steps), used))
    rate = speed(data)
    each = f"{whole(rate)} env steps a second" if rate else ""
    made.append(Tile("Wall time", duration(data.last("wall_seconds")), each))
    return made


def _return_tile(data: RunData, evaluations: Evaluations) -> Tile:
    if not len(evaluations):
        last = data.last(RETURN)
        detail = averaged(data) if last is not None else no_return(data)
        return Tile("Training return", number(last), detail)
    bounds = interval(evaluations.low[-1], evaluations.high[-1])
    count = evaluations.episodes[-1]
    episodes = f"{whole(count)} episodes" if math.isfinite(count) else ""
    detail = f"95 % {bounds}, {episodes}" if bounds else episodes
    done = data.state == "finished"
    label = "Final evaluation" if done else "Last evaluation"
    return Tile(label, number(evaluations.mean[-1]), detail)


def _solved_tile(data: RunData, evaluations: Evaluations) -> Tile:
    if data.threshold is None:
        return Tile("Solved", UNKNOWN, no_threshold(data))
    against = f"threshold {number(data.threshold)}"
    answer = solved(data, evaluations)
    if answer is None:
        return Tile("Solved", UNKNOWN, f"{against}, no evaluation yet")
    if answer and evaluations.low[-1] < data.threshold:
        against += ", which the interval includes"
    return Tile("Solved", "yes" if answer else "no", against)


def no_threshold(data: RunData) -> str:
    known = data.env_is_known
    return "the environment names no threshold" if known else "the environment is not known"


def no_return(data: RunData) -> str:
    return "no episode has ended" if data.ours else "the log has none"


def averaged(data: RunData) -> str:
    """Over which episodes the newest training return is a mean."""
    count = data.last("episodes") or data.episodes_ended
    if count is not None and count < WINDOW:
        return f"mean of {whole(count)} episode{'s' * (count != 1)}"
    if data.library not in WINDOWED:
        return "as logged"
    return f"mean of {'the last' if count else 'up to'} {WINDOW} episodes"


def facts(data: RunData, evaluations: Evaluations) -> list[tuple[str, str]]:
    """The rest of the summary, as a table of two columns."""
    status = data.state
    reason = clean(data.status.get("reason") or "")
    if reason and reason != status:
        status += f": {reason}"
    rows = [
        ("Environment", _environment(data)),
        ("Algorithm", data.algo),
        ("Seed", clean(data.config.get("seed", UNKNOWN), 40)),
        ("Status", status),
        ("Updates", whole(data.last("updates"))),
        ("Episodes", whole(data.episodes_ended)),
        ("Training return", _training_return(data)),
    ]
    if data.threshold is not None:
        rows.append(("Env steps to the threshold", _to_threshold(data, evaluations)))
    resume = data.spec.get("resume")
    if isinstance(resume, dict) and "exact" in resume:
        rows.append(
            ("Exact resume", "yes" if resume["exact"] else f"no: {clean(resume.get('reason'))}")
        )
    if data.ours:
        rows.append(("Started", clean(data.status.get("started", UNKNOWN), 40)))
    else:
        rows.insert(2, ("Library", data.library))
    return rows


def _environment(data: RunData) -> str:
    parts = [data.env]
    if package := clean(data.spec.get("package") or "", 80):
        parts.append(package)
    if data.spec.get("time_limit"):
        parts.append(f"time limit {clean(data.spec['time_limit'], 20)} env steps")
    return ", ".join(parts)


def _training_return(data: RunData) -> str:
    last, best = data.last(RETURN), data.last("train/roll/ep_rew_best")
    if last is None:
        return no_return(data)
    text = f"{number(last)}, {averaged(data)}"
    return text if best is None else f"{text} (best {number(best)})"


def _to_threshold(data: RunData, evaluations: Evaluations) -> str:
    assert data.threshold is not None
    parts = []
    for name, reached in (
        ("evaluation", first_at(evaluations.env_steps, evaluations.mean, data.threshold)),
        ("training mean", first_at(*data.series(RETURN), data.threshold)),
    ):
        text = "not reached" if reached is None else whole(reached)
        parts.append(f"{text} by {name}")
    return "; ".join(parts)

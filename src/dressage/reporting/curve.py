"""The learning curve: training mean, raw episodes, evaluations with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dressage.reporting.document import Chart, Series
from dressage.reporting.numbers import number
from dressage.reporting.source import RETURN, RunData

FAINT = 2000  # episodes that the cloud starts from


def learning_curve(data: RunData, marks: Sequence[tuple[float, str]] = ()) -> Chart:
    """`marks`: places beside the resumes, with what is there."""
    series = []
    if data.episodes and len(data.episodes["return"]):
        x, y = data.episodes["env_steps"], data.episodes["return"]
        if len(x) > FAINT:
            at = np.linspace(0, len(x) - 1, FAINT).round().astype(np.int64)
            x, y = x[at], y[at]
        series.append(Series("episodes", x, y, style="cloud", color=-1))
    x, y = data.series(RETURN)
    if len(x):
        series.append(Series("training mean", x, y, color=0))
    evaluations = data.evaluations()
    if len(evaluations):
        series.append(
            Series(
                "evaluation, 95 % interval",
                evaluations.env_steps,
                evaluations.mean,
                style="points",
                color=1,
                low=evaluations.low,
                high=evaluations.high,
            )
        )
    says = (
        "Undiscounted return. Faint dots are single training episodes, which explore; evaluations "
        "play the deterministic policy on seeds of their own."
    )
    return Chart(
        title=f"Learning curve, {data.env}",
        series=series,
        unit="return",
        caption=[says],
        robust=False,
        level=threshold_level(data),
        marks=[*resume_marks(data), *marks],
        wide=True,
    )


def threshold_level(data: RunData) -> tuple[float, str] | None:
    if data.threshold is None or abs(data.threshold) > 1e100:
        return None
    return data.threshold, f"threshold {number(data.threshold)}"


def resume_marks(data: RunData) -> list[tuple[float, str]]:
    last = data.last("env_steps") or 0.0
    steps = [event.get("env_steps") for event in data.events if event.get("kind") == "resume"]
    return [(float(s), "resumed") for s in steps if isinstance(s, int) and 0 <= s <= last][:20]

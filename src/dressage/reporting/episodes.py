"""How single episodes ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from dressage.reporting.document import Block, Chart, Charts, Floats, Paragraph, Series
from dressage.reporting.numbers import number, percent, whole
from dressage.reporting.scale import round_step
from dressage.reporting.source import RunData

BINS = 24


def episode_blocks(members: list[RunData]) -> list[Block]:
    """Of one run, or of all members of a group together."""
    held = [data.episodes for data in members if data.episodes]
    returns, lengths, ended, late = _pool(held)
    if not len(returns):
        return [Paragraph("No episode has ended yet.")]
    total = sum(data.last("episodes") or 0 for data in members)
    says = (
        f"{_ends(ended)} Return: median "
        f"{number(float(np.median(returns)))}, from {number(float(returns.min()))} to "
        f"{number(float(returns.max()))}; over the last quarter, median "
        f"{number(float(np.median(returns[late])))}."
    )
    blocks: list[Block] = [Paragraph(says)]
    if total > len(returns):
        blocks.append(
            Paragraph(
                f"The run recorded {whole(len(returns))} of {whole(total)} episodes: at most 100 "
                "in a log interval, evenly spaced; rows after the last log are not counted.",
                quiet=True,
            )
        )
    charts = [histogram("Returns", returns, late, "return", "Return of an episode.")]
    if (known := np.isfinite(lengths)).any():
        says = "Env steps of an episode."
        charts.append(histogram("Lengths", lengths[known], late[known], "env steps", says))
    blocks.append(Charts("", charts))
    return blocks


def _ends(ended: Any) -> str:
    count = len(ended)
    if (ended == "").all():  # the log does not tell
        return f"{whole(count)} episodes."
    truncated = float((ended == "truncated").mean())
    if truncated in (0.0, 1.0):
        how = "truncated: the clock ended them" if truncated else "terminated: the task ended them"
        return f"All {whole(count)} episodes were {how}."
    return (
        f"Of {whole(count)} episodes, {percent(truncated)} were truncated (the clock ended them), "
        "the rest terminated."
    )


def _pool(held: list[dict[str, Any]]) -> tuple[Any, Any, Any, Any]:
    """Finite returns, lengths, how they ended, and which belong to each run's last quarter."""
    parts = []
    for episodes in held:
        known = np.isfinite(episodes["return"])
        count = int(known.sum())
        late = np.arange(count) >= count - max(1, count // 4)
        kept = (episodes["return"][known], episodes["length"][known], episodes["ended"][known])
        parts.append((*kept, late))
    if not parts:
        nothing = np.empty(0)
        return nothing, nothing, nothing, nothing
    returns, lengths, ended, late = (np.concatenate(column) for column in zip(*parts, strict=True))
    return returns, lengths, ended, late


def histogram(title: str, values: Floats, late: Floats, unit: str, says: str) -> Chart:
    """Round edges; the last quarter of the episodes in front."""
    edges = _edges(values)
    everything = np.histogram(values, edges)[0].astype(np.float64)
    recent = np.histogram(values[late], edges)[0].astype(np.float64)
    series = [
        Series("all episodes", edges, everything, color=0),
        Series("last quarter of them", edges, recent, color=0),
    ]
    return Chart(title, series, "episodes", kind="bars", caption=[says], x_label=unit)


def _edges(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    span = high - low
    if not span > abs(high) * 1e-9:
        width = round_step(max(abs(high) * 0.1, 1e-6))
        return np.array([low - 1.5 * width, low - width / 2, low + width / 2, low + 1.5 * width])
    step = round_step(span / BINS)
    first = np.floor(low / step)
    count = int(np.floor(high / step) - first) + 1
    edges: Floats = (first + np.arange(count + 1)) * step
    return edges

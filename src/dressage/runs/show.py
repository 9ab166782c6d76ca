"""A run in a notebook: a dozen values and a learning curve, one self-contained piece of HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dressage.errors import RunError
from dressage.runs.table import Array

if TYPE_CHECKING:
    from dressage.runs.group import Group
    from dressage.runs.run import Run

RETURN = "train/roll/ep_rew_mean"
BEST_RETURN = "train/roll/ep_rew_best"
EVALUATION = "val/roll/ep_rew_mean"
WIDTH, HEIGHT, MARGIN = 420, 120, 6
COLORS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2")


def summary(run: Run) -> dict[str, Any]:
    metrics = run.metrics()
    try:
        config = run.config
    except RunError:
        config = {}
    env_steps, wall_seconds = _last(metrics, "env_steps"), _last(metrics, "wall_seconds")
    return {
        "id": run.id,
        "path": str(run.path),
        "status": run.status,
        "env": config.get("env"),
        "algo": config.get("algo"),
        "seed": config.get("seed"),
        "env_steps": _whole(env_steps),
        "updates": _whole(_last(metrics, "updates")),
        "episodes": _whole(_last(metrics, "episodes")),
        "wall_seconds": wall_seconds,
        "env_steps_per_second": env_steps / wall_seconds if env_steps and wall_seconds else None,
        "ep_rew_mean": _last(metrics, RETURN),
        "ep_rew_best": _last(metrics, BEST_RETURN),
        "eval_return_mean": _last(metrics, EVALUATION),
    }


def _last(metrics: Mapping[str, Array], name: str) -> float | None:
    """The newest finite value of a column."""
    values = metrics.get(name, np.empty(0))
    values = values[np.isfinite(values)]
    return float(values[-1]) if values.size else None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _table(values: Mapping[str, Any]) -> str:
    rows = []
    for name, value in values.items():
        text = "" if value is None else f"{value:,.5g}" if isinstance(value, float) else str(value)
        rows.append(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def learning_curve(curves: list[tuple[str, Array, Array]]) -> str:
    """Lines (label, x, y) as an inline SVG; empty where nothing can be drawn."""
    points = [
        (label, x[keep], y[keep])
        for label, x, y in curves
        if (keep := np.isfinite(x) & np.isfinite(y)).any()
    ]
    if not points:
        return ""
    every_x = np.concatenate([x for _, x, _ in points])
    every_y = np.concatenate([y for _, _, y in points])
    left, right, low, high = every_x.min(), every_x.max(), every_y.min(), every_y.max()
    lines = []
    for index, (label, x, y) in enumerate(points):
        chosen = np.linspace(0, len(x) - 1, min(len(x), 400)).round().astype(int)
        horizontal = MARGIN + _share(x[chosen], left, right) * (WIDTH - 2 * MARGIN)
        vertical = HEIGHT - MARGIN - _share(y[chosen], low, high) * (HEIGHT - 2 * MARGIN)
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(horizontal, vertical, strict=True))
        color = COLORS[index % len(COLORS)]
        lines.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.5">'
            f"<title>{html.escape(label)}</title></polyline>"
        )
    caption = f"return {low:,.4g} to {high:,.4g} over {right:,.0f} env steps"
    return (
        f'<figure style="margin:0"><svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img">{"".join(lines)}</svg>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def _share(values: Array, low: float, high: float) -> Array:
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return np.full(len(values), 0.5)
    return (values - low) / span


def _curve(run: Run, name: str, label: str) -> tuple[str, Array, Array]:
    metrics = run.metrics()
    empty = np.empty(0)
    x = metrics.get("env_steps", empty)
    return label, x, metrics.get(name, np.full(len(x), math.nan))


def html_view(run: Run) -> str:
    curves = [_curve(run, RETURN, "training return"), _curve(run, EVALUATION, "evaluation return")]
    return f"<div>{_table(summary(run))}{learning_curve(curves)}</div>"


def group_html_view(group: Group) -> str:
    members = group.members
    values = {"id": group.id, "status": group.status, "members": len(members)}
    states = {f"seed folder {member.path.name}": member.status for member in members}
    curves = [_curve(member, RETURN, member.id) for member in members]
    return f"<div>{_table({**values, **states})}{learning_curve(curves)}</div>"

"""Section 2: which metrics are drawn together, and the key metrics as a table."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dressage.reporting.document import Chart, Charts, Code, Floats, Series, Strong, Table, Words
from dressage.reporting.numbers import duration, number, percent, signed
from dressage.reporting.shapes import STACK_COLUMNS
from dressage.reporting.source import RETURN, RunData
from dressage.reporting.trends import (
    Range,
    block_means,
    course,
    healthy_text,
    known_metric,
    numeric_range,
    sparkline,
    verdict,
)
from dressage.runs.metrics import METRICS, NO_RANGE


@dataclass(frozen=True)
class Panel:
    heading: str
    title: str
    names: tuple[str, ...]  # metrics, `*` for a family
    log: bool = False
    from_zero: bool = False


_T, _R, _M, _L = "train/", "train/roll/", "train/metrics/", "train/loss/"
PANELS = (
    Panel("Episodes over time", "Episode length", (f"{_R}ep_len_mean",), from_zero=True),
    Panel("Episodes over time", "Spread of returns", (f"{_R}ep_rew_std",), from_zero=True),
    Panel("Episodes over time", "Success rate", (f"{_R}success_rate", "val/roll/success_rate")),
    Panel("Policy updates", "KL divergence", (f"{_M}kl_divergence",), from_zero=True),
    Panel("Policy updates", "Clip fraction", (f"{_M}clip_fraction",), from_zero=True),
    Panel("Policy updates", "Policy entropy", (f"{_M}entropy",)),
    Panel("Policy updates", "Largest probability ratio", (f"{_M}ratio_max",)),
    Panel("Policy updates", "Entropy temperature", (f"{_M}alpha",), log=True),
    Panel("Policy updates", "Epochs before the KL limit", (f"{_M}epochs_done",), from_zero=True),
    Panel("Policy updates", "Updates skipped", (f"{_M}skipped_updates",), from_zero=True),
    Panel("Value function", "Explained variance", (f"{_M}explained_variance",)),
    Panel("Value function", "Value and its target", (f"{_R}value_mean", f"{_R}return_mean")),
    Panel("Value function", "Spread of targets", (f"{_R}return_std",), from_zero=True),
    Panel("Value function", "Advantage", (f"{_R}adv_mean", f"{_R}adv_std")),
    Panel("Value function", "Value clip fraction", (f"{_M}value_clip_fraction",), from_zero=True),
    Panel("Value function", "Action values", (f"{_M}q_mean", f"{_M}q_max")),
    Panel("Losses", "Policy loss", (f"{_L}policy", f"{_L}actor")),
    Panel("Losses", "Value loss", (f"{_L}value", f"{_L}critic", f"{_L}td"), log=True),
    Panel("Losses", "Entropy loss", (f"{_L}entropy",)),
    Panel("Losses", "Total loss", (f"{_L}total",), log=True),
    Panel("Gradients and weights", "Gradient norms", (f"{_M}grad_norm/*",), log=True),
    Panel("Gradients and weights", "Gradients clipped", (f"{_M}grad_clipped",), from_zero=True),
    Panel("Gradients and weights", "Update to weight", (f"{_M}update_to_weight/*",), log=True),
    Panel("Gradients and weights", "Weight norms", (f"{_M}weight_norm/*",)),
    Panel("Gradients and weights", "Dormant units", (f"{_M}dormant_share/*",), from_zero=True),
    Panel("Gradients and weights", "Layers that move", (f"{_M}layers_moved/*",), from_zero=True),
    Panel("Actions", "Most frequent action", (f"{_R}action_share_max",)),
    Panel("Actions", "Entropy of actions taken", (f"{_R}action_entropy",), from_zero=True),
    Panel("Actions", "Actions taken", (f"{_R}action_mean", f"{_R}action_std")),
    Panel("Actions", "Deviation of the policy", (f"{_M}action_std",), from_zero=True),
    Panel("Actions", "Saturated actions", (f"{_R}action_saturation",), from_zero=True),
    Panel("Observations and rewards", "Observations", (f"{_R}obs_mean", f"{_R}obs_std")),
    Panel("Observations and rewards", "Largest observation", (f"{_R}obs_abs_max",), log=True),
    Panel("Observations and rewards", "Reward a step", (f"{_R}reward_mean", f"{_R}reward_std")),
    Panel(
        "Observations and rewards",
        "What actions explain",
        (f"{_R}action_effect", f"{_R}action_effect_late", f"{_R}history_gain"),
        from_zero=True,
    ),
    Panel(
        "Observations and rewards", "Rewards explained", (f"{_R}reward_explained",), from_zero=True
    ),
    Panel("Observations and rewards", "Rewards that come late", (f"{_R}reward_late",)),
    Panel("Observations and rewards", "Unlike scales", (f"{_R}obs_scale_ratio",), log=True),
    Panel(
        "Observations and rewards", "Constant numbers", (f"{_R}obs_constant_share",), from_zero=True
    ),
    Panel(
        "Observations and rewards",
        "Learned as collected",
        (f"{_M}steps_kept", f"{_M}ends_kept", f"{_M}advantages_fit", f"{_M}returns_error"),
        from_zero=True,
    ),
    Panel("Speed", "Throughput", ("sys/env_steps_per_second",), from_zero=True),
    Panel("Speed", "Cores in use", ("sys/cpu_share",), from_zero=True),
    Panel("Speed", "Workers that step", ("sys/workers_busy",), from_zero=True),
    Panel("Speed", "Memory", ("sys/memory_mb",), from_zero=True),
)
# Drawn elsewhere, or counters.
ELSEWHERE = (
    "env_steps", "updates", "episodes", "wall_seconds", "train/hp/*", "train/cnt/*", "sys/time/*",
    RETURN, f"{_R}ep_rew_best", f"{_R}episodes", f"{_R}truncated_share", "val/roll/*",
)  # fmt: skip
KEY_METRICS = (
    RETURN, f"{_R}ep_len_mean", f"{_R}success_rate", "val/roll/ep_rew_mean",
    f"{_M}kl_divergence", f"{_M}clip_fraction", f"{_M}ratio_max", f"{_M}entropy", f"{_M}action_std",
    f"{_M}alpha", f"{_M}explained_variance", f"{_L}policy", f"{_L}actor", f"{_L}value",
    f"{_L}critic", f"{_L}td", f"{_M}q_mean", f"{_R}adv_std", f"{_M}grad_norm/*",
    f"{_M}grad_clipped", f"{_M}update_to_weight/*", f"{_M}dormant_share/*",
    f"{_R}action_share_max", f"{_R}action_saturation", f"{_M}skipped_updates",
    "sys/env_steps_per_second",
)  # fmt: skip
MOST_OWN = 24


def measured(names: Sequence[str], columns: dict[str, Floats]) -> list[str]:
    """Which of these (families included) have any value at all, in the order asked."""
    found: dict[str, None] = {}
    for name in names:
        found.update(dict.fromkeys(fnmatch.filter(columns, name) if "*" in name else [name]))
    return [n for n in found if n in columns and not np.isnan(columns[n]).all()]


def metric_charts(data: RunData) -> tuple[list[Charts], list[tuple[str, float]]]:
    """Charts by heading, and the metrics that never moved, which are told rather than drawn."""
    headings: dict[str, list[Chart]] = {}
    still: list[tuple[str, float]] = []
    for panel in [*PANELS, *own_panels(data.metrics)]:
        names = measured(panel.names, data.metrics)
        moving = [name for name in names if moves(data.metrics[name])]
        still += [(name, float(data.series(name)[1][0])) for name in names if name not in moving]
        if moving:
            series = [
                Series(series_name(name, moving), *data.series(name), color=i)
                for i, name in enumerate(moving)
            ]
            headings.setdefault(panel.heading, []).append(panel_chart(panel, moving, series))
    if (phases := time_chart(data)) is not None:
        headings.setdefault("Speed", []).insert(0, phases)
    return [Charts(heading, charts) for heading, charts in headings.items()], still


def moves(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    return len(known) > 1 and bool((known != known[0]).any())


def own_panels(columns: dict[str, Floats]) -> list[Panel]:
    """The user's own metrics, each by itself."""
    return [Panel("Other metrics", name, (name,)) for name in own_metrics(columns)[:MOST_OWN]]


def own_metrics(columns: dict[str, Floats]) -> list[str]:
    """Metrics that no panel knows."""
    known = [name for panel in PANELS for name in panel.names]
    return [
        name
        for name in columns
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in (*known, *ELSEWHERE))
    ]


def panel_chart(panel: Panel, names: list[str], series: list[Series]) -> Chart:
    metric = known_metric(names[0])
    allowed = numeric_range(healthy_text(metric)) if len(panel.names) == 1 else None
    return Chart(
        title=panel.title,
        unit="" if metric is None or metric.unit == "1" else metric.unit,
        series=series,
        caption=caption(panel, names),
        log=panel.log,
        from_zero=panel.from_zero,
        healthy=None if allowed is None else (allowed.low, allowed.high),
    )


def series_name(name: str, beside: list[str]) -> str:
    """The last word; for a family its member."""
    words = {"obs_mean": "mean", "obs_std": "deviation"}
    last = name.rpartition("/")[2]
    if len(beside) > 1 and name.startswith("val/"):
        last += " (evaluation)"
    return words.get(last, last)


def caption(panel: Panel, names: list[str]) -> list[Words]:
    """What is measured, and the healthy range, word for word from the metric dictionary."""
    lines: list[Words] = []
    patterns = [pattern for pattern in panel.names if "*" in pattern]
    for name in [*patterns, *(n for n in names if n in METRICS)]:
        metric = METRICS[name]
        meaning = metric.meaning.replace("network *", "each network")
        label = "" if len(names) == 1 or patterns else f"{series_name(name, [])}: "
        pieces: tuple[str, ...] = (f"{label}{meaning}",)
        if metric.healthy != NO_RANGE:
            pieces += (" ", Strong("Healthy:"), f" {metric.healthy}.")
        lines.append(pieces)
    return lines or ["A metric of your own: the dictionary does not know it."]


def time_chart(data: RunData) -> Chart | None:
    """Where the time went: shares of each interval, with the totals in the legend."""
    names = measured(["sys/time/*"], data.metrics)
    if not names or any(len(data.metrics[name]) != data.rows for name in names):
        return None
    spent = {name.rpartition("/")[2]: _seconds(data.metrics[name]) for name in names}
    with np.errstate(invalid="ignore"):
        wall = np.diff(data.values_at("wall_seconds", data.env_steps), prepend=0.0)
    rest = _seconds(wall - sum(spent.values()))
    if rest.sum() > 0.01 * sum(float(s.sum()) for s in spent.values()):
        spent["other"] = rest
    total = sum(float(seconds.sum()) for seconds in spent.values())
    ordered = sorted(spent.items(), key=lambda item: -item[1].sum())
    x = data.env_steps
    if len(x) == 1 or not np.isfinite(x).all() or not total > 0:
        return None
    # Means over neighbours: an evaluation every tenth row would otherwise be a comb.
    columns = min(STACK_COLUMNS, max(2, len(x) // 4)) if len(x) > 40 else len(x)
    blocks = [block_means(seconds, columns) for _, seconds in ordered]
    whole = np.sum(blocks, axis=0)
    whole[whole <= 0] = 1.0
    where = block_means(x, columns)
    where[0], where[-1] = x[0], x[-1]
    series = [
        Series(
            f"{phase} {percent(seconds.sum() / total)}, {duration(float(seconds.sum()))}",
            where,
            block / whole,
            color=i,
        )
        for i, ((phase, seconds), block) in enumerate(zip(ordered, blocks, strict=True))
    ]
    says = "Share of each interval's wall time by phase; the legend gives the totals."
    return Chart("Time by phase", series, "share", kind="stack", caption=[says])


def _seconds(values: Floats) -> Floats:
    """Times without what is not measured or cannot be."""
    return np.where(np.isfinite(values) & (values > 0), values, 0.0)


def key_table(columns: dict[str, Floats]) -> tuple[Table, list[str]]:
    """First, middle and last tenth, trend and range; and the names that end outside."""
    rows: list[list[Words]] = []
    outside: list[str] = []
    for name in measured(KEY_METRICS, columns):
        values = columns[name][~np.isnan(columns[name])]
        part = course(values)
        allowed = numeric_range(healthy_text(known_metric(name)))
        found = verdict(part.last, allowed)
        if found in ("below", "above"):
            outside.append(name)
        trend = part.trend
        change = f" ({signed(part.change)})" if trend in ("rises", "falls") else ""
        lost = f", {part.not_finite} not finite" if part.not_finite else ""
        rows.append(
            [
                Code(name),
                sparkline(values),
                number(part.first),
                number(part.middle),
                number(part.last),
                f"{trend}{change}{lost}",
                _range_words(found, allowed),
            ]
        )
    header = ("Metric", "Course", "First 10 %", "Middle", "Last 10 %", "Trend", "Healthy range")
    return Table(header, rows, numeric=(2, 3, 4), narrow=(0, 1, 4, 5)), outside


def _range_words(found: str, allowed: Range | None) -> str:
    if not found or allowed is None:
        return ""
    low, high = number(allowed.low), number(allowed.high)
    if allowed.low == -np.inf:
        bounds = f"up to {high}"
    elif allowed.high == np.inf:
        bounds = f"from {low}"
    else:
        bounds = low if low == high else f"{low} to {high}"
    return f"{found} ({bounds}{', guess' * allowed.guess})"

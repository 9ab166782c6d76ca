"""The settings, those that somebody chose first, and schedules as they really ran."""

from __future__ import annotations

import numpy as np

from dressage.math.schedules import schedule_in
from dressage.reporting.document import (
    Block,
    Chart,
    Charts,
    Code,
    Fold,
    Paragraph,
    Series,
    Table,
    Words,
)
from dressage.reporting.numbers import clean, number, value_text
from dressage.reporting.panels import measured, moves
from dressage.reporting.source import RunData
from dressage.reporting.trends import known_metric

LONG_NAMES = {"lr": "learning_rate", "value_lr": "value_learning_rate"}
POINTS = 100


def settings_blocks(data: RunData) -> list[Block]:
    if not data.settings:
        says = "The config could not be read." if data.ours else "The log holds no settings."
        return [Paragraph(says)]
    chosen: list[list[Words]] = []
    defaults: list[list[Words]] = []
    for key, value in data.settings.items():
        source = clean(data.sources.get(key, "unknown"), 80)
        row: list[Words] = [Code(clean(key, 80)), Code(value_text(value)), source]
        (defaults if source == "default" else chosen).append(row)
    header = ("Setting", "Value", "Source")
    blocks: list[Block] = []
    if chosen:
        blocks.append(Table(header, chosen))
    else:
        blocks.append(Paragraph("Every setting has its default."))
    if defaults:
        table = Table(header[:2], [row[:2] for row in defaults])
        blocks.append(Fold(f"Settings at their default ({len(defaults)})", table))
    return blocks + _schedules(data)


def _schedules(data: RunData) -> list[Block]:
    names = measured(["train/hp/*"], data.metrics)
    charts = [_schedule_chart(data, name) for name in names if moves(data.metrics[name])]
    blocks: list[Block] = []
    if charts:
        blocks.append(Charts("Schedules, as they ran", charts))
    if still := [name for name in names if not moves(data.metrics[name])]:
        pieces = [f"{n.rpartition('/')[2]} {number(float(data.series(n)[1][0]))}" for n in still]
        blocks.append(Paragraph(f"Constant over the run: {', '.join(pieces)}.", quiet=True))
    return blocks


def _schedule_chart(data: RunData, name: str) -> Chart:
    short = name.rpartition("/")[2]
    setting = LONG_NAMES.get(short, short)
    x, y = data.series(name)
    series = [Series("in force", x, y, color=0)]
    metric = known_metric(name)
    caption: tuple[str, ...] = (metric.meaning if metric else "",)
    planned = schedule_in(data.config.get(setting))
    if planned is not None:
        caption += (" Configured as ", Code(str(planned)), ".")
        if data.budget:
            progress = np.linspace(0.0, 1.0, POINTS + 1)
            values = np.array([planned(p) for p in progress.tolist()])
            series.append(Series("as configured", progress * data.budget, values, "dashed", -1))
    return Chart(clean(setting, 80), series, caption=[caption], robust=False)

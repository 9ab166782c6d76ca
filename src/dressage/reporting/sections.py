"""The report of one run, section by section."""

from __future__ import annotations

from dressage.reporting.curve import learning_curve
from dressage.reporting.document import (
    Added,
    Block,
    Bullets,
    Code,
    Document,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
    Tiles,
    Words,
)
from dressage.reporting.episodes import episode_blocks
from dressage.reporting.events import event_blocks
from dressage.reporting.facts import facts, tiles
from dressage.reporting.next_steps import next_steps
from dressage.reporting.numbers import clean, number
from dressage.reporting.panels import MOST_OWN, key_table, metric_charts, own_metrics
from dressage.reporting.settings import settings_blocks
from dressage.reporting.source import RunData
from dressage.reporting.trends import healthy_text, known_metric
from dressage.runs.metrics import cited


def run_document(data: RunData, added: Added | None = None) -> Document:
    evaluations = data.evaluations()
    marks = added.marks if added else ()
    curve = learning_curve(data, marks) if data.rows or data.episodes else None
    table, outside = key_table(data.metrics)
    summary: list[Block] = [*(added.summary if added else ()), Tiles(tiles(data, evaluations))]
    if curve is not None:
        summary.append(curve)
    summary.append(Table(("", ""), [list(pair) for pair in facts(data, evaluations)]))
    steps = next_steps(data, evaluations, outside) if data.ours else []
    seed = f", seed {clean(data.config['seed'], 40)}" if "seed" in data.config else ""
    return Document(
        title=f"{data.task}{seed}",
        run_id=data.id,
        status=data.state,
        sections=[
            Section("summary", "Training run summary", summary),
            Section("metrics", "Key metrics analysis", _metrics(data, table, added)),
            *(added.sections if added else ()),
            Section("next", "Suggested next steps", next_blocks(steps, added)),
            Section("settings", "Hyperparameters", settings_blocks(data)),
            Section("episodes", "Episodes", episode_blocks([data])),
            Section("events", "Events and system", event_blocks(data)),
        ],
        curve=curve,
        notes=list(data.notes),
    )


def _metrics(data: RunData, table: Table, added: Added | None) -> list[Block]:
    if not data.rows:
        return [Paragraph("No metrics were recorded yet.")]
    charts, still = metric_charts(data)
    blocks: list[Block] = [*table_blocks(table), *(added.metrics if added else ())]
    if data.rows == 1:
        blocks.append(Paragraph("With one row of metrics there is nothing to draw yet."))
    blocks += charts
    if (left := len(own_metrics(data.metrics)) - MOST_OWN) > 0:
        blocks.append(Paragraph(f"{left} further metrics of your own are in the log."))
    if still:
        rows: list[list[Words]] = [[Code(name), number(value)] for name, value in still]
        folded = Table(("Metric", "Value"), rows, numeric=(1,))
        blocks.append(Fold(f"Metrics that never changed ({len(still)})", folded))
    return [*blocks, *source_blocks(list(data.metrics))]


def table_blocks(table: Table) -> list[Block]:
    says = (
        "Parts are means over a tenth of the rows. A trend needs Mann–Kendall at p < 0.01 on "
        "means of blocks of rows; the number beside it is the change over the run by the Theil–Sen "
        "slope. The last tenth is held against the healthy range where that is given in numbers; "
        "outside is not by itself a fault."
    )
    return [table, Paragraph(says, quiet=True)] if table.rows else []


def source_blocks(names: list[str]) -> list[Block]:
    """Which letters in brackets mean what, of those that appear."""
    text = " ".join(healthy_text(known_metric(name)) for name in names)
    rows: list[Words] = [f"{mark}: {full}" for mark, full in cited(text).items()]
    if not rows:
        return []
    return [Fold("Sources of the healthy ranges, by the letters in brackets", Bullets(rows))]


def next_blocks(steps: list[Words], added: Added | None = None) -> list[Block]:
    bullets = [Bullets(steps)] if steps else []
    if added is None:
        says = "This report describes and does not diagnose: it looks for no cause."
        return [*bullets, Paragraph(says, quiet=True)]
    return [*added.steps, *([Heading("From the numbers alone")] if bullets else []), *bullets]

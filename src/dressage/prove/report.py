"""The report of a comparison: what differs in the settings, in the results, and from where on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dressage.prove.bootstrap import Estimate
from dressage.prove.comparison import PHASES, Comparison, Pair, Side
from dressage.prove.measures import RETURN, on_one_axis
from dressage.prove.settings import OTHER
from dressage.reporting import Report
from dressage.reporting.document import (
    Block,
    Bullets,
    Chart,
    Code,
    Document,
    Fold,
    Heading,
    Paragraph,
    Section,
    Series,
    Strong,
    Table,
    Words,
)
from dressage.reporting.group import mean_series
from dressage.reporting.numbers import number, whole


@dataclass(kw_only=True)
class ComparisonReport(Report):
    comparison: Comparison

    def to_json(self) -> dict[str, Any]:
        return {"format": 1, **self.comparison.to_json()}


def comparison_report(comparison: Comparison, sides: Sequence[Side]) -> ComparisonReport:
    names = " and ".join(side.name for side in comparison.sides)
    curve = _curve(comparison, sides)
    document = Document(
        title=f"{comparison.env or 'Unknown environment'}: {names}",
        run_id=", ".join(f"{side.name} ({side.seeds})" for side in comparison.sides),
        status="compared",
        sections=[
            Section("summary", "Verdict", [*_verdict(comparison), curve]),
            Section("metrics", "Results", _results(comparison)),
            Section("differences", "Settings that differ", _settings(comparison)),
            Section("bottlenecks", "Stability, and where the curves part", _stability(comparison)),
        ],
        curve=curve,
        notes=comparison.notes,
    )
    return ComparisonReport(document=document, comparison=comparison)


def _verdict(comparison: Comparison) -> list[Block]:
    return [Paragraph((Strong(pair.says),)) for pair in comparison.pairs]


def _curve(comparison: Comparison, sides: Sequence[Side]) -> Chart:
    series: list[Series] = []
    for color, side in enumerate(sides):
        grid, rows = on_one_axis(side.runs, RETURN, comparison.env_steps)
        if len(rows) <= 12:
            series += [Series("one run", grid, row, "thin", color) for row in rows]
        band = f", mean of {len(rows)} runs, 95 % interval" if len(rows) > 1 else ""
        series.append(mean_series(grid, rows, f"{side.name}{band}", color))
    level = comparison.threshold, f"threshold ({comparison.threshold_from})"
    return Chart(
        title="Learning curves", series=series, unit="return", robust=False, level=level, wide=True
    )


def _results(comparison: Comparison) -> list[Block]:
    threshold = number(comparison.threshold, 4)
    header = ["", "runs", "final return, IQM [95 %]", "area, IQM [95 %]", f"reached {threshold}"]
    rows: list[list[Words]] = []
    for side in comparison.sides:
        taken = [steps for steps in side.steps_to_threshold if steps is not None]
        reached = f"{len(taken)} of {side.seeds}"
        if taken:
            reached += f", after {whole(min(taken))} to {whole(max(taken))} env steps"
        rows.append(
            [
                side.name,
                str(side.seeds),
                _estimate(side.final_iqm),
                _estimate(side.area_iqm),
                reached,
            ]
        )
    blocks: list[Block] = [Table(header, rows, numeric=[1])]
    for pair in comparison.pairs:
        blocks += [Heading((f"{pair.b} against {pair.a}",)), _pair_table(pair)]
    blocks.append(
        Paragraph(
            "IQM: mean of the middle half. Tests: exact permutations of ranks for returns and for "
            "areas; log-rank by permutation for env steps, where a run that never reaches the "
            f"threshold counts as one that takes longer; the threshold, {threshold}, is "
            f"{comparison.threshold_from}. p is corrected for their number (Holm).",
            quiet=True,
        )
    )
    return blocks


def _pair_table(pair: Pair) -> Table:
    ratio, low, high = pair.steps_ratio
    rows: list[list[Words]] = [
        ["difference of the final return", _estimate(pair.final)],
        ["probability that a run ends higher", _estimate(pair.better)],
        ["effect (Cliff's delta)", f"{pair.effect:.2f}, {pair.effect_words}"],
        ["env steps to the threshold, ratio", f"{ratio:.2f} {_interval(low, high)}"],
    ]
    rows += [
        [f"p, {test.of}", f"{test.p:.3g}, corrected {test.adjusted:.3g}"] for test in pair.tests
    ]
    if pair.more_seeds is not None:
        rows.append(["more seeds a side that would settle it", f"about {pair.more_seeds}"])
    return Table(["measure", "value"], rows)


def _settings(comparison: Comparison) -> list[Block]:
    names = [side.name for side in comparison.sides]
    header = ["setting", *names, "more of it means"]
    known = [d for d in comparison.settings if d.group != OTHER]
    rest = [d for d in comparison.settings if d.group == OTHER]
    blocks: list[Block] = []
    if known:
        rows: list[list[Words]] = [
            [(Code(d.setting),), *((Code(value),) for value in d.values), d.expected] for d in known
        ]
        blocks.append(Table(header, rows))
    else:
        blocks.append(Paragraph("None that is known to change what is learned."))
    if rest:
        others: list[list[Words]] = [
            [(Code(d.setting),), *((Code(value),) for value in d.values)] for d in rest
        ]
        title = f"{len(rest)} more, not known to matter"
        blocks.append(Fold(title, Table(["setting", *names], others)))
    return blocks


def _stability(comparison: Comparison) -> list[Block]:
    blocks: list[Block] = []
    rows: list[list[Words]] = []
    for one in comparison.stability:
        for side, medians in one.medians.items():
            rows.append([(Code(one.metric),), side, *(number(value) for value in medians)])
    if rows:
        blocks.append(Table(["median of", "", *PHASES], rows, numeric=[2, 3, 4]))
    for pair in comparison.pairs:
        blocks += [Heading((f"Where {pair.b} parts from {pair.a}",)), _parting(pair)]
    return blocks


def _parting(pair: Pair) -> Block:
    at, before = pair.parting.env_steps, pair.parting.before
    if at is None:
        return Paragraph("The returns never part for a tenth of the run.")
    items: list[Words] = [f"The returns part at {whole(at)} env steps."]
    items += [
        ("Before that: ", Code(name), f" from {whole(place)} env steps on.")
        for name, place in before[:5]
    ]
    if not before:
        items.append("No other metric that both sides logged parted before.")
    return Bullets(items)


def _estimate(given: Estimate) -> str:
    return f"{number(given.value)} {_interval(given.low, given.high)}"


def _interval(low: float, high: float) -> str:
    return f"[{number(low)}, {number(high)}]" if low == low else ""

"""The report of a sensitivity analysis: what matters, a tornado plot, and all figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dressage.prove.paired import Shift
from dressage.prove.sensitivity import Sensitivity, said
from dressage.reporting import Report
from dressage.reporting.document import (
    Bar,
    Block,
    Code,
    Document,
    Fold,
    Paragraph,
    Section,
    Strong,
    Table,
    Tile,
    Tiles,
    Tornado,
    Words,
)
from dressage.reporting.numbers import duration, number, signed, value_text, whole

SHORT = 26  # characters of a value beside its bar


@dataclass(kw_only=True)
class SensitivityReport(Report):
    sensitivity: Sensitivity

    def to_json(self) -> dict[str, Any]:
        return self.sensitivity.to_json()


def sensitivity_report(made: Sensitivity, run: str) -> SensitivityReport:
    plot = tornado(made) if made.found else None
    blocks: list[Block] = [Paragraph((Strong(made.says),)), _tiles(made)]
    sections = [Section("summary", "What matters here", [*blocks, *([plot] if plot else [])])]
    if made.found:
        sections.append(Section("metrics", "Effects", _effects(made)))
    document = Document(
        title=f"Sensitivity of {made.algo} on {made.env}",
        run_id=run,
        status=f"{made.seeds} seeds",
        sections=sections,
        curve=plot,
    )
    return SensitivityReport(document=document, sensitivity=made)


def _tiles(made: Sensitivity) -> Tiles:
    seeds = f"mean of {made.seeds} seeds of the run's own settings"
    return Tiles(
        [
            Tile("mean return over the run", number(made.area), seeds),
            Tile("final return", number(made.final), f"{whole(made.env_steps)} env steps"),
            Tile("time", duration(made.seconds), made.ended),
        ]
    )


def tornado(made: Sensitivity) -> Tornado:
    bars = [
        Bar(one.setting, short(change.value), *change.area[:3], one.matters)
        for one in made.found
        for change in one.changes
    ]
    title = "Effect on the mean return over the run (95 % interval; filled: proven)"
    return Tornado(title, "change of the mean return", bars)


def short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else value_text(value)
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"


def _effects(made: Sensitivity) -> list[Block]:
    verdicts: list[list[Words]] = [
        [(Code(one.setting),), (Code(short(one.own)),), said(one, made.seeds)] for one in made.found
    ]
    rows: list[list[Words]] = [
        [
            (Code(one.setting),),
            (Code(short(change.value)),),
            _shift(change.area),
            _shift(change.final),
        ]
        for one in made.found
        for change in one.changes
    ]
    header = ["setting", "changed to", "mean return over the run", "final return"]
    seen = made.found[0].changes[0].area.level
    told = (
        f"Changes against the run's own settings on the same {made.seeds} seeds: median of the "
        f"means of every two differences (Hodges and Lehmann), with its exact interval ({seen:.1%} "
        "of cases). Whether a setting matters: ranks within seeds against swapping its values at "
        "random, for both measures, corrected for their number (Holm). One setting is changed at a "
        "time: what two of them do together is not seen."
    )
    return [
        Table(["setting", "the run's", "what the seeds say"], verdicts),
        Fold("All effects, with intervals", Table(header, rows, numeric=[2, 3])),
        Paragraph(told, quiet=True),
    ]


def _shift(given: Shift) -> str:
    return f"{signed(given.value)} [{number(given.low, 3)}, {number(given.high, 3)}]"

"""The report of a search: its verdict, the best curve against the start, what was tried, and which
settings made the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dressage.prove.measures import RETURN, common_end, on_one_axis
from dressage.prove.search import ENOUGH
from dressage.prove.settings import EFFECTS
from dressage.prove.spaces import words
from dressage.prove.tune import Tuning
from dressage.prove.verify import BASELINE, PATCHED
from dressage.reporting import Report
from dressage.reporting.document import (
    Block,
    Chart,
    Code,
    Document,
    Fold,
    Paragraph,
    Section,
    Series,
    Strong,
    Table,
    Tile,
    Tiles,
    Words,
)
from dressage.reporting.group import mean_series
from dressage.reporting.numbers import duration, number, value_text
from dressage.runs.view import RunView

SHOWN = 5  # trials in the terminal
BAR = 24  # characters


@dataclass(kw_only=True)
class TuneReport(Report):
    tuning: Tuning
    preset: Path  # a file for `dressage train --config`

    def to_json(self) -> dict[str, Any]:
        return self.tuning.to_json() | {"preset": str(self.preset), "command": self.command}

    @property
    def command(self) -> str:
        return f"dressage train --config {self.preset}"


def tune_report(
    tuning: Tuning, sides: Mapping[str, list[RunView]], start: Mapping[str, Any], preset: Path
) -> TuneReport:
    named = {"tuned": sides[PATCHED], "the start": sides[BASELINE]} if sides else {}
    curve = fresh_curves("Learning curves on seeds that the search never used", named)
    document = Document(
        title=f"Tuning {tuning.algo} on {tuning.env}",
        run_id=preset.parent.name,
        status=tuning.verdict,
        sections=[
            Section("summary", "Verdict", [*_verdict(tuning), *([curve] if curve else [])]),
            Section("differences", "Settings", _settings(tuning, start)),
            Section("metrics", "What was tried", _trials(tuning)),
            Section("bottlenecks", "Which settings mattered", _importance(tuning)),
            Section("run", "Run it", _run_it(tuning, preset)),
        ],
        curve=curve,
    )
    return TuneReport(document=document, tuning=tuning, preset=preset)


def _verdict(tuning: Tuning) -> list[Block]:
    blocks: list[Block] = []
    found = tuning.verification
    if found is None:
        blocks.append(Paragraph((Strong("Not proven"), f": {tuning.ended}.")))
    else:
        verdict = {
            "proven": "Proven: the tuned settings are better than the start.",
            "not proven": "Not proven: the best settings may be no better than the start.",
            "worse": "Worse: the best settings of the search are worse than the start.",
        }[tuning.verdict]
        blocks.append(Paragraph((Strong(verdict), f" {found.says[0].upper()}{found.says[1:]}.")))
    counts = {state: sum(one.state == state for one in tuning.trials) for state in _STATES}
    detail = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    tiles = [
        Tile("trials", str(len(tuning.trials)), f"{detail}; {tuning.seeds} seeds each"),
        Tile("time", duration(tuning.seconds), "search, race and proof"),
    ]
    if found is not None:
        before, after = (sum(side) / len(side) for side in (found.baseline, found.patched))
        fresh = f"mean of {found.last.seeds} fresh seeds"
        tiles.append(Tile("final return, start", number(before), fresh))
        tiles.append(Tile("final return, tuned", number(after), fresh))
    return [*blocks, Tiles(tiles)]


_STATES = ("done", "pruned", "failed")


def fresh_curves(title: str, sides: Mapping[str, list[RunView]]) -> Chart | None:
    """Every seed thin, and the mean of each side with its interval; None where there is no side."""
    if not sides:
        return None
    end = common_end([view for views in sides.values() for view in views])
    series: list[Series] = []
    for color, (name, views) in enumerate(sides.items()):
        grid, rows = on_one_axis(views, RETURN, end)
        if len(rows) <= 12:
            series += [Series("one seed", grid, row, "thin", color) for row in rows]
        said = f"{name}, mean of {len(rows)} fresh seeds, 95 % interval"
        series.append(mean_series(grid, rows, said, color))
    return Chart(title=title, series=series, unit="return", robust=False, wide=True)


def _settings(tuning: Tuning, start: Mapping[str, Any]) -> list[Block]:
    best = tuning.winner or (tuning.best.patch if tuning.best else {})
    if not best:
        return [Paragraph("The start was the best that was tried.")]
    rows: list[list[Words]] = [
        [
            (Code(name),),
            (Code(value_text(start.get(name))),),
            (Code(value_text(value)),),
            EFFECTS.get(name, ("", ""))[1],
        ]
        for name, value in best.items()
    ]
    title = "tuned" if tuning.patch else "best trial, not proven"
    return [Table(["setting", "start", title, "more of it means"], rows)]


def _trials(tuning: Tuning) -> list[Block]:
    measure = "final return" if tuning.goal == "return" else "mean return over the run"
    blocks: list[Block] = []
    done = sorted(
        (one for one in tuning.trials if one.score is not None), key=lambda o: -(o.score or 0.0)
    )
    start = next((one for one in done if one.origin == "start"), None)
    shown = done[:SHOWN] + ([start] if start and start not in done[:SHOWN] else [])
    header = ["trial", measure, "settings over the start"]
    if shown:
        blocks.append(Table(header, _rows(shown), numeric=[0, 1]))
    if tuning.race:
        race: list[list[Words]] = [
            [
                str(one.seeds),
                number(one.score if tuning.goal == "return" else -one.score),
                words(one.candidate.patch if one.candidate else {}),
            ]
            for one in tuning.race
        ]
        score = "final return" if tuning.goal == "return" else "env steps to the threshold"
        blocks.append(Paragraph("The best ones raced against the start on fresh seeds:"))
        blocks.append(Table(["seeds", score, "settings over the start"], race, numeric=[0, 1]))
    rest = [one for one in tuning.trials if one not in shown]
    if rest:
        blocks.append(Fold(f"{len(rest)} more trials", Table(header, _rows(rest), numeric=[0, 1])))
    return blocks


def _rows(trials: Sequence[Any]) -> list[list[Words]]:
    rows: list[list[Words]] = []
    for one in trials:
        score = number(one.score) if one.score is not None else f"{one.state} at {one.share:.0%}"
        said = words(one.patch)
        rows.append(
            [str(one.number), score, f"{said} (prescribed)" * (one.origin == "prescribed") or said]
        )
    return rows


def _importance(tuning: Tuning) -> list[Block]:
    if not tuning.importance:
        return [
            Paragraph(
                (
                    f"Fewer than {ENOUGH} trials were completed, or all came to the same: too few "
                    "to tell. ",
                    Code("dressage sensitivity"),
                    " measures it for one setting after another.",
                )
            )
        ]
    most = max(tuning.importance.values()) or 1.0
    rows: list[list[Words]] = [
        [(Code(name),), f"{share:.0%}", "█" * round(BAR * share / most)]
        for name, share in tuning.importance.items()
    ]
    said = (
        "Share of the variation among completed trials that a setting explains by itself "
        "(fANOVA, Hutter et al. 2014), over the whole ranges that were searched. A few dozen "
        "trials order settings only roughly."
    )
    return [Table(["setting", "share", ""], rows, numeric=[1]), Paragraph(said, quiet=True)]


def _run_it(tuning: Tuning, preset: Path) -> list[Block]:
    command = f"dressage train --config {preset}"
    if tuning.patch:
        return [Paragraph(("The tuned settings: ", Code(command)))]
    blocks: list[Block] = [
        Paragraph(("Nothing better was proven, so this is the start: ", Code(command)))
    ]
    if tuning.winner or (tuning.best and tuning.best.patch):
        other = preset.with_name("best-trial.yaml")
        blocks.append(
            Paragraph(("The best trial, unproven: ", Code(f"dressage train --config {other}")))
        )
    return blocks

"""The report of advice on the batch size: the noise over training, the candidates, and a command
that proves the advice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dressage.prove.batch import BatchAdvice, Candidate
from dressage.reporting import Report
from dressage.reporting.document import (
    Block,
    Chart,
    Code,
    Document,
    Paragraph,
    Section,
    Series,
    Strong,
    Table,
    Words,
)
from dressage.reporting.numbers import number, value_text, whole


@dataclass(kw_only=True)
class BatchReport(Report):
    advice: BatchAdvice

    def to_json(self) -> dict[str, Any]:
        return self.advice.to_json()


def batch_report(advice: BatchAdvice, run: str) -> BatchReport:
    curve = _curve(advice)
    document = Document(
        title=f"Batch size of {advice.algo} on {advice.env}",
        run_id=run,
        status=f"batch_size={advice.batch}",
        sections=[
            Section("summary", "Advice", [Paragraph((Strong(advice.says),)), *_prove(advice, run)]),
            Section("metrics", "Candidates on this machine", _candidates(advice)),
            Section("bottlenecks", "Gradient noise over training", [_noise(advice), curve]),
        ],
        curve=curve,
    )
    return BatchReport(document=document, advice=advice)


def _prove(advice: BatchAdvice, run: str) -> list[Block]:
    best = advice.suggested
    if best is None:
        return []
    patch = " ".join(f'--patch "{name}={value}"' for name, value in best.patch.items())
    return [Paragraph(("Prove it: ", Code(f"dressage verify {run} {patch}")))]


def _candidates(advice: BatchAdvice) -> list[Block]:
    header = ["batch_size", "learning_rate", "env steps/s", "env steps needed", "time needed"]
    table = [_row(one, advice) for one in advice.candidates]
    follows = "updates" if advice.replays else "rows"
    said = (
        f"The rate goes {advice.rule}. Env steps a second were measured here, the candidates in "
        f"turn. Env steps needed follow the {follows} of McCandlish et al. 2018, equation 2.11, "
        "over the range of the measured noise; both are times the run's own. A model: what counts "
        "is what "
    )
    told = Paragraph((said, Code("dressage verify"), " finds."))
    return [Table(header, table, numeric=[0, 2]), told]


def _row(one: Candidate, advice: BatchAdvice) -> list[Words]:
    own = one.batch == advice.batch
    rate = one.patch.get("learning_rate")
    spread = f"{whole(min(one.speeds))} to {whole(max(one.speeds))}"
    return [
        str(one.batch),
        "as it is" if own else (Code(value_text(rate)),) if rate is not None else "as it is",
        f"{whole(one.speed)} ({spread})",
        "1" if own else _range(one.steps),
        "1" if own else _range(one.time),
    ]


def _range(given: tuple[float, float, float]) -> str:
    value, low, high = (number(one, 2) for one in given)
    return f"{value} ({low} to {high})"


def _noise(advice: BatchAdvice) -> Table:
    table: list[list[Words]] = [
        [
            whole(one.env_steps),
            one.part,
            number(one.scale.value, 3) if math.isfinite(one.scale.value) else "lost in noise",
            f"{number(one.scale.low, 3)} to {number(one.scale.high, 3)}",
        ]
        for one in advice.points
    ]
    return Table(["env steps", "part", "noise scale, rows", "95 % interval"], table, numeric=[0, 2])


def _curve(advice: BatchAdvice) -> Chart:
    known = [one for one in advice.points if math.isfinite(one.scale.value)]
    x = np.array([one.env_steps for one in known], float)
    y = np.array([one.scale.value for one in known], float)
    low = np.array([one.scale.low for one in known], float)
    high = np.array([min(one.scale.high, 100 * one.scale.value) for one in known], float)
    return Chart(
        title="Gradient noise scale",
        series=[Series("noise scale, 95 % interval", x, y, "line", 0, low, high)],
        unit="rows of a batch",
        log=True,
        level=(float(advice.batch), f"batch_size={advice.batch}"),
        wide=True,
    )

"""Section 3: what holds the run back, what else may, and where the fault lies."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from dressage.diagnosis.causes import CAUSES, Place
from dressage.diagnosis.diagnose import Diagnosis, RankedCause, Verdict
from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.report.probes import probe_blocks
from dressage.reporting.document import (
    Block,
    Bullets,
    Chart,
    Charts,
    Code,
    Fold,
    Heading,
    Paragraph,
    Series,
    Strong,
    Table,
    Words,
)
from dressage.reporting.numbers import clean, percent
from dressage.reporting.panels import Panel, panel_chart
from dressage.reporting.trends import FAMILIES
from dressage.runs.metrics import METRICS
from dressage.runs.uses import first_of
from dressage.runs.view import RunView

VERDICTS: dict[Verdict, tuple[str, str]] = {
    "healthy": ("healthy", "Nothing holds this run back that its log would show."),
    "undertrained": ("undertrained", "Healthy, as far as the log shows, but not done."),
    "faulty": ("faulty", "Something holds this run back."),
    "cannot_tell": ("cannot tell", "The log says too little to tell."),
}
PLACES: dict[Place, str] = {
    "settings": "It lies in a setting: the change below mends it if the diagnosis is right.",
    "code": "It lies in code, not in a setting: the loss or the path of the data is to be read.",
    "environment": "It lies in the environment or its wrappers.",
    "evaluation": "It lies in how the policy is evaluated, not in how it learns.",
    "bookkeeping": "It lies in what is saved, loaded or logged.",
    "machine": "It lies in the machine or in how the work is shared out on it.",
    "data": "It lies in the data set.",
}
MOST_EVIDENCE, MOST_SECONDARY, MOST_CHARTS = 6, 4, 4


def headline(diagnosis: Diagnosis) -> list[Block]:
    """The verdict in a sentence or two, before all else."""
    word, sentence = VERDICTS[diagnosis.verdict]
    words: list[str] = [Strong(word), f": {sentence}"]
    if diagnosis.causes:
        top = diagnosis.causes[0]
        says = " Most likely"
        if diagnosis.verdict == "cannot_tell":
            says = " Something may hold this run back, and no cause stands out; the likeliest is"
        words += [
            f"{says} {CAUSES[top.id].title} (",
            Code(top.id),
            f", {percent(top.probability)}).",
        ]
    if (seeds := diagnosis.seeds) is not None:
        counts = {v: seeds.verdicts.count(v) for v in dict.fromkeys(seeds.verdicts)}
        alone = ", ".join(f"{count} {VERDICTS[v][0]}" for v, count in counts.items())
        words.append(f" {len(seeds.runs)} runs, judged one by one: {alone}.")
    return [Paragraph(tuple(words))]


def bottlenecks(diagnosis: Diagnosis, views: Sequence[RunView]) -> list[Block]:
    blocks: list[Block] = []
    if diagnosis.causes:
        blocks += [Heading("Primary"), *_primary(diagnosis, views)]
        if others := diagnosis.causes[1 : 1 + MOST_SECONDARY]:
            blocks += [Heading("Secondary"), _secondary(others, diagnosis)]
        place = CAUSES[diagnosis.causes[0].id].place
        blocks += [Heading("Root causes"), Paragraph(PLACES[place]), *_separates(diagnosis)]
    else:
        blocks.append(Paragraph(VERDICTS[diagnosis.verdict][1]))
    if diagnosis.symptoms:
        blocks += [Heading("Symptoms seen"), _symptoms(diagnosis)]
        if diagnosis.verdict == "healthy":
            blocks.append(
                Paragraph(
                    (
                        "Weighed together, these speak for no fault; ",
                        Code("dressage explain RULE"),
                        " says how often each shows in healthy runs.",
                    )
                )
            )
    if diagnosis.probes:
        blocks += [Heading("Probes"), *probe_blocks(diagnosis)]
    if diagnosis.not_visible:
        items: list[Words] = [clean(line) for line in diagnosis.not_visible]
        count = len(views[0].not_visible())
        blocks.append(Fold(f"What this log does not show ({count})", Bullets(items)))
        blocks.append(
            Paragraph(
                f"{count} of the metrics that this diagnosis would look at are not in the "
                "log; section 5 names the first of them."
            )
        )
    return blocks


def _primary(diagnosis: Diagnosis, views: Sequence[RunView]) -> list[Block]:
    top = diagnosis.causes[0]
    blocks: list[Block] = [
        Paragraph((Strong(top.id), f" ({percent(top.probability)}): {CAUSES[top.id].title}."))
    ]
    if top.evidence:
        blocks.append(Bullets([_counted(says, diagnosis) for says in top.evidence[:MOST_EVIDENCE]]))
    by_words = {finding.says: finding for finding in diagnosis.symptoms}
    shown = [by_words[says] for says in top.evidence if says in by_words] or diagnosis.symptoms
    rules: dict[str, list[str]] = {}
    for finding in shown:
        if finding.metric and (name := first_of(finding.metric, views[0].series)):
            rules.setdefault(name, []).append(finding.rule)
    made = [finding_chart(name, f"{name} ({', '.join(of)})", views) for name, of in rules.items()]
    if charts := [chart for chart in made if chart is not None]:
        blocks.append(Charts("", charts[:MOST_CHARTS]))
    return blocks


def _secondary(others: Sequence[RankedCause], diagnosis: Diagnosis) -> Table:
    rows: list[list[Words]] = [
        [
            Code(cause.id),
            percent(cause.probability),
            f"{CAUSES[cause.id].title}. {' '.join(cause.evidence[:1])}".strip(),
        ]
        for cause in others
    ]
    return Table(("Cause", "Probability", "What it is, and what speaks for it"), rows, (1,))


def _separates(diagnosis: Diagnosis) -> list[Block]:
    items: list[Words] = [
        ("What would tell ", Code(cause.id), f" from its rival: {'; '.join(cause.separates)}.")
        for cause in diagnosis.causes[:2]
        if cause.separates
    ]
    return [Bullets(items)] if items else []


def _symptoms(diagnosis: Diagnosis) -> Table:
    """Worst first; of a set, with how many of the runs show each."""
    counts = diagnosis.seeds.symptoms if diagnosis.seeds else {}
    rows: list[list[Words]] = []
    for finding in diagnosis.symptoms:
        row: list[Words] = [all_rules()[finding.rule].severity, Code(finding.rule)]
        if counts:
            shown, could = counts[finding.rule]
            row.append(f"{shown} of {could}")
        rows.append([*row, clean(finding.says)])
    header = ("Severity", "Rule", *(("Runs",) if counts else ()), "Symptom")
    return Table(header, rows)


def _counted(says: str, diagnosis: Diagnosis) -> str:
    if diagnosis.seeds is None:
        return clean(says)
    for finding in diagnosis.symptoms:
        if finding.says == says:
            shown, could = diagnosis.seeds.symptoms[finding.rule]
            return f"{clean(says)} ({shown} of {could} runs show this.)"
    return clean(says)


def finding_chart(name: str, title: str, views: Sequence[RunView]) -> Chart | None:
    """The metric in which symptoms show, of every run."""
    lines = []
    for index, view in enumerate(views):
        series = view[name]
        if np.isfinite(series.values).sum() < 2:
            continue
        label = name.rpartition("/")[2] if len(views) == 1 else clean(view.id, 40)
        lines.append(Series(label, series.env_steps, series.values, color=index % 8))
    if not lines:
        return None
    family = next((f for f in FAMILIES if fnmatchcase(name, f)), name)
    return panel_chart(Panel("", title, (name if name in METRICS else family,)), [name], lines)

"""Section 5: what to do now, what to try after it, and what to watch in the next run."""

from __future__ import annotations

from collections.abc import Sequence

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.diagnose import Diagnosis
from dressage.diagnosis.prescriptions import Prescription
from dressage.diagnosis.report.recommendations import patch_text
from dressage.reporting.again import train_again
from dressage.reporting.document import (
    Block,
    Bullets,
    Code,
    Heading,
    Paragraph,
    Strong,
    Words,
)
from dressage.reporting.numbers import clean
from dressage.reporting.source import RunData
from dressage.reporting.trends import healthy_text, known_metric
from dressage.runs.view import RunView

MOST_WATCHED, MOST_MISSING, MOST_NAMED = 6, 3, 4
ALWAYS = ("train/roll/ep_rew_mean", "val/roll/ep_rew_mean")


def next_actions(diagnosis: Diagnosis, run: RunView, seeds: Sequence[RunData]) -> list[Block]:
    """`run`: the first of the runs that were diagnosed; `seeds`: what a report knows of each."""
    blocks: list[Block] = [Heading("Immediate actions"), Bullets(_immediate(diagnosis, seeds))]
    if variations := _variations(diagnosis):
        blocks += [Heading("Variations to try"), Bullets(variations)]
    return [*blocks, Heading("Metrics to watch in the next run"), Bullets(_watch(diagnosis, run))]


def _immediate(diagnosis: Diagnosis, seeds: Sequence[RunData]) -> list[Words]:
    if diagnosis.verdict == "healthy":
        return ["None: the log shows nothing that asks for a change."]
    if diagnosis.verdict == "cannot_tell":
        to_log = sorted(map(_to_log, diagnosis.not_visible), key=lambda item: -item[0])
        if diagnosis.causes and not to_log:
            return ["Train a few seeds more, and diagnose them as one: this log has all it can."]
        return [says for _, says in to_log[:MOST_MISSING]] or [
            "Train longer: there are too few rows to judge by."
        ]
    steps: list[Words] = []
    if diagnosis.prescriptions:
        steps.append(_change(diagnosis.prescriptions[0], seeds))
    steps.append(
        "Change one thing at a time, and judge it on several seeds: one run proves little."
    )
    return steps


def _to_log(line: str) -> tuple[int, Words]:
    """How many metrics a line of `not_visible` would show, and the line with what to do first."""
    names, _, how = line.partition(": ")
    metrics = names.split(", ")
    few = ", ".join(metrics[:MOST_NAMED])
    more = f" and {len(metrics) - MOST_NAMED} more" if len(metrics) > MOST_NAMED else ""
    return len(metrics), f"{clean(how[:1].upper() + how[1:])}, to see {clean(few)}{more}."


def first_change(diagnosis: Diagnosis, seeds: Sequence[RunData]) -> list[Block]:
    """What to do first and what to expect of it, for those who read no further."""
    if not diagnosis.prescriptions:
        return []
    if diagnosis.verdict == "cannot_tell":
        return [Paragraph((Strong("First"), ": ", *_as_words(_immediate(diagnosis, seeds)[0])))]
    first = diagnosis.prescriptions[0]
    words: tuple[str, ...] = (Strong("First"), ": ", *_change(first, seeds))
    if first.expected_effect:
        words += (f" Expected: {clean(first.expected_effect)}.",)
    return [Paragraph(words)]


def _as_words(words: Words) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else words


def _change(asked: Prescription, seeds: Sequence[RunData]) -> tuple[str, ...]:
    """What to type, where that is known; else what to set."""
    advice, run = clean(asked.advice), seeds[0]
    if asked.ours and run.ours and {"env", "algo"} <= run.config.keys():
        group = {"seeds": len(seeds)} if len(seeds) > 1 else {}
        return (f"{advice} ", Code(train_again(run, asked.ours | group)))
    if asked.patch:
        return (f"{advice} Set ", Code(patch_text(asked.patch)), ".")
    return (advice,)


def _variations(diagnosis: Diagnosis) -> list[Words]:
    tried: list[Words] = []
    for asked in diagnosis.prescriptions[1:]:
        change = Code(patch_text(asked.patch)) if asked.patch else clean(asked.advice).rstrip(".")
        if asked.cause in CAUSES:
            tried.append(("If that does not help, against ", Code(asked.cause), ": ", change, "."))
        else:  # the tuned preset
            tried.append((f"{clean(asked.advice)} ", change, f" {clean(asked.rationale)}"))
    for cause in diagnosis.causes[:1]:
        if cause.separates:
            tried.append(("To be surer of the cause first: ", "; ".join(cause.separates), "."))
    return tried


def _watch(diagnosis: Diagnosis, run: RunView) -> list[Words]:
    names = [f.metric for f in diagnosis.symptoms if f.metric]
    names = list(dict.fromkeys([*names, *(name for name in ALWAYS if name in run)]))
    found: list[Words] = []
    for name in names[:MOST_WATCHED]:
        own = run.own_name(name)
        called = (f" ({clean(own, 80)} in {run.library})",) if own != name else ()
        healthy = healthy_text(known_metric(name))
        found.append((Code(name), *called, f": {healthy}" if healthy else ""))
    for how, missing in list(run.what_to_log().items())[:MOST_MISSING]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        found.append((Code(missing[0]), f"{more}, which this log lacks: {clean(how)}"))
    return found or ["The return of training and of evaluations."]

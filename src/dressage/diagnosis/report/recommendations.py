"""Section 4: what to change, why, what to expect of it, what it risks, and how urgent it is."""

from __future__ import annotations

from shlex import quote
from typing import Any

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.diagnose import Diagnosis
from dressage.diagnosis.prescriptions import Prescription
from dressage.reporting.document import Block, Code, Heading, Paragraph, Strong, Table, Words
from dressage.reporting.numbers import clean, value_text, whole
from dressage.reporting.source import OURS
from dressage.runs.readers.sb3 import LIBRARY as SB3
from dressage.runs.readers.sb3_arguments import CLASSES, CONTRIB
from dressage.runs.view import RunView

# `verify` makes SB3's environments by their id: a fault in one's own wrappers or code would not
# be part of what it trains.
NOT_MADE_AGAIN = ("environment", "code", "data")


def recommendations(diagnosis: Diagnosis, run: RunView) -> list[Block]:
    if not diagnosis.prescriptions:
        none = {
            "healthy": "No change is asked for.",
            "cannot_tell": "No change is asked for on so little evidence: log more first.",
        }
        return [Paragraph(none.get(diagnosis.verdict, "No change is known that would mend this."))]
    blocks: list[Block] = []
    if diagnosis.verdict == "cannot_tell":
        blocks.append(
            Paragraph("No cause stands out: these are guesses. Make the log say more first.")
        )
    for place, asked in enumerate(diagnosis.prescriptions, 1):
        change = (Code(patch_text(asked.patch)),) if asked.patch else (clean(asked.advice),)
        blocks += [Heading((f"{place}. ", *change)), _table(asked, run)]
    return blocks


def patch_text(patch: dict[str, Any]) -> str:
    """`learning_rate=0.0003 n_epochs=4`, in the words of the run's own library; True and None as
    Python has them, which our command line takes as well."""
    return " ".join(f"{clean(key, 80)}={_spelled(value)}" for key, value in patch.items())


def _spelled(value: Any) -> str:
    return str(value) if value is None or isinstance(value, bool) else value_text(value)


def _verify(asked: Prescription, run: RunView) -> Words:
    """What proves it, as it is typed, where the run can be trained again."""
    told = clean(asked.verify)
    patch = {name: value for name, value in asked.ours.items() if name != "env_steps"}
    if not patch or not _trained_again(asked, run):
        return told
    name = clean(run.id if run.library == OURS else run.path)
    words = [f"--patch {quote(f'{key}={value_text(value)}')}" for key, value in patch.items()]
    command = Code(f"dressage verify {quote(name)} {' '.join(words)}")
    if "env_steps" not in asked.ours:
        return (f"{told}; with a verdict: ", command)
    planned = whole(run.budget or run.env_steps)
    return (
        f"{told}; with a verdict, at the run's own budget of {planned} env steps, which tells "
        f"nothing of {whole(asked.ours['env_steps'])}: ",
        command,
    )


def _trained_again(asked: Prescription, run: RunView) -> bool:
    """Whether `dressage verify` can train this run again, and would train what is at fault."""
    if run.library != SB3 or not run.env:
        return run.library == OURS and bool(run.env)
    if asked.cause in CAUSES and CAUSES[asked.cause].place in NOT_MADE_AGAIN:
        return False
    known_rate = "learning_rate" in run.config or bool(run["train/hp/lr"])
    return run.algo in CLASSES and run.algo not in CONTRIB and known_rate


def _table(asked: Prescription, run: RunView) -> Table:
    change = clean(asked.advice)
    if asked.patch:
        change += f" {patch_text(asked.patch)}"
    rows: list[list[Words]] = [
        ["Priority", (Strong(asked.priority),)],
        ["Change", change],
        ["Rationale", clean(asked.rationale, 1000)],
        ["Expected impact", clean(asked.expected_effect)],
        ["Risk", clean(asked.risk)],
        ["For", (Code(asked.cause),)],
        ["How to verify", _verify(asked, run)],
    ]
    return Table(("", ""), [row for row in rows if row[1]])

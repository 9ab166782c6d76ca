"""Section 4: what to change, why, what to expect of it, what it risks, and how urgent it is."""

from __future__ import annotations

from shlex import quote
from typing import Any

from dressage.diagnosis.diagnose import Diagnosis
from dressage.diagnosis.prescriptions import Prescription
from dressage.reporting.document import Block, Code, Heading, Paragraph, Strong, Table, Words
from dressage.reporting.numbers import clean, value_text
from dressage.reporting.source import OURS
from dressage.runs.view import RunView

RETRAINED = (OURS, "sb3")  # libraries whose runs `dressage verify` trains again


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
    """`learning_rate=0.0003 n_epochs=4`, in the words of the run's own library."""
    return " ".join(f"{clean(key, 80)}={value_text(value)}" for key, value in patch.items())


def _verify(asked: Prescription, run: RunView) -> Words:
    """What proves it, as it is typed, where the run can be trained again."""
    told = clean(asked.verify)
    patch = {name: value for name, value in asked.ours.items() if name != "env_steps"}
    if run.library not in RETRAINED or not run.env or not patch:
        return told
    name = clean(run.id if run.library == OURS else run.path)
    words = [f"--patch {quote(f'{key}={value_text(value)}')}" for key, value in patch.items()]
    return (f"{told}; with a verdict: ", Code(f"dressage verify {quote(name)} {' '.join(words)}"))


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

"""A diagnosis in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.diagnose import Diagnosis
from dressage.diagnosis.prescriptions import Prescription

VERDICTS = {
    "healthy": ("green", "Nothing holds this run back that its log would show."),
    "undertrained": ("yellow", "Healthy, as far as the log shows, but not done."),
    "faulty": ("red", "Something holds this run back."),
    "cannot_tell": ("yellow", "The log says too little to tell."),
}
MOST_CAUSES, MOST_MISSING = 5, 5


def print_diagnosis(console: Console, found: Diagnosis) -> None:
    style, sentence = VERDICTS[found.verdict]
    about = " ".join(filter(None, (found.algo, found.env and f"on {found.env}")))
    console.print(Text.assemble((found.run, "bold"), f"  {found.library}  {about}"))
    console.print(Text(sentence, style))
    for cause in found.causes[:MOST_CAUSES]:
        title = CAUSES[cause.id].title
        console.print(
            Text.assemble(f"  {cause.probability:4.0%}  ", (cause.id, "bold"), f"  {title}")
        )
        for says in cause.evidence[:2]:
            console.print(Text(f"        {says}", "dim"))
        if cause.separates:
            console.print(Text(f"        would tell more: {'; '.join(cause.separates)}", "dim"))
    for prescription in found.prescriptions:
        _print_prescription(console, prescription)
    named = {says for cause in found.causes[:MOST_CAUSES] for says in cause.evidence[:2]}
    others = [f for f in found.symptoms if f.says not in named]
    for finding in others:
        console.print(Text(f"  {finding.rule}  {finding.says}", "dim"))
    if found.not_visible:
        console.print(Text("Not in this log:", "dim"))
        for line in found.not_visible[:MOST_MISSING]:
            console.print(Text(f"  {line}", "dim"))
    for note in found.notes:
        console.print(Text(note, "dim"))


def _print_prescription(console: Console, asked: Prescription) -> None:
    patch = " ".join(f"{key}={value}" for key, value in asked.patch.items())
    line = Text.assemble(f"  {asked.priority}: ", (patch or asked.advice, "bold"))
    console.print(line)
    console.print(Text(f"        expected: {asked.expected_effect}; risk: {asked.risk}", "dim"))

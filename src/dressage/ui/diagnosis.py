"""Reports in the terminal, whole or as a run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from dressage.diagnosis.infer import SHORT
from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.report import DiagnosisReport
from dressage.reporting import Report
from dressage.reporting.document import Chart, Document, Heading, Paragraph, Table, Tiles
from dressage.reporting.text import WIDTH, Line, lines

STYLES = {
    "title": "bold",
    "heading": "bold cyan",
    "part": "bold",
    "strong": "bold",
    "quiet": "dim",
    "line": "cyan",
    "mark": "bold yellow",
    "level": "green",
    "good": "bold green",
    "warn": "bold yellow",
    "bad": "bold red",
}
PAUSE = 2.0  # seconds between two looks at a run that goes on
LARGEST_SHARE = 0.1  # of the time may go into looking
LEVELS = ("critical", "high", "medium", "low")


def print_report(console: Console, report: Report) -> None:
    for line in lines(report.document, min(console.width, WIDTH) if console.is_terminal else WIDTH):
        console.print(styled(line), soft_wrap=True)
    if report.problem:
        console.print(Text(report.problem, "yellow"), soft_wrap=True)
    for path in report.paths.values():
        console.print(Text(f"written: {path}", "dim"), soft_wrap=True)


def styled(line: Line) -> Text:
    return Text.assemble(*((piece, STYLES.get(role, "")) for piece, role in line))


def reaches(report: DiagnosisReport, level: str) -> bool:
    """Whether a change is asked for that is at least as urgent as `level`; a guess is not, nor what
    may come second in a run that shows no fault. A run with numbers that no sound training has
    does not pass, even where nothing tells why."""
    urgent, found = LEVELS[: LEVELS.index(level) + 1], report.diagnosis
    if any(all_rules()[symptom.rule].fatal for symptom in found.symptoms):
        return True
    changes = found.prescriptions if found.verdict in ("faulty", "undertrained") else []
    return any(
        asked.priority in urgent and (found.verdict == "faulty" or asked.cause == SHORT)
        for asked in changes
    )


def unjudged(report: DiagnosisReport) -> bool:
    """Whether the log held nothing to judge by: a gate must not take that for health."""
    found = report.diagnosis
    return (
        found.verdict == "cannot_tell"
        and not found.causes
        and not found.symptoms
        and all(one.analyses.reach.best is None for one in report.analyses)
    )


def follow(
    console: Console,
    look: Callable[[], Sequence[DiagnosisReport]],
    sleep: Callable[[float], None] = time.sleep,
) -> Sequence[DiagnosisReport]:
    """Looks again and again until no run is being written any more; the last reports."""
    view = _LiveView(console) if console.is_terminal else _PlainView(console)
    with view:
        while True:
            began = time.monotonic()
            reports = look()
            view.show(reports)
            if not any(report.running for report in reports):
                return reports
            took = time.monotonic() - began
            try:
                sleep(max(PAUSE, took / LARGEST_SHARE))
            except KeyboardInterrupt:
                return reports


class _LiveView:
    """Redrawn in place: the verdict, the curve, the causes and what to change, as far as fits."""

    def __init__(self, console: Console) -> None:
        self.live = Live(
            console=console, auto_refresh=False, transient=True, vertical_overflow="crop"
        )
        self.console = console

    def __enter__(self) -> None:
        self.live.start()

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def show(self, reports: Sequence[DiagnosisReport]) -> None:
        width = min(self.console.width, WIDTH)
        made = [styled(line) for report in reports for line in lines(brief(report), width)]
        self.live.update(Group(*made[: self.console.height - 1]), refresh=True)


class _PlainView:
    """A line whenever the verdict changes, for a log."""

    def __init__(self, console: Console) -> None:
        self.console, self.said = console, ""

    def __enter__(self) -> None:
        """Nothing is open."""

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def show(self, reports: Sequence[DiagnosisReport]) -> None:
        for report in reports:
            found = report.diagnosis
            cause = f", {found.causes[0].id}" if found.causes else ""
            says = f"{found.run}: {found.verdict}{cause}"
            if says != self.said:
                self.console.print(Text(says), soft_wrap=True)
                self.said = says


# Of which sections which blocks fit one screen: the verdict, the curve, the causes, the changes.
BRIEF: dict[str, tuple[type, ...]] = {
    "summary": (Paragraph, Tiles, Chart),
    "recommendations": (Heading, Paragraph),
    "bottlenecks": (Paragraph, Heading, Table),
}


def brief(report: DiagnosisReport) -> Document:
    whole = {section.key: section for section in report.document.sections}
    sections = [
        replace(whole[key], blocks=[b for b in whole[key].blocks if isinstance(b, kept)])
        for key, kept in BRIEF.items()
        if key in whole
    ]
    return replace(report.document, sections=sections)

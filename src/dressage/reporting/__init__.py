"""The training report of a run or group: text, Markdown, and one self-contained HTML page.

It reads the run directory only, and needs neither torch nor the environment. Today it describes;
the diagnosis will add its sections between the metrics and the next steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dressage.errors import RunError
from dressage.reporting.curve import learning_curve
from dressage.reporting.document import Chart, Document
from dressage.reporting.group import group_curve, group_document
from dressage.reporting.html_page import html_page
from dressage.reporting.markdown import CURVE_FILE, markdown
from dressage.reporting.picture import picture
from dressage.reporting.sections import run_document
from dressage.reporting.source import read
from dressage.reporting.text import text
from dressage.runs.files import write_atomic, writing
from dressage.runs.group import Group
from dressage.runs.run import Run

__all__ = ["Report", "curve_svg", "report"]


@dataclass
class Report:
    """What a run says of itself; each form is made when it is first asked for."""

    document: Document
    paths: dict[str, Path] = field(default_factory=dict)  # markdown, curve, html: what was written
    problem: str = ""  # why report.md could not be written

    @cached_property
    def markdown(self) -> str:
        return markdown(self.document)

    @cached_property
    def html(self) -> str:
        return html_page(self.document)

    @cached_property
    def text(self) -> str:
        lines = [text(self.document)]
        if self.problem:
            lines.append(f"\n{self.problem}\n")
        return "".join(lines)

    @cached_property
    def curve(self) -> str | None:
        """The learning curve as an SVG file of its own."""
        return None if self.document.curve is None else picture(self.document.curve)


def report(run: Run | Group, *, html: Path | str | None = None) -> Report:
    """Reads a run or group, writes report.md (and a curve) into its folder, and the page to `html`.

    `html` is a file, or a folder in which `report.html` is made. A folder that cannot be written
    does not prevent the report unless the page was asked for there.
    """
    document = (
        group_document(run, [read(member) for member in run.members])
        if isinstance(run, Group)
        else run_document(read(run))
    )
    made = Report(document)
    try:
        if made.curve is not None:
            write_atomic(run.path / CURVE_FILE, made.curve)
            made.paths["curve"] = run.path / CURVE_FILE
        write_atomic(run.path / "report.md", made.markdown)
        made.paths["markdown"] = run.path / "report.md"
    except RunError as error:
        made.problem = str(error)
    if html is not None:
        path = Path(html)
        path = path / "report.html" if path.is_dir() else path
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, made.html)
        made.paths["html"] = path
    return made


def curve_svg(run: Run | Group) -> str:
    """The learning curve of a run or group as an SVG file's content."""
    chart: Chart
    if isinstance(run, Group):
        chart = group_curve([read(member) for member in run.members])
    else:
        chart = learning_curve(read(run))
    return picture(chart)

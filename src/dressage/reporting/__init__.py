"""The training report of a run or group: text, Markdown, and one self-contained HTML page.

It reads the run directory only, and needs neither torch nor the environment. By itself it
describes; a diagnosis adds its sections between the metrics and the next steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dressage.errors import RunError
from dressage.reporting.curve import learning_curve
from dressage.reporting.document import Added, Chart, Document
from dressage.reporting.group import gather, group_curve, group_document
from dressage.reporting.html_page import html_page
from dressage.reporting.markdown import CURVE_FILE, markdown
from dressage.reporting.picture import picture
from dressage.reporting.sections import run_document
from dressage.reporting.source import read
from dressage.reporting.text import text
from dressage.runs.files import write_atomic, write_json, writing
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

    def write(self, folder: Path) -> None:
        """report.md and its picture into a folder; says so where that is not possible."""
        try:
            if self.curve is not None:
                write_atomic(folder / CURVE_FILE, self.curve)
                self.paths["curve"] = folder / CURVE_FILE
            write_atomic(folder / "report.md", self.markdown)
            self.paths["markdown"] = folder / "report.md"
        except RunError as error:
            self.problem = str(error)

    def write_all(self, folder: Path, data: Mapping[str, Any]) -> None:
        """Every form: report.json of `data`, report.md with its picture, report.html."""
        write_json(folder / "report.json", data)
        self.write(folder)
        self.write_html(folder / "report.html")

    def write_html(self, path: Path | str) -> None:
        """`path`: a file, or a folder in which report.html is made."""
        path = Path(path)
        path = path / "report.html" if path.is_dir() else path
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, self.html)
        self.paths["html"] = path

    def write_markdown(self, path: Path | str) -> None:
        """One file by itself, without the picture."""
        path = Path(path)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, markdown(self.document, picture=False))
        self.paths["markdown"] = path

    @cached_property
    def curve(self) -> str | None:
        """The learning curve as an SVG file of its own."""
        return None if self.document.curve is None else picture(self.document.curve)


def report(
    run: Run | Group, *, html: Path | str | None = None, added: Added | None = None
) -> Report:
    """Reads a run or group, writes report.md (and a curve) into its folder, and the page to `html`.

    `added`: what a diagnosis has to say. A folder that cannot be written does not prevent the
    report unless the page was asked for there.
    """
    if isinstance(run, Group):
        document = group_document(gather(run), added)
    else:
        document = run_document(read(run), added)
    made = Report(document)
    made.write(run.path)
    if html is not None:
        made.write_html(html)
    return made


def curve_svg(run: Run | Group) -> str:
    """The learning curve of a run or group as an SVG file's content."""
    chart: Chart
    if isinstance(run, Group):
        chart = group_curve(gather(run).members)
    else:
        chart = learning_curve(read(run))
    return picture(chart)

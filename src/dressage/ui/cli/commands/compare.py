"""`dressage compare`"""

from __future__ import annotations

from typing import Annotated

import typer

from dressage.ui.cli.options import (
    HtmlOption,
    JsonOption,
    MarkdownOption,
    RunsOption,
    ThresholdOption,
)


def compare(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B…",
            help="Runs, groups of seeds, or folders of other libraries. NAME=A gives one a name; "
            "several runs of a side are joined by commas.",
        ),
    ],
    threshold: ThresholdOption = None,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Tell how runs differ: settings, results with intervals and tests, and where they part.

    The first side is what the others are held against.
    """
    from dressage import api
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.diagnosis import print_report

    report = api.compare(*sides, threshold=threshold, html=html, markdown=markdown, runs=runs)
    print_report(console_for(json), report)
    if json:
        emit(report.to_json())

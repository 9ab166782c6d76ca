"""`dressage report`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dressage.ui.cli.options import JsonOption, RunArgument, RunsOption


def report(
    run: RunArgument = "@last",
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write one self-contained HTML page."),
    ] = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Print and write the report of a run."""
    from dressage import api
    from dressage.runs.find import find_checkpoint, runs_root
    from dressage.ui.cli.output import console_for, emit

    made = api.report(run, html=html, runs=runs)
    console = console_for(json)
    console.print(made.text, markup=False, soft_wrap=True)
    for path in made.paths.values():
        console.print(f"written: {path}", style="dim", markup=False, soft_wrap=True)
    if json:
        emit({"run_id": find_checkpoint(run, runs_root(runs))[0].id, **made.paths})

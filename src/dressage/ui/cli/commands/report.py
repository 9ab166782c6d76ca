"""`dressage report`"""

from __future__ import annotations

from dressage.ui.cli.options import HtmlOption, JsonOption, RunArgument, RunsOption


def report(
    run: RunArgument = "@last",
    html: HtmlOption = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Print and write the report of a run: what it did, and its diagnosis."""
    from dressage import api
    from dressage.runs.find import find_checkpoint, runs_root
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.diagnosis import print_report

    made = api.report(run, html=html, runs=runs)
    print_report(console_for(json), made)
    if json:
        emit({"run_id": find_checkpoint(run, runs_root(runs))[0].id, **made.paths})

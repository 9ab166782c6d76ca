"""`dressage regress`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dressage.ui.cli.options import JsonOption, RunsOption


def regress(
    baseline: Annotated[
        Path, typer.Option("--baseline", metavar="FILE", help="The stored baseline, or its folder.")
    ],
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="SETTINGS", help="First make the baseline from this YAML file of settings."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of each setting.")] = 8,
    alpha: Annotated[
        float | None, typer.Option(help="Share of false alarms over all settings; 0.01 by default.")
    ] = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Fail where a change slowed convergence: named settings, trained anew, against a baseline.

    Made for CI: exit code 1 where a final return or an area under the curve is significantly worse.
    """
    from dressage import api
    from dressage.ui.cli.output import console_for, emit

    console = console_for(json)
    found = api.regress(
        baseline,
        write=write,
        seeds=seeds,
        alpha=alpha,
        runs=runs,
        say=lambda line: console.print(line, soft_wrap=True),
    )
    for check in found.checks:
        console.print(
            f"{check.name}, {check.of}: {check.baseline:.4g} -> {check.now:.4g}, "
            f"p of not worse {check.adjusted:.2g}",
            soft_wrap=True,
        )
    console.print(found.says, soft_wrap=True)
    if json:
        emit(found.to_json())
    if found.failed:
        raise typer.Exit(1)

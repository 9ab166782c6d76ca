"""`dressage diagnose`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dressage.ui.cli.options import JsonOption, RunsOption


def diagnose(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN…]", help="Runs, folders or files of any known library; @last by default."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="A config that the log itself lacks."),
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="OURS=THEIRS", help="What a column of a table is."),
    ] = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Tell what holds a run back, and what to change (preview).

    Runs of SB3, CleanRL, RLlib, Tianshou, gymnasium-solver, W&B and MLflow are read as they are.
    """
    from dressage import api
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.diagnosis import print_diagnosis

    found = api.diagnose(*(paths or ["@last"]), config=config, mapping=mapping, runs=runs)
    console = console_for(json)
    for one in found:
        print_diagnosis(console, one)
    if json:
        whole = [one.to_json() for one in found]
        emit(whole[0] if len(whole) == 1 else {"runs": whole})

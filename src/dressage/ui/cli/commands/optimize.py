"""`dressage optimize`"""

from __future__ import annotations

from typing import Annotated

import typer

from dressage.ui.cli.options import GoalOption, JsonOption, RunsOption, ThresholdOption


def optimize(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run of ours: id, path, or @last.")],
    minutes: Annotated[float, typer.Option(help="Time after which nothing new is begun.")] = 10.0,
    goal: GoalOption = "frames",
    threshold: ThresholdOption = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Mend a run: try what its diagnosis prescribes, and prove what helps on fresh seeds.

    Ctrl-C keeps all that was learned; the same command goes on from there.
    """
    from dressage import api
    from dressage.ui.cli.output import console_for, emit

    console = console_for(json)
    found, path = api.optimize(
        run,
        minutes=minutes,
        goal=goal,
        threshold=threshold,
        say=lambda line: console.print(line, soft_wrap=True),
        runs=runs,
    )
    console.print(found.says, soft_wrap=True)
    ours = found.library == "dressage"
    told = f"run it: dressage train --config {path}" if ours else f"the settings: {path}"
    console.print(told, soft_wrap=True)
    if json:
        emit(found.to_json() | {"config": str(path)})

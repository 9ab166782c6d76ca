"""`dressage verify`"""

from __future__ import annotations

from typing import Annotated

import typer

from dressage.ui.cli.options import (
    RETRAINED,
    GoalOption,
    JsonOption,
    ProofSeedsOption,
    RunsOption,
    ThresholdOption,
)


def verify(
    run: Annotated[str, typer.Argument(metavar="RUN", help=RETRAINED)],
    patch: Annotated[
        list[str],
        typer.Option(
            "--patch", metavar="KEY=VALUE", help="A setting to change; may be given several times."
        ),
    ],
    goal: GoalOption = "frames",
    threshold: ThresholdOption = None,
    seeds: ProofSeedsOption = 24,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Prove a change: train seeds with and without it, and tell proven, not proven or worse.

    At least 8 seeds a side, looked at as planned (8, 12, 16, 24) with one alpha of 5 % for all
    looks. Interrupted, the same command goes on with the seeds that are done.
    """
    from dressage import api
    from dressage.errors import ConfigError
    from dressage.presets.resolve import from_text
    from dressage.ui.cli.output import console_for, emit

    if odd := [word for word in patch if "=" not in word]:
        raise ConfigError(f"--patch takes KEY=VALUE, and not '{odd[0]}'.")
    changes = {name: from_text(value) for name, _, value in (w.partition("=") for w in patch)}
    console = console_for(json)
    found = api.verify(
        run,
        changes,
        goal=goal,
        threshold=threshold,
        seeds=seeds,
        say=lambda line: console.print(line),
        runs=runs,
    )
    console.print(found.says, soft_wrap=True)
    if json:
        emit(found.to_json())

"""`dressage evaluate`"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dressage.ui.cli.options import JsonOption, RunArgument, RunsOption, TrustOption


def evaluate(
    run: RunArgument = "@last",
    episodes: Annotated[
        int, typer.Option("--episodes", "-n", min=1, help="Held-out episodes.")
    ] = 20,
    stochastic: Annotated[
        bool, typer.Option("--stochastic", help="Sample actions instead of taking the best.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the episodes; by default derived from the run's."),
    ] = None,
    runs: RunsOption = None,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Measure a policy: its return with an interval.

    It plays episodes that training never saw. RUN@best, RUN@last or RUN@20000 chooses a
    checkpoint; the best one is the default.
    """
    from dressage import api
    from dressage.ui.cli.output import console_for, emit

    found = api.evaluate(
        run, episodes=episodes, deterministic=not stochastic, seed=seed, runs=runs, trust=trust
    )
    _print(console_for(json), found)
    if json:
        emit(found)


def _print(console: Any, found: dict[str, Any]) -> None:
    from dressage.ui.verdicts import evaluation_facts, evaluation_table

    if "members" in found:
        console.print(evaluation_table(found, console.width))
    for line in evaluation_facts(found):
        console.print(line)

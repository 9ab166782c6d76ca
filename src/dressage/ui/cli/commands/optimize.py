"""`dressage optimize`"""

from __future__ import annotations

from typing import Annotated

import typer

from dressage.ui.cli.options import (
    RETRAINED,
    GoalOption,
    HtmlOption,
    JsonOption,
    MarkdownOption,
    ProofSeedsOption,
    RunsOption,
    ThresholdOption,
)


def optimize(
    run: Annotated[str, typer.Argument(metavar="RUN", help=RETRAINED)],
    minutes: Annotated[float, typer.Option(help="Time after which nothing new is begun.")] = 10.0,
    goal: GoalOption = "frames",
    threshold: ThresholdOption = None,
    seeds: ProofSeedsOption = 24,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Mend a run: try what its diagnosis prescribes, and prove what helps on fresh seeds.

    Ctrl-C keeps all that was learned; the same command goes on from there.
    """
    from dressage import api
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.diagnosis import print_report

    console = console_for(json)
    report = api.optimize(
        run,
        minutes=minutes,
        goal=goal,
        threshold=threshold,
        seeds=seeds,
        html=html,
        markdown=markdown,
        say=lambda line: console.print(line, soft_wrap=True, markup=False),
        runs=runs,
    )
    print_report(console, report)
    console.print(report.run_it, soft_wrap=True)
    if json:
        emit(report.to_json())
    if report.optimization.interrupted:
        raise typer.Exit(130)

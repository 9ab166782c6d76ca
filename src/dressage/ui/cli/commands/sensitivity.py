"""`dressage sensitivity`"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dressage.ui.cli.options import (
    HtmlOption,
    JsonOption,
    MarkdownOption,
    RunArgument,
    RunsOption,
    TrustOption,
)


def sensitivity(
    run: RunArgument,
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="SETTING", help="Settings to perturb; all numbers by default."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of each value, the same for all.")] = 8,
    minutes: Annotated[
        float | None, typer.Option(help="Time after which nothing new is begun.")
    ] = None,
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            help="Instead: advice on the batch size, from gradient noise and measured speed.",
        ),
    ] = False,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    runs: RunsOption = None,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Tell which settings matter for a run: each is halved and doubled, on the same seeds.

    Ctrl-C keeps all that was learned; the same command goes on from there.
    """
    from dressage import api
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.diagnosis import print_report

    console = console_for(json)

    def say(line: str) -> None:
        console.print(line, soft_wrap=True, markup=False)

    shared: dict[str, Any] = {"html": html, "markdown": markdown, "say": say, "runs": runs}
    if batch:
        advice = api.batch_advice(run, trust=trust, **shared)
        print_report(console, advice)
        if json:
            emit(advice.to_json())
        return
    report = api.sensitivity(run, settings or None, seeds=seeds, minutes=minutes, **shared)
    print_report(console, report)
    if json:
        emit(report.to_json())
    if report.sensitivity.interrupted:
        raise typer.Exit(130)

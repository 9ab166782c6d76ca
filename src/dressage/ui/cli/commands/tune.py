"""`dressage tune`"""

from __future__ import annotations

from typing import Annotated

import typer

from dressage.ui.cli.options import (
    EnvArgument,
    HtmlOption,
    JsonOption,
    MarkdownOption,
    RunsOption,
    SettingsArgument,
    ThresholdOption,
    complete_runs,
    read_words,
)


def tune(
    env: EnvArgument = None,
    settings: SettingsArgument = None,
    trials: Annotated[
        int | None, typer.Option(help="Trials in all, those of earlier calls included.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Time for all of it, race and proof included.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of each trial.")] = 2,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="Start at this run's settings, and at what its diagnosis prescribes.",
            autocompletion=complete_runs,
        ),
    ] = None,
    goal: Annotated[
        str, typer.Option("--goal", help="frames (how soon it learns) or return (how well).")
    ] = "frames",
    threshold: ThresholdOption = None,
    storage: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where Optuna keeps trials; an SQLite file by default."),
    ] = None,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Search for better settings, and prove the best on fresh seeds.

    `dressage tune CartPole-v1:ppo --minutes 10`. Settings that are named, such as gamma=0.99, stay
    as they are. Ctrl-C keeps all that was learned; the same command goes on from there.
    """
    from dressage import api
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.diagnosis import print_report

    named, overrides = read_words(env, settings, api.tune)
    console = console_for(json)
    report = api.tune(
        named,
        start=start,
        trials=trials,
        minutes=minutes,
        seeds=seeds,
        goal=goal,
        threshold=threshold,
        storage=storage,
        html=html,
        markdown=markdown,
        say=lambda line: console.print(line, soft_wrap=True, markup=False),
        runs=runs,
        **overrides,
    )
    print_report(console, report)
    console.print(f"run it: {report.command}", soft_wrap=True)
    if json:
        emit(report.to_json())
    if report.tuning.interrupted:
        raise typer.Exit(130)

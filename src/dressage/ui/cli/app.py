"""All commands in the order in which a person meets them."""

from __future__ import annotations

from typing import Annotated

import typer

from dressage.ui.cli.commands import (
    compare,
    config,
    diagnose,
    evaluate,
    explain,
    new,
    optimize,
    play,
    presets,
    regress,
    report,
    runs,
    sensitivity,
    train,
    tune,
    verify,
)
from dressage.ui.cli.quick import QuickCommand, QuickGroup

# rich_markup_mode=None: help drawn by rich takes 0.13 s more, half of which is importing it.
app = typer.Typer(
    cls=QuickGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with `dressage train CartPole-v1`, then `dressage report @last`.",
)


def _version(asked: bool) -> None:
    if asked:
        from dressage import __version__

        print(f"dressage {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def dressage(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Reinforcement learning that explains itself, mends itself, and proves it."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(report.report)
app.command("diagnose", cls=QuickCommand)(diagnose.diagnose)
app.command("compare")(compare.compare)
app.command("verify")(verify.verify)
app.command("optimize")(optimize.optimize)
app.command("tune")(tune.tune)
app.command("sensitivity")(sensitivity.sensitivity)
app.command("regress")(regress.regress)
app.command("play")(play.play)
app.add_typer(runs.app, name="runs")
app.command("config")(config.config)
app.command("presets")(presets.presets)
app.command("explain")(explain.explain)
app.command("new")(new.new)

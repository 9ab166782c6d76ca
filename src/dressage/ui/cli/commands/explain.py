"""`dressage explain`"""

from __future__ import annotations

from typing import Annotated

import typer

from dressage.ui.cli.options import JsonOption


def explain(
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A metric, a setting, a rule or a cause; all metrics by default."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Tell what a metric, a setting, a rule or a cause means."""
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.glossary import entries, entry_text, overview

    console = console_for(json)
    if word is None:
        found = overview()
        for entry in found:
            console.print(f"[bold]{entry['name']}[/]  [dim]{entry['unit']}[/]", soft_wrap=True)
            console.print(f"    {entry['meaning']}", markup=False)
    else:
        found = entries(word)
        for entry in found:
            console.print(entry_text(entry))
    if json:
        emit({"entries": found})

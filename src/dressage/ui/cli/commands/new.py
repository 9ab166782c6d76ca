"""`dressage new`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dressage.ui.cli.options import JsonOption


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="An absent or empty folder.")],
    json: JsonOption = False,
) -> None:
    """Begin a project with an environment of your own."""
    from dressage.project import new_project
    from dressage.ui.cli.output import console_for, emit

    files = new_project(folder)
    console = console_for(json)
    for file in files:
        console.print(f"  {file}", markup=False, soft_wrap=True)
    console.print("Next:")
    console.print(f"  cd {folder} && dressage train --config config.yaml", style="cyan")
    if json:
        emit({"path": folder, "files": files})

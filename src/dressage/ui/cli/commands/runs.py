"""`dressage runs`: list, filter, delete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dressage.ui.cli.options import JsonOption, RunsOption, complete_runs

app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)


@app.callback()
def runs(
    context: typer.Context,
    env: Annotated[str | None, typer.Option(help="Only this environment.")] = None,
    algo: Annotated[str | None, typer.Option(help="Only this algorithm.")] = None,
    status: Annotated[
        str | None,
        typer.Option(help="Only running, finished, stopped, failed or crashed ones."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The newest ones.")] = 50,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """List, filter and delete runs.

    A group of seeds is one line. Newest last.
    """
    if context.invoked_subcommand is not None:
        return
    from dressage.runs.find import runs_root
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.listing import list_rows, listing_table

    root = runs_root(runs)
    rows, left_out = list_rows(root, env=env, algo=algo, status=status, limit=limit)
    console = console_for(json)
    if rows:
        console.print(listing_table(rows, console.width))
    else:
        console.print(f"No such run in {root}.", markup=False)
    if left_out:
        console.print(f"{left_out} older left out (--limit)", style="dim")
    if json:
        emit({"root": root, "runs": rows})


@app.command("delete")
def delete(
    names: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Runs or groups.", autocompletion=complete_runs),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Delete runs for good; one that is being written is refused."""
    from dressage.errors import RunError
    from dressage.runs.find import delete_run, find, runs_root
    from dressage.ui.cli.output import console_for, emit

    root = runs_root(runs)
    found = {run.path: run for run in (find(name, root) for name in names)}
    for run in found.values():
        if run.status == "running":
            raise RunError(f"{run.id} is running: stop it first. Nothing was deleted.")
    console = console_for(json)
    for run in found.values():
        console.print(f"{run.id}  {_size(run.path)}", markup=False, soft_wrap=True)
    if not yes:
        _ask(len(found), json)
    for run in found.values():
        delete_run(run)
    console.print(f"Deleted {len(found)}.")
    if json:
        emit({"deleted": [run.path.name for run in found.values()]})


def _ask(number: int, json: bool) -> None:
    import sys

    from dressage.errors import RunError

    if not sys.stdin.isatty():
        raise RunError("Nothing was deleted: pass --yes where nobody can be asked.")
    what = "it" if number == 1 else f"all {number}"
    typer.confirm(f"Delete {what} for good?", abort=True, err=json)


def _size(path: Path) -> str:
    total: Any = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return f"{total / 1e6:,.1f} MB"

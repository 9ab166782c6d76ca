"""`dressage presets`"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dressage.ui.cli.options import JsonOption, complete_envs


def presets(
    env: Annotated[
        str | None,
        typer.Argument(metavar="[ENV]", help="Show its settings.", autocompletion=complete_envs),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List tuned settings by environment."""
    from dressage.errors import ConfigError, did_you_mean
    from dressage.presets import presets as all_presets
    from dressage.ui.cli.output import console_for, emit

    found = list(all_presets().values())
    if env is not None:
        known = sorted({preset.env for preset in found})
        found = [preset for preset in found if preset.env == env]
        if not found:
            raise ConfigError(f"There is no preset for '{env}'.{did_you_mean(env, known)}")
    console = console_for(json)
    if env is None:
        _print_table(console, found)
    else:
        for preset in found:
            _print_one(console, preset)
    if json:
        emit({"presets": [vars(preset) for preset in found]})


def _print_table(console: Any, found: list[Any]) -> None:
    from dressage.ui.tables import Column, table
    from dressage.ui.text import count

    columns = [
        Column("environment"),
        Column("algorithm"),
        Column("env steps", right=True, drop=1),
        Column("earned", drop=2, fold=True, style="dim"),
    ]
    rows = [
        [preset.env, preset.algo, count(preset.settings.get("env_steps")), _earned(preset)]
        for preset in found
    ]
    console.print(table(columns, rows, console.width))


def _print_one(console: Any, preset: Any) -> None:
    console.print(f"{preset.env}  {preset.algo}", style="bold", markup=False)
    for key, value in preset.settings.items():
        console.print(f"  {key}: {value}", markup=False)
    console.print(f"  {_earned(preset)}", style="dim", markup=False)


def _earned(preset: Any) -> str:
    if not preset.earned:
        return f"not yet tried; values from {preset.source}"
    returns = preset.earned["returns"]
    mean = sum(returns) / len(returns)
    return f"return {mean:.1f}, mean of {len(returns)} seeds, {preset.earned['date']}"

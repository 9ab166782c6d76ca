"""`dressage config`"""

from __future__ import annotations

from typing import Annotated

import typer

from dressage.ui.cli.options import (
    ConfigOption,
    EnvArgument,
    JsonOption,
    NoPresetOption,
    RunsOption,
    SettingsArgument,
    read_words,
)


def config(
    env: EnvArgument = None,
    settings: SettingsArgument = None,
    config: ConfigOption = None,
    no_preset: NoPresetOption = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Only what differs from the defaults.")
    ] = False,
    yaml: Annotated[
        bool, typer.Option("--yaml", help="As a file that `dressage train --config` takes.")
    ] = False,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Show all settings and where each came from.

    `dressage config CartPole-v1 lr=1e-3` is what `train` would use; `dressage config @last` what
    that run had.
    """
    from dressage.api import resolve_config
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.settings import config_of, print_config, yaml_of

    named, overrides = read_words(env, settings, resolve_config)
    found = config_of(named, overrides, config, runs, preset=not no_preset)
    if changed:
        found = [entry for entry in found if entry.source != "default"]
    if yaml:
        print(yaml_of(found), end="")
    else:
        print_config(console_for(json), found)
    if json:
        emit(
            {
                "values": {entry.name: entry.value for entry in found},
                "sources": {entry.name: entry.source for entry in found},
            }
        )

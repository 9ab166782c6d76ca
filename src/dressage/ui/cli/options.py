"""Options and arguments that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any

import typer


def complete_runs(incomplete: str) -> list[str]:
    """Names in the folder of runs, without opening any."""
    root = Path(os.environ.get("DRESSAGE_RUNS") or "runs")
    names = ["@last", *sorted((entry.name for entry in _entries(root)), reverse=True)]
    return [name for name in names if name.startswith(incomplete)]


def complete_envs(incomplete: str) -> list[str]:
    """Environments with a preset; asking Gymnasium for all of its own would take half a second."""
    presets = Path(__file__).parents[2] / "presets"
    names = {path.stem for path in presets.glob("*/*.yaml")}
    return sorted(name for name in names if name.startswith(incomplete))


def _entries(root: Path) -> Iterator[Path]:
    """Folders that hold a run or group; one stat or two for each."""
    try:
        for entry in root.iterdir():
            marks = (entry / "config.json", entry / "group.json")
            if not entry.name.startswith((".", "@")) and any(mark.is_file() for mark in marks):
                yield entry
    except OSError:
        return


RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run or group: its id, a unique prefix, @last, a path, GROUP/SEED.",
        autocompletion=complete_runs,
        show_default=False,
    ),
]
EnvArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="ENV[:ALGO]",
        help="A Gymnasium id, module:Class or module:function.",
        autocompletion=complete_envs,
        show_default=False,
    ),
]
SettingsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="Settings, such as lr=3e-4 seeds=8 env_steps=200_000.",
        show_default=False,
    ),
]
RunsOption = Annotated[
    Path | None,
    typer.Option("--runs", metavar="DIR", help="The folder of runs (or DRESSAGE_RUNS)."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings in YAML, or a run's config.json."),
]
NoPresetOption = Annotated[
    bool, typer.Option("--no-preset", help="Leave out the tuned settings of this environment.")
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Let the run import the code of your own that it names.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON object as the last line of standard output.")
]

HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Also write one self-contained HTML page."),
]
MarkdownOption = Annotated[
    Path | None,
    typer.Option("--markdown", metavar="FILE", help="Also write the report as Markdown."),
]
GoalOption = Annotated[
    str,
    typer.Option("--goal", help="frames (env steps to the threshold), return, or wall (seconds)."),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(
        "--threshold", metavar="RETURN", help="What counts as solved; the environment's by default."
    ),
]

RETRAINED = "A run of ours (id, path, @last) or a folder of SB3's."
ProofSeedsOption = Annotated[
    int,
    typer.Option("--seeds", help="At most so many seeds a side in a proof: 8, 12, 16 or 24."),
]


def read_words(
    env: str | None, settings: list[str] | None, takes: Callable[..., Any]
) -> tuple[str | None, dict[str, Any]]:
    """The environment and the settings that a command line names, for a call of `takes`.

    A first word with an equals sign is a setting: the environment then stands in a file, or is
    written env=ID.
    """
    from dressage.errors import ConfigError
    from dressage.presets.resolve import parse_overrides

    words = list(settings or [])
    if env is not None and "=" in env:
        words.insert(0, env)
        env = None
    found = parse_overrides(words)
    if env is None and isinstance(found.get("env"), str):
        env = found.pop("env")
    for name, parameter in signature(takes).parameters.items():
        if name in found and name != "algo" and parameter.kind is not Parameter.VAR_KEYWORD:
            raise ConfigError(f"{name}={found[name]}: {_instead(name, found[name])}")
    return env, found


def _instead(name: str, value: Any) -> str:
    if name == "env":
        return "the environment is named already, once is enough."
    if name in ("hooks", "say"):
        return "only Python code can give this."
    option = "--no-preset" if name == "preset" else f"--{name}"
    argument = f" {value}" if option == f"--{name}" and not isinstance(value, bool) else ""
    return f"this is an option, no setting: write {option}{argument}."

"""`dressage train`"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dressage.ui.cli.options import (
    ConfigOption,
    EnvArgument,
    JsonOption,
    NoPresetOption,
    RunsOption,
    SettingsArgument,
    TrustOption,
    complete_runs,
    read_words,
)


def train(
    env: EnvArgument = None,
    settings: SettingsArgument = None,
    config: ConfigOption = None,
    no_preset: NoPresetOption = False,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Go on with a run or group, bit for bit, from its last checkpoint.",
            autocompletion=complete_runs,
        ),
    ] = None,
    runs: RunsOption = None,
    trust: TrustOption = False,
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress display.")] = False,
) -> None:
    """Train an agent, or go on training one.

    `dressage train CartPole-v1`, `dressage train CartPole-v1:ppo lr=3e-4 seeds=4`,
    `dressage train --resume @last`
    """
    from dressage.ui.cli.output import Interrupted, complain, console_for, emit
    from dressage.ui.progress import progress_for

    console = console_for(json)
    display = None if quiet else progress_for(console)
    try:
        if display is not None:
            display.open(f"preparing {resume or env or config or ''}")
        from dressage import api
        from dressage.ui.outcome import failed_members, outcome, print_outcome

        named, overrides = read_words(env, settings, api.train)
        run = api.train(
            named,
            config=config,
            resume=resume,
            runs=runs,
            hooks=() if display is None else (display,),
            trust=trust,
            preset=not no_preset,
            **overrides,
        )
    except KeyboardInterrupt:
        raise Interrupted from None
    finally:
        if display is not None:
            display.close()
    found = outcome(run)
    if not quiet:
        print_outcome(console, found, _next_commands(run, found, runs))
    if failed := failed_members(found):
        complain(failed)
    if json:
        emit(found)
    if code := _exit_code(found):
        raise typer.Exit(code)


def _exit_code(found: dict[str, Any]) -> int:
    members = found.get("members", [found])
    if any(member["status"] in ("failed", "crashed") for member in members):
        return 1
    if any(member["status"] == "halted" for member in members):
        return 4
    if any(member["status"] in ("stopped", "waiting") for member in members):
        own = found.get("reason")  # a person's callback that stops a run has done its work
        return {None: 130, "SIGHUP": 129, "SIGINT": 130, "SIGTERM": 143}.get(own, 0)
    return 0


def _next_commands(run: Any, found: dict[str, Any], runs: Any) -> list[str]:
    """What to type next, with all it takes to be typed as it is."""
    import shlex

    from dressage.runs.find import find, runs_root

    is_last = find("@last", runs_root(runs)).path.resolve() == run.path.resolve()
    name = "@last" if is_last else run.id
    where = f" --runs {shlex.quote(str(runs))}" if runs else ""
    config = run.config
    own = [config["env"], config.get("net"), *config["wrappers"], *config["callbacks"]]
    trusted = any(":" in str(part) for part in own) or "." in config["algo"]
    trust = " --trust" if trusted else ""
    if found["status"] in ("stopped", "crashed"):
        return [f"dressage train --resume {name}{where}{trust}", f"dressage report {name}{where}"]
    if found["status"] == "halted" or found.get("solved") is False:
        return [f"dressage diagnose {name}{where}", f"dressage play {name}{where}{trust}"]
    return [f"dressage report {name}{where}", f"dressage play {name}{where}{trust}"]

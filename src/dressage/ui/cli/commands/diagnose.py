"""`dressage diagnose`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dressage.ui.cli.options import HtmlOption, JsonOption, MarkdownOption, RunsOption, TrustOption

if TYPE_CHECKING:
    from dressage.diagnosis.report import DiagnosisReport


def diagnose(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN…]", help="Runs, folders or files of any known library; @last by default."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="A config that the log itself lacks."),
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="OURS=THEIRS", help="What a column of a table is."),
    ] = None,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again as the run goes on, until it has ended.")
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="Exit code 1 where a change of this priority or above is asked for: critical, "
            "high, medium, low; 2 where the log holds nothing to judge by.",
        ),
    ] = None,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Also run the environment and the algorithm, half a minute."),
    ] = False,
    env: Annotated[
        str | None,
        typer.Option("--env", metavar="ENV", help="The environment to probe: an id, module:Env."),
    ] = None,
    trust: TrustOption = False,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Tell what holds a run back, and what to change (preview).

    Runs of SB3, CleanRL, RLlib, Tianshou, gymnasium-solver, W&B and MLflow are read as they are;
    several runs of one setting, or a group, count as its seeds. The report of a run of ours is also
    written into its folder as report.md.
    """
    from rich.text import Text

    from dressage import api
    from dressage.errors import ConfigError, RunError
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.diagnosis import LEVELS, follow, print_report, reaches, unjudged

    if fail_on is not None and fail_on not in LEVELS:
        raise ConfigError(f"--fail-on takes {', '.join(LEVELS)}, and not '{fail_on}'.")
    if probe and watch:
        raise ConfigError("--probe takes half a minute, and --watch looks often: choose one.")
    console = console_for(json)

    def look() -> list[DiagnosisReport]:
        return api.diagnose(
            *(paths or ["@last"]),
            config=config,
            mapping=mapping,
            html=html,
            markdown=markdown,
            probe=probe,
            env=env,
            trust=trust,
            say=lambda line: console.print(Text(line, "dim"), soft_wrap=True),
            runs=runs,
        )

    found = follow(console, look) if watch else look()
    for one in found:
        print_report(console, one)
    blind = next((one for one in found if unjudged(one)), None)
    if fail_on is not None and blind is not None:
        notes = " ".join(blind.diagnosis.notes[:3])
        raise RunError(
            f"{blind.document.run_id} holds nothing that could be judged, so that it does not pass "
            f"--fail-on. {notes}"
        )
    if json:
        whole = [one.to_json() for one in found]
        emit(whole[0] if len(whole) == 1 else {"runs": whole})
    if fail_on is not None and any(reaches(one, fail_on) for one in found):
        raise typer.Exit(1)

"""`dressage play`"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from dressage.ui.cli.options import JsonOption, RunArgument, RunsOption, TrustOption


def play(
    run: RunArgument = "@last",
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1, help="How many.")] = 1,
    video: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Film it into a .mp4 or .gif file."),
    ] = None,
    window: Annotated[bool, typer.Option("--window", help="Show a window.")] = False,
    seed: Annotated[int | None, typer.Option(help="Seed of the episodes.")] = None,
    runs: RunsOption = None,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Watch a policy in a window, or film it.

    Without a screen it is filmed into the run's folder.
    """
    from dressage import api
    from dressage.ui.cli.output import console_for, emit
    from dressage.ui.text import number

    if video is None and not window and not _has_screen():
        video = _default_video(run, runs)
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # else it complains of the absent screen
    found = api.play(run, episodes=episodes, video=video, seed=seed, runs=runs, trust=trust)
    console = console_for(json)
    returns = ", ".join(number(value) for value in found["returns"])
    console.print(f"return {returns}", markup=False)
    if found["video"]:
        console.print(f"filmed into {found['video']}", markup=False, soft_wrap=True)
    if json:
        emit(found)


def _has_screen() -> bool:
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _default_video(run: str, runs: Path | None) -> Path:
    from dressage.runs.find import find_checkpoint, runs_root

    found, checkpoint = find_checkpoint(run, runs_root(runs))
    return found.path / "videos" / f"{checkpoint or 'play'}.mp4"

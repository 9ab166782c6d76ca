"""A virtual environment for each peer, made once; one that cannot be installed says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TORCH = "torch==2.13.0"
# lower bounds, or pip takes releases of years ago to keep to our constraints
PACKAGES: dict[str, list[str]] = {
    "sb3": [
        "stable-baselines3>=2.7",
        "sb3-contrib>=2.7",
        "gymnasium[mujoco]",
        "ale-py",
        "opencv-python-headless",
    ],
    "sbx": ["sbx-rl>=0.25", "gymnasium[mujoco]"],
    "tianshou": ["tianshou>=2.0.1"],
    "rllib": ["ray[rllib]>=2.50"],
}
DONE, FAILED = "installed.txt", "failed.txt"


def python_of(venv: str, folder: Path) -> Path | str:
    """The interpreter of a peer's environment, made if need be; or a sentence why there is none."""
    home = folder / venv
    python = home / "bin" / "python"
    if (home / DONE).exists():
        return python
    if (home / FAILED).exists():
        return (home / FAILED).read_text().strip()
    print(f"installing {', '.join(PACKAGES[venv])} into {home}", flush=True)
    why = _install(venv, home, python)
    if why:
        (home / FAILED).write_text(why + "\n")  # delete the folder to try again
        return why
    return python


def _install(venv: str, home: Path, python: Path) -> str:
    """Empty if all went well. First with the versions dressage is tested with, then without."""
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    why = _tried([*pip, TORCH])
    if why:
        return why
    constrained = ["-c", str(ROOT / "constraints.txt")]
    for extra in (constrained, [TORCH]):  # named again: it must not be replaced
        why = _tried([*pip, *extra, *PACKAGES[venv]])
        if not why:
            frozen = subprocess.run(
                [str(python), "-m", "pip", "freeze"], check=True, capture_output=True, text=True
            )
            (home / DONE).write_text(frozen.stdout)
            return ""
        print(f"  not {'with' if extra is constrained else 'even without'} constraints: {why}")
    return why


def _tried(command: list[str]) -> str:
    """Runs it; the last lines of what it complained about, if it did."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return " ".join(said[-2:]) or f"pip ended with {done.returncode}"

"""What a run ran on: versions, hardware, the commit of the user's own code."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

FORMAT = 1
# Read from the installed metadata: importing torch to learn its version would take seconds.
PACKAGES = ("dressage", "numpy", "scipy", "gymnasium", "torch", "safetensors", "pydantic")
ENVIRONMENT_PACKAGES = ("mujoco", "box2d", "ale-py", "minigrid", "pygame")


def describe_system() -> dict[str, Any]:
    return {
        "format": FORMAT,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cpu_count": os.cpu_count(),
        "packages": _versions(PACKAGES + ENVIRONMENT_PACKAGES),
        "git": git_commit(Path.cwd()),
        "argv": list(sys.argv),
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _versions(names: tuple[str, ...]) -> dict[str, str]:
    from importlib import metadata

    found = {}
    for name in names:
        try:
            told = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        # metadata.version parses the whole file, which takes five times as long
        lines = (told.read_text("METADATA") or "").splitlines()
        line = next((line for line in lines if line.startswith("Version:")), "")
        found[name] = line.partition(":")[2].strip() or told.version
    return found


def git_commit(folder: Path) -> str | None:
    """The commit checked out in `folder`, with `-dirty` if changed since; None without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=3, check=True
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return answer.stdout.strip() or None

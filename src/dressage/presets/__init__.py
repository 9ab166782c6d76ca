"""Tuned settings by environment and algorithm, each with the runs that earned it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Preset:
    """One YAML file, `presets/<algo>/<env>.yaml`."""

    env: str
    algo: str
    settings: dict[str, Any]
    source: str  # where the values come from
    earned: dict[str, Any]  # seeds, date, command and returns of its trial; empty: not yet tried


def _read(path: Path) -> Preset:
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Preset(
        data["env"], path.parent.name, data["settings"], data["source"], data.get("earned", {})
    )


@cache
def presets() -> dict[tuple[str, str], Preset]:
    """All presets, by (env, algo)."""
    found = {}
    for path in sorted(FOLDER.glob("*/*.yaml")):
        preset = _read(path)
        found[preset.env, preset.algo] = preset
    return found


def find_preset(env: str, algo: str) -> Preset | None:
    """The preset of this environment and algorithm, read alone: most runs need only one."""
    path = FOLDER / algo / f"{env.replace('/', '-')}.yaml"
    ours = ":" not in env and algo.isidentifier()  # names may come from a run of somebody else's
    return _read(path) if ours and path.is_file() else None

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
    earned: dict[str, Any]  # seeds, date, command and returns that it was tried with


@cache
def presets() -> dict[tuple[str, str], Preset]:
    """All presets, by (env, algo)."""
    found = {}
    for path in sorted(FOLDER.glob("*/*.yaml")):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        preset = Preset(data["env"], path.parent.name, data["settings"], data.get("earned", {}))
        found[preset.env, preset.algo] = preset
    return found


def find_preset(env: str, algo: str) -> Preset | None:
    """The preset of this environment and algorithm, read alone: most runs need only one."""
    path = FOLDER / algo / f"{env.replace('/', '-')}.yaml"
    if ":" in env or not path.is_file():
        return None
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Preset(data["env"], algo, data["settings"], data.get("earned", {}))

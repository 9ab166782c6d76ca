"""The command that trains a run again, with what was asked for then and with changes."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Any

from dressage.presets import find_preset
from dressage.reporting.numbers import clean, value_text
from dressage.reporting.source import RunData

ASKED = ("override", "file")  # sources of values that a person gave, and must give again
OTHERWISE = ("env", "algo", "seed", "seeds")  # said otherwise, or better not the same again


def train_again(data: RunData, changed: Mapping[str, Any]) -> str:
    """`dressage train ENV:ALGO key=value …`; a name from elsewhere does not become a command.

    A run without its preset is trained without it again."""
    given = {
        name: data.config[name]
        for name, source in data.sources.items()
        if source in ASKED and name in data.config and name not in OTHERWISE
    }
    words = [
        f"{clean(name, 80)}={value_text(value)}" for name, value in (given | dict(changed)).items()
    ]
    sources = set(data.sources.values())
    if (
        "default" in sources
        and "preset" not in sources
        and find_preset(data.env, data.algo) is not None
    ):
        words.append("--no-preset")
    return " ".join(["dressage train", quote(f"{data.env}:{data.algo}"), *map(quote, words)])

"""What the programs share. They run in virtual environments without dressage."""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def order() -> dict[str, Any]:
    """What to run, from the command line."""
    return json.loads(sys.argv[1])  # type: ignore[no-any-return]


def linear(value: float | str) -> tuple[float, float]:
    """The ends of `linear(a, b)`; a number is the same at both."""
    if isinstance(value, str):
        first, last = value.removeprefix("linear(").removesuffix(")").split(",")
        return float(first), float(last)
    return float(value), float(value)


class Stopwatch:
    """Times the training loop after its first iteration: set-up and warm-up do not count."""

    def __init__(self) -> None:
        self.env_steps_before = 0
        self.began: float | None = None

    def first_iteration_over(self, env_steps: int) -> None:
        if self.began is None:
            self.env_steps_before, self.began = env_steps, time.perf_counter()

    def end(self, env_steps: int) -> dict[str, Any]:
        assert self.began is not None, "the budget is less than two iterations"
        return {
            "env_steps": env_steps,
            "steady_env_steps": env_steps - self.env_steps_before,
            "steady_seconds": time.perf_counter() - self.began,
        }


def tell(result: dict[str, Any], packages: list[str]) -> None:
    """The one line that the runner reads."""
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    print(json.dumps({**result, "versions": versions}), flush=True)

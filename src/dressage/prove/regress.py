"""Convergence regression tests: are named settings significantly worse than a stored baseline?

A baseline is a JSON file: for each setting its config, and the final return, area under the curve
and env steps to the threshold of some seeds. Pure functions; training is the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dressage.errors import ConfigError, RunError
from dressage.prove.measures import area, final_return, return_series
from dressage.prove.permutation import holm, permutation_test
from dressage.runs.files import read_json, write_json
from dressage.runs.view import RunView

FORMAT = 1
ALPHA = 0.01  # over all settings and measures: a false alarm in a hundred runs of the test
FEWEST = 5  # seeds a side: of fewer no split reaches this alpha


@dataclass(frozen=True)
class Measured:
    """What seeds of a setting came to."""

    name: str
    env: str
    algo: str
    settings: dict[str, Any]
    final: list[float]
    area: list[float]

    @property
    def seeds(self) -> int:
        return len(self.final)


@dataclass(frozen=True)
class Check:
    name: str
    of: str  # final return, area under the curve
    baseline: float  # mean
    now: float
    p: float  # one-sided, of "not worse than the baseline"
    adjusted: float  # for all checks (Holm)
    worse: bool


@dataclass(frozen=True)
class Regression:
    checks: list[Check]
    alpha: float
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any(check.worse for check in self.checks)

    @property
    def says(self) -> str:
        bad = [
            f"{c.name} ({c.of} {c.baseline:.4g}, now {c.now:.4g})" for c in self.checks if c.worse
        ]
        rate = f"false alarms in at most {self.alpha:.0%} of such tests"
        if bad:
            return f"Worse than the baseline: {', '.join(bad)}; {rate}."
        count = len({check.name for check in self.checks})
        return f"No setting of {count} is significantly worse than the baseline; {rate}."

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self), "failed": self.failed, "says": self.says}


def measured(
    name: str, env: str, algo: str, settings: Mapping[str, Any], runs: Sequence[RunView]
) -> Measured:
    ends = [float(return_series(run).env_steps[-1]) for run in runs if return_series(run)]
    if len(ends) != len(runs):
        raise RunError(f"{name}: {len(runs) - len(ends)} of {len(runs)} seeds logged no return.")
    return Measured(
        name,
        env,
        algo,
        dict(settings),
        [final_return(run) for run in runs],
        [area(run, min(ends)) for run in runs],
    )


def regress(
    baseline: Sequence[Measured], now: Sequence[Measured], alpha: float = ALPHA
) -> Regression:
    """Final returns and areas of each setting by an exact permutation test of ranks, one-sided."""
    known = {one.name: one for one in baseline}
    rng = np.random.default_rng(0)
    found: list[tuple[str, str, float, float, float]] = []
    for one in now:
        before = known[one.name]
        if min(one.seeds, before.seeds) < FEWEST:
            raise ConfigError(
                f"{one.name} has {before.seeds} and {one.seeds} seeds, expected at least {FEWEST} "
                "of each: fewer can never show that something is worse."
            )
        for of in ("final", "area"):
            a, b = np.array(getattr(before, of)), np.array(getattr(one, of))
            test = permutation_test(a, b, rng)
            p = test.p / 2 if test.better < 0.5 else 1.0 - test.p / 2
            found.append((one.name, of, float(a.mean()), float(b.mean()), p))
    adjusted = holm([p for *_, p in found])
    words = {"final": "final return", "area": "area under the curve"}
    checks = [
        Check(name, words[of], a, b, p, q, q <= alpha)
        for (name, of, a, b, p), q in zip(found, adjusted, strict=True)
    ]
    return Regression(checks, alpha)


def write(path: Path, baseline: Sequence[Measured]) -> None:
    write_json(path, {"format": FORMAT, "settings": [asdict(one) for one in baseline]})


def load(path: Path) -> list[Measured]:
    if path.is_dir():
        path = path / "baseline.json"
    told = read_json(path)
    try:
        return [Measured(**one) for one in told["settings"]]
    except (KeyError, TypeError) as error:
        raise RunError(
            f"{path} is no baseline ({error}): `dressage regress --write SETTINGS.yaml` makes one."
        ) from error

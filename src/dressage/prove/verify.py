"""`verify`: does a change help? Baseline and patched groups, looked at as planned, and a verdict.

How seeds are trained is the caller's: `train(side, seeds)` gives views of those seeds. Seeds are
fresh ones, the same numbers on both sides, and never those of the run itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from dressage.errors import ConfigError, RunError
from dressage.prove.bootstrap import Estimate, difference
from dressage.prove.looks import ALPHA, PLANNED, Verdict, levels, up_to, verdict
from dressage.prove.measures import (
    common_end,
    final_return,
    return_series,
    solved_at,
    times_to,
    wall_seconds,
)
from dressage.prove.permutation import permutation_test
from dressage.prove.survival import log_rank, log_rank_test, ratio_of_means
from dressage.runs.view import RunView

FIRST_SEED = 10_000  # of the seeds that verdicts use: far from those that people type
Goal = Literal["frames", "return", "wall"]
GOALS: tuple[Goal, ...] = ("frames", "return", "wall")
Train = Callable[[str, range], list[RunView]]
BASELINE, PATCHED = "baseline", "patched"


@dataclass(frozen=True)
class Look:
    seeds: int  # a side
    p: float
    level: float  # that p must be below
    better: float  # probability that a patched run is better; of frames 0, 0.5 or 1


@dataclass(frozen=True)
class Verification:
    patch: dict[str, Any]
    goal: Goal
    threshold: float
    threshold_from: str
    verdict: Verdict
    looks: list[Look]
    final: Estimate  # difference of the final return
    steps_ratio: tuple[float, float, float]  # env steps to the threshold, patched over baseline
    env_steps: float  # trained in all
    seconds: float
    baseline: list[float]  # final returns
    patched: list[float]
    first_seed: int  # of those that both sides trained

    @property
    def last(self) -> Look:
        return self.looks[-1]

    @property
    def says(self) -> str:
        look = self.last
        ratio, low, high = self.steps_ratio
        effect = f"env steps to {self.threshold:.4g}: {ratio:.2f} times [{low:.2f}, {high:.2f}]"
        final = (
            f"final return {self.final.value:+.4g} [{self.final.low:.4g}, {self.final.high:.4g}]"
        )
        return (
            f"{self.verdict} over {look.seeds} seeds a side (p {look.p:.2g}, level "
            f"{look.level:.2g}); {effect}; {final}"
        )

    def to_json(self) -> dict[str, Any]:
        return {"format": 1, **asdict(self), "says": self.says}


def verify(
    patch: dict[str, Any],
    train: Train,
    *,
    goal: Goal = "frames",
    threshold: float | None = None,
    planned: Sequence[int] = PLANNED,
    most: int | None = None,
    alpha: float = ALPHA,
    first_seed: int = FIRST_SEED,
    say: Callable[[str], None] = lambda line: None,
) -> Verification:
    """Trains and looks until the verdict is clear or the plan is over; `most`: the look, in seeds a
    side, after which nothing more is trained."""
    if not patch:
        raise ConfigError("There is nothing to verify: give a patch, such as --patch lr=3e-4.")
    plan = tuple(planned)
    taken = len(plan) if most is None else up_to(most, plan)
    began = time.perf_counter()
    sides: dict[str, list[RunView]] = {BASELINE: [], PATCHED: []}
    looks: list[Look] = []
    found: Verdict | None = None
    bound, whence = math.nan, ""
    for seeds, level in [*zip(plan, levels(plan, alpha), strict=True)][:taken]:
        for side, views in sides.items():
            fresh = range(first_seed + len(views), first_seed + seeds)
            say(f"{side}: seeds {fresh[0]} to {fresh[-1]}")
            made = train(side, fresh)
            if len(made) != len(fresh) or not all(return_series(view) for view in made):
                raise RunError(f"Some seeds of the {side} side ended without a return: see above.")
            views += made
        if not looks:  # chosen once, and alike for both sides
            bound, whence = solved_at([*sides.values()], threshold)
        looks.append(_look(sides, goal, bound, seeds, level))
        found = verdict(looks[-1].p, level, looks[-1].better)
        say(f"{seeds} seeds a side: p {looks[-1].p:.3g}, needed {level:.3g}")
        if found is not None:
            break
    rng = np.random.default_rng(0)
    before, after = sides.values()
    final = [np.array([final_return(view) for view in views]) for views in (before, after)]
    horizon = common_end([*before, *after])
    ratio = ratio_of_means(times_to(before, bound), times_to(after, bound), horizon, rng)
    return Verification(
        patch=patch,
        goal=goal,
        threshold=bound,
        threshold_from=whence,
        verdict=found or "not proven",
        looks=looks,
        final=difference(final[0], final[1], rng),
        steps_ratio=ratio,
        env_steps=float(sum(view.env_steps for view in (*before, *after))),
        seconds=time.perf_counter() - began,
        baseline=final[0].tolist(),
        patched=final[1].tolist(),
        first_seed=first_seed,
    )


def _look(
    sides: dict[str, list[RunView]], goal: Goal, bound: float, seeds: int, level: float
) -> Look:
    rng = np.random.default_rng(seeds)
    a, b = sides.values()
    if goal == "frames":
        taken = times_to(a, bound), times_to(b, bound)
        z = log_rank(*taken)
        return Look(seeds, log_rank_test(*taken, rng), level, 0.5 if z == 0 else float(z > 0))
    measure = final_return if goal == "return" else lambda view: -wall_seconds(view)
    values = [np.array([measure(view) for view in views]) for views in (a, b)]
    test = permutation_test(values[0], values[1], rng)
    return Look(seeds, test.p, level, test.better)

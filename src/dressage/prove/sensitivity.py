"""`sensitivity`: which settings matter here, by small changes to one at a time, on the same seeds.

How seeds are trained is the caller's, who also keeps them: an interrupted call goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dressage.errors import RunError
from dressage.math.summary import Float64s
from dressage.prove.looks import ALPHA
from dressage.prove.measures import area, final_return, return_series
from dressage.prove.optimize import OutOfTime
from dressage.prove.paired import Shift, blocks_differ, paired_shift
from dressage.prove.permutation import holm
from dressage.prove.spaces import Knob, Patch, Space
from dressage.reporting.numbers import duration
from dressage.runs.view import RunView

FIRST_SEED = 7000
Train = Callable[[Mapping[str, Any], range], list[RunView]]


@dataclass(frozen=True)
class Change:
    """One value of a setting, and what it did beside the run's own, over the same seeds."""

    value: Any
    area: Shift  # of the mean return over the run
    final: Shift  # of the final return


@dataclass(frozen=True)
class Sensed:
    setting: str
    own: Any  # the run's value
    changes: list[Change]
    p: tuple[float, float]  # of "no effect": on the mean return over the run, on the final one
    adjusted: tuple[float, float] = (1.0, 1.0)  # for all settings and both measures (Holm)

    @property
    def matters(self) -> bool:
        return min(self.adjusted) <= ALPHA

    @property
    def hints(self) -> bool:
        """By itself it would count; among so many tests it does not."""
        return min(self.p) <= ALPHA and not self.matters

    @property
    def size(self) -> float:
        """The largest effect on the mean return over the run."""
        return max(abs(one.area.value) for one in self.changes)

    @property
    def bound(self) -> float:
        """The largest effect that the intervals leave possible."""
        return max(max(abs(one.area.low), abs(one.area.high)) for one in self.changes)


@dataclass
class Sensitivity:
    env: str
    algo: str
    seeds: int
    env_steps: int
    area: float = 0.0  # of the run's own settings, mean over seeds
    final: float = 0.0
    found: list[Sensed] = field(default_factory=list)  # those that matter first, by size
    left: list[str] = field(default_factory=list)  # settings for which there was no time
    ended: str = ""
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def says(self) -> str:
        matter = [one.setting for one in self.found if one.matters]
        hints = [one.setting for one in self.found if one.hints]
        rest = [one.setting for one in self.found if not one.matters and not one.hints]
        told = [f"What matters here: {', '.join(matter) or 'nothing that was tried'}."]
        if hints:
            told.append(f"Perhaps: {', '.join(hints)}.")
        if rest:
            told.append(f"No effect was seen with {self.seeds} seeds: {', '.join(rest)}.")
        if self.left:
            told.append(f"Not tried: {', '.join(self.left)} ({self.ended}).")
        return " ".join(told if self.found else told[1:])

    def to_json(self) -> dict[str, Any]:
        found = [
            asdict(one) | {"matters": one.matters, "says": said(one, self.seeds)}
            for one in self.found
        ]
        return {"format": 1, **asdict(self), "found": found, "says": self.says}


def perturbed(
    space: Space, settings: Mapping[str, Any], valid: Callable[[Patch], Patch]
) -> list[tuple[Knob, list[Patch]]]:
    """Each number of the space with the patches that change it a little, as far as the config takes
    them. A batch that no longer divides the rollout goes with it, and the patch says so."""
    found: list[tuple[Knob, list[Patch]]] = []
    for one in space:
        if isinstance(one, Knob) and (now := one.read(settings)) is not None:
            tried = [{one.setting: one.write(near, settings)} for near in one.neighbours(now)]
            made = [valid(patch) for patch in tried]
            kept = [patch for patch in made if patch.get(one.setting) is not None]
            if kept:
                found.append((one, kept))
    return found


def sensitivity(
    made: Sensitivity,
    settings: Mapping[str, Any],
    asked: Sequence[tuple[Knob, list[Patch]]],
    train: Train,
    *,
    budget: int,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Fills in `made`, setting by setting; `train` may raise OutOfTime."""
    began = time.monotonic()
    seeds = range(FIRST_SEED, FIRST_SEED + made.seeds)
    rng = np.random.default_rng(0)
    made.left = [knob.label for knob, _ in asked]
    try:
        say(f"the run's own settings: seeds {seeds[0]} to {seeds[-1]}")
        own = _measured(train(settings, seeds), budget)
        made.area, made.final = (float(values.mean()) for values in own)
        for done, (knob, patches) in enumerate(asked, 1):
            tried = [_measured(train({**settings, **patch}, seeds), budget) for patch in patches]
            made.found.append(_sensed(knob, settings, patches, own, tried, rng))
            made.left.remove(knob.label)
            took = time.monotonic() - began
            left = took / (done + 1) * (len(asked) - done)
            one = made.found[-1]
            effects = ", ".join(f"{c.value}: {c.area.value:+.3g}" for c in one.changes)
            say(f"{knob.label} ({effects}); about {duration(round(left))} left")
        made.ended = "all were tried"
    except OutOfTime:
        made.ended = "the time is up; the same command with a larger --minutes goes on from here"
    except KeyboardInterrupt:
        made.interrupted, made.ended = True, "interrupted; the same command goes on from here"
    flat = holm([p for one in made.found for p in one.p])
    pairs = zip(flat[::2], flat[1::2], strict=True)
    made.found = [
        Sensed(one.setting, one.own, one.changes, one.p, pair)
        for one, pair in zip(made.found, pairs, strict=True)
    ]
    made.found.sort(key=lambda one: (not one.matters, -one.size))
    made.seconds = time.monotonic() - began


def _measured(views: Sequence[RunView], budget: int) -> tuple[Float64s, Float64s]:
    if silent := [view.id for view in views if not return_series(view)]:
        raise RunError(
            f"{silent[0]} logged no return, of which the effect of a setting is told: no episode "
            "ended. Start from a longer run."
        )
    return (
        np.array([area(view, budget) for view in views]),
        np.array([final_return(view) for view in views]),
    )


def _sensed(
    knob: Knob,
    settings: Mapping[str, Any],
    patches: Sequence[Patch],
    own: tuple[Float64s, Float64s],
    tried: Sequence[tuple[Float64s, Float64s]],
    rng: np.random.Generator,
) -> Sensed:
    changes = [
        Change(_told(knob, patch), paired_shift(areas - own[0]), paired_shift(finals - own[1]))
        for patch, (areas, finals) in zip(patches, tried, strict=True)
    ]
    p = tuple(
        blocks_differ(np.stack([own[which], *(one[which] for one in tried)], axis=1), rng)
        for which in (0, 1)
    )
    return Sensed(knob.label, settings[knob.setting], changes, (p[0], p[1]))


def _told(knob: Knob, patch: Patch) -> Any:
    """The changed value, with what had to change beside it."""
    beside = [f"{name}={value}" for name, value in patch.items() if name != knob.setting]
    value = patch[knob.setting]
    return f"{value} with {', '.join(beside)}" if beside else value


def said(one: Sensed, seeds: int) -> str:
    """What can be said of a setting, and no more."""
    bound = f"an effect of up to {one.bound:.3g} cannot be excluded"
    if one.hints:
        return (
            f"a hint, which does not outlast the correction (p {min(one.adjusted):.2g}): more "
            f"seeds would tell; {bound}"
        )
    if not one.matters:
        return f"no effect seen with {seeds} seeds; {bound}"
    which = "mean return over the run" if one.adjusted[0] <= ALPHA else "final return"
    return f"matters for the {which} (p {min(one.adjusted):.2g}, corrected)"

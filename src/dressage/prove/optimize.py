"""`optimize`: prescriptions tried on seeds, the best one proven on fresh ones, again and again.

Each round diagnoses the runs of the current settings, takes the prescribed patches singly and
together as candidates, halves them by sequential halving (Karnin et al. 2013), and confirms the
best on seeds that were never used, as `verify` does. What is proven becomes the current settings.

How seeds are trained and runs diagnosed is the caller's. It also keeps the trained seeds, so that
the same call after an interruption goes through the same steps and trains only what is missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from dressage.diagnosis.diagnose import RankedCause
from dressage.errors import RunError
from dressage.prove.looks import PLANNED
from dressage.prove.measures import common_end, final_return, solved_at, times_to, wall_seconds
from dressage.prove.survival import restricted_mean
from dressage.prove.verify import GOALS, PATCHED, Goal, Verification, verify
from dressage.runs.view import RunView

Patch = dict[str, Any]
TRYING = 1000  # first of the seeds that candidates are tried on
CONFIRMING = 10_000  # first of those that confirm; each round takes its own thousand
OF_A_GOAL = 300  # of that thousand, since trying goals in turn would be a second look at the seeds
FIRST_SEEDS = 2  # of each candidate in the first rung
ROUNDS = 4
Train = Callable[[Mapping[str, Any], range], list[RunView]]
Ask = Callable[[Sequence[RunView]], "Diagnosed"]


@dataclass(frozen=True)
class Candidate:
    patch: Patch
    causes: tuple[str, ...]  # that it was prescribed for


@dataclass(frozen=True)
class Diagnosed:
    """What ails the current settings, and what to try."""

    verdict: str
    causes: list[RankedCause]  # most probable first
    asked: list[Candidate]


@dataclass(frozen=True)
class Trial:
    """A candidate and what it came to on so many seeds; None: the current settings."""

    candidate: Candidate | None
    seeds: int
    score: float  # the goal, larger is better


@dataclass
class Round:
    """Filled in step by step: what ends it early keeps what is there."""

    diagnosed: Diagnosed
    trials: list[Trial] = field(default_factory=list)
    winner: Candidate | None = None  # None: nothing looked better than what was there
    confirming: list[int] = field(default_factory=list)  # seeds that both sides of the proof have
    verification: Verification | None = None
    failed: list[Candidate] = field(default_factory=list)  # whose training ended in an error
    dear: list[Candidate] = field(default_factory=list)  # that the time left would not prove

    @property
    def proven(self) -> bool:
        return self.verification is not None and self.verification.verdict == "proven"


@dataclass
class Optimization:
    goal: Goal
    rounds: list[Round] = field(default_factory=list)
    patch: Patch = field(default_factory=dict)  # all that was proven, together
    ended: str = ""  # why
    interrupted: bool = False
    seconds: float = 0.0
    runs: int = 0  # those of earlier calls included
    env_steps: float = 0.0  # of these runs
    library: str = "dressage"  # that trained the seeds

    @property
    def proven(self) -> bool:
        return bool(self.patch)

    @property
    def best(self) -> Round | None:
        """The last that was proven; where none was, the one that came to a proof."""
        came = [one for one in self.rounds if one.confirming]
        return next(reversed([one for one in came if one.proven] or came), None)

    @property
    def says(self) -> str:
        if self.best is None or self.best.verification is None or not self.proven:
            return f"Nothing was proven to help; {self.ended}."
        return f"Proven: {words(self.patch)} ({self.best.verification.says}); {self.ended}."

    def to_json(self) -> dict[str, Any]:
        return {"format": 1, **asdict(self), "proven": self.proven, "says": self.says}


class OutOfTime(Exception):
    """The budget is spent; what was learned stays."""


def optimize(
    settings: Mapping[str, Any],
    train: Train,
    ask: Ask,
    *,
    seconds: float,
    goal: Goal = "frames",
    threshold: float | None = None,
    seeds: int = PLANNED[-1],
    rounds: int = ROUNDS,
    at_once: int = 1,
    say: Callable[[str], None] = lambda line: None,
) -> Optimization:
    """Changes settings round by round until nothing is asked for, nothing helps, or time is up.

    `seeds`: at most so many a side in a proof. `at_once`: seeds that train side by side."""
    made, began = Optimization(goal), time.monotonic()
    current = dict(settings)

    def left() -> float:
        return began + seconds - time.monotonic()

    def too_long(before: list[RunView], after: list[RunView]) -> bool:
        """Whether the first look of a proof would not come in time."""
        a_pair = seconds_a_seed(before, at_once) + seconds_a_seed(after, at_once)
        return PLANNED[0] * a_pair > left()

    def trained(patch: Mapping[str, Any], seeds: range) -> list[RunView]:
        if left() < 0:
            raise OutOfTime
        views = train({**current, **patch}, seeds)
        made.runs += len(views)
        made.env_steps += sum(view.env_steps for view in views)
        return views

    try:
        for place in range(rounds):
            first = TRYING + 100 * place
            baseline = trained({}, range(first, first + FIRST_SEEDS))
            now = Round(ask(baseline))
            made.rounds.append(now)
            asked = now.diagnosed.asked
            if not asked:
                made.ended = "no bottleneck is left that a setting mends"
                break
            say(f"round {place + 1}: {len(asked)} candidates")
            race = Race(now.trials, now.failed, now.dear)
            winner = halved(race, asked, baseline, trained, too_long, first, goal, threshold, say)
            if winner is None:
                made.ended = "none of the candidates looked better"
                break
            now.winner = winner
            say(f"confirming {words(winner.patch)}")
            first = CONFIRMING + 1000 * place + OF_A_GOAL * GOALS.index(goal)
            now.verification = _confirmed(now, winner, trained, first, goal, threshold, seeds, say)
            if not now.proven:
                made.ended = "the best candidate was not proven on fresh seeds"
                break
            current |= winner.patch
            made.patch |= winner.patch
        else:
            made.ended = f"{rounds} rounds were made"
    except OutOfTime:
        made.ended = (
            f"the time of {seconds / 60:g} minutes is up; the same command goes on from here"
        )
    except KeyboardInterrupt:
        made.interrupted, made.ended = True, "interrupted; the same command goes on from here"
    made.seconds = time.monotonic() - began
    return made


def _confirmed(
    now: Round,
    winner: Candidate,
    trained: Callable[[Mapping[str, Any], range], list[RunView]],
    first: int,
    goal: Goal,
    threshold: float | None,
    most: int,
    say: Callable[[str], None],
) -> Verification:
    def side(name: str, seeds: range) -> list[RunView]:
        views = trained(winner.patch if name == PATCHED else {}, seeds)
        if name == PATCHED:  # the later one
            now.confirming += seeds
        return views

    return verify(
        winner.patch,
        side,
        goal=goal,
        threshold=threshold,
        most=most,
        first_seed=first,
        say=say,
    )


@dataclass(frozen=True)
class Race:
    """What `halved` notes as it goes, so that what ends it early keeps what is there."""

    trials: list[Trial]
    failed: list[Candidate] = field(default_factory=list)
    dear: list[Candidate] = field(default_factory=list)


def halved(
    race: Race,
    asked: Sequence[Candidate],
    baseline: list[RunView],
    trained: Callable[[Mapping[str, Any], range], list[RunView]],
    too_long: Callable[[list[RunView], list[RunView]], bool],
    first: int,
    goal: Goal,
    threshold: float | None,
    say: Callable[[str], None],
) -> Candidate | None:
    """Twice the seeds for the better half, until one is left; None where none beats the baseline.

    All candidates and the baseline are scored by one threshold and one horizon, and that joins the
    trials. A candidate whose training ends in an error is left out, and so is one whose
    proof would take `too_long`, given the runs before and with it.
    """
    runs: list[tuple[Candidate | None, list[RunView]]] = [(None, baseline)]
    runs += [(one, []) for one in asked]
    seeds = FIRST_SEEDS
    while True:
        for candidate, views in runs:
            patch = {} if candidate is None else candidate.patch
            if len(views) < seeds:
                try:
                    views += trained(patch, range(first + len(views), first + seeds))
                except RunError as error:
                    if candidate is None:
                        raise
                    race.failed.append(candidate)
                    say(f"  {words(patch)}: could not be trained: {error}")
        runs = [pair for pair in runs if pair[0] not in race.failed]
        if len(runs) == 1:
            return None
        scores = scored([views for _, views in runs], goal, threshold)
        for (candidate, _), score in zip(runs, scores, strict=True):
            race.trials.append(Trial(candidate, seeds, score))
            named = words(candidate.patch) if candidate else "as it is"
            say(f"  {named}: {told(score, goal)}")
        order = sorted(range(1, len(runs)), key=lambda i: -scores[i])
        for i in order[:]:
            candidate, views = runs[i]
            if candidate is not None and too_long(baseline, views):
                race.dear.append(candidate)
                order.remove(i)
                say(f"  {words(candidate.patch)}: a proof would take longer than the time left")
        if not order:
            raise OutOfTime
        if len(order) == 1:
            best = order[0]
            return runs[best][0] if scores[best] > scores[0] else None
        kept = order[: max(1, len(order) // 2)]
        runs = [runs[0], *(runs[i] for i in kept)]
        seeds *= 2


def seconds_a_seed(views: Sequence[RunView], at_once: int) -> float:
    """Of a group whose seeds are trained side by side, so many at once; 0 where it is not known."""
    known = [seconds for view in views if (seconds := wall_seconds(view)) > 0]
    return float(np.mean(known)) / at_once if known else 0.0


def scored(sides: Sequence[list[RunView]], goal: Goal, threshold: float | None) -> list[float]:
    """The goal of each side, larger is better: fewer env steps, a higher return, fewer seconds."""
    if goal == "return":
        return [float(np.mean([final_return(view) for view in views])) for views in sides]
    if goal == "wall":
        return [-float(np.mean([wall_seconds(view) for view in views])) for views in sides]
    bound, _ = solved_at(sides, threshold)
    horizon = common_end([view for views in sides for view in views])
    return [-restricted_mean(times_to(views, bound), horizon) for views in sides]


def told(score: float, goal: Goal) -> str:
    """As a person reads it."""
    if goal == "return":
        return f"final return {score:.4g}"
    return f"{-score:.3g} s" if goal == "wall" else f"{-score:,.0f} env steps to the threshold"


def candidates(prescribed: Sequence[tuple[str, Patch]], most: int = 3) -> list[Candidate]:
    """Each patch by itself, every two of them, and all together: one that harms is left out of the
    best pair. Where two speak of one setting, the likelier cause's wins."""
    singles: list[Candidate] = []
    for cause, patch in prescribed:
        if patch and all(one.patch != patch for one in singles):
            singles.append(Candidate(dict(patch), (cause,)))
    found = singles = singles[:most]
    for size in range(2, len(singles) + 1):
        for chosen in combinations(singles, size):
            together: Patch = {}
            for one in reversed(chosen):
                together |= one.patch
            if all(together != one.patch for one in found):
                causes = tuple(cause for one in chosen for cause in one.causes)
                found = [*found, Candidate(together, causes)]
    return found


def words(patch: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in patch.items())

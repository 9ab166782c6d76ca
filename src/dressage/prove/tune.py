"""`tune`: a search over settings, the best trials raced on fresh seeds, the winner proven on more.

How seeds are trained is the caller's, who also keeps them: the same call after an interruption goes
through the same steps and trains only what is missing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from dressage.errors import RunError
from dressage.prove.looks import PLANNED
from dressage.prove.optimize import (
    CONFIRMING,
    FIRST_SEEDS,
    Candidate,
    OutOfTime,
    Race,
    Trial,
    halved,
    seconds_a_seed,
)
from dressage.prove.search import Search, Tried
from dressage.prove.spaces import Patch, words
from dressage.prove.verify import PATCHED, Goal, Verification, verify
from dressage.reporting.numbers import duration
from dressage.runs.view import RunView

SEARCHING, RACING = 1000, 5000  # first of the seeds of trials, and of those of the race
FINALISTS = 4
RACE = {4: 24, 3: 18, 2: 10, 1: 4}  # runs of so many finalists and the start, by halving
LARGEST_RESERVE = 0.6  # of the time, for race and proof
Look = Callable[[int, float], bool]  # (tenths of the budget, value so far) -> whether to end it
# train(settings, seeds) for whole runs; try_out(patch, look) for a trial: its score, None: pruned.
Train = Callable[[Mapping[str, Any], range], list[RunView]]
TryOut = Callable[[Patch, Look], float | None]


@dataclass(frozen=True)
class Final:
    """One race and proof. A search that goes on may end in another one, on seeds of its own."""

    finalists: list[Patch]
    planned: tuple[int, ...]  # looks, fixed before the first of them
    asked: tuple[float | None, float | None]  # trials and seconds that the search was to take


@dataclass
class Tuning:
    env: str
    algo: str
    goal: Goal
    seeds: int  # of a trial
    searched: list[str] = field(default_factory=list)  # settings
    trials: list[Tried] = field(default_factory=list)
    importance: dict[str, float] = field(default_factory=dict)  # shares, the largest first
    race: list[Trial] = field(default_factory=list)
    winner: Patch | None = None  # of the race; None: none beat the start
    verification: Verification | None = None
    ended: str = ""
    interrupted: bool = False
    seconds: float = 0.0  # of all calls

    @property
    def verdict(self) -> str:
        return "not proven" if self.verification is None else self.verification.verdict

    @property
    def patch(self) -> Patch:
        """What is proven to be better than the start."""
        return dict(self.winner or {}) if self.verdict == "proven" else {}

    @property
    def best(self) -> Tried | None:
        done = [one for one in self.trials if one.score is not None]
        return max(done, key=lambda one: one.score or 0.0, default=None)

    @property
    def says(self) -> str:
        if self.verification is not None and self.winner is not None:
            return f"{words(self.winner)}: {self.verification.says}; {self.ended}."
        return f"Nothing was proven to be better than the start: {self.ended}."

    def to_json(self) -> dict[str, Any]:
        derived = {"verdict": self.verdict, "patch": self.patch, "says": self.says}
        return {"format": 1, **asdict(self), **derived}


@dataclass
class Timer:
    """Seconds that were used, by earlier calls too, of those that there are.

    They end the search. A proof that has begun is finished: it was planned to fit.
    """

    seconds: float | None  # None: no limit
    used: float = 0.0
    began: float = field(default_factory=time.monotonic)

    @property
    def total(self) -> float:
        return self.used + time.monotonic() - self.began

    @property
    def left(self) -> float:
        return float("inf") if self.seconds is None else self.seconds - self.total


def tune(
    made: Tuning,
    search: Search,
    start: Mapping[str, Any],
    train: Train,
    try_out: TryOut,
    valid: Callable[[Patch], Patch],
    *,
    trials: int | None,
    timer: Timer,
    finals: list[Final],
    keep: Callable[[], None],
    at_once: int,
    threshold: float | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Fills in `made`. `keep` is called when `finals`, those that there were, or the time changed;
    `at_once`: seeds that train side by side."""
    try:
        if (trials, timer.seconds) not in [one.asked for one in finals]:  # else it was over
            look_around(made, search, try_out, valid, trials, timer, keep, at_once, say)
        made.trials, made.importance = search.tried(), search.importance()
        _decide(made, start, train, trials, timer, finals, keep, at_once, threshold, say)
    except OutOfTime:
        made.ended = (
            "no time was left to prove the best trial; the same command with a larger --minutes "
            "goes on from here"
        )
    except KeyboardInterrupt:
        made.interrupted, made.ended = True, "interrupted; the same command goes on from here"
        made.trials, made.importance = search.tried(), search.importance()
    made.seconds = timer.total
    keep()


def look_around(
    made: Tuning,
    search: Search,
    try_out: TryOut,
    valid: Callable[[Patch], Patch],
    trials: int | None,
    timer: Timer,
    keep: Callable[[], None],
    at_once: int,
    say: Callable[[str], None],
) -> None:
    """Trials, one after another, until there are enough or the time for them is up. Where nothing
    looks better than the start there is nothing to prove: the time for that is searched too."""
    made.trials = search.tried()
    done = len(made.trials)
    took: list[float] = []
    completed: list[float] = []
    while trials is None or done < trials:
        count = len(finalists(made.trials, FINALISTS))
        typical = float(np.median(completed)) if completed else max(took, default=None)
        reserve = reserved(typical, count, made.seeds, at_once, timer.seconds)
        half_a_trial = sum(took) / (2 * len(took)) if took else 0.0
        if count == 0 and timer.left <= reserve + half_a_trial:
            reserve = 0.0
        if timer.left <= reserve + half_a_trial:
            break
        began = time.monotonic()
        patch = search.ask(valid)
        score = None
        try:
            score = try_out(patch, search.look)
        except RunError as error:
            search.failed()
            outcome = f"failed: {str(error).splitlines()[0]}"
        else:
            if score is None:
                search.pruned()
                outcome = f"pruned after {search.tried()[-1].share:.0%} of its budget"
            else:
                search.done(score)
                outcome = f"{score:.4g}"
        done += 1
        took.append(time.monotonic() - began)
        if score is not None:
            completed.append(took[-1])
        keep()
        made.trials = search.tried()
        say(_progress(made, search.number, patch, outcome, trials, done, took, timer, reserve))


def reserved(
    typical: float | None, count: int, seeds: int, at_once: int, seconds: float | None
) -> float:
    """Seconds of the limit that race and first proof of so many finalists will need, one at least.

    `typical`: seconds of a trial that trains to its end; None: not known yet.
    """
    if seconds is None:
        return 0.0
    if typical is None:
        return 0.25 * seconds
    of_a_run = typical / -(-seeds // at_once) / at_once  # where as many train as fit
    runs = RACE[max(1, count)] + 2 * PLANNED[0]
    return min(LARGEST_RESERVE * seconds, runs * of_a_run)


def _progress(
    made: Tuning,
    number: int,
    patch: Patch,
    outcome: str,
    trials: int | None,
    done: int,
    took: Sequence[float],
    timer: Timer,
    reserve: float,
) -> str:
    mean = sum(took) / len(took)
    left = [] if trials is None else [mean * (trials - done)]
    if timer.seconds is not None:
        left.append(max(0.0, timer.left - reserve))
    best = made.best
    known = f"best {best.score:.4g} (trial {best.number})" if best and best.score else "no best yet"
    return (
        f"trial {number}: {outcome}; {known}; searching for about {duration(round(min(left)))} "
        f"more\n  {words(patch)}"
    )


def _decide(
    made: Tuning,
    start: Mapping[str, Any],
    train: Train,
    trials: int | None,
    timer: Timer,
    finals: list[Final],
    keep: Callable[[], None],
    at_once: int,
    threshold: float | None,
    say: Callable[[str], None],
) -> None:
    """The best trials against the start on fresh seeds, then the winner as `verify` does."""
    best = finalists(made.trials, FINALISTS)
    if not best:
        made.ended = "no trial looked better than the start"
        return
    place = next((i for i, one in enumerate(finals) if one.finalists[:1] == best[:1]), len(finals))
    first = RACING + 100 * place
    baseline = train(start, range(first, first + FIRST_SEEDS))
    if place == len(finals):
        of_a_run = seconds_a_seed(baseline, at_once)
        count, planned = affordable(timer.left, of_a_run, len(best))
        if timer.left < 0.5 * (RACE[count] + 2 * planned[0]) * of_a_run or timer.left <= 0.0:
            raise OutOfTime
        finals.append(Final(best[:count], planned, (trials, timer.seconds)))
        keep()
    elif finals[place].asked != (trials, timer.seconds):
        finals[place] = replace(finals[place], asked=(trials, timer.seconds))
        keep()
    final = finals[place]
    count = len(final.finalists)
    say(f"racing {count} trial{'s' * (count > 1)} against the start on fresh seeds")
    winner = halved(
        Race(made.race),
        [Candidate(patch, ()) for patch in final.finalists],
        baseline,
        lambda patch, seeds: train({**start, **patch}, seeds),
        lambda before, after: False,  # how many race was decided by the clock
        first,
        made.goal,
        threshold,
        say,
    )
    if winner is None:
        made.ended = "on fresh seeds no trial beat the start"
        return
    made.winner = winner.patch
    say(f"proving {words(winner.patch)}")

    def side(name: str, seeds: range) -> list[RunView]:
        return train({**start, **(winner.patch if name == PATCHED else {})}, seeds)

    made.verification = verify(
        winner.patch,
        side,
        goal=made.goal,
        threshold=threshold,
        planned=final.planned,
        first_seed=CONFIRMING + 1000 * place,
        say=say,
    )
    made.ended = f"{len(made.trials)} trials were made"


def finalists(trials: Sequence[Tried], most: int) -> list[Patch]:
    """The best patches that looked better than the start, without doubles."""
    done = [(one.score, one.patch) for one in trials if one.score is not None]
    start = max((score for score, patch in done if not patch), default=-math.inf)
    found: list[Patch] = []
    for score, patch in sorted(done, key=lambda pair: -pair[0]):
        if score > start and patch not in found:
            found.append(patch)
    return found[:most]


def affordable(left: float, of_a_run: float, most: int) -> tuple[int, tuple[int, ...]]:
    """How many finalists race, and how many looks are planned, by the clock alone: decided before
    any of their runs was seen."""
    runs = left / max(of_a_run, 1e-9)
    count = next((n for n in (4, 3, 2) if n <= most and RACE[n] + 2 * PLANNED[0] <= runs), 1)
    looks = [n for n in PLANNED if RACE[count] + 2 * n <= runs]
    return count, PLANNED[: max(1, len(looks))]

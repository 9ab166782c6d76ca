"""Puts together what a search over settings needs: its folder, its storage, and seeds to train."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from dressage.core.hooks import Hook, MemberState, Moment
from dressage.diagnosis import record
from dressage.envs.process import available_cores
from dressage.errors import ConfigError
from dressage.presets.resolve import resolve, unaliased
from dressage.prove.measures import RETURN, area, final_return
from dressage.prove.search import RUNGS, Search
from dressage.prove.spaces import Patch, near, space_of, valid
from dressage.prove.tune import SEARCHING, Final, Look, Timer, Tuning, tune
from dressage.prove.tune_report import TuneReport, tune_report
from dressage.prove.verify import BASELINE, PATCHED, Goal
from dressage.proving import OURS, OWN, digest, entry_of, prescribed, seeds_of, settings_of
from dressage.runs.files import read_json, write_atomic, write_json, writing
from dressage.runs.group import Group
from dressage.runs.run import Run, is_run
from dressage.runs.view import RunView, Series

STATE = "tune.json"
TUNED, BEST = "tuned.yaml", "best-trial.yaml"
GOALS = ("frames", "return")
BESIDE = 8  # first trials, near the start


def start_of(
    env: str | None, algo: str | None, overrides: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    """Environment, algorithm and all settings that `train` would use, but for a run's own."""
    resolved = resolve(env, algo, overrides)
    names = {"env", "algo", *OWN}
    settings = {name: value for name, value in resolved.values().items() if name not in names}
    return resolved.run.env, resolved.run.algo, settings


def tune_settings(
    env: str | None,
    algo: str | None,
    overrides: Mapping[str, Any],
    views: Sequence[RunView],  # of the run to start from
    root: Path,
    *,
    trials: int | None,
    minutes: float | None,
    seeds: int,
    goal: Goal,
    threshold: float | None,
    storage: str | None,
    train: Callable[..., Run | Group],
    say: Callable[[str], None] = lambda line: None,
) -> TuneReport:
    """Searches below `root`, in a folder of its own to which the same call comes back."""
    _check(trials, minutes, seeds, goal)
    fixed = unaliased(dict(overrides))
    if own := [name for name in fixed if name in OWN]:
        raise ConfigError(f"'{own[0]}' is no setting of a search: --seeds says how many a trial.")
    asked: list[Patch] = []
    if views:
        env, algo = _same_task(env, algo, ours(views[0]))
        base = settings_of(views[0]) | fixed
        env, algo, start = start_of(env, algo, base)
        asked = [valid(env, algo, start, one.patch) for one in prescribed(views, start, say)]
        asked = [one for i, one in enumerate(asked) if one and one not in asked[:i]]
    else:
        env, algo, start = start_of(env, algo, fixed)
    space = space_of(algo, start, asked, list(fixed))
    if not space:
        raise ConfigError(f"There is nothing to search: {algo} has no setting that is not fixed.")
    named = [env, algo, start, goal, seeds, asked, [repr(one) for one in space]]
    folder = root / f"tune-{digest(named)}"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    like = RunView(folder, folder.name, OURS, algo, env, dict(start))
    state = read_json(folder / STATE) if (folder / STATE).is_file() else {}
    finals = [
        Final(one["finalists"], tuple(one["planned"]), (one["asked"][0], one["asked"][1]))
        for one in state.get("finals", [])
    ]
    timer = Timer(None if minutes is None else 60 * minutes, float(state.get("seconds", 0.0)))
    proven: list[str] = state.get("recorded", [])

    def make_valid(patch: Patch) -> Patch:
        return valid(env, algo, start, patch)

    def keep() -> None:
        finals_told = [asdict(one) for one in finals]
        told = {"format": 1, "seconds": timer.total, "finals": finals_told, "recorded": proven}
        write_json(folder / STATE, told)

    search = Search(storage or f"sqlite:///{folder / 'study.db'}", folder.name, space, start)
    search.begin(asked, near(space, start, make_valid, BESIDE))
    if storage is None:  # in a shared one they may be another machine's
        search.forget_unfinished()
    say(f"{folder}: {len(space)} settings of {env}:{algo}, {seeds} seeds a trial")
    if state:
        say(f"going on after {len(search.tried())} trials")

    def trained(settings: Mapping[str, Any], which: range) -> list[RunView]:
        return seeds_of(folder / "finals" / digest(settings), settings, like, which, train)

    def try_out(patch: Patch, look: Look) -> float | None:
        settings = {**start, **patch}
        where = folder / "trials" / digest(settings)
        watch = Watch(look, goal, int(start["env_steps"]), min(seeds, available_cores()))
        try:
            which = range(SEARCHING, SEARCHING + seeds)
            made = seeds_of(where, settings, like, which, train, [watch])
        except KeyboardInterrupt:
            if watch.ended:
                return None
            raise
        finally:
            _without_checkpoints(where)
        return scored(made, goal, int(start["env_steps"]))

    made = Tuning(env, algo, goal, seeds, [one.label for one in space])
    tune(
        made,
        search,
        start,
        trained,
        try_out,
        make_valid,
        trials=trials,
        timer=timer,
        finals=finals,
        keep=keep,
        at_once=available_cores(),
        threshold=threshold,
        say=say,
    )
    sides: dict[str, list[RunView]] = {}
    if made.verification is not None:
        count, place = made.verification.last.seeds, made.verification.first_seed
        for side, patch in ((BASELINE, {}), (PATCHED, made.winner or {})):
            sides[side] = trained({**start, **patch}, range(place, place + count))
        if (name := digest([made.winner, made.verification.looks[-1].seeds])) not in proven:
            proven.append(name)
            record.add(root, entry_of(like, None, made.verification))
            keep()
    _write_presets(folder, made, start)
    report = tune_report(made, sides, start, folder / TUNED)
    report.write_all(folder, report.to_json())
    return report


def _check(trials: int | None, minutes: float | None, seeds: int, goal: str) -> None:
    if trials is None and minutes is None:
        raise ConfigError("Say how long to search: --trials 50, or --minutes 30.")
    for name, value in (("--trials", trials), ("--minutes", minutes), ("--seeds", seeds)):
        if value is not None and not 0 < value < float("inf"):
            raise ConfigError(f"{name} is {value}, expected a number above 0.")
    if goal not in GOALS:
        raise ConfigError(f"goal is '{goal}', expected {' or '.join(GOALS)}.")


def ours(view: RunView) -> RunView:
    """The run, if its settings can be searched: one of another library has its own."""
    if view.library != OURS:
        raise ConfigError(
            f"{view.id} is a run of {view.library}: only the settings of dressage's own runs are "
            "searched and perturbed. `dressage optimize` re-runs SB3."
        )
    return view


def _same_task(env: str | None, algo: str | None, view: RunView) -> tuple[str | None, str | None]:
    """The run's own; an error where another was named beside it."""
    if env is not None:
        asked = resolve(env, algo).run
        if asked.env != view.env or (asked.algo != view.algo and (algo or env != asked.env)):
            raise ConfigError(
                f"{view.id} is a run of {view.env}:{view.algo}, and not of {asked.env}:"
                f"{asked.algo}: leave out the environment, or start without --from."
            )
    return view.env, view.algo


def scored(views: Sequence[RunView], goal: Goal, budget: int) -> float:
    """Mean over seeds, larger is better. How soon it learns, without a threshold that trials would
    have to share: the area under the curve. How well: the last return."""
    measure = final_return if goal == "return" else lambda view: area(view, budget)
    return float(np.mean([measure(view) for view in views]))


class Watch(Hook):
    """Looks at the learning curves of a trial's first seeds, those that begin at once, whenever all
    of them have passed a further tenth of the budget."""

    def __init__(self, look: Look, goal: Goal, budget: int, first: int) -> None:
        self.look, self.goal, self.budget, self.first = look, goal, budget, first
        self.rung, self.ended = 1, False

    def on_group(self, members: Sequence[MemberState]) -> str | None:
        seen = members[: self.first]
        while self.rung < RUNGS and not self.ended:
            end = self.rung * self.budget // RUNGS
            if min(one.env_steps for one in seen) < end:
                break
            value = scored([_so_far(one.path, end) for one in seen], self.goal, end)
            if np.isfinite(value):
                self.ended = self.look(self.rung, value)
            self.rung += 1
        return "pruned" if self.ended else None

    def on_row(self, moment: Moment) -> None:
        """Of a trial with a single seed."""
        state = MemberState(0, "running", moment.env_steps, self.budget, {}, moment.path)
        if reason := self.on_group([state]):
            moment.stop(reason)


def _so_far(path: Path, end: int) -> RunView:
    """A run's returns up to some env steps."""
    columns = Run(path).metrics(["env_steps", f"{RETURN}*"])
    steps = columns["env_steps"]
    values = columns.get(RETURN, np.full(len(steps), np.nan))  # no episode has ended yet
    known = np.isfinite(values) & (steps <= end)
    return RunView(path, path.name, OURS, series={RETURN: Series(steps[known], values[known])})


def _without_checkpoints(folder: Path) -> None:
    """A trial is worth its curves: what its policies weigh, replay memories above all, goes."""
    if folder.is_dir():
        for path in folder.glob("**/checkpoints"):
            if is_run(path.parent):
                shutil.rmtree(path, ignore_errors=True)


def _write_presets(folder: Path, made: Tuning, start: Mapping[str, Any]) -> None:
    """`tuned.yaml`: what is proven over the start, or the start; beside it an unproven best."""
    today = datetime.date.today().isoformat()
    source = f"dressage tune, {len(made.trials)} trials of {made.seeds} seeds, {today}"
    earned: dict[str, Any] = {"verdict": made.verdict, "date": today}
    if made.verification is not None and made.patch:
        found = made.verification
        first = found.first_seed
        earned["seeds"] = list(range(first, first + len(found.patched)))
        earned["returns"] = [round(one, 1) for one in found.patched]
    _write_preset(folder / TUNED, made, {**start, **made.patch}, source, earned)
    best = made.winner or (made.best.patch if made.best else None)
    if best and not made.patch:
        _write_preset(folder / BEST, made, {**start, **best}, source, {"verdict": made.verdict})
    else:
        (folder / BEST).unlink(missing_ok=True)


def _write_preset(
    path: Path, made: Tuning, settings: Mapping[str, Any], source: str, earned: dict[str, Any]
) -> None:
    """As the presets that come with the package: all that is not an algorithm's default, or that
    this environment's own preset would change beneath the file."""
    beneath = [resolve(made.env, made.algo, {}, use_preset=one).values() for one in (False, True)]
    changed = {
        name: value
        for name, value in settings.items()
        if any(value != values.get(name) for values in beneath)
    }
    told = {
        "env": made.env, "algo": made.algo, "source": source, "settings": changed, "earned": earned,
    }  # fmt: skip
    write_atomic(path, yaml.safe_dump(told, sort_keys=False))

"""Puts together what a proof needs of a run: its settings, and seeds of it trained anew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from dressage.core.hooks import Hook
from dressage.diagnosis import record
from dressage.diagnosis.diagnose import diagnose_seeds
from dressage.envs.process import available_cores
from dressage.errors import ConfigError, RunError
from dressage.presets.resolve import read_config_file, resolve, unaliased
from dressage.prove import regress as regressions
from dressage.prove import sb3
from dressage.prove.looks import PLANNED
from dressage.prove.optimize import Candidate, Diagnosed, Optimization, candidates, optimize
from dressage.prove.optimize_report import OptimizeReport, optimize_report
from dressage.prove.regress import Measured, Regression, measured
from dressage.prove.verify import PATCHED, Goal, Verification, verify
from dressage.runs.files import write_atomic, writing
from dressage.runs.group import Group
from dressage.runs.readers import read
from dressage.runs.run import Run
from dressage.runs.view import RunView

OURS = "dressage"
BASELINE_SEED, REGRESSION_SEED = 20_000, 30_000  # far apart, and from those of verdicts
# Settings of a run that are its own affair, and not those of its copies.
OWN = ("seed", "seeds", "run_name", "trackers", "guard", "video_every")


def verify_run(
    view: RunView,
    patch: Mapping[str, Any],
    root: Path,
    *,
    cause: str | None = None,
    goal: Goal = "frames",
    threshold: float | None = None,
    seeds: int = PLANNED[-1],
    train: Callable[..., Run | Group],
    say: Callable[[str], None] = lambda line: None,
) -> Verification:
    """Trains baseline and patched seeds below `root`, and adds the verdict to the record there.

    Seeds that are there from an earlier call with the same settings are not trained again.
    """
    settings = settings_of(view)
    clean = checked(view, settings, patch)
    _say_what_is_lost(view, say)
    folder = root / f"verify-{digest([*_kind(view), settings, clean])}"

    def trained(side: str, seeds: range) -> list[RunView]:
        asked = settings | (clean if side == PATCHED else {})
        return seeds_of(folder / side, asked, view, seeds, train)

    found = verify(clean, trained, goal=goal, threshold=threshold, most=seeds, say=say)
    record.add(root, entry_of(view, cause, found))
    return found


def optimize_run(
    view: RunView,
    root: Path,
    *,
    minutes: float,
    goal: Goal,
    threshold: float | None,
    seeds: int = PLANNED[-1],
    train: Callable[..., Run | Group],
    say: Callable[[str], None] = lambda line: None,
) -> OptimizeReport:
    """Optimizes below `root`, in a folder with the settings it ended at and the report.

    Every verdict joins the record. Seeds that are there already are not trained again.
    """
    settings = settings_of(view)
    _say_what_is_lost(view, say)
    folder = root / f"optimize-{digest([*_kind(view), settings])}"

    def trained(asked: Mapping[str, Any], seeds: range) -> list[RunView]:
        return seeds_of(folder / digest(asked), asked, view, seeds, train)

    made = optimize(
        settings,
        trained,
        lambda views: diagnosed(views, settings, say),
        seconds=60 * minutes,
        goal=goal,
        threshold=threshold,
        seeds=seeds,
        at_once=available_cores(),
        say=say,
    )
    made.library = view.library
    for one in made.rounds:
        if one.verification is not None and one.winner is not None:
            for cause in one.winner.causes:
                record.add(root, entry_of(view, cause, one.verification))
    path = folder / "optimized.yaml"
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)

    def spell(chosen: Mapping[str, Any]) -> dict[str, Any]:
        if view.library == sb3.LIBRARY:
            return sb3.as_config(view, chosen)
        return {"env": view.env, "algo": view.algo, **chosen}

    write_atomic(path, yaml.safe_dump(spell({**settings, **made.patch}), sort_keys=False))
    sides = _confirming(made, settings, trained)
    report = optimize_report(made, view, settings, spell, sides, path)
    report.write_all(folder, report.to_json())
    return report


def _say_what_is_lost(view: RunView, say: Callable[[str], None]) -> None:
    if view.library == sb3.LIBRARY:
        say(sb3.made_by_id(view))


def _confirming(
    made: Optimization,
    settings: Mapping[str, Any],
    trained: Callable[[Mapping[str, Any], range], list[RunView]],
) -> dict[str, list[RunView]]:
    """Seeds of proofs, of the best settings and of the run's own; none are trained."""
    if made.best is None or made.best.winner is None:
        return {}
    name, patch = "best candidate, not proven", made.best.winner.patch
    if made.proven:
        name, patch = "optimized", made.patch
    best, own = (
        range(one.confirming[0], one.confirming[-1] + 1) for one in (made.best, made.rounds[0])
    )
    return {
        name: trained({**settings, **patch}, best),
        "the run's settings": trained(settings, own),
    }


def prescribed(
    views: Sequence[RunView], settings: Mapping[str, Any], say: Callable[[str], None]
) -> list[Candidate]:
    """What the diagnosis of some seeds would change, singly and together."""
    return diagnosed(views, settings, say).asked


def diagnosed(
    views: Sequence[RunView], settings: Mapping[str, Any], say: Callable[[str], None]
) -> Diagnosed:
    found = diagnose_seeds(views)
    causes = ", ".join(cause.id for cause in found.causes[:3])
    say(f"diagnosis: {found.verdict}{', ' * bool(causes)}{causes}")
    asked = []
    for one in found.prescriptions:
        try:
            asked.append((one.cause, _kept(views[0], one.ours, settings)))
        except ConfigError as error:
            say(f"left out, for {one.cause}: {error}")
    return Diagnosed(found.verdict, found.causes, candidates(asked))


def _kept(view: RunView, patch: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """A prescription without what would change the comparison itself: the budget. The settings of
    a run of SB3 name only what its log or its model told, and more can be changed."""
    is_sb3 = view.library == sb3.LIBRARY
    known = set(settings) | (sb3.known_settings(str(view.algo)) if is_sb3 else set())
    kept = {k: v for k, v in patch.items() if k in known and k not in ("env_steps", *OWN)}
    return sb3.checked(view, settings, kept) if is_sb3 and kept else kept


def _kind(view: RunView) -> tuple[str, str | None, str | None]:
    """What a run is beside its settings: seeds of another kind are never taken for its own."""
    return view.library, view.env, view.algo


def entry_of(view: RunView, cause: str | None, found: Verification) -> record.Verified:
    return record.Verified(
        env=view.env,
        algo=view.algo,
        library=view.library,
        patch=found.patch,
        cause=cause,
        verdict=found.verdict,
        goal=found.goal,
        seeds=found.last.seeds,
        p=found.last.p,
        final=(found.final.value, found.final.low, found.final.high),
        steps_ratio=found.steps_ratio,
        returns=(fmean(found.baseline), fmean(found.patched)),
        env_steps=found.env_steps,
        seconds=found.seconds,
    )


def regress_settings(
    baseline: Path,
    root: Path,
    *,
    write: Path | None,
    seeds: int,
    alpha: float | None,
    train: Callable[..., Run | Group],
    say: Callable[[str], None] = lambda line: None,
) -> Regression:
    """Trains the settings of a baseline on fresh seeds, and tests them; makes it first if asked."""
    if write is not None:
        named = read_config_file(write)
        if not all(isinstance(one, dict) for one in named.values()):
            raise ConfigError(f"{write} holds no settings: expected `name: {{env: …}}`.")
        first = range(BASELINE_SEED, BASELINE_SEED + seeds)
        made = measure_settings(named, root / "baseline", first, train, say)
        regressions.write(baseline, made)
    known = regressions.load(baseline)
    named = {one.name: {"env": one.env, "algo": one.algo, **one.settings} for one in known}
    fresh = range(REGRESSION_SEED, REGRESSION_SEED + seeds)
    now = measure_settings(named, root / "now", fresh, train, say)
    return regressions.regress(known, now, regressions.ALPHA if alpha is None else alpha)


def measure_settings(
    named: Mapping[str, Mapping[str, Any]],
    folder: Path,
    seeds: range,
    train: Callable[..., Run | Group],
    say: Callable[[str], None] = lambda line: None,
) -> list[Measured]:
    """Trains named settings, `{name: {env, algo, …}}`, on these seeds below `folder`."""
    found = []
    for name, asked in named.items():
        given = dict(asked)
        env, algo = given.pop("env", None), given.pop("algo", None)
        resolved = resolve(env, algo, given)
        values = {k: v for k, v in resolved.values().items() if k not in ("env", "algo", *OWN)}
        env, algo = resolved.run.env, resolved.run.algo
        say(f"{name}: {len(seeds)} seeds of {env}:{algo}")
        like = RunView(folder, name, OURS, algo, env)
        views = seeds_of(folder / name, values, like, seeds, train)
        found.append(measured(name, env, algo, asked, views))
    return found


def settings_of(view: RunView) -> dict[str, Any]:
    """The whole config of a run of ours or of SB3, without what is only its own."""
    if view.library == sb3.LIBRARY:
        return sb3.settings_of(view)
    if view.library != OURS or not view.env or not view.algo:
        raise ConfigError(
            f"{view.id} is a run of {view.library}: only dressage's own runs and SB3's can be "
            "trained again from their config."
        )
    names = {"env", "algo", *OWN}
    return {name: value for name, value in view.config.items() if name not in names}


def checked(view: RunView, settings: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The patch as the config spells it; an error where it is not one or changes nothing."""
    if view.library == sb3.LIBRARY:
        return sb3.checked(view, settings, patch)
    changes = unaliased(dict(patch))
    if own := [name for name in changes if name in ("env", "algo", *OWN)]:
        raise ConfigError(f"'{own[0]}' is no part of a patch: it is the same on both sides.")
    values = resolve(view.env, view.algo, {**settings, **changes}, use_preset=False).values()
    before = resolve(view.env, view.algo, dict(settings), use_preset=False).values()
    clean = {name: values[name] for name in changes if values[name] != before[name]}
    if not clean:
        raise ConfigError(f"The patch {dict(patch)} changes nothing: the run has these settings.")
    return clean


def seeds_of(
    folder: Path,
    settings: Mapping[str, Any],
    view: RunView,
    seeds: range,
    train: Callable[..., Run | Group],
    hooks: Sequence[Hook] = (),
) -> list[RunView]:
    """Views of these seeds, in their order; those that are not there yet are trained.

    Ends in KeyboardInterrupt where training was stopped: by Ctrl-C, or by one of the hooks.
    """
    if view.library == sb3.LIBRARY:
        return sb3.seeds_of(folder, settings, view, seeds)
    there = _finished(folder)
    missing = [seed for seed in seeds if seed not in there]
    for first, count in _stretches(missing):
        made = train(
            view.env,
            algo=view.algo,
            runs=folder,
            preset=False,
            hooks=hooks,
            **{**settings, "seed": first, "seeds": count, "guard": "off"},
        )
        if made.status == "stopped":
            raise KeyboardInterrupt
        if made.status != "finished":
            raise RunError(f"Training seeds {first} to {first + count - 1} was {made.status}.")
    there = _finished(folder)
    if lost := [seed for seed in seeds if seed not in there]:
        raise RunError(f"Seeds {', '.join(map(str, lost))} did not finish: see {folder}.")
    return [there[seed] for seed in seeds]


def _finished(folder: Path) -> dict[int, RunView]:
    found: dict[int, RunView] = {}
    if folder.is_dir():
        for path in sorted(p for p in folder.iterdir() if p.is_dir() and not p.is_symlink()):
            for view in read(path):
                if view.state == "finished" and view.seed is not None:
                    found[view.seed] = view
    return found


def _stretches(seeds: list[int]) -> list[tuple[int, int]]:
    """Runs of neighbours as (first, how many)."""
    found: list[tuple[int, int]] = []
    for seed in seeds:
        if found and sum(found[-1]) == seed:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((seed, 1))
    return found


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]

"""Puts together what a sensitivity analysis and advice on the batch size need of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dressage.diagnosis.probes.gradient_noise import ADVISED, PREFERRED, measure_noise
from dressage.errors import ConfigError, RunError
from dressage.probing import subject_of
from dressage.prove.batch import (
    BatchAdvice,
    Point,
    batches,
    candidate,
    over_training,
    patch_for,
)
from dressage.prove.batch_report import BatchReport, batch_report
from dressage.prove.optimize import OutOfTime
from dressage.prove.paired import FEWEST
from dressage.prove.sensitivity import Sensitivity, perturbed, sensitivity
from dressage.prove.sensitivity_report import SensitivityReport, sensitivity_report
from dressage.prove.spaces import space_of, valid
from dressage.prove.tune import Timer
from dressage.proving import digest, seeds_of, settings_of
from dressage.runs.files import writing
from dressage.runs.group import Group
from dressage.runs.run import Run
from dressage.runs.view import RunView
from dressage.tuning import ours, start_of

CHECKPOINTS = 5  # places of a run at which its gradient is looked at
NOISE_SECONDS = 2.0  # for each of them
NOISE_SEED, SPEED_SEED = 8000, 8100
ROUNDS = 3  # in which all candidates are timed, one after another
SPEED_SECONDS = 1.0  # of each


def sense_run(
    view: RunView,
    root: Path,
    *,
    seeds: int,
    minutes: float | None,
    only: list[str] | None,
    train: Callable[..., Run | Group],
    say: Callable[[str], None] = lambda line: None,
) -> SensitivityReport:
    """Perturbs a run's settings below `root`. Seeds that are there already are not trained again.

    `only`: the settings to perturb; all numbers of the algorithm's space by default.
    """
    if seeds < FEWEST:
        raise ConfigError(
            f"--seeds is {seeds}, expected at least {FEWEST}: with fewer no interval holds 95 %."
        )
    if minutes is not None and not 0 < minutes < float("inf"):
        raise ConfigError(f"--minutes is {minutes}, expected a number above 0.")
    env, algo, settings = start_of(view.env, view.algo, settings_of(ours(view)))
    space = space_of(algo, settings)
    asked = perturbed(space, settings, lambda patch: valid(env, algo, settings, patch))
    known = [knob.label for knob, _ in asked]
    if only and (strange := [name for name in only if name not in known]):
        raise ConfigError(
            f"'{strange[0]}' is no setting that can be perturbed here: {', '.join(known)} can."
        )
    if not known:
        raise ConfigError(f"{algo} has no number that could be perturbed.")
    folder = root / f"sensitivity-{digest([env, algo, settings])}"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    timer = Timer(None if minutes is None else 60 * minutes)

    def timed(*args: Any, **given: Any) -> Run | Group:
        if timer.left <= 0.0:
            raise OutOfTime
        return train(*args, **given)

    def trained(chosen: Mapping[str, Any], which: range) -> list[RunView]:
        return seeds_of(folder / digest(chosen), chosen, view, which, timed)

    made = Sensitivity(env, algo, seeds, int(settings["env_steps"]))
    wanted = [one for one in asked if not only or one[0].label in only]
    runs = seeds * (1 + sum(len(patches) for _, patches in wanted))
    say(f"{folder}: {len(wanted)} settings, {runs} runs of {made.env_steps:,} env steps")
    sensitivity(made, settings, wanted, trained, budget=made.env_steps, say=say)
    report = sensitivity_report(made, view.id)
    report.write_all(folder, report.to_json())
    return report


def advise_batch(
    view: RunView,
    root: Path,
    *,
    trust: bool,
    train: Callable[..., Run | Group],
    say: Callable[[str], None] = lambda line: None,
) -> BatchReport:
    """Trains the run's settings once more, with checkpoints on the way at which the gradient's
    noise is measured, and times batches beside the run's own."""
    env, algo, settings = start_of(view.env, view.algo, settings_of(ours(view)))
    own = settings.get("batch_size")
    if own is None:
        raise ConfigError(
            f"{algo} has no batch_size: it learns from its rollout whole, of n_steps x n_envs rows."
        )
    folder = root / f"batch-{digest([env, algo, settings])}"
    budget = int(settings["env_steps"])
    every = {"checkpoint_every": max(1, budget // CHECKPOINTS), "keep_checkpoints": 2 * CHECKPOINTS}
    say(f"{folder}: one run of {budget:,} env steps, with {CHECKPOINTS} checkpoints")
    seeds = range(NOISE_SEED, NOISE_SEED + 1)
    copy = seeds_of(folder / "noise", {**settings, **every}, view, seeds, train)[0]
    points = _noise_over(copy, trust, say)
    noise = over_training(points)
    replays = settings.get("buffer_size") is not None
    rollout = None if replays else int(settings["n_steps"]) * int(settings["n_envs"])
    tried = {
        batch: patch
        for batch in batches(int(own), rollout)
        if (patch := valid(env, algo, settings, patch_for(batch, settings))) or batch == own
    }
    speeds = _timed(view, settings, tried, copy, rollout or 1, folder, train, say)
    own_speed = float(sorted(speeds[own])[len(speeds[own]) // 2])
    advice = BatchAdvice(
        env, algo, int(own), str(settings["optimizer"]), replays, points, noise,
        [
            candidate(batch, patch, speeds[batch], int(own), own_speed, noise, replays)
            for batch, patch in tried.items()
        ],
    )  # fmt: skip
    report = batch_report(advice, view.id)
    report.write_all(folder, report.to_json())
    return report


def _noise_over(copy: RunView, trust: bool, say: Callable[[str], None]) -> list[Point]:
    """The noise scale of the part that is advised on, untrained and at every checkpoint."""
    places: dict[int, Path | None] = {0: None, **Run(copy.path).checkpoints()}
    points: list[Point] = []
    for steps, checkpoint in places.items():
        subject = subject_of(copy, trust=trust, checkpoint=checkpoint)
        if subject.practise is None:
            raise ConfigError(subject.why_not)
        subject = replace(subject, has_checkpoint=checkpoint is not None)
        found = measure_noise(subject, NOISE_SECONDS)
        part = next((one for one in (ADVISED, *PREFERRED, *found) if one in found), None)
        if part is None:
            say(f"{steps:,} env steps: too few gradients were seen in time")
            continue
        points.append(Point(steps, part, found[part]))
        value = found[part].value
        told = f"{value:,.0f} rows" if math.isfinite(value) else "lost in noise"
        say(f"{steps:,} env steps: noise scale of the {part} {told}")
    if not points:
        raise RunError(f"No gradient of {copy.id} could be measured in time.")
    return points


def _timed(
    view: RunView,
    settings: Mapping[str, Any],
    tried: Mapping[int, Mapping[str, Any]],
    copy: RunView,
    rollout: int,
    folder: Path,
    train: Callable[..., Run | Group],
    say: Callable[[str], None],
) -> dict[int, list[float]]:
    """Env steps a second of each candidate, in turn, so that a busy machine slows all alike. What
    is timed is not kept: the next call times anew."""
    wanted = max(8 * rollout, SPEED_SECONDS * speed_of(copy))
    short: dict[str, Any] = {
        "env_steps": int(min(wanted, settings["env_steps"])),
        "eval_every": 0,
        "final_eval_episodes": 0,
    }
    if "learning_starts" in settings:
        short["learning_starts"] = min(int(settings["learning_starts"]), 100)
    found: dict[int, list[float]] = {batch: [] for batch in tried}
    with TemporaryDirectory(dir=folder) as place:
        for number in range(ROUNDS):
            say(f"timing {len(tried)} batches, round {number + 1} of {ROUNDS}")
            for batch, patch in tried.items():
                asked = {**settings, **short, **patch}
                seeds = range(SPEED_SEED + number, SPEED_SEED + number + 1)
                made = seeds_of(Path(place) / str(batch), asked, view, seeds, train)
                found[batch].append(speed_of(made[0]))
    return found


def speed_of(view: RunView) -> float:
    """Env steps a second between the first and the last row of a run."""
    series = view["wall_seconds"]
    if len(series.values) < 2 or series.values[-1] <= series.values[0]:
        raise RunError(f"{view.id} is too short to be timed: it logged fewer than two rows.")
    steps = series.env_steps[-1] - series.env_steps[0]
    return float(steps / (series.values[-1] - series.values[0]))

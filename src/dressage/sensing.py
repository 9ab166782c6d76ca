"""Puts together what a sensitivity analysis and advice on the batch size need of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dressage.errors import ConfigError
from dressage.prove.paired import FEWEST
from dressage.prove.sensitivity import Sensitivity, perturbed, sensitivity
from dressage.prove.sensitivity_report import SensitivityReport, sensitivity_report
from dressage.prove.spaces import space_of, valid
from dressage.prove.tune import Timer
from dressage.proving import digest, seeds_of, settings_of
from dressage.runs.files import write_json, writing
from dressage.runs.group import Group
from dressage.runs.run import Run
from dressage.runs.view import RunView
from dressage.tuning import ours, start_of


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
        timer.check()
        return train(*args, **given)

    def trained(chosen: Mapping[str, Any], which: range) -> list[RunView]:
        return seeds_of(folder / digest(chosen), chosen, view, which, timed)

    made = Sensitivity(env, algo, seeds, int(settings["env_steps"]))
    wanted = [one for one in asked if not only or one[0].label in only]
    runs = seeds * (1 + sum(len(patches) for _, patches in wanted))
    say(f"{folder}: {len(wanted)} settings, {runs} runs of {made.env_steps:,} env steps")
    sensitivity(made, settings, wanted, trained, budget=made.env_steps, say=say)
    report = sensitivity_report(made, view.id)
    write_json(folder / "report.json", report.to_json())
    report.write(folder)
    report.write_html(folder / "report.html")
    return report

"""What the rules see in a stored run, with its config and without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from benchmarks.faults.accepted import accepted
from benchmarks.faults.store import Stored

from dressage.diagnosis.diagnose import not_done, shipped_rates
from dressage.diagnosis.gauges import readings
from dressage.diagnosis.infer import BARE, HEALTHY, SHORT, kind_of
from dressage.diagnosis.look import solved
from dressage.diagnosis.possible import possible_causes
from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.rule import Rule
from dressage.runs.metrics import BEFORE_OURS
from dressage.runs.readers.sb3 import NAMES, configure
from dressage.runs.view import RunView, Series

MANY = 400  # runs, from which other processes are worth starting
UNLOGGED = "unlogged"  # variants whose log tells what the environment paid, not what was learned
VISIBLE_IN_SB3 = frozenset(metric.ours for metric in NAMES.table)
# Settings that are logged as they are in force, and the level that each is shown at.
USUAL = {"lr": 3e-4, "value_lr": 3e-4, "clip_range": 0.2, "clip_range_vf": 10.0, "ent_coef": 0.005}


@dataclass(frozen=True)
class Case:
    """One run as inference gets it, with the answers that count as right."""

    label: dict[str, Any]
    kind: str  # of log: `dressage.diagnosis.infer.kind_of` it
    possible: tuple[str, ...]  # causes that such a run can have
    seen: frozenset[str]  # rules that could be looked for
    fired: frozenset[str]
    right: frozenset[str]
    not_done: bool = False  # still rising, short of its task's threshold
    readings: Mapping[str, float] = field(default_factory=dict)  # of gauges

    @property
    def family(self) -> str:
        return self.kind.removesuffix(BARE)

    @property
    def truth(self) -> str:
        return str(self.label["cause"] or HEALTHY)

    @property
    def way(self) -> str:
        """In which its cause shows: `dressage.diagnosis.infer` tells ways apart."""
        hidden = UNLOGGED in str(self.label["variant"])
        return f"{self.truth}.{UNLOGGED}" if hidden else self.truth

    @property
    def environment(self) -> str:
        """A setting is named after its environment and its algorithm, and before them SB3."""
        return str(self.label["setting"]).removeprefix("sb3-").partition("-")[0]

    @property
    def like(self) -> tuple[str, str, str]:
        """Runs of one cause in one environment by one family of algorithms are alike, and count
        together as one."""
        return self.way, self.environment, self.family


Told = TypeVar("Told")
Gauges = Callable[[RunView], Iterable[str]]


def shipped_gauges(_: RunView) -> Iterable[str]:
    return shipped_rates().gauges


def case(stored: Stored, with_config: bool, gauges: Gauges = shipped_gauges) -> Case:
    view = stored.view if with_config else without_config(stored.view)
    looked = {
        id: rule.look(view)
        for id, rule in all_rules().items()
        if with_config or not _reads_levels(rule)
    }
    seen = frozenset(id for id, (could, _) in looked.items() if could)
    fired = frozenset(id for id, (_, found) in looked.items() if found is not None)
    possible = tuple(possible_causes(view))
    short = not_done(view, fired)
    read = readings(view, gauges(view))
    return Case(stored.label, kind_of(view), possible, seen, fired, right(stored), short, read)


def right(stored: Stored) -> frozenset[str]:
    """The answers that count as right. Of a healthy run that ended short of its task's threshold
    it may be said that it should go on."""
    label, view = stored.label, stored.view
    if label["cause"]:
        return accepted(label["cause"], label["variant"])
    unsolved = view.threshold is not None and not solved(view)
    return frozenset({HEALTHY, SHORT} if label.get("unfinished") or unsolved else {HEALTHY})


def _reads_levels(rule: Rule) -> bool:
    """Whether it looks at the size of a setting that is logged as it is in force, which a log
    without the config does not show here: its silence would mean nothing."""
    return rule.family == "configuration" and any(n.startswith("train/hp/") for n in rule.either)


def without_config(view: RunView) -> RunView:
    """The log alone: its library, its algorithm and its metrics, and nothing that was set.

    Of settings that are logged as they are in force the course is left, at a usual level: to read
    a rate of 0.05 out of a log is no more a diagnosis than to read it out of a file.
    """
    spec = {k: v for k, v in view.spec.items() if k in ("spaces", "time_limit")}
    series = view.series | {
        name: _at_level(view.series[name], level)
        for word, level in USUAL.items()
        if (name := f"train/hp/{word}") in view.series
    }
    return replace(view, config={}, own_config={}, budget=None, spec=spec, events=[], series=series)


def _at_level(series: Series, level: float) -> Series:
    largest = np.nanmax(np.abs(series.values), initial=0.0)
    return Series(series.env_steps, series.values * (level / largest)) if largest > 0 else series


def as_sb3(stored: Stored) -> Stored:
    """The run with nothing but what SB3 would have logged of it; its monitor does not say how
    episodes ended."""
    view = stored.view
    series = {name: s for name, s in view.series.items() if name in VISIBLE_IN_SB3}
    episodes = view.episodes._replace(ended=None)
    return replace(stored, view=replace(view, series=series, episodes=episodes))


def without_recorder(stored: Stored) -> Stored:
    """A run of SB3 as its users log it, without what `dressage.sb3.Recorder` has added."""
    view, plain = stored.view, stored.outcome.get("plain")
    if plain is None:
        return stored
    added = {ours for ours, own in view.own_names.items() if own.startswith(BEFORE_OURS)}
    series = {name: s for name, s in view.series.items() if name not in added}
    view = replace(view, series=series, own_config=plain["own_config"], spec=plain["spec"])
    env = view.env
    configure(view, plain["own_config"])
    view.env = env
    return replace(stored, view=view)


def without_model(stored: Stored) -> Stored:
    """A run of SB3 whose user saved no model."""
    return replace(stored, view=replace(stored.view, saved={}))


def recorded(runs: Iterable[Stored]) -> list[Stored]:
    """Those whose logs hold what the Recorder adds."""
    return [run for run in runs if run.outcome.get("plain") is not None]


def countable(runs: Iterable[Stored]) -> list[Case]:
    """What rates are counted on. Every run with its config and all that was logged, and rules that
    stand in for others as they are seen where those are not, in what SB3 logs; and runs of SB3 once
    more as the bare logs that their users have."""
    instead = frozenset(id for id, rule in all_rules().items() if rule.stands_in)
    found = []
    for run in runs:
        whole, little = case(run, True), case(as_sb3(without_recorder(run)), True)
        seen = whole.seen - instead | little.seen & instead
        fired = whole.fired - instead | little.fired & instead
        found.append(replace(whole, kind=whole.family, seen=seen, fired=fired))
        if run.label["library"] == "sb3":
            found.append(little)
    return found


def cases(runs: Iterable[Stored], with_config: bool, gauges: Gauges = shipped_gauges) -> list[Case]:
    return by_all_cores(partial(case, with_config=with_config, gauges=gauges), runs)


def by_all_cores(look: Callable[[Stored], Told], runs: Iterable[Stored]) -> list[Told]:
    """Of few runs one core is as quick."""
    runs = list(runs)
    if len(runs) < MANY:
        return list(map(look, runs))
    with ProcessPoolExecutor() as pool:
        return list(pool.map(look, runs, chunksize=50))

"""Which gauges are worth reading, and in which ranges they lay in labelled runs of training.

Greedily, with each environment left out of the counts by which its own runs are judged: the gauge
that adds the most to the probability of right answers is taken, as long as it adds anything worth
its while. What names a setting (counters, the size of networks by their weights, levels that are
logged as they are in force) or the machine is no candidate: that would be read off this benchmark,
whose settings have much in common.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
from benchmarks.faults.symptoms import Case

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.gauges import EPISODES, OF_A_METRIC, OF_EPISODES, Ranges, log_shares
from dressage.diagnosis.infer import GAUGED, HEALTHY, Rates, posterior
from dressage.diagnosis.registry import all_rules
from dressage.runs.view import RunView

Floats = npt.NDArray[np.float64]
ANSWERS = (HEALTHY, *CAUSES)
RANGES = 6
FEWEST, FEWEST_HEALTHY = 250, 100  # runs in which a gauge must be known: what was recorded later is
# known in a few faults alone, which would tell them by that
WORTH = 0.003  # mean logarithm of the right answers' probability that a gauge must add
LEAST = 0.02  # probability below which an answer counts as as good as not given
MOST = 32
NAMES_A_SETTING = re.compile(
    r"train/(hp|cnt)/|val/roll/episodes|.*buffer_fill|.*weight_norm/\S+ "
    r"(start|middle|end|smallest|largest)$"
)


def candidates(run: RunView) -> list[str]:
    metrics = [name for name in run.series if name.startswith(("train/", "val/"))]
    every = [f"{metric} {part}" for metric in metrics for part in OF_A_METRIC]
    every += [f"{EPISODES} {part}" for part in OF_EPISODES]
    return [gauge for gauge in every if not NAMES_A_SETTING.match(gauge)]


class Table:
    """Of one gauge: in which range it lay in each case, and in how many environments it did, by
    environment, family, cause and range. Runs that are alike count together as one."""

    def __init__(self, gauge: str, cases: Sequence[Case]) -> None:
        readings = np.array([case.readings.get(gauge, np.nan) for case in cases])
        self.known = np.isfinite(readings)
        inner = np.linspace(0.0, 1.0, RANGES + 1)[1:-1]
        cuts = np.quantile(readings[self.known], inner) if self.known.any() else []
        self.cuts = sorted({float(f"{cut:.6g}") for cut in cuts})
        self.place = np.searchsorted(self.cuts, np.where(self.known, readings, 0.0))

    def counts(self, places: Places) -> Floats:
        shape = (*places.shape, len(self.cuts) + 1)
        found = np.zeros(shape)
        at = (places.environment, places.family, places.cause, self.place)
        np.add.at(found, tuple(index[self.known] for index in at), places.weight[self.known])
        return found


class Places:
    """Where each case is counted."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.environments = sorted({case.environment for case in cases})
        self.families = sorted({case.family for case in cases})
        self.environment = np.array([self.environments.index(c.environment) for c in cases])
        self.family = np.array([self.families.index(c.family) for c in cases])
        self.cause = np.array([ANSWERS.index(c.truth) for c in cases])
        alike = Counter(case.like for case in cases)
        self.weight = np.array([1.0 / alike[case.like] for case in cases])
        self.shape = (len(self.environments), len(self.families), len(ANSWERS))


def ranges(gauge: str, cases: Sequence[Case], without: str = "") -> Ranges:
    """As it is shipped. `without`: an environment that has no part in the counts."""
    table, places = Table(gauge, cases), Places(cases)
    counts = table.counts(places)
    if without in places.environments:
        counts[places.environments.index(without)] = 0.0
    counts = counts.sum(axis=0)
    by_cause = {
        answer: {
            family: [round(float(n), 2) for n in counts[f, i]]
            for f, family in enumerate(places.families)
            if counts[f, i].any()
        }
        for i, answer in enumerate(ANSWERS)
    }
    return Ranges(table.cuts, {cause: told for cause, told in by_cause.items() if told})


class Runs:
    """All cases as arrays: the logarithms of what is known without gauges, by case and answer, and
    what each gauge adds to them."""

    def __init__(self, cases: Sequence[Case], rates_for: Callable[[Case], Rates]) -> None:
        self.cases, self.places = cases, Places(cases)
        self.right = np.array([[a in case.right for a in ANSWERS] for case in cases])
        self.healthy = np.array([case.truth == HEALTHY for case in cases])
        self.weight = np.sqrt(self.places.weight)
        self.total: Floats = np.full((len(cases), len(ANSWERS)), -np.inf)
        rules, at = all_rules(), {answer: i for i, answer in enumerate(ANSWERS)}
        for row, case in zip(self.total, cases, strict=True):
            seen, rates = [rules[id] for id in case.seen], rates_for(case)
            said = posterior(seen, case.fired, case.possible, case.kind, rates)
            for answer, chance in said.items():
                row[at[answer]] = np.log(chance + 1e-30)

    def adds(self, gauge: str) -> Floats:
        """By counts in which a case's own environment has no part."""
        table, where = Table(gauge, self.cases), self.places
        counts = table.counts(where)
        whole = counts.sum(axis=0)
        found: Floats = np.zeros(self.total.shape)
        for environment, family in product(*map(range, where.shape[:2])):
            mine = (where.environment == environment) & (where.family == family) & table.known
            if mine.any():
                others = whole - counts[environment]
                logs = log_shares(others[family], others.sum(axis=0))
                found[mine] = GAUGED * logs[:, table.place[mine]].T
        return found

    def worth(self, total: Floats) -> float:
        """Healthy and faulty runs count as much, however many there are."""
        shares = np.exp(total - total.max(axis=1, keepdims=True))
        mass = (shares * self.right).sum(axis=1) / shares.sum(axis=1)
        logs = np.log(mass + LEAST)
        kinds = (self.healthy, ~self.healthy)
        return float(sum(np.average(logs[k], weights=self.weight[k]) for k in kinds))


def chosen(cases: Sequence[Case], rates_for: Callable[[Case], Rates]) -> list[str]:
    """The gauges to read, the most telling first. `rates_for`: counted without the case's own
    environment; `cases` without the config."""
    runs = Runs(cases, rates_for)
    known = Counter(gauge for case in cases for gauge in case.readings)
    healthy = Counter(g for case in cases if case.truth == HEALTHY for g in case.readings)
    adds = {
        gauge: runs.adds(gauge).astype(np.float16)
        for gauge, count in sorted(known.items())
        if count >= FEWEST and healthy[gauge] >= FEWEST_HEALTHY
    }
    found: list[str] = []
    gains = dict.fromkeys(adds, np.inf)
    while len(found) < MOST and gains:
        before, best, most = runs.worth(runs.total), "", WORTH
        for gauge in sorted(gains, key=lambda gauge: -gains[gauge]):
            if gains[gauge] < most:  # gains only shrink, nearly always, as others are taken
                break
            gains[gauge] = runs.worth(runs.total + adds[gauge]) - before
            if gains[gauge] > most:
                best, most = gauge, gains[gauge]
        if not best:
            break
        found.append(best)
        runs.total += adds[best]
        del gains[best]
    return found

"""Which rules are better not counted: what they say others say too, and a product over rules takes
it for new evidence each time. They are still shown.

Greedily, on labelled runs of training with each environment left out: the rule without which the
right answers gain the most probability is left out, as long as that gains anything worth its while.
What is read off the settings repeats nothing, and stays.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from benchmarks.faults.symptoms import Case

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.infer import HEALTHY, Evidence, Rates, evidence, weighed
from dressage.diagnosis.registry import all_rules

Floats = npt.NDArray[np.float32]
ANSWERS = (HEALTHY, *CAUSES)
WORTH = 0.001  # mean probability of the right answers that leaving a rule out must gain
MOST = 24


class Runs:
    """All cases as arrays: what each rule adds to the logarithms, by case and answer."""

    def __init__(self, cases: Sequence[Case], rates_for: Callable[[Case], Rates]) -> None:
        self.right = np.array([[a in case.right for a in ANSWERS] for case in cases])
        self.healthy = np.array([case.truth == HEALTHY for case in cases])
        alike = Counter(case.like for case in cases)
        self.weight = np.array([1.0 / alike[case.like] for case in cases])
        prior = [
            self._logs(weighed(self._zero(case), case.kind, rates_for(case))) for case in cases
        ]
        self.total: Floats = np.array(prior, np.float32)
        self.at: dict[str, npt.NDArray[np.int64]] = {}
        self.adds: dict[str, Floats] = {}
        rules, cases_of = all_rules(), defaultdict(list)
        for i, case in enumerate(cases):
            for id in case.seen:
                cases_of[id].append(i)
        for id, at in cases_of.items():
            rows = []
            for i in at:
                rates, quiet = rates_for(cases[i]), id not in cases[i].fired
                rows.append([rates.logs(rules[id], cases[i].kind)[a][quiet] for a in ANSWERS])
            self.at[id], self.adds[id] = np.array(at), np.array(rows, np.float32)
            self.total[self.at[id]] += self.adds[id]

    @staticmethod
    def _zero(case: Case) -> Evidence:
        return evidence([], (), case.possible, case.kind, Rates())

    @staticmethod
    def _logs(prior: dict[str, float]) -> list[float]:
        return [float(np.log(prior[a])) if a in prior else -np.inf for a in ANSWERS]

    def mass(self, total: Floats) -> npt.NDArray[np.float64]:
        """Of each case: the probability of its right answers."""
        shares = np.exp(total - total.max(axis=1, keepdims=True))
        found: npt.NDArray[np.float64] = (shares * self.right).sum(axis=1) / shares.sum(axis=1)
        return found

    def worth(self, mass: npt.NDArray[np.float64]) -> float:
        """Healthy and faulty runs count as much, however many there are."""
        kinds = (self.healthy, ~self.healthy)
        return float(np.mean([np.average(mass[k], weights=self.weight[k]) for k in kinds]))

    def gain(self, id: str, before: npt.NDArray[np.float64]) -> float:
        mass = before.copy()
        at = self.at[id]
        shares = self.total[at] - self.adds[id]
        shares = np.exp(shares - shares.max(axis=1, keepdims=True))
        mass[at] = (shares * self.right[at]).sum(axis=1) / shares.sum(axis=1)
        return self.worth(mass) - self.worth(before)


def silent(cases: Sequence[Case], rates_for: Callable[[Case], Rates]) -> list[str]:
    """The rules to leave out, the most harmful first. `rates_for`: counted without the case's own
    environment."""
    runs, chosen = Runs(cases, rates_for), []
    kept = {id for id, rule in all_rules().items() if rule.family == "configuration"}
    while len(chosen) < MOST:
        mass = runs.mass(runs.total)
        gains = {id: runs.gain(id, mass) for id in runs.at if id not in chosen and id not in kept}
        best = max(gains, key=lambda id: gains[id])
        if gains[best] < WORTH:
            break
        chosen.append(best)
        runs.total[runs.at[best]] -= runs.adds[best]
    return chosen

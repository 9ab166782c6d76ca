"""What each rule contributes on the training split: how often it fires, what is lost without it.

A rule whose removal changes nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.faults import store
from benchmarks.faults.admit import RESULTS, admitted
from benchmarks.faults.learn import told_of
from benchmarks.faults.symptoms import Case, cases, without_recorder

from dressage.diagnosis.diagnose import shipped_rates
from dressage.diagnosis.infer import HEALTHY, Rates, evidence, ranking, weighed
from dressage.diagnosis.registry import all_rules


def contributions(cases: Sequence[Case], rates: Rates) -> dict[str, tuple[float, float]]:
    """What top 1 and the mean probability of the right answers lose without each rule."""
    rules = all_rules()
    whole = [told_of(case, rates) for case in cases]

    def measure(without: str | None) -> tuple[float, float]:
        tops, masses = [], []
        for case, said in zip(cases, whole, strict=True):
            if without in case.seen:
                own = evidence([rules[without]], case.fired, case.possible, case.kind, rates)
                said = said.less(own)
            given = weighed(said, case.kind, rates)
            tops.append(ranking(given)[0] in case.right)
            masses.append(sum(given.get(cause, 0.0) for cause in case.right))
        return float(np.mean(tops)), float(np.mean(masses))

    top, mass = measure(None)
    lost = {}
    for id in sorted({id for case in cases for id in case.seen}):
        without = measure(id)
        lost[id] = (top - without[0], mass - without[1])
    return lost


def write_rules() -> str:
    runs = [run for run in admitted(store.load()) if run.label["split"] == "train"]
    plain = list(map(without_recorder, runs))  # as users log: what stands in for others is seen
    found = cases(plain, True)
    lost = contributions([*found, *cases(plain, False)], shipped_rates())
    lines = [
        "| rule | name | fires on healthy | fires on faulty | top 1 lost without it, points | "
        "probability lost, points |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for id, (top, mass) in sorted(lost.items(), key=lambda item: -item[1][1]):
        seen = [case for case in found if id in case.seen]
        quiet = [id in case.fired for case in seen if case.truth == HEALTHY]
        faulty = [id in case.fired for case in seen if case.truth != HEALTHY]
        shares = [f"{np.mean(part):.1%}" if part else "-" for part in (quiet, faulty)]
        lines.append(
            f"| {id} | {all_rules()[id].name} | {shares[0]} | {shares[1]} | {100 * top:.2f} | "
            f"{100 * mass:.2f} |"
        )
    text = "\n".join(lines) + "\n"
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "rules.md").write_text(text)
    return text

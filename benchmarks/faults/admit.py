"""A fault enters only if it hurts: the gap to its clean twin, beside how much seeds differ.

A clean run enters only if it learned: a seed that failed by itself is neither healthy nor of a
known cause.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.faults import store
from benchmarks.faults.fault import Measure
from benchmarks.faults.faults import FAULTS

RESULTS = Path(__file__).parents[1] / "results" / "faults"
RETURN = "train/roll/ep_rew_mean"
DEVIATIONS = 3.0
FLOOR = 0.02  # of the clean return: the least that seeds are taken to differ by
FEWEST_SEEDS = 2
HALF_WAY = 0.5  # from where its twins began to where their median ended: less is a failure
SLOWER = 1.5  # ratio of speeds; a machine that does other things too makes less than that


@dataclass(frozen=True)
class Verdict:
    variant: str
    cause: str | None
    setting: str
    severity: int
    seeds: int
    clean: float
    faulty: float
    deviation: float  # the larger of the two over seeds, and at least the floor
    hurts: bool | None  # None: too few seeds to tell


def verdicts(runs: Iterable[store.Stored]) -> dict[tuple[str, str, int], Verdict]:
    """By variant, setting and severity; of faults and of harmless variations."""
    runs = [run for run in runs if not run.outcome.get("failed")]
    unlearned = {run.label["key"] for run in did_not_learn(runs)}
    groups: dict[tuple[str, str, int], list[store.Stored]] = defaultdict(list)
    for run in runs:
        label = run.label
        if label["key"] not in unlearned:
            groups[label["variant"], label["setting"], label["severity"]].append(run)
    return {
        key: _verdict(key, group, groups[("clean", key[1], 0)])
        for key, group in groups.items()
        if key[0] != "clean" and groups.get(("clean", key[1], 0))
    }


def did_not_learn(runs: Iterable[store.Stored]) -> list[store.Stored]:
    """Clean runs that ended more than three deviations below the median of their twins (the
    deviation by the median, which a failure does not move) and made less than half of their way."""
    twins: dict[str, list[store.Stored]] = defaultdict(list)
    for run in runs:
        if run.label["kind"] == "clean" and run.outcome.get("final") is not None:
            twins[run.label["setting"]].append(run)
    failed = []
    for group in twins.values():
        finals = np.array(_values(group, "final"))
        usual = float(np.median(finals))
        spread = 1.4826 * float(np.median(np.abs(finals - usual)))
        deviation = max(spread, FLOOR * abs(usual), 1e-9)
        starts = [float(s.values[0]) for run in group if (s := run.view[RETURN])]
        least = usual - DEVIATIONS * deviation
        if starts:
            least = min(least, usual - (1 - HALF_WAY) * (usual - float(np.median(starts))))
        failed += [run for run, final in zip(group, finals, strict=True) if final < least]
    return failed


def _verdict(
    key: tuple[str, str, int], group: list[store.Stored], clean: list[store.Stored]
) -> Verdict:
    variant, setting, severity = key
    # SB3's variants are named after the algorithm, and measured as ours are
    like = FAULTS.get(variant) or FAULTS.get(variant.partition(".")[0])
    measure: Measure = like.measure if like else "final"
    name = "final" if measure == "crash" else measure
    faulty = _values(group, name)
    healthy = _values(clean, "val" if measure == "played" else name)
    a, b = float(np.mean(healthy)), float(np.mean(faulty)) if faulty else float("nan")
    deviation = max(np.std(healthy), np.std(faulty) if faulty else 0.0, FLOOR * abs(a), 1e-9)
    # one run tells whether a variation did harm in it; a fault has to harm every time
    fewest = 1 if group[0].label["kind"] == "benign" else FEWEST_SEEDS
    enough = len(group) >= fewest and len(healthy) >= FEWEST_SEEDS
    gap = abs(a - b) if measure in ("val", "logged") else a - b
    hurts = bool(gap > DEVIATIONS * deviation)
    if measure == "crash":
        hurts = all(run.outcome["state"] == "crashed" for run in group)
    elif measure == "speed":
        hurts = bool(a > SLOWER * b)
    cause = group[0].label["cause"]
    verdict = hurts if enough else None
    return Verdict(variant, cause, setting, severity, len(group), a, b, float(deviation), verdict)


def _values(runs: Iterable[store.Stored], name: str) -> list[float]:
    return [float(run.outcome[name]) for run in runs if run.outcome.get(name) is not None]


def admitted(runs: Iterable[store.Stored]) -> list[store.Stored]:
    """What is scored: clean runs that learned, harmless ones, and the faults that hurt."""
    runs = [run for run in runs if not run.outcome.get("failed")]
    found = verdicts(runs)
    unlearned = {run.label["key"] for run in did_not_learn(runs)}

    def enters(run: store.Stored) -> bool:
        if run.label["kind"] == "clean":
            return run.label["key"] not in unlearned
        verdict = found.get((run.label["variant"], run.label["setting"], run.label["severity"]))
        if verdict is None or verdict.hurts is None or run.outcome.get(store.BARE):
            return False
        return verdict.hurts == (run.label["kind"] == "fault")

    return [run for run in runs if enters(run)]


def table(runs: Iterable[store.Stored]) -> str:
    found = sorted(
        verdicts(runs).values(), key=lambda v: (v.cause or "~", v.variant, v.setting, v.severity)
    )
    lines = [
        "# What hurts",
        "",
        "A fault enters the benchmark where the gap to its clean twin is above three times the "
        "larger deviation over seeds (at least 2 % of the clean value). `python -m "
        "benchmarks.faults admit` writes this page.",
        "",
        "| fault | setting | severity | seeds | clean | with it | deviation | enters |",
        "|---|---|--:|--:|--:|--:|--:|---|",
    ]
    says = {True: "yes", False: "no", None: "too few seeds"}
    for v in found:
        enters = (
            says[v.hurts]
            if v.cause
            else {True: "no: it hurts", False: "harmless"}.get(v.hurts, says[None])
        )  # type: ignore[arg-type]
        lines.append(
            f"| {v.variant} | {v.setting} | {v.severity or '-'} | {v.seeds} | {v.clean:.4g} | "
            f"{v.faulty:.4g} | {v.deviation:.3g} | {enters} |"
        )
    return "\n".join([*lines[:4], summary(found), "", *lines[4:]]) + "\n"


def summary(found: Iterable[Verdict]) -> str:
    faults = [v for v in found if v.cause]
    entered = [v for v in faults if v.hurts]
    count: dict[str, Any] = {
        "faults": len({v.variant for v in entered}),
        "causes": len({v.cause for v in entered}),
        "of causes": len({v.cause for v in faults}),
    }
    return (
        f"{len(entered)} of {len(faults)} combinations of fault, setting and severity enter: "
        f"{count['faults']} faults with {count['causes']} of {count['of causes']} causes."
    )


def write_table() -> str:
    text = table(store.load())
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "admitted.md").write_text(text)
    return text

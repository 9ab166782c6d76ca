"""Do prescriptions mend what they are prescribed for? Faulty against patched, over seeds.

    python -m benchmarks.fixes run --minutes 20 [--only CAUSE…]   # resumes; one file a fault
    python -m benchmarks.fixes table            # and writes the record that the package ships

For each fault of the fault benchmark whose cause has a fix in settings: the run with the fault (its
first training setting, the middle severity) gets the patch that `diagnose` would show for that
cause, and both are trained on the same fresh seeds until `verify` has a verdict. What the fault
costs is the gap to the clean setting on eight seeds, in the environment's own reward.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.faults.fault import Fault
from benchmarks.faults.faults import FAULTS
from benchmarks.faults.injection import CLEAN, Injection
from benchmarks.faults.plan import first_settings
from benchmarks.faults.settings import SETTINGS
from benchmarks.faults.train import Job, make
from benchmarks.jobs import Benchmark

from dressage.runs.view import RunView

BENCHMARK = Benchmark(__file__, {"fault": None})
SEVERITY = 2
CLEAN_SEEDS = range(9000, 9008)
WANTED = 0.8
# What is compared in another way than by the return: see `Fault.measure`.
MEASURES = ("final", "played")


SLOW = ("sparse-reward", "partial-observability", "action-delay")  # mended by torch's networks


def fixable() -> Iterator[Fault]:
    """Faults that hurt the return, and whose cause settings can mend; the slow ones last."""
    from dressage.diagnosis.prescriptions import FIXES

    for fault in sorted(FAULTS.values(), key=lambda fault: fault.cause in SLOW):
        if FIXES[fault.cause].make is not None and fault.measure in MEASURES:
            yield fault


def one(name: str) -> None:
    from dressage.diagnosis.prescriptions import prescribe
    from dressage.prove.verify import BASELINE, verify

    fault = FAULTS[name]
    setting = SETTINGS[first_settings(fault)[0]]
    injection = fault.levels[SEVERITY - 1]
    finals: dict[str, list[float]] = {"clean": [], BASELINE: [], "patched": []}

    def trained(side: str, seeds: range, what: Injection) -> list[RunView]:
        views = []
        for at in seeds:
            job = Job(setting.name, name, "fault", fault.cause, SEVERITY, at, what)
            view, result = make(job)
            measured = result.get("played" if fault.measure == "played" else "final")
            finals[side].append(float("nan") if measured is None else float(measured))
            views.append(view)
        return views

    first = trained("clean", range(9000, 9001), injection)[0]  # what a person has: one faulty run
    finals["clean"].clear()
    patch = {
        key: value
        for key, value in prescribe(fault.cause, first, [], "high").ours.items()
        if key != "env_steps"
    }
    result: dict[str, Any] = {
        "fault": name,
        "cause": fault.cause,
        "env": setting.env,
        "algo": setting.algo,
        "setting": setting.name,
        "patch": patch,
    }
    if patch:
        mended = Injection(
            {**injection.changes(setting), **patch}, injection.wrappers, injection.code
        )
        trained("clean", CLEAN_SEEDS, CLEAN)
        found = verify(
            patch,
            lambda side, seeds: trained(side, seeds, injection if side == BASELINE else mended),
            goal="return",
        )
        means = {side: float(np.nanmean(values)) for side, values in finals.items()}
        cost = means["clean"] - means[BASELINE]
        result |= {
            "verification": found.to_json(),
            "finals": finals,
            "recovered": (means["patched"] - means[BASELINE]) / cost if cost else None,
        }
    BENCHMARK.save(
        (name,),
        result,
        packages=("dressage", "numpy", "gymnasium"),
        by="python -m benchmarks.fixes run",
    )
    says = result.get("recovered")
    print(f"{name}: {patch or 'no setting mends it'}", "" if says is None else f"{says:.0%}")


def table() -> str:
    """One row a fault, and the record."""
    from dressage.diagnosis.record import SHIPPED

    results = BENCHMARK.load()
    lines = [
        "| fault | setting | patch | clean | with it | mended | recovered | verdict |",
        "|---|---|---|--:|--:|--:|--:|---|",
    ]
    record = []
    recovered: dict[str, list[float]] = {}
    for result in sorted(results, key=lambda r: r["fault"]):
        found = result.get("verification")
        patch = ", ".join(f"{key}={value}" for key, value in result["patch"].items())
        if found is None:
            lines.append(f"| {result['fault']} | {result['setting']} | none | | | | | |")
            continue
        means = {side: np.nanmean(values) for side, values in result["finals"].items()}
        share = result["recovered"]
        recovered.setdefault(result["cause"], []).append(min(max(share or 0.0, 0.0), 1.0))
        lines.append(
            f"| {result['fault']} | {result['setting']} | {patch} | {means['clean']:.4g} | "
            f"{means['baseline']:.4g} | {means['patched']:.4g} | {share:.0%} | "
            f"{found['verdict']} |"
        )
        record.append(
            {
                "format": 1,
                "env": result["env"],
                "algo": result["algo"],
                "library": "dressage",
                "patch": result["patch"],
                "cause": result["cause"],
                "verdict": found["verdict"],
                "goal": found["goal"],
                "seeds": found["looks"][-1]["seeds"],
                "p": found["looks"][-1]["p"],
                "final": found["final"],
                "steps_ratio": found["steps_ratio"],
                "returns": [float(means["baseline"]), float(means["patched"])],
                "env_steps": found["env_steps"],
                "seconds": found["seconds"],
                "date": result["date"],
            }
        )
    SHIPPED.write_text("".join(json.dumps(entry) + "\n" for entry in record))
    enough = [cause for cause, shares in recovered.items() if np.mean(shares) >= WANTED]
    head = (
        f"Prescriptions win back at least {WANTED:.0%} of the return for {len(enough)} of "
        f"{len(recovered)} causes with a fix in settings ({WANTED:.0%} of causes are wanted)."
        if recovered
        else "Nothing was run yet."
    )
    return "\n".join([head, "", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--minutes", type=float, default=20.0)
    run.add_argument("--only", nargs="*", metavar="CAUSE")
    commands.add_parser("table")
    given = parser.parse_args()
    if given.command == "run":
        began = time.monotonic()
        for fault in fixable():
            if time.monotonic() - began > 60 * given.minutes:
                break
            asked = not given.only or fault.cause in given.only
            if asked and not BENCHMARK.file(fault.name).exists():
                one(fault.name)
    text = table()
    (BENCHMARK.results / "table.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()

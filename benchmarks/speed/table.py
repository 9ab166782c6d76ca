"""The results as tables: speeds, ratios within a round with their range, shares and limits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.speed.flops import flops_per_env_step
from benchmarks.speed.settings import (
    FIRST_UPDATE_SECONDS,
    HELP_SECONDS,
    RECORDING_SHARE,
    SETTINGS,
    Setting,
)

Record = dict[str, Any]
Rounds = dict[int, float]  # repeat -> figure
PHASES = ("collect", "prepare", "update", "evaluate", "record", "checkpoint")


def table(results: Path) -> str:
    """All that has been measured, in Markdown."""
    files = {name: results / f"{name}.json" for name in SETTINGS}
    found = {name: json.loads(path.read_text()) for name, path in files.items() if path.exists()}
    parts = []
    for kind, write in WRITERS.items():
        of_kind = {name: data for name, data in found.items() if SETTINGS[name].kind == kind}
        if of_kind:
            parts += write(of_kind, found)
    parts += ["", "Measured with:", ""]
    for name, data in found.items():
        parts.append(
            f"- {name}: {data['date']}, {data['machine']}, commit {data['dressage']}, "
            f"`{data['command']}`; {versions(data['runs'])}"
        )
        parts += [f"  - {program} is missing: {why}" for program, why in data["missing"].items()]
        parts += [
            f"  - {r['program']}, round {r['repeat']}, failed: {r['error']}"
            for r in data["runs"]
            if "error" in r
        ]
    return "\n".join(parts)


def train_table(chosen: dict[str, Record], _: dict[str, Record]) -> list[str]:
    lines = [
        "| setting | program | env steps/s | times SB3 | wanted | share of peak, 2 cores (1 core) "
        "| process s | peak MB | return |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, data in chosen.items():
        setting, runs = SETTINGS[name], good(data["runs"])
        unit = unit_of(setting, name, runs)
        own = [p for p in setting.programs if p != "peak"]
        for program in own:
            mine = [r for r in runs if r["program"] == program and r["setting"] == name]
            speeds = by_round(mine, speed)
            if not speeds:
                continue
            wanted = setting.wanted.get(program)
            ratios = divided(speeds, unit)
            cells = [
                name,
                program,
                spread(speeds, ",.0f"),
                spread(ratios, ".2f"),
                verdict(ratios, wanted, at_least=True),
                peak_share(setting, speeds, runs),
                spread(by_round(mine, lambda r: r["process_seconds"]), ".1f"),
                spread(by_round(mine, lambda r: r["peak_mb"]), ".0f"),
                spread(by_round(mine, lambda r: r.get("return")), ".0f"),
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return lines + where_time_goes(chosen)


def where_time_goes(chosen: dict[str, Record]) -> list[str]:
    """Shares of a run's wall time by its own account (sys/time columns), medians over rounds."""
    lines = ["", "| setting | program | " + " | ".join(PHASES) + " | rest |"]
    lines.append("|---|---" + "|--:" * (len(PHASES) + 1) + "|")
    for name, data in chosen.items():
        for program in SETTINGS[name].programs:
            told = [
                r["shares"]
                for r in good(data["runs"])
                if r["program"] == program and r["setting"] == name and "shares" in r
            ]
            if told:
                shares = [median(t.get(phase, 0.0) for t in told) for phase in PHASES]
                cells = [f"{share:.1%}" for share in (*shares, 1.0 - sum(shares))]
                lines.append(f"| {name} | {program} | " + " | ".join(cells) + " |")
    return lines


def unit_of(setting: Setting, name: str, runs: list[Record]) -> Rounds:
    """The speed of SB3, at the best of its settings that were tried, in each round."""
    where = setting.reference or name
    theirs = [r for r in runs if r["setting"] == where and r["program"].startswith("sb3")]
    speeds = [
        by_round([r for r in theirs if r["program"] == program], speed)
        for program in {r["program"] for r in theirs}
    ]
    return max(speeds, key=lambda s: median(s.values()), default={})


def peak_share(setting: Setting, speeds: Rounds, runs: list[Record]) -> str:
    """Operations a second over what the machine's registers can do, in the same round."""
    flops = flops_per_env_step(setting)
    peaks = [r for r in runs if r["program"] == "peak"]
    if flops is None or not peaks:
        return ""
    of_two, of_one = (
        divided({k: v * flops * 1e-9 for k, v in speeds.items()}, by_round(peaks, at))
        for at in (lambda r: r["gflops"]["2"], lambda r: r["gflops"]["1"])
    )
    return f"{spread(of_two, '.1%')} ({spread(of_one, '.1%')})" if of_two else ""


def solve_table(chosen: dict[str, Record], _: dict[str, Record]) -> list[str]:
    lines = ["", "| setting | program | seconds to a return of 475 | per seed | SB3's over it |"]
    lines.append("|---|---|--:|---|---|")
    for name, data in chosen.items():
        runs = good(data["runs"])
        seconds = {p: by_round_or_never(runs, p) for p in SETTINGS[name].programs}
        for program, mine in seconds.items():
            if not mine:
                continue
            each = ", ".join(f"{s:.2f}" for s in mine.values())
            cell = ""
            if program != "sb3" and seconds.get("sb3"):
                middle = median(mine.values())
                ratio = median(seconds["sb3"].values()) / middle if middle < math.inf else 0.0
                wanted = SETTINGS[name].wanted[program]
                cell = f"{ratio:.1f} of the medians; {verdict({0: ratio}, wanted, at_least=True)}"
            lines.append(f"| {name} | {program} | {spread(mine, '.2f')} | {each} | {cell} |")
    return lines


def by_round_or_never(runs: list[Record], program: str) -> Rounds:
    """Seconds until solved; infinite for a seed that was not."""
    mine = [r for r in runs if r["program"] == program]
    return {r["repeat"]: r.get("solve_seconds", math.inf) for r in mine}


def seeds_table(chosen: dict[str, Record], _: dict[str, Record]) -> list[str]:
    lines = ["", "| seeds | seconds of training | times one seed | whole call s | times one seed |"]
    lines.append("|---|--:|--:|--:|--:|")
    for name, data in chosen.items():
        runs = good(data["runs"])
        many, one = SETTINGS[name].programs
        for program in (many, one):
            cells = []
            for key in ("training_seconds", "train_call_seconds"):
                mine, unit = (
                    by_round([r for r in runs if r["program"] == p], lambda r, k=key: r[k])
                    for p in (program, one)
                )
                ratios = divided(mine, unit)
                wanted = SETTINGS[name].wanted.get(program)
                judged = verdict(ratios, wanted, at_least=False)
                cells += [spread(mine, ".2f"), f"{spread(ratios, '.2f')} {judged}"]
            lines.append(f"| {program} | " + " | ".join(cells) + " |")
    return lines


def start_table(chosen: dict[str, Record], found: dict[str, Record]) -> list[str]:
    lines = ["", "| start, recording, memory | measured | wanted |", "|---|--:|---|"]
    runs = [r for data in chosen.values() for r in good(data["runs"])]
    for what, key, most in (
        ("`dressage --help`, s", "help_seconds", HELP_SECONDS),
        ("`dressage train` to its first row, s", "first_row_seconds", FIRST_UPDATE_SECONDS),
    ):
        mine = by_round(runs, lambda r, k=key: r.get(k))
        lines.append(f"| {what} | {spread(mine, '.2f')} | {verdict(mine, most, at_least=False)} |")
    cartpole = good(found.get("cartpole-zoo", {}).get("runs", []))
    native = [r for r in cartpole if r["program"] == "dressage-native"]
    if native:
        lines.append("| cartpole-zoo, native: | | |")
        shares = by_round(native, lambda r: r["shares"]["record"] + r["shares"]["checkpoint"])
        told = verdict(shares, RECORDING_SHARE, at_least=False)
        lines.append(f"| recording and checkpoints of it | {spread(shares, '.1%')} | {told} |")
        sb3 = [r for r in cartpole if r["program"] == "sb3"]
        memory = divided(*(by_round(some, lambda r: r["peak_mb"]) for some in (native, sb3)))
        told = verdict(memory, 1.0, at_least=False)
        lines.append(f"| its memory over SB3's | {spread(memory, '.2f')} | {told} |")
    return lines


WRITERS: dict[str, Callable[[dict[str, Record], dict[str, Record]], list[str]]] = {
    "train": train_table,
    "solve": solve_table,
    "seeds": seeds_table,
    "start": start_table,
}


def good(runs: list[Record]) -> list[Record]:
    return [r for r in runs if "error" not in r]


def speed(record: Record) -> float:
    return float(record["steady_env_steps"] / record["steady_seconds"])


def by_round(runs: list[Record], figure: Callable[[Record], float | None]) -> Rounds:
    told = {r["repeat"]: figure(r) for r in runs}
    return {repeat: value for repeat, value in told.items() if value is not None}


def divided(a: Rounds, b: Rounds) -> Rounds:
    """Round by round: figures of one round were taken under the same conditions."""
    return {k: a[k] / b[k] for k in a if k in b}


def spread(rounds: Rounds, form: str) -> str:
    """The median, and in brackets the range over the rounds."""
    if not rounds:
        return ""
    values = rounds.values()
    middle = f"{median(values):{form}}"
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return middle if low == high else f"{middle} [{low}, {high}]"


def verdict(rounds: Rounds, wanted: float | None, *, at_least: bool) -> str:
    if wanted is None or not rounds:
        return ""
    reached = median(rounds.values())
    kept = reached >= wanted if at_least else reached <= wanted
    return f"{'≥' if at_least else '≤'} {wanted:g}: {'yes' if kept else 'no'}"


def versions(runs: list[Record]) -> str:
    known: dict[str, set[str]] = {}
    for record in runs:
        for package, version in record.get("versions", {}).items():
            known.setdefault(package, set()).add(version)
    return ", ".join(f"{p} {' and '.join(sorted(v))}" for p, v in sorted(known.items()))

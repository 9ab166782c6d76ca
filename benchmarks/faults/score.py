"""How often the diagnosis is right, on runs that are stored; with and without their config.

The test split is looked at rarely, and each time is noted in results/faults/scorings.md.
"""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from benchmarks.faults import store
from benchmarks.faults.accepted import accepted
from benchmarks.faults.admit import RESULTS, admitted

from dressage.diagnosis.diagnose import diagnose
from dressage.runs.view import RunView


@dataclass(frozen=True)
class Answer:
    setting: str
    variant: str
    cause: str | None  # None: nothing is wrong
    says: tuple[str, ...]  # causes, the most probable first; none: healthy, or cannot tell

    def right(self, first: int) -> bool:
        """Whether one of the first so many answers is accepted; of a healthy run: no answer."""
        if self.cause is None:
            return not self.says
        return bool(accepted(self.cause) & set(self.says[:first]))


def blind(view: RunView) -> RunView:
    """The view of a log without its config."""
    return replace(view, config={}, own_config={})


def answers(runs: Iterable[store.Stored], with_config: bool) -> list[Answer]:
    found = []
    for run in runs:
        view = run.view if with_config else blind(run.view)
        says = tuple(cause.id for cause in diagnose(view).causes)
        label = run.label
        found.append(Answer(label["setting"], label["variant"], label["cause"], says))
    return found


def share(answers: list[Answer], first: int, draws: int = 1000) -> tuple[float, float, float]:
    """Of right answers, with a 95 % interval that draws whole settings."""
    if not answers:
        return float("nan"), float("nan"), float("nan")
    groups: dict[str, list[bool]] = {}
    for one in answers:
        groups.setdefault(one.setting, []).append(one.right(first))
    sums = np.array([[sum(g), len(g)] for g in groups.values()], float)
    rng = np.random.default_rng(0)
    drawn = sums[rng.integers(len(sums), size=(draws, len(sums)))].sum(1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    return float(sums[:, 0].sum() / sums[:, 1].sum()), float(low), float(high)


def score(split: str) -> str:
    """A table of the split, and of the causes that are missed most."""
    runs = [run for run in admitted(store.load()) if run.label["split"] == split]
    lines = [
        f"# Score on the {split} split",
        "",
        "| config | faulty runs | top-1 | top-3 | quiet runs | false alarms |",
        "|---|--:|---|---|--:|---|",
    ]
    missed: dict[str, list[bool]] = {}
    for with_config in (False, True):
        found = answers(runs, with_config)
        faulty = [one for one in found if one.cause is not None]
        quiet = [one for one in found if one.cause is None]
        words = "with" if with_config else "without"
        cells = [_percent(share(faulty, first)) for first in (1, 3)]
        wrong, low, high = share(quiet, 1)
        alarms = _percent((1 - wrong, 1 - high, 1 - low))
        lines.append(f"| {words} | {len(faulty)} | {' | '.join(cells)} | {len(quiet)} | {alarms} |")
        if not with_config:
            for one in faulty:
                missed.setdefault(str(one.cause), []).append(one.right(1))
    lines += [
        "",
        "Top-1 without config, by cause:",
        "",
        "| cause | runs | right |",
        "|---|--:|--:|",
    ]
    ranked = sorted(missed.items(), key=lambda pair: float(np.mean(pair[1])))
    lines += [f"| {cause} | {len(hits)} | {np.mean(hits):.0%} |" for cause, hits in ranked]
    return "\n".join(lines) + "\n"


def _percent(values: tuple[float, float, float]) -> str:
    return f"{values[0]:.1%} [{values[1]:.1%}, {values[2]:.1%}]"


def write_score(split: str) -> str:
    text = score(split)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{split}.md").write_text(text)
    if split == "test":
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip()
        with (RESULTS / "scorings.md").open("a") as log:
            log.write(f"- {datetime.date.today()} at {commit}: {text.splitlines()[4]}\n")
    return text

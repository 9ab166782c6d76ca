"""Scores diagnosis on stored runs: how often the right cause is named, and how often without need.

With the config and without it; the score without it is the headline. Intervals are bootstraps over
settings, since runs of one setting are alike. Two simpler ways are scored beside: the first rule
that fires, and gymnasium-solver's thresholds. The test split is looked at rarely, and each time is
noted in results/faults/scorings.md.
"""

from __future__ import annotations

import datetime
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from benchmarks.faults import store
from benchmarks.faults.admit import RESULTS, admitted
from benchmarks.faults.store import Stored
from benchmarks.faults.symptoms import (
    Case,
    as_sb3,
    by_all_cores,
    case,
    recorded,
    without_model,
    without_recorder,
)

from dressage.diagnosis.diagnose import shipped_rates
from dressage.diagnosis.infer import (
    HEALTHY,
    SHORT,
    Rates,
    posterior,
    ranking,
    tells,
    undertrained,
)
from dressage.diagnosis.look import median
from dressage.diagnosis.registry import all_rules
from dressage.runs.view import RunView

Floats = npt.NDArray[np.float64]
QUIET = (HEALTHY, SHORT)  # the verdicts "healthy" and "undertrained"
BINS = 10  # of equal mass, for calibration
DRAWS = 1000
LATER = ("tanks", "lane")  # test environments that joined when the others had been scored often
PARTS: dict[str, Callable[[Case], bool]] = {
    "runs of dressage": lambda case: case.label["library"] == "dressage",
    "runs of sb3": lambda case: case.label["library"] == "sb3",
    "settings scored before": lambda case: case.environment not in LATER,
    "settings that joined later": lambda case: case.environment in LATER,
    "mild faults and healthy": lambda case: case.label["severity"] in (0, 1),
    "middle faults and healthy": lambda case: case.label["severity"] in (0, 2),
    "hard faults and healthy": lambda case: case.label["severity"] in (0, 3),
}
WANTED = {
    True: {"top 1": 0.85, "top 3": 0.95, "false alarms": 0.02, "calibration error": 0.05},
    False: {"top 1": 0.70, "top 3": 0.88, "false alarms": 0.02, "calibration error": 0.05},
}


@dataclass(frozen=True)
class Answer:
    case: Case
    ranked: tuple[str, ...]  # causes, most probable first; HEALTHY is one
    sure: float  # probability of the first, as a person is told it
    tells: bool = True  # no: what is said is "cannot tell", with guesses

    def right(self, among: int = 1) -> bool:
        """Healthy is an answer only where it is the first: it says that there is nothing else."""
        named = [cause for cause in self.ranked if cause != HEALTHY][:among]
        if self.case.truth == HEALTHY or self.ranked[0] == HEALTHY:
            return self.ranked[0] in self.case.right
        return any(cause in self.case.right for cause in named)


def answered(cases: Iterable[Case], rates: Rates) -> list[Answer]:
    rules = all_rules()
    found = []
    for one in cases:
        seen = [rules[id] for id in one.seen]
        given = posterior(seen, one.fired, one.possible, one.kind, rates, one.readings)
        found.append(answer(one, given))
    return found


def answers(runs: Iterable[Stored], with_config: bool) -> list[Answer]:
    """By the shipped rates; all cores look at many runs."""
    return by_all_cores(partial(_answer_of, with_config=with_config), runs)


def _answer_of(run: Stored, with_config: bool) -> Answer:
    return answered([case(run, with_config)], shipped_rates())[0]


def answer(case: Case, given: Mapping[str, float]) -> Answer:
    given = undertrained(given) if case.not_done else given
    ranked = tuple(ranking(given))
    return Answer(case, ranked, given[ranked[0]], tells(given))


def share(answers: Sequence[Answer], what: str) -> float:
    """One figure; NaN where no run of the kind is there."""
    if what == "calibration error":
        return calibration_error(answers)
    values = [value for a in answers if (value := counts(a, what)) is not None]
    return float(np.mean(values)) if values else float("nan")


def counts(a: Answer, what: str) -> bool | None:
    """Whether an answer counts towards a figure; None of runs that it is not about."""
    healthy = a.case.truth == HEALTHY
    match what:
        case "top 1":
            return None if healthy else a.tells and a.right()
        case "top 3":
            return None if healthy else a.right(3)
        case "false alarms":
            return a.tells and not a.right() if healthy else None
        case "called faulty":
            return a.tells and a.ranked[0] not in QUIET if healthy else None
        case "cannot tell":
            return not a.tells
        case _:
            raise ValueError(what)


def calibration_error(answers: Sequence[Answer]) -> float:
    """Mean |how sure - how often right| over bins of equal mass."""
    return _calibration_error(*sureness(answers))


def sureness(answers: Sequence[Answer]) -> tuple[Floats, Floats]:
    """How sure each is, and whether it is right."""
    return np.array([a.sure for a in answers]), np.array([a.right() for a in answers], float)


def _calibration_error(sure: Floats, right: Floats) -> float:
    if not len(sure):
        return float("nan")
    gaps = (sure - right)[np.argsort(sure, kind="stable")]
    bins = [part for part in np.array_split(gaps, BINS) if len(part)]
    return float(sum(abs(part.sum()) for part in bins) / len(sure))


def interval(answers: Sequence[Answer], what: str, seed: int = 0) -> tuple[float, float]:
    """95 %, by drawing settings with replacement."""
    by_setting: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_setting[answer.case.label["setting"]].append(answer)
    groups, generator = list(by_setting.values()), np.random.default_rng(seed)
    if what == "calibration error":
        drawn = generator.integers(len(groups), size=(DRAWS // 5, len(groups)))
        known = [sureness(group) for group in groups]
        both = [[np.concatenate([known[i][k] for i in row]) for k in range(2)] for row in drawn]
        values = np.array([_calibration_error(*pair) for pair in both])
    else:
        drawn = generator.integers(len(groups), size=(DRAWS, len(groups)))
        told = [[v for a in group if (v := counts(a, what)) is not None] for group in groups]
        hits, of = (np.array(list(map(f, told)), float) for f in (sum, len))
        with np.errstate(invalid="ignore"):
            values = hits[drawn].sum(axis=1) / of[drawn].sum(axis=1)
    if np.isnan(values).all():
        return float("nan"), float("nan")
    low, high = np.nanquantile(values, (0.025, 0.975))
    return float(low), float(high)


# -- simpler ways, for comparison ----------------------------------------------------------------


def first_rule(case: Case) -> str:
    """The first rule that fires names the cause that it expects most."""
    for id in sorted(case.fired):
        rule = all_rules()[id]
        expected = {c: p for c, p in rule.expected.items() if c != HEALTHY}
        if expected and not rule.sign:
            return max(expected, key=lambda cause: expected[cause])
    return HEALTHY


def gymnasium_solver(view: RunView) -> str:
    """Its alerts' thresholds, in its order, each as the cause that it speaks of."""
    kl, clip = view["train/metrics/kl_divergence"], view["train/metrics/clip_fraction"]
    entropy = view["train/metrics/entropy"]
    values = view["train/metrics/explained_variance"]
    if median(kl) > 0.05:
        return "lr-too-high"
    if median(kl) < 1e-3 and median(clip) < 0.05:
        return "lr-too-low"
    if median(clip) > 0.5:
        return "lr-too-high"
    if median(entropy, 0.8) < 0.25 * median(entropy, 0.0, 0.1):
        return "entropy-collapse"
    if median(values, 0.5) <= 0.0 or median(values, 0.8) < 0.5:
        return "critic-too-weak"
    return HEALTHY


def by_hand(
    cases: Sequence[Case], runs: Sequence[Stored], say: Callable[[Case, RunView], str]
) -> list[Answer]:
    return [
        Answer(case, (say(case, run.view), HEALTHY), 1.0)
        for case, run in zip(cases, runs, strict=True)
    ]


# -- the table -----------------------------------------------------------------------------------


def write_score(split: str) -> str:
    """The split's table, written to results/faults/."""
    runs = [run for run in admitted(store.load()) if run.label["split"] == split]
    text = table(runs, split)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{split}.md").write_text(text)
    if split == "test":
        told = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        )
        headline = next(line for line in text.splitlines() if line.startswith("| without |"))
        with (RESULTS / "scorings.md").open("a") as log:
            log.write(f"- {datetime.date.today()}, {told.stdout.strip()}: {headline}\n")
    return text


def table(runs: Sequence[Stored], split: str) -> str:
    """Runs of SB3 count as their users log them, with the numbers of their saved models where these
    are kept; once more with what the Recorder adds, and without the models."""
    with_recorder, runs = recorded(runs), list(map(without_recorder, runs))
    # "called faulty": of healthy runs, alarms but undertrained; "cannot tell": of all
    figures = [*WANTED[True], "called faulty", "cannot tell"]
    lines = [
        f"# Score on the {split} split",
        "",
        "| config | runs | way | " + " | ".join(f"{what}, %" for what in figures) + " |",
        "|---|--:|---|" + "---|" * len(figures),
    ]
    missed: list[str] = []
    for with_config in (False, True):
        said = answers(runs, with_config)
        found = [a.case for a in said]
        ways = {
            "dressage": said,
            "first rule that fires": by_hand(found, runs, lambda case, view: first_rule(case)),
            "gymnasium-solver's thresholds": by_hand(
                found, runs, lambda case, view: gymnasium_solver(view)
            ),
        }
        word = "with" if with_config else "without"
        parts = [
            (f"{word}, {what}", [a for a in said if belongs(a.case)])
            for what, belongs in PARTS.items()
        ]
        parts.append((f"{word}, of what SB3 logs", answers(map(as_sb3, runs), with_config)))
        if with_recorder:
            plain = answers(map(without_recorder, with_recorder), with_config)
            parts.append(
                (f"{word}, runs of sb3 with the Recorder", answers(with_recorder, with_config))
            )
            parts.append((f"{word}, the same without what it adds", plain))
        if with_model := [run for run in runs if run.view.saved]:
            plain = answers(map(without_model, with_model), with_config)
            parts.append(
                (f"{word}, runs of sb3 with their saved model", answers(with_model, with_config))
            )
            parts.append((f"{word}, the same without the model", plain))
        rows = [*((word, *item) for item in ways.items())]
        for what, way, told in [*rows, *((what, "dressage", told) for what, told in parts if told)]:
            cells = [_cell(told, figure) for figure in figures]
            lines.append(f"| {what} | {len(told)} | {way} | " + " | ".join(cells) + " |")
        wanted = [*(f"{100 * value:g}" for value in WANTED[with_config].values()), "", ""]
        lines.append(f"| {word} | | wanted | " + " | ".join(wanted) + " |")
        if not with_config:
            missed = by_cause(ways["dressage"])
    return "\n".join([*lines, "", "Without the config, by cause:", "", *missed]) + "\n"


def _cell(answers: Sequence[Answer], what: str) -> str:
    low, high = interval(answers, what)
    return f"{100 * share(answers, what):.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def by_cause(answers: Sequence[Answer]) -> list[str]:
    """What was right, and what was said instead, cause by cause."""
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[answer.case.truth].append(answer)
    lines = ["| cause | runs | top 1 | top 3 | said instead |", "|---|--:|--:|--:|---|"]
    for cause, found in sorted(
        groups.items(), key=lambda item: -np.mean([a.right() for a in item[1]])
    ):
        wrong: dict[str, int] = defaultdict(int)
        for answer in found:
            if not answer.right():
                wrong[answer.ranked[0]] += 1
        most = sorted(wrong.items(), key=lambda item: -item[1])[:3]
        lines.append(
            f"| {cause} | {len(found)} | {np.mean([a.right() for a in found]):.0%} | "
            f"{np.mean([a.right(3) for a in found]):.0%} | "
            + ", ".join(f"{name} {count}" for name, count in most)
            + " |"
        )
    return lines

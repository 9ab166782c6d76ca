"""The report of an optimization: its verdict, what was diagnosed, every change that was tried and
what became of it, and the settings before and after.

Settings are shown as the run's own library spells them: the caller says how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dressage.prove.measures import final_return
from dressage.prove.optimize import FIRST_SEEDS, Candidate, Optimization, Round, Trial
from dressage.prove.settings import EFFECTS
from dressage.prove.spaces import Patch, words
from dressage.prove.tune_report import fresh_curves
from dressage.prove.verify import Goal, Verification
from dressage.reporting import Report
from dressage.reporting.document import (
    Block,
    Code,
    Document,
    Heading,
    Paragraph,
    Section,
    Strong,
    Table,
    Tile,
    Tiles,
    Words,
)
from dressage.reporting.numbers import (
    UNKNOWN,
    duration,
    interval,
    number,
    signed,
    value_text,
    whole,
)
from dressage.runs.view import RunView

CAUSES = 5  # that are shown of a diagnosis
MEASURES: dict[Goal, str] = {
    "frames": "env steps to the threshold", "return": "final return", "wall": "seconds",
}  # fmt: skip
Spell = Callable[[Mapping[str, Any]], dict[str, Any]]  # settings -> a config of the run's library
Changes = dict[str, tuple[Any, Any]]  # by setting: before and after; None where it is not set


@dataclass(kw_only=True)
class OptimizeReport(Report):
    optimization: Optimization
    config: Path  # the settings it ended at
    changes: Changes  # that are proven

    def to_json(self) -> dict[str, Any]:
        beside = {"config": str(self.config), "command": self.command, "changes": self.changes}
        return self.optimization.to_json() | beside

    @property
    def command(self) -> str | None:
        """None where another library trains it."""
        ours = self.optimization.library == "dressage"
        return f"dressage train --config {self.config}" if ours else None

    @property
    def run_it(self) -> str:
        return f"run it: {self.command}" if self.command else f"the settings: {self.config}"


def optimize_report(
    made: Optimization,
    run: RunView,
    settings: Mapping[str, Any],
    spell: Spell,
    sides: Mapping[str, list[RunView]],
    config: Path,
) -> OptimizeReport:
    """`settings`: the run's; `sides`: seeds of proofs, by the name of their curve."""
    curve = fresh_curves("Learning curves on fresh seeds", sides)
    changes = changed(settings, made.patch, spell)
    found = made.best.verification if made.best else None
    verdict: list[Block] = [_verdict(made, found, changes), _figures(made, sides)]
    document = Document(
        title=f"Optimizing {run.algo} on {run.env}",
        run_id=run.id,
        status=found.verdict if found else "not proven",
        sections=[
            Section("summary", "Verdict", [*verdict, *([curve] if curve else [])]),
            Section("bottlenecks", "What was diagnosed", _diagnosed(made)),
            Section("metrics", "What was tried", _tried(made, settings, spell)),
            Section("differences", "Settings", _settings(changes)),
            Section("run", "Run it", _run_it(made, config)),
        ],
        curve=curve,
    )
    return OptimizeReport(document=document, optimization=made, config=config, changes=changes)


def changed(settings: Mapping[str, Any], patch: Patch, spell: Spell) -> Changes:
    before, after = spell(settings), spell({**settings, **patch})
    pairs = {name: (before.get(name), after.get(name)) for name in {**before, **after}}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _said(changes: Changes) -> str:
    return words({name: after for name, (_, after) in changes.items()}) if changes else "no change"


def _verdict(made: Optimization, found: Verification | None, changes: Changes) -> Paragraph:
    verdict: tuple[str, ...] = (Strong("Nothing was proven to help."),)
    if made.proven:
        verdict = (Strong("Proven:"), " ", Code(_said(changes)), ".")
    proof = f" {found.says[0].upper()}{found.says[1:]}." if found else ""
    return Paragraph((*verdict, proof, f" Why it ended: {made.ended}."))


def _figures(made: Optimization, sides: Mapping[str, list[RunView]]) -> Tiles:
    tiles = [
        Tile("runs", whole(made.runs), "seeds of earlier calls included"),
        Tile("env steps", whole(made.env_steps), "of all these runs"),
        Tile("time", duration(made.seconds), "of this call"),
    ]
    for name, views in sides.items():
        mean = sum(map(final_return, views)) / len(views)
        fresh = f"mean of {len(views)} fresh seeds"
        tiles.append(Tile(f"final return, {name}", number(mean), fresh))
    return Tiles(tiles)


def _diagnosed(made: Optimization) -> list[Block]:
    blocks: list[Block] = []
    proven = False
    for place, one in enumerate(made.rounds, 1):
        whose = "the settings proven so far" if proven else "the run's settings"
        verdict = Strong(one.diagnosed.verdict.replace("_", " "))
        asked = len(one.diagnosed.asked)
        found = f"; {asked} change{'s' * (asked != 1)} to try." if asked else "; nothing to try."
        said = f"Round {place}, {FIRST_SEEDS} seeds of {whose}: "
        blocks.append(Paragraph((said, verdict, found)))
        rows: list[list[Words]] = [
            [(Code(cause.id),), f"{cause.probability:.0%}", " ".join(cause.evidence[:1])]
            for cause in one.diagnosed.causes[:CAUSES]
        ]
        if rows:
            blocks.append(Table(["cause", "probability", "what speaks for it"], rows, numeric=[1]))
        proven = proven or one.proven
    return blocks or [Paragraph("It ended before anything was diagnosed.")]


def _tried(made: Optimization, settings: Mapping[str, Any], spell: Spell) -> list[Block]:
    blocks: list[Block] = []
    current = dict(settings)
    measure = MEASURES[made.goal]
    header = ["outcome", "seeds", measure, "without it", "effect", "answers", "change"]
    for place, one in enumerate(made.rounds, 1):
        if not one.diagnosed.asked:
            continue
        rows: list[list[Words]] = [
            [*figures, ", ".join(candidate.causes), _said(changed(current, candidate.patch, spell))]
            for candidate, figures in _outcomes(one, made.goal)
        ]
        if len(made.rounds) > 1:
            blocks.append(Heading(f"Round {place}"))
        blocks.append(Table(header, rows, numeric=[1, 2, 3, 4], narrow=[0, 1, 4, 6]))
        if one.proven and one.winner is not None:
            current |= one.winner.patch
    if not blocks:
        return [Paragraph("Nothing.")]
    said = (
        "Changes race on the same seeds as the settings without them: the better half is kept and "
        "gets twice the seeds, until one is left. Effects of as many seeds can be compared. A few "
        "seeds choose, they prove nothing: the verdict is over fresh seeds."
    )
    return [*blocks, Paragraph(said, quiet=True)]


def _outcomes(one: Round, goal: Goal) -> list[tuple[Candidate, list[str]]]:
    """The proof, the race from its end to its beginning, and what it did not come to; each with
    its outcome, seeds, score, the score without it, and effect."""
    found: list[tuple[Candidate, list[str]]] = []
    if one.winner and one.verification:
        found.append((one.winner, _proof(one.verification, goal)))
    elif one.winner and one.confirming:
        fresh = f"{len(one.confirming)} fresh"
        found.append((one.winner, ["proof unfinished", fresh, "", "", ""]))
    sign = 1 if goal == "return" else -1
    for trial in sorted(one.trials, key=lambda t: (-t.seeds, -t.score)):
        if trial.candidate is None:
            continue
        without = next(t for t in one.trials if t.candidate is None and t.seeds == trial.seeds)
        scores = [number(sign * score) for score in (trial.score, without.score)]
        effect = _effect(trial.score, without.score, goal)
        found.append((trial.candidate, [_outcome(one, trial), str(trial.seeds), *scores, effect]))
    known = [candidate for candidate, _ in found]
    left = [candidate for candidate in one.diagnosed.asked if candidate not in known]
    return found + [
        (
            candidate,
            [
                "could not be trained" if candidate in one.failed else "not compared yet",
                *("",) * 4,
            ],
        )
        for candidate in left
    ]


def _proof(found: Verification, goal: Goal) -> list[str]:
    effect = ""
    if goal == "return":
        effect = f"{signed(found.final.value)} {interval(found.final.low, found.final.high)}"
    elif goal == "frames":
        ratio, low, high = found.steps_ratio
        effect = f"{ratio:.2f} times [{low:.2f}, {high:.2f}]"
    return [found.verdict, f"{found.last.seeds} fresh", "", "", effect]


def _effect(score: float, without: float, goal: Goal) -> str:
    if goal == "return":
        return signed(score - without)
    return f"{score / without:.2f} times" if without else UNKNOWN


def _outcome(one: Round, trial: Trial) -> str:
    further = [t.candidate for t in one.trials if t.seeds > trial.seeds]
    if trial.candidate in further:
        return "kept"
    if trial.candidate == one.winner:
        return "won the race"
    if trial.candidate in one.dear:
        return "too long to prove in the time left"
    if further or one.winner is not None:
        return "dropped"
    rivals = sum(t.candidate is not None and t.seeds == trial.seeds for t in one.trials)
    return "dropped: no better" if rivals == 1 else "race unfinished"


def _settings(changes: Changes) -> list[Block]:
    if not changes:
        return [Paragraph("As they were: no change is proven to help.")]
    rows: list[list[Words]] = [
        [
            (Code(name),),
            (Code(value_text(before)),),
            (Code(value_text(after)),),
            EFFECTS.get(name, ("", ""))[1],
        ]
        for name, (before, after) in changes.items()
    ]
    return [Table(["setting", "before", "after", "more of it means"], rows)]


def _run_it(made: Optimization, config: Path) -> list[Block]:
    said = (
        "The proven settings" if made.proven else "No change is proven, so the run's own settings"
    )
    if made.library == "dressage":
        return [Paragraph((f"{said}: ", Code(f"dressage train --config {config}")))]
    return [Paragraph((f"{said}, as {made.library} spells them: ", Code(str(config))))]

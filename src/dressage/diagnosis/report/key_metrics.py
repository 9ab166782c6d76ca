"""What the analyses say, for section 2."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dressage.diagnosis.analyses import Analyses
from dressage.diagnosis.analyses.gradients import Gradients
from dressage.diagnosis.analyses.losses import Losses
from dressage.diagnosis.analyses.phases import Phase
from dressage.diagnosis.analyses.reach import Reach
from dressage.diagnosis.analyses.schedule import RateSchedule
from dressage.diagnosis.analyses.throughput import Throughput
from dressage.diagnosis.look import median, returns
from dressage.reporting.document import Block, Code, Heading, Paragraph, Table, Words
from dressage.reporting.numbers import clean, duration, number, percent, signed, whole
from dressage.runs.view import RunView

MOST_ROWS = 16


def phase_marks(made: Analyses) -> list[tuple[float, str]]:
    """Where one phase turns into the next, for the learning curve."""
    return [(phase.begin, f"{phase.kind} from here") for phase in made.phases[1:]]


def analysis_blocks(made: Analyses) -> list[Block]:
    return [
        *_phases(made.phases),
        Heading("Env steps to the threshold"),
        Paragraph(reach_words(made.reach)),
        *_losses(made.losses),
        *_gradients(made.gradients),
        *_schedule(made.schedule),
        *_throughput(made.throughput),
    ]


def seed_blocks(views: Sequence[RunView], made: Sequence[Analyses]) -> list[Block]:
    """The same of several runs: a row each."""
    rows: list[list[Words]] = []
    for view, one in zip(views, made, strict=True):
        first = one.reach.first
        rows.append(
            [
                clean(view.id, 60),
                number(median(returns(view), 0.8, 1.0)),
                UNREACHED if first is None else whole(first),
                whole(one.throughput.median),
                phase_words(one.phases),
            ]
        )
    header = ("Run", "Return at the end", "Env steps to threshold", "Env steps/s", "Phases")
    return [
        Heading("Run by run"),
        Table(header, rows, numeric=(1, 2, 3)),
        Paragraph(reach_words(made[0].reach, alone=False)),
    ]


UNREACHED = "not reached"


def phase_words(phases: Sequence[Phase]) -> str:
    """flat to 9,000, rising to 18,000, plateau"""
    if not phases:
        return "too few values"
    *before, last = phases
    return ", ".join([*(f"{phase.kind} to {whole(phase.end)}" for phase in before), last.kind])


def _phases(phases: Sequence[Phase]) -> list[Block]:
    if not phases:
        return []
    rows: list[list[Words]] = [
        [
            phase.kind,
            f"{whole(phase.begin)} to {whole(phase.end)}",
            f"{number(phase.first)} to {number(phase.last)}",
            signed(phase.gain),
        ]
        for phase in phases
    ]
    table = Table(("Phase", "Env steps", "Return", "Gained"), rows, numeric=(3,))
    return [Heading("Phases of the learning curve"), table]


def reach_words(reach: Reach, alone: bool = True) -> str:
    """Whether and when the threshold was reached, and what the reference did."""
    if not reach.comparable:
        return (
            "The logged reward is not the environment's own (ENV010): it has no threshold or "
            "reference to be compared with."
        )
    parts = []
    if reach.target is None:
        parts.append("The task names no threshold that is known here.")
    elif alone:
        named = f"{number(reach.target)} ({reach.target_source})"
        if reach.first is None:
            best = "" if reach.best is None else f"; the best was {number(reach.best)}"
            steps = whole(reach.env_steps)
            parts.append(f"{named} was not reached within {steps} env steps{best}.")
        else:
            by = "an evaluation" if reach.first == reach.evaluation else "the training mean"
            parts.append(f"{named} was reached at {whole(reach.first)} env steps, by {by}.")
    if (known := reach.reference) is not None:
        solved = "" if known.reached is None else f", {known.reached} of them at or above that"
        parts.append(
            f"Reference: {known.seeds} seeds{solved}, interquartile mean {number(known.iqm)}, "
            f"worst {number(known.worst)}, within {whole(known.env_steps)} env steps "
            f"({known.source})."
        )
        if alone and reach.first is not None and known.env_steps > 0:
            ratio = reach.first / known.env_steps
            parts.append(f"This run took {number(ratio, 2)} times the reference's whole budget.")
    else:
        parts.append("There is no reference for this environment and algorithm.")
    return " ".join(parts)


def _losses(losses: Losses) -> list[Block]:
    if not losses.components:
        return []
    rows: list[list[Words]] = [
        [Code(c.name), number(c.first), number(c.last), number(c.weight), number(c.size)]
        for c in losses.components
    ]
    header = ("Loss", "First fifth", "Last fifth", "Weight", "Weighted size")
    blocks: list[Block] = [
        Heading("Losses, and their share of the gradient"),
        Table(header, rows, numeric=(1, 2, 3, 4)),
    ]
    signal = losses.signal
    if signal.shares:
        parts = [
            f"{name} {percent(share)} (first fifth {percent(signal.first.get(name, math.nan))}, "
            f"last {percent(signal.last.get(name, math.nan))})"
            for name, share in signal.shares.items()
        ]
        says = f"Share of the signal, by {signal.source}: {'; '.join(parts)}."
        if signal.source == "weighted losses":
            says += " A loss's size is a poor measure of its gradient; the log has no norms."
        blocks.append(Paragraph(says))
    return blocks


def _gradients(gradients: Gradients) -> list[Block]:
    if not gradients.norms:
        return []
    rows: list[list[Words]] = [
        [
            Code(clean(n.network, 60)),
            n.phase,
            *(number(value) for value in (n.low, n.median, n.high, n.largest)),
            percent(n.clipped),
        ]
        for n in gradients.norms[:MOST_ROWS]
    ]
    header = ("Network", "Phase", "10 %", "Median", "90 %", "Largest", "Clipped")
    bound = "" if gradients.bound is None else f" to a norm of {number(gradients.bound)}"
    says = f"Clipped{bound} in {percent(gradients.clipped)} of the updates."
    if not math.isfinite(gradients.clipped):
        says = "How often gradients were clipped is not known."
    if gradients.not_finite:
        says += f" {gradients.not_finite} logged norms are not finite."
    return [
        Heading("Gradient norms by phase, before clipping"),
        Table(header, rows, numeric=(2, 3, 4, 5, 6)),
        Paragraph(says),
    ]


def _schedule(schedule: RateSchedule) -> list[Block]:
    if not schedule.parts:
        return []
    rows: list[list[Words]] = [
        [
            f"{whole(part.begin)} to {whole(part.end)}",
            number(part.first)
            if part.first == part.last
            else f"{number(part.first)} to {number(part.last)}",
            signed(part.gained) if math.isfinite(part.gained) else "",
            percent(part.share) if math.isfinite(part.share) else "",
        ]
        for part in schedule.parts
    ]
    header = ["Env steps", "Learning rate", "Return gained", "Share of the gain"]
    while not any(row[-1] for row in rows):  # a run that gained nothing has no shares of it
        rows = [row[:-1] for row in rows]
        header.pop()
    blocks: list[Block] = [
        Heading(f"Learning rate, {schedule.source}: {schedule.shape}"),
        Table(tuple(header), rows, numeric=tuple(range(2, len(header)))),
    ]
    if schedule.over_at is not None:
        blocks.append(
            Paragraph(
                f"From {whole(schedule.over_at)} env steps on the rate was as good as zero: the "
                f"last {percent(schedule.left)} of the run taught nothing."
            )
        )
    return blocks


def _throughput(speed: Throughput) -> list[Block]:
    if not math.isfinite(speed.median):
        return []
    says = f"{whole(speed.median)} env steps a second in the median ({speed.source})"
    if math.isfinite(speed.first) and math.isfinite(speed.last):
        change = percent(abs(speed.change))
        how = "as fast at the end as at the beginning"
        if abs(speed.change) >= 0.02:
            how = f"{change} {'faster' if speed.change > 0 else 'slower'} at the end than at first"
        says += f", {how}"
    if math.isfinite(speed.wall_seconds):
        says += f"; {duration(speed.wall_seconds)} in all"
    spent = [f"{name} {percent(share)}" for name, share in list(speed.time.items())[:5]]
    if spent:
        says += f". Of the time went into {', '.join(spent)}"
    return [Heading("Throughput"), Paragraph(f"{says}.")]

"""Runs the probes one after another; all together take less than half a minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from dressage.diagnosis.probes.about import (
    ACTIONS,
    ENVIRONMENTS,
    NOISE,
    OVERFIT,
    RANDOM,
    SAME_SEED,
    STATISTICS,
    About,
)
from dressage.diagnosis.probes.action_effect import action_effect
from dressage.diagnosis.probes.gradient_noise import gradient_noise
from dressage.diagnosis.probes.overfit import overfit
from dressage.diagnosis.probes.player import Played, play
from dressage.diagnosis.probes.probe_environments import probe_environments
from dressage.diagnosis.probes.random_return import random_return
from dressage.diagnosis.probes.result import ProbeResult
from dressage.diagnosis.probes.same_seed import same_seed
from dressage.diagnosis.probes.statistics import statistics
from dressage.diagnosis.probes.subject import Deadline, Subject
from dressage.errors import DressageError

ALL_SECONDS = 28.0
Probe = Callable[[Subject, Deadline], ProbeResult]


def run_probes(
    subject: Subject, say: Callable[[str], None] = lambda line: None, seconds: float = ALL_SECONDS
) -> list[ProbeResult]:
    """Every probe that can be run on this subject; `say` is told what goes on."""
    whole = Deadline.within(seconds, patience=1.0)
    played: list[Played] = []  # the random episodes, which two of the probes look at

    def random(subject: Subject, deadline: Deadline) -> ProbeResult:
        played.append(play(subject.recipe, deadline))
        return random_return(subject.view, played[0])

    def numbers(subject: Subject, deadline: Deadline) -> ProbeResult:
        if not played:
            played.append(play(subject.recipe, deadline))
        return statistics(subject, played[0])

    probes: dict[About, Probe] = {
        RANDOM: random,
        ACTIONS: lambda subject, deadline: action_effect(subject.recipe, deadline),
        STATISTICS: numbers,
        SAME_SEED: same_seed,
        ENVIRONMENTS: probe_environments,
        OVERFIT: overfit,
        NOISE: gradient_noise,
    }
    results = []
    for place, (about, probe) in enumerate(probes.items(), 1):
        say(f"probe {place} of {len(probes)}: {about.name}: {about.asks}")
        results.append(_run(about, probe, subject, whole))
    return results


def _run(about: About, probe: Probe, subject: Subject, whole: Deadline) -> ProbeResult:
    """One probe; what it cannot do is said, and stops none of the others."""
    if about.trains and subject.practise is None:
        return ProbeResult(about.name, subject.why_not, state="not run")
    if whole.over():
        return ProbeResult(about.name, "No time was left for it.", state="not run")
    deadline, began = whole.part(about.seconds), time.perf_counter()
    try:
        result = probe(subject, deadline)
    except (DressageError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        said = str(error).splitlines()[0] if isinstance(error, DressageError) else repr(error)
        result = ProbeResult(about.name, f"It could not be run: {said}", state="not run")
    if deadline.reached and result.state == "done":
        result = replace(result, state="cut short")
    return replace(result, seconds=round(time.perf_counter() - began, 2))

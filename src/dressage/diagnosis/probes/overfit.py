"""One batch, learned from again and again: the value network must come to fit it.

The targets are made up: one plus a smooth function of the observation, so that every healthy
network can fit them, whatever the environment pays. In a rollout they take the place of the
returns, and advantages are zero; in a replay memory they are the rewards, and gamma is zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dressage.core.steps import Tree
from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.probes.about import OVERFIT, STEP_SIZE, VALUE_CODE
from dressage.diagnosis.probes.practice import Practice
from dressage.diagnosis.probes.result import ProbeResult, each
from dressage.diagnosis.probes.settings import known, short, usual_optimizer
from dressage.diagnosis.probes.subject import Deadline, Subject

FALL = 10.0  # by which the squared error must fall (Jones 2021; Karpathy 2019: "overfit one batch")
MOST_UPDATES = 5000
ENOUGH_UPDATES = 1000  # before a network that has not fitted counts as one that cannot
STILL = 1.05  # a fall that is none: such a network is known sooner
SLOW = 3  # times the updates that the usual optimizer takes, after which the run's own is too slow
MOST_ROWS = 64
FIRST_SECONDS, AGAIN_SECONDS = 2.2, 1.8
# Errors by the names that updates report, with the power that makes a square of them.
ERRORS = {"train/loss/value": 1.0, "train/metrics/td_error_mean": 2.0}


def overfit(subject: Subject, deadline: Deadline) -> ProbeResult:
    first = _fall(subject, {}, deadline.part(FIRST_SECONDS))
    if first is None:
        return ProbeResult(
            OVERFIT.name, "The updates report no error of values: nothing to fit.", state="not run"
        )
    fall, updates = first
    numbers: dict[str, float | str] = {"fall": fall, "updates": updates}
    if fall >= FALL:
        return ProbeResult(
            OVERFIT.name,
            f"The value error on one batch fell by a factor of {fall:.3g} in {updates} updates: "
            "network, loss and optimizer can fit.",
            numbers,
            each(0.3, *STEP_SIZE, *VALUE_CODE, "features-frozen", "network-too-small"),
        )
    again = _fall(subject, usual_optimizer(subject), deadline.part(AGAIN_SECONDS))
    usual_fall, usual_updates = again or (0.0, 0)
    numbers |= {"usual_fall": usual_fall, "usual_updates": usual_updates}
    said = f"The value error on one batch fell by a factor of {fall:.2g} in {updates} updates"
    enough = ENOUGH_UPDATES if usual_fall > STILL else ENOUGH_UPDATES // 10
    if usual_fall < FALL and max(updates, usual_updates) < enough:
        deadline.reached = True
        return ProbeResult(OVERFIT.name, f"{said}: too few in the time to tell.", numbers)
    if usual_fall < FALL:
        says = f"{said}, with the usual optimizer and rate by {usual_fall:.2g}: network or loss \
cannot fit."
        factors = each(8.0, *VALUE_CODE, "features-frozen") | each(3.0, "network-too-small")
        return ProbeResult(OVERFIT.name, says, numbers, factors | {HEALTHY: 0.2})
    said += f", with the usual optimizer and rate by {usual_fall:.3g} in {usual_updates}"
    if updates < SLOW * usual_updates:
        says = f"{said}: network and loss can fit."
        return ProbeResult(OVERFIT.name, says, numbers, each(0.4, *VALUE_CODE, "features-frozen"))
    return ProbeResult(
        OVERFIT.name,
        f"{said}: the size of the steps is at fault.",
        numbers,
        each(4.0, *STEP_SIZE, "lr-too-high"),
    )


def _fall(
    subject: Subject, settings: Mapping[str, Any], deadline: Deadline
) -> tuple[float, int] | None:
    """By which factor the squared error fell, and in how many updates; None where it is not told.

    Ends as soon as it has fallen enough.
    """
    assert subject.practise is not None
    changed = {**short(subject), "n_envs": 1}
    batch = subject.setting("batch_size")
    rows = min(int(batch), MOST_ROWS) if batch else MOST_ROWS
    if subject.setting("recurrent", "none") != "none":
        rows = max(rows, 2 * int(subject.setting("sequence_length", 1)))
    sizes = {"n_steps": rows, "batch_size": rows, "learning_starts": 0}
    changed |= known(subject, {**sizes, "normalize_reward": False, "n_step": 1})
    if "buffer_size" in changed:
        changed |= known(subject, {"gamma": 0.0, "train_freq": 1})
    with subject.practise(subject.recipe, {**changed, **settings}, "auto", False) as practice:
        _fill(practice, rows)
        before, first, best = practice.learner.updates, 0.0, np.inf
        while (done := practice.learner.updates - before) < MOST_UPDATES and not deadline.over():
            made = practice.update()
            error = _error(made)
            if error is None:
                return None
            first = first or error
            best = min(best, error)
            if first >= FALL * best:
                break
            if practice.learner.updates - before == done:  # nothing is updated
                return None
        return first / max(best, 1e-12), practice.learner.updates - before


def _fill(practice: Practice, rows: int) -> None:
    """One batch of the environment's observations, with made-up targets."""
    steps = practice.collect(rows)
    target = targets(steps.obs).astype(np.float32)  # [T, 1]
    if practice.replays:
        practice.add(steps._replace(reward=target))
        return
    steps, _ = practice.algo.prepare(practice.learner, steps, practice.cfg_now)
    made = {"returns": target, "advantage": np.zeros_like(target)}
    extras = steps.extras | {key: made[key] for key in made if key in steps.extras}
    practice.memory.add(steps._replace(extras=extras))


def targets(obs: Tree) -> NDArray[np.float64]:
    """`1 + sin` of a fixed random mixture of the standardised observation: `[T, N, …] -> [T, N]`"""
    parts = list(obs.values()) if isinstance(obs, dict) else [obs]
    flat = np.concatenate([x.reshape(*x.shape[:2], -1) for x in parts], axis=-1).astype(np.float64)
    std = flat.std(axis=(0, 1))
    flat = (flat - flat.mean(axis=(0, 1))) / np.where(std > 1e-6, std, 1.0)
    direction = np.random.default_rng(0).normal(size=flat.shape[-1])
    varying = max(int((std > 1e-6).sum()), 1)
    return np.asarray(1.0 + np.sin(flat @ direction / np.sqrt(varying)))


def _error(made: list[Any]) -> float | None:
    """The squared error of the last update, or its like."""
    for one in reversed(made):
        for name, power in ERRORS.items():
            if name in one:
                return math.pow(float(one[name]), power)
    return None

"""The same seed twice: the environment with the same actions, and the run's training."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.probes.about import SAME_SEED
from dressage.diagnosis.probes.player import Player, Seen
from dressage.diagnosis.probes.result import ProbeResult
from dressage.diagnosis.probes.settings import short
from dressage.diagnosis.probes.subject import Deadline, Subject
from dressage.envs.make import EnvRecipe
from dressage.envs.wrappers import layers

SEED, STEPS, EPISODES_BEFORE = 11, 200, 3
ITERATIONS = 4  # of training


def same_seed(subject: Subject, deadline: Deadline) -> ProbeResult:
    numbers: dict[str, float | str] = {}
    says, factors = _environment(subject.recipe, deadline.part(1.5), numbers)
    if subject.practise is not None:
        parted = _training(subject, deadline, numbers)
        if parted is None:
            says += f" Training twice for {numbers['iterations']} iterations: bit for bit the same."
            factors.setdefault("single-seed-claim", 0.8)
        else:
            says += f" Training twice with the same seed: {parted}."
            factors["single-seed-claim"] = 3.0
    return ProbeResult(SAME_SEED.name, says, numbers, factors)


def _environment(
    recipe: EnvRecipe, deadline: Deadline, numbers: dict[str, float | str]
) -> tuple[str, dict[str, float]]:
    with Player(recipe) as one, Player(recipe) as two:
        a, b = _trace(one, STEPS, deadline), _trace(two, STEPS, deadline)
        parted = _where(a, b)
        numbers |= {"env_steps": len(a), "instances_part_at": -1 if parted is None else parted}
        if parted is not None:
            says = (
                "Two instances with the same seed and actions part "
                + _after(parted)
                + ": no episode can be played again."
            )
            return says, {"single-seed-claim": 2.0}
        rng = np.random.default_rng(5)
        for episode in range(EPISODES_BEFORE):  # it now has a past
            one.reset(SEED + 1 + episode)
            for _ in range(STEPS):
                if one.step(one.random_action(rng)).over or deadline.over():
                    break
        for layer in layers(one.env):  # such as lives, which a reset would go on with
            if hasattr(type(layer), "force_reset"):
                layer.force_reset()
        again = _trace(one, len(a) - 1, deadline)
        parted = _where(a, again)
        numbers["used_instance_parts_at"] = -1 if parted is None else parted
        if parted is not None:
            says = (
                "An instance that has played before parts from a new one with the same seed and "
                f"actions {_after(parted)}: something outlives reset()."
            )
            return says, {"env-not-reset": 30.0, HEALTHY: 0.3}
    return "The environment plays the same episode again.", {"env-not-reset": 0.1}


def _after(steps: int) -> str:
    return "in the first observation" if steps == 0 else f"after {steps} env steps"


def _trace(player: Player, steps: int, deadline: Deadline) -> list[Seen]:
    """The first observation and up to `steps` steps."""
    rng = np.random.default_rng(SEED)
    seen = [Seen(player.reset(SEED), 0.0, False, False)]
    for _ in range(steps):
        if seen[-1].over or deadline.over():
            break
        seen.append(player.step(player.random_action(rng)))
    return seen


def _where(a: list[Seen], b: list[Seen]) -> int | None:
    """The step at which two traces part; of the shorter one, if time ran out on it."""
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if not x.same(y):
            return place
    return None


def _training(subject: Subject, deadline: Deadline, numbers: dict[str, float | str]) -> str | None:
    """Where two trainings with one seed part, in words; None where they do not."""
    assert subject.practise is not None
    settings = short(subject)  # an iteration cannot be cut short
    with (
        subject.practise(subject.recipe, settings, "auto", False) as one,
        subject.practise(subject.recipe, settings, "auto", False) as two,
    ):
        for i in range(ITERATIONS):
            numbers["iterations"] = i + 1
            rounds = max(1, 64 // one.rollout_length) if one.replays else 1
            (a, _), (b, _) = (each.iterate(i / ITERATIONS, rounds) for each in (one, two))
            for what in ("obs", "action", "reward"):
                if not _equal(getattr(a, what), getattr(b, what)):
                    return f"they part in iteration {i + 1}, in the {what}"
            first, second = one.learner.weights(), two.learner.weights()
            if any(not np.array_equal(first[k], second[k], equal_nan=True) for k in first):
                return f"they part in iteration {i + 1}, in the weights"
            if deadline.over():
                break
    return None


def _equal(a: object, b: object) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return all(_equal(a[key], b[key]) for key in a)
    return bool(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True))

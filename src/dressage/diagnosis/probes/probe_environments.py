"""The run's algorithm on five environments of one or two steps: which of its parts work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.probes.about import (
    DISCOUNT_CODE,
    ENVIRONMENTS,
    POLICY_CODE,
    SEEING_CODE,
    STEP_SIZE,
    TOGETHER_CODE,
    VALUE_CODE,
)
from dressage.diagnosis.probes.practice import Metrics, Practice
from dressage.diagnosis.probes.result import ProbeResult, each
from dressage.diagnosis.probes.settings import known, plain, usual_optimizer
from dressage.diagnosis.probes.subject import Deadline, Subject
from dressage.envs import probes as envs
from dressage.envs.actions import ActionCodec
from dressage.envs.make import EnvRecipe

GAMMA = 0.5  # in place of the run's, so that a missing discount is seen
MOST_UPDATES = 4000
SLOW = 3  # times the updates that the usual optimizer takes, after which the run's own is too slow
STILL_UPDATES = 60
ENOUGH_UPDATES = 300  # before a part that has not learned counts as one that does not
FIRST_SECONDS, AGAIN_SECONDS = 2.5, 1.5
VALUE_ERROR = 0.2  # of values that are 1 or -1
DISCOUNT_ERROR = 0.12  # half of what a missing discount, or a missing bootstrap, leaves
DISCRETE_SCORE, CONTINUOUS_SCORE = 0.99, 0.2  # mean reward of the best actions; chance has 0
LIKELY_SCORE = 0.4  # of the actions that a stochastic policy draws


@dataclass(frozen=True)
class Part:
    """One environment, and what its failure means."""

    env: type[envs.ProbeEnv]
    tries: str
    causes: tuple[str, ...]
    after: str = ""  # the part without which this one tells nothing


PARTS = (
    Part(envs.ConstantReward, "value loss", VALUE_CODE),
    Part(envs.SeenReward, "gradient to the observation", SEEING_CODE, "value loss"),
    Part(envs.LaterReward, "discounting", DISCOUNT_CODE, "gradient to the observation"),
    Part(envs.BetterAction, "policy", POLICY_CODE),
    Part(envs.BetterActionSeen, "policy and value together", TOGETHER_CODE, "policy"),
)


@dataclass
class Tried:
    """How a part did: `error` of the values (None: it has none), `score` of the policy."""

    works: bool
    updates: int
    error: float | None
    score: float | None
    again: bool = False  # works only with the usual optimizer
    first_error: float | None = None

    @property
    def decided(self) -> bool:
        """Whether a part that does not work had its chance: values that do not move at all tell
        sooner than others."""
        still = None not in (self.error, self.first_error) and self.error == self.first_error
        return self.updates >= (STILL_UPDATES if still else ENOUGH_UPDATES)


@dataclass
class Found:
    tried: dict[str, Tried] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)  # too few updates in the time


def probe_environments(subject: Subject, deadline: Deadline) -> ProbeResult:
    found = Found()
    for part in PARTS:
        needed = found.tried.get(part.after)
        if part.after and (needed is None or not (needed.works or needed.again)):
            found.skipped.append(part.tries)
            continue
        if deadline.over():
            found.undecided.append(part.tries)
            continue
        tried = _try_twice(subject, part, found, deadline)
        if tried is None:  # an algorithm without values, or without a policy
            found.skipped.append(part.tries)
        elif tried.works or tried.again or tried.decided:
            found.tried[part.tries] = tried
        else:
            deadline.reached = True
            found.undecided.append(part.tries)
    return _judged(found)


def _try_twice(subject: Subject, part: Part, found: Found, deadline: Deadline) -> Tried | None:
    """With the run's own settings, then with the usual optimizer: that tells a rate which is too
    small from code that is wrong. Where the run's rate was too small before, it is not waited for.
    """
    slow = any(tried.again for tried in found.tried.values())
    first = None if slow else _try(subject, part, {}, deadline.part(FIRST_SECONDS))
    if not slow and (first is None or first.works):
        return first
    second = _try(subject, part, usual_optimizer(subject), deadline.part(AGAIN_SECONDS))
    if first is None or second is None:
        if second is not None:
            second.works, second.again = False, second.works
        return second
    if second.works:
        first.works = first.updates < SLOW * second.updates
        first.again = not first.works
    elif second.updates > first.updates:
        return second
    return first


def _try(
    subject: Subject, part: Part, settings: Mapping[str, Any], deadline: Deadline
) -> Tried | None:
    """Trains until the part is seen to work, or the time is over."""
    assert subject.practise is not None
    kind, observation = action_kind(subject), "vector"
    changed = {**plain(subject), **settings}
    if part.env.choices == 1:  # normalised, advantages that are all alike are nothing but noise
        changed |= known(subject, {"normalize_advantage": "off"})
    if part.env is envs.LaterReward:
        changed |= known(subject, {"gamma": GAMMA, "n_step": 1})
        if _replays(subject):  # an entropy that values count in would hide the discount
            changed |= known(subject, {"ent_coef": 0.0})
    if subject.setting("algo") in ("q_learning", "sarsa", "ucb"):
        observation = "discrete"
    right = 1
    if part.env.choices > 1:
        right = _unlike_fresh(subject, part, kind, observation, changed)
    recipe = _recipe(part.env, kind, observation, right)
    tried = Tried(False, 0, None, None)
    with subject.practise(recipe, changed, "auto", False) as practice:
        before = practice.learner.updates
        rounds = max(1, 32 // practice.rollout_length) if practice.replays else 1
        while tried.updates < MOST_UPDATES and not deadline.over():
            steps, metrics = practice.iterate(min(tried.updates / MOST_UPDATES, 1.0), rounds)
            tried.updates = practice.learner.updates - before
            if not tried.updates:
                if practice.collector.env_steps > 20_000:
                    break
                continue
            _measure(tried, part, practice, steps, metrics, recipe())
            if tried.error is None and tried.score is None:
                return None
            if tried.works:
                break
    return tried


def action_kind(subject: Subject) -> str:
    """The kind of actions that the run's environment has."""
    env = subject.recipe()
    try:
        codec = ActionCodec.from_space(env.action_space)
    finally:
        env.close()
    return "continuous" if codec.continuous and not codec.categories else "discrete"


def _replays(subject: Subject) -> bool:
    return subject.setting("buffer_size") is not None


def _recipe(env: type[envs.ProbeEnv], kind: str, observation: str, right: int) -> EnvRecipe:
    return EnvRecipe(env, {"action": kind, "observation": observation, "right": right})


def _unlike_fresh(
    subject: Subject, part: Part, kind: str, observation: str, settings: Mapping[str, Any]
) -> int:
    """Which action is to pay, so that the untrained policy is wrong: luck passes no test."""
    assert subject.practise is not None
    recipe = _recipe(part.env, kind, observation, 1)
    with subject.practise(recipe, settings, "auto", False) as practice:
        return -1 if _score(practice, recipe()) > 0.0 else 1


def _score(practice: Practice, env: envs.ProbeEnv) -> float:
    """The mean reward of the best actions over all observations."""
    levels = env.levels
    obs = np.array(levels, np.float32)[:, None]
    if env.discrete_observation:
        obs = np.eye(len(levels), dtype=np.float32)
    flat = practice.best_actions(obs, len(levels))
    actions = practice.collector.batch.action_codec.decode_batch(flat)
    pairs = zip(levels, actions, strict=True)
    return float(np.mean([env.reward(level, env.signed(action)) for level, action in pairs]))


def _measure(
    tried: Tried, part: Part, practice: Practice, steps: Any, metrics: Metrics, env: envs.ProbeEnv
) -> None:
    if part.env.choices > 1:
        tried.score = _score(practice, env)
        discrete = bool(practice.collector.batch.action_codec.categories)
        tried.works = tried.score >= (DISCRETE_SCORE if discrete else CONTINUOUS_SCORE)
        if discrete and not practice.replays:
            tried.works &= float(np.mean(steps.reward)) >= LIKELY_SCORE
        return
    tried.error = value_error(part.env, practice, steps, metrics)
    if tried.first_error is None:
        tried.first_error = tried.error
    bound = DISCOUNT_ERROR if part.env is envs.LaterReward else VALUE_ERROR
    tried.works = tried.error is not None and tried.error <= bound


def value_error(
    env: type[envs.ProbeEnv], practice: Practice, steps: Any, metrics: Metrics
) -> float | None:
    """How far values are from what they should be; None where the algorithm shows none.

    A rollout holds the values of its states; of a replay memory the updates tell the mean action
    value, and the TD error, which at the end of an episode is the value's own.
    """
    gamma = float(getattr(practice.cfg_now, "gamma", 1.0))
    values = {level: float(level) for level in env.levels}  # 1 of the constant reward
    if env is envs.LaterReward:
        values = {-1: gamma, 1: 1.0}
    if "value" in steps.extras and "train/loss/value" in metrics:
        level = np.round(steps.obs[..., 0]).astype(int)
        expected = np.vectorize(values.get)(level)
        return float(np.abs(steps.extras["value"] - expected).mean())
    if env is envs.SeenReward or "train/metrics/q_mean" not in metrics:
        return metrics.get("train/metrics/td_error_mean")
    return abs(metrics["train/metrics/q_mean"] - float(np.mean(list(values.values()))))


def _judged(found: Found) -> ProbeResult:
    numbers: dict[str, float | str] = {}
    factors: dict[str, float] = {}
    works, fails, slow = [], [], []
    for part in PARTS:
        tried = found.tried.get(part.tries)
        if tried is None:
            continue
        key = part.env.__name__
        numbers[f"{key}_updates"] = tried.updates
        if tried.error is not None:
            numbers[f"{key}_value_error"] = tried.error
        if tried.score is not None:
            numbers[f"{key}_score"] = tried.score
        numbers[key] = "works" if tried.works else "slow" if tried.again else "fails"
        if tried.works:
            works.append(part.tries)
            for cause in part.causes:  # a part that fails later outweighs it
                factors[cause] = min(factors.get(cause, 1.0), 0.3)
        elif tried.again:
            slow.append(part.tries)
            factors |= {cause: 0.5 for cause in part.causes if cause not in factors}
        else:
            fails.append(part.tries)
    for part in PARTS:
        tried = found.tried.get(part.tries)
        if tried is None or tried.works or tried.again:
            continue
        factors |= each(15.0, *part.causes) | {HEALTHY: 0.1}
        if part.tries == "policy" and tried.score is not None:
            wrong_way = tried.score <= -0.9
            numbers["policy_goes"] = "the wrong way" if wrong_way else "nowhere"
            factors |= {
                "policy-loss-sign": 100.0 if wrong_way else 0.5,
                "dead-policy-gradient": 0.5 if wrong_way else 30.0,
            }
    if slow:
        factors |= each(3.0, *STEP_SIZE) | each(1.5, "lr-too-high")
    elif works and not fails:
        factors |= each(0.4, *STEP_SIZE)
    says = _sentences(found, works, fails, slow)
    return ProbeResult(ENVIRONMENTS.name, says, numbers, factors)


def _sentences(found: Found, works: list[str], fails: list[str], slow: list[str]) -> str:
    says = []
    if works:
        says.append(f"Works: {', '.join(works)}.")
    if slow:
        says.append(f"Works only with the usual optimizer and rate: {', '.join(slow)}.")
    if fails:
        says.append(f"Does not learn, with the usual optimizer either: {', '.join(fails)}.")
    if found.undecided:
        says.append(f"Too few updates in the time to tell: {', '.join(found.undecided)}.")
    if found.skipped:
        says.append(f"Not tried: {', '.join(found.skipped)}.")
    return " ".join(says)

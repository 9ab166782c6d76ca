"""Which settings are searched and perturbed, over which ranges, and in which order of importance.

Ranges follow RL-Zoo3's samplers (rl_zoo3/hyperparams_opt.py), on-policy ones widened to what
Andrychowicz et al. 2021 ("What matters for on-policy deep actor-critic methods?", appendix B) found
to be good somewhere; the order follows that study and Eimer et al. 2023 ("Hyperparameters in
reinforcement learning and how to tune them", section 4). What makes a trial slow (wide networks,
many updates an env step) is kept near the start: a search is worth what it can try.

A range is widened to hold the start's own value and the prescribed ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dressage.algos.actor_critic import nearest_divisor
from dressage.errors import ConfigError
from dressage.math.schedules import Schedule, parse_schedule
from dressage.presets.resolve import resolve

Patch = dict[str, Any]
Scale = Literal["log", "linear", "share", "count", "two"]
DIGITS = 2  # significant ones of a number that a search makes up
FEWEST_ROLLOUTS = 8  # in a budget
MOVED = 3  # numbers of a patch near the start


@dataclass(frozen=True)
class Knob:
    """A number that is searched.

    `scale`: log; linear; share (the logarithm of 1 - x counts: 0.99 is as far from 0.98 as from
    0.995); count (whole numbers, by ratio); two (powers of two). `low` and `high` are in the
    setting's own unit, or with `relative` times the start's value. `part`: of a schedule, all of
    which scales with its start unless `until` or `end` is named. `zero`: what to try where the
    start has zero, which no factor moves.
    """

    setting: str
    scale: Scale
    low: float
    high: float
    part: Literal["start", "end", "until"] = "start"
    relative: bool = False
    zero: float | None = None

    @property
    def name(self) -> str:
        """What the storage calls it."""
        prefix = {"share": "one_minus_", "two": "log2_"}.get(self.scale, "")
        return prefix + self.label.replace(".", "_")

    @property
    def label(self) -> str:
        return self.setting if self.part == "start" else f"{self.setting}.{self.part}"

    @property
    def whole(self) -> bool:
        return self.scale in ("count", "two")

    def read(self, settings: Mapping[str, Any]) -> float | None:
        """The number that the settings hold; None where they hold none, such as `auto`."""
        value = settings.get(self.setting)
        if (
            isinstance(value, bool)
            or value is None
            or (isinstance(value, str) and "(" not in value)
        ):
            return None
        try:
            made = parse_schedule(value)
        except ConfigError:
            return None
        if isinstance(made, Schedule):
            found = getattr(made, self.part)
            return None if made.changes or found is None else float(found)
        return float(made) if self.part == "start" and math.isfinite(float(made)) else None

    def write(self, value: float, settings: Mapping[str, Any]) -> Any:
        """The setting with this number in it: a schedule keeps its shape."""
        number = self._tidy(value)
        made = parse_schedule(settings[self.setting])
        if not isinstance(made, Schedule):
            return number
        if self.part == "end":
            return str(replace(made, end=float(number)))
        if self.part == "until":
            return str(replace(made, until=float(number)))
        factor = float(number) / made.start if made.start else 1.0
        end = None if made.end is None else float(f"{made.end * factor:.6g}")
        return str(replace(made, start=float(number), end=end))

    def _tidy(self, value: float) -> float | int:
        if self.whole:
            return max(1, round(value))
        if self.scale == "share":
            return round(value, 9)
        return float(f"{value:.6g}")

    def coordinate(self, value: float) -> float | int:
        """Where the search stands at a value: within its range, on its scale."""
        value = min(max(value, self.low), self.high)
        if self.scale == "share":
            return 1.0 - value
        if self.scale == "two":
            return round(math.log2(value))
        return round(value) if self.whole else value

    def value(self, coordinate: float) -> float:
        """Rounded to what a person would type."""
        if self.whole:
            return 2.0**coordinate if self.scale == "two" else coordinate
        tidy = float(f"{coordinate:.{DIGITS}g}")
        return 1.0 - tidy if self.scale == "share" else tidy

    def neighbours(self, value: float) -> tuple[float, ...]:
        """Half and twice of it, of a share half and twice what it lacks; those that differ."""
        if self.scale == "share":
            lacks = 1.0 - value
            near: Sequence[float] = (1.0 - 2.0 * lacks, 1.0 - lacks / 2) if lacks > 0 else (0.95,)
        elif value == 0.0:
            near = () if self.zero is None else (self.zero,)
        else:
            near = (value / 2, value * 2)
        if self.part == "until":
            near = [min(one, 1.0) for one in near]
        tidy = [float(self._tidy(one)) for one in near]
        return tuple(one for one in dict.fromkeys(tidy) if one != value)

    def holding(self, value: float) -> Knob:
        return replace(self, low=min(self.low, value), high=max(self.high, value))


@dataclass(frozen=True)
class Choice:
    setting: str
    options: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.setting

    @property
    def label(self) -> str:
        return self.setting

    @property
    def texts(self) -> tuple[str, ...]:
        """What the storage calls the options."""
        return tuple(json.dumps(option) for option in self.options)

    def holding(self, value: Any) -> Choice:
        return self if value in self.options else replace(self, options=(*self.options, value))


Space = list[Knob | Choice]

GAMMA = Knob("gamma", "share", 0.9, 0.9999)
RATE = Knob("learning_rate", "log", 1e-5, 1e-2)
ON_POLICY: Space = [
    RATE,
    Knob("n_steps", "two", 16, 2048),
    Knob("batch_size", "two", 32, 1024),
    Knob("n_epochs", "count", 1, 20),
    GAMMA,
    Knob("gae_lambda", "share", 0.7, 0.999),
    Knob("clip_range", "linear", 0.1, 0.4),
    Knob("ent_coef", "log", 1e-8, 0.1, zero=0.01),
    Knob("max_grad_norm", "log", 0.3, 5.0),
    Choice("net_arch", ([64], [64, 64], [128, 128])),
    Choice("activation", ("tanh", "relu")),
]
A2C: Space = [  # one update a rollout: many short ones
    Knob("n_steps", "two", 4, 128) if one.setting == "n_steps" else one for one in ON_POLICY
]
REPLAY: Space = [  # of every algorithm with a replay memory
    RATE,
    Knob("batch_size", "two", 32, 512),
    GAMMA,
    Knob("gradient_steps", "count", 0.25, 2.0, relative=True),
    Knob("train_freq", "count", 0.5, 4.0, relative=True),
    Knob("learning_starts", "count", 100, 10_000),
    Knob("n_step", "count", 1, 5),
]
VALUES: Space = [
    *REPLAY,
    Knob("target_update_interval", "count", 10, 10_000),
    Knob("epsilon", "log", 0.02, 0.5, part="until"),
    Knob("epsilon", "linear", 0.01, 0.2, part="end"),
    Choice("net_arch", ([64, 64], [256, 256])),
]
ACTOR: Space = [
    *REPLAY,
    Knob("tau", "log", 0.001, 0.08),
    Knob("noise_std", "linear", 0.02, 0.8, zero=0.1),
    Knob("target_policy_noise", "linear", 0.05, 0.5),
    Knob("policy_delay", "count", 1, 4),
    Choice("net_arch", ([64, 64], [256, 256], [400, 300])),
]
TABLES: Space = [
    Knob("learning_rate", "log", 0.01, 1.0),
    GAMMA,
    Knob("epsilon", "log", 0.02, 1.0, part="until"),
    Knob("epsilon", "linear", 0.01, 0.2, part="end"),
]
SPACES: dict[str, Space] = {
    "ppo": ON_POLICY,
    "a2c": A2C,
    "reinforce": ON_POLICY,
    **dict.fromkeys(("q_learning", "sarsa", "ucb"), TABLES),
    **dict.fromkeys(("dqn", "c51", "qr_dqn", "rainbow", "drqn", "bootstrapped_dqn"), VALUES),
    **dict.fromkeys(
        ("sac", "td3", "ddpg", "tqc", "crossq", "recurrent_sac", "recurrent_td3"), ACTOR
    ),
    "sac_discrete": ACTOR,
}
# An algorithm of one's own is searched in whatever it has of these.
ANY: Space = [*ON_POLICY, *(one for one in (*VALUES, *ACTOR) if one not in ON_POLICY)]


def space_of(
    algo: str,
    start: Mapping[str, Any],
    prescribed: Sequence[Patch] = (),
    fixed: Sequence[str] = (),
) -> Space:
    """What is searched from these settings: what they have, but for what a person has fixed."""
    found: Space = []
    for one in SPACES.get(algo, ANY):
        if one.setting in fixed or one.setting not in start or one.name in _names(found):
            continue
        if isinstance(one, Choice):
            found.append(one.holding(start[one.setting]))
            continue
        now = one.read(start)
        if now is not None:
            found.append(_fitted(one, now, start))
    for patch in prescribed:
        for name, value in patch.items():
            found = _with(found, name, value, start) if name not in fixed else found
    return found


def _names(space: Space) -> list[str]:
    return [one.name for one in space]


def _fitted(knob: Knob, now: float, start: Mapping[str, Any]) -> Knob:
    """Within the budget, and about the start's own value."""
    low, high = knob.low, knob.high
    if knob.relative:
        low, high = max(1.0, low * now), max(1.0, high * now)
    budget = float(start.get("env_steps", math.inf))
    if knob.setting == "n_steps":
        high = min(high, budget / (FEWEST_ROLLOUTS * int(start.get("n_envs", 1))))
    if knob.setting in ("learning_starts", "target_update_interval"):
        high = min(high, budget / 4)
    made = replace(knob, low=min(low, max(high, 1.0)) if knob.whole else low, relative=False)
    made = replace(made, high=max(high, made.low))
    if knob.scale in ("log", "count", "two") and now <= 0.0:
        return made  # zero is where it starts; the search itself stays above
    if knob.scale == "share" and now >= 1.0:
        return made
    return made.holding(now)


def _with(space: Space, name: str, value: Any, start: Mapping[str, Any]) -> Space:
    """The space with a prescribed value in it; a setting that it lacks becomes a choice."""
    if not any(one.setting == name for one in space):
        return [*space, Choice(name, (start.get(name), value))]
    made: Space = []
    for one in space:
        if one.setting == name and isinstance(one, Choice):
            one = one.holding(value)
        elif one.setting == name and isinstance(one, Knob):
            read = one.read({name: value})
            if read is not None and read > 0.0 and not (one.scale == "share" and read >= 1.0):
                one = one.holding(read)
        made.append(one)
    return made


def coordinates(space: Space, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Where settings stand in a space, as near as it can say."""
    found: dict[str, Any] = {}
    for one in space:
        value = settings.get(one.setting)
        if isinstance(one, Choice):
            if value in one.options:
                found[one.name] = json.dumps(value)
        elif (read := one.read(settings)) is not None:
            found[one.name] = one.coordinate(read)
    return found


def patch_at(space: Space, where: Mapping[str, Any], start: Mapping[str, Any]) -> Patch:
    """The settings at a place of the space, as far as they differ from the start's."""
    settings = dict(start)
    for one in space:
        if one.name not in where:
            continue
        if isinstance(one, Choice):
            settings[one.setting] = json.loads(where[one.name])
        else:
            settings[one.setting] = one.write(one.value(where[one.name]), settings)
    return {name: value for name, value in settings.items() if value != start.get(name)}


def near(
    space: Space, start: Mapping[str, Any], make_valid: Callable[[Patch], Patch], count: int
) -> list[Patch]:
    """Patches about the start: each moves a few numbers to half or twice. A start that was tuned
    before, a preset's most often, has better neighbours than the whole range has."""
    rng = np.random.default_rng(0)
    knobs = [one for one in space if isinstance(one, Knob)]
    found: list[Patch] = []
    for _ in range(count if knobs else 0):
        settings = dict(start)
        for place in rng.choice(len(knobs), size=min(MOVED, len(knobs)), replace=False):
            one = knobs[place]
            now = one.read(start)
            if now is not None and (values := one.neighbours(now)):
                settings[one.setting] = one.write(values[rng.integers(len(values))], settings)
        changed = {name: value for name, value in settings.items() if value != start.get(name)}
        patch = make_valid(changed)
        if patch and patch not in found:
            found.append(patch)
    return found


def valid(env: str, algo: str, start: Mapping[str, Any], patch: Patch) -> Patch:
    """The patch made valid by the config's own rules: the batch becomes the nearest one that
    divides the rollout; else changes are taken back, the last first, until nothing is refused."""
    made = dict(patch)
    settings = {**start, **made}
    if "batch_size" in settings and "n_steps" in settings:
        rollout = int(settings["n_steps"]) * int(settings["n_envs"])
        batch = nearest_divisor(rollout, int(settings["batch_size"]), least=2)
        if batch != start["batch_size"]:
            made["batch_size"] = batch
        else:
            made.pop("batch_size", None)
    while made:
        try:
            values = resolve(env, algo, {**start, **made}, use_preset=False).values()
        except ConfigError:
            made.popitem()
        else:  # as the config spells them
            return {name: values[name] for name in made if values[name] != start.get(name)}
    return made


def words(patch: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_word(value)}" for name, value in patch.items()) or "the start"


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).replace(" ", "")

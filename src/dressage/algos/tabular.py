"""What algorithms with a table of values share: the table, and the memory of the step just made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from dressage.core.algorithm import Needs, Task
from dressage.core.collector import Acted
from dressage.core.config import SchedulableRate, SchedulableShare, Settings
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Steps, Tree, map_steps
from dressage.core.trainer import MOST_ROUND_STEPS
from dressage.errors import ConfigError, RunError
from dressage.explore.choices import ChoiceNoise, choice_noise, choose

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
LARGEST_TABLE = 50_000_000  # entries

NEEDS = Needs(
    feed="replay",
    actions=("categorical",),
    masks=True,
    tabular=True,
    metrics=(
        "train/metrics/q_mean",
        "train/metrics/q_max",
        "train/metrics/td_error_mean",
        "train/metrics/td_error_max",
        "train/metrics/visited_share",
    ),
    preview=True,
)


class TableSettings(Settings):
    """What every table has."""

    GROUP: ClassVar[str] = "table"

    gamma: SchedulableShare = Field(0.99, description="discount")
    initial_value: float = Field(0.0, description="of every entry; a high one makes it explore")


class TdSettings(TableSettings):
    """Learning by temporal differences, exploring at random."""

    learning_rate: SchedulableRate = Field(0.1, description="step size (alias lr)")
    epsilon: SchedulableShare = Field(
        "linear(1, 0.05, until=0.5)", description="share of random actions"
    )
    temperature: SchedulableRate = Field(
        0.0, description="Boltzmann exploration over values; 0: none"
    )


class Table:
    """Values and visits `[states, choices]`, and what the trainer asks of a learner.

    An observation is a Discrete or MultiDiscrete space, or several; each combination is a state.
    """

    def __init__(self, spec: TaskSpec, initial_value: float) -> None:
        if any(leaf.kind not in ("discrete", "multi_discrete") for leaf in spec.obs.leaves):
            kinds = ", ".join(dict.fromkeys(leaf.kind for leaf in spec.obs.leaves))
            raise ConfigError(
                f"A table needs Discrete observations, and this task has {kinds}: use algo=dqn, or "
                "a wrapper that makes them Discrete."
            )
        self.sizes = [n for leaf in spec.obs.leaves for n in leaf.categories]
        self.categories = spec.action.categories
        self.first_columns = np.cumsum([0, *self.categories[:-1]], dtype=np.int64)
        shape = math.prod(self.sizes), sum(self.categories)
        if math.prod(shape) > LARGEST_TABLE:
            raise ConfigError(
                f"A table of {shape[0]:,} states x {shape[1]} choices is over {LARGEST_TABLE:,} "
                "entries: use algo=dqn."
            )
        self.q: Floats = np.full(shape, initial_value)
        self.visits: Integers = np.zeros(shape, np.int64)
        self.updates = 0
        self.inspect_next = False

    def states(self, obs: Tree) -> Integers:
        """`[N, D]` one-hot -> `[N]`: the row of each observation."""
        index, start = np.zeros(len(obs), np.int64), 0
        for size in self.sizes:
            index = index * size + obs[:, start : start + size].argmax(axis=1)
            start += size
        return index

    def columns(self, action: npt.NDArray[np.float32]) -> Integers:
        """`[N, actions] -> [N, actions]`: the column of each choice."""
        found: Integers = action.astype(np.int64) + self.first_columns
        return found

    def metrics(self, errors: Floats) -> dict[str, float]:
        """Of the step just learned from."""
        found = {
            "train/metrics/td_error_mean": float(np.abs(errors).mean()),
            "train/metrics/td_error_max": float(np.abs(errors).max()),
        }
        if self.inspect_next:
            self.inspect_next = False
            tried = self.visits > 0
            found |= {
                "train/metrics/q_mean": float(self.q[tried].mean()),
                "train/metrics/q_max": float(self.q[tried].max()),
                "train/metrics/visited_share": float(tried.mean()),
            }
        return found

    @contextmanager
    def training(self, seed: int) -> Iterator[None]:
        yield

    def trained(self) -> dict[str, list[npt.NDArray[Any]]]:
        """A table has no layers."""
        return {}

    def weights(self) -> dict[str, npt.NDArray[Any]]:
        return {"q": self.q, "visits": self.visits}

    def load_weights(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        if arrays.keys() < {"q", "visits"} or arrays["q"].shape != self.q.shape:
            raise RunError("The checkpoint has no table of this task's size: it is of another.")
        self.q[:], self.visits[:] = arrays["q"], arrays["visits"]

    def optimizer_state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        return {}, {"updates": self.updates}

    def load_optimizer_state(self, arrays: Any, plain: dict[str, Any]) -> None:
        self.updates = plain["updates"]


class LastStep:
    """The step just made, for learning; and the newest ones, for what is reported of them."""

    def __init__(self) -> None:
        self.recent: list[Steps] = []

    def attach(self, collector: Any, run_path: Any) -> None:
        self.collector = collector
        collector.keep_raw()  # for the masks of successors

    def add(self, steps: Steps) -> None:
        normalizer = self.collector.reward_normalizer
        if normalizer is not None:
            steps = steps._replace(reward=normalizer.scaled(steps.reward))
        self.recent = [*self.recent, steps][-MOST_ROUND_STEPS:]

    @property
    def step(self) -> Steps:
        """`[N, …]`."""
        return map_steps(lambda x: x[0], self.recent[-1])

    def newest(self, count: int) -> Steps:
        rows = [steps[:-1] for steps in self.recent[-count:]]  # all but the extras
        parts: Any = [*map(np.concatenate, zip(*rows, strict=True)), {}]
        return Steps(*parts)

    def seal(self) -> dict[str, Any]:
        return {}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {}  # a step is learned from before anything is saved

    def load(self, arrays: Any, segments: Any) -> None:
        pass


def check(cfg: Any, n_envs: int) -> None:
    """Any settings go together."""


def init(task: Task, cfg: Any) -> Table:
    if task.run.normalize_obs:
        raise ConfigError(
            "A table counts observations and does not scale them: normalize_obs=false."
        )
    return Table(task.spec, cfg.initial_value)


def memory(cfg: Any) -> LastStep:
    return LastStep()


def rollout_length(cfg: Any) -> int:
    return 1


def carry_size(learner: Table) -> int:
    return 0


def prepare(learner: Table, steps: Steps, cfg: Any) -> tuple[Steps, dict[str, float]]:
    return steps, {}


def noise(rng: Rng, index: int, n_envs: int, learner: Table, cfg: Any) -> ChoiceNoise:
    return choice_noise(rng, index, n_envs, learner.categories, cfg.epsilon, cfg.temperature)


def act(learner: Table, obs: Tree, carry: Any, mask: Any, noise: ChoiceNoise | None) -> Acted:
    """Actions of N environments; without noise the best ones."""
    q: Any = learner.q[learner.states(obs)]
    return Acted(choose(q, learner.categories, mask, noise), None, {})


def values_after(table: Table, step: Steps, noise: ChoiceNoise | None) -> Floats:
    """`[N]` values of the successors, by what would be chosen there: the best without noise.

    Of an action of several choices the mean over them (as in DQN).
    """
    mask = step.extras.get("next_mask")
    columns = table.columns(act(table, step.next_obs, None, mask, noise).action)
    value: Floats = table.q[table.states(step.next_obs)[:, None], columns].mean(axis=1)
    return np.where(step.terminated, 0.0, value)


def learn(table: Table, step: Steps, target: Floats, rate: float | None) -> list[dict[str, float]]:
    """`Q(s, a) <- Q(s, a) + rate (target - Q(s, a))` for each environment in turn.

    `rate=None`: one over the visits, which makes Q the mean of all targets.
    """
    states, columns = table.states(step.obs), table.columns(step.action)
    errors = np.empty(columns.shape)
    for i, (state, column) in enumerate(zip(states, columns, strict=True)):
        table.visits[state, column] += 1
        errors[i] = target[i] - table.q[state, column]
        table.q[state, column] += errors[i] * (
            1 / table.visits[state, column] if rate is None else rate
        )
        table.updates += 1
    return [table.metrics(errors)]

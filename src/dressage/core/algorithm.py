"""What a module must define to be an algorithm, and what the rest reads of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from dressage.core.collector import Acted
from dressage.core.config import RunConfig, Settings
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Steps, Tree


@dataclass(frozen=True)
class Needs:
    """Facts about an algorithm that other parts read."""

    feed: Literal["rollout", "replay", "sequence", "dataset"]
    actions: tuple[str, ...] = ("categorical", "continuous")
    recurrent: bool = False  # takes recurrent=gru or lstm
    masks: bool = False  # honours action masks
    tabular: bool = False  # has a table: observations must be Discrete
    metrics: tuple[str, ...] = ()  # names it always emits, `*` for one a network
    metrics_at_times: tuple[str, ...] = ()  # names that depend on the settings or the spaces
    preview: bool = False  # no learning curve beside a reference implementation yet
    native: str | None = None  # its kernel in the native engine


@dataclass(frozen=True)
class Task:
    """Everything `init` may build from."""

    spec: TaskSpec
    run: RunConfig
    rng: Rng
    device: str = "cpu"
    custom_net: Any = None  # the function that `net=` names


class Algorithm(Protocol):
    """A module is an algorithm when it defines these. See docs/own-algorithm."""

    __name__: str
    Config: type[Settings]
    NEEDS: Needs

    def check(self, cfg: Any, n_envs: int) -> None:
        """Raises ConfigError where settings conflict, naming the nearest that do not."""

    def init(self, task: Task, cfg: Any) -> Any:
        """The learner: core/learner.Learner, or native/learner.NativeLearner."""

    def memory(self, cfg: Any) -> Any: ...

    def rollout_length(self, cfg: Any) -> int:
        """Vector steps to collect between two calls of `update`."""

    def carry_size(self, learner: Any) -> int: ...

    def noise(self, rng: Rng, index: int, n_envs: int, learner: Any, cfg: Any) -> Any: ...

    def act(
        self,
        learner: Any,
        obs: Tree,
        carry: npt.NDArray[np.float32] | None,
        mask: npt.NDArray[np.bool_] | None,
        noise: Any,
    ) -> Acted:
        """`noise=None`: the deterministic action."""

    def prepare(self, learner: Any, steps: Steps, cfg: Any) -> tuple[Steps, dict[str, float]]: ...

    def update(self, learner: Any, memory: Any, rng: Rng, cfg: Any) -> Any:
        """The metrics of the updates: one dict of numbers. Where the feed is a replay memory, which
        many small rounds of an iteration learn from: a list of dicts of tensors, one an update."""

"""Algorithms with a replay memory on the native engine: their definitions, with acting and updates
in C."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.algorithm import Algorithm, Task
from dressage.core.collector import Acted, Collector
from dressage.core.replay import Replay
from dressage.core.rng import Rng
from dressage.core.steps import Tree
from dressage.native.env_batch import NativeBatch
from dressage.native.families import FAMILIES, Family
from dressage.native.network import Floats
from dressage.native.off_learner import OffPolicyLearner
from dressage.native.off_rounds import WholeRounds
from dressage.native.off_structs import MOST_CHOICES, OFF_FAMILIES
from dressage.native.off_updates import Updates
from dressage.native.structs import MOST_LAYERS
from dressage.native.threads import Threads


def why_not(spec: Any, s: Any, custom_net: str | None) -> str:
    """Why C has no such update; "" where it has."""
    shapes = spec.obs_shapes
    if isinstance(shapes, dict) or len(shapes) != 1:
        return "observations with images need a convolutional network"
    if custom_net is not None:
        return f"net={custom_net} is a network of your own"
    for setting in ("recurrent", "noisy", "parameter_noise", "use_sde"):
        value = getattr(s, setting, False)
        if value not in (False, None, "none"):
            return f"{setting}={str(value).lower()}"
    arch = s.net_arch.values() if isinstance(s.net_arch, dict) else [s.net_arch]
    if max(map(len, arch)) > MOST_LAYERS:
        return f"networks of more than {MOST_LAYERS} hidden layers"
    if len(spec.action.categories) > MOST_CHOICES:
        return f"actions of more than {MOST_CHOICES} choices"
    return ""


class NativeOffPolicy:
    """What core/algorithm.Algorithm asks for; the memory is the definition's own."""

    def __init__(self, definition: Algorithm) -> None:
        self.definition, self.__name__ = definition, definition.__name__
        self.Config, self.NEEDS = definition.Config, definition.NEEDS
        self.check, self.rollout_length = definition.check, definition.rollout_length
        self.memory, self.prepare = definition.memory, definition.prepare

    def init(self, task: Task, cfg: Any) -> OffPolicyLearner:
        assert self.NEEDS.native is not None
        self.family: Family = FAMILIES[self.NEEDS.native](task, cfg)
        learner = OffPolicyLearner(self.family.parts(), cfg)
        learner.threads = Threads(task.run.threads)
        self.updates = Updates(self.family, learner, cfg)
        self.updates.call.family = OFF_FAMILIES.index(self.NEEDS.native)
        return learner

    def carry_size(self, learner: OffPolicyLearner) -> int:
        return self.family.carry_size()

    def noise(self, rng: Rng, index: int, n_envs: int, learner: OffPolicyLearner, cfg: Any) -> Any:
        return self.family.noise(rng, index, n_envs, cfg)

    def act(
        self,
        learner: OffPolicyLearner,
        obs: Tree,
        carry: Floats | None,
        mask: npt.NDArray[np.bool_] | None,
        noise: Any,
    ) -> Acted:
        assert not isinstance(obs, dict)
        return self.family.act(learner, obs, carry, mask, noise)

    def whole_iteration(
        self, learner: OffPolicyLearner, collector: Collector, memory: Replay, cfg: Any
    ) -> WholeRounds | None:
        """Rounds of acting and learning in one call, where the environments are native."""
        if not isinstance(collector.batch, NativeBatch) or self.family.carry_size():
            return None
        return WholeRounds(self.updates, collector, memory, self.rollout_length(cfg))

    def update(
        self, learner: OffPolicyLearner, memory: Replay, rng: Rng, cfg: Any
    ) -> list[dict[str, float]]:
        """All updates that are due in one call; the metrics of each part."""
        return self.updates(memory, rng, cfg)

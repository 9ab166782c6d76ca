"""What an algorithm knows of its task: shapes of observations, kinds of actions, masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.errors import ConfigError


@dataclass(frozen=True)
class TaskSpec:
    """Made from an environment, or from spec.json without it."""

    obs: ObsCodec
    action: ActionCodec
    masked: bool

    @property
    def obs_shapes(self) -> Any:
        """`(D,)`, `(C, H, W)`, or a dict of both."""
        return self.obs.shapes if self.obs.is_dict else self.obs.shape

    def to_json(self) -> dict[str, Any]:
        return {"obs": self.obs.to_json(), "action": self.action.to_json(), "masked": self.masked}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TaskSpec:
        return cls(
            ObsCodec.from_json(data["obs"]), ActionCodec.from_json(data["action"]), data["masked"]
        )


def bounded_actions(spec: TaskSpec) -> None:
    """Refuses actions that a squashed policy cannot reach."""
    action = spec.action
    if not np.isfinite(action.high - action.low).all():
        raise ConfigError(
            "This algorithm needs bounded actions, and this task has some without bounds: bound "
            "them in the environment's action space."
        )
    if not (np.all(action.low == -1) and np.all(action.high == 1)):
        raise ConfigError("This algorithm needs actions in [-1, 1]: leave scale_actions=true.")

"""What an algorithm knows of its task: shapes of observations, kinds of actions, masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dressage.envs.spaces import ActionCodec, ObsCodec


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

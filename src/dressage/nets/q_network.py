"""Action values of every choice, for observations of any kind."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dressage.core.spec import TaskSpec
from dressage.nets.actor_critic import Torso


class QNetwork(nn.Module):
    """`obs [..., …] -> [..., choices]`: the values of all choices side by side.

    Dueling (Wang et al. 2016, equation 9): `Q = V + A - mean(A)`, the mean within each action's
    own choices.
    """

    def __init__(self, spec: TaskSpec, s: Any, custom: Any = None) -> None:
        super().__init__()
        self.categories = spec.action.categories
        self.torso = Torso(spec, s, s.net_arch, custom)
        self.advantage = nn.Linear(self.torso.outputs, sum(self.categories))
        self.advantage.gain = 1.0  # type: ignore[assignment]
        self.value: nn.Linear | None = None
        if s.dueling:
            self.value = nn.Linear(self.torso.outputs, 1)
            self.value.gain = 1.0  # type: ignore[assignment]
        self.carry_size = self.torso.carry_size

    def forward(self, obs: Any) -> Tensor:
        return self.heads(self.torso(obs, None, None)[0])

    def heads(self, features: Tensor) -> Tensor:
        q: Tensor = self.advantage(features)
        if self.value is None:
            return q
        parts = torch.split(q, list(self.categories), dim=-1)
        centred = torch.cat([part - part.mean(-1, keepdim=True) for part in parts], dim=-1)
        return centred + self.value(features)  # type: ignore[no-any-return]

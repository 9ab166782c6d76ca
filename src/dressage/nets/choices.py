"""An actor and critics of choices, apart from one another."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from dressage.core.spec import TaskSpec
from dressage.nets.actor_critic import Torso
from dressage.nets.continuous import widths_of
from dressage.nets.distribution import Actions, categorical_log_probs
from dressage.nets.encoder import make_encoder
from dressage.nets.mlp import EnsembleMlp


class ChoiceActor(nn.Module):
    """`obs -> logits [..., C]` of all choices side by side."""

    def __init__(self, spec: TaskSpec, s: Any, custom: Any = None) -> None:
        super().__init__()
        self.categories = spec.action.categories
        self.torso = Torso(spec, s, widths_of(s.net_arch, "policy"), custom)
        self.logits = nn.Linear(self.torso.outputs, sum(self.categories))
        self.logits.gain = 0.01  # type: ignore[assignment]
        self.carry_size = self.torso.carry_size

    def forward(self, obs: Any, mask: Tensor | None = None) -> Actions:
        return self.over(self.logits(self.torso(obs, None, None)[0]), mask)

    def over(self, logits: Tensor, mask: Tensor | None) -> Actions:
        log_probs = categorical_log_probs(logits, self.categories, mask)
        return Actions(log_probs, None, None, squash=False)


class ChoiceCritics(nn.Module):
    """`(obs, action [B, K]) -> [E, B]`: the values that E critics give K choices, on average."""

    offsets: Tensor

    def __init__(self, spec: TaskSpec, s: Any, members: int, custom: Any = None) -> None:
        super().__init__()
        categories = spec.action.categories
        self.encoder = make_encoder(spec.obs_shapes, custom)
        inputs = int(self.encoder.outputs)  # type: ignore[arg-type]
        widths = widths_of(s.net_arch, "value")
        self.mlp = EnsembleMlp(members, inputs, widths, sum(categories), s.activation, s.layer_norm)
        starts = torch.tensor([0, *accumulate(categories)][:-1])
        self.register_buffer("offsets", starts, persistent=False)

    def values(self, obs: Any) -> Tensor:
        """`[E, B, C]` of every choice."""
        return self.mlp(self.encoder(obs))  # type: ignore[no-any-return]

    def chosen(self, values: Tensor, action: Tensor) -> Tensor:
        """`[E, B, C]` and `[B, K]` -> `[E, B, K]`."""
        return values.gather(-1, (action.long() + self.offsets).expand(len(values), -1, -1))

    def forward(self, obs: Any, action: Tensor) -> Tensor:
        return self.chosen(self.values(obs), action).mean(-1)

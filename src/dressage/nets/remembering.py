"""Actors and critics of continuous actions that remember: each has a recurrent cell of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor, nn

from dressage.core.spec import TaskSpec
from dressage.envs.spaces import ActionCodec
from dressage.nets.encoder import make_encoder
from dressage.nets.recurrent import Recurrent


class Remembered(NamedTuple):
    """A task whose observations are what a cell remembers."""

    obs_shapes: tuple[int]
    action: ActionCodec


class Remembering(nn.Module):
    """A cell over observations, and `net`, which gets what it remembers as its observation.

    `make(spec, settings)` makes `net` without a cell.
    """

    def __init__(
        self, spec: TaskSpec, s: Any, make: Callable[[Any, Any], nn.Module], custom: Any = None
    ) -> None:
        super().__init__()
        self.encoder = make_encoder(spec.obs_shapes, custom)
        inputs: int = self.encoder.outputs  # type: ignore[assignment]
        self.cell = Recurrent(inputs, s.hidden_size, s.recurrent)
        self.carry_size = self.cell.carry_size
        task = Remembered((s.hidden_size,), spec.action)
        self.net = make(task, s.model_copy(update={"recurrent": "none"}))

    def along(
        self, obs: Any, carry: Tensor, first: Tensor, noise: None = None
    ) -> tuple[Tensor, Tensor]:
        """`obs [L, B, …]`, `carry [B, C]`, `first [L, B]` -> features `[L, B, H]`, next carry."""
        features, after = self.cell(self.encoder(obs), carry, first)
        return features, after

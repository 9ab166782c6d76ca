"""Actors and critics of continuous actions, apart from one another."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dressage.core.spec import TaskSpec
from dressage.nets.actor_critic import Torso
from dressage.nets.distribution import Actions
from dressage.nets.encoder import make_encoder
from dressage.nets.mlp import EnsembleMlp

LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0  # Haarnoja et al.'s code


def widths_of(net_arch: Any, part: str) -> list[int]:
    """One list for all networks, or a list for each."""
    return list(net_arch[part] if isinstance(net_arch, dict) else net_arch)


class GaussianActor(nn.Module):
    """`obs -> tanh-squashed Gaussian`, whose deviation depends on the observation."""

    def __init__(self, spec: TaskSpec, s: Any, custom: Any = None) -> None:
        super().__init__()
        self.torso = Torso(spec, s, widths_of(s.net_arch, "policy"), custom)
        self.mean = nn.Linear(self.torso.outputs, spec.action.continuous)
        self.log_std = nn.Linear(self.torso.outputs, spec.action.continuous)
        self.mean.gain = self.log_std.gain = 0.01  # type: ignore[assignment]
        self.carry_size = self.torso.carry_size

    def forward(self, obs: Any) -> Actions:
        features = self.torso(obs, None, None)[0]
        log_std = self.log_std(features).clamp(LOG_STD_MIN, LOG_STD_MAX)
        return Actions((), self.mean(features), log_std.exp(), squash=True)


class DeterministicActor(nn.Module):
    """`obs -> [B, A]` in [-1, 1].

    Its carry ends with the `noise_size` numbers that action noise remembers (explore/action_noise).
    """

    def __init__(self, spec: TaskSpec, s: Any, custom: Any = None, noise_size: int = 0) -> None:
        super().__init__()
        self.torso = Torso(spec, s, widths_of(s.net_arch, "policy"), custom)
        self.mean = nn.Linear(self.torso.outputs, spec.action.continuous)
        self.mean.gain = 0.01  # type: ignore[assignment]
        self.noise_size = noise_size
        self.carry_size = self.torso.carry_size + noise_size

    def forward(self, obs: Any) -> Tensor:
        return torch.tanh(self.mean(self.torso(obs, None, None)[0]))


class Critics(nn.Module):
    """`(obs, action [B, A]) -> [E, B]`: the values that E critics give an action."""

    def __init__(
        self, spec: TaskSpec, s: Any, members: int, custom: Any = None, outputs: int = 1
    ) -> None:
        super().__init__()
        self.encoder = make_encoder(spec.obs_shapes, custom)
        inputs = int(self.encoder.outputs) + spec.action.size  # type: ignore[arg-type]
        widths = widths_of(s.net_arch, "value")
        self.mlp = EnsembleMlp(members, inputs, widths, outputs, s.activation, s.layer_norm)

    def heads(self, obs: Any, action: Tensor, members: int | None = None) -> Tensor:
        """`[E, B, outputs]` of all critics, or of the first few."""
        inputs = torch.cat((self.encoder(obs), action), dim=-1)
        return self.mlp(inputs, members)  # type: ignore[no-any-return]

    def forward(self, obs: Any, action: Tensor, members: int | None = None) -> Tensor:
        return self.heads(obs, action, members).squeeze(-1)


class QuantileCritics(Critics):
    """As `Critics`; `heads` are quantiles of the return, and a value is their mean."""

    def forward(self, obs: Any, action: Tensor, members: int | None = None) -> Tensor:
        return self.heads(obs, action, members).mean(-1)


class Temperature(nn.Module):
    """The weight of the entropy, learned as its logarithm."""

    def __init__(self, first: float) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.tensor(first).log())


class NoiseScale(nn.Module):
    """The deviation of the noise on weights, adapted and not learned."""

    scale: Tensor

    def __init__(self, first: float) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(first))

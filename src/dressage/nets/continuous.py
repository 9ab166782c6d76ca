"""Actors and critics of continuous actions, apart from one another."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dressage.core.spec import TaskSpec
from dressage.nets.actor_critic import Torso, sde_deviation, sde_noise
from dressage.nets.distribution import Actions
from dressage.nets.encoder import make_encoder
from dressage.nets.mlp import EnsembleMlp

LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0  # Haarnoja et al.'s code
SDE_MEAN = 2.0  # bound of a mean with gSDE, before it is squashed


def widths_of(net_arch: Any, part: str) -> list[int]:
    """One list for all networks, or a list for each."""
    return list(net_arch[part] if isinstance(net_arch, dict) else net_arch)


class GaussianActor(nn.Module):
    """`obs -> tanh-squashed Gaussian`, whose deviation depends on the observation.

    With `use_sde` (gSDE, Raffin et al. 2021) noise is a matrix times the features, and the
    deviation is what that implies; means are kept within `SDE_MEAN`, as in SB3.
    """

    def __init__(self, spec: TaskSpec, s: Any, custom: Any = None) -> None:
        super().__init__()
        self.torso = Torso(spec, s, widths_of(s.net_arch, "policy"), custom)
        self.mean = nn.Linear(self.torso.outputs, spec.action.continuous)
        self.mean.gain = 0.01  # type: ignore[assignment]
        self.use_sde = s.use_sde
        self.log_std: nn.Linear | nn.Parameter
        if s.use_sde:
            self.log_std = nn.Parameter(torch.full(self.noise_shape(), s.log_std_init))
        else:
            self.log_std = nn.Linear(self.torso.outputs, spec.action.continuous)
            self.log_std.gain = 0.01  # type: ignore[assignment]
        self.carry_size = self.torso.carry_size

    def noise_shape(self) -> tuple[int, ...]:
        """Of what one action's noise is drawn from: a number a dimension, or a matrix."""
        dimensions = self.mean.out_features
        return (self.torso.outputs, dimensions) if self.use_sde else (dimensions,)

    def forward(self, obs: Any) -> Actions:
        return self.heads(self.torso(obs, None, None)[0])

    def heads(self, features: Tensor) -> Actions:
        mean = self.mean(features)
        if isinstance(self.log_std, nn.Parameter):
            std = sde_deviation(self.log_std, features)
            return Actions((), mean.clamp(-SDE_MEAN, SDE_MEAN), std, squash=True)
        std = self.log_std(features).clamp(LOG_STD_MIN, LOG_STD_MAX).exp()
        return Actions((), mean, std, squash=True)

    def noisy(self, obs: Any, noise: Tensor) -> tuple[Actions, Tensor]:
        """The distribution, and the normal `[..., A]` that `noise` is to it: itself, or what a
        matrix `[..., F, A]` makes of the features."""
        features = self.torso(obs, None, None)[0]
        actions = self.heads(features)
        if isinstance(self.log_std, nn.Parameter):
            assert actions.std is not None
            return actions, sde_noise(self.log_std, features, noise, actions.std)
        return actions, noise


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

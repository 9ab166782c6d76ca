"""Action values of every choice, for observations of any kind."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from dressage.core.spec import TaskSpec
from dressage.nets.actor_critic import Torso
from dressage.nets.noisy import NoisyLinear, make_noisy, noise_size, with_noise


class QNetwork(nn.Module):
    """`obs [..., …] -> [..., choices]`: the values of all choices side by side.

    With `atoms` each value is a distribution, `[..., choices, atoms]`: the logits of fixed values
    (`support`), or without these the quantiles; `values` gives its mean.

    Dueling (Wang et al. 2016, equation 9): `Q = V + A - mean(A)`, the mean within each action's
    own choices; of distributions, atom by atom (Hessel et al. 2018).
    """

    support: Tensor | None

    def __init__(
        self,
        spec: TaskSpec,
        s: Any,
        custom: Any = None,
        atoms: int | None = None,
        support: Tensor | None = None,
    ) -> None:
        super().__init__()
        linear: Any = partial(NoisyLinear, sigma=s.noisy_sigma) if s.noisy else nn.Linear
        self.categories, self.atoms = spec.action.categories, atoms
        self.torso = Torso(spec, s, s.net_arch, custom)
        if s.noisy:
            make_noisy(self.torso.mlp.layers, s.noisy_sigma)
        self.advantage = linear(self.torso.outputs, sum(self.categories) * (atoms or 1))
        self.advantage.gain = 1.0
        self.value: nn.Linear | None = None
        if s.dueling:
            self.value = linear(self.torso.outputs, atoms or 1)
            self.value.gain = 1.0
        self.register_buffer("support", support, persistent=False)
        self.carry_size = self.torso.carry_size
        self.noise_size = noise_size(self)

    def forward(self, obs: Any, noise: Tensor | None = None) -> Tensor:
        with with_noise(self, noise):
            return self.heads(self.torso(obs, None, None)[0])

    def heads(self, features: Tensor) -> Tensor:
        dim = -1 if self.atoms is None else -2  # of the choices
        q: Tensor = self.advantage(features)
        if self.atoms is not None:
            q = q.reshape(*q.shape[:-1], -1, self.atoms)
        if self.value is None:
            return q
        parts = torch.split(q, list(self.categories), dim=dim)
        centred = torch.cat([part - part.mean(dim, keepdim=True) for part in parts], dim=dim)
        value: Tensor = self.value(features)
        return centred + (value if self.atoms is None else value.unsqueeze(dim))

    def values(self, output: Tensor) -> Tensor:
        """`[..., choices(, atoms)] -> [..., choices]`: expected values."""
        if self.atoms is None:
            return output
        if self.support is None:
            return output.mean(-1)
        return (output.softmax(-1) * self.support).sum(-1)

    def along(
        self, obs: Any, carry: Tensor, first: Tensor, noise: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Recurrent: `obs [L, B, …]`, `carry [B, C]`, `first [L, B]` -> outputs, next carry."""
        with with_noise(self, noise):
            features, after = self.torso(obs, carry, first)
            assert after is not None
            return self.heads(features), after

"""An actor and a critic for any observation and any action, recurrent if asked."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dressage.core.config import NetworkSettings, TorsoSettings
from dressage.core.spec import TaskSpec
from dressage.nets.distribution import Actions, categorical_log_probs
from dressage.nets.encoder import make_encoder
from dressage.nets.mlp import Mlp
from dressage.nets.recurrent import Recurrent

STD_FLOOR = 1e-6  # gSDE: keeps the deviation positive where all features are zero


class Output(NamedTuple):
    """What one pass gives: the distribution over actions, the value `[...]`, the next carry."""

    actions: Actions
    value: Tensor
    carry: Tensor | None


class Torso(nn.Module):
    """Observation to features: encoder, recurrent cell if any, hidden layers."""

    def __init__(self, spec: TaskSpec, s: TorsoSettings, widths: list[int], custom: Any) -> None:
        super().__init__()
        self.encoder = make_encoder(spec.obs_shapes, custom)
        size: int = self.encoder.outputs  # type: ignore[assignment]
        self.cell = Recurrent(size, s.hidden_size, s.recurrent) if s.recurrent != "none" else None
        self.carry_size = self.cell.carry_size if self.cell is not None else 0
        self.mlp = Mlp(self.cell.outputs if self.cell else size, widths, s.activation, s.layer_norm)
        self.outputs = self.mlp.outputs

    def forward(
        self, obs: Any, carry: Tensor | None, first: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        x = self.encoder(obs)
        if self.cell is not None:
            assert carry is not None and first is not None
            x, carry = self.cell(x, carry, first)
        return self.mlp(x), carry


class ActionHead(nn.Module):
    """Features to a distribution: one linear layer for logits, one for means, free deviations."""

    def __init__(self, features: int, spec: TaskSpec, s: NetworkSettings) -> None:
        super().__init__()
        self.categories, self.continuous = spec.action.categories, spec.action.continuous
        self.squash, self.use_sde = s.squash, s.use_sde
        if self.categories:
            self.logits = nn.Linear(features, sum(self.categories))
            self.logits.gain = 0.01  # type: ignore[assignment]
        if self.continuous:
            self.mean = nn.Linear(features, self.continuous)
            self.mean.gain = 0.01  # type: ignore[assignment]
            shape = (features, self.continuous) if s.use_sde else (self.continuous,)
            self.log_std = nn.Parameter(torch.full(shape, s.log_std_init))

    def forward(self, features: Tensor, mask: Tensor | None) -> Actions:
        log_probs: tuple[Tensor, ...] = ()
        mean = std = None
        if self.categories:
            log_probs = categorical_log_probs(self.logits(features), self.categories, mask)
        if self.continuous:
            mean = self.mean(features)
            if self.use_sde:
                std = sde_deviation(self.log_std, features.detach())
            else:
                std = self.log_std.exp()
        return Actions(log_probs, mean, std, self.squash)

    def sde_noise(self, features: Tensor, matrix: Tensor, std: Tensor) -> Tensor:
        return sde_noise(self.log_std, features, matrix, std)


def sde_deviation(log_std: Tensor, features: Tensor) -> Tensor:
    """Raffin et al. 2021, equation 8: the deviation of actions that the noise matrix implies."""
    return (features.square() @ log_std.exp().square() + STD_FLOOR).sqrt()


def sde_noise(log_std: Tensor, features: Tensor, matrix: Tensor, std: Tensor) -> Tensor:
    """The normal that `sample` expects, from a noise matrix `[..., features, continuous]`."""
    return torch.einsum("...f,...fa->...a", features, log_std.exp() * matrix) / std


class ActorCritic(nn.Module):
    """Separate networks for policy and value, or one trunk (`share_features`) with two heads.

    Feed-forward: `obs [B, …]`. Recurrent: `obs [L, B, …]`, `carry [B, C]`, `first [L, B]`.
    """

    def __init__(self, spec: TaskSpec, s: NetworkSettings, custom: Any = None) -> None:
        super().__init__()
        arch = (
            s.net_arch
            if isinstance(s.net_arch, dict)
            else {"policy": s.net_arch, "value": s.net_arch}
        )
        self.recurrent = s.recurrent != "none"
        self.shared = Torso(spec, s, arch["policy"], custom) if s.share_features else None
        self.policy, self.value = nn.ModuleDict(), nn.ModuleDict()
        if self.shared is not None:
            policy_torso = value_torso = self.shared
        else:
            policy_torso = Torso(spec, s, arch["policy"], custom)
            value_torso = Torso(spec, s, arch["value"], custom)
            self.policy["torso"], self.value["torso"] = policy_torso, value_torso
        self.policy["head"] = ActionHead(policy_torso.outputs, spec, s)
        head = nn.Linear(value_torso.outputs, 1)
        head.gain = 1.0  # type: ignore[assignment]
        self.value["head"] = head
        self.carry_size = policy_torso.carry_size * (2 if self.shared is None else 1)
        self.features_size = policy_torso.outputs

    def chunks(self) -> dict[str, nn.Module]:
        """The parts whose gradients are reported, and may have rates, of their own."""
        parts: dict[str, nn.Module] = {"policy": self.policy, "value": self.value}
        return parts | ({"shared": self.shared} if self.shared is not None else {})

    def features(
        self, obs: Any, carry: Tensor | None = None, first: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Features of the policy, features of the value, next carry."""
        if self.shared is not None:
            x, carry = self.shared(obs, carry, first)
            return x, x, carry
        if carry is None:
            return (
                self.policy["torso"](obs, None, None)[0],
                self.value["torso"](obs, None, None)[0],
                None,
            )
        half = self.carry_size // 2
        p, p_carry = self.policy["torso"](obs, carry[:, :half], first)
        v, v_carry = self.value["torso"](obs, carry[:, half:], first)
        return p, v, torch.cat((p_carry, v_carry), dim=-1)

    def forward(
        self,
        obs: Any,
        mask: Tensor | None = None,
        carry: Tensor | None = None,
        first: Tensor | None = None,
    ) -> Output:
        p, v, carry = self.features(obs, carry, first)
        return Output(self.policy["head"](p, mask), self.value["head"](v).squeeze(-1), carry)

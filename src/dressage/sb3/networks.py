"""Which optimizer of a model steps which network, by the names that our own runs have for them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

POLICY = (
    "mlp_extractor.policy_net",
    "action_net",
    "log_std",
    "pi_features_extractor",
    "lstm_actor",
)
VALUE = ("mlp_extractor.value_net", "value_net", "vf_features_extractor", "lstm_critic", "critic")
_OF_ENSEMBLE = re.compile(r"^qf\d+\.")


class Stepped(NamedTuple):
    """What one optimizer steps."""

    optimizer: Optimizer
    networks: dict[str, list[Tensor]]  # parameters by network
    units: dict[str, list[tuple[str, nn.Module]]]  # hidden activations by network, with their place
    max_grad_norm: float  # infinite where gradients are not clipped
    in_total: bool  # whether a norm over all of its networks is one of ours


def stepped(model: Any) -> list[Stepped]:
    """All optimizers of a model; none of TRPO's, which moves its policy without one."""
    policy = model.policy
    if hasattr(policy, "actor") and hasattr(policy, "critic"):
        found = [
            Stepped(net.optimizer, {name: _parameters(net)}, {name: _units(net)}, math.inf, False)
            for name, net in (("critic", policy.critic), ("actor", policy.actor))
        ]
        if getattr(model, "ent_coef_optimizer", None) is not None:
            alpha = {"alpha": [model.log_ent_coef]}
            found.append(Stepped(model.ent_coef_optimizer, alpha, {}, math.inf, False))
        return found
    limit = getattr(model, "max_grad_norm", None)
    if hasattr(policy, "action_net"):
        if not limit:
            return []
        networks, units = _actor_critic(policy)
    else:
        net = getattr(policy, "q_net", None) or getattr(policy, "quantile_net", policy)
        networks, units = {"q": _parameters(net)}, {"q": _units(net)}
    return [Stepped(policy.optimizer, networks, units, float(limit or math.inf), True)]


def _actor_critic(policy: Any) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    shares = getattr(policy, "share_features_extractor", True)

    def network(name: str) -> str:
        if name.startswith(VALUE):
            return "value"
        if name.startswith(POLICY) or (name.startswith("features_extractor") and not shares):
            return "policy"
        return "shared"

    networks: dict[str, list[Any]] = {"policy": [], "value": []}
    for name, parameter in policy.named_parameters():
        networks.setdefault(network(name), []).append(parameter)
    units: dict[str, list[Any]] = {}
    for name, layer in _units(policy):
        units.setdefault(network(name), []).append((name, layer))
    return networks, units


def _parameters(net: nn.Module) -> list[Tensor]:
    return list(net.parameters())


def _units(net: nn.Module) -> list[tuple[str, nn.Module]]:
    """Activations of hidden layers; those of an ensemble's members have the same place, since our
    own critics are one network."""
    return [(_OF_ENSEMBLE.sub("", name), layer) for name, layer in _activations(net)]


def _activations(net: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    mean: Any = getattr(net, "mu", None)  # of TD3, ends with the tanh that makes an action
    last = mean[-1] if isinstance(mean, torch.nn.Sequential) else None
    for name, layer in net.named_modules():
        kind = type(layer)
        if (
            kind.__module__ == "torch.nn.modules.activation"
            and kind is not torch.nn.MultiheadAttention
            and layer is not last
        ):
            yield name, layer

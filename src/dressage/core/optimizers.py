"""Optimizers by name, over flat chunks of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dressage.errors import ConfigError
from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

    from dressage.core.config import OptimizerSettings

# LAMB's trust ratio and Shampoo's preconditioners are defined a layer at a time; the others act on
# each number alone, so one flat tensor gives the same result as many small ones.
BY_LAYER = ("lamb", "shampoo")


def make_optimizer(
    values: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    modules: Mapping[str, nn.Module],
    settings: OptimizerSettings,
) -> Any:
    """One parameter group per chunk, named, so that each chunk can have its own learning rate."""
    groups: list[dict[str, Any]] = []
    for name, value in values.items():
        if settings.optimizer in BY_LAYER:
            parameters = list(modules[name].parameters())
        else:
            flat = torch.nn.Parameter(value)
            flat.grad = gradients[name]
            parameters = [flat]
        groups.append({"params": parameters, "name": name, "lr": 0.0})
    return _make(groups, settings)


def _make(groups: list[dict[str, Any]], s: OptimizerSettings) -> Any:
    eps, decay = s.optimizer_eps, s.weight_decay
    match s.optimizer:
        case "adam":
            return torch.optim.Adam(groups, betas=s.betas, eps=eps, weight_decay=decay, fused=True)
        case "adamw":
            return torch.optim.AdamW(groups, betas=s.betas, eps=eps, weight_decay=decay, fused=True)
        case "sgd":
            return torch.optim.SGD(groups, momentum=s.momentum, weight_decay=decay)
        case "rmsprop":
            return torch.optim.RMSprop(
                groups, alpha=s.rmsprop_alpha, eps=eps, weight_decay=decay, momentum=s.momentum
            )
        case "rmsprop_tf":
            return _rmsprop_tf(groups, s)
    try:
        import pytorch_optimizer as library
    except ModuleNotFoundError:
        raise ConfigError(
            f"optimizer={s.optimizer} needs an extra: pip install 'dressage[optim]'"
        ) from None
    if s.optimizer == "lamb":
        return library.Lamb(groups, betas=s.betas, eps=eps, weight_decay=decay)
    return library.Shampoo(groups, momentum=s.momentum, weight_decay=decay)


def _rmsprop_tf(groups: list[dict[str, Any]], s: OptimizerSettings) -> Any:
    class RMSpropTF(torch.optim.Optimizer):
        """RMSprop with epsilon inside the root and squares that start at one, as in TensorFlow.

        A2C collapses on some tasks with PyTorch's placement (DLR-RM/stable-baselines3#110).
        """

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:  # type: ignore[override]
            for group in self.param_groups:
                for p in group["params"]:
                    state, grad = self.state[p], p.grad
                    if decay := group["weight_decay"]:
                        grad = grad.add(p, alpha=decay)
                    if not state:
                        state["square_avg"] = torch.ones_like(p)
                        state["momentum_buffer"] = torch.zeros_like(p)
                    square, buffer = state["square_avg"], state["momentum_buffer"]
                    square.mul_(group["alpha"]).addcmul_(grad, grad, value=1 - group["alpha"])
                    # the rate goes into the buffer, so that a change of it acts on new steps only
                    buffer.mul_(group["momentum"]).addcdiv_(
                        grad, (square + group["eps"]).sqrt_(), value=group["lr"]
                    )
                    p.sub_(buffer)

    defaults = {
        "lr": 0.0,
        "alpha": s.rmsprop_alpha,
        "eps": s.optimizer_eps,
        "weight_decay": s.weight_decay,
        "momentum": s.momentum,
    }
    return RMSpropTF(groups, defaults)

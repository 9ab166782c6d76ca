"""Multilayer perceptrons."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "elu": nn.ELU,
    "silu": nn.SiLU,
}


def make_activation(name: str) -> nn.Module:
    layer = ACTIVATIONS[name]()
    layer.is_activation = True  # type: ignore[assignment]  # the Learner measures dormant units here
    return layer


class EnsembleLinear(nn.Module):
    """`members` linear layers side by side: `[E, B, inputs] -> [E, B, outputs]` in one product.

    An input of fewer members goes through the first ones.
    """

    def __init__(self, members: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(members, 1, outputs))

    def forward(self, x: Tensor) -> Tensor:
        if len(x) == len(self.weight):
            return torch.baddbmm(self.bias, x, self.weight)
        return torch.baddbmm(self.bias[: len(x)], x, self.weight[: len(x)])


class EnsembleMlp(nn.Module):
    """`members` networks of one shape: `[E, B, inputs]` or `[B, inputs]` -> `[E, B, outputs]`."""

    def __init__(
        self,
        members: int,
        inputs: int,
        widths: Sequence[int],
        outputs: int,
        activation: str,
        layer_norm: bool = False,
    ) -> None:
        super().__init__()
        self.members = members
        layers: list[nn.Module] = []
        for width in widths:
            layers.append(EnsembleLinear(members, inputs, width))
            if layer_norm:
                layers.append(nn.LayerNorm(width))
            layers.append(make_activation(activation))
            inputs = width
        head = EnsembleLinear(members, inputs, outputs)
        head.gain = 1.0  # type: ignore[assignment]
        self.layers = nn.Sequential(*layers, head)

    def forward(self, x: Tensor, members: int | None = None) -> Tensor:
        """Of all members, or of the first few."""
        if x.dim() == 2:
            x = x.expand(self.members if members is None else members, -1, -1)
        return self.layers(x)  # type: ignore[no-any-return]


class Mlp(nn.Module):
    """Hidden layers: linear, layer norm if asked, activation; `[..., inputs] -> [..., outputs]`."""

    def __init__(
        self, inputs: int, widths: Sequence[int], activation: str = "tanh", layer_norm: bool = False
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        self.outputs = inputs
        for width in widths:
            layers.append(nn.Linear(self.outputs, width))
            if layer_norm:
                layers.append(nn.LayerNorm(width))
            layers.append(make_activation(activation))
            self.outputs = width
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)  # type: ignore[no-any-return]

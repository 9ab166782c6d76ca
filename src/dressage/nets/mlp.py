"""Multilayer perceptrons."""

from __future__ import annotations

from collections.abc import Sequence

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

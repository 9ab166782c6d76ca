"""Encoders: from a canonical observation to a feature vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dressage.errors import ConfigError
from dressage.nets.convolutions import Kernels, convolved
from dressage.nets.mlp import make_activation
from dressage.nets.parts import in_parts, threads


class Cnn(nn.Module):
    """The network of Mnih et al. 2015 (8x8/4, 4x4/2, 3x3/1, 512 units), smaller for small images.

    `uint8 [..., C, H, W] -> [..., 512]`; pixels are divided by 255 here, so buffers stay in bytes.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.shape = channels, height, width = tuple(shape)
        if min(height, width) >= 36:
            self.layers = [(32, 8, 4), (64, 4, 2), (64, 3, 1)]  # channels, kernel, stride
        else:  # grids and thumbnails
            self.layers = (
                [(16, 3, 1), (32, 3, 1), (64, 3, 1)] if min(height, width) >= 7 else [(32, 2, 1)]
            )
        layers: list[nn.Module] = []
        for out, kernel, stride in self.layers:
            layers += [nn.Conv2d(channels, out, kernel, stride), nn.ReLU(inplace=True)]
            channels = out
        self.conv = nn.Sequential(*layers, nn.Flatten())
        with torch.no_grad():
            flat = self.conv(torch.zeros(1, *shape)).shape[1]
        self.linear = nn.Linear(flat, 512)
        self.activation = make_activation("relu")
        self.outputs = 512
        self.kernels: Kernels | None = None  # faster ones than torch's, for float32 on a CPU

    def forward(self, image: Tensor) -> Tensor:
        lead = image.shape[:-3]
        x = in_parts(self._linear, image.reshape(-1, *image.shape[-3:]), self)
        return self.activation(x).reshape(*lead, -1)  # type: ignore[no-any-return]

    def _linear(self, x: Tensor) -> Tensor:
        """Up to the last activation, which is outside: the Learner watches its units."""
        x = self._convolved(x)
        weight, bias = self.linear.weight, self.linear.bias
        few = len(x) <= FEW and not torch.is_grad_enabled()
        if few and self.kernels is not None and fits_kernels(x, weight):
            return self.kernels.linear(x, weight, bias, threads())
        if len(x) in AS_COLUMNS:
            return torch.addmm(bias.unsqueeze(1), weight, x.t()).t()
        return self.linear(x)  # type: ignore[no-any-return]

    def _convolved(self, x: Tensor) -> Tensor:
        if self.kernels is not None and self._takes_kernels(x):
            return convolved(self.kernels, x.contiguous(), list(self.conv.parameters()))
        if in_blocks(x, self.conv[0]):  # type: ignore[arg-type]
            x = conv_of_blocks(x, self.conv[0])  # type: ignore[arg-type]
        else:
            # channels last: convolutions on a CPU take 0.8 of the time (batch 256, one thread)
            x = x.to(self.linear.weight.dtype, memory_format=torch.channels_last)
            x = self.conv[0](x / 255.0)
        for layer in islice(self.conv, 1, None):
            x = layer(x)
        return x

    def _takes_kernels(self, x: Tensor) -> bool:
        return x.dtype == torch.uint8 and fits_kernels(x, self.linear.weight)


FEW = 12  # rows, say one an environment: to read the weights takes most of the time
AS_COLUMNS = range(4, 129)  # rows: 8 take 0.6 of the time so, 128 take 0.9
BLOCK = 4  # pixels a side


def fits_kernels(x: Tensor, weight: Tensor) -> bool:
    """Whether our own kernels compute what torch would: float32 on a CPU, step by step."""
    return (
        x.device.type == "cpu"
        and weight.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )


def in_blocks(image: Tensor, conv: nn.Conv2d) -> bool:
    """Whether `conv_of_blocks` can take the place of `conv`, and is faster: on a CPU."""
    return (
        image.dtype == torch.uint8
        and image.device.type == "cpu"
        and conv.kernel_size == (2 * BLOCK, 2 * BLOCK)
        and conv.stride == (BLOCK, BLOCK)
        and image.shape[-1] % BLOCK == 0
    )


def conv_of_blocks(image: Tensor, conv: nn.Conv2d) -> Tensor:
    """`conv(image / 255)` for a kernel of 8x8 and a stride of 4, `uint8 [B, C, H, W]`.

    Blocks of 4x4 pixels become channels: the same sums are then a 2x2 convolution of stride 1 over
    16 C channels, which the library computes twice as fast (its gradient four times). The four
    bytes of a block's row are moved as one number, and the weights are divided, not the pixels.
    """
    rows, columns = image.shape[2] // BLOCK, image.shape[3] // BLOCK
    image = image[:, :, : rows * BLOCK].contiguous()
    words = image.view(torch.int32).view(-1, conv.in_channels, rows, BLOCK, columns)
    blocks = words.permute(0, 2, 4, 1, 3).contiguous().view(torch.uint8)  # [B, rows, columns, C, …]
    x = blocks.view(-1, rows, columns, conv.in_channels * BLOCK * BLOCK).to(conv.weight.dtype)
    weight = (conv.weight / 255.0).view(-1, conv.in_channels, 2, BLOCK, 2, BLOCK)
    weight = weight.permute(0, 2, 4, 1, 3, 5).flatten(3).permute(0, 3, 1, 2)  # channels last
    return F.conv2d(x.permute(0, 3, 1, 2), weight, conv.bias)


class Concat(nn.Module):
    """The vector part beside the encoded images of an observation that has both."""

    def __init__(self, shapes: Mapping[str, Sequence[int]]) -> None:
        super().__init__()
        self.images = nn.ModuleDict({k: Cnn(s) for k, s in shapes.items() if k != "vector"})
        self.has_vector = "vector" in shapes
        self.outputs = sum(net.outputs for net in self.images.values()) + (  # type: ignore[misc]
            shapes["vector"][0] if self.has_vector else 0
        )

    def forward(self, obs: Mapping[str, Tensor]) -> Tensor:
        parts = [obs["vector"]] if self.has_vector else []
        parts += [net(obs[name]) for name, net in self.images.items()]
        return torch.cat(parts, dim=-1)


class Identity(nn.Module):
    """A plain vector observation is its own features."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.outputs = size

    def forward(self, x: Tensor) -> Tensor:
        return x


def make_encoder(shapes: Any, custom: Any = None) -> nn.Module:
    """`shapes`: `(D,)`, `(C, H, W)`, or a dict of them. `custom(shapes)` replaces ours."""
    if custom is not None:
        net = custom(shapes)
        if not isinstance(getattr(net, "outputs", None), int):
            raise ConfigError(
                f"net= made a {type(net).__name__} without a whole number `outputs`: set "
                "self.outputs to the number of features that its forward returns."
            )
        for layer in net.modules():
            layer.keep_init = True  # its own first weights stand
        return net  # type: ignore[no-any-return]
    if isinstance(shapes, Mapping):
        return Concat(shapes)
    return Cnn(shapes) if len(shapes) == 3 else Identity(shapes[0])

"""Convolutions in C for networks of the torch engine: the Atari network's take 0.6 of the time."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dressage.lazy import torch
from dressage.native import face
from dressage.native.face import Int, Int64, Pointer
from dressage.native.structs import ConvShape

if TYPE_CHECKING:
    from torch import Tensor, nn


class Convolutions:
    """The functions of conv.h for one shape: `Kernels` of nets/convolutions.py."""

    def __init__(
        self,
        shape: Sequence[int],
        layers: Sequence[tuple[int, int, int]],  # of each: channels, kernel, stride
        library: face.Library | None = None,
        real: str = "f32",
    ) -> None:
        kernel = (library or face.library()).kernel
        given = [Pointer, Int64, *[Pointer] * 4]
        self._forward = kernel("conv_forward", real, [*given, Int, Pointer])
        self._backward = kernel("conv_backward", real, [*given, *[Pointer] * 3])
        self._linear = kernel("few_rows_linear", real, [*[Int64] * 3, *[Pointer] * 4, Int])
        self._shape = ConvShape(*shape, len(layers), *zip(*layers, strict=True))
        features, kept, work = Int64(), Int64(), Int64()
        sizes = kernel("conv_sizes", real, [Pointer] * 4, Int)
        if sizes(*map(ctypes.byref, (self._shape, features, kept, work))):
            raise ValueError(f"images of {tuple(shape)} do not go through the layers {layers}")
        self._features, self._kept, self._work = features.value, kept.value, work.value

    def __deepcopy__(self, memo: Any) -> Convolutions:
        return self  # nothing in it changes

    def forward(
        self, images: Tensor, parameters: Sequence[Tensor], keep: bool, threads: int = 1
    ) -> tuple[Tensor, Tensor | None]:
        rows = len(images)
        features = parameters[0].new_empty(rows, self._features)
        kept = parameters[0].new_empty(rows, self._kept) if keep else None
        work = torch.empty(threads * self._work, dtype=torch.uint8)
        self._forward(
            ctypes.byref(self._shape),
            rows,
            _address(images),
            _addresses(parameters),
            None if kept is None else _address(kept),
            _address(features),
            threads,
            _address(work),
        )
        return features, kept

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor, threads: int = 1) -> Tensor:
        outs, n = weight.shape
        result = x.new_empty(len(x), outs)
        given = map(_address, (x, weight, bias, result))
        self._linear(len(x), outs, n, *given, threads)
        return result

    def backward(
        self,
        images: Tensor,
        parameters: Sequence[Tensor],
        kept: Tensor,
        features: Tensor,
        gradient: Tensor,
    ) -> list[Tensor]:
        gradients = [torch.empty_like(p) for p in parameters]
        work = torch.empty(self._work, dtype=torch.uint8)
        self._backward(
            ctypes.byref(self._shape),
            len(images),
            _address(images),
            _addresses(parameters),
            _address(kept),
            _address(features),
            _address(gradient),
            _addresses(gradients),
            _address(work),
        )
        return gradients


def _address(tensor: Tensor) -> int:
    assert tensor.is_contiguous() and tensor.device.type == "cpu"
    return int(tensor.data_ptr())


def _addresses(tensors: Sequence[Tensor]) -> Any:
    return (Pointer * len(tensors))(*map(_address, tensors))


def use_convolutions(nets: Iterable[nn.Module]) -> None:
    """Gives the image networks among these our kernels, where the library is there."""
    from dressage.nets.encoder import Cnn

    if face.reason():
        return
    for net in nets:
        for module in net.modules():
            if isinstance(module, Cnn):
                module.kernels = Convolutions(module.shape, module.layers)

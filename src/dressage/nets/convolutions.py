"""The convolutions of an image network as one step of the graph, computed by other kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dressage.nets.parts import threads


class Kernels(Protocol):
    """Convolutions, each with its ReLU, from bytes `[B, C, H, W]` to features `[B, F]` in torch's
    order; `parameters` are the weight and the bias of each."""

    def forward(
        self, images: Tensor, parameters: Sequence[Tensor], keep: bool, threads: int = 1
    ) -> tuple[Tensor, Tensor | None]:
        """The features, and where `keep` is set what `backward` needs beside them."""

    def backward(
        self,
        images: Tensor,
        parameters: Sequence[Tensor],
        kept: Tensor,
        features: Tensor,
        gradient: Tensor,
    ) -> Sequence[Tensor]:
        """The gradients of the parameters from that of the features."""

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor, threads: int = 1) -> Tensor:
        """A linear layer without gradients, for few rows."""


def convolved(kernels: Kernels, images: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    if torch.is_grad_enabled() and any(p.requires_grad for p in parameters):
        return _Convolved.apply(kernels, images, *parameters)  # type: ignore[no-any-return, no-untyped-call]
    return kernels.forward(images, parameters, keep=False, threads=threads())[0]


class _Convolved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kernels: Kernels, images: Tensor, *parameters: Tensor) -> Tensor:
        features, kept = kernels.forward(images, parameters, keep=True)
        ctx.kernels = kernels
        ctx.save_for_backward(images, kept, features, *parameters)
        return features

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        images, kept, features, *parameters = ctx.saved_tensors
        found = ctx.kernels.backward(images, parameters, kept, features, gradient.contiguous())
        return None, None, *found

"""A large batch in parts, each with its forward and backward pass on a thread of its own.

Torch's own threads share out every operation, wait for one another after each, and change how sums
are rounded. Parts have a fixed number of rows and their gradients are added in order: how many
threads there are, and whether others keep the cores busy, changes no result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

ROWS = 128  # of a part; with 64 images a part, the Atari network takes 1.1 times the time
Item = TypeVar("Item")
Result = TypeVar("Result")
_pool: ThreadPoolExecutor | None = None
_threads = 1


def use_threads(number: int) -> None:
    """How many parts are worked on at once in this process; 1: one after the other, as at first."""
    global _pool, _threads
    if _pool is not None:
        _pool.shutdown()
    _pool = ThreadPoolExecutor(number, "dressage-part") if number > 1 else None
    _threads = number


def threads() -> int:
    return _threads


def in_parts(function: Callable[[Tensor], Tensor], rows: Tensor, module: nn.Module) -> Tensor:
    """`function(rows)`; parts pay where a gradient is wanted, and there are rows for two.

    `function` treats each row alone, and of what has gradients it uses the parameters of `module`.
    """
    splits = (
        rows.device.type == "cpu"
        and len(rows) >= 2 * ROWS
        and torch.is_grad_enabled()
        and not rows.requires_grad
        and not torch.is_autocast_enabled("cpu")  # each thread has a state of its own
        and not torch.compiler.is_compiling()
    )
    if not splits:
        return function(rows)
    parameters = [p for p in module.parameters() if p.requires_grad]
    return _InParts.apply(function, rows, *parameters)  # type: ignore[no-any-return, no-untyped-call]


class _InParts(torch.autograd.Function):
    """Keeps the graph of each part, to go back through it on a thread too."""

    @staticmethod
    def forward(
        ctx: Any, function: Callable[[Tensor], Tensor], rows: Tensor, *parameters: Tensor
    ) -> Tensor:
        def one(part: Tensor) -> Tensor:
            with torch.enable_grad():
                return function(part)

        ctx.parts, ctx.parameters = _each(one, torch.split(rows, ROWS)), parameters
        return torch.cat([part.detach() for part in ctx.parts])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        def one(part: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
            return torch.autograd.grad(part[0], ctx.parameters, part[1])  # type: ignore[no-any-return]

        first, *others = _each(one, zip(ctx.parts, torch.split(gradient, ROWS), strict=True))
        ctx.parts = None
        for other in others:
            for total, more in zip(first, other, strict=True):
                total.add_(more)
        return None, None, *first


def _each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    return list(map(function, items) if _pool is None else _pool.map(function, items))

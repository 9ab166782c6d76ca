"""What is too costly to measure at every update: units that sleep, and how far weights move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

DORMANT_TAU = 0.025  # Sokar et al. 2023, "The dormant neuron phenomenon", section 3


@contextmanager
def watched_units(modules: Mapping[str, nn.Module]) -> Iterator[dict[str, Tensor]]:
    """Share of dormant units by chunk: mean |activation| at most tau times the layer's mean.

    The dictionary is filled when the forward pass within has ended.
    """
    found: dict[str, list[Tensor]] = {name: [] for name in modules}
    hooks = []

    def watch(name: str) -> Any:
        def hook(module: nn.Module, inputs: Any, output: Tensor) -> None:
            size = output.detach().float().abs().flatten(0, -2).mean(0)
            found[name].append((size <= DORMANT_TAU * size.mean()).float())

        return hook

    for name, module in modules.items():
        hooks += [
            layer.register_forward_hook(watch(name))
            for layer in module.modules()
            if getattr(layer, "is_activation", False)
        ]
    result: dict[str, Tensor] = {}
    try:
        yield result
    finally:
        for handle in hooks:
            handle.remove()
    for name, layers in found.items():
        if layers:
            result[f"train/metrics/dormant_share/{name}"] = torch.cat(layers).mean()


def weight_metrics(values: Mapping[str, Tensor], before: Tensor) -> dict[str, Tensor]:
    """Size of each chunk's weights, and of their change; `before` holds all chunks in a row."""
    metrics, start = {}, 0
    for name, value in values.items():
        old = before[start : start + value.numel()]
        start += value.numel()
        norm = torch.linalg.vector_norm(old)
        change = torch.linalg.vector_norm(value.detach() - old)
        metrics[f"train/metrics/weight_norm/{name}"] = norm
        metrics[f"train/metrics/update_to_weight/{name}"] = change / (norm + 1e-12)
    return metrics

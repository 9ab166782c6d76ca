"""Hooks on a model's optimizers: the norm of gradients before they are clipped, how large weights
are and how far they move, and which hidden units sleep. Nothing is changed, and nothing drawn.

SB3 clips gradients in place between `backward()` and `step()`. So norms are taken as gradients
arrive, by hooks on the parameters that are there only for the updates that are measured: evenly
spaced ones, at most `MEASURED` in an interval and one in `SPARSE`, since that costs about 0.1 ms;
and one in an interval that is looked at closely.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dressage.core.inspection import DORMANT_TAU, weight_metrics
from dressage.lazy import torch
from dressage.sb3.networks import Stepped

if TYPE_CHECKING:
    from torch import Tensor

MEASURED, SPARSE = 16, 8  # the mean of a few updates stands for that of all
Metrics = dict[str, Any]


class Watch:
    """One optimizer. `measured` collects the metrics of updates as tensors; `count` is how many
    there were."""

    def __init__(self, stepped: Stepped) -> None:
        self.of = stepped
        self.measured: list[Metrics] = []
        self.looked: Metrics = {}  # what is looked at once an interval
        self.count = self._counted = 0
        self._every = SPARSE
        self._norms: dict[Tensor, Tensor] = {}
        self._sizes: dict[str, dict[str, list[Tensor]]] = {}
        self._before: Tensor | None = None
        self._looks = False
        self._on_update: list[Any] = []  # handles of hooks that the next update removes
        self._handles = [
            stepped.optimizer.register_step_pre_hook(_before_step(self)),
            stepped.optimizer.register_step_post_hook(_after_step(self)),
        ]
        self.look_at_next()

    def look_at_next(self) -> None:
        """The next update is measured, and looked at closely."""
        self._looks = True
        self._measure_next()

    def take(self) -> tuple[list[Metrics], Metrics]:
        """What was found since the last time; the next update is looked at closely again."""
        found = self.measured, self.looked
        made, self._counted = self.count - self._counted, self.count
        self._every = max(SPARSE, made // MEASURED)
        self.measured, self.looked = [], {}
        if not self._looks:
            self.look_at_next()
        return found

    def remove(self) -> None:
        for handle in [*self._handles, *self._on_update]:
            handle.remove()
        self._handles, self._on_update = [], []

    def _measure_next(self) -> None:
        self._forget()
        norms = self._norms

        def arrived(parameter: Tensor) -> None:
            assert parameter.grad is not None
            norms[parameter] = torch.linalg.vector_norm(parameter.grad)

        self._on_update = [
            parameter.register_post_accumulate_grad_hook(arrived)  # type: ignore[no-untyped-call]
            for parameters in self.of.networks.values()
            for parameter in parameters
            if parameter.requires_grad
        ]
        if self._looks:
            self._sizes = {network: {} for network in self.of.units}
            self._on_update += [
                layer.register_forward_hook(_sizes_of_units(self._sizes[network], place))
                for network, layers in self.of.units.items()
                for place, layer in layers
            ]

    def _forget(self) -> None:
        for handle in self._on_update:
            handle.remove()
        self._on_update = []
        self._norms.clear()

    def before_step(self) -> None:
        if not self._on_update:
            return
        self.measured.append(self._gradient())
        if len(self.measured) >= 8 * MEASURED:  # an interval longer than the one before
            self.measured, self._every = self.measured[::2], 2 * self._every
        if self._looks:
            self.looked = {
                f"train/metrics/dormant_share/{network}": dormant_share(sizes)
                for network, sizes in self._sizes.items()
                if sizes
            }
            self._before = torch.cat(list(self._weights().values()))
        self._forget()

    def after_step(self) -> None:
        self.count += 1
        if self._before is not None:
            self.looked |= weight_metrics(self._weights(), self._before)
            self._before, self._looks = None, False
        if self.count % self._every == 0 or self._looks:
            self._measure_next()

    def _gradient(self) -> Metrics:
        """A parameter that no gradient has reached has a gradient of zero."""
        first = next(p for parameters in self.of.networks.values() for p in parameters)
        zero = torch.zeros((), device=first.device)
        found = {
            name: torch.linalg.vector_norm(
                torch.stack([self._norms.get(p, zero) for p in parameters] or [zero])
            )
            for name, parameters in self.of.networks.items()
        }
        total = torch.linalg.vector_norm(torch.stack(list(found.values())))
        metrics = {f"train/metrics/grad_norm/{name}": norm for name, norm in found.items()}
        if self.of.in_total:
            metrics["train/metrics/grad_norm/total"] = total
        metrics["train/metrics/grad_clipped"] = (total > self.of.max_grad_norm).float()
        return metrics

    def _weights(self) -> dict[str, Tensor]:
        return {
            name: torch.cat([p.detach().reshape(-1) for p in parameters])
            for name, parameters in self.of.networks.items()
            if parameters
        }


# Functions rather than methods: a deep copy of a policy takes functions as they are.


def _before_step(watch: Watch) -> Callable[..., None]:
    def hook(*_: object) -> None:
        watch.before_step()

    return hook


def _after_step(watch: Watch) -> Callable[..., None]:
    def hook(*_: object) -> None:
        watch.after_step()

    return hook


def _sizes_of_units(sizes: dict[str, list[Tensor]], place: str) -> Callable[..., None]:
    """Mean size of each unit's activation in a loss, `[units]`; a channel of an image is one."""

    def hook(layer: Any, inputs: Any, output: Tensor) -> None:
        if not torch.is_grad_enabled():  # collecting, or a target
            return
        size = output.detach().float().abs()
        size = size.mean((0, 2, 3)) if size.dim() == 4 else size.flatten(0, -2).mean(0)
        sizes.setdefault(place, []).append(size)

    return hook


def dormant_share(sizes: dict[str, list[Tensor]]) -> Tensor:
    """Sokar et al. 2023: units whose mean size is at most tau times their layer's mean."""
    layers = [torch.stack(passes).mean(0) for passes in sizes.values()]
    return torch.cat([(size <= DORMANT_TAU * size.mean()).float() for size in layers]).mean()

"""`OffPolicyLearner`: networks with slow copies, their moments and counters, in arrays for C.

Its checkpoints have the names and shapes of torch's, so that either engine goes on from them.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.config import OptimizerSettings
from dressage.errors import RunError
from dressage.native.face import address, library
from dressage.native.learner import COUNTS_STEPS, Arrays, kept_moments, optim_settings
from dressage.native.network import Floats
from dressage.native.off_structs import OffPart
from dressage.native.structs import Int64, Pointer
from dressage.native.threads import Threads
from dressage.native.towers import Tower

LINE = 64  # bytes: a vector that lies in two lines of the cache takes C 12 % longer


def aligned(values: Floats) -> Floats:
    """A copy that begins with a line of the cache."""
    room = np.empty(values.nbytes + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    copy = room[start : start + values.nbytes].view(np.float32)
    copy[:] = values
    return copy


@dataclass
class Part:
    """What one optimizer steps: a network, or the temperature, which has no tower."""

    net: str  # its name in checkpoints
    group: str
    tower: Tower | None
    flat: Floats  # in C's order
    target_net: str | None = None

    def __post_init__(self) -> None:
        zeros = np.zeros_like(self.flat)
        self.flat, self.first, self.second = map(aligned, (self.flat, zeros, zeros))
        self.target = None if self.target_net is None else aligned(self.flat)
        self.steps = 0
        size = self.tower.backward_size if self.tower is not None else 0
        self.backward = aligned(np.zeros(size, np.float32))  # transposed weights,
        self.transposed = False  # and whether they are those of `flat`

    def to_torch(self, ours: Floats) -> Floats:
        return ours.copy() if self.tower is None else self.tower.to_torch(ours)

    def from_torch(self, flat: Floats) -> Floats:
        return flat if self.tower is None else self.tower.from_torch(flat)

    def named(self, net: str, ours: Floats) -> dict[str, Floats]:
        if self.tower is not None:
            return self.tower.views(net, ours)
        return {f"{net}.log_alpha": ours[0].copy()}

    def for_c(self) -> OffPart:
        """Its shape and arrays, which must outlive the call."""
        c = OffPart()
        if self.tower is not None:
            c.shape = self.tower.shape
        c.parameters = address(self.flat, np.float32)
        c.first, c.second = address(self.first, np.float32), address(self.second, np.float32)
        c.target = None if self.target is None else address(self.target, np.float32)
        c.backward = address(self.backward, np.float32)
        return c


class OffPolicyLearner:
    """Parts by the names of off_policy.h: critic, actor, temperature."""

    device = "cpu"

    def __init__(self, parts: Mapping[str, Part], settings: OptimizerSettings) -> None:
        self.parts, self.settings = dict(parts), settings
        self.threads = Threads(1)  # of an update; no result depends on their number
        self.updates = 0
        self.inspected: set[str] = set()  # parts whose next step also measures what is costly
        self._start_moments()

    @property
    def inspect_next(self) -> bool:
        """Whether the next step of a part also measures what is too costly for every step."""
        return bool(self.inspected)

    @inspect_next.setter
    def inspect_next(self, wanted: bool) -> None:
        self.inspected = set(self.parts) if wanted else set()

    def _start_moments(self) -> None:
        start = library().kernel("optim_start", "f32", [Pointer, Int64, Pointer, Pointer])
        optimizer = optim_settings(self.settings.at(0.0))
        for part in self.parts.values():
            where = part.first.ctypes.data, part.second.ctypes.data
            start(ctypes.byref(optimizer), part.flat.size, *where)

    @contextmanager
    def training(self, seed: int) -> Iterator[None]:
        """No layer of ours draws or learns outside its parameters."""
        yield

    def values(self, part: str, x: Floats, target: bool = False) -> Floats:
        """What a network, or its slow copy, says of inputs `[N, inputs]`: `[E, N, outputs]`."""
        p = self.parts[part]
        flat = p.target if target else p.flat
        assert p.tower is not None and flat is not None
        return p.tower.values(flat, x)

    # -- state -----------------------------------------------------------------------------------

    def trained(self) -> dict[str, list[npt.NDArray[Any]]]:
        """As core/learner.Learner's."""
        return {p.net: list(p.named(p.net, p.flat).values()) for p in self.parts.values()}

    def weights(self) -> Arrays:
        found: Arrays = {}
        for part in self.parts.values():
            found |= part.named(part.net, part.flat)
            if part.target_net is not None and part.target is not None:
                found |= part.named(part.target_net, part.target)
        return found

    def load_weights(self, arrays: Arrays) -> None:
        mine = self.weights()
        if missing := sorted(mine.keys() - arrays.keys()):
            raise RunError(
                f"The checkpoint lacks the weights {missing[:3]}: it is of another network."
            )
        for name, value in mine.items():
            if value.shape != arrays[name].shape:
                raise RunError(
                    f"The checkpoint's {name} has shape {arrays[name].shape}, this network's has "
                    f"{value.shape}: use the settings that the checkpoint was trained with."
                )
        for part in self.parts.values():
            part.flat[:] = self._loaded(part, part.net, arrays)
            part.transposed = False
            if part.target_net is not None and part.target is not None:
                part.target[:] = self._loaded(part, part.target_net, arrays)

    def _loaded(self, part: Part, net: str, arrays: Arrays) -> Floats:
        names = part.named(net, part.flat)
        return part.from_torch(np.concatenate([arrays[name].reshape(-1) for name in names]))

    def optimizer_state(self) -> tuple[Arrays, dict[str, Any]]:
        """As core/learner.Learner's: nothing before the first step, as torch's optimizers."""
        arrays: Arrays = {}
        plain: dict[str, Any] = {"updates": self.updates}
        for part in self.parts.values():
            if not part.steps:
                continue
            prefix = f"{part.group}/#0"
            for key, which in kept_moments(self.settings):
                if which is None:
                    plain[f"{prefix}/{key}"] = None
                else:
                    arrays[f"{prefix}/{key}"] = part.to_torch(getattr(part, which))
            if self.settings.optimizer in COUNTS_STEPS:
                arrays[f"{prefix}/step"] = np.array(part.steps, np.float32)
            else:
                plain[f"{part.group}/steps"] = part.steps
        return arrays, plain

    def load_optimizer_state(self, arrays: Arrays, plain: dict[str, Any]) -> None:
        self.updates = plain["updates"]
        self._start_moments()
        for part in self.parts.values():
            prefix = f"{part.group}/#0"
            for key, which in kept_moments(self.settings):
                if which is not None and f"{prefix}/{key}" in arrays:
                    getattr(part, which)[:] = part.from_torch(
                        np.ascontiguousarray(arrays[f"{prefix}/{key}"], np.float32).reshape(-1)
                    )
            if f"{prefix}/step" in arrays:
                part.steps = int(arrays[f"{prefix}/step"])
            if f"{part.group}/steps" in plain:
                part.steps = int(plain[f"{part.group}/steps"])


def temperature(first: float) -> Part:
    """nets/continuous.Temperature, with a group of its own."""
    return Part("alpha", "alpha", None, np.array([math.log(first)], np.float32))

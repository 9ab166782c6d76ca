"""Networks of off-policy algorithms as C sees them: shapes, and parameters by torch's names."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dressage.core.initial import linear_bias, linear_weight
from dressage.core.rng import Rng
from dressage.native.face import address, library
from dressage.native.network import Floats, Parameter
from dressage.native.off_structs import TowerShape
from dressage.native.structs import ACTIVATIONS, MOST_LAYERS, Int32, Int64, Pointer


@dataclass(frozen=True)
class Stacked:
    """A parameter of nets/mlp.EnsembleLinear, whose members are drawn one by one."""

    name: str
    shape: tuple[int, ...]  # [E, inputs, outputs], or [E, 1, outputs] of a bias
    inputs: int
    gain: float
    is_bias: bool

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def first_value(self, rng: Rng, ortho: bool) -> Floats:
        layer, _, kind = self.name.rpartition(".")
        members, outputs = self.shape[0], self.shape[2]
        names = [f"{layer}.{i}.{kind}" for i in range(members)]
        if self.is_bias:
            drawn = [linear_bias(rng, name, outputs, self.inputs, ortho)[None] for name in names]
        else:
            shape = (outputs, self.inputs)
            drawn = [linear_weight(rng, name, shape, self.gain, ortho).T for name in names]
        return np.stack(drawn)


class Tower:
    """One network: a torso with one or two heads, or an ensemble of critics."""

    def __init__(
        self,
        inputs: int,
        widths: Sequence[int],
        heads: dict[str, tuple[int, float]],  # name -> outputs and gain of a linear layer
        s: Any,
        members: int | None = None,  # of an ensemble; None: a torso and its heads
    ) -> None:
        outputs = [count for count, _ in heads.values()]
        self.members = members or 1
        self.inputs, self.outputs = inputs, sum(outputs)
        self.shape = TowerShape(
            self.members,
            inputs,
            len(widths),
            ACTIVATIONS.index(s.activation),
            s.layer_norm,
            members is not None,
            (Int32 * 2)(*outputs),
            (Int32 * MOST_LAYERS)(*widths),
        )
        self.parameters = _parameters(inputs, widths, heads, s.layer_norm, members)
        find = library().kernel
        sizes = Int64(), Int64(), Int64()
        find("tower_sizes", "f32", [Pointer] * 4, Int32)(
            ctypes.byref(self.shape), *map(ctypes.byref, sizes)
        )
        self.size, self.torch_size, self.backward_size = (size.value for size in sizes)
        self._from_torch = find("tower_from_torch", "f32", [Pointer] * 3, Int32)
        self._to_torch = find("tower_to_torch", "f32", [Pointer] * 3, Int32)
        self._values = find("tower_values", "f32", [Pointer, Pointer, Int64, *[Pointer] * 3], Int32)
        needed = find("tower_values_bytes", "f32", [Pointer], Int64)(ctypes.byref(self.shape))
        self._memory = np.empty(needed, np.uint8)

    def first_values(self, name: str, rng: Rng, ortho: bool) -> Floats:
        """What nets/initialise.py draws for the network `name`, in C's order."""
        drawn = [p.first_value(rng, ortho).ravel() for p in self.named(name)]
        return self.from_torch(np.concatenate(drawn))

    def named(self, name: str) -> list[Any]:
        """The parameters with the name of their network."""
        return [type(p)(**{**vars(p), "name": f"{name}.{p.name}"}) for p in self.parameters]

    def from_torch(self, flat: Floats) -> Floats:
        """Numbers in the order of torch's parameters into C's order."""
        flat, ours = np.ascontiguousarray(flat, np.float32), np.empty(self.size, np.float32)
        self._from_torch(
            ctypes.byref(self.shape), address(flat, np.float32), address(ours, np.float32)
        )
        return ours

    def to_torch(self, ours: Floats) -> Floats:
        flat = np.empty(self.torch_size, np.float32)
        self._to_torch(
            ctypes.byref(self.shape), address(ours, np.float32), address(flat, np.float32)
        )
        return flat

    def views(self, name: str, ours: Floats) -> dict[str, Floats]:
        """Copies of all parameters by their names in checkpoints."""
        flat, found, start = self.to_torch(ours), {}, 0
        for p in self.named(name):
            found[p.name] = flat[start : start + p.size].reshape(p.shape)
            start += p.size
        return found

    def values(self, parameters: Floats, x: Floats) -> Floats:
        """`[N, inputs] -> [E, N, outputs]`."""
        x = np.ascontiguousarray(x, np.float32)
        out = np.empty((self.members, len(x), self.outputs), np.float32)
        self._values(
            ctypes.byref(self.shape),
            parameters.ctypes.data,
            len(x),
            x.ctypes.data,
            out.ctypes.data,
            self._memory.ctypes.data,
        )
        return out


def _parameters(
    inputs: int,
    widths: Sequence[int],
    heads: dict[str, tuple[int, float]],
    layer_norm: bool,
    members: int | None,
) -> list[Any]:
    """In the order in which torch lists them; without the name of the network."""
    found: list[Any] = []

    def linear(path: str, inputs: int, outputs: int, gain: float) -> None:
        weight, bias = f"{path}.weight", f"{path}.bias"
        if members is None:
            found.append(Parameter(weight, "", (outputs, inputs), gain=gain))
            found.append(Parameter(bias, "", (outputs,), fan_in=inputs))
        else:
            found.append(Stacked(weight, (members, inputs, outputs), inputs, gain, False))
            found.append(Stacked(bias, (members, 1, outputs), inputs, gain, True))

    trunk, index = "torso.mlp.layers" if members is None else "mlp.layers", 0
    for width in widths:
        linear(f"{trunk}.{index}", inputs, width, math.sqrt(2.0))
        if layer_norm:
            found.append(Parameter(f"{trunk}.{index + 1}.weight", "", (width,), constant=1.0))
            found.append(Parameter(f"{trunk}.{index + 1}.bias", "", (width,)))
        index += 3 if layer_norm else 2
        inputs = width
    for name, (outputs, gain) in heads.items():
        linear(f"{trunk}.{index}" if members is not None else name, inputs, outputs, gain)
    return found

"""An actor and a critic as C sees them: a shape, and flat parameters that have torch's names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.config import NetworkSettings
from dressage.core.initial import linear_bias, linear_weight
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.native.structs import ACTIVATIONS, CHUNKS, MOST_LAYERS, Int32, NetShape

NET = "actor_critic"  # the name of the network in checkpoints, as algos call it
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Parameter:
    """One of the network's parameters, in the order of the flat array."""

    name: str  # torch's, with the network's
    chunk: str
    shape: tuple[int, ...]
    gain: float = 0.0  # of a weight; 0: not a weight
    fan_in: int = 0  # of a bias; 0: not one
    constant: float = 0.0  # of what is neither

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def first_value(self, rng: Rng, ortho: bool) -> Floats:
        if self.gain:
            return linear_weight(rng, self.name, self.shape, self.gain, ortho)
        if self.fan_in:
            return linear_bias(rng, self.name, self.shape[0], self.fan_in, ortho)
        return np.full(self.shape, self.constant, np.float32)


class Network:
    """The layout of nets/actor_critic.ActorCritic, for networks that C has."""

    def __init__(self, spec: TaskSpec, s: NetworkSettings) -> None:
        arch = s.net_arch
        widths = arch if isinstance(arch, dict) else {"policy": arch, "value": arch}
        self.obs_size: int = spec.obs_shapes[0]
        self.categories = tuple(spec.action.categories)
        self.continuous = int(spec.action.continuous)
        self.action_size = len(self.categories) + self.continuous
        self.parameters = _parameters(self.obs_size, widths, self.categories, self.continuous, s)
        self.chunks = CHUNKS if s.share_features else CHUNKS[:2]
        self.slices: dict[str, slice] = {}  # of each chunk in the flat array
        start = 0
        for chunk in self.chunks:
            end = start + sum(p.size for p in self.parameters if p.chunk == chunk)
            self.slices[chunk] = slice(start, end)
            start = end
        self.size = start
        self._categories = np.array(self.categories, np.int32)  # C keeps its address
        self.shape = NetShape(
            self.obs_size,
            s.share_features,
            ACTIVATIONS.index(s.activation),
            s.layer_norm,
            len(widths["policy"]),
            len(widths["value"]),
            (Int32 * MOST_LAYERS)(*widths["policy"]),
            (Int32 * MOST_LAYERS)(*widths["value"]),
            len(self.categories),
            self.continuous,
            s.squash,
            self._categories.ctypes.data,
        )

    def first_values(self, rng: Rng, ortho: bool) -> Floats:
        """What nets/initialise.py draws, flat."""
        return np.concatenate([p.first_value(rng, ortho).ravel() for p in self.parameters])

    def views(self, flat: Floats) -> dict[str, Floats]:
        """Each parameter by its name, as a view of `flat`."""
        found, start = {}, 0
        for p in self.parameters:
            found[p.name] = flat[start : start + p.size].reshape(p.shape)
            start += p.size
        return found


def _parameters(
    obs_size: int,
    widths: dict[str, list[int]],
    categories: tuple[int, ...],
    continuous: int,
    s: NetworkSettings,
) -> list[Parameter]:
    """Chunk after chunk, in the order in which torch lists each module's parameters."""
    found: list[Parameter] = []

    def linear(chunk: str, path: str, inputs: int, outputs: int, gain: float) -> None:
        found.append(Parameter(f"{NET}.{path}.weight", chunk, (outputs, inputs), gain=gain))
        found.append(Parameter(f"{NET}.{path}.bias", chunk, (outputs,), fan_in=inputs))

    def torso(chunk: str, path: str, layers: list[int]) -> None:
        inputs, index = obs_size, 0
        for outputs in layers:
            linear(chunk, f"{path}.mlp.layers.{index}", inputs, outputs, math.sqrt(2.0))
            if s.layer_norm:
                norm = f"{NET}.{path}.mlp.layers.{index + 1}"
                found.append(Parameter(f"{norm}.weight", chunk, (outputs,), constant=1.0))
                found.append(Parameter(f"{norm}.bias", chunk, (outputs,)))
            index += 3 if s.layer_norm else 2
            inputs = outputs

    def features(part: str) -> int:
        layers = widths["policy" if s.share_features else part]
        return layers[-1] if layers else obs_size

    if not s.share_features:
        torso("policy", "policy.torso", widths["policy"])
    if continuous:
        name = f"{NET}.policy.head.log_std"
        found.append(Parameter(name, "policy", (continuous,), constant=s.log_std_init))
    if categories:
        linear("policy", "policy.head.logits", features("policy"), sum(categories), 0.01)
    if continuous:
        linear("policy", "policy.head.mean", features("policy"), continuous, 0.01)
    if not s.share_features:
        torso("value", "value.torso", widths["value"])
    linear("value", "value.head", features("value"), 1, 1.0)
    if s.share_features:
        torso("shared", "shared", widths["policy"])
    return found


def why_not(spec: TaskSpec, s: Any, custom_net: str | None) -> str:
    """Why C has no such network; "" where it has."""
    shapes = spec.obs_shapes
    if isinstance(shapes, dict) or len(shapes) != 1:
        return "observations with images need a convolutional network"
    if custom_net is not None:
        return f"net={custom_net} is a network of your own"
    if s.recurrent != "none":
        return f"recurrent={s.recurrent}"
    if s.use_sde:
        return "use_sde=true"
    arch = s.net_arch.values() if isinstance(s.net_arch, dict) else [s.net_arch]
    if max(map(len, arch)) > MOST_LAYERS:
        return f"networks of more than {MOST_LAYERS} hidden layers"
    return ""

"""Observations as arrays: from a Gymnasium space to the canonical form, described in JSON.

Canonical form of one observation:

- every leaf is vector-like (Box flattened, Discrete and MultiDiscrete one-hot, MultiBinary as
  0/1): one float32 vector [D], the leaves concatenated in the order of the space;
- one image (uint8 Box with spatial sizes of at least 8) and nothing else: uint8 [C, H, W];
- anything else: a dict `{"vector": [D], "image": [C, H, W], "image2": ...}`.

Nothing here imports Gymnasium when a codec is read from JSON: a policy works from spec.json.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dressage.envs.actions import ActionCodec
from dressage.errors import EnvError

__all__ = ["ActionCodec", "Leaf", "ObsCodec", "Observation"]

Observation = NDArray[Any] | dict[str, NDArray[Any]]
Key = str | int

SMALLEST_IMAGE = 8  # below this (MiniGrid's 7x7x3) cells are symbols, not pixels
MOST_CHANNELS = 16
LARGEST_ONE_HOT = 65_536


@dataclass(frozen=True)
class Leaf:
    """One Box, Discrete, MultiDiscrete or MultiBinary inside the observation space."""

    name: str  # path joined with "/"; "obs" when the space itself is the leaf
    path: tuple[Key, ...]
    kind: str  # box, image, discrete, multi_discrete, multi_binary
    shape: tuple[int, ...]  # as the environment gives it
    size: int  # columns in the vector; 0 for an image
    categories: tuple[int, ...] = ()
    start: tuple[int, ...] = ()
    layout: str = ""  # axes of an image: HW, HWC, CHW, SHWC, SCHW (S = stacked frames)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """[C, H, W] of an image leaf."""
        axes = dict(zip(self.layout, self.shape, strict=True))
        return axes.get("S", 1) * axes.get("C", 1), axes["H"], axes["W"]


def image_layout(shape: tuple[int, ...]) -> str:
    """The axes of a uint8 Box that holds an image, or "" when it does not."""
    if len(shape) == 2:
        layout = "HW"
    elif len(shape) == 3:
        layout = "HWC" if shape[2] <= MOST_CHANNELS and shape[2] <= shape[0] else "CHW"
    elif len(shape) == 4:  # frames stacked on a new first axis
        layout = "SHWC" if shape[3] <= MOST_CHANNELS and shape[3] <= shape[1] else "SCHW"
    else:
        return ""
    axes = dict(zip(layout, shape, strict=True))
    return layout if min(axes["H"], axes["W"]) >= SMALLEST_IMAGE else ""


def _leaf(space: Any, path: tuple[Key, ...]) -> Leaf:
    from gymnasium import spaces

    name = "/".join(str(key) for key in path) or "obs"
    if isinstance(space, spaces.Box):
        shape = tuple(int(n) for n in space.shape)
        if space.dtype == np.uint8 and (layout := image_layout(shape)):
            return Leaf(name, path, "image", shape, 0, layout=layout)
        return Leaf(name, path, "box", shape, math.prod(shape))
    if isinstance(space, spaces.Discrete):
        leaf = Leaf(name, path, "discrete", (), int(space.n), (int(space.n),), (int(space.start),))
    elif isinstance(space, spaces.MultiDiscrete):
        categories = tuple(int(n) for n in space.nvec.ravel())
        start = tuple(int(n) for n in space.start.ravel())
        shape = tuple(int(n) for n in space.nvec.shape)
        leaf = Leaf(name, path, "multi_discrete", shape, sum(categories), categories, start)
    elif isinstance(space, spaces.MultiBinary):
        shape = tuple(int(n) for n in space.shape)
        return Leaf(name, path, "multi_binary", shape, math.prod(shape))
    else:
        advice = f"leave it out with wrappers=['drop:{name}'], or " if len(path) == 1 else ""
        raise EnvError(
            f"Observation '{name}' is a {type(space).__name__} space, which has no array form "
            "(expected Box, Discrete, MultiDiscrete, MultiBinary, or a Dict or Tuple of them): "
            f"{advice}turn it into a Box with a gymnasium.ObservationWrapper, "
            "wrappers=['my_pkg:MyWrapper']."
        )
    if leaf.size > LARGEST_ONE_HOT:
        raise EnvError(
            f"Observation '{name}' has {leaf.size} categories, too many for a one-hot vector "
            f"(at most {LARGEST_ONE_HOT}): wrap the environment so that it gives a Box of features."
        )
    return leaf


def _leaves(space: Any, path: tuple[Key, ...] = ()) -> list[Leaf]:
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        items: list[tuple[Key, Any]] = list(space.spaces.items())
        for key, _ in items:
            if not isinstance(key, str | int):
                raise EnvError(
                    f"A Dict observation has the key {key!r} of type {type(key).__name__}, "
                    "expected a string: rename it in a wrapper."
                )
    elif isinstance(space, spaces.Tuple):
        items = list(enumerate(space.spaces))
    else:
        return [_leaf(space, path)]
    return [leaf for key, child in items for leaf in _leaves(child, (*path, key))]


@dataclass(frozen=True)
class ObsCodec:
    """Encodes observations of one space; see the module for the canonical form."""

    leaves: tuple[Leaf, ...]
    vector: int = field(init=False)  # D, 0 when there are only images
    images: dict[str, tuple[int, int, int]] = field(init=False)  # canonical name -> [C, H, W]
    slices: dict[str, slice] = field(init=False)  # name of a leaf -> its columns of the vector
    _image_names: tuple[str, ...] = field(init=False, repr=False)  # one per leaf, "" for vectors
    _vector_shape: tuple[int, ...] | None = field(init=False, repr=False)  # the fast path's check

    def __post_init__(self) -> None:
        images: dict[str, tuple[int, int, int]] = {}
        slices: dict[str, slice] = {}
        names, column = [], 0
        for leaf in self.leaves:
            name = ""
            if leaf.kind == "image":
                name = f"image{len(images) + 1}" if images else "image"
                images[name] = leaf.image_shape
            else:
                slices[leaf.name] = slice(column, column + leaf.size)
                column += leaf.size
            names.append(name)
        only = self.leaves[0] if len(self.leaves) == 1 else None
        fast = only.shape if only and only.kind == "box" and len(only.shape) == 1 else None
        for key, value in (
            ("vector", column),
            ("images", images),
            ("slices", slices),
            ("_image_names", tuple(names)),
            ("_vector_shape", fast),
        ):
            object.__setattr__(self, key, value)
        if column == 0 and not images:
            raise EnvError("The observation space is empty: expected at least one number.")

    @classmethod
    def from_space(cls, space: Any) -> ObsCodec:
        return cls(tuple(_leaves(space)))

    @property
    def is_dict(self) -> bool:
        return len(self.images) + (self.vector > 0) > 1

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Canonical part -> shape; the names are those of the dict form."""
        vector: dict[str, tuple[int, ...]] = {"vector": (self.vector,)} if self.vector else {}
        return {**vector, **self.images}

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a plain canonical observation; a dict has `shapes` instead."""
        if self.is_dict:
            raise ValueError("a dict observation has no single shape; read codec.shapes")
        return next(iter(self.shapes.values()))

    def allocate(self, *lead: int) -> Observation:
        """Zeros for observations with the given leading axes."""
        parts = {
            name: np.zeros((*lead, *shape), np.float32 if name == "vector" else np.uint8)
            for name, shape in self.shapes.items()
        }
        return parts if self.is_dict else next(iter(parts.values()))

    def encode(self, obs: Any) -> Observation:
        """One observation of the environment in canonical form."""
        out = self.allocate(1)
        self.encode_into(obs, out, 0)
        return {k: v[0] for k, v in out.items()} if isinstance(out, dict) else out[0]

    def encode_into(self, obs: Any, out: Observation, row: int) -> None:
        """Write one observation into row `row` of canonical arrays [N, ...]."""
        if self._vector_shape is not None:
            if not isinstance(obs, np.ndarray):
                obs = _as_array(obs, self.leaves[0])
            if obs.shape != self._vector_shape:
                raise _wrong_shape(obs, self.leaves[0])
            try:
                out[row] = obs  # type: ignore[index]
            except (TypeError, ValueError):
                raise _wrong_dtype(obs, self.leaves[0]) from None
            return
        parts = out if isinstance(out, dict) else None
        column = 0
        for leaf, image in zip(self.leaves, self._image_names, strict=True):
            value = _pick(obs, leaf)
            if image:
                _write_image(value, leaf, (parts[image] if parts is not None else out)[row])  # type: ignore[index]
            else:
                vector = (parts["vector"] if parts is not None else out)[row]  # type: ignore[index]
                _write_vector(value, leaf, vector[column : column + leaf.size])
                column += leaf.size

    def to_json(self) -> dict[str, Any]:
        return {"format": 1, "leaves": [asdict(leaf) for leaf in self.leaves]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ObsCodec:
        try:
            return cls(tuple(Leaf(**_tuples(leaf)) for leaf in data["leaves"]))
        except (KeyError, TypeError) as error:
            raise EnvError(f"This is no description of an observation space: {error}.") from None


def _tuples(leaf: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in leaf.items()}


def _pick(obs: Any, leaf: Leaf) -> Any:
    try:
        for key in leaf.path:
            obs = obs[key]
    except (KeyError, IndexError, TypeError):
        raise EnvError(
            f"observation has no '{leaf.name}', which its space promises: return it from "
            "reset() and step(), or take it out of observation_space."
        ) from None
    return obs


def _as_array(value: Any, leaf: Leaf) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise EnvError(f"observation '{leaf.name}' is not an array: {error}.") from None


def _write_vector(value: Any, leaf: Leaf, out: NDArray[Any]) -> None:
    array = _as_array(value, leaf)
    if array.shape != leaf.shape and not (leaf.kind == "discrete" and array.size == 1):
        raise _wrong_shape(array, leaf)
    try:
        if leaf.categories:
            index = array.ravel().astype(np.int64) - np.asarray(leaf.start)
            sizes = np.asarray(leaf.categories)
            if ((index < 0) | (index >= sizes)).any():
                raise EnvError(
                    f"observation '{leaf.name}' is {array.tolist()}, outside its space "
                    f"(start {leaf.start}, categories {leaf.categories}): correct the space."
                )
            out[:] = 0.0
            out[np.cumsum(sizes) - sizes + index] = 1.0
        else:
            out[:] = array.ravel()
    except (TypeError, ValueError):
        raise _wrong_dtype(array, leaf) from None


def _write_image(value: Any, leaf: Leaf, out: NDArray[Any]) -> None:
    array = _as_array(value, leaf)
    if array.shape != leaf.shape:
        raise _wrong_shape(array, leaf)
    if array.dtype != np.uint8:
        raise _wrong_dtype(array, leaf)
    if leaf.layout == "HWC":
        array = array.transpose(2, 0, 1)
    elif leaf.layout == "SHWC":
        array = array.transpose(0, 3, 1, 2)
    out[:] = array.reshape(out.shape)


def _wrong_shape(array: NDArray[Any], leaf: Leaf) -> EnvError:
    what = "observation" if leaf.name == "obs" else f"observation '{leaf.name}'"
    return EnvError(
        f"{what} has shape {array.shape}, the space says {leaf.shape}: "
        "make reset() and step() return what observation_space promises."
    )


def _wrong_dtype(array: NDArray[Any], leaf: Leaf) -> EnvError:
    expected = "uint8" if leaf.kind == "image" else "numbers"
    return EnvError(
        f"observation '{leaf.name}' has dtype {array.dtype}, expected {expected}: "
        "cast it in reset() and step(), or correct observation_space."
    )

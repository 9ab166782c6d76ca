"""Actions as one flat float32 vector, and back to what `env.step` expects.

Columns: first one per categorical choice (its index, from 0), then one per continuous dimension,
each group in the order of the space's leaves. A bit of MultiBinary is a choice of two.
With `scale`, a continuous dimension with finite bounds is in [-1, 1]; others are in raw units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dressage.errors import EnvError

# A bound beyond this is "no bound" written as a number (float32 max in old environments);
# scaling to it would overflow.
UNBOUNDED = 1e10


@dataclass(frozen=True)
class ActionLeaf:
    """One Discrete, MultiDiscrete, MultiBinary or Box inside the action space."""

    name: str
    kind: str  # discrete, multi_discrete, multi_binary, box
    shape: tuple[int, ...]
    dtype: str
    categories: tuple[int, ...] = ()
    start: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


# A leaf's index, or {"tuple": [...]}, or {"dict": [[key, ...], ...]}: JSON as it stands.
Structure = int | dict[str, Any]


def _leaf(space: Any, name: str) -> ActionLeaf:
    from gymnasium import spaces

    name = name or "action"
    dtype = np.dtype(space.dtype).name if space.dtype is not None else ""
    if isinstance(space, spaces.Discrete):
        return ActionLeaf(name, "discrete", (), dtype, (int(space.n),), (int(space.start),))
    if isinstance(space, spaces.MultiDiscrete):
        shape = tuple(int(n) for n in space.nvec.shape)
        categories = tuple(int(n) for n in space.nvec.ravel())
        start = tuple(int(n) for n in space.start.ravel())
        return ActionLeaf(name, "multi_discrete", shape, dtype, categories, start)
    if isinstance(space, spaces.MultiBinary):
        shape = tuple(int(n) for n in space.shape)
        bits = math.prod(shape)
        return ActionLeaf(name, "multi_binary", shape, dtype, (2,) * bits, (0,) * bits)
    if isinstance(space, spaces.Box):
        shape = tuple(int(n) for n in space.shape)
        low = tuple(float(x) for x in space.low.ravel())
        high = tuple(float(x) for x in space.high.ravel())
        return ActionLeaf(name, "box", shape, dtype, low=low, high=high)
    raise EnvError(
        f"Action '{name}' is a {type(space).__name__} space, which has no array form (expected "
        "Discrete, MultiDiscrete, MultiBinary, Box, or a Dict or Tuple of them): "
        "turn it into one of them with a gymnasium.ActionWrapper, wrappers=['my_pkg:MyWrapper']."
    )


def _read(space: Any, name: str, leaves: list[ActionLeaf]) -> Structure:
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return {"dict": [[k, _read(s, f"{name}/{k}".strip("/"), leaves)] for k, s in space.items()]}
    if isinstance(space, spaces.Tuple):
        children = enumerate(space.spaces)
        return {"tuple": [_read(s, f"{name}/{i}".strip("/"), leaves) for i, s in children]}
    leaves.append(_leaf(space, name))
    return len(leaves) - 1


@dataclass(frozen=True)
class ActionCodec:
    """Flat rows [A] to actions of one space and back."""

    leaves: tuple[ActionLeaf, ...]
    structure: Structure
    scale: bool
    categories: tuple[int, ...] = field(init=False)  # sizes of the categorical choices
    continuous: int = field(init=False)  # number of continuous dimensions
    low: NDArray[np.float32] = field(init=False)  # bounds of the continuous columns, in the units
    high: NDArray[np.float32] = field(init=False)  # of the columns: -1 and 1 where scaled
    env_low: NDArray[np.float32] = field(init=False)  # the same in the environment's units
    env_high: NDArray[np.float32] = field(init=False)
    _scaled: NDArray[np.bool_] = field(init=False, repr=False)
    _center: NDArray[np.float32] = field(init=False, repr=False)
    _half: NDArray[np.float32] = field(init=False, repr=False)  # half the range, 1 where raw

    def __post_init__(self) -> None:
        low = np.array([x for leaf in self.leaves for x in leaf.low], np.float64)
        high = np.array([x for leaf in self.leaves for x in leaf.high], np.float64)
        finite = (np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED)
        scaled = finite & self.scale
        with np.errstate(invalid="ignore"):  # inf - inf in the columns that stay raw
            center = np.where(scaled, (low + high) / 2, 0.0)
            half = np.where(scaled, (high - low) / 2, 1.0)
        values = {
            "categories": tuple(n for leaf in self.leaves for n in leaf.categories),
            "continuous": len(low),
            "low": np.where(scaled, -1.0, low).astype(np.float32),
            "high": np.where(scaled, 1.0, high).astype(np.float32),
            "env_low": low.astype(np.float32),
            "env_high": high.astype(np.float32),
            "_scaled": scaled,
            "_center": center.astype(np.float32),
            "_half": half.astype(np.float32),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        if self.size == 0:
            raise EnvError("The action space is empty: expected at least one choice or dimension.")

    @classmethod
    def from_space(cls, space: Any, scale: bool = True) -> ActionCodec:
        leaves: list[ActionLeaf] = []
        structure = _read(space, "", leaves)
        return cls(tuple(leaves), structure, scale)

    @property
    def size(self) -> int:
        """A, the number of columns."""
        return len(self.categories) + self.continuous

    def to_env_units(self, continuous: NDArray[np.float32]) -> NDArray[np.float32]:
        """Continuous columns [..., C] scaled back and clipped to the environment's bounds."""
        if self._scaled.any():
            continuous = self._center + self._half * continuous
        return np.clip(continuous, self.env_low, self.env_high)

    def decode(self, flat: NDArray[np.float32]) -> Any:
        """One flat row [A] as the action that `env.step` expects."""
        return self.decode_batch(np.asarray(flat, np.float32)[None])[0]

    def decode_batch(self, flat: NDArray[np.float32]) -> list[Any]:
        """Rows [N, A] as a list of N actions."""
        if isinstance(self.structure, int):
            leaf = self.leaves[0]
            if leaf.kind == "discrete":
                start = leaf.start[0]
                index: list[int] = flat[:, 0].astype(np.int64).tolist()
                return [i + start for i in index] if start else index
            if leaf.kind == "box":
                return list(_shape_box(self.to_env_units(flat), leaf))
        choices = flat[:, : len(self.categories)].astype(np.int64)
        continuous = self.to_env_units(flat[:, len(self.categories) :])
        columns: list[Any] = []
        category, dimension = 0, 0
        for leaf in self.leaves:
            if leaf.kind == "box":
                part = continuous[:, dimension : dimension + len(leaf.low)]
                columns.append(_shape_box(part, leaf))
                dimension += len(leaf.low)
                continue
            index_NK = choices[:, category : category + len(leaf.categories)] + np.asarray(
                leaf.start
            )
            category += len(leaf.categories)
            if leaf.kind == "discrete":
                columns.append(index_NK[:, 0].tolist())
            else:
                columns.append(index_NK.reshape(-1, *leaf.shape).astype(leaf.dtype))
        return [_assemble(self.structure, columns, row) for row in range(len(flat))]

    def encode(self, action: Any) -> NDArray[np.float32]:
        """An action of the environment as a flat row [A]."""
        choices, continuous = [], []
        for leaf, value in zip(self.leaves, _flatten(self.structure, action), strict=True):
            array = np.asarray(value, np.float64).reshape(-1)
            expected = len(leaf.low) or len(leaf.categories)
            if array.size != expected:
                raise EnvError(
                    f"action '{leaf.name}' has {array.size} numbers, its space has {expected}."
                )
            if leaf.kind == "box":
                continuous.append(array)
            else:
                choices.append(array - np.asarray(leaf.start))
        flat = np.empty(self.size, np.float32)
        flat[: len(self.categories)] = np.concatenate(choices) if choices else []
        if continuous:
            # A dimension with low == high has half = 0: its only value is 0 in [-1, 1].
            half = np.where(self._half == 0, 1, self._half)
            flat[len(self.categories) :] = (np.concatenate(continuous) - self._center) / half
        return flat

    def mask(self, given: Any) -> NDArray[np.bool_]:
        """A mask (flat, or a tuple or dict like the space) as bool [sum of categories]."""
        total = sum(self.categories)
        if isinstance(given, np.ndarray) and given.dtype != object and given.size == total:
            mask = given.reshape(-1).astype(np.bool_)
        else:
            if isinstance(given, list | tuple) and isinstance(self.structure, int):
                parts = [given]
            elif isinstance(given, np.ndarray) and isinstance(self.structure, dict):
                raise self._wrong_mask(given.size)
            else:
                parts = _flatten(self.structure, given)
            mask = np.concatenate(
                [_leaf_mask(leaf, part) for leaf, part in zip(self.leaves, parts, strict=True)]
            )
        if mask.size != total:
            raise self._wrong_mask(mask.size)
        sizes = np.asarray(self.categories, np.intp)
        allowed = np.logical_or.reduceat(mask, np.cumsum(sizes) - sizes)
        if not allowed.all():
            choice = int(np.flatnonzero(~allowed)[0])
            raise EnvError(
                f"The action mask forbids every value of choice {choice}: at least one of its "
                f"{self.categories[choice]} values must be allowed in a state that goes on."
            )
        return mask

    def _wrong_mask(self, size: int) -> EnvError:
        return EnvError(
            f"The action mask has {size} entries, expected {sum(self.categories)} "
            f"(choices of sizes {self.categories}): return one entry per value, True = allowed."
        )

    def to_json(self) -> dict[str, Any]:
        leaves = [
            {**asdict(leaf), "low": _bounds(leaf.low), "high": _bounds(leaf.high)}
            for leaf in self.leaves
        ]
        return {"format": 1, "scale": self.scale, "structure": self.structure, "leaves": leaves}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ActionCodec:
        try:
            leaves = [{k: _tuple(k, v) for k, v in leaf.items()} for leaf in data["leaves"]]
            structure, scale = data["structure"], bool(data["scale"])
            return cls(tuple(ActionLeaf(**leaf) for leaf in leaves), structure, scale)
        except (KeyError, TypeError, AttributeError) as error:
            raise EnvError(f"This is no description of an action space: {error}.") from None


def _bounds(values: Sequence[float]) -> list[float | str]:
    return [x if math.isfinite(x) else str(x) for x in values]  # JSON has no infinity


def _tuple(key: str, value: Any) -> Any:
    if key in ("low", "high"):
        return tuple(float(x) for x in value)
    return tuple(value) if isinstance(value, list) else value


def _shape_box(part: NDArray[np.float32], leaf: ActionLeaf) -> NDArray[Any]:
    dtype = np.dtype(leaf.dtype)
    if dtype.kind in "iu":
        part = np.rint(part)
    return part.reshape(-1, *leaf.shape).astype(dtype)


def _assemble(structure: Structure, columns: list[Any], row: int) -> Any:
    if isinstance(structure, int):
        return columns[structure][row]
    if "tuple" in structure:
        return tuple(_assemble(child, columns, row) for child in structure["tuple"])
    return {key: _assemble(child, columns, row) for key, child in structure["dict"]}


def _flatten(structure: Structure, value: Any) -> list[Any]:
    """Values of the leaves; None where a mask leaves a part out."""
    if isinstance(structure, int):
        return [value]
    if "tuple" in structure:
        children = structure["tuple"]
        values = value if value is not None else [None] * len(children)
        pairs = list(zip(children, values, strict=True))
    else:
        pairs = [(c, value.get(k) if value is not None else None) for k, c in structure["dict"]]
    return [leaf for child, part in pairs for leaf in _flatten(child, part)]


def _leaf_mask(leaf: ActionLeaf, given: Any) -> NDArray[np.bool_]:
    size = sum(leaf.categories)
    if given is None or leaf.kind == "box":
        return np.ones(size, np.bool_)
    if isinstance(given, list | tuple) and given and not np.isscalar(given[0]):
        given = np.concatenate([np.asarray(part).reshape(-1) for part in given])
    return np.asarray(given).reshape(-1).astype(np.bool_)

"""Weights and optimizer state of a saved model, ours or another library's, as plain arrays.

Nothing is executed and torch is not needed: safetensors are read by `tensors.py`, files of
`torch.save` by `torch_file.py`. SB3's zip holds such files: policy.pth and one per optimizer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dressage.errors import RunError
from dressage.runs.checkpoint import MANIFEST, load_checkpoint
from dressage.runs.files import read_bytes
from dressage.runs.readers.safe import zip_entries
from dressage.runs.table import Array
from dressage.runs.tensors import parse_tensors
from dressage.runs.torch_file import BYTES, torch_file

# SB3's names of what it saves beside policy.pth.
_OPTIMIZERS = ("policy", "actor", "critic", "ent_coef_optimizer")
_FIRST = ("exp_avg", "momentum_buffer")
_SECOND = ("exp_avg_sq", "square_avg")


@dataclass(frozen=True)
class Moments:
    """What an optimizer remembers of one tensor, or of one group in a row."""

    name: str
    step: float | None = None
    first: Array | None = None
    second: Array | None = None
    betas: tuple[float, float] = (0.9, 0.999)
    is_adam: bool = True
    shape: tuple[int, ...] | None = None  # of what it remembers of, as the file has it


@dataclass(frozen=True)
class Weights:
    path: Path
    tensors: dict[str, Array]  # by the file's own names
    moments: list[Moments] = field(default_factory=list)
    updates: float | None = None  # gradient steps, as the file says
    env_steps: float | None = None


def read_weights(path: Path) -> Weights:
    """Of a checkpoint folder of ours, a safetensors file, SB3's zip, or a file of `torch.save`."""
    if (path / MANIFEST).is_file():
        return _own(path)
    if path.suffix == ".safetensors":
        return Weights(path, _floats(parse_tensors(read_bytes(path, BYTES), path)))
    if path.suffix == ".zip":
        return _sb3(path)
    if path.suffix in (".pth", ".pt", ".cleanrl_model", ".ckpt"):
        content = torch_file(bytes(read_bytes(path, BYTES)), path)
        return Weights(path, _floats(dict(_tensors(content))))
    raise RunError(
        f"{path} holds no weights that can be read: expected a checkpoint folder, .safetensors, "
        "SB3's .zip, or .pth."
    )


def _own(path: Path) -> Weights:
    saved = load_checkpoint(path, ("policy", "optimizer"))
    groups: dict[str, dict[str, Any]] = {}
    for name, value in saved.parts.get("optimizer", {}).items():
        group, _, what = name.rpartition("/")
        groups.setdefault(group, {})[what] = value
    return Weights(
        path,
        _floats(saved.parts.get("policy", {})),
        [made for name, state in groups.items() if (made := _moments(name, state))],
        _number(saved.meta.get("optimizer", {}).get("updates")),
        float(saved.env_steps),
    )


def _sb3(path: Path) -> Weights:
    names = ("policy.pth", *(f"{name}.optimizer.pth" for name in _OPTIMIZERS[:3]))
    entries = zip_entries(path, (*names, "ent_coef_optimizer.pth", "data"))
    if "policy.pth" not in entries:
        raise RunError(f"{path} has no policy.pth: not a model that SB3 saved.")
    moments: list[Moments] = []
    for name in _OPTIMIZERS:
        file = f"{name}.pth" if name.endswith("optimizer") else f"{name}.optimizer.pth"
        if file in entries:
            moments += _state_dict(name, torch_file(entries[file], f"{path}: {file}"))
    tensors = dict(_tensors(torch_file(entries["policy.pth"], f"{path}: policy.pth")))
    return Weights(path, _floats(tensors), moments)


def _state_dict(name: str, content: Any) -> Iterator[Moments]:
    """The moments in what `Optimizer.state_dict()` gives."""
    if not isinstance(content, dict) or not isinstance(content.get("state"), dict):
        raise RunError(f"{name}: this is not an optimizer's state.")
    groups = content.get("param_groups")
    betas = groups[0].get("betas") if isinstance(groups, list) and groups else None
    for key, state in content["state"].items():
        if isinstance(state, Mapping) and (made := _moments(f"{name}/{key}", state, betas)):
            yield made


def _moments(name: str, state: Mapping[str, Any], betas: Any = None) -> Moments | None:
    first = next((state[key] for key in _FIRST if key in state), None)
    second = next((state[key] for key in _SECOND if key in state), None)
    if first is None and second is None and "step" not in state:
        return None
    known = isinstance(betas, tuple) and len(betas) == 2
    moment = second if first is None else first
    return Moments(
        name,
        _number(state.get("step")),
        None if first is None else np.asarray(first, np.float64).ravel(),
        None if second is None else np.asarray(second, np.float64).ravel(),
        (float(betas[0]), float(betas[1])) if known else (0.9, 0.999),
        "exp_avg" in state,
        None if moment is None else np.shape(moment),
    )


def _tensors(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every array in nested dictionaries, named by the way to it."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _tensors(inner, f"{name}.{key}" if name else str(key))


def _floats(arrays: Mapping[str, Any]) -> dict[str, Array]:
    return {
        name: np.asarray(value, np.float64)
        for name, value in arrays.items()
        if np.asarray(value).dtype.kind == "f"
    }


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None

"""Nested state of optimizers as named arrays and plain values, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dressage.lazy import torch

Arrays = dict[str, np.ndarray[Any, Any]]


def flatten(prefix: str, tree: Any, arrays: Arrays, plain: dict[str, Any]) -> None:
    """Splits nested dicts and lists of tensors and numbers into named arrays and plain values.

    Lists are marked by `[i]` keys and whole-number keys by `#i`, so that `unflatten` can tell.
    """
    if isinstance(tree, dict):
        for key, value in tree.items():
            flatten(
                f"{prefix}#{key}/" if isinstance(key, int) else f"{prefix}{key}/",
                value,
                arrays,
                plain,
            )
    elif isinstance(tree, list | tuple):
        for i, value in enumerate(tree):
            flatten(f"{prefix}[{i}]/", value, arrays, plain)
    elif isinstance(tree, torch.Tensor):
        arrays[prefix[:-1]] = tree.detach().cpu().numpy()
    else:
        plain[prefix[:-1]] = tree


def unflatten(prefix: str, arrays: Arrays, plain: dict[str, Any]) -> Any:
    """The nested dicts and lists that `flatten` split."""
    root: dict[Any, Any] = {}
    leaves: dict[str, Any] = {name: torch.from_numpy(np.array(v)) for name, v in arrays.items()}
    for name, value in (leaves | plain).items():
        if not name.startswith(prefix):
            continue
        *path, last = name[len(prefix) :].split("/")
        node = root
        for key in path:
            node = node.setdefault(key, {})
        node[last] = value
    return _rebuild(root)


def _rebuild(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(key.startswith("[") for key in node):
        return [_rebuild(node[f"[{i}]"]) for i in range(len(node))]
    return {int(k[1:]) if k.startswith("#") else k: _rebuild(v) for k, v in node.items()}

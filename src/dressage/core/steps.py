"""`Steps`, the only container of experience."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Tree = Any  # an array, or a dict of arrays (observations with images beside vectors)


class Steps(NamedTuple):
    """Transitions, as numpy arrays or tensors.

    Axes: `[T, N, …]` as collected, `[B, …]` or `[L, B, …]` as sampled. What a memory leaves out of
    its batches is None, and says so.
    """

    obs: Tree  # what the policy saw (normalised if the run normalises)
    action: Any  # float32 [..., A]: categorical choices first, then continuous dimensions
    reward: Any  # float32 [...]
    terminated: Any  # bool [...]: the task ended; no bootstrap
    truncated: Any  # bool [...]: the clock ended; bootstrap from next_obs and cut the sequence
    next_obs: Tree  # the true successor, never the first observation after a reset
    extras: dict[str, Any]  # what the algorithm adds: log_prob, value, advantage, mask, carry, …


def tree_map(function: Callable[[Any], Any], tree: Tree) -> Tree:
    """Applies `function` to an array, or to each array of a dict."""
    if isinstance(tree, dict):
        return {key: function(leaf) for key, leaf in tree.items()}
    return function(tree)


def map_steps(function: Callable[[Any], Any], steps: Steps) -> Steps:
    """Applies `function` to every array of `steps`; parts that are None stay None."""
    parts: Any = (None if part is None else tree_map(function, part) for part in steps)
    return Steps(*parts)

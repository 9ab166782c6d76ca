"""First values of weights, drawn by our own generators: each from its name alone.

So the same network starts equal in both engines, on every device, in every order of building.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dressage.core.rng import Rng

Floats = npt.NDArray[np.float32]


def orthogonal(rng: Rng, name: str, shape: tuple[int, ...], gain: float) -> Floats:
    """Orthogonal rows or columns times `gain` (Saxe et al. 2014); trailing axes are flattened."""
    rows, columns = shape[0], math.prod(shape[1:])
    tall = rng.normal(f"init/{name}", (max(rows, columns), min(rows, columns))).astype(np.float64)
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))
    result: Floats = (gain * (q if rows >= columns else q.T)).reshape(shape).astype(np.float32)
    return result


def uniform_fan_in(rng: Rng, name: str, shape: tuple[int, ...], fan_in: int) -> Floats:
    """PyTorch's default: uniform within 1/sqrt(fan_in)."""
    bound = 1.0 / math.sqrt(max(fan_in, 1))
    result: Floats = (2.0 * rng.uniform(f"init/{name}", shape) - 1.0) * np.float32(bound)
    return result


def linear_weight(rng: Rng, name: str, shape: tuple[int, ...], gain: float, ortho: bool) -> Floats:
    """Of a linear or convolutional layer, `[outputs, inputs, …]`."""
    if ortho:
        return orthogonal(rng, name, shape, gain)
    return uniform_fan_in(rng, name, shape, math.prod(shape[1:]))


def linear_bias(rng: Rng, name: str, size: int, fan_in: int, ortho: bool) -> Floats:
    return np.zeros(size, np.float32) if ortho else uniform_fan_in(rng, name, (size,), fan_in)

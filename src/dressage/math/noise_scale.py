"""The gradient noise scale: how large a batch is worth its data.

McCandlish et al. 2018, "An empirical model of large-batch training" (arXiv 1812.06162), equation
2.9: B_simple = tr(Sigma) / |G|^2, the batch size at which noise and signal of a gradient are equal.
Much smaller batches give steps that are mostly noise, and lose no data; much larger ones cost data
and hardly improve a step: the data that training takes grows by 1 + B / B_simple (equation 2.11).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class NoiseScale:
    """`value` is infinite, and `low` a bound, where the signal is lost in the noise."""

    value: float  # rows of a batch
    low: float  # of a 95 % interval (jackknife over the batches, on the logarithm)
    high: float
    gradient: float  # |G|^2, unbiased
    noise: float  # tr(Sigma), of a single row
    batches: int  # that it was measured on
    rows: int  # of each of them


def noise_scale(gradients: ArrayLike, rows: int) -> NoiseScale:
    """From the gradients `[M, P]` of M independent batches of `rows` rows at the same parameters.

    Appendix A.1 with B_small = rows and B_big = M rows, the large batch being all of the small ones
    together: |G|^2 is then the mean of g_i . g_j over all pairs, tr(Sigma) the rest of |g_i|^2.
    """
    g: NDArray[np.float64] = np.asarray(gradients, np.float64)
    if g.ndim != 2 or len(g) < 3:
        raise ValueError(f"gradients have shape {g.shape}, expected [M, P] with M of 3 or more")
    inner = g @ g.T  # [M, M]
    signal, spread = _parts(inner)
    lowest = float(rows * len(g))  # of what could be told from this much data
    noise = rows * spread
    if signal <= 0.0:
        value, low, high = math.inf, lowest, math.inf
    else:
        value = noise / signal
        low, high = _interval(inner, rows, value)
    return NoiseScale(value, low, high, signal, noise, len(g), rows)


def _parts(inner: NDArray[np.float64]) -> tuple[float, float]:
    """|G|^2, and the variance of a batch's gradient, from all inner products."""
    m = len(inner)
    squares = float(np.trace(inner))
    signal = (float(inner.sum()) - squares) / (m * (m - 1))
    return signal, max(squares / m - signal, 0.0)


def _interval(inner: NDArray[np.float64], rows: int, value: float) -> tuple[float, float]:
    """Leaving out one batch at a time; up to infinity where the signal is then lost."""
    m = len(inner)
    logs = []
    for i in range(m):
        kept = np.delete(np.delete(inner, i, 0), i, 1)
        signal, spread = _parts(kept)
        if signal <= 0.0 or spread <= 0.0:
            return value / 10.0, math.inf
        logs.append(math.log(rows * spread / signal))
    deviation = math.sqrt((m - 1) * float(np.var(logs)))
    factor = math.exp(1.96 * deviation)
    return value / factor, value * factor

"""Running mean and variance, for the normalisers of observations and rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

STATE_KEYS = ("count", "mean", "m2")


class RunningMoments:
    """Mean and variance of all values seen so far, for each element of `shape`.

    Batches are merged in float64 by the pairwise formula (Chan, Golub and LeVeque 1979,
    "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", eq. 2.1):

        d = mean_b - mean_a,   n = n_a + n_b
        mean = mean_a + d n_b / n
        m2   = m2_a + m2_b + d^2 n_a n_b / n

    with m2 the sum of squared differences from the mean, so that var = m2 / n (population form).
    The state is exactly (count, mean, m2): reloading it continues bit for bit.
    """

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.shape = tuple(shape)
        self.count = 0
        self.mean: NDArray[np.float64] = np.zeros(self.shape)
        self.m2: NDArray[np.float64] = np.zeros(self.shape)

    @property
    def var(self) -> NDArray[np.float64]:
        """Population variance; ones before the first value, so that normalising does nothing."""
        return self.m2 / self.count if self.count else np.ones(self.shape)

    def update(self, batch: ArrayLike) -> None:
        """Take in a batch [..., *shape]; all leading axes are samples."""
        # C order: the order of summation, thus the last bit, must not depend on memory layout.
        values = np.array(batch, dtype=np.float64, order="C")
        axes = values.ndim - len(self.shape)
        if axes < 0 or values.shape[axes:] != self.shape:
            raise ValueError(f"batch has shape {values.shape}, expected (..., *{self.shape})")
        if values.size == 0:
            return
        count = values.size // self.mean.size
        values = values.reshape(count, *self.shape)
        mean = values.sum(axis=0) / count
        values -= mean
        np.square(values, out=values)
        self._merge(count, mean, values.sum(axis=0))

    def merge(self, other: RunningMoments) -> None:
        """Take in everything that another has seen."""
        if other.shape != self.shape:
            raise ValueError(f"other has shape {other.shape}, expected {self.shape}")
        if other.count:
            self._merge(other.count, other.mean, other.m2)

    def _merge(
        self, count: int, mean: NDArray[np.float64], m2: NDArray[np.float64] | np.float64
    ) -> None:
        total = self.count + count
        difference = np.asarray(mean - self.mean)
        # New arrays, not in place: a state() or a reader may hold the old ones.
        self.mean = np.asarray(self.mean + difference * (count / total))
        self.m2 = np.asarray(self.m2 + m2 + difference * (self.count * count / total) * difference)
        self.count = total

    def normalise(
        self,
        x: ArrayLike,
        clip: float | None = 10.0,
        *,
        centre: bool = True,
        epsilon: float = 1e-8,
    ) -> NDArray[np.float32]:
        """(x - mean) / sqrt(var + epsilon) within [-clip, clip], as float32 in the shape of x.

        `centre=False` only divides: a reward must keep its sign.
        """
        values = np.asarray(x, dtype=np.float64)
        if centre:
            values = values - self.mean
        values = values / np.sqrt(self.var + epsilon)
        if clip is not None:
            values = np.clip(values, -clip, clip)
        return np.asarray(values, dtype=np.float32)

    def state(self) -> dict[str, NDArray[Any]]:
        """All that `load` needs, as copies."""
        return {
            "count": np.array(self.count, dtype=np.int64),
            "mean": self.mean.copy(),
            "m2": self.m2.copy(),
        }

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `state` returned. ValueError, and no change, if it does not fit."""
        if sorted(state) != sorted(STATE_KEYS):
            raise ValueError(f"state has {sorted(state)}, expected {sorted(STATE_KEYS)}")
        arrays = {key: np.asarray(state[key]) for key in STATE_KEYS}
        for key, array in arrays.items():
            shape, dtype = ((), np.int64) if key == "count" else (self.shape, np.float64)
            if array.shape != shape or array.dtype != dtype:
                raise ValueError(
                    f"{key} has shape {array.shape} and type {array.dtype}, "
                    f"expected {shape} and {np.dtype(dtype)}"
                )
        if arrays["count"] < 0 or np.any(arrays["m2"] < 0):
            raise ValueError(
                "count or m2 is below 0, which no batch can give: the state is damaged"
            )
        self.count = int(arrays["count"])
        self.mean = arrays["mean"].copy()
        self.m2 = arrays["m2"].copy()

"""`Memory`: what learning samples from. `add(steps)`, `batches(rng)`, and a state that is saved."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.rng import Rng
from dressage.core.steps import Steps, map_steps

Arrays = dict[str, npt.NDArray[Any]]


class Rollout:
    """The newest `[T, N]` steps, dealt out in shuffled minibatches of one size, then dropped.

    `sequence_length=None`: single steps, `[B, …]`. Else sequences `[L, B, …]`, for recurrent
    networks: the rollout is cut into pieces of L steps, whose first carry comes with them.
    `batch_size=None`: the rollout whole, as it was collected; `[T, N, …]` serves both kinds.
    A minibatch has observations, actions and extras. Its rewards, ends and successors are None:
    `prepare` has made advantages of them, and shuffling them would copy them every epoch.
    """

    def __init__(
        self, batch_size: int | None, n_epochs: int = 1, sequence_length: int | None = None
    ) -> None:
        self.batch_size, self.n_epochs = batch_size, n_epochs
        self.sequence_length = sequence_length
        self.epochs = 0  # dealt so far: the index of the next shuffle
        self._steps: Steps | None = None

    def attach(self, collector: Any, run_path: Path) -> None:
        """Nothing of these is needed: steps are used as they were seen, and used up."""

    def add(self, steps: Steps) -> None:
        self._steps = steps

    @property
    def steps(self) -> Steps:
        assert self._steps is not None, "add(steps) comes first"
        return self._steps

    def newest(self, count: int) -> Steps:
        """All there are, whatever is asked for."""
        return self.steps

    @property
    def batches_per_epoch(self) -> int:
        return int(self.steps.reward.size) // self.batch_size if self.batch_size else 1

    def batches(self, rng: Rng) -> Iterator[Steps]:
        """`n_epochs` passes over the steps, each in a new order, `batch_size` at a time."""
        for _ in range(self.n_epochs):
            if self.batch_size is None:
                yield self.steps
                continue
            if self.sequence_length is None:
                shuffled, rows = self._shuffle_steps(rng), self.batch_size
            else:
                shuffled, rows = (
                    self._shuffle_sequences(rng),
                    self.batch_size // self.sequence_length,
                )
            self.epochs += 1
            for i in range(self.batches_per_epoch):
                at = slice(i * rows, (i + 1) * rows)
                index = at if self.sequence_length is None else (slice(None), at)
                yield map_steps(operator.itemgetter(index), shuffled)

    def _shuffle_steps(self, rng: Rng) -> Steps:
        """`[T, N, …] -> [T * N, …]`, one copy an epoch; minibatches are then views."""
        order = rng.permutation("minibatch", self.steps.reward.size, self.epochs)
        return map_steps(lambda x: x.reshape(-1, *x.shape[2:])[order], _learned_from(self.steps))

    def _shuffle_sequences(self, rng: Rng) -> Steps:
        """`[T, N, …] -> [L, T / L * N, …]`, whole sequences shuffled."""
        assert self.sequence_length is not None
        length = self.sequence_length
        pieces = self.steps.reward.shape[0] // length
        order = rng.permutation("minibatch", pieces * self.steps.reward.shape[1], self.epochs)

        def cut(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
            x = x.reshape(pieces, length, *x.shape[1:]).swapaxes(0, 1)  # [L, pieces, N, …]
            return x.reshape(length, -1, *x.shape[3:])[:, order]

        return map_steps(cut, _learned_from(self.steps))

    def seal(self) -> dict[str, Any]:
        """Nothing is kept beside the checkpoints."""
        return {}

    def state(self) -> Arrays:
        # the steps themselves are used up before anything is saved; shuffles go on counting
        return {} if self.batch_size is None else {"epochs": np.array(self.epochs)}

    def load(self, arrays: Arrays, segments: Mapping[str, Any]) -> None:
        if self.batch_size is not None:
            self.epochs = int(arrays["epochs"])


def _learned_from(steps: Steps) -> Steps:
    return steps._replace(reward=None, terminated=None, truncated=None, next_obs=None)

"""Exploring among choices whose values are known: epsilon-greedy and Boltzmann."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dressage.core.rng import Rng

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


class ChoiceNoise(NamedTuple):
    """Random numbers for choosing in N environments, and how much they count."""

    coin: Floats  # [N, actions]
    score: Floats  # [N, choices]
    epsilon: float  # share of random choices
    temperature: float  # of the softmax over values; 0: greedy
    layers: Floats | None = None  # for the network's noisy layers


def choice_noise(
    rng: Rng,
    index: int,
    n_envs: int,
    categories: Sequence[int],
    epsilon: float,
    temperature: float = 0.0,
) -> ChoiceNoise:
    """The draw of vector step `index`."""
    drawn = rng.uniform("act/choice", (n_envs, len(categories) + sum(categories)), index)
    return ChoiceNoise(
        drawn[:, : len(categories)], drawn[:, len(categories) :], epsilon, temperature
    )


def choose(
    q: Floats, categories: Sequence[int], mask: Bools | None, noise: ChoiceNoise | None
) -> Floats:
    """`[N, choices]` values -> `[N, actions]` choices; the best ones where `noise` is None.

    Boltzmann's choice is the largest of value / temperature + Gumbel noise, which has the softmax's
    probabilities (Gumbel 1954).
    """
    if mask is not None:
        q = np.where(mask, q, np.float32(-np.inf))
    score = None
    if noise is not None:
        if noise.temperature > 0.0:
            gumbel = -np.log(-np.log(np.maximum(noise.score, np.float32(1e-12))))
            q = q / np.float32(noise.temperature) + gumbel
        score = noise.score if mask is None else np.where(mask, noise.score, np.float32(-1.0))
    actions = np.empty((len(q), len(categories)), np.float32)
    start = 0
    for i, count in enumerate(categories):
        part = slice(start, start + count)
        best = q[:, part].argmax(axis=1)
        if noise is not None and score is not None and noise.epsilon > 0.0:
            best = np.where(noise.coin[:, i] < noise.epsilon, score[:, part].argmax(axis=1), best)
        actions[:, i] = best
        start += count
    return actions

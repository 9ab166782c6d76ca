"""What the steps of a rollout say of the environment: do actions act, at once, on what is seen?

Least squares over neighbouring steps of one episode. Each figure is a share of variance, adjusted
for how many columns explain it, so that columns which say nothing give about zero.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Flags = npt.NDArray[np.bool_]

MOST_ROWS = 256
MOST_COLUMNS = 16  # of an observation: the first ones
PRODUCTS_UP_TO = 6  # columns: of so few, squares and products explain too
LAGS = (16, 8, 4, 2, 1)  # steps back that effects are looked for; fewer in short episodes
PAID_LATER = (40, 24, 16, 8, 4, 2, 1)  # steps ahead that rewards are looked for, likewise
FEWEST_ROWS = 128  # for more than one step ahead: the best of many lags is often chance
FOLLOWS = 0.2  # share of the next observation that the state explains, below which it is new
PER_COLUMN = 4  # rows for each explaining column, at least
RIDGE = 1e-9  # of the variance


def dynamics(obs: Floats, action: Floats, reward: Floats, ended: Flags) -> dict[str, float]:
    """Of steps `[T, N, …]` in order: obs `[T, N, D]`, action `[T, N, A]` (a choice as columns of
    zeros and ones), reward and ended `[T, N]`. Figures that the steps are too few for are left out,
    and those of the next observation where that is drawn anew each time, as in a bandit.

    Of what the state leaves open of the change of an observation, in the column where it is most:
    - `action_effect`: the share that the action explains;
    - `action_effect_late`: the share that an earlier action explains, beside the action.
    Of all of it:
    - `history_gain`: what the observation before explains, beside state and action;
    - `reward_explained`: what the step (both observations and the action) explains of the reward.
      Where the next observation is drawn anew, it says nothing of what the action did: products of
      state and action explain in its place;
    - `reward_late`: how much more the step explains of the reward 1 to 40 steps later than of its
      own, at most; below zero where rewards come in time.
    """
    obs = obs[..., :MOST_COLUMNS]
    t, n = _rows(~ended, 1)
    if not len(t):
        return {}
    seen, following = obs[t, n], obs[t + 1, n]
    columns = [seen, action[t, n], obs[t - 1, n], following - seen, following, reward[t, n, None]]
    state, acts, before, change, following, paid = _standard(columns)
    plain, one = state, np.ones((len(t), 1))
    state, after = _with_products(state), _with_products(following)
    found: dict[str, float] = {}
    if change.shape[1] and _enough(len(t), one, state, acts, before):
        gains, left = _gains([one, state, acts, before], np.hstack((change, following)))
        of_change = slice(change.shape[1])
        if gains[0, of_change.stop :].max(initial=0.0) > FOLLOWS:
            found["action_effect"] = float(gains[1, of_change].max())
            found["history_gain"] = float((gains[2] * left[2])[of_change].max())
            found |= _late(obs, action, ~ended) | _paid_later(obs, action, reward, ~ended)
        elif _enough(len(t), acts, plain, crossed := _crossed(plain, acts)):
            state, after = state if _enough(len(t), acts, state, crossed) else plain, crossed
    if paid.shape[1] and _enough(len(t), acts, state, after):
        gains, _ = _gains([one, np.hstack((acts, state, after))], paid)
        found["reward_explained"] = float(gains.max())
    return found


def _late(obs: Floats, action: Floats, unbroken: Flags) -> dict[str, float]:
    """The largest of the effects one to many steps later, as far back as episodes reach."""
    for lags in LAGS:
        t, n = _rows(unbroken, lags)
        if not len(t):
            continue
        seen = obs[t, n]
        state, acts, change = _standard([seen, action[t, n], obs[t + 1, n] - seen])
        known = np.hstack((np.ones((len(t), 1)), _with_products(state), acts))
        if not change.shape[1] or not _enough(len(t), known, action[0]):
            continue
        by_lag = action[t - np.arange(1, lags + 1)[:, None], n]  # [lag, row, A]
        earlier, varies = _scaled(by_lag)
        beside = np.hstack((change, *earlier))
        explained, products = _explained(known, beside)
        open_products = products - explained @ explained.T
        left = open_products.diagonal()[: change.shape[1]]
        of = change.shape[1] + np.arange(varies.size).reshape(varies.shape)  # columns of each lag
        squares = open_products[of[:, :, None], of[:, None, :]]
        squares = squares + RIDGE * len(t) * np.eye(varies.shape[1])
        with_change = open_products[of, : change.shape[1]]  # [lag, A, column]
        more = (with_change * np.linalg.solve(squares, with_change)).sum(axis=1)
        gains = _shares(left, left - more, len(t), known.shape[1], varies.sum(axis=1)[:, None])
        return {"action_effect_late": float(gains.max(initial=0.0))}
    return {}


def _paid_later(obs: Floats, action: Floats, reward: Floats, unbroken: Flags) -> dict[str, float]:
    """Rewards of the same step and of later ones are explained by the same columns: one fit."""
    for lags in PAID_LATER:
        last, n = _rows(unbroken, lags)
        t = last - lags
        if len(t) < (FEWEST_ROWS if lags > 1 else 1):
            continue
        state, acts, after = _standard([obs[t, n], action[t, n], obs[t + 1, n]])
        step = np.hstack((np.ones((len(t), 1)), acts, _with_products(state), _with_products(after)))
        if not _enough(len(t), step):
            continue
        paid, varies = _scaled(reward[t[:, None] + np.arange(lags + 1), n[:, None]])
        if not varies[0]:
            return {}
        gains, _ = _gains([step[:, :1], step[:, 1:]], paid)
        return {"reward_late": float((gains[0, 1:] - gains[0, 0]).max())}
    return {}


def _rows(unbroken: Flags, lag: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Places whose successor and `lag` predecessors are of the same episode, evenly chosen."""
    places = max(len(unbroken) - lag - 1, 0)
    whole = np.ones((places, unbroken.shape[1]), bool)
    for k in range(lag + 1):
        whole &= unbroken[k : places + k]
    t, n = np.nonzero(whole)
    if len(t) > MOST_ROWS:
        chosen = np.linspace(0, len(t) - 1, MOST_ROWS).astype(np.int64)
        t, n = t[chosen], n[chosen]
    return t + lag, n


def _enough(rows: int, *explaining: Floats) -> bool:
    return bool(rows >= PER_COLUMN * sum(x.shape[1] for x in explaining))


def _scaled(x: Floats) -> tuple[Floats, Flags]:
    """Columns of `[…, rows, columns]` with mean 0 and deviation 1, and which of them vary; those
    that do not are zero."""
    x = np.asarray(x, np.float64)
    largest = np.abs(x).max(axis=-2, initial=0.0)
    x = x - x.mean(axis=-2, keepdims=True)
    deviation = np.sqrt(np.square(x).mean(axis=-2))
    varies = deviation > 1e-6 * (1.0 + largest)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
    return np.where(varies[..., None, :], x, 0.0) * scale[..., None, :], varies


def _standard(blocks: list[Floats]) -> list[Floats]:
    """Columns with mean 0 and deviation 1; those that do not vary are left out."""
    scaled, varies = _scaled(np.hstack(blocks))
    ends = accumulate(x.shape[1] for x in blocks)
    parts = [slice(end - x.shape[1], end) for x, end in zip(blocks, ends, strict=True)]
    return [scaled[:, part][:, varies[part]] for part in parts]


def _with_products(x: Floats) -> Floats:
    """The columns, and of few columns their squares and products."""
    if not 0 < x.shape[1] <= PRODUCTS_UP_TO:
        return x
    i, j = _pairs(x.shape[1])
    return np.hstack((x, x[:, i] * x[:, j]))


_pairs = cache(np.triu_indices)


def _crossed(state: Floats, acts: Floats) -> Floats:
    """Products of both, by row, and squares of what was done."""
    products = state[:, :, None] * acts[:, None, :]
    return np.hstack((products.reshape(len(state), -1), np.square(acts)))


def _gains(blocks: list[Floats], y: Floats) -> tuple[Floats, Floats]:
    """By column of y, what each block but the first explains beside all before it, as a share of
    what they leave open; and what each leaves open together with them, as a share of all."""
    rows, ends = len(y), np.cumsum([x.shape[1] for x in blocks])
    explained, products = _explained(np.hstack(blocks), y)
    left = products.diagonal() - np.cumsum(explained**2, axis=1).T[ends - 1]
    more = np.array([x.shape[1] for x in blocks])[1:, None]
    return _shares(left[:-1], left[1:], rows, ends[:-1, None], more), left / rows


def _shares(before: Floats, after: Floats, rows: int, known: Any, more: Any) -> Floats:
    """0 to 1: by how much squares of residuals fall with `more` columns beside the `known`."""
    is_open = before > 1e-6 * rows  # what is known exactly leaves nothing to explain
    kept = np.divide(after, before, out=np.ones(after.shape), where=is_open)
    adjusted: Floats = 1.0 - kept * (rows - known) / (rows - known - more)
    return np.where(is_open, np.clip(adjusted, 0.0, 1.0), 0.0)


def _explained(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """What least squares on x explain of y: by row a column of y, in the basis that the columns of
    x span one after the other, so that squares add up to what the first k explain; and y.T @ y.

    It stands in the Cholesky factor of all products. A little ridge for columns that repeat one
    another.
    """
    both, known = np.hstack((x, y)), x.shape[1]
    products = both.T @ both
    ridge = RIDGE * len(both) * np.eye(len(products))
    return np.linalg.cholesky(products + ridge)[known:, :known], products[known:, known:]

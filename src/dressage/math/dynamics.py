"""What the steps of a rollout say of the environment: do actions act, at once, on what is seen?

Least squares over neighbouring steps of one episode. Each figure is a share of variance, adjusted
for how many columns explain it, so that columns which say nothing give about zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Flags = npt.NDArray[np.bool_]

MOST_ROWS = 256
MOST_COLUMNS = 16  # of an observation: the first ones
PRODUCTS_UP_TO = 6  # columns: of so few, squares and products explain too
LAGS = (16, 8, 4, 2, 1)  # steps back that effects are looked for; fewer in short episodes
FOLLOWS = 0.2  # share of the next observation that the state explains, below which it is new
PER_COLUMN = 4  # rows for each explaining column, at least


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
    """
    obs = obs[..., :MOST_COLUMNS]
    rows = _rows(~ended, 1)
    if not len(rows[0]):
        return {}
    t, n = rows
    change, paid = _standard(obs[t + 1, n] - obs[t, n]), _standard(reward[t, n][:, None])
    state, acts = _with_products(_standard(obs[t, n])), _standard(action[t, n])
    before = _standard(obs[t - 1, n])
    found: dict[str, float] = {}
    seen_next = _standard(obs[t + 1, n])
    told = change.shape[1] and _enough(len(t), state, acts, before)
    if told and _gain(seen_next, state[:, :1], state[:, 1:])[1] > FOLLOWS:
        found["action_effect"] = _gain(change, state, acts)[0]
        found["history_gain"] = _gain(change, np.hstack((state, acts)), before)[1]
        found |= _late(obs, action, ~ended)
    after = _with_products(seen_next)[:, 1:]
    step = np.hstack((acts, state[:, 1:], after))
    if paid.shape[1] and _enough(len(t), step):
        found["reward_explained"] = _gain(paid, state[:, :1], step)[1]
    return found


def _late(obs: Floats, action: Floats, unbroken: Flags) -> dict[str, float]:
    """The largest of the effects one to many steps later, as far back as episodes reach."""
    for lags in LAGS:
        t, n = _rows(unbroken, lags)
        if not len(t):
            continue
        known = np.hstack((_with_products(_standard(obs[t, n])), _standard(action[t, n])))
        change = _standard(obs[t + 1, n] - obs[t, n])
        if not change.shape[1] or not _enough(len(t), known, action[0]):
            continue
        left = _residual(change, known)
        earlier = [_standard(action[t - lag, n]) for lag in range(1, lags + 1)]
        ends = np.cumsum([x.shape[1] for x in earlier])
        apart = np.split(_residual(np.hstack(earlier), known), ends[:-1], axis=1)
        effects = [_shares(left, x, known.shape[1]).max(initial=0.0) for x in apart]
        return {"action_effect_late": float(max(effects))}
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


def _standard(x: Floats) -> Floats:
    """Columns with mean 0 and deviation 1; those that do not vary are left out."""
    x = np.asarray(x, np.float64)
    deviation = x.std(axis=0)
    varies = deviation > 1e-6 * (1.0 + np.abs(x).max(axis=0, initial=0.0))
    standard: Floats = (x[:, varies] - x[:, varies].mean(axis=0)) / deviation[varies]
    return standard


def _with_products(x: Floats) -> Floats:
    """A column of ones, the columns, and of few columns their squares and products."""
    columns = [np.ones((len(x), 1)), x]
    if 0 < x.shape[1] <= PRODUCTS_UP_TO:
        i, j = np.triu_indices(x.shape[1])
        columns.append(x[:, i] * x[:, j])
    return np.hstack(columns)


def _gain(y: Floats, known: Floats, more: Floats) -> tuple[float, float]:
    """What `more` explains beside `known`: the largest share, of a column of y, of what is left
    open, and of all."""
    left, more = _residual(y, known), _residual(more, known)
    p = known.shape[1]
    open_share = (left**2).mean(axis=0)  # y has variance 1
    shares = _shares(left, more, p)
    return float(shares.max(initial=0.0)), float((shares * open_share).max(initial=0.0))


def _shares(left: Floats, more: Floats, known: int) -> Floats:
    """By column of `left`, 0 to 1: what least squares on `more` explain of it."""
    rows, q = left.shape[0], more.shape[1]
    before, after = (left**2).sum(axis=0), (_residual(left, more) ** 2).sum(axis=0)
    is_open = before > 1e-6 * rows  # what is known exactly leaves nothing to explain
    kept = np.divide(after, before, out=np.ones_like(before), where=is_open)
    adjusted: Floats = 1.0 - kept * (rows - known) / (rows - known - q)
    return np.where(is_open, np.clip(adjusted, 0.0, 1.0), 0.0)


def _residual(y: Floats, x: Floats) -> Floats:
    """What least squares on x leave of y; a little ridge for columns that repeat one another."""
    square = x.T @ x
    square[np.diag_indices_from(square)] += 1e-9 * len(x)
    return y - x @ np.linalg.solve(square, x.T @ y)

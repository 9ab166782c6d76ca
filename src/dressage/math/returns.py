"""Returns and advantages of collected experience: GAE, Monte Carlo, n-step, lambda and V-trace.

Arrays are [T, N] (or [T], or [T, N, agents]); row t is one step of the environment:

- `next_value[t]` is V of the true successor of step t, never of the observation after a reset;
- `terminated[t]`: the task ended, so nothing is bootstrapped;
- `truncated[t]`: the clock ended, so the return bootstraps from `next_value[t]`.

Both cut the sequence: nothing of row t + 1 flows into row t. The last row is always such a cut.
Flags may be bool or numbers (anything but 0 is true). Sums run in float64; the result is float32
unless an input is wider. A value that is masked by `terminated` may be anything, NaN included.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # flags or numbers; nested lists do too
Floats = NDArray[np.floating[Any]]
Float64s = NDArray[np.float64]

# Up to this many columns a loop over Python floats beats numpy rows: it costs 0.13 us an element,
# the two numpy calls 1.1 us a row. Both do the same two roundings a step, so the result does not
# depend on which one runs. 2,048 steps of one environment take 0.3 ms instead of 4.
FEW_COLUMNS = 8


def gae(
    reward: Array,
    value: Array,
    next_value: Array,
    terminated: Array,
    truncated: Array,
    gamma: float,
    gae_lambda: float,
) -> tuple[Floats, Floats]:
    """Advantage and return of each step (Schulman et al. 2016, "High-Dimensional Continuous
    Control Using Generalized Advantage Estimation", eq. 11 to 16).

        delta_t     = r_t + gamma (1 - terminated_t) V(s_t+1) - V(s_t)
        advantage_t = delta_t + gamma lambda (1 - terminated_t) (1 - truncated_t) advantage_t+1
        return_t    = advantage_t + V(s_t)
    """
    reward, value, next_value, terminated, truncated = _same_shape(
        reward=reward,
        value=value,
        next_value=next_value,
        terminated=terminated,
        truncated=truncated,
    )
    _check_fractions(gamma=gamma, gae_lambda=gae_lambda)
    delta = _one_step(reward, next_value, terminated, gamma)
    delta -= value
    decay = np.where(terminated | truncated, 0.0, gamma * gae_lambda)
    advantage = _backward(delta, decay)
    dtype = _result_dtype(reward, value, next_value)
    return advantage.astype(dtype, copy=False), (advantage + value).astype(dtype, copy=False)


def discounted_returns(
    reward: Array,
    next_value: Array,
    terminated: Array,
    truncated: Array,
    gamma: float,
) -> Floats:
    """Discounted sum of rewards up to the cut, with a bootstrap at a cut that is not terminal
    (Sutton and Barto 2018, eq. 3.8). Give zeros as `next_value` for pure Monte Carlo.

        G_t = r_t + gamma G_t+1                              inside an episode
        G_t = r_t + gamma (1 - terminated_t) V(s_t+1)        at a cut
    """
    return lambda_returns(reward, next_value, terminated, truncated, gamma, 1.0)


def lambda_returns(
    reward: Array,
    next_value: Array,
    terminated: Array,
    truncated: Array,
    gamma: float,
    return_lambda: float,
) -> Floats:
    """TD(lambda) targets (Sutton and Barto 2018, eq. 12.2, in its recursive form).

    G_t = r_t + gamma (1 - terminated_t) ((1 - lambda) V(s_t+1) + lambda G_t+1)

    and at a cut V(s_t+1) stands for the whole bracket. These are the returns of `gae` wherever
    value[t + 1] equals next_value[t].
    """
    reward, next_value, terminated, truncated = _same_shape(
        reward=reward, next_value=next_value, terminated=terminated, truncated=truncated
    )
    _check_fractions(gamma=gamma, return_lambda=return_lambda)
    cut = terminated | truncated
    cut[-1:] = True
    bootstrapped = _one_step(reward, next_value, terminated, gamma)
    inside = reward + (gamma * (1.0 - return_lambda)) * next_value.astype(np.float64)
    target = _backward(
        np.where(cut, bootstrapped, inside), np.where(cut, 0.0, gamma * return_lambda)
    )
    return target.astype(_result_dtype(reward, next_value), copy=False)


def n_step_returns(
    reward: Array,
    next_value: Array,
    terminated: Array,
    truncated: Array,
    gamma: float,
    n: int,
) -> Floats:
    """Rewards of the next n steps and the value after them (Sutton and Barto 2018, eq. 7.1).

        G_t = r_t + ... + gamma^(m-1) r_t+m-1 + gamma^m (1 - terminated_t+m-1) V(s_t+m)

    with m = n, or as many steps as remain until the first cut.
    """
    reward, next_value, terminated, truncated = _same_shape(
        reward=reward, next_value=next_value, terminated=terminated, truncated=truncated
    )
    _check_fractions(gamma=gamma)
    if n < 1:
        raise ValueError(f"n is {n}, expected at least 1 step")
    one_step = _one_step(reward, next_value, terminated, gamma)
    cut = (terminated | truncated)[:-1]
    target = one_step.copy()
    for _ in range(min(n, len(target)) - 1):  # from the k-step to the (k + 1)-step return
        target[:-1] = np.where(cut, one_step[:-1], reward[:-1] + gamma * target[1:])
    return target.astype(_result_dtype(reward, next_value), copy=False)


def vtrace(
    log_ratio: Array,
    reward: Array,
    value: Array,
    next_value: Array,
    terminated: Array,
    truncated: Array,
    gamma: float,
    trace_lambda: float = 1.0,
    rho_clip: float = 1.0,
    c_clip: float = 1.0,
) -> tuple[Floats, Floats]:
    """Value target and policy-gradient advantage of off-policy steps (Espeholt et al. 2018,
    "IMPALA", eq. 1 and section 4.2; the lambda of its remark 2).

        rho_t = min(rho_clip, pi / mu),   c_t = lambda min(c_clip, pi / mu)
        delta_t = rho_t (r_t + gamma (1 - terminated_t) V(s_t+1) - V(s_t))
        v_t - V(s_t) = delta_t + gamma c_t (v_t+1 - V(s_t+1))          the last term 0 at a cut
        advantage_t = rho_t (r_t + gamma (1 - terminated_t) (V(s_t+1)
                             + lambda (v_t+1 - V(s_t+1))) - V(s_t))

    `log_ratio` = log pi(a|s) - log mu(a|s), mu being the policy that acted. The lambda in the
    advantage is rlax's choice: on policy, target and advantage are exactly those of `gae`.
    """
    log_ratio, reward, value, next_value, terminated, truncated = _same_shape(
        log_ratio=log_ratio,
        reward=reward,
        value=value,
        next_value=next_value,
        terminated=terminated,
        truncated=truncated,
    )
    _check_fractions(gamma=gamma, trace_lambda=trace_lambda)
    if not (rho_clip > 0 and c_clip > 0):
        raise ValueError(f"rho_clip is {rho_clip} and c_clip is {c_clip}, expected above 0")
    # Clipping before exp: a ratio of e^1000 must not overflow.
    rho = np.exp(np.minimum(log_ratio, math.log(rho_clip), dtype=np.float64))
    c = np.exp(np.minimum(log_ratio, math.log(c_clip), dtype=np.float64))
    td_error = _one_step(reward, next_value, terminated, gamma) - value
    inside = np.where(terminated | truncated, 0.0, gamma * trace_lambda)
    correction = _backward(rho * td_error, inside * c)  # v_t - V(s_t)
    advantage = td_error
    advantage[:-1] += inside[:-1] * correction[1:]
    advantage *= rho
    dtype = _result_dtype(reward, value, next_value)
    return (correction + value).astype(dtype, copy=False), advantage.astype(dtype, copy=False)


def explained_variance(prediction: Array, target: Array) -> float:
    """1 - Var(target - prediction) / Var(target): 1 is perfect, 0 as good as a constant, below 0
    worse than one. NaN where the target does not vary, since then there is nothing to explain."""
    prediction, target = _same_shape(prediction=prediction, target=target)
    if target.size == 0 or target.min() == target.max():
        return math.nan
    target = target.astype(np.float64)
    return float(1.0 - np.var(target - prediction) / np.var(target))


def _one_step(reward: Array, next_value: Array, terminated: Array, gamma: float) -> Float64s:
    """r_t + gamma (1 - terminated_t) V(s_t+1), as a new float64 array."""
    target: Float64s = np.multiply(np.where(terminated, 0.0, next_value), gamma, dtype=np.float64)
    target += reward
    return target


def _backward(addend: Float64s, factor: Float64s) -> Float64s:
    """x_t = addend_t + factor_t x_t+1 along the first axis, with x_T = 0."""
    shape = addend.shape
    if addend.size == 0:
        return addend.copy()
    addend, factor = addend.reshape(len(addend), -1), factor.reshape(len(factor), -1)
    if addend.shape[1] <= FEW_COLUMNS:
        columns = []
        for a_column, f_column in zip(
            addend[::-1].T.tolist(), factor[::-1].T.tolist(), strict=True
        ):
            x = 0.0
            columns.append([x := a + f * x for a, f in zip(a_column, f_column, strict=True)])
        return np.ascontiguousarray(np.array(columns).T[::-1]).reshape(shape)
    result = addend.copy()
    rows, factors = list(result), list(factor)
    product = np.empty(result.shape[1])
    for t in range(len(rows) - 2, -1, -1):
        np.multiply(factors[t], rows[t + 1], product)
        np.add(rows[t], product, rows[t])
    return result.reshape(shape)


def _same_shape(**named: Array) -> list[Array]:
    """The arguments as arrays (flags as bool), or a ValueError that names the odd one out."""
    arrays = [np.asarray(array) for array in named.values()]
    shapes = [array.shape for array in arrays]
    if shapes.count(shapes[0]) != len(shapes) or shapes[0] == ():
        votes = Counter(shapes)
        expected = min(votes, key=lambda shape: (-votes[shape], len(shape)))
        for name, shape in zip(named, shapes, strict=True):
            if shape == ():
                raise ValueError(f"{name} is a single number, expected an array [T, N]")
            if shape != expected:
                hint = ""
                if np.prod(shape) == np.prod(expected):
                    hint = ": squeeze it" if len(shape) > len(expected) else ": reshape it"
                    hint = ": transpose it" if shape == expected[::-1] else hint
                raise ValueError(f"{name} has shape {shape}, expected {expected}{hint}")
    return [
        array.astype(bool, copy=False) if name in ("terminated", "truncated") else array
        for name, array in zip(named, arrays, strict=True)
    ]


def _check_fractions(**named: float) -> None:
    for name, number in named.items():
        if not 0.0 <= number <= 1.0:
            raise ValueError(f"{name} is {number}, expected a number from 0 to 1")


def _result_dtype(*arrays: Array) -> np.dtype[Any]:
    return np.result_type(np.float32, *arrays)

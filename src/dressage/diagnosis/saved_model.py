"""What a saved model tells of its training beside the log: numbers from weights and moments.

SB3 logs no gradient, no action value and nothing of observations, but most of its users save the
model, and Adam's second moments are gradients remembered:

- their sum is the squared norm of a late gradient, of the actor and of the critic apart;
- |first| beside root of second moment is how much late gradients agree: independent ones of the
  usual betas come to 0.23 in the root mean square, one direction to 1;
- of a first layer, dL/dW_ij = d_i x_j and dL/db_i = d_i, so that the second moments of W's column j
  over those of the bias are the mean square of observation j. Where x_j never changes, the quotient
  is the same for every unit, to rounding.

Weights tell how far they have come from where SB3 draws them (orthogonal for policy gradients,
torch's default elsewhere), and a slow copy how far behind it is. What the networks answer is in
saved_network.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from dressage.diagnosis.saved_network import Layer, answers, chain
from dressage.runs.table import Array
from dressage.runs.weights import Moments, Weights

ACTOR = ("mlp_extractor.policy_net.", "action_net.", "actor.")
CRITIC = ("mlp_extractor.value_net.", "value_net.", "critic.", "q_net.")
SLOW = "_target."
NOTHING = np.empty((0, 0, 0))  # in place of a tensor that is not there: no other has its shape
SIZES = (1e-6, 1e6)  # that inputs are taken to have
SAME = 0.02  # deviation of a quotient's logarithm over units, below which it is one number (guess)


def numbers(saved: Weights) -> dict[str, float]:
    """By name; only what the file holds. `actor/…` and `critic/…` are of those networks."""
    with np.errstate(all="ignore"):  # what is not finite is left out
        return _numbers(saved)


def _numbers(saved: Weights) -> dict[str, float]:
    moments = _by_tensor(saved)
    found = _behind(saved.tensors)
    chains: dict[str, list[Layer]] = {}
    for role, prefixes in (("actor", ACTOR), ("critic", CRITIC)):
        layers = list(_layers(saved.tensors, moments, prefixes))
        chains[role] = chain(layers)
        if layers:
            own = _of_weights(chains[role]) | _of_moments(layers) | _inputs(layers[0])
            found |= {f"{role}/{name}": value for name, value in own.items()}
    actor, critic = chains["actor"], chains["critic"]
    found |= answers(actor, critic, _input_sizes(actor), _input_sizes(critic))
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _behind(tensors: Mapping[str, Array]) -> dict[str, float]:
    """How far slow copies lie from what they follow, over its norm."""
    pairs = [
        (tensors[name.replace(SLOW, ".")], slow)
        for name, slow in tensors.items()
        if SLOW in name and tensors.get(name.replace(SLOW, "."), NOTHING).shape == slow.shape
    ]
    norm = sum(float(np.square(fast).sum()) for fast, _ in pairs)
    apart = sum(float(np.square(fast - slow).sum()) for fast, slow in pairs)
    return {"critic/behind": math.sqrt(apart / norm)} if norm > 0 else {}


def _by_tensor(saved: Weights) -> dict[str, Moments]:
    """SB3 numbers an optimizer's moments as its parameters come."""
    trained = [name for name in saved.tensors if SLOW not in name]
    of = {
        "policy": trained,
        "actor": [name for name in trained if name.startswith("actor.")],
        "critic": [name for name in trained if name.startswith("critic.")],
    }
    found = {}
    for one in saved.moments:
        optimizer, _, number = one.name.partition("/")
        names = of.get(optimizer, [])
        if not number.isdigit() or int(number) >= len(names):
            continue
        name = names[int(number)]
        sizes = {moment.size for moment in (one.first, one.second) if moment is not None}
        if one.second is not None and sizes == {saved.tensors[name].size}:
            found[name] = one
    return found


def _layers(
    tensors: Mapping[str, Array], moments: Mapping[str, Moments], prefixes: tuple[str, ...]
) -> Iterator[Layer]:
    for name, weight in tensors.items():
        bias = tensors.get(name.removesuffix("weight") + "bias", NOTHING)
        if name.endswith(".weight") and name.startswith(prefixes) and weight.ndim == 2:
            if SLOW in name or not weight.size or bias.shape != weight.shape[:1]:
                continue
            its = moments.get(name), moments.get(name.removesuffix("weight") + "bias")
            yield Layer(name, weight, bias, *its)


def _of_weights(layers: list[Layer]) -> dict[str, float]:
    found = {
        "output_grown": math.log(_norm(layers[-1]) / _fresh_norm(layers[-1])),
        "output_bias": float(np.abs(layers[-1].bias).mean()),
    }
    if hidden := layers[:-1]:
        grown = [math.log(_norm(one) / _fresh_norm(one)) for one in hidden]
        found["grown"] = float(np.mean(grown))
        found["hidden_bias"] = float(np.mean([np.sqrt(np.square(h.bias).mean()) for h in hidden]))
    return found


def _of_moments(layers: list[Layer]) -> dict[str, float]:
    known = [m for one in layers for m in (one.weight_moments, one.bias_moments) if m is not None]
    found: dict[str, float] = {}
    if steps := [m.step for m in known if m.step is not None]:
        found["steps"] = max(steps)
    second = [_corrected(m.second, m.betas[1], m.step) for m in known if m.second is not None]
    if second:
        found["gradient"] = float(np.sqrt(sum(float(one.sum()) for one in second)))
        found["untouched"] = float(np.mean(np.concatenate(second) == 0.0))
    agree = [
        np.abs(_corrected(m.first, m.betas[0], m.step))
        / np.sqrt(_corrected(m.second, m.betas[1], m.step) + 1e-30)
        for m in known
        if m.first is not None and m.second is not None and m.is_adam
    ]
    if agree:
        together = np.concatenate(agree)
        found["agrees"] = float(np.sqrt(np.square(np.minimum(together, 1.0)).mean()))
    return found


def _inputs(first: Layer) -> dict[str, float]:
    """Of the observation, by its first layer's moments."""
    quotient = _mean_squares(first)
    if quotient is None:
        return {}
    scale = np.sqrt(np.median(quotient, axis=0))
    same = np.log(np.maximum(quotient, 1e-30)).std(axis=0) < SAME
    return {
        "input_largest": float(scale.max()),
        "input_smallest": float(scale.min()),
        "input_same": float(same.mean()),
    }


def _input_sizes(layers: list[Layer]) -> Array:
    """Of each input its root mean square, as far as moments tell; else one."""
    if not layers:
        return np.empty(0)
    quotient = _mean_squares(layers[0])
    if quotient is None:
        return np.ones(layers[0].weight.shape[1])
    sizes: Array = np.clip(np.sqrt(np.median(quotient, axis=0)), *SIZES)
    return sizes


def _mean_squares(first: Layer) -> Array | None:
    """Of each input, by each unit of the first layer `[units, inputs]`."""
    of_weight, of_bias = first.weight_moments, first.bias_moments
    if of_weight is None or of_bias is None or of_weight.second is None or of_bias.second is None:
        return None
    columns = of_weight.second.reshape(first.weight.shape)
    alive = of_bias.second > 0
    if alive.sum() < 4:
        return None
    quotient: Array = columns[alive] / of_bias.second[alive, None]
    return quotient


def _corrected(moment: Array, beta: float, step: float | None) -> Array:
    """Without what Adam's moments lack at first."""
    return moment / (1.0 - beta**step) if step and step > 0 else moment


def _norm(layer: Layer) -> float:
    return max(float(np.linalg.norm(layer.weight)), 1e-12)


def _fresh_norm(layer: Layer) -> float:
    """Of a layer as SB3 draws it."""
    outputs, inputs = layer.weight.shape
    orthogonal = {"action_net.": 0.01, "value_net.": 1.0, "mlp_extractor.": math.sqrt(2.0)}
    for prefix, gain in orthogonal.items():
        if layer.name.startswith(prefix):
            return gain * math.sqrt(min(outputs, inputs))
    return math.sqrt(outputs / 3.0)  # uniform in +-1/sqrt(inputs)

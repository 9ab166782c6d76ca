"""What saved networks answer where they are asked: values and actions at made-up observations.

Observations are drawn from a normal distribution of the sizes that the first layer's moments tell
(see saved_model.py), so nothing of the environment is needed. They are not those of training: how
large values are and which sign they have carries over, the value of a certain state does not.
Hidden units are taken to be SB3's defaults: tanh for policy gradients, ReLU elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dressage.runs.table import Array
from dressage.runs.weights import Moments

DRAWN = 256  # observations
IDLE = 0.01  # of the layer's mean deviation over observations, below which a unit says nothing
SATURATED = 0.97  # of an action's bound
SQUASHED = "actor."  # names of actors whose outputs go through tanh
TANH = "mlp_extractor."


class Layer(NamedTuple):
    name: str
    weight: Array  # [outputs, inputs]
    bias: Array  # [outputs]
    weight_moments: Moments | None
    bias_moments: Moments | None


class Asked(NamedTuple):
    outputs: Array  # [observations, outputs]
    idle: float  # share of hidden units; nan where there are none


def chain(layers: Sequence[Layer]) -> list[Layer]:
    """From the first layer on, as far as one takes what the one before it gives."""
    found = list(layers[:1])
    for layer in layers[1:]:
        if layer.weight.shape[1] != found[-1].weight.shape[0]:
            break
        found.append(layer)
    return found


def answers(
    actor: Sequence[Layer], critic: Sequence[Layer], actor_inputs: Array, critic_inputs: Array
) -> dict[str, float]:
    """Of both networks, by chains of layers and the sizes of their inputs; either may be empty."""
    found: dict[str, float] = {}
    most = max(len(actor_inputs), len(critic_inputs))
    drawn = np.random.default_rng(0).normal(size=(DRAWN, most))
    if actor:
        asked = _ask(actor, drawn[:, : len(actor_inputs)] * actor_inputs)
        found["actor/idle"] = asked.idle
        if actor[-1].name.startswith(SQUASHED):
            beyond = np.abs(np.tanh(asked.outputs)) > SATURATED
            found["actor/saturated"] = float(beyond.mean())
        elif asked.outputs.shape[1] > 1:
            found["actor/one_choice"] = _one_choice(asked.outputs)
    if critic:
        found |= _of_critic(actor, critic, drawn[:, : len(critic_inputs)] * critic_inputs)
    return found


def _of_critic(actor: Sequence[Layer], critic: Sequence[Layer], obs: Array) -> dict[str, float]:
    """A critic that takes actions too is asked about those of the actor."""
    if actor and actor[0].weight.shape[1] < obs.shape[1]:
        seen = obs[:, : actor[0].weight.shape[1]]
        done = np.tanh(_ask(actor, seen).outputs)
        if seen.shape[1] + done.shape[1] != obs.shape[1]:
            return {}
        obs = np.hstack((seen, done))
    asked = _ask(critic, obs)
    found = {"critic/idle": asked.idle}
    if asked.outputs.shape[1] > 1:  # a value for each choice
        found["critic/one_choice"] = _one_choice(asked.outputs)
        found["critic/choices_apart"] = float(asked.outputs.std(axis=1).mean())
    best = asked.outputs.max(axis=1)
    return found | {"critic/value": float(best.mean()), "critic/value_spread": float(best.std())}


def _ask(layers: Sequence[Layer], x: Array) -> Asked:
    idle = []
    for layer in layers[:-1]:
        x = x @ layer.weight.T + layer.bias
        x = np.tanh(x) if layer.name.startswith(TANH) else np.maximum(x, 0.0)
        spread = x.std(axis=0)
        idle.append(np.mean(spread <= IDLE * spread.mean()))
    outputs = x @ layers[-1].weight.T + layers[-1].bias
    return Asked(outputs, float(np.mean(idle)) if idle else math.nan)


def _one_choice(outputs: Array) -> float:
    """The share of observations at which the choice that is most often best is it."""
    return float(np.bincount(outputs.argmax(axis=1)).max() / len(outputs))

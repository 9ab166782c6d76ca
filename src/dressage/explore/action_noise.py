"""Noise on continuous actions: Gaussian, or Ornstein-Uhlenbeck, which drifts over an episode.

Ornstein-Uhlenbeck noise remembers its last value. That value is the end of the carry that the
Collector keeps for each environment: so it begins at zero with every episode, is saved with a run,
and belongs to the state that `Policy.predict` hands from call to call.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field

from dressage.core.collector import Acted
from dressage.core.config import SchedulableRate, Settings
from dressage.core.rng import Rng

Floats = npt.NDArray[np.float32]


class ActionNoiseSettings(Settings):
    """Of actions in [-1, 1]."""

    GROUP: ClassVar[str] = "exploration"

    action_noise: Annotated[
        Literal["normal", "ou", "none"],
        BeforeValidator(lambda value: "none" if value is None else value),  # as typed: =none
    ] = Field("normal", description="noise on actions; ou: Ornstein-Uhlenbeck, which drifts")
    noise_std: SchedulableRate = Field(
        0.1, description="its deviation, actions being in [-1, 1]; ou: sigma"
    )
    ou_theta: float = Field(0.15, ge=0, description="ou: pull towards zero")
    ou_dt: float = Field(0.01, gt=0, description="ou: time between two steps")


class ActionNoise(NamedTuple):
    """What is added to the actions of N environments: `keep` times the last noise, and `kick`."""

    kick: Floats  # [N, A]
    keep: float
    uniform: Floats | None  # [N, A]: the actions themselves while all are random


def remembered(cfg: ActionNoiseSettings, dimensions: int) -> int:
    """How many numbers of an environment's carry the noise needs."""
    return dimensions if cfg.action_noise == "ou" else 0


def action_noise(
    rng: Rng, index: int, shape: tuple[int, int], cfg: ActionNoiseSettings, random: bool
) -> ActionNoise:
    """The draw of vector step `index`; `random`: actions are still uniform."""
    if random:
        uniform = 2.0 * rng.uniform("act/uniform", shape, index) - 1.0
        return ActionNoise(np.zeros(shape, np.float32), 1.0, uniform)
    if cfg.action_noise == "none":
        return ActionNoise(np.zeros(shape, np.float32), 0.0, None)
    normal = rng.normal("act/normal", shape, index)
    if cfg.action_noise == "normal":
        return ActionNoise(np.float32(cfg.noise_std) * normal, 0.0, None)
    # Euler's step of dx = -theta x dt + sigma dW
    scale = np.float32(cfg.noise_std * math.sqrt(cfg.ou_dt))
    return ActionNoise(scale * normal, 1.0 - cfg.ou_theta * cfg.ou_dt, None)


def explored(action: Floats, carry: Any, noise: ActionNoise | None, size: int) -> Acted:
    """The policy's actions `[N, A]` with noise, within [-1, 1], and the carry after them, the last
    `size` numbers of which are the noise's own."""
    if noise is None:
        return Acted(action, carry, {})
    added = noise.kick
    if size:
        added = np.float32(noise.keep) * carry[:, -size:] + noise.kick
        carry = np.concatenate((carry[:, :-size], added), axis=1)
    if noise.uniform is not None:
        return Acted(noise.uniform, carry, {})
    return Acted(np.clip(action + added, -1.0, 1.0), carry, {})

"""Classic tasks without velocities, so that a policy needs memory: `CartPoleNoVel-v1` and others.

The ids and the hidden columns are those of RL-Zoo's NoVel tasks. An environment of such an id is
the plain one with `mask_velocity` around it: same dynamics, seeds, time limit and threshold.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import WrapperSpec

from dressage.errors import EnvError

SUFFIX = "NoVel"
# Columns that are velocities, by name of the environment.
VELOCITIES = {
    "CartPole": (1, 3),
    "MountainCar": (1,),
    "MountainCarContinuous": (1,),
    "Pendulum": (2,),
    "Acrobot": (4, 5),
    "LunarLander": (2, 3, 5),
    "LunarLanderContinuous": (2, 3, 5),
}


class MaskVelocity(gym.ObservationWrapper):  # type: ignore[misc]
    """Sets velocities to zero, so that a policy needs memory."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        spec = env.unwrapped.spec
        name = spec.name if spec is not None else type(env.unwrapped).__name__
        columns = VELOCITIES.get(name.removesuffix(SUFFIX))
        if columns is None:
            raise EnvError(
                f"mask_velocity does not know '{name}'; it knows {', '.join(VELOCITIES)}."
            )
        self._keep = np.ones(env.observation_space.shape, env.observation_space.dtype)
        self._keep[list(columns)] = 0

    def observation(self, observation: Any) -> Any:
        return observation * self._keep


def register_no_velocity() -> None:
    """Adds `<name>NoVel-v<version>` for every registered version of the tasks above."""
    mask = WrapperSpec("MaskVelocity", f"{__name__}:MaskVelocity", {})
    for plain in list(gym.registry.values()):
        env_id = f"{plain.name}{SUFFIX}-v{plain.version}"
        ours = plain.name in VELOCITIES and plain.namespace is None
        if ours and env_id not in gym.registry:
            gym.registry[env_id] = dataclasses.replace(
                plain, id=env_id, additional_wrappers=(mask,), vector_entry_point=None
            )

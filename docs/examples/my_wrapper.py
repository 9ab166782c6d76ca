"""A wrapper is any gymnasium.Wrapper whose constructor takes the environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


class NoisyObservation(gym.ObservationWrapper):
    """Adds noise, drawn from the environment's own generator: seeded with each episode."""

    def observation(self, observation: Any) -> Any:
        noise = self.np_random.normal(0.0, 0.01, observation.shape)
        return (observation + noise).astype(np.float32)

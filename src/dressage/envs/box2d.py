"""Box2D environments whose episodes depend on the episodes before them, put right.

BipedalWalker destroys its bodies in reset() but keeps the b2World, and an episode then differs
from that of a fresh instance, first in the last bit (1.2e-7): of 30 stops at different moments
none could be continued exactly, with a new world all 30 (probably the order in which the old world
solves contacts). LunarLander makes a new world itself
(https://github.com/Farama-Foundation/Gymnasium/issues/728). CarRacing keeps its world too; no
difference was seen there, it gets a new one as a precaution. Measured cost: none.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

NEEDS_FRESH_WORLD = {
    ("gymnasium.envs.box2d.bipedal_walker", "BipedalWalker"),
    ("gymnasium.envs.box2d.car_racing", "CarRacing"),
}


class FreshWorld(gym.Wrapper):  # type: ignore[misc]
    """Gives the environment a new b2World before each reset."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        inner = self.env.unwrapped
        inner._destroy()  # leaves nothing that the reset below would look for in the new world
        old = inner.world
        old.contactListener = None
        inner.world = type(old)(gravity=tuple(old.gravity))
        return self.env.reset(seed=seed, options=options)


def with_fresh_world(env: Any) -> Any:
    """The environment, mended if it is one of those that need it."""
    kinds = {(kind.__module__, kind.__name__) for kind in type(env.unwrapped).__mro__}
    return FreshWorld(env) if kinds & NEEDS_FRESH_WORLD else env

"""Box2D environments whose episodes depend on the episodes before them, put right.

BipedalWalker and CarRacing destroy their bodies in reset() but keep the b2World. The world's
broad-phase tree and contact list keep an order from the earlier episodes, contacts are solved in
another order, and the last bit of an observation differs from that of a fresh instance (measured:
1.2e-7 in BipedalWalker-v3 at env step 51 after six episodes). LunarLander already makes a new
world (https://github.com/Farama-Foundation/Gymnasium/issues/728). Doing the same here makes an
episode a function of its seed and actions alone, which exact resume rests on.
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

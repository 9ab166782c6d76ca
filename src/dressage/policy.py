"""A trained policy, ready to act: weights and normalisers from a checkpoint, no environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dressage.assemble import make_learner, stored_spec, with_engine
from dressage.core.collector import Acted
from dressage.core.normalizer import ObsNormalizer
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Tree, tree_map
from dressage.errors import EnvError
from dressage.presets.resolve import Resolved, resolve
from dressage.runs.checkpoint import load_checkpoint
from dressage.runs.run import Run


class State(NamedTuple):
    """What a policy remembers between two calls: the recurrent carry, and how often it drew."""

    carry: npt.NDArray[np.float32] | None
    draws: int


class Policy:
    """`action, state = policy.predict(obs, state)`, with actions in the environment's own form."""

    def __init__(self, resolved: Resolved, spec: TaskSpec, learner: Any, env_steps: int) -> None:
        self.resolved, self.spec, self.learner, self.env_steps = resolved, spec, learner, env_steps
        self.rng = Rng(resolved.run.seed)
        self._episodes = 0  # begun with predict
        self.carry_size = resolved.algo.carry_size(learner)
        self.obs_normalizer: ObsNormalizer | None = None
        if resolved.run.normalize_obs and spec.obs.vector:
            self.obs_normalizer = ObsNormalizer(spec.obs.vector, resolved.run.clip_obs)

    def predict(
        self,
        obs: Any,
        state: State | None = None,
        *,
        mask: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, State]:
        """The action for one observation of the environment, and the state for the next call."""
        try:
            batch = tree_map(lambda x: x[None], self.spec.obs.encode(obs))
        except EnvError:
            if self._are_several(obs):
                raise EnvError(
                    f"predict() takes one observation, and these look like {len(obs)}: use "
                    "predict_batch(observations)."
                ) from None
            raise
        masks = None if mask is None else self.spec.action.mask(mask)[None]
        actions, state = self._predict(batch, state, masks, deterministic, 1)
        return self.spec.action.decode(actions[0]), state

    def _are_several(self, obs: Any) -> bool:
        """Whether each entry of what was given is an observation."""
        try:
            for one in obs:
                self.spec.obs.encode(one)
        except (EnvError, TypeError):
            return False
        return len(obs) > 0

    def predict_batch(
        self,
        observations: Sequence[Any],
        state: State | None = None,
        *,
        masks: Sequence[Any] | None = None,
        deterministic: bool = True,
    ) -> tuple[list[Any], State]:
        """Actions for several observations at once, as a list."""
        batch = self.spec.obs.allocate(len(observations))
        for i, obs in enumerate(observations):
            self.spec.obs.encode_into(obs, batch, i)
        rows = None if masks is None else np.stack([self.spec.action.mask(m) for m in masks])
        actions, state = self._predict(batch, state, rows, deterministic, len(observations))
        return self.spec.action.decode_batch(actions), state

    def _predict(
        self, obs: Tree, state: State | None, masks: Any, deterministic: bool, n: int
    ) -> tuple[npt.NDArray[np.float32], State]:
        if self.spec.masked and masks is None:
            raise EnvError(
                "This policy was trained with action masks and got none: pass mask=, as the "
                "environment gives it in info['action_mask'] or action_masks()."
            )
        if state is None:  # a new episode, with draws of its own
            carry = np.zeros((n, self.carry_size), np.float32) if self.carry_size else None
            self._episodes += 1  # from 1: the first draws of all are training's random steps
            state = State(carry, self._episodes << 32)
        noise = None
        if not deterministic:
            algo = self.resolved.algo
            noise = algo.noise(self.rng, state.draws, n, self.learner, self.resolved.cfg.at(1.0))
        acted = self.choose(obs, state.carry, masks, noise)
        return acted.action.copy(), State(acted.carry, state.draws + 1)

    def choose(self, obs: Tree, carry: Any, mask: Any, noise: Any = None) -> Acted:
        """The same on canonical arrays `[N, …]`; what evaluation uses."""
        if self.obs_normalizer is not None:
            obs = self.obs_normalizer(obs)
        return self.resolved.algo.act(self.learner, obs, carry, mask, noise)


def load_policy(run: Run, checkpoint: str | int | None, *, trust: bool, device: str) -> Policy:
    """The policy of a checkpoint; by default the best evaluated one, else the last."""
    config = dict(run.config)
    config["device"] = device
    resolved = resolve(config.get("env"), config.get("algo"), config, trust=trust, use_preset=False)
    if checkpoint is None:
        checkpoint = "best" if run.best is not None else "last"
    stored = load_checkpoint(run.checkpoint(checkpoint), parts=["policy"])
    spec, _ = stored_spec(run)
    resolved, _ = with_engine(resolved, spec, resolved.run.engine)
    learner = make_learner(resolved, spec, Rng(resolved.run.seed), trust)
    arrays = stored.parts["policy"]
    learner.load_weights(arrays)
    policy = Policy(resolved, spec, learner, stored.env_steps)
    if policy.obs_normalizer is not None:
        policy.obs_normalizer.load(arrays)
    return policy

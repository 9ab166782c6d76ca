"""Held-out evaluation: the deterministic policy on episodes with seeds of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dressage.core.collector import Acted
from dressage.core.rng import Rng
from dressage.core.steps import Tree
from dressage.envs.batch import EnvBatch
from dressage.envs.make import time_limit
from dressage.errors import EnvError

Floats = npt.NDArray[np.float32]
Choose = Callable[[Tree, "Floats | None", "npt.NDArray[np.bool_] | None"], Acted]
# env steps of an episode without a time limit, which a policy may never end: above the 27,000 of an
# Atari game, the longest limit in common use
LONGEST_EPISODE = 30_000


@dataclass(frozen=True)
class Evaluation:
    """One entry per episode, in the order of their seeds."""

    returns: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int64]
    successes: npt.NDArray[np.float64]  # NaN where the environment does not say
    cut_short: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    longest: int = LONGEST_EPISODE  # env steps after which an episode was cut short

    def metrics(self) -> dict[str, float]:
        found = {
            "val/roll/ep_rew_mean": float(self.returns.mean()),
            "val/roll/ep_rew_std": float(self.returns.std()),
            "val/roll/ep_rew_min": float(self.returns.min()),
            "val/roll/ep_rew_max": float(self.returns.max()),
            "val/roll/ep_len_mean": float(self.lengths.mean()),
            "val/roll/episodes": len(self.returns),
        }
        known = self.successes[~np.isnan(self.successes)]
        if known.size:
            found["val/roll/success_rate"] = float(known.mean())
        return found

    def warning(self) -> str:
        """What is to be said of episodes that were cut short; nothing where all came to an end."""
        if not self.cut_short.any():
            return ""
        return (
            f"{int(self.cut_short.sum())} of {len(self.returns)} episodes of the evaluation had no "
            f"end after {self.longest:,} env steps and count as they stood: give the environment "
            "a time limit (wrappers=time_limit:1000)."
        )


def longest_episode(batch: EnvBatch) -> int:
    """env steps after which an evaluation leaves an episode that does not end: never before a time
    limit of the environment's own does."""
    try:
        return max(LONGEST_EPISODE, time_limit(batch.single()) or 0)
    except EnvError:  # native environments have limits of their own, all of them shorter
        return LONGEST_EPISODE


def evaluate(
    choose: Choose, batch: EnvBatch, episodes: int, rng: Rng, index: int, carry_size: int = 0
) -> Evaluation:
    """Plays `episodes` episodes; the seeds depend on the run's seed and `index` alone.

    Each environment plays a fixed share of the episodes, so that short episodes are not favoured.
    An episode that has no end is cut short after `longest_episode` steps.
    """
    n, longest = batch.n_envs, longest_episode(batch)
    returns, lengths = np.zeros(episodes), np.zeros(episodes, np.int64)
    successes, cut_short = np.full(episodes, np.nan), np.zeros(episodes, bool)
    carry = np.zeros((n, carry_size), np.float32) if carry_size else None
    playing = np.arange(n)  # the episode that each environment plays; beyond the last: idle
    left = episodes

    def begin(rows: list[int]) -> None:
        # an idle environment plays on, unseen, so that the others need not be told apart
        seeds = [rng.episode_seed(int(playing[i]), index, "evaluate") for i in rows]
        batch.reset_many(rows, seeds)
        if carry is not None:
            carry[rows] = 0.0

    def finish(rows: list[int]) -> None:
        nonlocal left
        for i in rows:
            if playing[i] < episodes:
                successes[playing[i]] = batch.success[i]
                left -= 1
            playing[i] += n

    begin(list(range(n)))
    while left:
        acted = choose(batch.obs, carry, batch.mask)
        if carry is not None:
            carry[:] = acted.carry
        batch.step(acted.action)
        active = playing < episodes
        at = playing[active]
        returns[at] += batch.raw_reward[active]
        lengths[at] += 1
        done = batch.terminated | batch.truncated
        endless = np.flatnonzero(active)[(lengths[at] >= longest) & ~done[active]].tolist()
        cut_short[playing[endless]] = True
        ended = np.flatnonzero(done).tolist()
        over = [i for i in ended if batch.game_over[i]] + endless
        finish(over)
        if over and left:
            begin(over)
        lost_a_life = [i for i in ended if not batch.game_over[i]]
        if lost_a_life and left:
            # Goes on with the game, or, if that ends within this very reset, begins the next one.
            playing[lost_a_life] += n
            begin(lost_a_life)
            playing[lost_a_life] -= n
            finish([i for i in lost_a_life if not batch.continued[i]])
    return Evaluation(returns, lengths, successes, cut_short, longest)

"""Learning from sequences of a replay memory: what recurrent DQN, SAC and TD3 share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dressage.algos import off_policy
from dressage.core.replay import Replay
from dressage.core.steps import tree_map
from dressage.errors import ConfigError
from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.steps import Steps, Tree


def check(cfg: Any, n_envs: int) -> None:
    off_policy.check(cfg, n_envs)
    if cfg.n_step > 1 or cfg.prioritized:
        raise ConfigError(
            "Sequences are drawn uniformly and bootstrap after one step: n_step=1 and "
            "prioritized=false, or an algorithm without memory."
        )
    if (rows := cfg.buffer_size // n_envs) < cfg.burn_in + cfg.sequence_length:
        raise ConfigError(
            f"buffer_size={cfg.buffer_size} holds {rows} steps of each of n_envs={n_envs} "
            f"environments, less than burn_in + sequence_length: "
            f"buffer_size={(cfg.burn_in + cfg.sequence_length) * n_envs} or more."
        )


def memory(cfg: Any) -> Replay:
    return Replay(cfg, cfg.burn_in + cfg.sequence_length)


class Woven(NamedTuple):
    """Sequences in which the true successor of every step comes right after it."""

    obs: Tree  # [W, B, …]
    first: Tensor  # [W, B]
    place: Tensor  # [L, B]: where the steps are; their successors are one further


def woven(obs: Tree, next_obs: Tree, truncated: Tensor, first: Tensor) -> Woven:
    """Puts the successors that are not the next row between the rows: after steps that the clock
    ended, and after the last. What follows them in a row begins an episode, so nothing sees them.
    """
    extra = truncated.clone()
    extra[-1] = True
    steps = torch.arange(len(extra), device=extra.device).unsqueeze(-1)
    place = steps + extra.cumsum(0) - extra.long()
    width, rows = len(extra) + int(extra.sum(0).max()), extra.shape[1]
    column = torch.arange(rows, device=extra.device).expand_as(place)
    inserted = (place[extra] + 1, column[extra])

    def weave(x: Tensor, after: Tensor) -> Tensor:
        found = x.new_zeros((width, *x.shape[1:]))
        found[place, column] = x
        found[inserted] = after[extra]
        return found

    found = torch.zeros((width, rows), dtype=torch.bool, device=extra.device)
    found[place, column] = first
    if isinstance(obs, dict):
        return Woven({k: weave(obs[k], next_obs[k]) for k in obs}, found, place)
    return Woven(weave(obs, next_obs), found, place)


def along(net: Any, batch: Steps, sequence: Woven, burn_in: int, noise: Tensor | None) -> Tensor:
    """Values `[W, B, choices]` of woven sequences, from the stored state brought up to date."""
    carry, first = batch.extras["carry"], batch.extras["first"]
    if burn_in:
        with torch.no_grad():
            before = tree_map(lambda x: x[:burn_in], batch.obs)
            carry = net.along(before, carry, first[:burn_in], noise)[1]
    return net.along(sequence.obs, carry, sequence.first, noise)[0]  # type: ignore[no-any-return]


def learned_from(batch: Steps, burn_in: int) -> tuple[Steps, Woven]:
    """The steps after the burn-in as one row `[L * B, …]`, and as woven sequences."""
    obs, next_obs = (tree_map(lambda x: x[burn_in:], part) for part in (batch.obs, batch.next_obs))
    x = batch.extras
    sequence = woven(obs, next_obs, batch.truncated[burn_in:], x["first"][burn_in:])
    extras: dict[str, Any] = {"weight": x["weight"].repeat(len(sequence.place))}
    for name in x.keys() & {"discount", "next_mask"}:
        extras[name] = x[name][burn_in:].flatten(0, 1)
    flat = batch._replace(
        action=batch.action[burn_in:].flatten(0, 1),
        reward=batch.reward[burn_in:].flatten(),
        extras=extras,
    )
    return flat, sequence

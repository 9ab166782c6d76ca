"""Does the action change anything: the same seed twice, with one action changed in one place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.probes.about import ACTIONS
from dressage.diagnosis.probes.player import Player, Seen, flat
from dressage.diagnosis.probes.result import ProbeResult, each
from dressage.diagnosis.probes.subject import Deadline
from dressage.envs.actions import ActionCodec
from dressage.envs.make import EnvRecipe

Action = NDArray[np.float32]
STARTS = (0, 1, 2, 4, 8, 16)  # env steps before the changed action
HORIZON = 12  # env steps looked at after it
ROUNDS = 4  # seeds tried at each start
MOST_COLUMNS = 24  # dimensions and choices looked at
NAMED = 6


def action_effect(recipe: EnvRecipe, deadline: Deadline) -> ProbeResult:
    """For each dimension, and each value of a choice, after how many steps a change first shows."""
    with Player(recipe) as player:
        codec = player.codec
        same = [c for c in range(codec.continuous) if codec.env_low[c] == codec.env_high[c]]
        single = [c for c, n in enumerate(codec.categories) if n < 2]
        if len(same) == codec.continuous and len(single) == len(codec.categories):
            return ProbeResult(
                ACTIONS.name,
                "The action space has no room: every bound and choice allows one value.",
                {"columns": codec.size},
                {"action-space-degenerate": 500.0, HEALTHY: 0.01},
            )
        if not _repeats(player):
            return ProbeResult(
                ACTIONS.name,
                "The same seed and actions do not give the same episode twice, so the effect of "
                "an action cannot be told from chance.",
            )
        changes = _changes(codec)
        lags: dict[str, int | None] = dict.fromkeys(changes)
        rewards = sights = False
        for seed, start in _places():
            for name, change in changes.items():
                if deadline.over():
                    break
                lag, paid, shown = _lag(player, seed, start, change)
                rewards |= paid
                sights |= shown
                if lag is not None:
                    known = lags[name]
                    lags[name] = lag if known is None else min(known, lag)
    return _judged(lags, rewards, sights, same)


def _places() -> Iterator[tuple[int, int]]:
    for seed in range(ROUNDS):
        for start in STARTS:
            yield 1000 + 100 * seed + start, start


Change = tuple[int, float, float]  # column, its value in the one episode and in the other


def _changes(codec: ActionCodec) -> dict[str, Change]:
    """What is changed, by name: each value of a choice against its first, each dimension from one
    end of its range to the other."""
    found: dict[str, Change] = {}
    for c, n in enumerate(codec.categories):
        label = "action" if codec.size == 1 else f"choice {c}"
        for value in range(1, n):
            found[f"{label} {value}"] = (c, 0.0, float(value))
    for d in range(codec.continuous):
        if codec.env_low[d] == codec.env_high[d]:
            continue
        low, high = float(codec.low[d]), float(codec.high[d])
        ends = (low, high) if max(abs(low), abs(high)) < 1e10 else (-1.0, 1.0)
        found[f"dimension {d}"] = (len(codec.categories) + d, *ends)
    names = list(found)[:MOST_COLUMNS]
    return {name: found[name] for name in names}


def _episode(
    player: Player, seed: int, start: int, changed: tuple[int, float] | None = None
) -> list[Seen] | None:
    """Steps from `start` on, all actions but that one drawn from the seed; None where the episode
    is over before, or the mask forbids it."""
    rng = np.random.default_rng(seed)
    player.reset(seed)
    seen: list[Seen] = []
    for t in range(start + HORIZON):
        action: Any = player.random_action(rng)
        if t == start and changed is not None:
            column, value = changed
            allowed = player.allowed()
            if column < len(allowed) and int(value) not in allowed[column]:
                return None
            action[column] = value
        seen.append(player.step(action))
        if seen[-1].over:
            break
    return seen[start:] if len(seen) > start else None


def _repeats(player: Player) -> bool:
    """Whether the same seed and actions give the same steps again."""
    for seed in (7, 8):
        a, b = (_episode(player, seed, 0) for _ in range(2))
        if a is None or b is None or len(a) != len(b):
            return False
        if not all(x.same(y) for x, y in zip(a, b, strict=True)):
            return False
    return True


def _lag(player: Player, seed: int, start: int, change: Change) -> tuple[int | None, bool, bool]:
    """Steps until anything differs; whether a reward or an end does, and an observation."""
    column, one, other = change
    a = _episode(player, seed, start, (column, one))
    b = _episode(player, seed, start, (column, other))
    if a is None or b is None:
        return None, False, False
    pairs = list(zip(a, b, strict=False))
    lag = next((i for i, (x, y) in enumerate(pairs) if not x.same(y)), None)
    paid = any(not x.pays_like(y) or not x.ends_like(y) for x, y in pairs)
    shown = any(not np.array_equal(flat(x.obs), flat(y.obs), equal_nan=True) for x, y in pairs)
    return lag, paid, shown


def _judged(
    lags: dict[str, int | None], rewards: bool, sights: bool, same: list[int]
) -> ProbeResult:
    found = [lag for lag in lags.values() if lag is not None]
    idle = [name for name, lag in lags.items() if lag is None]
    numbers: dict[str, float | str] = {
        "tried": len(lags),
        "without_effect": len(idle),
        "steps_until_effect": min(found) if found else "none",
        "changes_reward_or_end": str(rewards).lower(),
    }
    if not found:
        return ProbeResult(
            ACTIONS.name,
            f"No action changes anything within {HORIZON} env steps: observations, rewards and "
            "ends are the same whatever is done.",
            numbers,
            {"action-ignored": 500.0, "action-delay": 2.0, HEALTHY: 0.01},
        )
    factors: dict[str, float] = {}
    first = min(found)
    if not sights:
        says = "An action changes rewards or ends, and no observation shows it."  # as in bandits
    elif first >= 1:
        says = f"An action shows only {first} env steps after the one it is taken in."
        factors |= each(30.0 if first > 1 else 3.0, "action-delay") | {HEALTHY: 0.5}
    else:
        says = "An action shows in the very next observation or reward."
        factors |= each(0.15, "action-delay")
    if idle:
        named = ", ".join(idle[:NAMED]) + (", …" if len(idle) > NAMED else "")
        says += f" Without any effect: {named}."
        factors["action-ignored"] = 3.0 if len(idle) >= len(lags) / 2 else 1.3
    else:
        factors["action-ignored"] = 0.1
    if same:
        says += f" Dimensions without room: {', '.join(map(str, same[:NAMED]))}."
    factors["action-space-degenerate"] = 4.0 if same else 0.1
    if not rewards:
        says += f" No reward and no end differs within {HORIZON} env steps."
        factors |= each(1.3, "reward-uninformative", "sparse-reward")
    return ProbeResult(ACTIONS.name, says, numbers, factors)

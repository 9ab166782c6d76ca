"""The environment's own return, whatever the wrappers around it make of the reward."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

MADE: list[TrueReturn] = []  # in the order in which they were made; the training's come first


class TrueReturn(gym.Wrapper):
    """Stands innermost, and notes the return of each episode and the step at which it ended."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.steps, self.total = 0, 0.0
        self.ended: list[tuple[int, float]] = []
        MADE.append(self)

    def step(self, action: Any) -> Any:
        result = self.env.step(action)
        self.steps += 1
        self.total += float(result[1])
        return result

    def reset(self, **kwargs: Any) -> Any:
        if self.ended[-1][0] < self.steps if self.ended else self.steps:
            self.ended.append((self.steps, self.total))
        self.total = 0.0
        return self.env.reset(**kwargs)


def late_return(n_envs: int, share: float = 0.1) -> float | None:
    """Mean return of the episodes that ended in the last `share` of training."""
    late = [
        total
        for env in MADE[:n_envs]
        for steps, total in env.ended
        if steps >= (1.0 - share) * env.steps
    ]
    if not late:  # none ended so late: the last of each environment
        late = [env.ended[-1][1] for env in MADE[:n_envs] if env.ended]
    return sum(late) / len(late) if late else None

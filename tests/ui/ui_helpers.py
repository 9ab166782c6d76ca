"""Settings of the smallest run that still evaluates."""

from __future__ import annotations

TINY = [
    "env_steps=512",
    "n_steps=32",
    "n_envs=2",
    "batch_size=64",
    "n_epochs=1",
    "eval_episodes=1",
    "final_eval_episodes=1",
]

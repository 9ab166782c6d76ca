"""Rainbow, Hessel et al. 2018 (arXiv 1710.02298): C51 with every improvement on.

A preset, not an algorithm of its own: the code is that of `c51`, and each part can be switched
off. The defaults are the paper's (table 1) save three that belong to 50 million frames:
`learning_starts` (the paper: 20,000 steps), `target_update_interval` (8,000) and `buffer_size`.
Exploration is the noise of the layers alone, so epsilon is 0.
"""

from __future__ import annotations

from pydantic import Field

from dressage.algos import c51
from dressage.algos.c51 import (
    act,
    carry_size,
    check,
    init,
    memory,
    noise,
    prepare,
    rollout_length,
    update,
)
from dressage.core.config import Count, SchedulablePositive, SchedulableRate, SchedulableShare

__all__ = [
    "NEEDS",
    "Config",
    "act",
    "carry_size",
    "check",
    "init",
    "memory",
    "noise",
    "prepare",
    "rollout_length",
    "update",
]

NEEDS = c51.NEEDS


class Config(c51.Config):
    """C51's settings with other defaults."""

    double: bool = Field(True, description="the network chooses what the target values")
    dueling: bool = Field(True, description="state value and advantages apart")
    noisy: bool = Field(True, description="explore by noise on the weights after the encoder")
    n_step: Count = Field(3, description="rewards before the bootstrap")
    prioritized: bool = Field(True, description="sample by TD error instead of uniformly")
    priority_alpha: SchedulableShare = Field(
        0.5, description="prioritized: power of the TD error; 0 is uniform"
    )
    epsilon: SchedulableShare = Field(0.0, description="share of random actions")
    learning_rate: SchedulableRate = Field(6.25e-5, description="step size (alias lr)")
    optimizer_eps: SchedulablePositive = Field(1.5e-4, description="epsilon of the optimizer")
    target_update_interval: Count = Field(
        1000, description="env steps between moves of the target network"
    )

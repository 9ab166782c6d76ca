"""Settings of everything that learns from a replay memory; SB3's names where it has one."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from dressage.core.config import Count, SchedulableShare, Settings


class ReplaySettings(Settings):
    """How experience is kept, and how often it is learned from."""

    GROUP: ClassVar[str] = "replay"

    buffer_size: int = Field(1_000_000, ge=1, description="newest transitions that are kept")
    buffer_on: Literal["auto", "memory", "disk"] = Field(
        "auto", description="where it lies; auto: on disk if memory has no room"
    )
    learning_starts: int = Field(
        100, ge=0, description="env steps of random actions before the first update"
    )
    batch_size: int = Field(256, ge=1, description="transitions of an update")
    train_freq: Count = Field(1, description="vector steps between updates")
    gradient_steps: int = Field(
        1, ge=-1, description="updates each time; -1: one for each env step made"
    )
    gamma: SchedulableShare = Field(0.99, description="discount")
    n_step: Count = Field(1, description="rewards before the bootstrap")
    prioritized: bool = Field(False, description="sample by TD error instead of uniformly")
    priority_alpha: SchedulableShare = Field(
        0.6, description="prioritized: power of the TD error; 0 is uniform"
    )
    priority_beta: SchedulableShare = Field(
        "linear(0.4, 1)", description="prioritized: share of the bias that weights correct"
    )
    her: Literal["none", "future", "final", "episode"] = Field(
        "none", description="hindsight: steps are learned from with goals reached later"
    )
    her_k: float = Field(4.0, gt=0, description="her: relabelled steps for each as it was")
    demonstrations: str | None = Field(
        None, description="transitions to learn from as well: a file, or a run's folder"
    )
    demo_share: float = Field(
        0.25, ge=0, le=1, description="of each batch, kept; 0: they fill the memory at first"
    )

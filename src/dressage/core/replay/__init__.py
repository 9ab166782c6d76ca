"""Replay: storage, sampling, priorities."""

from dressage.core.replay.replay import Replay
from dressage.core.replay.settings import ReplaySettings

__all__ = ["Replay", "ReplaySettings"]

"""Replay: storage, sampling, priorities, goals in hindsight, demonstrations."""

from dressage.core.replay.demonstrations import DemonstratedReplay
from dressage.core.replay.replay import Replay
from dressage.core.replay.settings import ReplaySettings

__all__ = ["DemonstratedReplay", "Replay", "ReplaySettings"]

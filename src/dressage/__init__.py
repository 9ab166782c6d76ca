"""dressage: reinforcement learning that explains itself, mends itself, and proves it."""

from __future__ import annotations

__version__ = "0.1.0"

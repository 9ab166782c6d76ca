"""Shares the modules of tests/resume: processes, their deaths, and what makes two runs equal."""

from __future__ import annotations

import sys
from pathlib import Path

SHARED = str(Path(__file__).parents[1] / "resume")
if SHARED not in sys.path:
    sys.path.insert(0, SHARED)

"""dressage: reinforcement learning that explains itself, mends itself, and proves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dressage.errors import DressageError

if TYPE_CHECKING:
    from dressage.api import (
        batch_advice,
        compare,
        diagnose,
        evaluate,
        load,
        optimize,
        play,
        regress,
        report,
        resolve_config,
        sensitivity,
        train,
        tune,
        verify,
    )
    from dressage.runs.group import Group
    from dressage.runs.run import Run

__version__ = "0.1.0"
__all__ = [
    "DressageError",
    "Group",
    "Run",
    "__version__",
    "batch_advice",
    "compare",
    "diagnose",
    "evaluate",
    "load",
    "optimize",
    "play",
    "regress",
    "report",
    "resolve_config",
    "sensitivity",
    "train",
    "tune",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from dressage import api

        return getattr(api, name)
    if name == "sb3":  # as in callback=dressage.sb3.Recorder(); imported only when it is asked for
        import importlib

        return importlib.import_module("dressage.sb3")
    raise AttributeError(f"module 'dressage' has no attribute '{name}'")

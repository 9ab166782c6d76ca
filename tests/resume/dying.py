"""A process that kills itself with SIGKILL at a chosen moment of its writing.

Random delays hit the short moments in which files are written only rarely; this hits each of them:
between any two system calls that change a file, and in the middle of a write.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

CALLS = ("write", "fsync", "replace", "rename", "ftruncate", "open", "mkdir", "unlink", "rmdir")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(at_call: int = 0, cut_write: bool = False, after_writing: str = "") -> None:
    """Die right before the n-th call (or in its middle), or once a file of this name is there."""
    count = 0

    def watched(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            if name != "open" or (len(args) > 1 and args[1] & (os.O_CREAT | os.O_WRONLY)):
                count += 1
                if count == at_call:
                    if name == "write" and cut_write:
                        call(args[0], bytes(args[1])[: len(args[1]) // 2])
                    die()
            result = call(*args, **kwargs)
            if after_writing and name == "replace" and str(args[1]).endswith(after_writing):
                die()
            if after_writing and name == "fsync" and _path(args[0]).endswith(after_writing):
                die()
            return result

        return run

    for name in CALLS:
        setattr(os, name, watched(name, getattr(os, name)))


def _path(handle: int) -> str:
    return os.readlink(f"/proc/self/fd/{handle}")

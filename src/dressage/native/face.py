"""Loads the C library and finds its functions, once a process.

ctypes' CDLL lets go of the GIL during every call. Nothing here imports numpy or torch.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dressage.errors import DressageError

VARIANT_VARIABLE = "DRESSAGE_NATIVE_VARIANT"  # avx512, avx2 or plain, where the choice is ours
logger = logging.getLogger("dressage.native")

Pointer = ctypes.c_void_p
Int = ctypes.c_int
Int64 = ctypes.c_int64
UInt64 = ctypes.c_uint64
Double = ctypes.c_double


class Library:
    """The loaded library and the variant of its numeric functions that this CPU runs best."""

    def __init__(self, path: Path) -> None:
        from dressage.native import build

        self.path = path
        self._functions = ctypes.CDLL(str(path))
        built_from = self.function("dressage_sources", [], ctypes.c_char_p)().decode()
        if build.SOURCES.is_dir() and built_from != build.digest():
            raise OSError(
                "the library is older than its sources: run python -m dressage.native.build"
            )
        listed = self.function("dressage_variants", [], ctypes.c_char_p)().decode()
        runs = self.function("dressage_cpu_runs", [ctypes.c_char_p], Int)
        self.variants = tuple(name for name in listed.split(",") if runs(name.encode()))
        self.variant = os.environ.get(VARIANT_VARIABLE) or self.variants[0]
        if self.variant not in self.variants:
            raise OSError(
                f"{VARIANT_VARIABLE} is {self.variant}, this CPU and build have "
                f"{', '.join(self.variants)}"
            )

    def function(self, name: str, arguments: Sequence[Any], result: Any = None) -> Any:
        """The function of that name, with its types."""
        # Not getattr on the CDLL: that shares one object, whose types another face would change.
        found = self._functions[name]
        found.argtypes, found.restype = list(arguments), result
        return found

    def kernel(self, name: str, real: str, arguments: Sequence[Any], result: Any = None) -> Any:
        """The same for a numeric function; `real` is f32 or f64."""
        for suffix in (f"_{real}_{self.variant}", f"_{real}"):
            if hasattr(self._functions, name + suffix):
                return self.function(name + suffix, arguments, result)
        raise DressageError(f"The native library has no function '{name}' for {real}.")


@cache
def _load() -> Library | str:
    from dressage.native import build  # late: `python -m dressage.native.build` runs that module

    if not build.LIBRARY.exists():
        return "it was not built when dressage was installed (is there a C compiler?)"
    try:
        return Library(build.LIBRARY)
    except (OSError, AttributeError) as error:
        return str(error)


def reason() -> str:
    """Why there is no native engine here; "" where there is one."""
    loaded = _load()
    return loaded if isinstance(loaded, str) else ""


@cache
def _tell(why: str) -> None:
    logger.warning("The native engine is not available, dressage runs on torch: %s", why)


def available() -> bool:
    """Whether the native engine can be used; says once why not."""
    why = reason()
    if why:
        _tell(why)
    return not why


def library() -> Library:
    """The library, or a DressageError that says why there is none."""
    loaded = _load()
    if isinstance(loaded, str):
        raise DressageError(f"The native engine is not available: {loaded}.")
    return loaded


def address(array: Any, dtype: Any) -> int:
    """Where a numpy array begins; C reads it as rows without gaps of exactly this type."""
    if array.dtype != dtype or not array.flags.c_contiguous:
        raise ValueError(
            f"an array of {array.dtype} with strides {array.strides} goes to C, expected "
            f"{dtype.__name__} without gaps: copy it with np.ascontiguousarray"
        )
    return int(array.ctypes.data)

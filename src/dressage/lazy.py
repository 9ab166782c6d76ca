"""Modules that are imported when first used, so that `import dressage` needs no torch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dressage.errors import DressageError

HINTS = {
    "torch": "pip install 'dressage[torch]' (on a CPU machine: pip install torch==2.13.0 first)",
}


class LazyModule:
    """Stands for a module and imports it on the first attribute access."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        try:
            module = importlib.import_module(self._name)
        except ModuleNotFoundError as error:
            top = self._name.partition(".")[0]
            if error.name != top or top not in HINTS:
                raise
            raise DressageError(f"This needs {top}, which is not installed: {HINTS[top]}") from None
        self.__dict__.update(module.__dict__)
        return getattr(module, attribute)


if TYPE_CHECKING:
    import torch
else:
    torch = LazyModule("torch")

__all__ = ["LazyModule", "torch"]

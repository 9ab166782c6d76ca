"""Every rule, found by its file: a new one needs no list."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache

from dressage.diagnosis import rules
from dressage.diagnosis.rule import Rule


@cache
def all_rules() -> dict[str, Rule]:
    """By id, in the order of their ids."""
    found: dict[str, Rule] = {}
    for module in pkgutil.walk_packages(rules.__path__, rules.__name__ + "."):
        if module.ispkg:
            continue
        loaded = importlib.import_module(module.name)
        for _, kind in inspect.getmembers(loaded, inspect.isclass):
            if issubclass(kind, Rule) and kind.__module__ == module.name:
                if kind.id in found:
                    raise ValueError(f"{kind.id} is the id of two rules: {module.name} and another")
                found[kind.id] = kind()
    return dict(sorted(found.items()))

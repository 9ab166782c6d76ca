"""The native engine: a small C library (`c/`), built with the package and loaded by `face`."""

from dressage.native.face import available, library, reason

__all__ = ["available", "library", "reason"]

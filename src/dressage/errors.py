"""Errors that speak to the user: what was found, what was expected, what to do."""

from __future__ import annotations


class DressageError(Exception):
    """Something the user can mend. The command line prints it without a traceback."""

    exit_code = 2


class ConfigError(DressageError):
    """A setting is unknown, has the wrong type, or conflicts with another."""


class EnvError(DressageError):
    """An environment cannot be made, or does not do what its spaces promise."""


class RunError(DressageError):
    """A run directory or checkpoint is missing, damaged, in use, or not to be trusted."""


class TrainingError(DressageError):
    """Training cannot go on (not a number in a loss, no room for the replay memory)."""

    exit_code = 3


def did_you_mean(word: str, known: list[str] | tuple[str, ...]) -> str:
    """`" Did you mean 'x'?"` for the nearest known word, or nothing."""
    import difflib

    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f" Did you mean '{near[0]}'?" if near else ""

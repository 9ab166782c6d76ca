"""Where output goes: people read the console, programs read the last line of standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dressage.errors import DressageError
from dressage.ui.text import one_line_json

if TYPE_CHECKING:
    from rich.console import Console


class Interrupted(DressageError):
    """Ctrl-C outside of the training loop, or twice: there was no time for a checkpoint."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("Interrupted; nothing was saved beyond the last checkpoint.")


def console_for(json: bool = False) -> Console:
    """Standard output for people; with `--json` it belongs to programs, and people get stderr."""
    from rich.console import Console

    return Console(stderr=json, highlight=False)


def emit(value: Any) -> None:
    """The JSON line."""
    sys.stdout.write(one_line_json(value) + "\n")
    sys.stdout.flush()


def complain(sentence: str) -> None:
    """One red sentence on standard error."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    console.print(Text(sentence, "red"), soft_wrap=not console.is_terminal)

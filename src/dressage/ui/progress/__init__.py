"""Progress of training, as hooks: live in a terminal, lines in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from dressage.ui.progress.live import LiveProgress
    from dressage.ui.progress.plain import PlainProgress


def progress_for(console: Console) -> LiveProgress | PlainProgress:
    """The display that suits a console; a terminal that cannot move its cursor gets lines."""
    if console.is_terminal and not console.is_dumb_terminal and not console.options.ascii_only:
        from dressage.ui.progress.live import LiveProgress

        return LiveProgress(console)
    from dressage.ui.progress.plain import PlainProgress

    return PlainProgress(console)

"""The command `dressage`: thin; each command is a few lines over one public function.

Nothing here imports numpy, pydantic, gymnasium or rich before a command needs it, so that
`dressage --help` and shell completion answer at once.
"""

from __future__ import annotations

from dressage.ui.cli.main import main

__all__ = ["main"]

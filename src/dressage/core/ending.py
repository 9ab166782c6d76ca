"""Which signals ask training to end cleanly."""

from __future__ import annotations

import signal


def ending_signals() -> list[signal.Signals]:
    """What asks a run to end: Ctrl-C, SIGTERM, and a terminal that closes unless under nohup."""
    found = [signal.SIGINT, signal.SIGTERM]
    closed = getattr(signal, "SIGHUP", None)  # Windows has none
    if closed is not None and signal.getsignal(closed) is not signal.SIG_IGN:
        found.append(closed)
    return found

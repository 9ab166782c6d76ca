"""Trackio: a local database in Trackio's own folder (`TRACKIO_DIR`), which its dashboard shows.

Trackio fixes that folder when it is first imported, so it cannot lie in each run's directory.
`TRACKIO_SPACE_ID` sends the rows to a Hugging Face Space instead.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from typing import Any

from dressage.trackers.tracker import EVALUATION_MARK, PROJECT, ROW_MARK, Held, Tracker


class Trackio(Tracker):
    name = "trackio"

    _run: Any

    def open(self, env_steps: int) -> Held:
        with _silence():
            import trackio

            resumed = bool(self.remembered())
            self._run = trackio.init(
                project=PROJECT,
                name=self.run_name,
                group=self.group_name,
                config=self.config,
                resume="allow" if resumed else "never",
                embed=False,
                auto_log_cpu=False,
                auto_log_gpu=False,
            )
        self.remember(id=self._run.id)
        return self._what_it_holds() if resumed else Held()

    def _what_it_holds(self) -> Held:
        from trackio.sqlite_storage import SQLiteStorage

        rows = SQLiteStorage.get_logs(PROJECT, run_id=self._run.id)

        def last(metric: str) -> int:
            return max((int(row["step"]) for row in rows if metric in row), default=-1)

        return Held(last(ROW_MARK), last(EVALUATION_MARK))

    def send(self, env_steps: int, metrics: Mapping[str, float]) -> None:
        self._run.log(dict(metrics), step=env_steps)

    def shut(self, outcome: str) -> None:
        import trackio

        with _silence():
            if trackio.context_vars.current_run.get() is self._run:
                trackio.finish()  # also forgets it, else it is finished again at exit, aloud
            else:
                self._run.finish()


def _silence() -> contextlib.redirect_stdout[io.StringIO]:
    """Trackio prints to standard output, whose last line belongs to `--json`."""
    return contextlib.redirect_stdout(io.StringIO())

"""MLflow: the server that `MLFLOW_TRACKING_URI` names, else `<run>/trackers/mlflow/mlflow.db`."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dressage.trackers.tracker import EVALUATION_MARK, PROJECT, ROW_MARK, Held, Tracker, flat

STATUS = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}
LONGEST_PARAM = 6000  # characters; MLflow refuses more
PARAMS_A_CALL = 100  # likewise


class Mlflow(Tracker):
    name = "mlflow"

    _client: Any  # a client of our own, so that a run of the user's own stays the active one
    _run_id: str

    @classmethod
    def modules(cls) -> tuple[str, ...]:
        # mlflow-skinny talks to servers; a database of our own takes what the whole mlflow brings
        return ("mlflow",) if _server() else ("mlflow", "sqlalchemy", "alembic")

    def open(self, env_steps: int) -> Held:
        from mlflow.tracking import MlflowClient

        self.folder.mkdir(parents=True, exist_ok=True)
        local = f"sqlite:///{(self.folder / 'mlflow.db').resolve()}"
        uri = _server() or local
        with _without_chatter():
            self._client = MlflowClient(tracking_uri=uri)
            known = self._known_run()
            if known is not None:
                self._run_id = known
                self._client.update_run(known, status="RUNNING")
                return Held(self._last_step(ROW_MARK), self._last_step(EVALUATION_MARK))
            self._run_id = self._new_run(artifacts_here=uri == local)
        self.remember(id=self._run_id)
        return Held()

    def _known_run(self) -> str | None:
        from mlflow.exceptions import MlflowException

        known = self.remembered().get("id")
        try:
            return None if known is None else str(self._client.get_run(known).info.run_id)
        except MlflowException:  # another server, or deleted there
            return None

    def _new_run(self, artifacts_here: bool) -> str:
        from mlflow.entities import Param

        experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        found = self._client.get_experiment_by_name(experiment)
        place = (self.folder / "artifacts").resolve().as_uri() if artifacts_here else None
        number = (
            found.experiment_id
            if found is not None
            else self._client.create_experiment(experiment, artifact_location=place)
        )
        tags = {"group": self.group_name} if self.group_name else {}
        run_id = self._client.create_run(number, run_name=self.run_name, tags=tags).info.run_id
        params = [Param(key, str(x)[:LONGEST_PARAM]) for key, x in flat(self.config).items()]
        for some in _portions(params, PARAMS_A_CALL):
            self._client.log_batch(run_id, params=some)
        return str(run_id)

    def _last_step(self, metric: str) -> int:
        history = self._client.get_metric_history(self._run_id, metric)
        return max((point.step for point in history), default=-1)

    def send(self, env_steps: int, metrics: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        points = [Metric(_allowed(name), x, now, env_steps) for name, x in metrics.items()]
        self._client.log_batch(self._run_id, metrics=points)

    def shut(self, outcome: str) -> None:
        self._client.set_tag(self._run_id, "outcome", outcome)
        self._client.set_terminated(self._run_id, STATUS[outcome])


def _server() -> str | None:
    return os.environ.get("MLFLOW_TRACKING_URI")


def _portions(items: list[Any], size: int) -> Iterator[list[Any]]:
    return (items[i : i + size] for i in range(0, len(items), size))


def _allowed(name: str) -> str:
    """MLflow takes letters, digits, `_-. :/` in a name."""
    return re.sub(r"[^\w\-. :/]", "_", name)


@contextmanager
def _without_chatter() -> Iterator[None]:
    """MLflow tells of each table that it makes; only warnings are of use here."""
    loggers = [logging.getLogger(name) for name in ("mlflow", "mlflow.store.db.utils", "alembic")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)

"""What each service holds after a run, after a crash and a resume, and after its own failure."""

from __future__ import annotations

import importlib.util
import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dressage
from dressage.core.hooks import Hook, Moment
from dressage.errors import ConfigError
from dressage.runs.run import Run
from dressage.trackers import TRACKERS, make_trackers
from dressage.trackers.tracker import Held, Tracker, close_unfinished

TINY: dict[str, Any] = {
    "env_steps": 320,
    "n_envs": 2,
    "n_steps": 32,
    "batch_size": 32,
    "n_epochs": 1,
    "net_arch": [8],
    "eval_every": 128,
    "eval_episodes": 2,
    "final_eval_episodes": 2,
    "checkpoint_every": 128,
    "backend": "inline",
}
ROW_STEPS = [64, 128, 192, 256, 320]
EVALUATION_STEPS = [128, 256, 320]
ALL = list(TRACKERS)


class Crash(Hook):
    """Raises in mid-run, after rows that the next process will make again."""

    def __init__(self, at: int) -> None:
        self.at = at

    def on_iteration(self, moment: Moment) -> None:
        if moment.env_steps >= self.at:
            raise RuntimeError("the lights went out")


class Stop(Hook):
    def on_iteration(self, moment: Moment) -> None:
        moment.stop("enough")


def train(runs: Path, tracker: str, **settings: Any) -> Run:
    if tracker in ALL:
        pytest.importorskip(tracker)
    run = dressage.train("CartPole-v1", runs=runs, trackers=[tracker], **(TINY | settings))
    assert isinstance(run, Run)
    return run


def crash_and_resume(runs: Path, tracker: str) -> Run:
    """Fails at 256 env steps, with rows up to 192 and a checkpoint at 128; then goes on."""
    with pytest.raises(RuntimeError, match="lights"):
        train(runs, tracker, hooks=[Crash(256)])
    run = dressage.train(resume="@last", runs=runs)
    assert isinstance(run, Run)
    assert run.status == "finished"
    return run


def read(tracker: str, run: Run) -> dict[str, list[tuple[int, float]]]:
    """(env_steps, value) by metric, as the service's own reader gives them."""
    readers = {"tensorboard": events, "mlflow": mlflow, "trackio": trackio, "wandb": wandb}
    return readers[tracker](run)


def events(run: Run) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(run.path / "trackers" / "tensorboard"), {"scalars": 0})
    reader.Reload()
    return {
        tag: [(e.step, e.value) for e in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]
    }


def mlflow_run(run: Run) -> tuple[Any, Any]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{run.path / 'trackers/mlflow/mlflow.db'}")
    experiment = client.get_experiment_by_name("dressage")
    [found] = client.search_runs([experiment.experiment_id])
    return client, found


def mlflow(run: Run) -> dict[str, list[tuple[int, float]]]:
    client, found = mlflow_run(run)
    names = found.data.metrics
    history = {name: client.get_metric_history(found.info.run_id, name) for name in names}
    return {name: [(m.step, m.value) for m in history[name]] for name in names}


def trackio(run: Run) -> dict[str, list[tuple[int, float]]]:
    from trackio.sqlite_storage import SQLiteStorage

    found: dict[str, list[tuple[int, float]]] = {}
    for row in SQLiteStorage.get_logs("dressage", run=run.id):
        for name, value in row.items():
            found.setdefault(name, []).append((row["step"], value))
    return found


def wandb(run: Run) -> dict[str, list[tuple[int, float]]]:
    """The history records of all offline files of the run, in the order of the files."""
    from wandb.proto import wandb_internal_pb2 as pb

    found: dict[str, list[tuple[int, float]]] = {}
    for path in sorted((run.path / "trackers" / "wandb").glob("wandb/offline-run-*/*.wandb")):
        for data in wandb_records(path.read_bytes()):
            record = pb.Record()
            record.ParseFromString(data)
            if record.WhichOneof("record_type") != "history":
                continue
            items = {i.key or "/".join(i.nested_key): i.value_json for i in record.history.item}
            step = int(json.loads(items["_step"]))
            for name, value in items.items():
                found.setdefault(name, []).append((step, json.loads(value)))
    return found


def wandb_records(content: bytes) -> Iterator[bytes]:
    """LevelDB's log format: blocks of 32 KiB, each record in pieces (whole 1, first 2, last 4)."""
    at, record = 7, b""  # after the file's own header
    while at + 7 <= len(content):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", content[at : at + 7])
        record += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield record
            record = b""


@pytest.mark.parametrize("tracker", ALL)
def test_holds_every_row_and_evaluation(tracker: str, tmp_path: Path) -> None:
    run = train(tmp_path, tracker)
    held = read(tracker, run)
    assert [step for step, _ in held["updates"]] == ROW_STEPS
    assert [step for step, _ in held["val/roll/ep_rew_mean"]] == EVALUATION_STEPS
    metrics = run.metrics()
    losses = [value for _, value in held["train/loss/value"]]
    assert losses == pytest.approx(metrics["train/loss/value"].tolist(), rel=1e-6)
    assert not [e for e in run.events() if e["kind"] == "warning"]


@pytest.mark.parametrize("tracker", ALL)
def test_resume_neither_doubles_nor_loses_rows(tracker: str, tmp_path: Path) -> None:
    run = crash_and_resume(tmp_path, tracker)
    held = read(tracker, run)
    assert [step for step, _ in held["updates"]] == ROW_STEPS
    assert [step for step, _ in held["val/roll/ep_rew_mean"]] == EVALUATION_STEPS
    losses = [value for _, value in held["train/loss/value"]]
    assert losses == pytest.approx(run.metrics()["train/loss/value"].tolist(), rel=1e-6)


def test_mlflow_tells_settings_and_end(tmp_path: Path) -> None:
    _, found = mlflow_run(train(tmp_path, "mlflow", learning_rate="linear(0.001, 0)"))
    assert found.info.status == "FINISHED"
    assert found.data.params["env"] == "CartPole-v1"
    assert found.data.params["learning_rate"] == "linear(0.001, 0)"
    assert found.data.params["net_arch"] == "[8]"


def test_a_failed_run_says_so_when_the_process_ends(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="lights"):
        train(tmp_path, "mlflow", hooks=[Crash(192)])
    close_unfinished()  # what atexit calls
    _, found = mlflow_run(Run(tmp_path / "@last"))
    assert (found.info.status, found.data.tags["outcome"]) == ("FAILED", "failed")


def test_a_stopped_run_says_so(tmp_path: Path) -> None:
    _, found = mlflow_run(train(tmp_path, "mlflow", hooks=[Stop()]))
    assert (found.info.status, found.data.tags["outcome"]) == ("KILLED", "stopped")


def test_a_return_that_was_wanted_counts_as_finished(tmp_path: Path) -> None:
    _, found = mlflow_run(train(tmp_path, "mlflow", stop_at_return=1.0))
    assert found.data.tags["outcome"] == "finished"


def test_tensorboard_shows_hyperparameters(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata

    run = train(tmp_path, "tensorboard")
    reader = EventAccumulator(str(run.path / "trackers" / "tensorboard"))
    reader.Reload()
    content = reader.PluginTagToContent(metadata.PLUGIN_NAME)
    start = metadata.parse_session_start_info_plugin_data(content[metadata.SESSION_START_INFO_TAG])
    assert start.hparams["env"].string_value == "CartPole-v1"
    assert start.hparams["n_steps"].number_value == 32
    end = metadata.parse_session_end_info_plugin_data(content[metadata.SESSION_END_INFO_TAG])
    assert end.status == 1  # STATUS_SUCCESS


def test_tensorboard_needs_neither_torch_nor_tensorflow(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    code = (
        "import sys; from pathlib import Path; from dressage.trackers import make_trackers\n"
        "t, = make_trackers(['tensorboard'], Path(sys.argv[1]), {'lr': 0.1})\n"
        "t.open(0); t.send(1, {'x': 1.0}); t.shut('finished')\n"
        "assert not {'torch', 'tensorflow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


class Fragile(Tracker):
    name = "fragile"

    @classmethod
    def modules(cls) -> tuple[str, ...]:
        return ()

    def open(self, env_steps: int) -> Held:
        return Held()

    def send(self, env_steps: int, metrics: Any) -> None:
        if env_steps > 100:
            raise OSError("the service is gone")

    def shut(self, outcome: str) -> None:
        raise AssertionError("dropped trackers are left alone")


def test_a_failing_tracker_is_dropped_and_training_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TRACKERS, "fragile", f"{__name__}:Fragile")
    run = train(tmp_path, "fragile")
    assert run.status == "finished"
    [warning] = [e for e in run.events() if e["kind"] == "warning"]
    assert warning["tracker"] == "fragile"
    assert warning["env_steps"] == 128
    assert "the service is gone" in warning["reason"]
    assert "The tracker fragile failed" in (run.path / "run.log").read_text()


def test_wandb_without_login_or_network_stays_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE")
    monkeypatch.setenv("HOME", str(tmp_path))  # no login of this machine's user
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    run = train(tmp_path, "wandb")
    assert list((run.path / "trackers" / "wandb").glob("wandb/offline-run-*/*.wandb"))


def test_unknown_name() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'tensorboard'"):
        make_trackers(["tensorbord"], Path(), {})


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'dressage\[mlflow\]'"):
        make_trackers(["mlflow"], Path(), {})


def test_a_name_given_twice_counts_once() -> None:
    pytest.importorskip("tensorboard")
    assert len(make_trackers(["tensorboard", "tensorboard"], Path(), {})) == 1

from __future__ import annotations

import csv
import errno
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dressage.errors import RunError
from dressage.runs import files
from dressage.runs.checkpoint import load_checkpoint, save_checkpoint
from dressage.runs.run import Run
from dressage.runs.writer import RunWriter, format_cell
from runs.helpers import COLUMNS, begin, row, small_run

LOGS = ("metrics.csv", "episodes.csv", "events.jsonl")


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_a_new_run_has_all_its_files(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    assert lines(path / "metrics.csv")[:2] == [
        "env_steps,updates,episodes,wall_seconds,train/roll/ep_rew_mean,train/loss/policy",
        "0,0,0,0.0,20.0,",
    ]
    assert lines(path / "episodes.csv")[:2] == [
        "env_steps,return,length,ended,success,env_index",
        "0,20.5,21,terminated,,0",
    ]
    events = [json.loads(line) for line in lines(path / "events.jsonl")]
    assert events[0]["kind"] == "begin"
    assert events[0]["format"] == 1
    assert events[1]["text"] == "über"
    assert "hello" in (path / "run.log").read_text()
    for name in ("config.json", "spec.json", "system.json", "status.json"):
        assert json.loads((path / name).read_text())["format"] == 1
    assert json.loads((path / "config.json").read_text())["formats"]["metrics.csv"] == 1


def test_cells_are_the_shortest_that_read_back() -> None:
    cells = [0.1, np.float32(0.1), 3, np.int64(4), True, None, math.nan, -math.inf, 1e-320, 5e22]
    texts = [format_cell(cell) for cell in cells]
    assert texts == [
        "0.1",
        "0.10000000149011612",
        "3",
        "4",
        "1",
        "",
        "nan",
        "-inf",
        "1e-320",
        "5e+22",
    ]


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path: Path) -> None:
    small_run(tmp_path / "run")
    with pytest.raises(RunError, match="already holds a run"):
        begin(tmp_path / "run")


def test_a_folder_left_by_a_crash_before_the_config_is_begun_anew(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    (path / "config.json").unlink()
    begin(path).close()
    assert len(lines(path / "metrics.csv")) == 1
    assert len(Run(path).events()) == 1


def test_a_new_name_adds_a_last_column(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as writer:
        writer.metrics_row(row(1))
        writer.metrics_row(row(2, **{"user/a": 1.5, "user/b": 2}))
        writer.metrics_row(row(3))
        assert writer.offsets()["metrics.csv"] == (tmp_path / "run/metrics.csv").stat().st_size
    with (tmp_path / "run/metrics.csv").open() as file:
        table = list(csv.reader(file))
    assert table[0][-3:] == [COLUMNS[-1], "user/a", "user/b"]
    assert [line[-2:] for line in table[1:]] == [["", ""], ["1.5", "2"], ["", ""]]
    assert {len(line) for line in table} == {8}


@pytest.mark.parametrize("name", ["", "a,b", 'a"b', "a\nb"])
def test_names_that_break_csv_are_refused(tmp_path: Path, name: str) -> None:
    with begin(tmp_path / "run") as writer:
        with pytest.raises(ValueError, match="cannot name a column"):
            writer.metrics_row(row(1, **{name: 1.0}))
        writer.metrics_row(row(1))
    assert len(lines(tmp_path / "run/metrics.csv")) == 2


def train(path: Path, writer: RunWriter, first: int, last: int, late_at: int) -> None:
    """A made-up training whose rows depend on the index only; a new column comes at `late_at`."""
    for index in range(first, last):
        more = {"user/late": index / 7} if index >= late_at else {}
        writer.metrics_row(row(index, **more))
        writer.episodes_rows([(index, index / 3, 5, "truncated", index % 2, 1)] * (index % 3 * 60))
        writer.event("tick", index)
        writer.log(f"row {index}")


def without_times(path: Path) -> list[str]:
    def strip(line: str) -> dict[str, object]:
        return {key: value for key, value in json.loads(line).items() if key != "time"}

    texts = [(path / name).read_text() for name in LOGS[:2]]
    return [*texts, str([strip(line) for line in lines(path / "events.jsonl")])]


@pytest.mark.parametrize("late_at", [0, 2, 4, 5, 6, 99])
@pytest.mark.parametrize("tail", ["", "half a li", "1,2,3"])
def test_resume_equals_an_uninterrupted_run(tmp_path: Path, late_at: int, tail: str) -> None:
    """A checkpoint after row 4, a crash after row 6 (columns may be added before or after it)."""
    with begin(tmp_path / "whole") as writer:
        train(tmp_path / "whole", writer, 0, 10, late_at)
    cut = tmp_path / "cut"
    writer = begin(cut)
    train(cut, writer, 0, 5, late_at)
    writer.sync()
    at = save_checkpoint(cut, 400, {}, {}, writer.offsets())
    train(cut, writer, 5, 7, late_at)
    writer.close()
    for name in LOGS:
        with (cut / name).open("a") as file:
            file.write(tail)
    with RunWriter.reopen(cut, load_checkpoint(at).offsets) as writer:
        train(cut, writer, 5, 6, late_at)
    # Cut off again soon after the resume, and resumed from the same checkpoint.
    with RunWriter.reopen(cut, load_checkpoint(at).offsets) as writer:
        train(cut, writer, 5, 10, late_at)
    assert without_times(cut) == without_times(tmp_path / "whole")


def test_kill_minus_9_after_a_new_column(tmp_path: Path) -> None:
    script = f"""
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from runs.test_writer import begin, save_checkpoint, train
path = Path(sys.argv[1])
writer = begin(path)
train(path, writer, 0, 5, 6)
writer.sync()
save_checkpoint(path, 400, {{}}, {{}}, writer.offsets())
train(path, writer, 5, 8, 6)
os.kill(os.getpid(), signal.SIGKILL)
"""
    cut = tmp_path / "cut"
    done = subprocess.run([sys.executable, "-c", script, str(cut)], check=False)
    assert done.returncode == -9
    assert Run(cut).status == "crashed"
    assert len(Run(cut).metrics()["user/late"]) == 8
    with RunWriter.reopen(cut, load_checkpoint(cut / "checkpoints/400").offsets) as writer:
        assert Run(cut).status == "running"
        train(cut, writer, 5, 10, 6)
        writer.status("finished")
    with begin(tmp_path / "whole") as writer:
        train(tmp_path / "whole", writer, 0, 10, 6)
    assert without_times(cut) == without_times(tmp_path / "whole")
    assert Run(cut).status == "finished"


def test_reopen_without_offsets_drops_half_lines_only(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    before = without_times(path)
    for name in LOGS:
        with (path / name).open("a") as file:
            file.write("12,")
    with RunWriter.reopen(path, None) as writer:
        assert without_times(path) == before
        writer.event("finding", 200)
    assert Run(path).events()[-1]["kind"] == "finding"


def test_a_log_that_lost_data_is_refused_and_nothing_is_cut(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    offsets = load_checkpoint(path / "checkpoints/200").offsets
    with RunWriter.reopen(path, offsets) as writer:
        writer.metrics_row(row(9))
    os.truncate(path / "events.jsonl", 10)
    size = (path / "metrics.csv").stat().st_size
    with pytest.raises(RunError, match="was shortened"):
        RunWriter.reopen(path, offsets)
    assert (path / "metrics.csv").stat().st_size == size
    assert Run(path).status == "crashed"  # the refused resume holds no lock


def test_a_deleted_run_log_does_not_prevent_resume(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    (path / "run.log").unlink()
    RunWriter.reopen(path, load_checkpoint(path / "checkpoints/200").offsets).close()


def test_many_episodes_are_thinned_with_quantiles(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as writer:
        writer.episodes_rows([])
        writer.episodes_rows(
            [(i, float(i), i + 1, "terminated", i % 2 == 0, 0) for i in range(1001)]
        )
    run = Run(tmp_path / "run")
    episodes = run.episodes()
    assert len(episodes["return"]) == 100
    assert episodes["return"][0] == 0
    assert episodes["return"][-1] == 1000
    assert set(np.diff(episodes["return"])) <= {10, 11}
    (event,) = run.events("episodes")
    assert event["count"] == event["terminated"] == 1001
    assert event["returns"] == [0, 100, 250, 500, 750, 900, 1000]
    assert event["lengths"][-1] == 1001


def test_episode_rows_say_how_they_ended(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as writer:
        with pytest.raises(ValueError, match="expected 'terminated'"):
            writer.episodes_rows([(1, 1.0, 1, "done", None, 0)])
        writer.episodes_rows([(1, np.float32(1), 1, "truncated", float("nan"), np.int64(3))])
    assert lines(tmp_path / "run/episodes.csv")[1:] == ["1,1.0,1,truncated,,3"]


def test_rows_wait_until_something_needs_them(tmp_path: Path) -> None:
    path = tmp_path / "run"

    def written() -> tuple[int, int]:
        return len(lines(path / "metrics.csv")) - 1, len(lines(path / "episodes.csv")) - 1

    with begin(path) as writer:
        needs = [
            writer.flush,
            writer.sync,
            writer.offsets,
            lambda: writer.event("note", 1),
            lambda: writer.status("running"),
            lambda: writer.metrics_row(row(99, **{"user/late": 1.0})),  # a new column
        ]
        for count, need in enumerate(needs, start=1):
            writer.metrics_row(row(count))
            writer.episodes_rows([(count, 1.0, 1, "truncated", None, 0)])
            assert written() == (count - 1, count - 1), "a write for each row takes long"
            need()
            assert written() == (count, count)
    assert written() == (len(needs) + 1, len(needs)), "closing writes what waits"


def test_the_disk_is_asked_only_for_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = os.fsync
    path = tmp_path / "run"
    with begin(path) as writer:
        monkeypatch.setattr(
            files.os,
            "fsync",
            lambda handle: (
                asked.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name),
                real(handle),
            ),
        )
        writer.sync()
        assert asked == [], "a new run's files are on the disk"
        writer.metrics_row(row(1, **{"user/first": 1.0}))  # replaces the file: its name is new, too
        writer.sync()
        assert sorted(asked) == ["metrics.csv", "run"]
        asked.clear()
        writer.metrics_row(row(2, **{"user/second": 1.0}))
        assert len(asked) == 2, "a checkpoint may count on the first row"
        writer.sync()
        asked.clear()
        writer.event("note", 1)
        writer.log("hello")
        writer.sync()
        assert sorted(asked) == ["events.jsonl", "run.log"]
    with RunWriter.reopen(path, None) as writer:
        asked.clear()
        writer.sync()
        assert sorted(asked) == sorted([*LOGS, "run.log"]), "nobody knows what a crash left"


def test_new_columns_stand_in_the_order_of_the_dictionary(tmp_path: Path) -> None:
    names = ["user/b", "sys/memory_mb", "train/metrics/grad_norm/value", "train/loss/value", "a"]
    with begin(tmp_path / "run") as writer:
        writer.metrics_row(row(1, **dict.fromkeys(names, 1.0)))
    header = lines(tmp_path / "run/metrics.csv")[0].split(",")
    assert header[-5:] == [
        "train/loss/value",
        "train/metrics/grad_norm/value",
        "sys/memory_mb",
        "a",
        "user/b",
    ]


def test_a_full_disk_while_adding_a_column_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with begin(tmp_path / "run") as writer:
        writer.metrics_row(row(1))
        writer.sync()
        monkeypatch.setattr(files.os, "fsync", full)
        with pytest.raises(RunError, match="disk is full"):
            writer.metrics_row(row(2, **{"user/late": 1.0}))
        monkeypatch.undo()
        writer.metrics_row(row(3, **{"user/late": 1.0}))
    assert list(Run(tmp_path / "run").metrics()["env_steps"]) == [100, 300]


def test_a_real_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    try:
        writer = begin(disk / "run")
        offsets = writer.offsets()
        save_checkpoint(disk / "run", 0, {"policy": {"a": np.zeros(100)}}, {}, offsets)
        with pytest.raises(RunError, match="disk is full"):
            save_checkpoint(disk / "run", 1, {"policy": {"a": np.zeros(10**6)}}, {}, offsets)
        with pytest.raises(RunError, match="disk is full"):
            train(disk, writer, 0, 10**5, 0)
        writer.close()
        run = Run(disk / "run")
        assert list(run.checkpoints()) == [0]
        assert load_checkpoint(run.checkpoint("last")).parts["policy"]["a"].shape == (100,)
        assert (disk / "run/metrics.csv").read_bytes().endswith(b"\n")
        assert len(run.metrics()["env_steps"]) > 100
    finally:
        subprocess.run(["umount", str(disk)], check=True)

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dressage.errors import RunError
from dressage.runs.group import Group, write_group
from dressage.runs.run import Run
from runs.helpers import begin, row, small_run


def test_reading_a_run(tmp_path: Path) -> None:
    run = Run(small_run(tmp_path / "run"))
    assert run.id == "run"
    assert run.config["env"] == "CartPole-v1"
    assert run.sources == {"seed": "override"}
    assert run.spec["env"] == "CartPole-v1"
    assert run.system["python"] == "3"
    assert run.status == "finished"
    assert run.members == [run]
    metrics = run.metrics()
    assert list(metrics)[:4] == ["env_steps", "updates", "episodes", "wall_seconds"]
    assert metrics["env_steps"].dtype == np.float64
    assert np.array_equal(metrics["train/roll/ep_rew_mean"], [20 + i / 3 for i in range(3)])
    assert np.isnan(metrics["train/loss/policy"]).all()
    assert list(run.metrics(["updates"])) == ["updates"]
    assert list(run.metrics("train/*")) == ["train/roll/ep_rew_mean", "train/loss/policy"]
    assert run.metrics("val/*") == {}
    with pytest.raises(RunError, match=r"Did you mean 'train/loss/policy'"):
        run.metrics("train/loss/polciy")
    episodes = run.episodes()
    assert list(episodes["ended"]) == ["terminated"] * 3
    assert list(episodes["return"]) == [20.5] * 3
    assert np.isnan(episodes["success"]).all()
    assert [event["kind"] for event in run.events()] == ["begin", "note"]
    assert len(run.events("note")) == 1
    assert run.best is not None
    assert run.best["evaluation"] == {"ep_rew_mean": 20.5}


def test_data_frame_and_summary_and_notebook(tmp_path: Path) -> None:
    run = Run(small_run(tmp_path / "<b>run"))
    frame = run.metrics(frame=True)
    assert list(frame["env_steps"]) == [0, 100, 200]
    summary = run.summary()
    assert summary["env_steps"] == 200
    assert summary["ep_rew_mean"] == 20 + 2 / 3
    assert summary["env_steps_per_second"] == 200.0
    assert summary["eval_return_mean"] is None
    view = run._repr_html_()
    assert "<svg" in view
    assert "<b>" not in view  # names are escaped


def test_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run directory"):
        Run(tmp_path)
    with pytest.raises(RunError, match="not a run directory"):
        Run(tmp_path / "none")


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("env_steps,a\n1,2\n3,", [1]),  # cut off
        ("env_steps,a\n1,2\n3,\n,4\n", [1, 3, np.nan]),
        ("env_steps,a\n1,2\n3\n5,6,7\n8,9\n", [1, 8]),  # damaged in the middle
        ("env_steps,a\n1,2\nx,9\n", [1, np.nan]),
        ("env_steps,a\n1,2\n\0\0,\0\n8,inf\n", [1, 8]),
        ("env_steps,a\n", []),
    ],
)
def test_damaged_metrics_are_read_in_part(tmp_path: Path, content: str, kept: list[float]) -> None:
    path = small_run(tmp_path / "run")
    (path / "metrics.csv").write_text(content)
    assert np.array_equal(Run(path).metrics()["env_steps"], kept, equal_nan=True)


def test_a_header_cut_off_gives_nothing(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    (path / "metrics.csv").write_text("env_ste")
    assert Run(path).metrics() == {}
    (path / "metrics.csv").unlink()
    assert Run(path).metrics() == {}


def read_all(path: Path) -> int:
    """Everything a reader may ask; returns how many of the questions were answered."""
    questions = [
        lambda run: run.config,
        lambda run: run.spec,
        lambda run: run.system,
        lambda run: run.status,
        lambda run: run.metrics(),
        lambda run: run.episodes(),
        lambda run: run.events(),
        lambda run: run.checkpoint("last"),
        lambda run: run.checkpoint("best"),
        lambda run: run.summary(),
        lambda run: run.best,
        lambda run: repr(run),
    ]
    answered = 0
    for question in questions:
        try:
            question(Run(path))
            answered += 1
        except RunError:
            pass
    return answered


def test_every_file_cut_off_at_every_byte_stays_readable(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    assert read_all(path) == 12
    for file in sorted(entry for entry in path.rglob("*") if entry.is_file()):
        content = file.read_bytes()
        for length in range(len(content)):
            os.truncate(file, length)
            assert read_all(path) >= 10, f"{file.name} cut at {length}"
            file.write_bytes(content)
        file.unlink()
        assert read_all(path) >= (0 if file.name == "config.json" else 10), f"{file.name} absent"
        file.write_bytes(content)
    assert read_all(path) == 12


def test_newer_formats_are_refused(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    (path / "config.json").write_text('{"format": 2, "values": {}}')
    with pytest.raises(RunError, match="update dressage"):
        _ = Run(path).config


def test_ten_thousand_rows_are_read_fast(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    table = np.random.default_rng(0).random((10_000, 50))
    with (path / "metrics.csv").open("w") as file:
        file.write(",".join(f"m/{index}" for index in range(50)) + "\n")
        file.writelines(",".join(map(repr, line)) + "\n" for line in table.tolist())
    times = []
    for _ in range(3):
        start = time.process_time()
        metrics = Run(path).metrics()
        times.append(time.process_time() - start)
    assert np.array_equal(np.stack(list(metrics.values()), 1), table)  # to the last bit
    assert min(times) < 0.6  # 0.25 s on the slow machine it was measured on


def test_status_of_running_crashed_and_ended(tmp_path: Path) -> None:
    writer = begin(tmp_path / "run")
    run = Run(tmp_path / "run")
    assert run.status == "running"
    writer.status("stopped", reason="Ctrl-C")
    writer.close()
    assert run.status == "stopped"
    assert run.status_details()["reason"] == "Ctrl-C"
    (tmp_path / "run/status.json").unlink()
    assert run.status == "crashed"


def test_a_group(tmp_path: Path) -> None:
    path = tmp_path / "group"
    members = [{"seed": seed, "path": str(seed), "status": "waiting"} for seed in (3, 4, 5)]
    group = write_group(path, members)
    assert group.status == "stopped"
    for seed in (3, 4):
        small_run(path / str(seed))
    group = Group(path)
    assert group.id == "group"
    assert [member.id for member in group.members] == ["group/3", "group/4"]
    assert group.member(4).path == path / "4"
    assert group.config["env"] == "CartPole-v1"
    assert group.status == "stopped"  # seed 5 never began
    with pytest.raises(RunError, match="its seeds are 3, 4, 5"):
        group.member(9)
    with begin(path / "5") as writer:
        assert group.status == "running"
        writer.metrics_row(row(1))
        writer.status("failed")
    assert group.status == "failed"
    assert set(group.metrics("env_steps")) == {3, 4, 5}
    assert len(group.summary()["members"]) == 3
    assert group._repr_html_().count("<polyline") == 3
    with RunWriterOf(path / "5") as writer:
        writer.status("finished")
    assert group.status == "finished"


def RunWriterOf(path: Path):
    from dressage.runs.writer import RunWriter

    return RunWriter.reopen(path, None)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"format": 2, "members": []}',
        '{"format": 1, "members": [{"seed": 0, "path": "../other"}]}',
        '{"format": 1, "members": [{"seed": 0, "path": ".."}]}',
        '{"format": 1, "members": [{"seed": 0, "path": "/etc"}]}',
        '{"format": 1, "members": [3]}',
    ],
)
def test_damaged_and_hostile_groups(tmp_path: Path, content: str) -> None:
    (tmp_path / "group.json").write_text(content)
    with pytest.raises(RunError):
        _ = Group(tmp_path).members


def test_reading_imports_neither_torch_nor_pandas_nor_scipy(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    script = (
        "import sys; from dressage.runs import Run; run = Run(sys.argv[1]); run.summary();"
        "run._repr_html_(); run.checkpoint();"
        "bad = {'torch', 'pandas', 'scipy', 'gymnasium', 'pydantic'} & set(sys.modules);"
        "sys.exit(', '.join(bad) or 0)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)


def test_a_run_can_be_moved(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    shutil.move(path, tmp_path / "moved")
    assert read_all(tmp_path / "moved") == 12

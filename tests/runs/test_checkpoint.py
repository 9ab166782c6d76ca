from __future__ import annotations

import errno
import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dressage.errors import RunError
from dressage.runs import files
from dressage.runs.checkpoint import (
    checkpoint_folders,
    clean,
    discard_after,
    latest_checkpoint,
    load_checkpoint,
    prune,
    read_best,
    save_checkpoint,
    set_best,
)
from dressage.runs.run import Run
from runs.helpers import parts, small_run


def save(run: Path, env_steps: int, value: float = 0.0) -> Path:
    return save_checkpoint(
        run, env_steps, {"policy": {"a": np.full(3, value)}}, {"n": env_steps}, {"metrics.csv": 5}
    )


def test_round_trip(tmp_path: Path) -> None:
    meta = {"episodes": 3, "name": "é", "best": float("-inf"), "counter": 2**64 - 1}
    path = save_checkpoint(tmp_path, 1000, parts(), meta, {"metrics.csv": 17})
    assert path == tmp_path / "checkpoints/1000"
    loaded = load_checkpoint(path)
    assert loaded.env_steps == 1000
    assert loaded.offsets == {"metrics.csv": 17}
    assert loaded.meta == {**meta, "best": "-inf"}  # JSON has no infinity; float("-inf") reads it
    for part, arrays in parts().items():
        for name, array in arrays.items():
            assert loaded.parts[part][name].dtype == array.dtype
            assert np.array_equal(loaded.parts[part][name], array)
    assert set(load_checkpoint(path, parts=["policy"]).parts) == {"policy"}
    with pytest.raises(RunError, match=r"has no memory\.safetensors"):
        load_checkpoint(path, parts=["memory"])
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["format"] == 1
    assert manifest["files"]["policy.safetensors"]["bytes"] > 0


def test_saving_again_replaces(tmp_path: Path) -> None:
    save(tmp_path, 10, 1.0)
    save(tmp_path, 10, 2.0)
    assert load_checkpoint(tmp_path / "checkpoints/10").parts["policy"]["a"][0] == 2.0
    assert [entry.name for entry in (tmp_path / "checkpoints").iterdir()] == ["10"]


@pytest.mark.parametrize("broken", ["write", "fsync", "rename"])
def test_a_failed_save_leaves_the_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def full(*_args: Any, **_more: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    save(tmp_path, 10, 1.0)
    monkeypatch.setattr(files.os, broken, full)
    for env_steps in (10, 20):
        with pytest.raises(RunError, match="disk is full"):
            save(tmp_path, env_steps, 2.0)
    monkeypatch.undo()
    assert list(checkpoint_folders(tmp_path)) == [10]
    assert load_checkpoint(tmp_path / "checkpoints/10").parts["policy"]["a"][0] == 1.0
    assert [entry.name for entry in (tmp_path / "checkpoints").iterdir()] == ["10"]


def test_a_failed_replacement_brings_the_old_one_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 10, 1.0)
    real = os.rename

    def rename(source: Path, target: Path) -> None:
        if Path(source).name.startswith(".tmp-"):
            raise OSError(errno.EIO, "broken")
        real(source, target)

    monkeypatch.setattr(files.os, "rename", rename)
    with pytest.raises(RunError, match="cannot be written"):
        save(tmp_path, 10, 2.0)
    assert [entry.name for entry in (tmp_path / "checkpoints").iterdir()] == ["10"]
    assert load_checkpoint(tmp_path / "checkpoints/10").parts["policy"]["a"][0] == 1.0


def test_what_a_crash_left_is_ignored_and_cleaned(tmp_path: Path) -> None:
    save(tmp_path, 10)
    folder = tmp_path / "checkpoints"
    shutil.copytree(folder / "10", folder / ".tmp-20-999")
    # Killed between the two renames of a replacement: the old one is still the checkpoint 10.
    os.rename(folder / "10", folder / ".old-10")
    assert latest_checkpoint(tmp_path).path == folder / ".old-10"
    assert load_checkpoint(folder / ".old-10").env_steps == 10
    clean(tmp_path)
    assert [entry.name for entry in folder.iterdir()] == ["10"]
    # Killed after both renames.
    shutil.copytree(folder / "10", folder / ".old-10")
    save(tmp_path, 20)
    assert sorted(entry.name for entry in folder.iterdir()) == ["10", "20"]


def test_latest_falls_back_and_tells(tmp_path: Path) -> None:
    for env_steps in (9, 10, 100, 1000):
        save(tmp_path, env_steps)
    folder = tmp_path / "checkpoints"
    assert latest_checkpoint(tmp_path) == (folder / "1000", [])
    part = folder / "1000/policy.safetensors"
    content = bytearray(part.read_bytes())
    content[-1] ^= 1
    part.write_bytes(content)
    (folder / "100/policy.safetensors").unlink()
    (folder / "5000").mkdir()
    path, skipped = latest_checkpoint(tmp_path)
    assert path == folder / "10"
    assert len(skipped) == 3
    assert "5000" in skipped[0]
    assert "hash" in skipped[1]
    assert "does not exist" in skipped[2]
    assert latest_checkpoint(tmp_path / "nothing").path is None
    os.truncate(folder / "10/policy.safetensors", 20)
    with pytest.raises(RunError, match="20 bytes"):
        load_checkpoint(folder / "10")


def test_prune_keeps_last_best_and_named(tmp_path: Path) -> None:
    for env_steps in range(10, 70, 10):
        save(tmp_path, env_steps)
    set_best(tmp_path, 20, {"ep_rew_mean": 5.0})
    assert prune(tmp_path, keep_last=2, keep={40}) == [10, 30]
    assert list(checkpoint_folders(tmp_path)) == [20, 40, 50, 60]
    assert read_best(tmp_path) == {
        "format": 1,
        "env_steps": 20,
        "evaluation": {"ep_rew_mean": 5.0},
    }
    (tmp_path / "checkpoints/60/manifest.json").write_text("{")
    assert prune(tmp_path, keep_last=1) == []  # the newest is not whole: nothing goes
    assert prune(tmp_path / "nothing") == []


def test_discard_after_forgets_what_a_resume_makes_anew(tmp_path: Path) -> None:
    for env_steps in (10, 20, 30):
        save(tmp_path, env_steps)
    set_best(tmp_path, 30, {})
    assert discard_after(tmp_path, 10) == [20, 30]
    assert list(checkpoint_folders(tmp_path)) == [10]
    assert read_best(tmp_path) is None


@pytest.mark.parametrize("part", ["../x", "a/b", "", ".hidden", "a.b", "a\\b"])
def test_part_names_are_plain(tmp_path: Path, part: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        save_checkpoint(tmp_path, 1, {part: {}}, {}, {})
    assert checkpoint_folders(tmp_path) == {}


def rewrite(path: Path, **changes: Any) -> None:
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, **changes}))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"format": None},
        {"env_steps": "10"},
        {"meta": []},
        {"offsets": {"metrics.csv": "x"}},
        {"files": []},
        {"files": {"policy.safetensors": {}}},
        {"files": {"policy.safetensors": {"sha256": "", "bytes": 1}}},
        {"files": {"policy.safetensors": {"sha256": "", "bytes": -1}}},
        {"files": {"policy.safetensors": {"sha256": "", "bytes": 10**30}}},
        {"files": {"../secret.safetensors": {"sha256": "", "bytes": 1}}},
        {"files": {"/etc/passwd": {"sha256": "", "bytes": 1}}},
        {"files": {"..\\secret.safetensors": {"sha256": "", "bytes": 1}}},
        {"files": {"policy.pkl": {"sha256": "", "bytes": 1}}},
    ],
)
def test_hostile_manifests_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = save(tmp_path, 10)
    rewrite(path, **changes)
    with pytest.raises(RunError):
        load_checkpoint(path)
    assert latest_checkpoint(tmp_path).path is None


def hashed(path: Path) -> dict[str, Any]:
    import hashlib

    content = path.read_bytes()
    return {
        "files": {path.name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}}
    }


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch executed",)


def test_a_pickle_with_a_right_hash_is_not_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = save(tmp_path, 10)
    (path / "policy.safetensors").write_bytes(pickle.dumps(Bomb()))
    rewrite(path, **hashed(path / "policy.safetensors"))
    with pytest.raises(RunError, match="not a safetensors file"):
        load_checkpoint(path)
    assert not (tmp_path / "executed").exists()


def test_links_are_not_followed(tmp_path: Path) -> None:
    path = save(tmp_path, 10)
    secret = tmp_path / "secret.safetensors"
    shutil.move(path / "policy.safetensors", secret)
    (path / "policy.safetensors").symlink_to(secret)
    with pytest.raises(RunError, match="is a link"):
        load_checkpoint(path)
    (tmp_path / "checkpoints/20").symlink_to(path)
    assert list(checkpoint_folders(tmp_path)) == [10]
    pipe = save(tmp_path, 30)
    (pipe / "policy.safetensors").unlink()
    os.mkfifo(pipe / "policy.safetensors")
    with pytest.raises(RunError, match="not a regular file"):
        load_checkpoint(pipe)


def test_a_checkpoint_cut_off_at_any_byte_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, 10)
    for file in sorted(path.iterdir()):
        content = file.read_bytes()
        for length in range(len(content)):
            file.write_bytes(content[:length])
            if file.name == "manifest.json" and content[length:].strip() == b"":
                continue  # only the last newline is missing
            with pytest.raises(RunError):
                load_checkpoint(path)
        file.write_bytes(content)
    assert load_checkpoint(path).env_steps == 10


def test_run_names_its_checkpoints(tmp_path: Path) -> None:
    run = Run(small_run(tmp_path / "run"))
    save(run.path, 300)
    assert list(run.checkpoints()) == [200, 300]
    assert run.checkpoint("last").name == "300"
    assert run.checkpoint("best").name == "200"
    assert run.checkpoint(200) == run.checkpoint("200") == run.path / "checkpoints/200"
    with pytest.raises(RunError, match="one of 200, 300"):
        run.checkpoint(250)
    with pytest.raises(RunError, match="no checkpoint 'bets'"):
        run.checkpoint("bets")
    (run.path / "checkpoints/best.json").unlink()
    with pytest.raises(RunError, match="none was evaluated"):
        run.checkpoint("best")
    shutil.rmtree(run.path / "checkpoints")
    with pytest.raises(RunError, match="no whole checkpoint"):
        run.checkpoint()

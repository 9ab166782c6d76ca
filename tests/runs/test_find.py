from __future__ import annotations

import os
from pathlib import Path

import pytest

from dressage.errors import RunError
from dressage.runs import files
from dressage.runs.find import (
    delete_run,
    find,
    find_checkpoint,
    list_runs,
    new_run_id,
    runs_root,
    set_last,
    split_checkpoint,
)
from dressage.runs.group import Group, write_group
from dressage.runs.run import Run
from runs.helpers import begin, small_run


def three(root: Path) -> Path:
    for number, name in enumerate(["cartpole-a", "cartpole-b", "pendulum-c"]):
        path = small_run(root / name)
        os.utime(path / "config.json", (1000 + number, 1000 + number))
    set_last(root, "cartpole-b")
    return root


def test_runs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRESSAGE_RUNS", raising=False)
    assert runs_root() == Path("runs")
    monkeypatch.setenv("DRESSAGE_RUNS", "elsewhere")
    assert runs_root() == Path("elsewhere")
    assert runs_root("mine") == Path("mine")


def test_finding_by_id_prefix_path_and_last(tmp_path: Path) -> None:
    root = three(tmp_path)
    assert find("cartpole-a", root).path == root / "cartpole-a"
    assert find("pend", root).path == root / "pendulum-c"
    assert find("@last", root).path == root / "cartpole-b"
    assert find(str(root / "cartpole-a"), Path("nowhere")).path == root / "cartpole-a"
    assert find(str(root / "@last"), Path("nowhere")).id == "cartpole-b"
    with pytest.raises(RunError, match="any of 2 runs: cartpole-a, cartpole-b"):
        find("cart", root)
    with pytest.raises(RunError, match="Did you mean 'pendulum-c'"):
        find("pendulumc", root)
    with pytest.raises(RunError, match="`dressage runs`"):
        find("zzz", root)
    for strange in ("", ".", "..", "/", "\0", "a" * 5000, "@best"):
        with pytest.raises(RunError):
            find(strange, root)


def test_listing_is_oldest_first_and_passes_over_the_rest(tmp_path: Path) -> None:
    root = three(tmp_path)
    (root / "not-a-run").mkdir()
    (root / "file").write_text("")
    (root / ".deleted-x").mkdir()
    assert [run.id for run in list_runs(root)] == ["cartpole-a", "cartpole-b", "pendulum-c"]
    assert list_runs(root / "none") == []


def test_last_survives_deletion_and_missing_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = three(tmp_path)
    assert os.readlink(root / "@last") == "cartpole-b"  # relative: the folder can be moved
    delete_run(find("@last", root))
    assert find("@last", root).id == "pendulum-c"

    def no_links(*_args: object, **_more: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(files.os, "symlink", no_links)
    set_last(root, "cartpole-a")
    assert (root / "@last").read_text() == "cartpole-a\n"
    assert not (root / "@last").is_symlink()
    assert find("@last", root).id == "cartpole-a"
    monkeypatch.undo()
    set_last(root, "pendulum-c")
    assert find("@last", root).id == "pendulum-c"
    with pytest.raises(RunError, match="no run in"):
        find("@last", tmp_path / "empty")


def test_last_never_leads_outside(tmp_path: Path) -> None:
    small_run(tmp_path / "outside")
    root = three(tmp_path / "runs")
    (root / "@last").unlink()
    (root / "@last").write_text("../outside\n")
    assert find("@last", root).id == "pendulum-c"


def test_checkpoint_suffixes(tmp_path: Path) -> None:
    root = three(tmp_path)
    assert split_checkpoint("@last") == ("@last", None)
    assert split_checkpoint("@last@best") == ("@last", "best")
    assert split_checkpoint("run@1000") == ("run", "1000")
    assert split_checkpoint("a@b/run") == ("a@b/run", None)
    run, checkpoint = find_checkpoint("cartpole-a@best", root)
    assert (run.id, checkpoint) == ("cartpole-a", "best")
    run, checkpoint = find_checkpoint("@last@last", root)
    assert (run.id, checkpoint) == ("cartpole-b", "last")


def test_group_members(tmp_path: Path) -> None:
    group = write_group(
        tmp_path / "lander-g", [{"seed": seed, "path": f"{seed}"} for seed in (0, 3)]
    )
    small_run(group.path / "3")
    set_last(tmp_path, "lander-g")
    assert isinstance(find("@last", tmp_path), Group)
    for name in ("lander-g/3", "lander/3", "@last/3", str(group.path / "3")):
        assert find(name, tmp_path).id == "lander-g/3"
    run, checkpoint = find_checkpoint("@last/3@best", tmp_path)
    assert (run.id, checkpoint) == ("lander-g/3", "best")
    with pytest.raises(RunError, match="no seed 7"):
        find("lander-g/7", tmp_path)
    small_run(tmp_path / "single")
    with pytest.raises(RunError, match="not a group"):
        find("single/3", tmp_path)


def test_new_run_ids_are_unique_and_plain(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    names = [new_run_id("ALE/Pong-v5", "ppo", 0, root) for _ in range(3)]
    assert len(set(names)) == 3
    assert names[0].startswith("ale-pong-v5-ppo-2")
    assert names[0].endswith("-s0")
    assert "/" not in new_run_id("my_pkg.envs:MyEnv(../..)", "my.algo", "0-7", root)
    assert new_run_id("../..", "", 1, root).startswith("x-x-")
    begin(root / names[0]).close()  # an empty folder is taken by the writer


def test_deleting(tmp_path: Path) -> None:
    root = three(tmp_path)
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "file").write_text("precious")
    (root / "cartpole-a" / "videos").symlink_to(keep)
    delete_run(Run(root / "cartpole-a"))
    assert not (root / "cartpole-a").exists()
    assert (keep / "file").read_text() == "precious"

    (root / "alias").symlink_to(root / "cartpole-b")
    with pytest.raises(RunError, match="is a link"):
        delete_run(Run(root / "alias"))

    with begin(root / "busy"), pytest.raises(RunError, match="is being written"):
        delete_run(Run(root / "busy"))
    assert (root / "busy/config.json").exists()

    stranger = root / "project"
    stranger.mkdir()
    (stranger / "config.json").write_text('{"name": "my web page"}')
    with pytest.raises(RunError, match="by hand"):
        delete_run(Run(stranger))
    assert stranger.exists()


def test_deleting_a_group_waits_for_all_members(tmp_path: Path) -> None:
    group = write_group(tmp_path / "g", [{"seed": seed, "path": f"{seed}"} for seed in (0, 1)])
    small_run(group.path / "0")
    with begin(group.path / "1"), pytest.raises(RunError, match="is being written"):
        delete_run(group)
    assert Run(group.path / "0").status == "finished"
    delete_run(group)
    assert list(tmp_path.iterdir()) == []

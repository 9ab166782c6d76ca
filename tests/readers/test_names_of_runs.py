"""Runs that would be called alike are told apart, by suffix, by folder, by path."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from dressage.runs.readers import read

SAMPLES = Path(__file__).parent / "samples"
TABLE = "step,return\n1,2\n2,3\n"


def names(folder: Path, files: Sequence[str]) -> list[str]:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        jsonl = name.endswith("l")
        (folder / name).write_text('{"step": 1, "return": 2}\n' if jsonl else TABLE)
    return [view.id for view in read([folder / name for name in files])]


@pytest.mark.parametrize(
    ("files", "called"),
    [
        (("my.csv", "other.csv"), ["my", "other"]),
        (("my.csv", "my.jsonl", "other.csv"), ["my.csv", "my.jsonl", "other"]),
        (("a/my.csv", "b/my.csv"), ["a/my", "b/my"]),
        (("a/my.csv", "b/my.csv", "b/my.jsonl"), ["a/my.csv", "b/my.csv", "b/my.jsonl"]),
        (("a/x/metrics.csv", "b/x/metrics.csv"), ["a/x", "b/x"]),
        (("a/x/y/my.csv", "b/x/y/my.csv"), ["a/x/y/my", "b/x/y/my"]),
    ],
)
def test_what_runs_are_called(files: Sequence[str], called: list[str], tmp_path: Path) -> None:
    assert names(tmp_path, files) == called


def test_runs_of_other_libraries(tmp_path: Path) -> None:
    for side in ("a", "b"):
        shutil.copytree(SAMPLES / "sb3_ppo", tmp_path / side / "sb3_ppo")
    assert [view.id for view in read(tmp_path)] == ["a/sb3_ppo", "b/sb3_ppo"]


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names(tmp_path, ("a/my.csv", "b/my.csv"))
    monkeypatch.chdir(tmp_path / "a")
    assert [view.id for view in read(["my.csv", os.path.join("..", "b", "my.csv")])] == [
        "a/my", "b/my",
    ]  # fmt: skip

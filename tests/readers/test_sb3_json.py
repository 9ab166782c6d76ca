"""SB3's JSON log says what its CSV says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from dressage.runs.readers import read
from dressage.runs.view import RunView

SAMPLES = Path(__file__).parent / "samples"


def one(path: Path) -> RunView:
    (view,) = read(path)
    return view


@pytest.mark.parametrize("sample", ["sb3_ppo", "sb3_dqn", "sb3_sac"])
@pytest.mark.parametrize("alone", [False, True])
def test_its_json_says_the_same_as_its_csv(sample: str, alone: bool, tmp_path: Path) -> None:
    folders = [tmp_path / kind / sample for kind in ("csv", "json")]
    for folder in folders:
        shutil.copytree(SAMPLES / sample, folder)
    table = folders[1] / "progress.csv"
    header, *lines = table.read_text().splitlines()
    rows = [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]
    filled = [{name: float(cell) for name, cell in row.items() if cell} for row in rows]
    lines = [json.dumps(row) for row in filled]
    (folders[1] / "progress.json").write_text("\n".join(lines) + "\n")
    table.unlink()
    files = [folder / f"progress.{folder.parent.name}" for folder in folders]
    csv, other = (one(given) for given in (files if alone else folders))
    assert (csv.library, csv.algo, csv.config) == (other.library, other.algo, other.config)
    assert (csv.own_names, csv.unknown) == (other.own_names, other.unknown)
    assert csv.algo == sample.partition("_")[2]
    for name, series in csv.series.items():
        np.testing.assert_array_equal(series.env_steps, other[name].env_steps)
        np.testing.assert_array_equal(series.values, other[name].values)


def test_of_csv_and_json_one_is_read(tmp_path: Path) -> None:
    """SB3 writes the same into both."""
    shutil.copytree(SAMPLES / "sb3_dqn", tmp_path / "run")
    before = one(tmp_path / "run")
    (tmp_path / "run/progress.json").write_text('{"time/total_timesteps": 1, "a": 2}\n')
    assert one(tmp_path / "run").series.keys() == before.series.keys()


def test_progress_of_others_is_not_taken_for_its_own(tmp_path: Path) -> None:
    (tmp_path / "progress.json").write_text('{"step": 1, "return": 2}\n')
    assert one(tmp_path / "progress.json").library == "table"
    (tmp_path / "log.csv").write_text("step,return\n1,2\n")
    assert one(tmp_path).path.name == "log.csv"

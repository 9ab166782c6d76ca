"""A file of weights alone is a run of which nothing else is known; beside a log it joins it."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from event_writer import cleanrl_run, tianshou_run
from safetensors.numpy import save_file
from typer.testing import CliRunner

import dressage
from dressage.diagnosis.checkpoints import saved_numbers
from dressage.errors import RunError
from dressage.runs.readers import read
from dressage.ui.cli.app import app

SAMPLES = Path(__file__).parent / "samples"
LOGS = ("sb3_ppo", "sb3_dqn", "zoo", "rllib", "gymnasium_solver", "wandb_run")


def weights(path: Path, fill: float | None = None) -> Path:
    """A small network as `safetensors` writes it; `fill`: every number of it."""
    generator = np.random.default_rng(0)
    shapes = {"pi.0.weight": (8, 4), "pi.0.bias": (8,), "pi.2.weight": (2, 8)}
    tensors = {
        name: (generator.normal(size=shape) if fill is None else np.full(shape, fill)).astype("f4")
        for name, shape in shapes.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path)
    return path


def broken(path: Path, how: str) -> Path:
    content = weights(path).read_bytes()
    (size,) = struct.unpack_from("<Q", content)
    path.write_bytes(
        {
            "header": content[:8] + b"{" * size + content[8 + size :],
            "header's size": struct.pack("<Q", 2**60) + content[8:],
            "cut": content[:-10],
            "longer": content + bytes(10),
        }[how]
    )
    return path


HOW = ("header", "header's size", "cut", "longer")


def symptoms(*paths: Path) -> set[str]:
    (report,) = dressage.diagnose(*paths)
    return {found.rule for found in report.diagnosis.symptoms}


def notes(*paths: Path) -> str:
    (report,) = dressage.diagnose(*paths)
    return " ".join(report.diagnosis.notes)


# -- alone ----------------------------------------------------------------------------------------


def test_a_file_alone_is_a_run_of_an_unknown_library(tmp_path: Path) -> None:
    file = weights(tmp_path / "plain/model.safetensors")
    for given in (file, file.parent):
        (view,) = read(given)
        assert (view.library, view.algo, view.series) == ("unknown", None, {})
        assert view.weights == [file]
        assert "no log" in " ".join(view.notes)
        assert "3 tensors, 56 numbers" in " ".join(view.notes)
        assert "train/roll/ep_rew_mean" in {missing.metric for missing in view.not_visible()}
    assert symptoms(file) == set()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_told(value: float, tmp_path: Path) -> None:
    file = weights(tmp_path / "model.safetensors", value)
    assert symptoms(file) == {"CKP001"}
    said = CliRunner().invoke(app, ["diagnose", str(file)])
    assert said.exit_code == 0 and "56 weights are NaN or infinite" in said.output
    assert CliRunner().invoke(app, ["diagnose", str(file), "--fail-on", "critical"]).exit_code == 1


def test_sound_weights_alone_do_not_pass_a_gate(tmp_path: Path) -> None:
    """They say nothing of how training went."""
    file = weights(tmp_path / "model.safetensors")
    said = CliRunner().invoke(app, ["diagnose", str(file), "--fail-on", "low"])
    assert "nothing that could be judged" in str(said.exception)


@pytest.mark.parametrize("how", HOW)
def test_a_broken_file_alone_gets_a_sentence(how: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"model\.safetensors"):
        read(broken(tmp_path / "model.safetensors", how))
    with pytest.raises(RunError, match=r"model\.safetensors"):
        read(tmp_path)
    said = CliRunner().invoke(app, ["diagnose", str(tmp_path)])
    assert isinstance(said.exception, RunError)


def test_of_several_files_it_is_said_which_was_looked_at(tmp_path: Path) -> None:
    weights(tmp_path / "actor.safetensors")
    weights(tmp_path / "critic.safetensors", np.nan)
    (view,) = read(tmp_path)
    assert len(view.weights) == 2
    assert "2 files of weights" in notes(tmp_path)


def test_a_checkpoint_of_ours_alone_is_read_as_one(run: Path) -> None:
    (checkpoint,) = checkpoints(run)[-1:]
    (view,) = read(checkpoint)
    assert view.weights == [checkpoint] and view.library == "unknown"


def test_models_in_folders_of_their_own_are_runs_of_their_own(tmp_path: Path) -> None:
    for seed in range(2):
        weights(tmp_path / f"models/{seed}/model.safetensors")
    assert [view.id for view in read(tmp_path)] == ["0", "1"]
    assert len(dressage.diagnose(tmp_path)) == 2  # nothing says that they are of one setting


# -- beside a log ---------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["model.safetensors", "models/best/model.safetensors"])
@pytest.mark.parametrize("sample", LOGS)
def test_beside_a_log_it_joins_the_run(sample: str, place: str, tmp_path: Path) -> None:
    folder = tmp_path / sample
    shutil.copytree(SAMPLES / sample, folder)
    (before,) = read(folder)
    file = weights(folder / place, np.nan)
    (view,) = read(folder)
    assert file in view.weights and set(before.weights) < set(view.weights)
    assert (view.library, view.series.keys()) == (before.library, before.series.keys())
    assert "CKP001" in symptoms(folder)


@pytest.mark.parametrize("make", [cleanrl_run, tianshou_run])
def test_it_joins_event_files(make: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = make(tmp_path)
    file = weights(folder / "model.safetensors", np.nan)
    assert read(folder)[0].weights == [file]
    assert read(tmp_path)[0].weights == [file]
    assert "CKP001" in symptoms(folder)


def test_it_joins_mlflow(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "mlflow", tmp_path / "mlflow")
    (folder,) = (file.parent for file in (tmp_path / "mlflow").glob("*/*/meta.yaml"))
    file = weights(folder / "artifacts/model/model.safetensors", np.nan)
    assert read(tmp_path / "mlflow")[0].weights == [file]


def test_it_joins_a_table(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,return\n1,2\n2,3\n")
    file = weights(tmp_path / "model.safetensors", np.nan)
    assert read(tmp_path)[0].weights == [file]
    assert "CKP001" in symptoms(tmp_path)


def test_what_a_table_lacks_is_still_said(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("foo,bar\n1,2\n2,3\n")
    weights(tmp_path / "model.safetensors")
    assert "No metric of 'log' is known. Found: 'foo', 'bar'" in notes(tmp_path)


def test_the_model_of_sb3_still_tells_what_only_it_can(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(SAMPLES / "sb3_ppo", folder)
    (before,) = read(folder)
    weights(folder / "model.safetensors")
    (view,) = read(folder)
    assert saved_numbers(view) == saved_numbers(before) != {}


def test_among_several_logs_a_file_is_nobodys(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("step,return\n1,2\n2,3\n")
    weights(tmp_path / "model.safetensors")
    views = read(tmp_path)
    assert [view.weights for view in views] == [[], []]
    assert any("model.safetensors" in note and "which" in note for note in views[0].notes)


@pytest.mark.parametrize("how", HOW)
def test_a_broken_file_beside_a_log_costs_a_note(how: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(SAMPLES / "sb3_ppo/progress.csv", folder)
    file = broken(folder / "model.safetensors", how)
    assert str(file) in notes(folder) and "not looked at" in notes(folder)


def test_an_older_file_is_looked_at_in_place_of_a_broken_one(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "sb3_ppo/progress.csv", tmp_path)
    weights(tmp_path / "1.safetensors", np.nan)
    broken(tmp_path / "2.safetensors", "cut")
    os.utime(tmp_path / "1.safetensors", (1e9, 1e9))
    assert "2.safetensors" in notes(tmp_path)
    assert "CKP001" in symptoms(tmp_path)


# -- checkpoints of ours --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = dressage.train(
        "CartPole-v1", env_steps=2048, seed=0, runs=tmp_path_factory.mktemp("runs"), eval_every=0
    )
    return Path(made.path)


def checkpoints(run: Path) -> list[Path]:
    return sorted(
        (file.parent for file in run.glob("checkpoints/*/manifest.json")),
        key=lambda path: int(path.name),
    )


@pytest.mark.parametrize("change", [-10, 10])
def test_a_checkpoint_of_another_size_than_its_manifest_says_is_told(
    change: int, run: Path, tmp_path: Path
) -> None:
    copy = tmp_path / run.name
    shutil.copytree(run, copy, symlinks=True)
    assert "not looked at" not in notes(copy)
    for folder in checkpoints(copy):
        file = folder / "policy.safetensors"
        content = file.read_bytes()
        file.write_bytes(content[:change] if change < 0 else content + bytes(change))
    said = notes(copy)
    assert "policy.safetensors" in said and "manifest says" in said and "not looked at" in said

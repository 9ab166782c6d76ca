"""`dressage train` and `new`: wiring, JSON, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ui_helpers import TINY

Cli = Callable[..., Any]
KEYS = {
    "run_id",
    "path",
    "env_steps",
    "env_steps_per_second",
    "wall_seconds",
    "ep_rew_mean",
    "eval_return_mean",
    "solved",
}


def test_train_ends_with_one_json_line(cli: Cli, tmp_path: Path) -> None:
    result = cli("train", "CartPole-v1", *TINY, "--runs", tmp_path, "--json")
    assert result.code == 0
    assert set(result.json) >= KEYS
    assert result.json["env_steps"] == 512
    assert result.json["solved"] is False
    assert len(result.out.splitlines()) == 1
    assert "100 %" in result.err
    assert "dressage diagnose @last" in result.err


@pytest.mark.parametrize(
    ("command", "word", "instead"),
    [
        ("train", "runs=here", "--runs here."),
        ("train", "trust=true", "--trust."),
        ("train", "preset=false", "--no-preset."),
        ("train", "hooks=1", "only Python"),
        ("train", "env=Pendulum-v1", "named already"),
        ("tune", "trials=3", "--trials 3."),
        ("config", "config=a.yaml", "--config a.yaml."),
    ],
)
def test_an_option_written_as_a_setting(cli: Cli, command: str, word: str, instead: str) -> None:
    result = cli(command, "CartPole-v1", word)
    assert result.code == 2
    assert instead in result.err


def test_the_environment_written_as_a_setting(cli: Cli, tmp_path: Path) -> None:
    result = cli("train", "env=CartPole-v1", *TINY, "--runs", tmp_path, "--json")
    assert result.code == 0
    assert result.json["env_steps"] == 512


def test_a_reader_that_leaves_does_not_end_training(tmp_path: Path) -> None:
    words = ["train", "CartPole-v1", *TINY, "--runs", str(tmp_path)]
    child = subprocess.Popen(
        [sys.executable, "-c", "from dressage.ui.cli.main import main; main()", *words],
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.close()  # as `| head` does
    child.wait(240)
    (status,) = tmp_path.glob("cartpole*/status.json")
    assert json.loads(status.read_text())["state"] == "finished"


def test_train_without_the_preset(cli: Cli, tmp_path: Path) -> None:
    words = ("train", "CartPole-v1", *TINY, "--quiet", "--runs", tmp_path)
    assert cli(*words, "--no-preset").code == 0
    sources = cli("config", "@last", "--runs", tmp_path, "--json").json["sources"]
    assert "preset" not in sources.values()
    assert cli(*words).code == 0
    sources = cli("config", "@last", "--runs", tmp_path, "--json").json["sources"]
    assert "preset" in sources.values()


def test_quiet_says_nothing(cli: Cli, tmp_path: Path) -> None:
    result = cli("train", "CartPole-v1", *TINY, "--runs", tmp_path, "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_resume_of_a_finished_run_says_what_to_do(cli: Cli, trained: Path) -> None:
    result = cli("train", "--resume", "@last", "--runs", trained)
    assert result.code == 2
    assert "env_steps=1024" in result.err


def test_resume_with_a_larger_budget(cli: Cli, root: Path) -> None:
    result = cli("train", "--resume", "@last", "env_steps=1024", "--runs", root, "--json")
    assert result.code == 0
    assert result.json["env_steps"] == 1024
    assert "Resuming at 512" in result.err


def test_resume_says_that_the_newest_checkpoint_was_damaged(cli: Cli, tmp_path: Path) -> None:
    words = ["checkpoint_every=256", "--runs", tmp_path]
    assert cli("train", "CartPole-v1", *TINY, *words).code == 0
    (newest,) = tmp_path.glob("cartpole*/checkpoints/512/policy.safetensors")
    newest.write_bytes(newest.read_bytes()[:-10])
    result = cli("train", "--resume", "@last", "env_steps=1024", "--runs", tmp_path)
    assert result.code == 0
    assert "Resumed from the checkpoint before" in result.out
    assert "the checkpoint is damaged" in result.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["train", "CartPole-v1", "lrr=1"], "Did you mean 'lr'"),
        (["train", "CartPole-v1", "batch_size=7", "n_steps=32"], "batch_size"),
        (["train", "CartPoel-v1"], "Did you mean 'CartPole-v1'"),
        (["train"], "No environment was named"),
        (["train", "CartPole-v1", "stray"], "write key=value"),
        (["train", "CartPole-v1", "--lr", "1"], "without dashes: lr=VALUE"),
        (["trian"], "Did you mean 'train'"),
        (["evaluate", "--epsodes", "3"], "Did you mean '--episodes'"),
    ],
)
def test_mistakes_are_one_sentence(
    cli: Cli, tmp_path: Path, words: list[str], sentence: str
) -> None:
    result = cli(*words, *(["--runs", str(tmp_path)] if len(words) > 1 else []))
    assert result.code == 2
    assert sentence in result.err.replace("\n", " ")
    assert "Traceback" not in result.err + result.out


def test_an_error_is_json_too(cli: Cli, tmp_path: Path) -> None:
    result = cli("evaluate", "nothing", "--runs", tmp_path, "--json")
    assert result.code == 2
    assert result.json["exit_code"] == 2
    assert "nothing" in result.json["error"]


def test_debug_raises(cli: Cli, tmp_path: Path) -> None:
    from dressage.errors import RunError
    from dressage.ui.cli import main

    with pytest.raises(RunError):
        main(["evaluate", "nothing", "--runs", str(tmp_path), "--debug"])


def test_a_fault_of_ours_is_told_from_a_mistake(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dressage import api

    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(api, "train", broken)
    result = cli("train", "CartPole-v1", "--runs", tmp_path)
    assert result.code == 70
    assert "ZeroDivisionError" in result.err
    assert "--debug" in result.err


def test_a_failed_member_is_exit_code_1(
    cli: Cli, group_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dressage import api
    from dressage.runs.find import find

    group = find("@last", group_root)
    status = group.path / "1" / "status.json"
    document = json.loads(status.read_text()) | {"state": "failed", "reason": "it broke"}
    status.write_text(json.dumps(document))
    monkeypatch.setattr(api, "train", lambda *args, **kwargs: find("@last", group_root))
    result = cli("train", "CartPole-v1", "seeds=2", "--runs", group_root, "--json")
    assert result.code == 1
    assert "1 of 2 seeds failed (seed 1: it broke)" in result.err
    assert [member["status"] for member in result.json["members"]] == ["finished", "failed"]
    assert result.json["env_steps"] == 1024


@pytest.mark.parametrize(
    ("reason", "code"), [("SIGHUP", 129), ("SIGINT", 130), ("SIGTERM", 143), ("enough", 0)]
)
def test_a_stopped_run_tells_who_stopped_it(
    cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch, reason: str, code: int
) -> None:
    from dressage import api
    from dressage.runs.find import find

    status = find("@last", root).path / "status.json"
    document = json.loads(status.read_text()) | {"state": "stopped", "reason": reason}
    status.write_text(json.dumps(document))
    monkeypatch.setattr(api, "train", lambda *args, **kwargs: find("@last", root))
    result = cli("train", "CartPole-v1", "--runs", root)
    assert result.code == code
    assert "dressage train --resume @last" in result.out


def test_new_project_trains_and_passes_its_test(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project"
    assert cli("new", folder).code == 0
    refused = cli("new", folder)
    assert refused.code == 2
    assert "not an empty folder" in refused.err

    monkeypatch.chdir(folder)
    monkeypatch.delenv("DRESSAGE_RUNS", raising=False)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "my_env", raising=False)
    small = ["env_steps=1536", "n_epochs=1", "eval_episodes=1", "final_eval_episodes=1"]
    result = cli("train", "--config", "config.yaml", *small, "--json")
    assert result.code == 0, result.err
    assert result.json["env_steps"] == 1536
    assert "dressage play @last --trust" in result.err
    assert _python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_env.py")
    assert "95 % interval" in _python("train.py", *small)


def _python(*words: str) -> str:
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

"""Commands that read runs: evaluate, report, play, runs, config, presets, explain."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Cli = Callable[..., Any]


def test_version_and_help(cli: Cli) -> None:
    from dressage import __version__

    assert cli("--version").out == f"dressage {__version__}\n"
    assert "train" in cli("--help").out
    assert cli().out == cli("--help").out


def test_evaluate(cli: Cli, trained: Path) -> None:
    result = cli("evaluate", "@last", "-n", 2, "--runs", trained, "--json")
    assert result.code == 0
    assert len(result.json["returns"]) == 2
    assert "95 % interval" in result.err


def test_evaluate_a_group_pools_its_seeds(cli: Cli, group_root: Path) -> None:
    result = cli("evaluate", "-n", 2, "--runs", group_root)
    assert result.code == 0
    lines = [line.split()[0] for line in result.out.splitlines() if line.strip()]
    assert lines[:4] == ["seed", "0", "1", "all"]


def test_report(cli: Cli, root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = cli("report", "@last", "--html", page, "--runs", root, "--json")
    assert result.code == 0
    assert Path(result.json["html"]) == page
    assert Path(result.json["markdown"]).is_file()
    assert cli("report", "--runs", root).out.startswith("CartPole-v1")


def test_report_of_a_group(cli: Cli, group_root: Path) -> None:
    assert cli("report", "--runs", group_root).code == 0


def test_play_films(cli: Cli, root: Path, tmp_path: Path) -> None:
    pytest.importorskip("imageio")
    pytest.importorskip("pygame")
    film = tmp_path / "film.gif"
    result = cli("play", "@last", "--video", film, "--runs", root, "--json")
    assert result.code == 0
    assert result.json["video"] == str(film)
    assert film.stat().st_size > 0


def test_runs_lists_and_filters(cli: Cli, group_root: Path) -> None:
    listed = cli("runs", "--runs", group_root, "--json").json["runs"]
    assert [len(row["seeds"]) for row in listed] in ([1, 2], [2, 1])
    assert {row["env_steps"] for row in listed} == {512, 1024}
    for filters, expected in (
        (["--env", "CartPole-v1"], 2),
        (["--algo", "a2c"], 0),
        (["--status", "finished"], 2),
        (["--status", "failed"], 0),
        (["--limit", 1], 1),
    ):
        result = cli("runs", *filters, "--runs", group_root, "--json")
        assert len(result.json["runs"]) == expected
    assert "finished" in cli("runs", "--runs", group_root).out
    assert cli("runs", "--status", "finnished", "--runs", group_root).code == 2


def test_delete_asks(cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dressage.runs.find import find

    path = find("@last", root).path
    result = cli("runs", "delete", "@last", "--runs", root)
    assert result.code == 2
    assert "--yes" in result.err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", _no)
    assert cli("runs", "delete", "@last", "--runs", root).code == 130
    assert path.is_dir()
    result = cli("runs", "delete", "@last", "--runs", root, "--yes", "--json")
    assert result.json["deleted"] == [path.name]
    assert not path.exists()


def _no(*args: object, **kwargs: object) -> None:
    import typer

    raise typer.Abort


def test_delete_refuses_what_is_running(cli: Cli, root: Path) -> None:
    from dressage.runs.find import find
    from dressage.runs.lock import RunLock

    path = find("@last", root).path
    with RunLock(path):
        result = cli("runs", "delete", "@last", "--runs", root, "--yes")
    assert result.code == 2
    assert "is running" in result.err
    assert path.is_dir()


def test_config_tells_where_values_come_from(cli: Cli, tmp_path: Path, trained: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("gamma: 0.9\n")
    result = cli("config", "CartPole-v1", "lr=1e-3", "--config", file, "--json")
    assert result.json["values"]["learning_rate"] == 1e-3
    sources = result.json["sources"]
    assert (sources["learning_rate"], sources["gamma"]) == ("override", "file")
    assert sources["layer_norm"] == "default"
    sections = [line.split()[0] for line in result.err.splitlines() if " value" in line]
    assert sections[0] == "run"
    assert {"network", "optimizer", "ppo"} <= set(sections)
    stored = cli("config", "@last", "--runs", trained, "--json").json
    assert stored["values"]["env_steps"] == 512


def test_config_without_the_preset(cli: Cli) -> None:
    tuned = cli("config", "CartPole-v1", "lr=1e-3", "--json").json
    plain = cli("config", "CartPole-v1", "lr=1e-3", "--no-preset", "--json").json
    assert set(tuned["sources"].values()) == {"default", "preset", "override"}
    assert set(plain["sources"].values()) == {"default", "override"}
    assert plain["values"]["learning_rate"] == 1e-3


def test_config_as_yaml_is_a_config_file(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(cli("config", "CartPole-v1", "lr=linear(1e-3,0)", "--yaml").out)
    assert yaml.safe_load(file.read_text())["env"] == "CartPole-v1"
    values = cli("config", "--config", file, "--json").json["values"]
    assert values == yaml.safe_load(file.read_text())


def test_presets(cli: Cli) -> None:
    assert cli("presets", "--json").code == 0
    assert cli("presets", "NoSuchEnv-v0").code == 2


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("train/metrics/kl_divergence", ["train/metrics/kl_divergence"]),
        ("train/metrics/grad_norm/policy", ["train/metrics/grad_norm/policy"]),
        ("clip_fraction", ["train/metrics/clip_fraction"]),
        ("lr", ["train/hp/lr", "learning_rate"]),
        ("n_steps", ["n_steps"]),
    ],
)
def test_explain(cli: Cli, word: str, names: list[str]) -> None:
    found = cli("explain", word, "--json").json["entries"]
    assert [entry["name"] for entry in found] == names
    assert all(entry["meaning"] for entry in found)


def test_explain_everything_and_nothing(cli: Cli) -> None:
    assert "train/roll/ep_rew_mean" in cli("explain").out
    result = cli("explain", "kl_divergance")
    assert result.code == 2
    assert "Did you mean 'kl_divergence'" in result.err


@pytest.mark.parametrize(
    ("word", "names", "library"),
    [
        ("train/approx_kl", ["train/metrics/kl_divergence"], "sb3"),
        ("losses/clipfrac", ["train/metrics/clip_fraction"], "cleanrl"),
        ("train/loss", ["train/loss/td", "train/loss/total"], "sb3"),
        ("approx_kl", ["train/metrics/kl_divergence"], "sb3"),
        ("update_epochs", ["n_epochs"], "cleanrl"),
    ],
)
def test_explain_names_of_other_libraries(
    cli: Cli, word: str, names: list[str], library: str
) -> None:
    result = cli("explain", word, "--json")
    assert [entry["name"] for entry in result.json["entries"]] == names
    assert any(library in says for says in result.json["entries"][0]["named_by"])
    assert f"{word} in {library}" in result.err


@pytest.mark.parametrize(
    ("text", "says"), [("a,b\n1,2\n", "Found: 'a', 'b'"), ("", "no whole row")]
)
def test_a_gate_does_not_pass_what_it_cannot_judge(
    cli: Cli, tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "log.csv").write_text(text)
    assert cli("diagnose", str(tmp_path / "log.csv")).code == 0
    result = cli("diagnose", str(tmp_path / "log.csv"), "--fail-on", "low", "--json")
    assert result.code == 2 and says in result.json["error"]


def test_a_gate_takes_a_known_return(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("env_steps,return\n1,2\n")
    assert cli("diagnose", str(tmp_path / "log.csv"), "--fail-on", "low").code == 0


def test_completion_is_cheap(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dressage.ui.cli.options import complete_envs, complete_runs

    monkeypatch.setenv("DRESSAGE_RUNS", str(trained))
    assert complete_runs("@") == ["@last"]
    assert len(complete_runs("cartpole")) == 1
    assert complete_envs("no such") == []


# Typer checks a command's arguments with pydantic; the quick ones do without.
HEAVY = ("torch", "numpy", "gymnasium", "rich", "yaml", "scipy", "pandas")


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        (["--help"], (*HEAVY, "pydantic")),
        (["train", "--help"], HEAVY),
        (["runs"], ("torch", "gymnasium", "scipy", "pandas")),
        (["report"], ("torch", "gymnasium", "scipy.stats", "pandas")),
        (["diagnose"], ("torch", "gymnasium", "scipy.stats", "pandas", "pydantic")),
        (["config", "CartPole-v1"], ("torch", "scipy", "pandas")),
        (["explain", "lr"], ("torch", "scipy", "pandas")),
        (["presets"], ("torch", "gymnasium", "numpy", "scipy", "pandas")),
    ],
)
def test_quick_commands_import_little(root: Path, words: list[str], absent: list[str]) -> None:
    script = (
        "import sys\nfrom dressage.ui.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        f"print('loaded', [name for name in {tuple(absent)!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        text=True,
        env={"DRESSAGE_RUNS": str(root), "PATH": ""},
    )
    assert done.stdout.splitlines()[-1:] == ["loaded []"], done.stdout[-500:] + done.stderr

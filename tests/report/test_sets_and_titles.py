"""Which runs count as seeds of one setting, and what a report calls what it does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

import dressage
from dressage.diagnosis.report import examine
from dressage.runs.readers import read

from .builders import make_run

TABLES = {
    "my.csv": "step,return\n1,2\n2,3\n",
    "again.csv": "step,return\n1,2\n2,4\n",
    "losses.csv": "step,value_loss\n1,2\n2,3\n",
    "score.csv": "step,reward\n1,2\n2,3\n",
    "wandb_export.csv": '"Step","a - return"\n"1","2"\n"2","5"\n',
    "other_export.csv": '"Step","b - approx_kl"\n"1","2"\n"2","5"\n',
    "sb3.csv": "time/total_timesteps,rollout/ep_rew_mean\n1,2\n2,3\n",
}


def sets(folder: Path, *names: str) -> list[list[str]]:
    for name in names:
        (folder / name).write_text(TABLES[name])
    made = dressage.diagnose(folder)
    return sorted(sorted(one.run for one in report.analyses) for report in made)


def test_tables_of_the_same_columns_are_seeds(tmp_path: Path) -> None:
    assert sets(tmp_path, "my.csv", "again.csv") == [["again", "my"]]


@pytest.mark.parametrize("other", ["losses.csv", "score.csv", "wandb_export.csv", "sb3.csv"])
def test_tables_of_other_columns_are_not(other: str, tmp_path: Path) -> None:
    assert len(sets(tmp_path, "my.csv", other)) == 2


def test_exports_of_other_columns_are_not(tmp_path: Path) -> None:
    assert sets(tmp_path, "wandb_export.csv", "other_export.csv") == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("config", "title"),
    [
        ({"env": "CartPole-v1"}, "CartPole-v1, an unknown algorithm"),
        ({"algo": "ppo"}, "An unknown environment, PPO"),
        (None, "An unknown environment and algorithm"),
    ],
)
def test_the_title_says_in_words_what_is_not_known(
    config: dict[str, str] | None, title: str, tmp_path: Path
) -> None:
    for name in ("my.csv", "again.csv"):
        (tmp_path / name).write_text(TABLES[name])
    for files, end in ((["my.csv"], ""), (["my.csv", "again.csv"], ", 2 seeds")):
        (made,) = examine(read([tmp_path / name for name in files], config=config))
        assert made.document.title == title + end
        assert "UNKNOWN" not in made.text


def test_the_title_of_what_is_known(tmp_path: Path) -> None:
    (made,) = dressage.diagnose(make_run(tmp_path / "r", config={"algo": "dqn"}))
    assert made.document.title == "CartPole-v1, DQN, seed 0"

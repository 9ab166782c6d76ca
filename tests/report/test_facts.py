"""The first section: numbers that agree with the log, and no claim about what is not known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dressage.reporting.facts import facts, tiles
from dressage.reporting.group import Gathered, group_document
from dressage.reporting.source import RETURN, RunData, from_view
from dressage.runs.view import NO_EPISODES, Episodes, RunView, Series

STEPS = np.linspace(1000.0, 30_000.0, 30)


def data(
    library: str = "sb3",
    single: int = 0,
    counted: float | None = None,
    env: str | None = "Pendulum-v1",
    name: str = "one",
) -> RunData:
    """A run with so many episodes known singly, and so many by its counter."""
    series = {RETURN: Series(STEPS, STEPS / 100)}
    if counted is not None:
        series["episodes"] = Series(STEPS, np.linspace(0, counted, 30))
    ended = np.linspace(100.0, 30_000.0, single)
    episodes = Episodes(ended, ended / 100, np.full(single, 200.0)) if single else NO_EPISODES
    return from_view(RunView(Path(name), name, library, env=env, series=series, episodes=episodes))


@pytest.mark.parametrize(
    ("run", "count", "mean"),
    [
        (data(single=341), "341", "mean of the last 100 episodes"),
        (data(single=25, counted=24), "25", "mean of 24 episodes"),
        (data(counted=1448), "1,448", "mean of the last 100 episodes"),
        (data(), "–", "mean of up to 100 episodes"),
        (data("table"), "–", "as logged"),
    ],
)
def test_episodes_and_what_the_return_is_a_mean_of(run: RunData, count: str, mean: str) -> None:
    told = dict(facts(run, run.evaluations()))
    assert told["Episodes"] == count
    assert told["Training return"] == f"300, {mean}"
    assert tiles(run, run.evaluations())[0].detail == mean


@pytest.mark.parametrize(
    ("env", "says"),
    [(None, "the environment is not known"), ("X-v0", "the environment names no threshold")],
)
def test_why_nothing_is_said_about_solved(env: str | None, says: str) -> None:
    run = data(env=env)
    assert says in [tile.detail for tile in tiles(run, run.evaluations())]


def test_a_log_without_a_return_has_not_been_without_episodes() -> None:
    empty = from_view(RunView(Path("x"), "x", "table"))
    assert dict(facts(empty, empty.evaluations()))["Training return"] == "the log has none"


def test_many_runs_have_a_short_name_and_few_notes() -> None:
    members = [data(name=f"f{i}") for i in range(200)]
    for member in members:
        member.notes.append(f"{member.id} has no column of env steps.")
    ids = ", ".join(member.id for member in members)
    made = group_document(Gathered(f"200 runs: {ids}", "unknown", members))
    assert made.run_id == "200 runs: f0, f1, f2 and 197 more"
    assert len(made.notes) == 13 and made.notes[-1] == "188 more such notes were left out."
    assert group_document(Gathered("our-group", "finished", members)).run_id == "our-group"

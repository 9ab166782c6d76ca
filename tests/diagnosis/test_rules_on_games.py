"""Games that are won or lost, and tasks that pay the same for each step: equal by chance, not by
fault."""

from __future__ import annotations

from pathlib import Path

import pytest

import dressage
from dressage.diagnosis.registry import all_rules
from dressage.runs.readers import read

GAMES = {
    "benchmarks.faults.training_tasks:Catch": ("DAT001", "ENV034", "ENV005"),
    "benchmarks.faults.training_tasks:Swing": ("ENV009",),
}


@pytest.mark.parametrize("env", GAMES)
def test_rules_stay_quiet(env: str, tmp_path: Path) -> None:
    run = dressage.train(
        env,
        algo="ppo",
        env_steps=20_480,
        n_envs=8,
        n_steps=80,
        batch_size=160,
        runs=tmp_path,
        trust=True,
    )
    [view] = read(run.path)
    for id in GAMES[env]:
        rule = all_rules()[id]
        assert rule.can_see(view) and rule.check(view) is None, id

"""Regression tests of convergence: what fails, and how rarely without need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dressage.errors import ConfigError, RunError
from dressage.prove.regress import ALPHA, Measured, load, regress, write
from dressage.ui.cli.app import app


def setting(name: str, mean: float, seeds: int, generator: np.random.Generator) -> Measured:
    final = generator.normal(mean, 10.0, seeds)
    return Measured(name, "CartPole-v1", "ppo", {}, final.tolist(), (final / 2).tolist())


def test_a_clear_loss_fails_and_says_where() -> None:
    generator = np.random.default_rng(0)
    before = [setting("a", 100, 8, generator), setting("b", 100, 8, generator)]
    now = [setting("a", 100, 8, generator), setting("b", 50, 8, generator)]
    found = regress(before, now)
    assert found.failed and "b (final return" in found.says and "a (" not in found.says


def test_a_gain_is_no_failure() -> None:
    generator = np.random.default_rng(1)
    found = regress([setting("a", 50, 8, generator)], [setting("a", 100, 8, generator)])
    assert not found.failed and "No setting of 1" in found.says


def test_false_alarms_are_as_rare_as_stated() -> None:
    generator = np.random.default_rng(2)
    alarms = 0
    for _ in range(150):
        sides = [[setting(name, 100, 8, generator) for name in "abc"] for _ in range(2)]
        alarms += regress(sides[0], sides[1]).failed
    assert alarms / 150 <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / 150)


def test_too_few_seeds_are_refused() -> None:
    generator = np.random.default_rng(3)
    with pytest.raises(ConfigError, match="at least 5"):
        regress([setting("a", 1, 3, generator)], [setting("a", 1, 8, generator)])


def test_a_baseline_comes_back_and_a_damaged_one_gets_a_sentence(tmp_path: Path) -> None:
    before = [setting("a", 1, 5, np.random.default_rng(4))]
    write(tmp_path / "baseline.json", before)
    assert load(tmp_path) == before == load(tmp_path / "baseline.json")
    (tmp_path / "odd.json").write_text('{"settings": [{"name": "a"}]}')
    with pytest.raises(RunError, match="no baseline"):
        load(tmp_path / "odd.json")


def test_the_command_passes_on_itself_and_fails_on_worse_settings(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("cartpole: {env: CartPole-v1, algo: ppo, env_steps: 4096, eval_every: 0}\n")
    baseline = tmp_path / "baseline.json"
    runs = tmp_path / "runs"  # kept: each call has to train anew all the same
    words = ["regress", "--baseline", str(baseline), "--seeds", "5", "--runs", str(runs)]
    made = CliRunner().invoke(app, [*words, "--write", str(settings)])
    assert made.exit_code == 0, made.output
    worse = baseline.read_text().replace(
        '"eval_every": 0', '"eval_every": 0, "learning_rate": 1e-7'
    )
    baseline.write_text(worse)  # a code change that freezes learning, in effect
    failed = CliRunner().invoke(app, words)
    assert failed.exit_code == 1 and "Worse than the baseline: cartpole" in failed.output

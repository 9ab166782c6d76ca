"""Presets say which runs earned them, and the runs are those of the preset as it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dressage.presets import presets
from dressage.presets.resolve import resolve

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "returns"
ALL = sorted(presets())


def results_of(env: str, algo: str) -> list[dict[str, Any]]:
    paths = RESULTS.glob(f"{env.replace('/', '-')}-{algo}-*.json")
    return sorted((json.loads(p.read_text()) for p in paths), key=lambda r: int(r["seed"]))


@pytest.mark.parametrize(("env", "algo"), ALL)
def test_a_preset_is_whole(env: str, algo: str) -> None:
    """It resolves, it names its budget, and typing its environment's id finds it."""
    resolved = resolve(env, algo)
    preset = presets()[env, algo]
    assert resolved.sources["env_steps"] == "preset"
    assert {k for k, v in resolved.sources.items() if v == "preset"} == set(preset.settings)
    assert preset.source


@pytest.mark.parametrize(("env", "algo"), [key for key in ALL if presets()[key].earned])
def test_what_earned_a_preset_is_stored(env: str, algo: str) -> None:
    earned = presets()[env, algo].earned
    stored = {r["seed"]: r["best"] for r in results_of(env, algo)}
    for seed, stated in zip(earned["seeds"], earned["returns"], strict=True):
        assert stated == pytest.approx(stored[seed], abs=0.05)
    assert f"run {env} --algo {algo} " in earned["command"]


@pytest.mark.parametrize(("env", "algo"), ALL)
def test_stored_runs_are_of_the_preset_as_it_stands(env: str, algo: str) -> None:
    resolved = resolve(env, algo)
    now = {k: v for k, v in resolved.values().items() if resolved.sources[k] == "preset"}
    for result in results_of(env, algo):
        assert result["settings"] == json.loads(json.dumps(now)), f"seed {result['seed']}"

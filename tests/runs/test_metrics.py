from __future__ import annotations

import pytest

from dressage.errors import RunError
from dressage.runs.metrics import LEAD_COLUMNS, METRICS, describe, is_exact
from dressage.runs.system import describe_system, git_commit


def test_the_dictionary_is_whole() -> None:
    assert tuple(METRICS)[:4] == LEAD_COLUMNS
    for metric in METRICS.values():
        assert metric.aggregate in ("mean", "last", "max", "min", "sum")
        assert metric.unit
        assert metric.healthy
        assert metric.meaning.endswith(".")
        assert metric.name.count("*") == metric.meaning.count("*")
    heads = {name.partition("/")[0] for name in METRICS if "/" in name}
    assert heads == {"train", "val", "sys"}


def test_describe_knows_families() -> None:
    metric = describe("train/metrics/grad_norm/policy")
    assert metric.name == "train/metrics/grad_norm/policy"
    assert "network policy" in metric.meaning
    assert describe("train/hp/lr").meaning.startswith("Learning rate")
    assert describe("train/hp/gae_lambda").unit == "as configured"
    assert describe("train/metrics/grad_norm/*").name == "train/metrics/grad_norm/*"


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(RunError, match="Did you mean 'train/metrics/kl_divergence'"):
        describe("train/metrics/kl_divergance")
    with pytest.raises(RunError, match="Did you mean 'train/metrics/explained_variance'"):
        describe("explained_variance")
    with pytest.raises(RunError, match=r"no metric named 'zzz'\.$"):
        describe("zzz")


def test_exact_columns() -> None:
    assert is_exact("train/loss/policy")
    assert is_exact("env_steps")
    assert not is_exact("wall_seconds")
    assert not is_exact("sys/time/update")


def test_system_description_is_json_and_never_fails(tmp_path, monkeypatch) -> None:
    from dressage.runs.files import json_text

    monkeypatch.setenv("PATH", "")
    system = describe_system()
    assert system["packages"]["numpy"]
    assert system["git"] is None  # git is not to be found
    assert json_text(system)
    monkeypatch.undo()
    assert git_commit(tmp_path) is None or len(git_commit(tmp_path) or "") >= 40
    assert git_commit(tmp_path / "none") is None

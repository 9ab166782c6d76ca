"""Probes of the algorithm: faulty ones are found out, and the causes are ranked anew."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dressage
from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.diagnose import diagnose, reweighted
from dressage.diagnosis.probes.about import ALL, separating_probes
from dressage.diagnosis.probes.gradient_noise import gradient_noise, measure_noise, suggested_batch
from dressage.diagnosis.probes.overfit import overfit, targets
from dressage.diagnosis.probes.probe_environments import probe_environments
from dressage.diagnosis.probes.result import ProbeResult
from dressage.diagnosis.probes.same_seed import same_seed
from dressage.diagnosis.probes.subject import Deadline, Subject
from dressage.math.noise_scale import NoiseScale
from dressage.probing import subject_of
from dressage.runs.readers import read
from dressage.runs.view import RunView, Series

environments_module = importlib.import_module("dressage.diagnosis.probes.probe_environments")
overfit_module = importlib.import_module("dressage.diagnosis.probes.overfit")
TINY: dict[str, Any] = {
    "env_steps": 512, "n_envs": 4, "n_steps": 64, "batch_size": 64, "n_epochs": 4,
    "net_arch": [16], "learning_rate": 3e-3, "final_eval_episodes": 0, "eval_every": 0,
}  # fmt: skip
LONG = 120.0  # seconds: these tests count updates, not time


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine may be busy: parts are tried until they have had their updates."""
    for name in ("FIRST_SECONDS", "AGAIN_SECONDS"):
        monkeypatch.setattr(environments_module, name, LONG)
        monkeypatch.setattr(overfit_module, name, LONG)
    monkeypatch.setattr(environments_module, "MOST_UPDATES", 320)
    monkeypatch.setattr(environments_module, "SLOW", 1.5)
    monkeypatch.setattr(overfit_module, "SLOW", 1.5)
    monkeypatch.setattr(overfit_module, "MOST_UPDATES", 400)
    monkeypatch.setattr(overfit_module, "ENOUGH_UPDATES", 300)


def trained(folder: Path, env: str = "probe_cases:Walk", **settings: Any) -> Subject:
    run = dressage.train(env, runs=folder, **(TINY | settings))
    (view,) = read(run.path)
    return subject_of(view, trust=True)


def parts(found: ProbeResult) -> dict[str, Any]:
    names = ("ConstantReward", "SeenReward", "LaterReward", "BetterAction", "BetterActionSeen")
    return {name: found.numbers.get(name) for name in names}


WORKS = dict.fromkeys(
    ("ConstantReward", "SeenReward", "LaterReward", "BetterAction", "BetterActionSeen"), "works"
)


def test_ppo_works(tmp_path: Path) -> None:
    one = trained(tmp_path, algo="ppo")
    found = probe_environments(one, Deadline.within(LONG))
    assert parts(found) == WORKS, found
    assert all(factor < 1.0 for factor in found.factors.values())
    assert overfit(one, Deadline.within(LONG)).factors["critic-too-weak"] < 1.0
    again = same_seed(one, Deadline.within(LONG))
    assert "bit for bit the same" in again.says and again.numbers["iterations"] == 4


@pytest.mark.parametrize(
    ("env", "algo"),
    [
        ("CartPole-v1", "dqn"),
        ("Pendulum-v1", "sac"),
        ("Pendulum-v1", "ppo"),
        ("FrozenLake-v1", "q_learning"),
    ],
)
def test_other_families_work(tmp_path: Path, env: str, algo: str) -> None:
    settings = {"learning_rate": 3e-3, "net_arch": [32], "batch_size": 32, "env_steps": 256}
    if algo == "q_learning":
        settings = {"env_steps": 256}
    run = dressage.train(env, algo=algo, runs=tmp_path, final_eval_episodes=0, **settings)
    (view,) = read(run.path)
    one = subject_of(view)
    found = probe_environments(one, Deadline.within(LONG))
    assert parts(found) == WORKS, found
    assert float(overfit(one, Deadline.within(LONG)).numbers["fall"]) >= 10.0


def test_a_flipped_sign_of_the_policy_is_found(tmp_path: Path) -> None:
    one = trained(tmp_path, algo="probe_faulty_sign")
    found = probe_environments(one, Deadline.within(LONG))
    assert parts(found) == WORKS | {"BetterAction": "fails", "BetterActionSeen": None}, found
    assert max(found.factors, key=lambda id: found.factors[id]) == "policy-loss-sign"
    assert found.numbers["policy_goes"] == "the wrong way"
    assert overfit(one, Deadline.within(LONG)).factors["critic-too-weak"] < 1.0


def test_a_frozen_value_network_is_found(tmp_path: Path) -> None:
    one = trained(tmp_path, algo="probe_faulty_value")
    found = probe_environments(one, Deadline.within(LONG))
    assert parts(found) == {
        "ConstantReward": "fails", "SeenReward": None, "LaterReward": None,
        "BetterAction": "works", "BetterActionSeen": "works",
    }  # fmt: skip
    assert found.factors["critic-too-weak"] > 3.0 > found.factors["policy-loss-sign"]
    fitted = overfit(one, Deadline.within(LONG))
    assert fitted.factors["critic-too-weak"] > 3.0 and float(fitted.numbers["fall"]) < 2.0


def test_a_rate_that_is_too_low_is_not_taken_for_a_fault_of_code(tmp_path: Path) -> None:
    one = trained(tmp_path, algo="ppo", learning_rate=1e-7)
    found = probe_environments(one, Deadline.within(LONG))
    assert found.numbers["ConstantReward"] == "slow" and found.factors["lr-too-low"] > 1.0
    assert found.factors["shape-broadcast"] < 1.0
    fitted = overfit(one, Deadline.within(LONG))
    assert fitted.factors["lr-too-low"] >= 3.0 and "size of the steps" in fitted.says


def test_own_algorithms_need_trust(tmp_path: Path) -> None:
    run = dressage.train("CartPole-v1", algo="probe_faulty_sign", runs=tmp_path, **TINY)
    (view,) = read(run.path)
    one = subject_of(view, trust=False)
    assert one.practise is None and "--trust" in one.why_not


def test_another_librarys_environment_must_be_named() -> None:
    view = RunView(Path("x"), "x", "sb3", "ppo", "CartPole-v1")
    with pytest.raises(dressage.DressageError, match="--env CartPole-v1"):
        subject_of(view)
    assert subject_of(view, "CartPole-v1").practise is None
    with pytest.raises(dressage.DressageError, match="is of CartPole-v1, and --env says Pendulum"):
        subject_of(view, "Pendulum-v1")
    with pytest.raises(dressage.DressageError, match="CartPole-v99"):
        subject_of(view, "CartPole-v99")


def test_the_noise_scale_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is learned meanwhile, and a batch has its noise: against gradients taken apart."""
    one = trained(tmp_path, "CartPole-v1", algo="ppo")
    found = measure_noise(one, LONG)
    assert set(found) == {"policy", "value"}
    assert found["policy"].rows == 64 and found["policy"].batches >= 48
    assert 1.0 < found["policy"].value < 1e5 and found["value"].value < found["policy"].value
    again = measure_noise(one, LONG)
    assert again["policy"] == found["policy"], "the same checkpoint and seed, the same gradients"
    module = importlib.import_module("dressage.diagnosis.probes.gradient_noise")
    monkeypatch.setattr(module, "measure_noise", lambda subject: found)
    said = gradient_noise(one, Deadline.within(LONG))
    assert said.numbers["noise_scale_policy"] == found["policy"].value


@pytest.mark.parametrize(("scale", "batch"), [(5.0, 16), (100.0, 128), (70.0, 64), (1e9, 4096)])
def test_the_batch_that_is_suggested(scale: float, batch: int) -> None:
    assert suggested_batch(NoiseScale(scale, 0.0, 0.0, 1.0, 1.0, 10, 64)) == batch


def test_a_batch_far_above_the_noise_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("dressage.diagnosis.probes.gradient_noise")
    subject: Any = Subject(RunView(Path("x"), "x", "dressage"), recipe=None)  # type: ignore[arg-type]

    def judged(value: float, rows: int) -> ProbeResult:
        scale = NoiseScale(value, value / 1.5, value * 1.5, 1.0, value, 40, rows)
        monkeypatch.setattr(module, "measure_noise", lambda subject: {"policy": scale})
        return gradient_noise(subject, Deadline.within(1.0))

    assert judged(100.0, 4096).factors["batch-too-large"] > 3.0
    assert judged(100.0, 256).factors["batch-too-large"] < 1.0
    assert judged(50_000.0, 4).factors["batch-too-small"] > 1.0


def test_targets_to_fit_depend_on_what_is_seen() -> None:
    obs = np.random.default_rng(0).normal(size=(20, 1, 3)).astype(np.float32)
    made = targets(obs)
    assert made.shape == (20, 1) and made.min() >= 0.0 and made.max() <= 2.0 and made.std() > 0.3
    np.testing.assert_allclose(targets(1000.0 * obs + 7.0), made, atol=1e-3)
    assert targets(np.ones((5, 1, 2), np.float32)).tolist() == [[1.0]] * 5


def test_every_probe_speaks_of_known_causes() -> None:
    for probe in ALL:
        assert probe.causes <= set(CAUSES), probe.causes - set(CAUSES)
    assert sum(probe.seconds for probe in ALL) <= 30.0
    names = [probe.name for probe in separating_probes(("action-ignored", "lr-too-high"))]
    assert "effect of actions" in names and "observations and rewards" not in names


def flat_run() -> RunView:
    steps = np.linspace(1000, 50_000, 50)
    series = {"train/roll/ep_rew_mean": Series(steps, 20 + np.sin(steps))}
    return RunView(
        Path("x"), "x", "sb3", "ppo", "CartPole-v1", series=series, env_steps=50_000, budget=50_000
    )


def test_probes_rank_causes_anew() -> None:
    before = diagnose(flat_run())
    probe = ProbeResult(
        "effect of actions", "No action changes anything.", {}, {"action-ignored": 50.0}
    )
    after = diagnose(flat_run(), probes=[probe])
    assert after.causes[0].id == "action-ignored" != before.causes[0].id
    assert probe.says in after.causes[0].evidence
    assert after.to_json()["probes"][0]["factors"] == {"action-ignored": 50.0}
    assert not before.probes


def test_factors_by_hand() -> None:
    found = reweighted({"healthy": 0.5, "a": 0.3, "b": 0.2}, {"b": 4.0, "healthy": 0.5})
    assert list(found) == ["b", "a", "healthy"]
    assert found == pytest.approx({"b": 0.8 / 1.35, "a": 0.3 / 1.35, "healthy": 0.25 / 1.35})


def test_a_probe_that_would_tell_the_leaders_apart_is_named() -> None:
    named = [text for cause in diagnose(flat_run()).causes for text in cause.separates]
    assert any("--probe --env CartPole-v1" in text for text in named)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dressage.diagnosis.probes import run as runner
    from dressage.ui.cli.app import app

    run = dressage.train("probe_cases:ActionIgnored", runs=tmp_path, algo="ppo", **TINY)
    kept = {"probe_environments", "overfit", "gradient_noise"}  # tested above, and slow
    for name in kept:
        monkeypatch.setattr(runner, name, lambda *_: ProbeResult("quick", "Skipped."))
    page = tmp_path / "page.html"
    words = ["diagnose", str(run.path), "--probe", "--trust", "--json", "--html", str(page)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["probes"]) == 7
    assert found["causes"][0]["id"] == "action-ignored"
    assert "probe 2 of 7: effect of actions" in done.stderr
    assert "No action changes anything" in page.read_text()
    assert "No action changes anything" in (run.path / "report.md").read_text()
    refused = CliRunner().invoke(app, ["diagnose", str(run.path), "--env", "CartPole-v1"])
    assert refused.exit_code != 0

"""Labelled runs: the store gives back what it got, injections do what they say, a shard is made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from benchmarks.faults import accepted, admit, generate, plan, store
from benchmarks.faults.benign import VARIATIONS
from benchmarks.faults.faults import FAULTS
from benchmarks.faults.injection import Injection, levels, times
from benchmarks.faults.injections import actions, episodes, observations, recording, rewards
from benchmarks.faults.injections.code import CODE
from benchmarks.faults.settings import SETTINGS
from benchmarks.faults.tasks import PointMass
from benchmarks.faults.train import Job, make

from dressage.api import resolve_config
from dressage.diagnosis.causes import CAUSES
from dressage.runs.view import Episodes, RunView, Series


class Counting(gym.Env):  # type: ignore[misc]
    """Observes the step's number and its tens; pays 1 a step; ends after twenty."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.taken = 0, []
        return np.array([0, 0], np.float32), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        self.taken.append(action)
        return np.array([self.t, 10 * self.t], np.float32), 1.0, False, self.t >= 20, {}


def played(env: Any, steps: int, action: Any = 1) -> list[Any]:
    env.reset(seed=0)
    return [env.step(action) for _ in range(steps)]


# -- the plan ------------------------------------------------------------------------------------


def test_every_cause_is_in_the_vocabulary() -> None:
    named = {fault.cause for fault in FAULTS.values()}
    named |= {cause for causes, _ in accepted.EQUIVALENT for cause in causes}
    assert named <= CAUSES.keys()


def test_seventy_causes_on_both_sides() -> None:
    sides = {split: set() for split in ("train", "test")}
    for fault in FAULTS.values():
        for name in fault.settings:
            sides[SETTINGS[name].split].add(fault.cause)
    assert sides["train"] == sides["test"]
    assert len(sides["train"]) >= 70


def test_no_environment_and_algorithm_is_on_both_sides() -> None:
    sides = [
        {(s.env, s.algo) for s in SETTINGS.values() if s.split == split}
        for split in ("train", "test")
    ]
    assert not sides[0] & sides[1]
    assert len(SETTINGS) >= 20


def test_keys_are_unique_and_healthy_runs_are_many() -> None:
    jobs = list(plan.jobs())
    assert len({job.key for job in jobs}) == len(jobs)
    clean = [job for job in jobs if job.kind == "clean"]
    assert len(clean) >= 300
    assert sum(SETTINGS[job.setting].split == "test" for job in clean) >= 150


def test_every_injection_has_valid_settings_and_known_parts() -> None:
    cases = [
        (name, injection)
        for fault in FAULTS.values()
        for name in fault.settings
        for injection in fault.levels
    ]
    cases += [(name, one.injection) for one in VARIATIONS.values() for name in one.settings]
    for name, injection in cases:
        setting = SETTINGS[name]
        config = {**setting.config, **injection.changes(setting)}
        resolve_config(setting.env, algo=setting.algo, preset=False, **config)
        for wrapper, _ in injection.wrappers:
            module, _, kind = wrapper.partition(":")
            assert hasattr(sys.modules[f"benchmarks.faults.injections.{module}"], kind)
        for code, _ in injection.code:
            assert code in CODE


def test_severities() -> None:
    one, two, three = levels({"a": (1, 2, 3), "b": 5}, wrap={"m:W": {"x": (7, 8, 9)}})
    assert [level.config for level in (one, two, three)] == [
        {"a": 1, "b": 5},
        {"a": 2, "b": 5},
        {"a": 3, "b": 5},
    ]
    assert three.wrappers == (("m:W", {"x": 9}),)


def test_a_schedule_is_multiplied_at_its_ends() -> None:
    setting = SETTINGS["cartpole-dqn"]
    (twice,) = times("learning_rate", 2.0)
    assert twice(setting) == pytest.approx(2 * setting.config["learning_rate"])
    (tenth,) = times("epsilon", 0.1)
    assert tenth(setting) == "linear(0.1, 0.005, until=0.2)"


def test_accepted_goes_both_ways_and_has_the_cause_itself() -> None:
    assert accepted.accepted("single-seed-claim") == {"single-seed-claim"}
    for cause in CAUSES:
        assert all(cause in accepted.accepted(other) for other in accepted.accepted(cause))


# -- the store -----------------------------------------------------------------------------------


def test_numbers_keep_three_digits_and_what_is_no_number() -> None:
    values = np.array([0.0, 1.0, -2.5, 1e-9, -3.21e7, np.nan, np.inf, -np.inf])
    again = store.decoded(store.encoded(values))
    np.testing.assert_allclose(again, values, rtol=4e-3)
    assert again[1] == pytest.approx(1.0, abs=1e-12)  # shares of one stay so


def example(rows: int = 300) -> RunView:
    steps = 10.0 * np.arange(1, rows + 1)
    rng = np.random.default_rng(0)
    evaluated = steps[29::30]
    return RunView(
        Path("run"),
        "run",
        "dressage",
        algo="ppo",
        env="CartPole-v1",
        config={"learning_rate": 1e-3, "net_arch": [64, 64]},
        series={
            "train/roll/ep_rew_mean": Series(steps, rng.normal(size=rows)),
            "val/roll/ep_rew_mean": Series(evaluated, np.arange(len(evaluated), dtype=float)),
            "train/loss/value": Series(steps[5:], np.where(steps[5:] > 2900, np.nan, 1.0)),
        },
        budget=3000.0,
        env_steps=steps[-1],
        episodes=Episodes(
            steps, rng.normal(size=rows), np.full(rows, 7.0), np.array(["truncated"] * rows)
        ),
        state="finished",
        threshold=475.0,
    )


def test_a_run_comes_back_thinned_with_real_rows(tmp_path: Path) -> None:
    view = example()
    label = {"key": "a/b/1/0", "fingerprint": "x"}
    store.write(tmp_path / "0001.zip", [store.Stored(label, {"final": 1.0}, view)] * 2)
    (again,) = store.load(tmp_path)
    assert again.label == label
    assert again.view.config == view.config
    assert (again.view.budget, again.view.threshold, again.view.state) == (
        3000.0,
        475.0,
        "finished",
    )
    for name, before in view.series.items():
        after = again.view[name]
        places = np.searchsorted(before.env_steps, after.env_steps)
        np.testing.assert_array_equal(before.env_steps[places], after.env_steps)
        np.testing.assert_allclose(after.values, before.values[places], rtol=4e-3)
        assert after.env_steps[0] <= before.env_steps[0] + 60
        assert after.env_steps[-1] == before.env_steps[-1]
    assert len(again.view["val/roll/ep_rew_mean"].values) == 10
    assert len(again.view["train/roll/ep_rew_mean"].values) <= store.ROWS + 12
    assert np.isnan(again.view["train/loss/value"].values[-1])
    assert set(again.view.episodes.ended) == {"truncated"}
    neighbours = np.diff(again.view.episodes.env_steps) == 10.0
    assert neighbours.mean() > 0.8


# -- wrappers ------------------------------------------------------------------------------------


def test_rewards() -> None:
    assert [r for _, r, *_ in played(rewards.Scaled(Counting(), 5.0), 3)] == [5.0] * 3
    assert [r for _, r, *_ in played(rewards.FlippedAtTimes(Counting(), 1.0), 3)] == [-1.0] * 3
    assert [r for _, r, *_ in played(rewards.Late(Counting(), 2), 4)] == [0.0, 0.0, 1.0, 1.0]
    sparse = [r for _, r, *_ in played(rewards.Sparse(Counting(), 19.5), 20)]
    assert sparse == [0.0] * 19 + [1.0]
    told = [r for _, r, *_ in played(rewards.NotANumber(Counting(), 1.0, after=2), 3)]
    assert np.isnan(told).tolist() == [False, False, True]
    paid = [r for _, r, *_ in played(rewards.PaidForSpeed(Counting(), 2.0, 0.5), 2)]
    assert paid == [20.5, 40.5]
    noise = [r for _, r, *_ in played(rewards.Uninformative(Counting()), 20)]
    assert np.std(noise) > 0.3


def test_observations() -> None:
    stale = [obs[0] for obs, *_ in played(observations.Stale(Counting(), 2), 4)]
    assert stale == [0, 0, 1, 2]
    assert played(observations.Constant(Counting(), kept=1), 3)[-1][0].tolist() == [3, 0]
    assert played(observations.Without(Counting(), [1, 9]), 3)[-1][0].tolist() == [3, 0]
    assert played(observations.Rescaled(Counting(), 100.0), 2)[-1][0] == pytest.approx([200, 0.2])
    assert played(observations.Enlarged(Counting(), 2.0, 1.0), 2)[-1][0].tolist() == [5, 41]
    assert np.isinf(played(observations.NotANumber(Counting(), 1.0, after=1), 2)[-1][0][0])


def test_actions() -> None:
    env = Counting()
    played(actions.Delayed(env, 2), 4)
    assert env.taken == [0, 0, 1, 1]
    played(actions.Ignored(env, 1.0), 20)
    assert set(env.taken) == {0, 1, 2}
    box = PointMass()
    ranged = actions.Ranged(box, 50.0)
    assert ranged.action_space.high.tolist() == [50.0, 50.0]
    assert played(ranged, 1, np.array([50.0, 0.0]))[0][1] == pytest.approx(
        played(box, 1, np.array([1.0, 0.0]))[0][1]
    )
    narrow = actions.Narrow(box, 0.1).action_space
    assert (narrow.high - narrow.low) == pytest.approx([0.2, 0.2])


def test_episodes() -> None:
    ended = played(episodes.ClockAsEnd(Counting(), 5), 5)[-1]
    assert ended[2:4] == (True, False)
    stuck = episodes.NeverReset(Counting(), 3, left=1)
    played(stuck, 4)
    assert played(stuck, 1)[0][2]
    assert played(episodes.Short(Counting(), 0.1), 10)[-1][3]


def test_the_own_return_is_known_whatever_is_made_of_the_reward() -> None:
    recording.MADE.clear()
    env = rewards.Scaled(recording.TrueReturn(Counting()), -7.0)
    for _ in range(3):
        played(env, 20)
    env.reset()
    assert recording.late_return(1, share=0.5) == 20.0


# -- a shard -------------------------------------------------------------------------------------


def test_two_jobs_become_a_shard_once(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(generate, "PENDING", tmp_path / "pending")
    monkeypatch.setattr(generate, "make", lambda job: make(job, env_steps=1024))
    fault = FAULTS["reward-sign-flipped"]
    broken = Injection(config={"learning_rate": "quick"})
    jobs = [
        plan.clean("cartpole-ppo", 0),
        plan.faulty(fault, "cartpole-ppo", 3, 0),
        Job("cartpole-ppo", "broken", "fault", "lr-too-high", 1, 0, broken),
    ]
    folder = tmp_path / "runs"
    assert generate.generate(jobs, minutes=5, folder=folder) == 3
    assert generate.generate(jobs, minutes=5, folder=folder) == 0
    clean, faulty, failed = _by_variant(folder)
    assert clean.view["train/metrics/kl_divergence"]
    assert faulty.view.config == clean.view.config
    assert faulty.view.spec == clean.view.spec
    assert faulty.outcome["logged"] < 0 < faulty.outcome["final"]
    assert failed.outcome["failed"]
    assert "learning_rate" in failed.outcome["error"]


def test_parts_that_gather_at_the_same_time_take_a_number_each(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """Between looking for a free number and taking it, another part may have taken it."""
    folder, pending = tmp_path / "runs", tmp_path / "pending"
    for key, path in (("a", folder / "0001.zip"), ("b", pending / "b.zip")):
        store.write(path, [store.Stored({"key": key}, {}, RunView(Path(key), key, "dressage"))])
    glob = Path.glob
    monkeypatch.setattr(
        Path, "glob", lambda self, names: () if self == folder else glob(self, names)
    )
    generate.gather(folder, pending)
    monkeypatch.undo()
    assert sorted(run.label["key"] for run in store.load(folder)) == ["a", "b"]
    assert not list(pending.iterdir())


def _by_variant(folder: Path) -> list[store.Stored]:
    found = {run.label["variant"]: run for run in store.load(folder)}
    return [found[name] for name in ("clean", "reward-sign-flipped", "broken")]


def outcome_of(variant: str, seed: int, final: float) -> store.Stored:
    kind = "clean" if variant == "clean" else "fault"
    cause = None if kind == "clean" else FAULTS[variant].cause
    label = {
        "key": f"{variant}/{seed}",
        "variant": variant,
        "setting": "cartpole-ppo",
        "severity": 0 if kind == "clean" else 2,
        "kind": kind,
        "cause": cause,
        "library": "dressage",
        "fingerprint": "f",
    }
    return store.Stored(label, {"final": final, "state": "finished"}, example(10))


def healthy_harmful_and_harmless() -> list[store.Stored]:
    clean = [outcome_of("clean", seed, 400.0 + 20 * seed) for seed in range(3)]
    bad = [outcome_of("lr-too-low", seed, 20.0) for seed in range(3)]
    mild = [outcome_of("gamma-too-low", seed, 390.0) for seed in range(3)]
    return [*clean, *bad, *mild]


def test_a_fault_enters_only_if_it_hurts() -> None:
    runs = healthy_harmful_and_harmless()
    names = {one.label["variant"] for one in admit.admitted(runs)}
    assert names == {"clean", "lr-too-low"}

    stuck = outcome_of("clean", 3, 20.0)  # a failure by itself: no twin to measure by, not healthy
    entered = {one.label["key"] for one in admit.admitted([*runs[:6], stuck])}
    assert entered == {f"clean/{n}" for n in range(3)} | {f"lr-too-low/{n}" for n in range(3)}


def test_compacting_keeps_what_enters_and_of_the_others_their_outcome(tmp_path: Path) -> None:
    runs = healthy_harmful_and_harmless()
    store.write(tmp_path / "0001.zip", runs)
    before = admit.verdicts(runs)
    wanted = {run.label["key"]: "f" for run in runs} | {"clean/2": "another"}
    generate.compact(tmp_path, wanted)
    kept = store.load(tmp_path)
    rows = {run.label["key"]: len(run.view.series) for run in kept}
    assert set(rows) == {run.label["key"] for run in runs} - {"clean/2"}
    assert all(bool(n) == ("gamma" not in key) for key, n in rows.items())
    assert {key: v.faulty for key, v in admit.verdicts(kept).items()} == {
        key: v.faulty for key, v in before.items()
    }
    assert generate.fingerprints(tmp_path, "a/metric")["gamma-too-low/0"] == "f"  # not made anew


# -- runs of SB3 with the Recorder ---------------------------------------------------------------


def test_the_recorder_is_hidden_from_a_run_as_its_users_log_it() -> None:
    from benchmarks.faults.symptoms import recorded, without_recorder

    every, few = np.arange(1.0, 1001.0), np.arange(10.0, 1001.0, 10.0)
    view = RunView(Path("run"), "run", "sb3", algo="sac", env="Pendulum-v1")
    view.series = {
        "train/roll/ep_rew_mean": Series(every, every),
        "train/metrics/entropy": Series(few, few),
        "sys/time/record": Series(few, few),
    }
    view.own_names = {
        "train/roll/ep_rew_mean": "rollout/ep_rew_mean",
        "train/metrics/entropy": "dressage/train/metrics/entropy",
        "sys/time/record": "dressage/sys/time/record",
    }
    view.own_config = {"gamma": 0.9, "train_freq": 4}
    plain = {"own_config": {"gamma": 0.9}, "spec": {}}
    label = {"key": "a/b/2/0", "fingerprint": "1"}
    back = store.unpacked(*store.packed(store.Stored(label, {"plain": plain}, view)))
    assert len(back.view["train/metrics/entropy"].values) == store.ROWS  # not one row in ten
    hidden = without_recorder(back).view
    assert list(hidden.series) == ["train/roll/ep_rew_mean"] and hidden.env == "Pendulum-v1"
    assert back.view.config["train_freq"] == 4 and "train_freq" not in hidden.config
    assert recorded([back]) == [back] and without_recorder(without_recorder(back)).view.series
    other = store.Stored(label, {}, view)
    assert recorded([other]) == [] and without_recorder(other) is other


def test_recorded_runs_of_sb3_are_jobs_of_their_own() -> None:
    from benchmarks.faults import sb3_runs

    prints = [
        {job["label"]["key"]: job["label"]["fingerprint"] for job in sb3_runs.jobs(recorded)}
        for recorded in (False, True)
    ]
    assert prints[0].keys() == prints[1].keys()
    assert not set(prints[0].values()) & set(prints[1].values())


def test_the_jobs_of_stored_runs_of_sb3_stay_as_they_were() -> None:
    from benchmarks.faults import sb3_runs

    prints = {job["label"]["key"]: job["label"]["fingerprint"] for job in sb3_runs.jobs()}
    stored = {
        "sb3-cartpole-ppo/optimizer-state-corrupted.ppo/2/0": "4ded5584b5ac",
        "sb3-pendulum-sac/truncation-as-termination.sac/2/1": "ab2550f999ba",
        "sb3-pointmass-ppo/normaliser-mismatch.ppo/2/0": "13f7f0a73412",
    }
    assert stored.items() <= prints.items()


def test_a_fault_of_sb3_has_numbers_that_fit_the_environment() -> None:
    from benchmarks.faults.sb3_faults import FAULTS as OF_SB3
    from benchmarks.faults.sb3_settings import SETTINGS as SB3_SETTINGS

    for one in OF_SB3.values():
        assert one.cause in CAUSES
        words = {SB3_SETTINGS[name].environment for name in one.settings}
        assert "pointmass" in words and len(words) > 1
    assert "sb3-swing-ppo" not in OF_SB3["env-not-reset.ppo"].settings
    stale = OF_SB3["obs-stale.ppo"]
    assert stale.on(SB3_SETTINGS["sb3-swing-ppo"]).wrappers[0][1] == {"steps": 40}
    assert stale.on(SB3_SETTINGS["sb3-grid-ppo"]).wrappers[0][1] == {"steps": 12}
    assert SB3_SETTINGS["sb3-grid-ppo"].environment == "grid"
    damaged = OF_SB3["optimizer-state-corrupted.ppo"]
    for name in damaged.settings:
        ((_, numbers),) = damaged.on(SB3_SETTINGS[name]).code
        assert 0.85 < numbers["at"] / SB3_SETTINGS[name].env_steps < 0.95

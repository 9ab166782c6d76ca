"""Each library's files, as it writes them, become one view with our names, signs and units."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from event_writer import cleanrl_run, tianshou_run, write_events

from dressage.errors import ConfigError, DressageError, RunError
from dressage.runs.metrics import describe
from dressage.runs.readers import read
from dressage.runs.readers.sb3_zip import settings_in
from dressage.runs.readers.vocabulary import KNOWN
from dressage.runs.view import RunView
from dressage.runs.writer import RunWriter

SAMPLES = Path(__file__).parent / "samples"


def one(path: Path | str, **options: object) -> RunView:
    (view,) = read(path, **options)  # type: ignore[arg-type]
    return view


def csv_columns(path: Path) -> dict[str, list[tuple[float, float]]]:
    """(env steps, value) of each column of a progress.csv, by the plainest reading of it."""
    header, *lines = path.read_text().splitlines()
    names = header.split(",")
    clock = names.index("time/total_timesteps")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for line in lines:
        cells = line.split(",")
        for name, cell in zip(names, cells, strict=True):
            if cell:
                found[name].append((float(cells[clock]), float(cell)))
    return found


def assert_series(view: RunView, metric: str, points: list[tuple[float, float]]) -> None:
    series = view[metric]
    np.testing.assert_allclose(series.env_steps, [step for step, _ in points])
    np.testing.assert_allclose(series.values, [value for _, value in points], rtol=1e-6)


class TestSB3:
    def test_ppo_folder(self) -> None:
        view = one(SAMPLES / "sb3_ppo")
        assert (view.library, view.algo, view.family) == ("sb3", "ppo", "on-policy")
        assert view.env == "CartPole-v1"
        assert (view.budget, view.env_steps, view.state) == (600, 640, "finished")
        assert view.config["n_steps"] == 64 and view.config["batch_size"] == 32
        assert view.config["clip_range"] == 0.2  # from the text beside a pickled schedule
        assert view.config["normalize_advantage"] == "minibatch"
        assert view.config["net_arch"] == [4] and view.config["n_envs"] == 2
        assert view.spec["action_space"] == "Discrete(2)"
        assert [path.name for path in view.weights] == ["model.zip"]

    def test_entropy_has_its_sign_turned(self) -> None:
        view, columns = one(SAMPLES / "sb3_ppo"), csv_columns(SAMPLES / "sb3_ppo/progress.csv")
        minus = [(step, -value) for step, value in columns["train/entropy_loss"]]
        assert_series(view, "train/metrics/entropy", minus)
        assert 0.6 < view["train/metrics/entropy"].values[0] <= np.log(2) + 1e-6
        assert view.own_name("train/metrics/entropy") == "train/entropy_loss"

    def test_values_are_those_of_the_file(self) -> None:
        view, columns = one(SAMPLES / "sb3_ppo"), csv_columns(SAMPLES / "sb3_ppo/progress.csv")
        for ours, theirs in view.own_names.items():
            if ours not in ("train/metrics/entropy", "updates"):
                assert_series(view, ours, columns[theirs])

    def test_updates_of_ppo_are_gradient_steps(self) -> None:
        """SB3 counts passes over the rollout: 2 an iteration, each of 64 * 2 / 32 minibatches."""
        view = one(SAMPLES / "sb3_ppo")
        np.testing.assert_array_equal(view["train/cnt/epochs"].values, [2, 4, 6, 8])
        np.testing.assert_array_equal(view["updates"].values, [8, 16, 24, 32])

    def test_updates_of_dqn_are_as_logged(self) -> None:
        view = one(SAMPLES / "sb3_dqn")
        assert view["updates"].values[-1] == 74 and "train/cnt/epochs" not in view

    def test_dqn_folder(self) -> None:
        view = one(SAMPLES / "sb3_dqn")
        assert (view.algo, view.family) == ("dqn", "value-based")
        assert view.config["epsilon"] == "linear(1, 0.05, until=0.5)"
        assert view.config["n_step"] == 1 and "n_steps" not in view.config
        assert view.config["target_update_interval"] == 50
        assert "train/loss/td" in view and "train/loss/total" not in view

    def test_sac_folder(self) -> None:
        view = one(SAMPLES / "sb3_sac")
        assert (view.algo, view.family, view.env) == ("sac", "actor-critic", "Pendulum-v1")
        assert view.config["ent_coef"] == "auto" and view.config["tau"] == 0.005
        assert view.own_name("train/metrics/alpha") == "train/ent_coef"
        assert view.spec["action_space"] == "Box([-2.], [2.], (1,), float32)"

    def test_episodes_of_all_monitors_in_order_of_time(self) -> None:
        view = one(SAMPLES / "sb3_ppo")
        rows = []
        for index in range(2):
            header, _, *lines = (SAMPLES / f"sb3_ppo/{index}.monitor.csv").read_text().splitlines()
            start = json.loads(header[1:])["t_start"]
            for line in lines:
                value, length, time = map(float, line.split(","))
                rows.append((start + time, value, length))
        rows.sort()
        np.testing.assert_allclose(view.episodes.returns, [row[1] for row in rows])
        np.testing.assert_allclose(view.episodes.env_steps, np.cumsum([row[2] for row in rows]))

    def test_event_files_say_the_same_as_the_csv(self, tmp_path: Path) -> None:
        with_csv = one(SAMPLES / "sb3_ppo")
        for file in (SAMPLES / "sb3_ppo").iterdir():
            if file.name != "progress.csv":
                shutil.copy(file, tmp_path)
        with_events = one(tmp_path)
        assert with_events.algo == "ppo" and with_events.library == "sb3"
        # SB3 keeps its counters and its clock from TensorBoard; events have times of their own.
        hidden = {"train/cnt/iterations", "train/cnt/epochs", "updates"}
        assert set(with_csv.series) - hidden == set(with_events.series)
        for name in set(with_events.series) - {"wall_seconds"}:
            series = with_csv[name]
            np.testing.assert_allclose(with_events[name].values, series.values, rtol=1e-6)
            np.testing.assert_array_equal(with_events[name].env_steps, series.env_steps)

    def test_tensorboard_folder_below_the_monitors(self, tmp_path: Path) -> None:
        source = SAMPLES / "sb3_dqn"
        (tmp_path / "DQN_1").mkdir()
        shutil.copy(source / "0.monitor.csv", tmp_path)
        for file in source.glob("*tfevents*"):
            shutil.copy(file, tmp_path / "DQN_1")
        view = one(tmp_path)
        assert view.algo == "dqn" and "train/loss/td" in view and len(view.episodes.returns) == 22
        shutil.copytree(tmp_path / "DQN_1", tmp_path / "DQN_2")  # learn() was called twice
        assert [view.id for view in read(tmp_path)] == ["DQN_1", "DQN_2"]

    def test_evaluations(self, tmp_path: Path) -> None:
        shutil.copy(SAMPLES / "sb3_sac/evaluations.npz", tmp_path)
        view = one(tmp_path / "evaluations.npz")
        stored = np.load(SAMPLES / "sb3_sac/evaluations.npz")
        assert_series(
            view,
            "val/roll/ep_rew_mean",
            list(zip(stored["timesteps"], stored["results"].mean(1), strict=True)),
        )
        assert_series(
            view,
            "val/roll/ep_rew_std",
            list(zip(stored["timesteps"], stored["results"].std(1), strict=True)),
        )

    @pytest.mark.parametrize("name", ["sb3_ppo", "sb3_dqn", "sb3_sac"])
    def test_of_a_zip_only_settings_are_kept(self, name: str) -> None:
        own = one(SAMPLES / name).own_config
        assert {"gamma", "learning_rate", "n_envs", "total_timesteps", "policy_kwargs"} <= set(own)
        text = json.dumps(own)
        for internal in (":type:", ":serialized:", " at 0x", "<class", "__", "batch_norm"):
            assert internal not in text, internal
        private = {key for key in own if key.startswith("_")}
        assert private <= {"_n_updates"}  # by which `verify` knows how often it trained
        assert not {"start_time", "verbose", "policy_class", "observation_space"} & set(own)
        assert "null" not in text or name != "sb3_dqn"  # action_noise is no argument of DQN's

    @pytest.mark.parametrize(
        ("arguments", "algo"),
        [
            ({"clip_range": 0.2, "n_epochs": 10}, "ppo"),
            ({"gae_lambda": 1.0, "rms_prop_eps": 1e-5}, "a2c"),
            ({"cg_max_steps": 15}, None),
        ],
    )
    def test_algorithms_that_share_their_policies(self, arguments: Any, algo: str | None) -> None:
        policy = {":type:": "x", "__module__": "stable_baselines3.common.policies"}
        assert settings_in({"policy_class": policy, **arguments}).get("algo") == algo

    def test_settings_among_what_sb3_saves(self) -> None:
        """As SB3 2.9 writes them, by hand."""
        found = settings_in(
            {
                "policy_class": {":type:": "x", "__module__": "stable_baselines3.td3.policies"},
                "learning_rate": {":type:": "<class 'function'>", ":serialized:": "AAAA"},
                "lr_schedule": {
                    "value_schedule": "LinearSchedule(start=0.1, end=0, end_fraction=1)"
                },
                "clip_range": {":type:": "x", "value_schedule": "ConstantSchedule(val=0.2)"},
                "policy_kwargs": {
                    ":type:": "<class 'dict'>",
                    "activation_fn": "<class 'torch.nn.modules.activation.ReLU'>",
                    "optimizer_kwargs": {"eps": 1e-5},
                    "made": "<function made at 0x7f>",
                    "n_critics": 1,
                },
                "action_noise": {
                    ":type:": "<class 'stable_baselines3.common.noise.NormalActionNoise'>",
                    "_mu": "[0. 0.]",
                    "_sigma": "[0.1 0.1]",
                },
                "policy_delay": 1,
                "target_noise_clip": 0.0,
                "train_freq": {":type:": "x", ":serialized:": "AAAA"},
                "replay_buffer_class": {":type:": "x", "__init__": "<function f at 0x7f>"},
                "replay_buffer_kwargs": {},
                "_last_obs": {":type:": "<class 'numpy.ndarray'>"},
                "_total_timesteps": 100,
                "_n_updates": 40,
                "num_timesteps": 100,
                "own_number": 3,
            }
        )
        assert found == {
            "learning_rate": "linear(0.1, 0)",
            "clip_range": 0.2,
            "policy_kwargs": {
                "activation_fn": "torch.nn.modules.activation.ReLU",
                "optimizer_kwargs": {"eps": 1e-5},
                "n_critics": 1,
            },
            "action_noise": "NormalActionNoise(sigma=[0.1 0.1])",
            "policy_delay": 1,
            "target_noise_clip": 0.0,
            "total_timesteps": 100,
            "_n_updates": 40,
            "own_number": 3,
            "algo": "ddpg",  # it is TD3 with one critic, without delay and smoothing
        }

    def test_zip_alone(self) -> None:
        view = one(SAMPLES / "sb3_sac/model.zip")
        assert view.algo == "sac" and view.config["batch_size"] == 16 and not view.series
        assert view.env_steps == 450

    def test_file_alone(self) -> None:
        view = one(SAMPLES / "sb3_ppo/progress.csv")
        assert view.algo == "ppo" and not view.config.get("n_steps")
        assert "updates" not in view  # nobody knows how many minibatches a pass has

    def test_rl_zoo(self) -> None:
        view = one(SAMPLES / "zoo")
        assert (view.algo, view.env, view.budget) == ("ppo", "CartPole-v1", 100_000)
        assert view.config["learning_rate"] == "linear(0.001, 0)"
        assert view.config["clip_range"] == "linear(0.2, 0)"
        assert view.config["net_arch"] == {"policy": [64, 32], "value": [128]}
        assert view.config["activation"] == "relu" and view.config["log_std_init"] == -2
        assert view.config["normalize_obs"] is True and view.config["normalize_reward"] is False
        assert view.own_config["where"] == [1, 2]  # a Python tuple, as plain data
        # Both monitors, by time: 10 at 1001, 11 at 1002 and so on.
        assert view.episodes.returns.tolist() == [10, 20, 11, 30, 21, 40, 31, 41]
        means = np.cumsum(view.episodes.returns) / np.arange(1, 9)
        np.testing.assert_allclose(view["train/roll/ep_rew_mean"].values, means)

    def test_what_is_not_visible(self) -> None:
        view = one(SAMPLES / "sb3_ppo")
        missing = {entry.metric: entry for entry in view.not_visible()}
        assert {"train/metrics/grad_norm/*", "train/roll/adv_std"} <= missing.keys()
        assert "dressage.sb3.Recorder()" in missing["train/roll/adv_std"].how
        recorder = [names for how, names in view.what_to_log().items() if "Recorder" in how]
        assert len(recorder) == 1 and len(recorder[0]) > 8
        assert not missing.keys() & set(view.visible())
        assert "train/metrics/q_mean" not in missing  # no concern of PPO's
        sac = {entry.metric for entry in one(SAMPLES / "sb3_sac").not_visible()}
        assert "train/metrics/q_mean" in sac and "train/metrics/clip_fraction" not in sac


class TestCleanRL:
    def test_run(self, tmp_path: Path) -> None:
        view = one(cleanrl_run(tmp_path))
        assert (view.library, view.algo, view.env) == ("cleanrl", "ppo", "CartPole-v1")
        assert view.config["learning_rate"] == "linear(0.00025, 0)"
        assert view.config["batch_size"] == 128  # minibatch_size, not their batch_size
        assert view.config["normalize_advantage"] == "minibatch"
        assert view.config["clip_range_vf"] == 0.2
        assert "target_kl" not in view.config
        assert view.seed == 3 and view.budget == 2000 and view.state == "finished"
        assert view.own_setting("clip_range") == "clip_coef"

    def test_single_episodes(self, tmp_path: Path) -> None:
        view = one(cleanrl_run(tmp_path))
        assert view.episodes.returns.tolist() == [20, 40, 60, 80]
        assert_series(
            view, "train/roll/ep_rew_mean", [(500, 20), (1012, 30), (1524, 40), (2036, 50)]
        )

    def test_half_of_the_value_error(self, tmp_path: Path) -> None:
        view = one(cleanrl_run(tmp_path))
        np.testing.assert_allclose(view["train/loss/value"].values, [16, 8, 16 / 3, 4], rtol=1e-6)
        assert view["train/metrics/entropy"].values[0] == pytest.approx(0.68)
        assert view.unknown == ["losses/old_approx_kl"]


class TestRLlib:
    def test_new_stack(self) -> None:
        view = one(SAMPLES / "rllib")
        assert (view.library, view.algo, view.state) == ("rllib", "ppo", "finished")
        assert_series(view, "train/roll/ep_rew_mean", [(4000.0 * i, 20.0 * i) for i in range(1, 6)])
        assert view.own_name("train/metrics/entropy") == "learners/default_policy/entropy"
        assert view["train/metrics/kl_divergence"].values.tolist() == [0.012] * 5
        assert view.config["n_envs"] == 8 and view.config["n_steps"] == 500
        assert view.config["gae_lambda"] == 0.95 and view.config["net_arch"] == [256, 256]
        np.testing.assert_allclose(view["sys/env_steps_per_second"].values, 400)
        assert not any(name.startswith("config") for name in view.series)

    def test_old_stack_from_csv(self) -> None:
        view = one(SAMPLES / "rllib_old")
        assert (view.algo, view.state, view.env_steps) == ("dqn", "finished", 4000)
        assert np.isnan(view["train/roll/ep_rew_mean"].values[0])  # logged as nan
        assert view["train/metrics/q_mean"].values.tolist() == [2.5, 5, 7.5, 10]
        assert view["train/metrics/td_error_mean"].values == pytest.approx([0.1, 0.2, 0.3, 0.4])
        assert view.config["buffer_size"] == 50_000 and view.config["double"] is True
        assert any("hostname" in note for note in view.notes)

    def test_crash(self, tmp_path: Path) -> None:
        folder = tmp_path / "SAC_Pendulum"
        folder.mkdir()
        row = {"training_iteration": 1, "timesteps_total": 10, "done": False}
        (folder / "result.json").write_text(json.dumps(row) + "\n")
        (folder / "error.txt").write_text("Traceback\nValueError: nan\n")
        view = one(folder)
        assert (
            view.state == "crashed" and view.algo == "sac" and "ValueError: nan" in view.log_lines
        )


class TestTianshou:
    def test_updates_are_put_on_env_steps(self, tmp_path: Path) -> None:
        view = one(tianshou_run(tmp_path))
        assert (view.library, view.algo, view.env) == ("tianshou", "ppo", "CartPole-v1")
        assert_series(view, "train/roll/ep_rew_mean", [(1000.0 * i, 10.0 * i) for i in range(1, 6)])
        # Half a second after each collection is halfway to the next; the last has no next.
        np.testing.assert_allclose(
            view["train/loss/total"].env_steps, [1500, 2500, 3500, 4500, 5000]
        )
        assert view["train/metrics/entropy"].values[0] == pytest.approx(0.6)
        assert "save/epoch" not in view


class TestGymnasiumSolver:
    def test_run(self) -> None:
        view = one(SAMPLES / "gymnasium_solver")
        assert (view.library, view.algo, view.threshold) == ("gymnasium-solver", "ppo", 475)
        assert view.config["learning_rate"] == "linear(0.001, 0)"
        assert view.config["normalize_advantage"] == "batch"  # theirs: rollout
        assert view["train/metrics/grad_norm/all"].values.tolist() == [0.4] * 6
        assert_series(view, "val/roll/ep_rew_mean", [(768, 75), (1536, 150)])
        assert view.log_lines == ["epoch 1", "epoch 2: warning"]  # colours are taken out


class TestWandb:
    def test_folder(self) -> None:
        view = one(SAMPLES / "wandb_run")
        assert (view.library, view.algo, view.env) == ("wandb", "ppo", "CartPole-v1")
        assert_series(view, "train/metrics/entropy", [(40960, 0.55)])
        assert view.config["batch_size"] == 64 and "clip_range" not in view.config
        assert any("export the history" in note for note in view.notes)

    def test_exported_history(self) -> None:
        view = one(
            SAMPLES / "wandb_history.csv",
            config=SAMPLES / "wandb_run/files/config.yaml",
        )
        assert (view.library, view.id, view.algo) == ("wandb", "lively-sun-3", "ppo")
        assert_series(view, "train/metrics/entropy", [(256, 0.68), (512, 0.66)])
        assert not any(name.endswith("__MIN") for name in view.series)
        assert view.config["learning_rate"] == 0.0003 and view.budget == 100_000

    def test_exported_chart_of_several_runs(self, tmp_path: Path) -> None:
        lines = ['"Step","a - return","b - return"', '"1","2","3"', '"2","","5"']
        (tmp_path / "chart.csv").write_text("\n".join(lines) + "\n")
        a, b = read(tmp_path / "chart.csv")
        assert (a.id, b.id) == ("a", "b")
        assert_series(a, "train/roll/ep_rew_mean", [(1, 2)])
        assert_series(b, "train/roll/ep_rew_mean", [(1, 3), (2, 5)])


class TestMlflow:
    def test_run_found_below_its_experiment(self) -> None:
        view = one(SAMPLES / "mlflow")
        assert (view.library, view.algo, view.state) == ("mlflow", "ppo", "finished")
        assert_series(view, "train/metrics/entropy", [(0, 0.69), (100, 0.6)])
        assert view.config["learning_rate"] == 0.0003


class TestOwn:
    def write(self, path: Path, end: str | None = "finished") -> Path:
        writer = RunWriter(
            path,
            config={"env": "CartPole-v1", "algo": "ppo", "seed": 4, "env_steps": 500},
            spec={"id": "CartPole-v1", "reward_threshold": 475.0},
            system={},
        )
        with writer:
            for index in range(1, 6):
                cells = {
                    "env_steps": 100 * index,
                    "updates": index,
                    "train/loss/value": 1.0 / index,
                }
                if index == 3:
                    cells["train/loss/policy"] = float("nan")
                writer.metrics_row(cells)
                writer.episodes_rows([(100 * index, 20.0 + index, 20, "truncated", None, 0)])
            writer.log("hello")
            if end:
                writer.status(end, "a reason")
        return path

    def test_run(self, tmp_path: Path) -> None:
        self.write(tmp_path / "runs" / "first")
        view = one("first", root=tmp_path / "runs")
        assert (view.library, view.algo, view.threshold) == ("dressage", "ppo", 475)
        assert (view.state, view.budget, view.env_steps, view.seed) == ("finished", 500, 500, 4)
        assert_series(view, "train/loss/value", [(100 * i, 1 / i) for i in range(1, 6)])
        assert view.episodes.ended is not None and set(view.episodes.ended) == {"truncated"}
        assert view.log_lines[0].endswith("hello")
        assert one("@last", root=tmp_path / "runs").id == "first"

    def test_nan_that_was_measured_is_kept(self, tmp_path: Path) -> None:
        view = one(self.write(tmp_path / "run"))
        policy = view["train/loss/policy"]  # four cells are empty, one is nan
        assert policy.env_steps.tolist() == [300] and np.isnan(policy.values).all()

    @pytest.mark.parametrize(("end", "state"), [("failed", "crashed"), (None, "crashed")])
    def test_crashed(self, tmp_path: Path, end: str | None, state: str) -> None:
        assert one(self.write(tmp_path / "run", end)).state == state

    def test_still_written(self, tmp_path: Path) -> None:
        self.write(tmp_path / "run")
        writer = RunWriter.reopen(tmp_path / "run", None)
        with (tmp_path / "run/metrics.csv").open("a") as file:
            file.write("600,6,0.1")
        view = one(tmp_path / "run")
        assert view.state == "running" and view.env_steps == 500
        assert any("half written" in note for note in view.notes)
        writer.close()

    def test_group_gives_its_members(self, tmp_path: Path) -> None:
        from dressage.runs.group import write_group

        for seed in range(3):
            self.write(tmp_path / "group" / str(seed))
        write_group(tmp_path / "group", [{"seed": s, "path": str(s)} for s in range(3)])
        assert [view.id for view in read("group", root=tmp_path)] == [
            f"group/{s}" for s in range(3)
        ]
        views = read([tmp_path / "group", tmp_path / "group" / "1"])
        assert ["counts once" in "".join(view.notes) for view in views] == [False, True, False]

    def test_our_event_files_and_csv_elsewhere(self, tmp_path: Path) -> None:
        self.write(tmp_path / "run")
        shutil.copy(tmp_path / "run/metrics.csv", tmp_path / "mine.csv")
        view = one(tmp_path / "mine.csv")
        assert view.library == "table" and "train/loss/value" in view.visible()
        write_events(tmp_path / "tb", [("train/metrics/entropy", 5, 0.5, 1.0)])
        assert_series(one(tmp_path / "tb"), "train/metrics/entropy", [(5, 0.5)])


class TestTables:
    def test_mapping(self, tmp_path: Path) -> None:
        (tmp_path / "log.csv").write_text("frame,score,x\n10,1.5,a\n20,2.5,b\n")
        mapping = {"env_steps": "frame", "train/roll/ep_rew_mean": "score"}
        view = one(tmp_path / "log.csv", mapping=mapping, config={"algo": "PPO", "lr": "1e-3"})
        assert_series(view, "train/roll/ep_rew_mean", [(10, 1.5), (20, 2.5)])
        assert view.unknown == [] and view.own_name("train/roll/ep_rew_mean") == "score"
        assert view.algo == "ppo" and view.config["learning_rate"] == 1e-3

    def test_mapping_in_json_lines(self, tmp_path: Path) -> None:
        rows = [{"t": 5 * i, "a": {"b": 1.0 * i}, "note": "x"} for i in range(1, 4)]
        (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
        view = one(tmp_path / "log.jsonl", mapping={"env_steps": "t", "train/loss/td": "a/b"})
        assert_series(view, "train/loss/td", [(5, 1), (10, 2), (15, 3)])

    @pytest.mark.parametrize(
        ("mapping", "said"),
        [
            ({"train/loss/polisy": "score"}, "Did you mean 'train/loss/policy'"),
            ({"train/loss/policy": "scor"}, "Did you mean 'score'"),
            ({"env_steps": "fram"}, "Did you mean 'frame'"),
        ],
    )
    def test_mapping_that_cannot_be(
        self, tmp_path: Path, mapping: dict[str, str], said: str
    ) -> None:
        (tmp_path / "log.csv").write_text("frame,score\n10,1.5\n")
        with pytest.raises(RunError, match=said):
            read(tmp_path / "log.csv", mapping=mapping)

    def test_common_words_are_taken_with_a_note(self, tmp_path: Path) -> None:
        (tmp_path / "log.csv").write_text("Step;Reward;Entropy\n1;2;0.5\n2;3;0.4\n")
        view = one(tmp_path / "log.csv")
        assert_series(view, "train/roll/ep_rew_mean", [(1, 2), (2, 3)])
        assert sum("was taken for" in note for note in view.notes) == 3

    def test_without_a_clock_rows_are_counted(self, tmp_path: Path) -> None:
        (tmp_path / "log.csv").write_text("loss_of_mine\n5\n6\n")
        view = one(tmp_path / "log.csv")
        assert_series(view, "loss_of_mine", [(1, 5), (2, 6)])
        assert any("no column of env steps" in note for note in view.notes)

    def test_folder_of_tables(self, tmp_path: Path) -> None:
        for seed in range(3):
            (tmp_path / f"seed{seed}.csv").write_text("env_steps,return\n1,2\n")
        assert [view.id for view in read(tmp_path)] == ["seed0", "seed1", "seed2"]

    def test_tables_of_something_else_are_no_seeds(self, tmp_path: Path) -> None:
        for index in range(5):
            (tmp_path / f"f{index}.csv").write_text("x,y\n1,2\n")
        with pytest.raises(RunError, match=r"5 tables .*'f2.csv' and 2 more. Found: 'x', 'y'"):
            read(tmp_path)
        assert len(read(tmp_path, mapping={"train/roll/ep_rew_mean": "y"})) == 5
        (tmp_path / "log.csv").write_text("env_steps,return\n1,2\n")
        view = one(tmp_path)
        assert view.id == "log" and any("were left out: 'f0.csv'" in note for note in view.notes)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("a,b\n1,2\n", r"No metric of 'log' is known. Found: 'a', 'b'. --map"),
            ("", "holds no metric"),
        ],
    )
    def test_what_was_found_and_what_is_needed(self, tmp_path: Path, text: str, said: str) -> None:
        (tmp_path / "log.csv").write_text(text)
        assert any(re.search(said, note) for note in one(tmp_path / "log.csv").notes)

    def test_lines_that_are_no_table(self, tmp_path: Path) -> None:
        (tmp_path / "log.csv").write_text('a,b\n"1\r2,3\r4",5\n6\r7,8\n', newline="")
        with pytest.raises(RunError, match="damaged or no table"):
            read(tmp_path / "log.csv")

    def test_a_file_right_here_has_a_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = write_events(tmp_path / "here", [("mine", 5, 0.5, 1.0)])
        monkeypatch.chdir(tmp_path / "here")
        assert one(Path(file.name)).id == file.name
        assert one(Path()).id == "here"


@pytest.mark.parametrize(
    ("log", "settings", "fits"),
    [
        ("sb3_ppo", "sb3_sac/model.zip", False),
        ("sb3_sac", "sb3_ppo/model.zip", False),
        ("sb3_dqn", {"algo": "PPO"}, False),
        ("sb3_dqn", {"algo": "DQN"}, True),
        ("sb3_sac", "sb3_sac/model.zip", True),
    ],
)
def test_a_config_of_another_algorithm(log: str, settings: Any, fits: bool) -> None:
    settings = SAMPLES / settings if isinstance(settings, str) else settings
    if fits:
        assert read(SAMPLES / log, config=settings)
        return
    with pytest.raises(ConfigError, match=r"config is of .* and the log of"):
        read(SAMPLES / log, config=settings)


def test_the_log_itself_says_more_than_the_name_of_its_folder(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "sb3_ppo", tmp_path / "sac_again")
    (tmp_path / "sac_again" / "model.zip").unlink()
    assert read(tmp_path / "sac_again", config=SAMPLES / "sb3_ppo/model.zip")


def test_given_config_counts_before_the_log_s(tmp_path: Path) -> None:
    (tmp_path / "mine.yml").write_text("learning_rate: 0.5\nn_steps: 7\n")
    view = one(SAMPLES / "sb3_ppo", config=tmp_path / "mine.yml")
    assert view.config["learning_rate"] == 0.5 and view.config["n_steps"] == 7
    assert view.config["batch_size"] == 32
    with_zip = one(SAMPLES / "sb3_ppo/progress.csv", config=SAMPLES / "sb3_ppo/model.zip")
    assert with_zip.config["n_steps"] == 64 and with_zip.algo == "ppo"


@pytest.mark.parametrize("name", ["nothing.csv", "no-such-run", "a/b/c", ""])
def test_what_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(DressageError):
        read(tmp_path / name if name else tmp_path, root=tmp_path)


def test_tables_name_metrics_that_exist() -> None:
    for library in KNOWN:
        for row in library.names.table:
            describe(row.ours.replace("*", "x"))
            theirs, algo = row.theirs.replace("*", "x"), (row.algos or ("none of these",))[0]
            found = library.names.find(theirs, algo)
            assert found is not None and found.ours == row.ours.replace("*", "x"), theirs

"""`dressage.sb3.Recorder` on real models: what it records is right, and nothing changes."""

from __future__ import annotations

import copy
import csv
import json
import random
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

sb3 = pytest.importorskip("stable_baselines3")

from stable_baselines3.common.callbacks import BaseCallback, EvalCallback  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.logger import configure  # noqa: E402
from stable_baselines3.common.noise import NormalActionNoise  # noqa: E402
from stable_baselines3.common.vec_env import (  # noqa: E402
    DummyVecEnv,
    SubprocVecEnv,
    VecNormalize,
)

from dressage.diagnosis.diagnose import diagnose  # noqa: E402
from dressage.envs.actions import ActionCodec  # noqa: E402
from dressage.runs.readers import read  # noqa: E402
from dressage.runs.view import RunView  # noqa: E402
from dressage.sb3 import Recorder  # noqa: E402
from dressage.sb3.networks import stepped  # noqa: E402
from dressage.sb3.rollouts import Rollouts  # noqa: E402
from dressage.sb3.settings import schedule  # noqa: E402
from dressage.sb3.updates import Watch, dormant_share  # noqa: E402
from dressage.sb3.values import value_metrics  # noqa: E402

NET = {"policy_kwargs": {"net_arch": [16, 16]}, "device": "cpu", "seed": 3}
ROLL = {"n_steps": 16, **NET}
OFF = {"learning_starts": 40, "batch_size": 16, "buffer_size": 500, **NET}
NOISE = NormalActionNoise(np.zeros(1), 0.1 * np.ones(1))
MODELS: dict[str, tuple[str, int, dict[str, Any]]] = {  # environment, env steps, settings
    "PPO": ("CartPole-v1", 256, {**ROLL, "batch_size": 16, "n_epochs": 3}),
    "A2C": ("CartPole-v1", 256, ROLL),
    "DQN": ("CartPole-v1", 300, {**OFF, "target_update_interval": 50, "train_freq": 2}),
    "SAC": ("Pendulum-v1", 160, OFF),
    "TD3": ("Pendulum-v1", 160, {**OFF, "action_noise": NOISE}),
    "DDPG": ("Pendulum-v1", 160, OFF),
}
ALWAYS = {
    "train/roll/obs_mean", "train/roll/obs_std", "train/roll/obs_abs_max",
    "train/roll/reward_mean", "train/roll/reward_std", "train/roll/truncated_share",
    "train/roll/episodes", "train/roll/ep_rew_std", "train/roll/ep_rew_best",
    "train/metrics/grad_clipped", "sys/time/collect", "sys/time/update", "sys/time/record",
}  # fmt: skip
ROLLED = {
    "train/roll/adv_mean", "train/roll/adv_std", "train/roll/return_mean", "train/roll/return_std",
    "train/roll/value_mean", "train/metrics/kl_divergence", "train/loss/entropy",
    "train/metrics/grad_norm/total", "train/metrics/grad_norm/policy",
    "train/metrics/grad_norm/value", "train/metrics/dormant_share/policy",
    "train/metrics/weight_norm/value", "train/metrics/update_to_weight/policy",
}  # fmt: skip
REPLAYED = {
    "train/metrics/q_mean", "train/metrics/q_max", "train/metrics/td_error_mean",
    "train/metrics/td_error_max", "train/metrics/target_drift", "train/metrics/buffer_fill",
    "train/metrics/buffer_age", "train/metrics/update_to_data",
}  # fmt: skip
CHOSEN = {"train/roll/action_share_max", "train/roll/action_entropy"}
MOVED = {"train/roll/action_mean", "train/roll/action_std", "train/roll/action_saturation"}
OF_ACTORS = {
    f"train/metrics/{kind}/{net}"
    for kind in ("grad_norm", "weight_norm", "update_to_weight", "dormant_share")
    for net in ("actor", "critic")
}
SOFT = {"train/metrics/entropy", "train/metrics/grad_norm/alpha", "train/metrics/target_entropy"}
TWO_CRITICS = {"train/metrics/critic_disagreement"}
EXPECTED = {
    "PPO": ALWAYS | ROLLED | CHOSEN | {"train/metrics/epochs_done"},
    "A2C": ALWAYS | ROLLED | CHOSEN,
    "DQN": ALWAYS | REPLAYED | CHOSEN | {"train/metrics/grad_norm/q", "train/metrics/q_gap"},
    "SAC": ALWAYS | REPLAYED | MOVED | OF_ACTORS | SOFT | TWO_CRITICS,
    "TD3": ALWAYS | REPLAYED | MOVED | OF_ACTORS | TWO_CRITICS | {"train/hp/noise_std"},
    "DDPG": ALWAYS | REPLAYED | MOVED | OF_ACTORS | {"train/hp/noise_std"},
}
# Nothing evaluates; the runs are short; A2C clips no ratios.
NOT_HERE = {
    "val/roll/ep_rew_mean", "train/metrics/q_gap", "train/roll/action_effect",
    "train/metrics/clip_fraction", "train/hp/clip_range",
}  # fmt: skip


def made(name: str, folder: Path, env: Any = None, **settings: Any) -> Any:
    env_id, _, own = MODELS[name]
    if env is None:
        env = make_vec_env(limited(env_id), n_envs=2 if name in ("PPO", "A2C") else 1, seed=3)
    model = getattr(sb3, name)("MlpPolicy", env, **copy.deepcopy(own | settings))
    model.set_logger(configure(str(folder), ["csv"]))
    return model


def limited(env_id: str, steps: int = 25) -> Any:
    return lambda: gym.make(env_id, max_episode_steps=steps)


def trained(name: str, folder: Path, callback: Any, **settings: Any) -> Any:
    model = made(name, folder, **settings)
    return model.learn(MODELS[name][1], callback=callback, log_interval=1)


def view_of(folder: Path) -> RunView:
    (view,) = read(folder)
    return view


def column(folder: Path, name: str) -> list[float]:
    with (folder / "progress.csv").open() as file:
        cells = [row[name] for row in csv.DictReader(file)]
    return [float(cell) for cell in cells if cell]


# -- what is recorded, and that nothing changes --------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_metrics_are_recorded_and_training_is_the_same(name: str, tmp_path: Path) -> None:
    plain = trained(name, tmp_path / "plain", None)
    drawn = np.random.get_state()[1].copy(), torch.get_rng_state(), random.getstate()  # noqa: NPY002
    with_it = trained(name, tmp_path / "recorded", Recorder())
    assert (np.random.get_state()[1] == drawn[0]).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), drawn[1]) and random.getstate() == drawn[2]
    ours = with_it.policy.state_dict()
    for key, value in plain.policy.state_dict().items():
        assert torch.equal(value, ours[key]), key

    view = view_of(tmp_path / "recorded")
    assert EXPECTED[name] - set(view.visible()) == set()
    assert view.unknown == []
    without = {missing.metric for missing in view_of(tmp_path / "plain").not_visible()}
    left = {missing.metric for missing in view.not_visible()}
    assert len(left) < len(without) / 3 and left <= NOT_HERE
    assert view.algo == name.lower() and view.config["net_arch"] == [16, 16]
    assert diagnose(view).library == "sb3"


# -- numbers -------------------------------------------------------------------------------------


class GradientByHand(BaseCallback):  # type: ignore[misc]
    """A2C's loss and the norm of its gradient, on a copy of the policy."""

    def __init__(self) -> None:
        super().__init__()
        self.norms: list[dict[str, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        policy, buffer = copy.deepcopy(self.model.policy), self.model.rollout_buffer
        obs = torch.as_tensor(buffer.observations).flatten(0, 1)
        actions = torch.as_tensor(buffer.actions).flatten().long()
        values, log_prob, entropy = policy.evaluate_actions(obs, actions)
        loss = -(torch.as_tensor(buffer.advantages).flatten() * log_prob).mean()
        loss = loss - 0.01 * entropy.mean()
        loss = loss + 0.5 * (torch.as_tensor(buffer.returns).flatten() - values.flatten()).square().mean()  # fmt: skip  # noqa: E501
        names, parameters = zip(*policy.named_parameters(), strict=True)
        gradients = torch.autograd.grad(loss, parameters)
        squares = {"policy": 0.0, "value": 0.0}
        for name, gradient in zip(names, gradients, strict=True):
            squares["value" if "value" in name else "policy"] += float(gradient.square().sum())
        self.norms.append({key: value**0.5 for key, value in squares.items()})


def test_gradient_norms_before_clipping(tmp_path: Path) -> None:
    by_hand = GradientByHand()
    trained("A2C", tmp_path, [by_hand, Recorder()], ent_coef=0.01, max_grad_norm=0.5)
    for network in ("policy", "value"):
        recorded = column(tmp_path, f"dressage/train/metrics/grad_norm/{network}")
        wanted = [norms[network] for norms in by_hand.norms[:-1]]
        np.testing.assert_allclose(recorded, wanted, rtol=1e-3)
    total = column(tmp_path, "dressage/train/metrics/grad_norm/total")
    assert max(total) > 1.0
    clipped = column(tmp_path, "dressage/train/metrics/grad_clipped")
    assert clipped == [float(norm > 0.5) for norm in total]


class SeenByHand(BaseCallback):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.obs: list[Any] = []
        self.ends: list[bool] = []

    def _on_step(self) -> bool:
        self.obs.append(self.model._last_obs.copy())
        for done, info in zip(self.locals["dones"], self.locals["infos"], strict=True):
            if done:
                self.ends.append(info["TimeLimit.truncated"])
        return True


@pytest.mark.parametrize("name", ["PPO", "DQN"])
def test_observations_rewards_and_ends(name: str, tmp_path: Path) -> None:
    seen = SeenByHand()
    trained(name, tmp_path, [seen, Recorder()])
    view = view_of(tmp_path)
    rows, largest = view["train/roll/obs_mean"], view["train/roll/obs_abs_max"].values
    obs = np.array(seen.obs)  # [T, N, 4]
    for i, end in enumerate(rows.env_steps):
        begin = rows.env_steps[i - 1] if i else 0.0
        part = obs[int(begin) // obs.shape[1] : int(end) // obs.shape[1]]
        assert largest[i] == pytest.approx(np.abs(part).max(), rel=1e-6)
        if name == "PPO":  # of a replay memory it is the mean of a few means
            assert rows.values[i] == pytest.approx(part.mean(), abs=1e-5)
    np.testing.assert_array_equal(view["train/roll/reward_std"].values, 0.0)  # no bootstrap in it
    np.testing.assert_array_equal(view["train/roll/reward_mean"].values, 1.0)
    counts, shares = view["train/roll/episodes"], view["train/roll/truncated_share"]
    told = dict(zip(shares.env_steps, shares.values, strict=True))
    truncated = sum(n * told.get(at, 0.0) for at, n in zip(*counts, strict=True))
    counted = int(counts.values.sum())
    assert 0 < sum(seen.ends[:counted]) < counted
    assert truncated == pytest.approx(sum(seen.ends[:counted]))


def test_action_values_of_a_batch(tmp_path: Path) -> None:
    model = trained("DQN", tmp_path, None)
    found = value_metrics(model)
    batch = model.replay_buffer.sample(256)  # the generator is where it was: the same batch
    with torch.no_grad():
        q = model.q_net(batch.observations).gather(1, batch.actions)
        after = model.q_net_target(batch.next_observations).amax(1, keepdim=True)
        error = batch.rewards + model.gamma * (1 - batch.dones) * after - q
    assert found["train/metrics/q_mean"] == pytest.approx(float(q.mean()), rel=1e-5)
    assert found["train/metrics/q_max"] == pytest.approx(float(q.max()), rel=1e-5)
    assert found["train/metrics/td_error_mean"] == pytest.approx(
        float(error.abs().mean()), rel=1e-5
    )


def test_gap_to_the_returns_that_followed(tmp_path: Path) -> None:
    """Values of zero: the gap is minus the mean return; all pay 1 until the task ends at step 4."""
    model = made("DQN", tmp_path)
    for parameter in model.q_net.parameters():
        parameter.data.zero_()
    buffer = model.replay_buffer
    for i in range(40):
        done = np.array([i % 4 == 3])
        obs = np.zeros((1, 4), np.float32)
        buffer.add(obs, obs, np.zeros((1, 1)), np.ones(1), done, [{}])
    gamma = model.gamma
    by_hand = np.mean([1, 1 + gamma, 1 + gamma + gamma**2, 1 + gamma + gamma**2 + gamma**3])
    assert value_metrics(model)["train/metrics/q_gap"] == pytest.approx(-by_hand, rel=1e-5)


@pytest.mark.parametrize("name", ["SAC", "TD3"])
def test_td_error_is_that_of_the_loss(name: str, tmp_path: Path) -> None:
    """The critics' loss that SB3 logs, less what noise makes of it."""
    model = trained(name, tmp_path, Recorder())
    loss = np.mean(column(tmp_path, "train/critic_loss")[-4:])
    errors = np.array(column(tmp_path, "dressage/train/metrics/td_error_mean")[-4:])
    weight = 0.5 if name == "SAC" else 1.0
    assert 0.3 < weight * 2 * np.mean(errors**2) / loss < 1.3  # two critics; E|x|^2 <= E x^2
    assert model.num_timesteps == 160


def test_steps_of_weights_and_units_that_sleep() -> None:
    policy = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    with torch.no_grad():
        policy[0].weight.fill_(1.0)
        policy[0].bias.copy_(torch.tensor([0.0, 0.0, 0.0, -100.0]))  # one of four never wakes
    policy.optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    (of,) = stepped(type("Model", (), {"policy": policy, "max_grad_norm": 10.0}))
    watch = Watch(of)
    before = torch.cat([p.detach().reshape(-1) for p in policy.parameters()]).clone()
    policy(torch.ones(8, 2)).sum().backward()
    gradient = torch.cat([p.grad.reshape(-1) for p in policy.parameters()])
    policy.optimizer.step()
    (measured,), looked = watch.take()
    assert float(measured["train/metrics/grad_norm/q"]) == pytest.approx(float(gradient.norm()))
    assert float(looked["train/metrics/dormant_share/q"]) == 0.25
    assert float(looked["train/metrics/weight_norm/q"]) == pytest.approx(float(before.norm()))
    moved = 0.1 * float(gradient.norm() / before.norm())
    assert float(looked["train/metrics/update_to_weight/q"]) == pytest.approx(moved, rel=1e-4)
    watch.remove()
    sizes = {
        "a": [torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0])]
    }  # two members of an ensemble
    assert float(dormant_share(sizes)) == 0.0


def test_divergence_of_an_update(tmp_path: Path) -> None:
    """Every action a tenth of a nat less likely than before: k3 is exp(-0.1) - 1 + 0.1."""
    model = made("A2C", tmp_path)
    rollouts = Rollouts(model, ActionCodec.from_space(model.action_space), 1)
    obs, actions = np.zeros((4, 2, 4), np.float32), np.ones((4, 2, 1), np.float32)
    with torch.no_grad():
        _, now, _ = model.policy.evaluate_actions(torch.zeros(8, 4), torch.ones(8))
    rollouts.newest = obs, actions, now.numpy().reshape(4, 2) + 0.1
    rollouts.updated(1)
    found = rollouts.take({"train/entropy_loss": -0.5})
    assert found["train/metrics/kl_divergence"] == pytest.approx(np.exp(-0.1) - 0.9, rel=1e-4)


def test_a_frozen_policy_has_a_gradient_of_zero(tmp_path: Path) -> None:
    model = made("A2C", tmp_path)
    for name, parameter in model.policy.named_parameters():
        parameter.requires_grad_("value" in name)
    model.learn(128, callback=Recorder(), log_interval=1)
    assert set(column(tmp_path, "dressage/train/metrics/grad_norm/policy")) == {0.0}
    assert min(column(tmp_path, "dressage/train/metrics/grad_norm/value")) > 0.0


# -- surroundings --------------------------------------------------------------------------------


def test_normalised_environments(tmp_path: Path) -> None:
    env = VecNormalize(DummyVecEnv([limited("Pendulum-v1")] * 2), gamma=0.9)
    model = made("PPO", tmp_path, env)
    model.learn(256, callback=Recorder(), log_interval=1)
    view = view_of(tmp_path)
    assert view["train/roll/obs_std"].values[-1] == pytest.approx(1.0, abs=0.35)
    assert abs(view["train/roll/reward_mean"].values[-1]) < 3.0  # Pendulum itself pays -5 to -8
    assert -10.0 < view["train/roll/raw_reward_mean"].values[-1] < -4.0
    assert view["train/roll/truncated_share"].values[-1] == 1.0
    assert view.config["normalize_obs"] is True and view.config["normalize_reward"] is True
    assert view.spec["action"]["leaves"][0]["high"] == [2.0]

    off = made("SAC", tmp_path / "off", VecNormalize(DummyVecEnv([limited("Pendulum-v1")] * 2)))
    off.learn(160, callback=Recorder(), log_interval=1)
    view = view_of(tmp_path / "off")
    assert abs(view["train/roll/reward_mean"].values[-1]) < 3.0
    assert -10.0 < view["train/roll/raw_reward_mean"].values[-1] < -4.0


def test_workers(tmp_path: Path) -> None:
    env = SubprocVecEnv([limited("CartPole-v1")] * 2, start_method="fork")
    try:
        made("PPO", tmp_path, env).learn(128, callback=Recorder("CartPole-v1"), log_interval=1)
    finally:
        env.close()
    view = view_of(tmp_path)
    assert view.env == "CartPole-v1" and view["train/metrics/grad_norm/policy"]


def test_learning_on_and_leaving_nothing_behind(tmp_path: Path) -> None:
    model, recorder = made("PPO", tmp_path), Recorder()
    for part in range(3):
        model.learn(96, callback=recorder, log_interval=1, reset_num_timesteps=part == 0)
        assert len(model.logger.output_formats) == 1
        assert not model.policy.optimizer._optimizer_step_pre_hooks
        assert not any(layer._forward_hooks for layer in model.policy.modules())
        assert not any(p._post_accumulate_grad_hooks for p in model.policy.parameters())
    view = view_of(tmp_path)
    assert view["train/roll/obs_std"].env_steps[-1] == 288
    assert view.config["env_steps"] == 288


def test_evaluations_are_no_collecting(tmp_path: Path) -> None:
    class Slow(gym.Wrapper):  # type: ignore[type-arg]
        def reset(self, **kwargs: Any) -> Any:
            import time

            time.sleep(0.02)
            return super().reset(**kwargs)

    beside = DummyVecEnv([lambda: Slow(limited("CartPole-v1")())])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge = EvalCallback(beside, n_eval_episodes=5, eval_freq=40, verbose=0)
        trained("A2C", tmp_path, [Recorder(), judge])
    seconds = sum(column(tmp_path, "dressage/sys/time/evaluate"))
    assert 0.1 * 3 <= seconds < 3.0
    assert sum(column(tmp_path, "dressage/sys/time/collect")) < seconds + 2.0


def test_tables_for_people_stay_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = made("PPO", tmp_path)
    model.set_logger(configure(str(tmp_path), ["stdout", "log", "csv"]))
    model.learn(96, callback=Recorder(), log_interval=1)
    assert "rollout/" in capsys.readouterr().out
    assert "dressage" not in (tmp_path / "log.txt").read_text()


def test_what_cannot_be_measured_is_told_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = made("PPO", tmp_path)
    monkeypatch.setattr("dressage.sb3.rollouts.rollout_metrics", lambda buffer: 1 / 0)
    with pytest.warns(UserWarning, match="could not measure: ZeroDivisionError") as told:
        model.learn(128, callback=Recorder(), log_interval=1)
    once = [one for one in told if "could not measure" in str(one.message)]
    assert len(once) == 1 and model.num_timesteps == 128
    assert view_of(tmp_path)["train/metrics/grad_norm/policy"]


def test_a_log_for_nobody_is_told(tmp_path: Path) -> None:
    model = made("PPO", tmp_path)
    model.set_logger(configure(str(tmp_path), ["stdout"]))
    with pytest.warns(UserWarning, match="nowhere to write"):
        model.learn(32, callback=Recorder(), log_interval=1)


def test_settings_beside_the_log(tmp_path: Path) -> None:
    model = made("PPO", tmp_path, learning_rate=lambda left: 1e-3 * left, clip_range=0.3)
    model.learn(32, callback=Recorder())
    told = json.loads((tmp_path / "dressage.json").read_text())
    assert told["versions"]["stable_baselines3"] == sb3.__version__
    assert told["wrappers"][:2] == ["DummyVecEnv", "Monitor"] and "TimeLimit" in told["wrappers"]
    view = view_of(tmp_path)
    assert view.config["learning_rate"] == "linear(0.001, 0)" and view.config["clip_range"] == 0.3
    assert view.config["n_envs"] == 2 and view.budget == 32 and view.env == "CartPole-v1"
    assert view.spec["time_limit"] == 25
    td3 = made("TD3", tmp_path / "td3").learn(50, callback=Recorder())
    assert td3 is not None
    config = view_of(tmp_path / "td3").config
    assert config["noise_std"] == 0.1 and config["train_freq"] == 1 and config["seed"] == 3


def test_it_is_found_where_the_hint_says() -> None:
    import dressage

    assert dressage.sb3.Recorder is Recorder


@pytest.mark.parametrize("content", ["[]", "{", '{"settings": 3}', '{"settings": {"env": [1]}}'])
def test_a_damaged_file_of_settings_costs_a_sentence(content: str, tmp_path: Path) -> None:
    (tmp_path / "progress.csv").write_text("time/total_timesteps,rollout/ep_rew_mean\n10,1\n")
    (tmp_path / "dressage.json").write_text(content)
    view = view_of(tmp_path)
    assert view["train/roll/ep_rew_mean"] and view.env is None
    assert any("dressage.json" in note for note in view.notes) or "env" in content


def test_schedules_in_numbers() -> None:
    assert schedule(lambda left: 0.1) == 0.1
    early = schedule(lambda left: 1e-3 * max(0.0, 1.0 - (1.0 - left) / 0.25))
    assert early == {"start": 1e-3, "end": 0.0, "to": pytest.approx(0.25), "schedule": "linear"}
    assert schedule(lambda left: 1e-3 * left**2)["schedule"] == "other"

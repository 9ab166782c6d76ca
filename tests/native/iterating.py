"""The same iterations twice: by the Python Collector and numpy, and by iterate.c."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from dressage.algos import on_policy
from dressage.core.collector import Acted, Collector, Episode
from dressage.core.memory import Rollout
from dressage.core.normalizer import ObsNormalizer, RewardNormalizer
from dressage.core.rng import stream_key
from dressage.core.steps import Steps
from dressage.core.summaries import experience_metrics
from dressage.native import library, structs
from dressage.native.env_batch import NativeBatch
from dressage.native.face import Int64, Pointer
from dressage.native.iteration import ROLLED
from dressage.native.rng import NativeRng

ENVS = {
    "Acrobot-v1": 20,  # env steps of an episode: short, so that the clock ends many of them
    "CartPole-v1": 15,
    "MountainCar-v0": 7,
    "MountainCarContinuous-v0": 9,
    "Pendulum-v1": 11,
}
# log and exp are numpy's and torch's there, the C library's here: the last bit may differ
ROUNDED = {"action_entropy", "policy_std"}


def kernel(name: str, kinds: list[Any], result: Any = None) -> Any:
    return library().kernel(name, "f32", kinds, result)


def pointer(array: np.ndarray) -> int:
    assert array.flags.c_contiguous
    return int(array.ctypes.data)


@dataclass
class Setting:
    """One way of learning; both sides are made from it."""

    env: str = "CartPole-v1"
    n_envs: int = 5
    n_steps: int = 12
    time_limit: int | None = None
    normalize_obs: bool = False
    normalize_reward: bool = False
    normalize_batch: bool = False
    shuffle: bool = True
    batch_size: int | None = None
    n_epochs: int = 2
    target_kl: float = 0.0
    family: str = "ppo"
    shared: bool = False
    squash: bool = False
    activation: str = "tanh"
    n_threads: int = 1
    seed: int = 3
    widths: tuple[int, ...] = (24, 17)
    gamma: float = 0.97
    gae_lambda: float = 0.9
    categories: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.categories = np.array(self.batch().action_codec.categories, np.int32)

    def batch(self) -> NativeBatch:
        limit = ENVS[self.env] if self.time_limit is None else self.time_limit
        return NativeBatch(self.env, self.n_envs, time_limit=limit)

    def shape(self) -> structs.NetShape:
        widths = (ctypes.c_int32 * structs.MOST_LAYERS)(*self.widths)
        return structs.NetShape(
            obs_size=self.batch().obs.shape[1],
            shared=self.shared,
            activation=structs.ACTIVATIONS.index(self.activation),
            policy_depth=len(self.widths),
            value_depth=len(self.widths),
            policy_widths=widths,
            value_widths=widths,
            n_choices=len(self.categories),
            continuous=1 - len(self.categories),
            squash=self.squash,
            categories=pointer(self.categories),
        )

    def update(self) -> structs.UpdateSettings:
        settings = structs.UpdateSettings(
            learning_rate=(ctypes.c_double * 3)(1e-3, 2e-3, 1e-3),
            max_grad_norm=0.5,
            target_kl=self.target_kl,
            batch_size=self.batch_size or self.n_envs * self.n_steps,
            n_epochs=self.n_epochs,
            n_threads=self.n_threads,
            inspect=1,
        )
        settings.loss.family = structs.FAMILIES.index(self.family)
        settings.loss.normalize_advantage = not self.normalize_batch
        settings.loss.clip_range, settings.loss.vf_coef = 0.2, 0.5
        settings.optimizer.beta1, settings.optimizer.beta2 = 0.9, 0.999
        settings.optimizer.eps = 1e-5
        return settings

    def parameters(self) -> np.ndarray:
        starts = np.empty(len(structs.CHUNKS) + 1, np.int64)
        call = kernel("net_starts", [Pointer, Pointer], ctypes.c_int)
        assert call(ctypes.byref(self.shape()), pointer(starts)) == 0
        random = np.random.default_rng(self.seed)
        return (random.normal(size=starts[-1]) * 0.4).astype(np.float32)

    def cfg(self) -> Any:
        return SimpleNamespace(
            gamma=self.gamma,
            gae_lambda=self.gae_lambda,
            normalize_advantage="batch" if self.normalize_batch else "off",
        )


class Weights:
    """Parameters and the optimizer's numbers."""

    def __init__(self, setting: Setting) -> None:
        self.parameters = setting.parameters()
        self.first, self.second = (np.zeros_like(self.parameters) for _ in range(2))
        self.state = structs.LearnerState(*(pointer(x) for x in self.arrays()), 0)

    def arrays(self) -> list[np.ndarray]:
        return [self.parameters, self.first, self.second]


class Reference:
    """Collector.collect, on_policy.prepare and Rollout's shuffles; networks and update from C."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.weights, self.rng = setting, Weights(setting), NativeRng(setting.seed)
        batch = setting.batch()
        self.collector = Collector(
            batch,
            self.rng,
            obs_normalizer=ObsNormalizer(batch.obs.shape[1], 3.0)
            if setting.normalize_obs
            else None,
            reward_normalizer=RewardNormalizer(setting.n_envs, 0.95, 2.0)
            if setting.normalize_reward
            else None,
        )
        self.collector.start()
        self.memory = Rollout(setting.batch_size if setting.shuffle else None, setting.n_epochs)
        self.shape = setting.shape()
        size = kernel("policy_bytes", [Pointer], Int64)(ctypes.byref(self.shape))
        self.policy = np.full(size, 0xFF, np.uint8)
        self.updated = structs.UpdateMetrics()
        self.episodes: list[Episode] = []

    def act(self, obs: Any, carry: Any, mask: Any, index: int) -> Acted:
        n, choices = len(obs), self.shape.n_choices
        uniform = self.rng.uniform("act/choice", (n, choices), index)
        normal = self.rng.normal("act/normal", (n, self.shape.continuous), index)
        action = np.empty((n, 1), np.float32)
        log_prob, value = np.empty(n, np.float32), np.empty(n, np.float32)
        kernel("policy_act", [Pointer, Int64, *[Pointer] * 7])(
            pointer(self.policy),
            n,
            pointer(np.ascontiguousarray(obs)),
            None,
            pointer(uniform) if choices else None,
            None if choices else pointer(normal),
            *(pointer(x) for x in (action, log_prob, value)),
        )
        return Acted(action, None, {"log_prob": log_prob, "value": value})

    def values(self, obs: Any) -> Any:
        out, rows = np.empty(len(obs), np.float32), np.ascontiguousarray(obs.numpy())
        call = kernel("policy_values", [Pointer, Int64, Pointer, Pointer])
        call(pointer(self.policy), len(rows), pointer(rows), pointer(out))
        return torch.from_numpy(out)[:, None]

    def learner(self) -> Any:
        """As much of a learner as on_policy.prepare looks at."""
        policy = SimpleNamespace(
            continuous=self.shape.continuous, log_std=torch.tensor(self.log_std())
        )
        net = SimpleNamespace(
            features=lambda x: (None, x), value={"head": self.values}, policy={"head": policy}
        )
        return SimpleNamespace(nets={"actor_critic": net}, device="cpu")

    def log_std(self) -> list[float]:
        if not self.shape.continuous:
            return []
        inputs, at = self.shape.obs_size, 0
        for width in self.setting.widths:
            at += (inputs + 1) * width
            inputs = width
        return [float(self.weights.parameters[0 if self.setting.shared else at])]

    def collect(self) -> tuple[Steps, dict[str, float]]:
        call = kernel("policy_load", [Pointer] * 3)
        call(ctypes.byref(self.shape), pointer(self.weights.parameters), pointer(self.policy))
        steps = self.collector.collect(self.act, self.setting.n_steps)
        metrics = experience_metrics(steps, self.collector.batch.action_codec)
        steps, prepared = on_policy.prepare(self.learner(), steps, self.setting.cfg())
        self.episodes = self.collector.take_episodes()
        return steps, metrics | prepared

    def update(self, steps: Steps) -> int:
        setting, settings = self.setting, self.setting.update()
        rows = steps.reward.size
        order = None
        if setting.shuffle:
            epochs = range(self.memory.epochs, self.memory.epochs + setting.n_epochs)
            order = np.stack([self.rng.permutation("minibatch", rows, e) for e in epochs]).astype(
                np.int32
            )
        x = steps.extras
        names = ("log_prob", "value", "advantage", "returns")
        arrays = [np.ascontiguousarray(a) for a in (steps.obs, steps.action)]
        given = [np.ascontiguousarray(x[name]) for name in names]
        data = structs.RolloutRows(rows=rows, obs=pointer(arrays[0]), action=pointer(arrays[1]))
        for name, array in zip(names, given, strict=True):
            setattr(data, name, pointer(array))
        data.order = None if order is None else pointer(order)
        size = kernel("update_bytes", [Pointer, Pointer, Int64], Int64)(
            ctypes.byref(self.shape), ctypes.byref(settings), rows
        )
        memory = np.empty(size, np.uint8)
        done = int(
            kernel("update_epochs", [Pointer] * 6, Int64)(
                *(ctypes.byref(s) for s in (self.shape, settings, data, self.weights.state)),
                ctypes.byref(self.updated),
                pointer(memory),
            )
        )
        if setting.shuffle:  # as Rollout.batches counts, when the loop over it ends early
            self.memory.epochs += -(-done // (rows // settings.batch_size))
        return done


class Engine:
    """The same in C."""

    def __init__(self, setting: Setting) -> None:
        n, rows = setting.n_envs, (setting.n_steps, setting.n_envs)
        self.setting, self.weights = setting, Weights(setting)
        batch = self.batch = setting.batch()
        rng = NativeRng(setting.seed)
        batch.reset_many(range(n), [rng.episode_seed(i, 0) for i in range(n)])
        self.state = {
            "current_obs": batch.obs,
            "current_first": np.ones(n, bool),
            "episode_index": np.ones(n, np.int64),
            "episode_length": np.zeros(n, np.int64),
            "episode_return": np.zeros(n),
            "discounted": np.zeros(n),
        }
        floats = ("action", "reward", "log_prob", "value", "advantage", "returns")
        self.rollout = {name: np.full(rows, np.nan, np.float32) for name in floats}
        self.rollout |= {name: np.zeros(rows, bool) for name in ("first", *ENDS)}
        self.rollout["obs"] = np.full((*rows, batch.obs.shape[1]), np.nan, np.float32)
        self.episodes = np.zeros(rows[0] * n, np.dtype(structs.FinishedEpisode))
        self.moments = {
            "obs_moments": np.zeros((2, batch.obs.shape[1])),
            "reward_moments": np.zeros((2, 1)),
        }
        it = self.it = structs.Iteration(
            shape=setting.shape(),
            update=setting.update(),
            gamma=setting.gamma,
            gae_lambda=setting.gae_lambda,
            normalize_batch=setting.normalize_batch,
            shuffle=setting.shuffle,
            envs=batch.handle,
            n_envs=n,
            n_steps=setting.n_steps,
            seed=setting.seed,
            choice_stream=stream_key("act/choice"),
            normal_stream=stream_key("act/normal"),
            episode_stream=stream_key("episode"),
            minibatch_stream=stream_key("minibatch"),
            reward_gamma=0.95,
            obs_clip=3.0,
            reward_clip=2.0,
            episodes=pointer(self.episodes),
        )
        if batch.action_codec.continuous:
            it.action_low, it.action_high = batch.action_codec.low[0], batch.action_codec.high[0]
        for name, array in (self.state | self.rollout).items():
            setattr(it, name, pointer(array))
        for name, wanted in (("obs", setting.normalize_obs), ("reward", setting.normalize_reward)):
            mean, m2 = self.moments[f"{name}_moments"]
            moments = structs.RunningMoments(0, mean.size * wanted, pointer(mean), pointer(m2))
            setattr(it, f"{name}_moments", moments)
        it.learner = self.weights.state
        size = kernel("iterate_bytes", [Pointer], Int64)(ctypes.byref(it))
        assert size > 0
        self.memory = np.full(size, 0xFF, np.uint8)  # NaNs: nothing may be read before written

    def collect(self) -> None:
        for phase in ("iterate_collect", "iterate_prepare"):
            call = kernel(phase, [Pointer, Pointer], ctypes.c_int)
            assert call(ctypes.byref(self.it), pointer(self.memory)) == 0

    def finished(self) -> list[Episode]:
        return [Episode(*row) for row in self.episodes[: self.it.n_episodes].tolist()]


ENDS = ("terminated", "truncated")


def same(ours: np.ndarray, theirs: Any, name: str) -> None:
    """Equal bits."""
    theirs = np.ascontiguousarray(theirs)
    assert ours.dtype == theirs.dtype, name
    np.testing.assert_array_equal(ours, theirs.reshape(ours.shape), err_msg=name)
    assert ours.tobytes() == theirs.tobytes(), name


def compare(engine: Engine, reference: Reference, steps: Steps, metrics: dict[str, float]) -> None:
    """The rollout, what goes on to the next one, episodes and metrics."""
    for name in ("obs", "action", "reward", *ENDS):
        same(engine.rollout[name], getattr(steps, name), name)
    for name in ("first", "log_prob", "value", "advantage", "returns"):
        same(engine.rollout[name], steps.extras[name], name)
    collector, it = reference.collector, engine.it
    same(engine.state["current_obs"], collector.batch.obs, "current_obs")
    same(engine.state["current_first"], collector.first, "current_first")
    for name in ("episode_index", "episode_length", "episode_return"):
        same(engine.state[name], getattr(collector, name), name)
    assert it.vector_steps == collector.vector_steps
    pairs = (("obs", collector.obs_normalizer), ("reward", collector.reward_normalizer))
    for name, normalizer in pairs:
        if normalizer is None:
            continue
        found, known = getattr(it, f"{name}_moments"), normalizer.moments
        assert found.count == known.count
        same(engine.moments[f"{name}_moments"][0], known.mean.reshape(-1), f"{name} mean")
        same(engine.moments[f"{name}_moments"][1], known.m2.reshape(-1), f"{name} m2")
    if collector.reward_normalizer is not None:
        same(engine.state["discounted"], collector.reward_normalizer.discounted, "discounted")
    ours, theirs = engine.finished(), reference.episodes
    assert [e._replace(success=0) for e in ours] == [e._replace(success=0) for e in theirs]
    assert all(np.isnan(e.success) for e in ours)
    for field_name, name in ROLLED.items():
        value = getattr(it.rolled, field_name)
        if name not in metrics:
            assert np.isnan(value), name
        elif field_name in ROUNDED:
            np.testing.assert_allclose(value, metrics[name], rtol=1e-6, err_msg=name)
        else:
            np.testing.assert_equal(value, metrics[name], err_msg=name)

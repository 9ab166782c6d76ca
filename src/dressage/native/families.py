"""What differs between the native off-policy algorithms: networks, acting, settings, metrics."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dressage.core.algorithm import Task
from dressage.core.collector import Acted
from dressage.core.replay import Replay
from dressage.core.replay.due import random_now
from dressage.core.rng import Rng, stream_key
from dressage.core.spec import bounded_actions
from dressage.explore.action_noise import ActionNoise, action_noise, explored, remembered
from dressage.explore.choices import ChoiceNoise, choice_noise, choose
from dressage.native.face import library
from dressage.native.network import Floats
from dressage.native.off_learner import OffPolicyLearner, Part, temperature
from dressage.native.off_structs import OFF_FAMILIES, PARTS, OffPolicyCall, OffRounds
from dressage.native.structs import Int64, Pointer
from dressage.native.towers import Tower

Bools = npt.NDArray[np.bool_]
LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0  # of nets/continuous.py, which imports torch


class ActorNoise(NamedTuple):
    """Random numbers for acting in N environments: `[N, A]`; `uniform` while all is random."""

    normal: Floats
    uniform: Floats | None


class Family(ABC):
    """One of off_policy.h's families, for one task."""

    def __init__(self, task: Task, cfg: Any) -> None:
        self.task, self.cfg, self.action = task, cfg, task.spec.action
        self.obs_size: int = task.spec.obs_shapes[0]

    @abstractmethod
    def parts(self) -> dict[str, Part]:
        """The networks, with their first weights."""

    @abstractmethod
    def noise(self, rng: Rng, index: int, n_envs: int, cfg: Any) -> Any: ...

    @abstractmethod
    def act(
        self, learner: OffPolicyLearner, obs: Floats, carry: Any, mask: Bools | None, noise: Any
    ) -> Acted: ...

    @abstractmethod
    def settings(self, call: OffPolicyCall, memory: Replay, cfg: Any) -> None:
        """Fills in what is the family's own."""

    def exploration(self, r: OffRounds, cfg: Any) -> None:
        """The same for acting in native environments."""
        r.target_every = 0

    @abstractmethod
    def values(self, learner: OffPolicyLearner, obs: Floats, action: Floats) -> Floats:
        """Of what was done: `[N]`."""

    @abstractmethod
    def drift(self, learner: OffPolicyLearner, obs: Floats, action: Floats) -> float:
        """How far the values and those of the slow copy are apart."""

    @abstractmethod
    def losses(self, call: OffPolicyCall) -> dict[str, dict[str, float]]:
        """The metrics of each part that was stepped, before those that all steps have."""

    def carry_size(self) -> int:
        return 0

    def extra_metrics(self) -> dict[str, float]:
        """What else the last part's step tells."""
        return {}

    def part(self, net: str, group: str, tower: Tower, target: str | None) -> Part:
        rng, ortho = self.task.rng, self.cfg.ortho_init
        return Part(net, group, tower, tower.first_values(net, rng, ortho), target)


def td_metrics(call: OffPolicyCall) -> dict[str, float]:
    """off_policy.td_metrics, over the updates of a call."""
    v = call.values
    return {
        "train/metrics/q_mean": v.q_mean / v.updates,
        "train/metrics/q_max": v.q_max,
        "train/metrics/td_error_mean": v.error_mean / v.updates,
        "train/metrics/td_error_max": v.error_max,
    }


class Choices(Family):
    """algos/dqn.py, and what its relatives share with it."""

    kernel = "dqn"
    atoms = 1  # numbers of a value

    def parts(self) -> dict[str, Part]:
        cfg, heads = self.cfg, {"advantage": (sum(self.action.categories) * self.atoms, 1.0)}
        if cfg.dueling:
            heads["value"] = (self.atoms, 1.0)
        self.categories = np.array(self.action.categories, np.int32)  # C keeps its address
        self.outputs = OffPolicyCall(family=OFF_FAMILIES.index(self.kernel))
        self.describe_outputs(self.outputs)
        arguments = [Pointer, Int64, Pointer, Pointer]
        self._expected = library().kernel("choice_values", "f32", arguments)
        tower = Tower(self.obs_size, cfg.net_arch, heads, cfg)
        return {"critic": self.part("q", "all", tower, "target")}

    def noise(self, rng: Rng, index: int, n_envs: int, cfg: Any) -> ChoiceNoise:
        epsilon = 1.0 if random_now(cfg, index, n_envs) else cfg.epsilon
        return choice_noise(rng, index, n_envs, self.action.categories, epsilon, cfg.temperature)

    def act(
        self, learner: OffPolicyLearner, obs: Floats, carry: Any, mask: Bools | None, noise: Any
    ) -> Acted:
        q = self._all_values(learner, obs)
        return Acted(choose(q, self.action.categories, mask, noise), None, {})

    def describe_outputs(self, call: OffPolicyCall) -> None:
        """What C must know to read values out of the network's outputs."""
        call.n_choices, call.categories = self.categories.size, self.categories.ctypes.data
        call.atoms, call.dueling = self.atoms, self.cfg.dueling

    def settings(self, call: OffPolicyCall, memory: Replay, cfg: Any) -> None:
        self.describe_outputs(call)
        call.double_q = cfg.double
        call.parts[0].learning_rate = cfg.learning_rate
        n_envs, every = memory.ring.n_envs, cfg.target_update_interval
        now = memory.ring.high * n_envs
        call.follow_last = now // every > (now - cfg.train_freq * n_envs) // every

    def exploration(self, r: OffRounds, cfg: Any) -> None:
        r.epsilon, r.temperature = cfg.epsilon, cfg.temperature
        r.target_every = cfg.target_update_interval

    def _all_values(self, learner: OffPolicyLearner, obs: Floats, target: bool = False) -> Floats:
        """`[N, D] -> [N, choices]`."""
        outputs = learner.values("critic", obs, target)[0]
        q: Floats = np.empty((len(outputs), sum(self.action.categories)), np.float32)
        which = ctypes.byref(self.outputs)
        self._expected(which, len(q), outputs.ctypes.data, q.ctypes.data)
        return q

    def values(self, learner: OffPolicyLearner, obs: Floats, action: Floats) -> Floats:
        starts = np.cumsum([0, *self.action.categories[:-1]])
        index = action.astype(np.int64) + starts
        q: Floats = np.take_along_axis(self._all_values(learner, obs), index, 1).mean(-1)
        return q

    def drift(self, learner: OffPolicyLearner, obs: Floats, action: Floats) -> float:
        apart = self._all_values(learner, obs) - self._all_values(learner, obs, target=True)
        return float(np.abs(apart).mean())

    def losses(self, call: OffPolicyCall) -> dict[str, dict[str, float]]:
        v = call.values
        return {"critic": td_metrics(call) | {"train/loss/td": v.loss / v.updates}}


class Quantiles(Choices):
    """algos/qr_dqn.py."""

    kernel = "qr_dqn"

    def __init__(self, task: Task, cfg: Any) -> None:
        super().__init__(task, cfg)
        self.atoms = cfg.n_quantiles

    def settings(self, call: OffPolicyCall, memory: Replay, cfg: Any) -> None:
        super().settings(call, memory, cfg)
        call.kappa = cfg.kappa


class Categorical(Choices):
    """algos/c51.py."""

    kernel = "c51"

    def __init__(self, task: Task, cfg: Any) -> None:
        super().__init__(task, cfg)
        self.atoms = cfg.n_atoms

    def describe_outputs(self, call: OffPolicyCall) -> None:
        super().describe_outputs(call)
        call.v_min, call.v_max = self.cfg.v_min, self.cfg.v_max

    def losses(self, call: OffPolicyCall) -> dict[str, dict[str, float]]:
        v, found = call.values, super().losses(call)
        found["critic"]["train/metrics/clipped_atoms"] = v.clipped_atoms / v.updates
        return found


class ActorCritics(Family):
    """What SAC, TQC, TD3 and DDPG share: critics of observations with actions."""

    heads: tuple[str, ...]  # of the actor
    actor_target: str | None

    def parts(self) -> dict[str, Part]:
        cfg, size = self.cfg, self.action.continuous
        arch = cfg.net_arch
        widths = arch if isinstance(arch, dict) else {"policy": arch, "value": arch}
        heads = dict.fromkeys(self.heads, (size, 0.01))
        actor = Tower(self.obs_size, widths["policy"], heads, cfg)
        inputs, head = self.obs_size + self.action.size, {"": (self.critic_outputs(), 1.0)}
        critic = Tower(inputs, widths["value"], head, cfg, members=cfg.n_critics)
        return {
            "actor": self.part("actor", "actor", actor, self.actor_target),
            "critic": self.part("critic", "critic", critic, "target"),
        }

    def critic_outputs(self) -> int:
        """Whose mean is the value."""
        return 1

    def settings(self, call: OffPolicyCall, memory: Replay, cfg: Any) -> None:
        own = cfg.value_learning_rate
        for i, name in enumerate(PARTS):
            slow = name == "critic" and own is not None
            call.parts[i].learning_rate = own if slow else cfg.learning_rate

    def values(self, learner: OffPolicyLearner, obs: Floats, action: Floats) -> Floats:
        q: Floats = self._critics(learner, obs, action).min(0)
        return q

    def _critics(
        self, learner: OffPolicyLearner, obs: Floats, action: Floats, target: bool = False
    ) -> Floats:
        """`[E, N]`"""
        inputs = np.concatenate((obs, action), -1)
        q: Floats = learner.values("critic", inputs, target).mean(-1)
        return q

    def drift(self, learner: OffPolicyLearner, obs: Floats, action: Floats) -> float:
        fast, slow = (self._critics(learner, obs, action, target) for target in (False, True))
        return float(np.abs(fast - slow).mean())

    def losses(self, call: OffPolicyCall) -> dict[str, dict[str, float]]:
        v = call.values
        critic = td_metrics(call) | {"train/loss/critic": v.loss / v.updates}
        if self.cfg.n_critics > 1:
            critic["train/metrics/critic_disagreement"] = v.disagreement / v.updates
        found = {"critic": critic}
        if v.actor_updates:
            found["actor"] = {"train/loss/actor": v.actor_loss / v.actor_updates}
        return found


class Gaussian(ActorCritics):
    """algos/sac.py."""

    heads = ("mean", "log_std")
    actor_target = None
    stream = "sac"  # of an update's noise

    def __init__(self, task: Task, cfg: Any) -> None:
        super().__init__(task, cfg)
        bounded_actions(task.spec)
        entropy = cfg.target_entropy
        self.target_entropy = -float(self.action.continuous) if entropy == "auto" else entropy

    def parts(self) -> dict[str, Part]:
        learned = {"temperature": temperature(self.cfg.ent_coef_init)}
        return super().parts() | (learned if self.cfg.ent_coef == "auto" else {})

    def noise(self, rng: Rng, index: int, n_envs: int, cfg: Any) -> ActorNoise:
        shape = n_envs, self.action.continuous
        if random_now(cfg, index, n_envs):
            uniform = 2.0 * rng.uniform("act/uniform", shape, index) - 1.0
            return ActorNoise(uniform, uniform)
        return ActorNoise(rng.normal("act/normal", shape, index), None)

    def act(
        self, learner: OffPolicyLearner, obs: Floats, carry: Any, mask: Bools | None, noise: Any
    ) -> Acted:
        if noise is not None and noise.uniform is not None:
            return Acted(noise.uniform, None, {})
        mean, log_std = np.split(learner.values("actor", obs)[0], 2, -1)
        if noise is not None:
            mean = mean + np.exp(np.clip(log_std, LOG_STD_MIN, LOG_STD_MAX)) * noise.normal
        return Acted(np.tanh(mean), None, {})

    def settings(self, call: OffPolicyCall, memory: Replay, cfg: Any) -> None:
        super().settings(call, memory, cfg)
        call.noise_stream, call.target_entropy = stream_key(self.stream), self.target_entropy
        call.learn_alpha = cfg.ent_coef == "auto"
        call.alpha = 0.0 if cfg.ent_coef == "auto" else cfg.ent_coef

    def losses(self, call: OffPolicyCall) -> dict[str, dict[str, float]]:
        v, found = call.values, super().losses(call)
        found["actor"] |= {
            "train/metrics/entropy": v.entropy / v.updates,
            "train/metrics/alpha": v.alpha / v.updates,
        }
        if call.learn_alpha:
            found["temperature"] = {"train/loss/alpha": v.alpha_loss / v.updates}
        return found

    def extra_metrics(self) -> dict[str, float]:
        if self.cfg.ent_coef != "auto":
            return {}
        return {"train/metrics/target_entropy": self.target_entropy}


class QuantileCritics(Gaussian):
    """algos/tqc.py."""

    stream = "tqc"

    def critic_outputs(self) -> int:
        return int(self.cfg.n_quantiles)

    def settings(self, call: OffPolicyCall, memory: Replay, cfg: Any) -> None:
        super().settings(call, memory, cfg)
        call.dropped = cfg.top_quantiles_to_drop_per_net


class Deterministic(ActorCritics):
    """algos/td3.py and ddpg.py."""

    heads = ("mean",)
    actor_target = "actor_target"

    def __init__(self, task: Task, cfg: Any) -> None:
        super().__init__(task, cfg)
        bounded_actions(task.spec)

    def carry_size(self) -> int:
        return remembered(self.cfg, self.action.continuous)

    def noise(self, rng: Rng, index: int, n_envs: int, cfg: Any) -> ActionNoise:
        shape = n_envs, self.action.continuous
        return action_noise(rng, index, shape, cfg, random_now(cfg, index, n_envs))

    def act(
        self, learner: OffPolicyLearner, obs: Floats, carry: Any, mask: Bools | None, noise: Any
    ) -> Acted:
        if noise is not None and noise.uniform is not None:
            return explored(noise.uniform, carry, noise, self.carry_size())
        action = np.tanh(learner.values("actor", obs)[0])
        return explored(action, carry, noise, self.carry_size())

    def settings(self, call: OffPolicyCall, memory: Replay, cfg: Any) -> None:
        super().settings(call, memory, cfg)
        call.noise_stream = stream_key("td3")
        call.smoothing = getattr(cfg, "target_policy_noise", 0.0)
        call.smoothing_clip = getattr(cfg, "target_noise_clip", 0.0)
        call.actor_every = getattr(cfg, "policy_delay", 1)

    def exploration(self, r: OffRounds, cfg: Any) -> None:
        r.noise_std = 0.0 if cfg.action_noise == "none" else cfg.noise_std


FAMILIES: dict[str, type[Family]] = {
    "dqn": Choices,
    "sac": Gaussian,
    "td3": Deterministic,
    "qr_dqn": Quantiles,
    "c51": Categorical,
    "tqc": QuantileCritics,
}
"""By the name of the kernel, as `NEEDS.native` and off_policy.h have it."""

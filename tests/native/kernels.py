"""The numeric kernels from Python, and the torch learner that they are compared with."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from dressage.algos import a2c, ppo, reinforce
from dressage.algos.actor_critic import learning_rates
from dressage.algos.on_policy import policy_change
from dressage.core.learner import Learner
from dressage.core.steps import Steps
from dressage.core.summaries import combined
from dressage.native.structs import (
    ACTIVATIONS,
    CHUNKS,
    FAMILIES,
    OPTIMIZERS,
    LearnerState,
    LossSettings,
    NetShape,
    OptimSettings,
    RolloutRows,
    UpdateMetrics,
    UpdateSettings,
)
from dressage.nets.actor_critic import ActorCritic

from .libraries import library_for

ALGOS: dict[str, Any] = {"ppo": ppo, "a2c": a2c, "reinforce": reinforce}
Int, Long, Double, Pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
METRIC_NAMES = {  # of UpdateMetrics' fields; others are called alike
    "policy": "train/loss/policy",
    "value": "train/loss/value",
    "entropy_loss": "train/loss/entropy",
    "total": "train/loss/total",
    "kl": "train/metrics/kl_divergence",
    "grad_norm_total": "train/metrics/grad_norm/total",
    "skipped": "train/metrics/skipped_updates",
}


def address(array: np.ndarray | None) -> int | None:
    if array is None:
        return None
    assert array.flags.c_contiguous
    return array.ctypes.data


def real_of(dtype: Any) -> str:
    return {"float32": "f32", "float64": "f64"}[np.dtype(dtype).name]


def kernel(name: str, dtype: Any, result: Any = None) -> Any:
    """The C function, for calls with ctypes' own arguments."""
    real = real_of(dtype)
    found = library_for(real).kernel(name, real, [], result)
    found.argtypes = None
    return found


def net_shape(
    obs_size: int,
    categories: Sequence[int] = (),
    continuous: int = 0,
    policy: Sequence[int] = (64, 64),
    value: Sequence[int] | None = None,
    activation: str = "tanh",
    layer_norm: bool = False,
    shared: bool = False,
    squash: bool = False,
) -> Any:
    value = policy if value is None else value
    kept = np.array(categories, np.int32)
    shape = NetShape(
        obs_size,
        shared,
        ACTIVATIONS.index(activation),
        layer_norm,
        len(policy),
        len(value),
        (Int * 8)(*policy),
        (Int * 8)(*value),
        len(categories),
        continuous,
        squash,
        address(kept),
    )
    shape.kept = kept  # the structure holds its address only
    return shape


class Case:
    """One setting: the torch learner in `dtype`, the same for C, and a rollout for both."""

    def __init__(
        self,
        family: str = "ppo",
        obs_size: int = 5,
        categories: Sequence[int] = (),
        continuous: int = 0,
        masked: bool = False,
        rows: int = 96,
        batch_size: int | None = None,
        dtype: Any = np.float64,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self.family, self.dtype, self.rows = family, np.dtype(dtype), rows
        self.obs_size, self.categories, self.continuous = obs_size, tuple(categories), continuous
        self.cfg: Any = ALGOS[family].Config(**settings)
        self.batch_size = batch_size or rows
        self.random = np.random.default_rng(seed)
        self.learner = self._learner(seed)
        self.net = self.learner.nets["actor_critic"]
        arch = self.cfg.net_arch
        widths = arch if isinstance(arch, dict) else {"policy": arch, "value": arch}
        self.shape = net_shape(
            obs_size,
            categories,
            continuous,
            widths["policy"],
            widths["value"],
            self.cfg.activation,
            self.cfg.layer_norm,
            self.cfg.share_features,
            self.cfg.squash,
        )
        self.data = self._rollout(masked)

    def _learner(self, seed: int) -> Learner:
        action = SimpleNamespace(categories=self.categories, continuous=self.continuous)
        spec: Any = SimpleNamespace(obs_shapes=(self.obs_size,), action=action)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = ActorCritic(spec, self.cfg).to(getattr(torch, self.dtype.name))
            with torch.no_grad():  # constants (layer norms, deviations) would hide mistakes
                for parameter in net.parameters():
                    parameter += 0.1 * torch.randn_like(parameter)
        learner = Learner()
        learner.add_net("actor_critic", net)
        chunks = net.chunks()
        if self.family == "reinforce":  # as its init does
            value = {"value": chunks.pop("value")}
            learner.add_group("policy", chunks, self.cfg)
            if self.cfg.baseline:
                learner.add_group("value", value, self.cfg)
            return learner
        learner.add_group("all", chunks, self.cfg)
        learner.set_optimizer("all", self.cfg, learning_rates(learner, self.cfg))
        return learner

    def _rollout(self, masked: bool) -> dict[str, np.ndarray]:
        """Rows whose ratios and values fall on both sides of every clip."""
        r, n = self.random, self.rows
        mask = None
        if masked:
            mask = r.random((n, sum(self.categories))) < 0.6
        parts, start = [], 0
        for k in self.categories:
            weight = r.random((n, k))
            if mask is not None:
                allowed = mask[:, start : start + k]
                allowed[np.arange(n), r.integers(0, k, n)] = True
                weight = weight * allowed
                start += k
            parts.append(weight.argmax(-1)[:, None].astype(float))
        if self.continuous:
            x = r.normal(size=(n, self.continuous))
            parts.append(np.tanh(x) if self.cfg.squash else x)
            if self.cfg.squash and self.dtype == np.float64:  # floats end at 1 - 6e-8
                parts[-1][0] = 1.0  # a bound, which has no Gaussian number behind it
        data = {"obs": r.normal(size=(n, self.obs_size)), "action": np.concatenate(parts, -1)}
        data = {name: np.ascontiguousarray(x, self.dtype) for name, x in data.items()}
        if mask is not None:
            data["mask"] = mask
        with torch.no_grad():
            out = self.net(
                torch.from_numpy(data["obs"]), None if mask is None else torch.from_numpy(mask)
            )
            log_prob = out.actions.log_prob(torch.from_numpy(data["action"])).numpy()
            value = out.value.numpy()
        more = {
            "log_prob": log_prob + r.normal(size=n) * 0.3,
            "value": value + r.normal(size=n) * 0.3,
            "advantage": r.normal(size=n) * 2 + 0.5,
            "returns": value + r.normal(size=n),
            "weight": (r.random(n) < 0.8) * 1.25,
        }
        return data | {name: x.astype(self.dtype) for name, x in more.items()}

    def parameters(self) -> np.ndarray:
        """All chunks, those too that no optimizer knows."""
        chunks = self.net.chunks().values()
        flat = [p.detach().numpy().ravel() for chunk in chunks for p in chunk.parameters()]
        return np.concatenate(flat).astype(self.dtype)

    def families(self) -> tuple[str, ...]:
        """The losses of one update, each of which has an optimizer of its own."""
        both = self.family == "reinforce" and self.cfg.baseline
        return ("reinforce", "baseline") if both else (self.family,)

    def gradient(self, family: str) -> tuple[np.ndarray, float]:
        """Torch's gradient of what the loss's optimizer steps, and the loss."""
        for group in self.learner.groups.values():
            group.gradient.zero_()
        batch = self.learner.tensors(self.steps(slice(None)))
        if family == "baseline":
            total, _ = reinforce.baseline_loss(self.learner.nets, batch)
        else:
            loss = getattr(ALGOS[family], f"{family}_loss")
            total, _ = loss(self.learner.nets, batch, self.cfg)
        total.backward()
        group = {"reinforce": "policy", "baseline": "value"}.get(family, "all")
        stepped = self.learner.groups[group].gradients
        found = [
            stepped[name].numpy() if name in stepped else np.zeros(size, self.dtype)
            for name, chunk in self.net.chunks().items()
            for size in [sum(p.numel() for p in chunk.parameters())]
        ]
        return np.concatenate(found), total.item()

    def steps(self, rows: Any) -> Steps:
        taken = {name: x[rows] for name, x in self.data.items()}
        extras = {k: x for k, x in taken.items() if k not in ("obs", "action")}
        extras["first"] = np.zeros(len(taken["obs"]), np.bool_)
        return Steps(taken["obs"], taken["action"], None, None, None, None, extras)

    def order(self, epochs: int) -> np.ndarray:
        return np.stack([self.random.permutation(self.rows) for _ in range(epochs)]).astype(
            np.int32
        )

    def torch_update(self, order: np.ndarray, inspect: bool = False) -> dict[str, float]:
        """What the algorithms' `update` does, with the shuffles given."""
        learner, cfg = self.learner, self.cfg
        learner.inspect_next = inspect
        if self.family == "reinforce":
            memory: Any = SimpleNamespace(batches=lambda rng: [self.steps(slice(None))])
            return reinforce.update(learner, memory, None, cfg)  # type: ignore[arg-type]
        loss = getattr(ALGOS[self.family], f"{self.family}_loss")
        collected: list[dict[str, Any]] = []
        for i in range(order.shape[0] * (self.rows // self.batch_size)):
            epoch, at = divmod(i, self.rows // self.batch_size)
            rows = order[epoch, at * self.batch_size :][: self.batch_size]
            collected.append(learner.step("all", loss, learner.tensors(self.steps(rows)), cfg))
            if getattr(cfg, "target_kl", None) is None:
                continue
            if float(collected[-1]["train/metrics/kl_divergence"]) > 1.5 * cfg.target_kl:
                break
        if inspect and self.family != "ppo":
            collected[-1] |= policy_change(learner, learner.tensors(self.steps(slice(None))))
        return combined(collected) | {"minibatches": len(collected)}

    # -- the same in C ---------------------------------------------------------------------------

    def settings(
        self, epochs: int, threads: int = 1, inspect: bool = False, family: str = ""
    ) -> UpdateSettings:
        cfg = self.cfg
        clip_vf = getattr(cfg, "clip_range_vf", None)
        loss = LossSettings(
            FAMILIES.index(family or self.family),
            cfg.normalize_advantage == "minibatch",
            clip_vf is not None,
            getattr(cfg, "clip_range", 0.0),
            clip_vf or 0.0,
            cfg.ent_coef,
            getattr(cfg, "vf_coef", 1.0),
        )
        optimizer = OptimSettings(
            OPTIMIZERS.index(cfg.optimizer),
            *cfg.betas,
            cfg.rmsprop_alpha,
            cfg.optimizer_eps,
            cfg.weight_decay,
            cfg.momentum,
        )
        value_rate = cfg.value_learning_rate
        value_rate = cfg.learning_rate if value_rate is None else value_rate
        return UpdateSettings(
            loss,
            optimizer,
            (Double * len(CHUNKS))(cfg.learning_rate, value_rate, cfg.learning_rate),
            cfg.max_grad_norm,
            getattr(cfg, "target_kl", None) or 0.0,
            self.batch_size,
            epochs,
            threads,
            inspect,
        )

    def native(self, parameters: np.ndarray | None = None) -> NativeLearner:
        return NativeLearner(self, self.parameters() if parameters is None else parameters)


class NativeLearner:
    """Parameters and moments of a case, updated by C."""

    def __init__(self, case: Case, parameters: np.ndarray) -> None:
        self.case, self.parameters = case, parameters.copy()
        self.first, self.second = np.zeros_like(parameters), np.zeros_like(parameters)
        optimizer = case.settings(1).optimizer
        self._call(
            "optim_start",
            ctypes.byref(optimizer),
            Long(parameters.size),
            pointer(self.first),
            pointer(self.second),
        )
        self.steps = dict.fromkeys(case.families(), 0)

    def _call(self, name: str, *arguments: Any, result: Any = None) -> Any:
        return kernel(name, self.case.dtype, result)(*arguments)

    def _rows(self, order: np.ndarray | None) -> Any:
        data, names = self.case.data, [name for name, _ in RolloutRows._fields_[1:-1]]
        return RolloutRows(
            self.case.rows, *(address(data.get(name)) for name in names), address(order)
        )

    def _memory(self, settings: Any) -> np.ndarray:
        shape, rows = ctypes.byref(self.case.shape), Long(self.case.rows)
        size = self._call("update_bytes", shape, ctypes.byref(settings), rows, result=Long)
        assert size > 0
        return np.full(size, 0xFF, np.uint8)  # bytes of NaN: nothing may be read before written

    def update(
        self, order: np.ndarray | None, epochs: int = 1, threads: int = 1, inspect: bool = False
    ) -> dict[str, float]:
        """Epochs of minibatches; REINFORCE: the policy's step, then those of its baseline."""
        case = self.case
        if case.family != "reinforce":
            return self._update(case.family, order, epochs, threads, inspect)
        metrics = self._update("reinforce", None, 1, threads, inspect)
        if case.cfg.baseline:
            steps = case.cfg.baseline_steps
            metrics = self._update("baseline", None, steps, threads, inspect) | metrics
        metrics.pop("minibatches")
        return metrics

    def _update(
        self, family: str, order: np.ndarray | None, epochs: int, threads: int, inspect: bool
    ) -> dict[str, float]:
        settings = self.case.settings(epochs, threads, inspect, family)
        state = LearnerState(
            address(self.parameters), address(self.first), address(self.second), self.steps[family]
        )
        found, memory, rows = UpdateMetrics(), self._memory(settings), self._rows(order)
        done = self._call(
            "update_epochs",
            *(ctypes.byref(x) for x in (self.case.shape, settings, rows, state, found)),
            pointer(memory),
            result=Long,
        )
        assert done > 0
        self.steps[family] = state.steps
        return named(found)

    def gradient(self, family: str = "") -> tuple[np.ndarray, dict[str, float]]:
        settings = self.case.settings(1, family=family)
        gradient = np.zeros_like(self.parameters)
        found, memory, rows = UpdateMetrics(), self._memory(settings), self._rows(None)
        self._call(
            "update_gradient",
            *(ctypes.byref(x) for x in (self.case.shape, settings, rows)),
            *(pointer(x) for x in (self.parameters, gradient)),
            ctypes.byref(found),
            pointer(memory),
            result=Long,
        )
        return gradient, named(found)

    def act(
        self, obs: np.ndarray, mask: Any = None, uniform: Any = None, normal: Any = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        shape, n = ctypes.byref(self.case.shape), len(obs)
        size = self._call("policy_bytes", shape, result=Long)
        memory = np.full(size, 0xFF, np.uint8)
        self._call("policy_load", shape, pointer(self.parameters), pointer(memory))
        action = np.zeros((n, len(self.case.categories) + self.case.continuous), self.case.dtype)
        log_prob, value = np.zeros(n, self.case.dtype), np.zeros(n, self.case.dtype)
        arrays = (obs, mask, uniform, normal, action, log_prob, value)
        self._call("policy_act", pointer(memory), Long(n), *(pointer(x) for x in arrays))
        values = np.zeros(n, self.case.dtype)
        self._call("policy_values", pointer(memory), Long(n), pointer(obs), pointer(values))
        np.testing.assert_array_equal(values, value)
        return action, log_prob, value


def pointer(array: np.ndarray | None) -> Any:
    return Pointer(address(array))


def named(found: UpdateMetrics) -> dict[str, float]:
    """What was measured, by torch's names."""
    values: dict[str, float] = {"minibatches": found.minibatches}
    for field, kind in UpdateMetrics._fields_[:-1]:
        name, value = METRIC_NAMES.get(field, f"train/metrics/{field}"), getattr(found, field)
        if kind is Double:
            values[name] = value
        else:
            values |= {f"{name}/{chunk}": x for chunk, x in zip(CHUNKS, value, strict=True)}
    return {name: value for name, value in values.items() if not np.isnan(value)}


def loss_metric(family: str) -> str:
    """Under which name C tells what torch differentiates."""
    return "train/loss/value" if family == "baseline" else "train/loss/total"


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, beside the largest number expected."""
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-12))

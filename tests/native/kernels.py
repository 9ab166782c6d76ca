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
from dressage.core.summaries import mean_of
from dressage.native import library
from dressage.nets.actor_critic import ActorCritic

CHUNKS = ("policy", "value", "shared")
ACTIVATIONS = ("tanh", "relu", "gelu", "elu", "silu")
OPTIMIZERS = ("adam", "adamw", "sgd", "rmsprop", "rmsprop_tf")
FAMILIES = {"ppo": ppo, "a2c": a2c, "reinforce": reinforce}
Int, Long, Double, Pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p


def structure(name: str, *fields: tuple[str, Any]) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


NetShape = structure(
    "NetShape",
    *((name, Int) for name in ("obs_size", "shared", "activation", "layer_norm")),
    *((name, Int) for name in ("policy_depth", "value_depth")),
    *((name, Int * 8) for name in ("policy_widths", "value_widths")),
    *((name, Int) for name in ("n_choices", "continuous", "squash")),
    ("categories", Pointer),
)
LossSettings = structure(
    "LossSettings",
    *((name, Int) for name in ("family", "normalize_advantage", "clip_value", "baseline")),
    *((name, Double) for name in ("clip_range", "clip_range_vf", "ent_coef", "vf_coef")),
)
OptimSettings = structure(
    "OptimSettings",
    ("kind", Int),
    *((n, Double) for n in ("beta1", "beta2", "alpha", "eps", "weight_decay", "momentum")),
)
UpdateSettings = structure(
    "UpdateSettings",
    ("loss", LossSettings),
    ("optimizer", OptimSettings),
    ("learning_rate", Double * 3),
    ("max_grad_norm", Double),
    ("target_kl", Double),
    ("batch_size", Long),
    *((name, Int) for name in ("n_epochs", "n_threads", "inspect")),
)
RolloutRows = structure(
    "RolloutRows",
    ("rows", Long),
    *((n, Pointer) for n in ("obs", "action", "mask", "log_prob", "value", "advantage")),
    *((name, Pointer) for name in ("returns", "weight", "order")),
)
LearnerState = structure(
    "LearnerState",
    *((name, Pointer) for name in ("parameters", "first", "second")),
    ("steps", Long),
)
METRICS: dict[str, tuple[str, ...]] = {
    "train/loss/policy": (),
    "train/loss/value": (),
    "train/loss/entropy": (),
    "train/loss/total": (),
    "train/metrics/entropy": (),
    "train/metrics/kl_divergence": (),
    "train/metrics/clip_fraction": (),
    "train/metrics/ratio_max": (),
    "train/metrics/value_clip_fraction": (),
    "train/metrics/grad_norm": CHUNKS,
    "train/metrics/grad_norm/total": (),
    "train/metrics/grad_clipped": (),
    "train/metrics/skipped_updates": (),
    "train/metrics/weight_norm": CHUNKS,
    "train/metrics/update_to_weight": CHUNKS,
    "train/metrics/dormant_share": CHUNKS,
    "minibatches": (),
}
METRIC_NAMES = [
    name
    for key, parts in METRICS.items()
    for name in ([f"{key}/{part}" for part in parts] if parts else [key])
]


def address(array: np.ndarray | None) -> int | None:
    if array is None:
        return None
    assert array.flags.c_contiguous
    return array.ctypes.data


def real_of(dtype: Any) -> str:
    return {"float32": "f32", "float64": "f64"}[np.dtype(dtype).name]


def kernel(name: str, dtype: Any, result: Any = None) -> Any:
    """The C function, for calls with ctypes' own arguments."""
    found = library().kernel(name, real_of(dtype), [], result)
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
        self.cfg: Any = FAMILIES[family].Config(**settings)
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
        if self.family == "reinforce" and not self.cfg.baseline:
            chunks.pop("value")
        learner.add_group("all", chunks, self.cfg)
        learner.set_learning_rate("all", learning_rates(learner, self.cfg))
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

    def gradients(self) -> np.ndarray:
        chunks = self.net.chunks().values()
        zero = torch.zeros
        found = [
            (zero(p.shape) if p.grad is None else p.grad).numpy().ravel()
            for chunk in chunks
            for p in chunk.parameters()
        ]
        return np.concatenate(found).astype(self.dtype)

    def steps(self, rows: Any) -> Steps:
        taken = {name: torch.from_numpy(x[rows]) for name, x in self.data.items()}
        extras = {k: x for k, x in taken.items() if k not in ("obs", "action")}
        extras["first"] = torch.zeros(len(taken["obs"]), dtype=torch.bool)
        return Steps(taken["obs"], taken["action"], None, None, None, None, extras)

    def order(self, epochs: int) -> np.ndarray:
        return np.stack([self.random.permutation(self.rows) for _ in range(epochs)]).astype(
            np.int32
        )

    def loss(self, rows: Any) -> tuple[Any, dict[str, Any]]:
        loss = getattr(FAMILIES[self.family], f"{self.family}_loss")
        return loss(self.learner.nets, self.steps(rows), self.cfg)  # type: ignore[no-any-return]

    def torch_update(self, order: np.ndarray, inspect: bool = False) -> dict[str, float]:
        """What the algorithms' `update` does, with the shuffles given."""
        self.learner.inspect_next = inspect
        collected: list[dict[str, Any]] = []
        for i in range(order.shape[0] * (self.rows // self.batch_size)):
            epoch, at = divmod(i, self.rows // self.batch_size)
            rows = order[epoch, at * self.batch_size :][: self.batch_size]
            loss = getattr(FAMILIES[self.family], f"{self.family}_loss")
            collected.append(self.learner.step("all", loss, self.steps(rows), self.cfg))
            if getattr(self.cfg, "target_kl", None) is None:
                continue
            if float(collected[-1]["train/metrics/kl_divergence"]) > 1.5 * self.cfg.target_kl:
                break
        if inspect and self.family != "ppo":
            collected[-1] |= policy_change(self.learner, self.steps(slice(None)))
        return mean_of(collected) | {"minibatches": len(collected)}

    # -- the same in C ---------------------------------------------------------------------------

    def settings(self, epochs: int, threads: int = 1, inspect: bool = False) -> Any:
        cfg = self.cfg
        clip_vf = getattr(cfg, "clip_range_vf", None)
        loss = LossSettings(
            list(FAMILIES).index(self.family),
            cfg.normalize_advantage == "minibatch",
            clip_vf is not None,
            getattr(cfg, "baseline", True),
            getattr(cfg, "clip_range", 0.0),
            clip_vf or 0.0,
            cfg.ent_coef,
            cfg.vf_coef,
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
            (Double * 3)(cfg.learning_rate, value_rate, cfg.learning_rate),
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
        self.steps = 0

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
        settings = self.case.settings(epochs, threads, inspect)
        state = LearnerState(
            address(self.parameters), address(self.first), address(self.second), self.steps
        )
        found, memory = np.zeros(len(METRIC_NAMES)), self._memory(settings)
        rows = self._rows(order)
        done = self._call(
            "update_epochs",
            *(ctypes.byref(x) for x in (self.case.shape, settings, rows, state)),
            pointer(found),
            pointer(memory),
            result=Long,
        )
        assert done > 0
        self.steps = state.steps
        return named(found)

    def gradient(self, inspect: bool = False) -> tuple[np.ndarray, dict[str, float]]:
        settings = self.case.settings(1, 1, inspect)
        gradient = np.zeros_like(self.parameters)
        found, memory = np.zeros(len(METRIC_NAMES)), self._memory(settings)
        rows = self._rows(None)
        self._call(
            "update_gradient",
            *(ctypes.byref(x) for x in (self.case.shape, settings, rows)),
            *(pointer(x) for x in (self.parameters, gradient, found, memory)),
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


def named(found: np.ndarray) -> dict[str, float]:
    pairs = zip(METRIC_NAMES, found.tolist(), strict=True)
    return {name: value for name, value in pairs if not np.isnan(value)}


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, beside the largest number expected."""
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-12))

"""`NativeLearner`: what core/learner.Learner is, with parameters and moments in flat arrays for C.

Its checkpoints have the names and shapes of torch's, so that either engine goes on from them.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.config import OptimizerSettings
from dressage.errors import RunError
from dressage.native.face import address, library
from dressage.native.network import Floats, Network
from dressage.native.structs import (
    CHUNKS,
    OPTIMIZERS,
    Int64,
    LearnerState,
    OptimSettings,
    Pointer,
    RolloutRows,
    UpdateMetrics,
    UpdateSettings,
    layout,
)
from dressage.native.threads import Threads

Arrays = dict[str, npt.NDArray[Any]]

# What torch's optimizers call the arrays that optim.h calls first and second.
MOMENTS = {
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
    "sgd": ("momentum_buffer", None),
    "rmsprop": ("momentum_buffer", "square_avg"),
    "rmsprop_tf": ("momentum_buffer", "square_avg"),
}
COUNTS_STEPS = ("adam", "adamw", "rmsprop")  # keep a `step` beside their moments


@dataclass
class NativeGroup:
    """The chunks that one optimizer steps, and how often it has."""

    chunks: tuple[str, ...]
    steps: int = 0


class NativeLearner:
    """Parameters, moments and counters of one actor and critic."""

    device = "cpu"

    def __init__(self, network: Network, settings: OptimizerSettings, first_values: Floats) -> None:
        self.network, self.settings = network, settings
        self.flat = np.ascontiguousarray(first_values, np.float32)
        self.first, self.second = np.zeros_like(self.flat), np.zeros_like(self.flat)
        self.optimizer = optim_settings(settings.at(0.0))
        self.threads = Threads(1)  # of an update; no result depends on their number
        self.groups: dict[str, NativeGroup] = {}
        self.updates = 0
        self.inspect_next = False  # the next update also measures what is too costly for every one
        self._find_functions()
        self._start_moments()
        self._stale = True  # the policy in `_memory` is of other parameters
        self._updating = np.empty(0, np.uint8)  # memory of update_epochs
        self._buffers: dict[int, _Buffers] = {}

    def _find_functions(self) -> None:
        find = library().kernel
        shape = ctypes.byref(self.network.shape)
        bytes_needed = find("policy_bytes", "f32", [Pointer], Int64)(shape)
        self._memory = np.empty(bytes_needed, np.uint8)
        self._load = find("policy_load", "f32", [Pointer] * 3)
        self._act = find("policy_act", "f32", [Pointer, Int64, *[Pointer] * 7])
        self._values = find("policy_values", "f32", [Pointer, Int64, Pointer, Pointer])
        self._update_bytes = find("update_bytes", "f32", [Pointer, Pointer, Int64], Int64)
        self._update = find("update_epochs", "f32", [Pointer] * 6, Int64)
        self._start = find("optim_start", "f32", [Pointer, Int64, Pointer, Pointer])

    def _start_moments(self) -> None:
        where = (address(self.first, np.float32), address(self.second, np.float32))
        self._start(ctypes.byref(self.optimizer), self.flat.size, *where)

    def add_group(self, name: str, chunks: Sequence[str]) -> None:
        self.groups[name] = NativeGroup(tuple(chunks))

    @contextmanager
    def training(self, seed: int) -> Iterator[None]:
        """No layer of ours draws or learns outside its parameters."""
        yield

    # -- acting ----------------------------------------------------------------------------------

    def _policy(self) -> int:
        """The loaded policy of the parameters as they are."""
        memory = address(self._memory, np.uint8)
        if self._stale:
            self._load(ctypes.byref(self.network.shape), address(self.flat, np.float32), memory)
            self._stale = False
        return memory

    def act(
        self,
        obs: Floats,
        mask: npt.NDArray[np.bool_] | None,
        uniform: Floats | None,
        normal: Floats | None,
    ) -> _Buffers:
        """Actions, log-probabilities and values of `obs [N, D]`; without draws the most probable.

        The arrays are used again by the next call with as many rows: copy what must outlive it.
        """
        rows = len(obs)
        b = self._buffers.get(rows) or self._buffers.setdefault(rows, _Buffers(self.network, rows))
        b.obs[...] = obs
        drawn = uniform is not None
        if drawn:
            b.uniform[...], b.normal[...] = uniform, normal
        if mask is not None:
            b.mask[...] = mask
        self._act(
            self._policy(),
            rows,
            b.at["obs"],
            b.at["mask"] if mask is not None else None,
            b.at["uniform"] if drawn else None,
            b.at["normal"] if drawn else None,
            b.at["action"],
            b.at["log_prob"] if drawn else None,
            b.at["value"] if drawn else None,
        )
        return b

    def state_values(self, obs: Floats) -> Floats:
        """V of `obs [N, D]`, `[N]`."""
        rows = np.ascontiguousarray(obs, np.float32)
        value = np.empty(len(rows), np.float32)
        where = (address(rows, np.float32), address(value, np.float32))
        self._values(self._policy(), len(rows), *where)
        return value

    def action_deviation(self) -> float | None:
        """The Gaussian policy's mean deviation; None for choices alone."""
        if not self.network.continuous:
            return None
        log_std = self.network.views(self.flat)["actor_critic.policy.head.log_std"]
        return float(np.exp(log_std).mean())

    # -- learning --------------------------------------------------------------------------------

    def update(
        self, group: str, settings: UpdateSettings, rows: Mapping[str, Any]
    ) -> UpdateMetrics:
        """Epochs of minibatches in one call; `rows`: the arrays of update.h's rollout, flat."""
        g = self.groups[group]
        settings.inspect, self.inspect_next = int(self.inspect_next), False
        data = RolloutRows(len(rows["action"]), *(_where(rows, n) for n, _ in _ROLLOUT))
        shape = ctypes.byref(self.network.shape)
        needed = self._update_bytes(shape, ctypes.byref(settings), data.rows)
        if needed > self._updating.size:
            self._updating = np.empty(needed, np.uint8)
        state = LearnerState(
            address(self.flat, np.float32),
            address(self.first, np.float32),
            address(self.second, np.float32),
            g.steps,
        )
        metrics = UpdateMetrics()
        began = time.perf_counter()
        done = self._update(
            shape,
            ctypes.byref(settings),
            ctypes.byref(data),
            ctypes.byref(state),
            ctypes.byref(metrics),
            address(self._updating, np.uint8),
        )
        assert done > 0, "the kernel refused its settings"
        self.updated(group, done, state.steps, time.perf_counter() - began)
        return metrics

    def updated(self, group: str, minibatches: int, steps: int, seconds: float) -> None:
        """C has changed the parameters."""
        self.threads.took(seconds / minibatches)
        self.groups[group].steps = steps
        self.updates += minibatches
        self._stale = True

    # -- state -----------------------------------------------------------------------------------

    def trained(self) -> dict[str, list[npt.NDArray[Any]]]:
        """As core/learner.Learner's."""
        views = self.network.views(self.flat)
        return {
            chunk: [views[p.name].copy() for p in self.network.parameters if p.chunk == chunk]
            for group in self.groups.values()
            for chunk in group.chunks
        }

    def weights(self) -> Arrays:
        return dict(self.network.views(self.flat))

    def load_weights(self, arrays: Arrays) -> None:
        mine = self.network.views(self.flat)
        if missing := sorted(mine.keys() - arrays.keys()):
            raise RunError(
                f"The checkpoint lacks the weights {missing[:3]}: it is of another network."
            )
        for name, value in mine.items():
            if value.shape != arrays[name].shape:
                raise RunError(
                    f"The checkpoint's {name} has shape {arrays[name].shape}, this network's has "
                    f"{value.shape}: use the settings that the checkpoint was trained with."
                )
            value[...] = arrays[name]
        self._stale = True

    def optimizer_state(self) -> tuple[Arrays, dict[str, Any]]:
        """As core/learner.Learner's: nothing before the first step, as torch's optimizers."""
        arrays: Arrays = {}
        plain: dict[str, Any] = {"updates": self.updates}
        for name, group in self.groups.items():
            for i, chunk in enumerate(group.chunks if group.steps else ()):
                prefix = f"{name}/#{i}"
                for key, moments in self._kept_moments():
                    if moments is None:
                        plain[f"{prefix}/{key}"] = None
                    else:
                        arrays[f"{prefix}/{key}"] = moments[self.network.slices[chunk]]
                if self.settings.optimizer in COUNTS_STEPS:
                    arrays[f"{prefix}/step"] = np.array(group.steps, np.float32)
                else:
                    plain[f"{name}/steps"] = group.steps
        return arrays, plain

    def _kept_moments(self) -> Iterator[tuple[str, Floats | None]]:
        for key, which in kept_moments(self.settings):
            yield key, None if which is None else getattr(self, which)

    def load_optimizer_state(self, arrays: Arrays, plain: dict[str, Any]) -> None:
        self.updates = plain["updates"]
        self._start_moments()
        for name, group in self.groups.items():
            for i, chunk in enumerate(group.chunks):
                prefix = f"{name}/#{i}"
                for key, moments in self._kept_moments():
                    if moments is not None and f"{prefix}/{key}" in arrays:
                        moments[self.network.slices[chunk]] = arrays[f"{prefix}/{key}"]
                if f"{prefix}/step" in arrays:
                    group.steps = int(arrays[f"{prefix}/step"])
            if f"{name}/steps" in plain:
                group.steps = int(plain[f"{name}/steps"])


def kept_moments(settings: OptimizerSettings) -> Iterator[tuple[str, str | None]]:
    """What torch's optimizer keeps: its name there, and `first`, `second` or nothing here."""
    kind, momentum = settings.optimizer, settings.momentum
    first, second = MOMENTS[kind]
    if kind == "sgd":
        yield first, "first" if momentum else None
        return
    if kind != "rmsprop" or momentum:  # torch's has no buffer without
        yield first, "first"
    if second is not None:
        yield second, "second"


class _Buffers:
    """What goes to and comes from acting on a number of rows, with the addresses C is given."""

    def __init__(self, network: Network, rows: int) -> None:
        choices = len(network.categories)
        self.obs = np.empty((rows, network.obs_size), np.float32)
        self.mask = np.empty((rows, sum(network.categories)), np.bool_)
        self.uniform = np.empty((rows, choices), np.float32)
        self.normal = np.empty((rows, network.continuous), np.float32)
        self.action = np.empty((rows, network.action_size), np.float32)
        self.log_prob = np.empty(rows, np.float32)
        self.value = np.empty(rows, np.float32)
        self.at = {name: array.ctypes.data for name, array in vars(self).items()}


_ROLLOUT = RolloutRows._fields_[1:]


def _where(rows: Mapping[str, Any], name: str) -> int | None:
    array = rows.get(name)
    if array is None:
        return None
    kind = {"mask": np.bool_, "order": np.int32}.get(name, np.float32)
    return address(array, kind)


# Where each of C's update_metrics goes; * stands for a chunk.
UPDATED = {
    "policy": "train/loss/policy",
    "value": "train/loss/value",
    "entropy_loss": "train/loss/entropy",
    "total": "train/loss/total",
    "entropy": "train/metrics/entropy",
    "kl": "train/metrics/kl_divergence",
    "clip_fraction": "train/metrics/clip_fraction",
    "ratio_max": "train/metrics/ratio_max",
    "value_clip_fraction": "train/metrics/value_clip_fraction",
    "grad_norm": "train/metrics/grad_norm/*",
    "grad_norm_total": "train/metrics/grad_norm/total",
    "grad_clipped": "train/metrics/grad_clipped",
    "skipped": "train/metrics/skipped_updates",
    "weight_norm": "train/metrics/weight_norm/*",
    "update_to_weight": "train/metrics/update_to_weight/*",
    "dormant_share": "train/metrics/dormant_share/*",
    "minibatches": "",  # no metric
}
_UPDATED_LAYOUT = layout(UpdateMetrics)
_UPDATED_NAMES = [
    UPDATED[field].replace("*", chunk)
    for field, *_ in UpdateMetrics._fields_
    for chunk in (CHUNKS if "*" in UPDATED[field] else ("",))
]


def named_metrics(found: UpdateMetrics, measured: Sequence[str]) -> dict[str, float]:
    """The metrics by their names in the dictionary.

    `measured`: those of every update, NaN or not; of the others what was measured this time.
    """
    return {
        name: value
        for name, value in zip(_UPDATED_NAMES, _UPDATED_LAYOUT.unpack_from(found), strict=True)
        if name and (value == value or name in measured)
    }


def optim_settings(cfg: OptimizerSettings, into: OptimSettings | None = None) -> OptimSettings:
    """The optimizer's settings in force, as C reads them; `into`: a structure to be changed."""
    settings = OptimSettings() if into is None else into
    settings.kind = OPTIMIZERS.index(cfg.optimizer)
    settings.beta1, settings.beta2 = cfg.betas
    settings.alpha = cfg.rmsprop_alpha
    settings.eps = cfg.optimizer_eps
    settings.weight_decay = cfg.weight_decay
    settings.momentum = cfg.momentum
    return settings


def learning_rates(cfg: Any) -> tuple[float, ...]:
    """`learning_rate[CHUNKS]` of update.h: `value_learning_rate` for the value network, if set."""
    own = cfg.value_learning_rate
    return cfg.learning_rate, cfg.learning_rate if own is None else own, cfg.learning_rate

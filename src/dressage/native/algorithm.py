"""An on-policy algorithm on the native engine: its own definition, with acting and updates in C."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dressage.core.algorithm import Algorithm, Task
from dressage.core.collector import Acted, Collector
from dressage.core.memory import Rollout
from dressage.core.rng import Rng
from dressage.core.steps import Steps, Tree
from dressage.native import face, network
from dressage.native.env_batch import NativeBatch
from dressage.native.iteration import WholeIteration
from dressage.native.learner import NativeLearner, learning_rates, named_metrics, optim_settings
from dressage.native.network import Floats, Network
from dressage.native.structs import (
    FAMILIES,
    OPTIMIZERS,
    UpdateMetrics,
    UpdateSettings,
)
from dressage.native.threads import Threads

if TYPE_CHECKING:
    from dressage.native.off_policy import NativeOffPolicy

MEASURED = (  # by every update of every family
    "train/loss/policy",
    "train/loss/total",
    "train/metrics/entropy",
    "train/metrics/grad_norm/total",
)


def on_native(definition: Algorithm) -> NativeAlgorithm | NativeOffPolicy:
    """The algorithm with acting and updates in C."""
    if definition.NEEDS.feed == "replay":
        return _off_policy().NativeOffPolicy(definition)  # type: ignore[no-any-return]
    return NativeAlgorithm(definition)


def is_native(algo: Any) -> bool:
    """Whether an algorithm came from `on_native`."""
    off = algo.NEEDS.feed == "replay"
    return isinstance(algo, _off_policy().NativeOffPolicy if off else NativeAlgorithm)


def _off_policy() -> Any:
    """With the replay memory, which a run with rollouts starts sooner without."""
    from dressage.native import off_policy

    return off_policy


class Draws(NamedTuple):
    """Random numbers for choosing N actions: `[N, choices]`, `[N, dimensions]`."""

    uniform: Floats
    normal: Floats


def why_not(algo: Algorithm, spec: Any, run: Any, cfg: Any) -> str:
    """Why a run cannot have the native engine; "" where it can."""
    if algo.NEEDS.native is None or not algo.__name__.startswith("dressage.algos."):
        return f"there is no kernel for {run.algo}"  # one of your own may build on ours, and differ
    if run.device not in ("auto", "cpu"):
        return f"device={run.device}"
    if run.precision != "fp32" or run.compile:
        return f"precision={run.precision}" if run.precision != "fp32" else "compile=true"
    for setting in ("bonus", "her", "demonstrations"):
        if getattr(cfg, setting, None) not in (None, "none"):
            return f"{setting}={getattr(cfg, setting)}"
    if cfg.optimizer not in OPTIMIZERS:
        return f"optimizer={cfg.optimizer}"
    kind: Any = _off_policy() if algo.NEEDS.feed == "replay" else network
    why: str = kind.why_not(spec, cfg, run.net)
    if not why and not face.available():  # which says so once
        why = face.reason()
    return why


class NativeAlgorithm:
    """What core/algorithm.Algorithm asks for. Preparing the steps is the definition's own."""

    def __init__(self, definition: Algorithm) -> None:
        self.definition, self.__name__ = definition, definition.__name__
        self.Config, self.NEEDS = definition.Config, definition.NEEDS
        self.check, self.rollout_length = definition.check, definition.rollout_length
        self.memory, self.prepare = definition.memory, definition.prepare

    def init(self, task: Task, cfg: Any) -> NativeLearner:
        net = Network(task.spec, cfg)
        learner = NativeLearner(net, cfg, net.first_values(task.rng, cfg.ortho_init))
        learner.threads = Threads(task.run.threads)
        if self.NEEDS.native != "reinforce":
            learner.add_group("all", net.chunks)
            return learner
        learner.add_group("policy", [chunk for chunk in net.chunks if chunk != "value"])
        if cfg.baseline:
            learner.add_group("value", ["value"])
        return learner

    def carry_size(self, learner: NativeLearner) -> int:
        return 0

    def noise(self, rng: Rng, index: int, n_envs: int, learner: NativeLearner, cfg: Any) -> Draws:
        net = learner.network
        return Draws(
            rng.uniform("act/choice", (n_envs, len(net.categories)), index),
            rng.normal("act/normal", (n_envs, net.continuous), index),
        )

    def act(
        self,
        learner: NativeLearner,
        obs: Tree,
        carry: Floats | None,
        mask: npt.NDArray[np.bool_] | None,
        noise: Draws | None,
    ) -> Acted:
        assert not isinstance(obs, dict)
        if noise is None:
            return Acted(learner.act(obs, mask, None, None).action, None, {})
        out = learner.act(obs, mask, noise.uniform, noise.normal)
        return Acted(out.action, None, {"log_prob": out.log_prob, "value": out.value})

    def update(
        self, learner: NativeLearner, memory: Rollout, rng: Rng, cfg: Any
    ) -> dict[str, float]:
        rows = flat_rows(memory.steps)
        if self.NEEDS.native == "reinforce":
            return self._reinforce(learner, rows, cfg)
        count = len(rows["action"])
        settings = update_settings(self.NEEDS.native, learner, cfg, count)
        if memory.batch_size is not None:
            order = [
                rng.permutation("minibatch", count, memory.epochs + i)
                for i in range(memory.n_epochs)
            ]
            rows["order"] = np.stack(order).astype(np.int32)
        found = learner.update("all", settings, rows)
        if self.NEEDS.native == "ppo":
            memory.epochs += math.ceil(found.minibatches / memory.batches_per_epoch)
        return self._metrics(found, settings, count)

    def _metrics(
        self, found: UpdateMetrics, settings: UpdateSettings, rows: int
    ) -> dict[str, float]:
        metrics = named_metrics(found, MEASURED)
        if self.NEEDS.native == "ppo":
            epochs = found.minibatches / (rows // settings.batch_size)
            metrics["train/metrics/epochs_done"] = epochs
        return metrics

    def whole_iteration(
        self, learner: NativeLearner, collector: Collector, memory: Rollout, cfg: Any
    ) -> Callable[..., tuple[dict[str, float], dict[str, float]]] | None:
        """Collecting, preparing and updating in one call, where the environments are native."""
        if not isinstance(collector.batch, NativeBatch) or self.NEEDS.native == "reinforce":
            return None
        family, rows = self.NEEDS.native, self.rollout_length(cfg) * collector.n_envs
        whole = WholeIteration(learner, collector, memory, self.rollout_length(cfg))

        def iterate(
            cfg: Any, seconds: Any, rounds: int
        ) -> tuple[dict[str, float], dict[str, float]]:
            settings = update_settings(family, learner, cfg, rows, whole.settings)
            found, rolled = whole(cfg, seconds)
            return rolled, self._metrics(found, settings, rows)

        return iterate

    def _reinforce(
        self, learner: NativeLearner, rows: dict[str, Any], cfg: Any
    ) -> dict[str, float]:
        """One step of the policy on the whole rollout, some of the baseline."""
        count, inspect = len(rows["action"]), learner.inspect_next
        found = learner.update("policy", update_settings("reinforce", learner, cfg, count), rows)
        metrics = named_metrics(found, MEASURED)
        if not cfg.baseline:
            return metrics
        settings = update_settings("baseline", learner, cfg, count)
        settings.n_epochs, learner.inspect_next = cfg.baseline_steps, inspect
        fitted = named_metrics(learner.update("value", settings, rows), ["train/loss/value"])
        return fitted | metrics  # norms and counts that both have are the policy's


def flat_rows(steps: Steps) -> dict[str, Any]:
    """`[T, N, …]` as the rows `[T * N, …]` of update.h's rollout."""
    columns = {"obs": steps.obs, "action": steps.action, **steps.extras}
    return {
        name: np.ascontiguousarray(x).reshape(-1, *x.shape[2:])
        for name, x in columns.items()
        if name != "first"
    }


def update_settings(
    family: str | None,
    learner: NativeLearner,
    cfg: Any,
    rows: int,
    into: UpdateSettings | None = None,
) -> UpdateSettings:
    """The settings in force, as C reads them.

    `into`: a structure to be changed, which takes a third of the time of making one.
    """
    settings = UpdateSettings() if into is None else into
    loss, clip_vf = settings.loss, getattr(cfg, "clip_range_vf", None)
    assert family is not None
    loss.family = FAMILIES.index(family)
    loss.normalize_advantage = cfg.normalize_advantage == "minibatch"
    loss.clip_value = clip_vf is not None
    loss.clip_range = getattr(cfg, "clip_range", 0.0)
    loss.clip_range_vf = clip_vf or 0.0
    loss.ent_coef = cfg.ent_coef
    loss.vf_coef = getattr(cfg, "vf_coef", 0.0)
    optim_settings(cfg, settings.optimizer)
    settings.learning_rate[:] = learning_rates(cfg)
    settings.max_grad_norm = cfg.max_grad_norm
    settings.target_kl = getattr(cfg, "target_kl", None) or 0.0
    settings.batch_size = getattr(cfg, "batch_size", rows)
    settings.n_epochs = getattr(cfg, "n_epochs", 1)
    settings.n_threads = learner.threads.now
    return settings

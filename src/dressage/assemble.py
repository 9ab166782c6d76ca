"""Puts the parts of one run together: environments, learner, collector, writer, trainer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dressage.core.algorithm import Task
from dressage.core.collector import Collector
from dressage.core.hooks import Hook
from dressage.core.normalizer import ObsNormalizer, RewardNormalizer
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.trainer import Trainer
from dressage.envs.backends import choose_backend, open_batch
from dressage.envs.batch import EnvBatch
from dressage.envs.make import EnvRecipe, env_spec_info, import_named
from dressage.envs.restore import Verdict, probe_determinism
from dressage.errors import ConfigError, RunError
from dressage.lazy import torch
from dressage.presets.resolve import Resolved, resolve
from dressage.runs.checkpoint import discard_after, latest_checkpoint, load_checkpoint
from dressage.runs.run import Run
from dressage.runs.system import describe_system
from dressage.runs.writer import RunWriter
from dressage.trackers import make_trackers

MOST_EVAL_ENVS = 10


@dataclass
class Session:
    """One run being trained in this process."""

    trainer: Trainer
    writer: RunWriter
    batches: list[EnvBatch]

    def close(self) -> None:
        for batch in self.batches:
            batch.close()
        self.writer.close()


def make_recipe(resolved: Resolved, env: Any = None, trust: bool = True) -> EnvRecipe:
    run = resolved.run
    return EnvRecipe(
        env or run.env, run.env_kwargs, tuple(run.wrappers), trust=trust, vector=run.vector
    )


def pick_device(asked: str) -> str:
    if asked != "auto":
        return asked
    if torch.cuda.is_available():
        return "cuda"
    return "cpu"


def start_run(
    resolved: Resolved,
    path: Path,
    *,
    env: Any = None,
    hooks: Sequence[Hook] = (),
    trust: bool = True,
) -> Session:
    """A new run in `path`, its environments reset and its first checkpoint written."""
    recipe = make_recipe(resolved, env, trust)
    batches = _open_batches(resolved, recipe)
    try:
        batch, measured = batches[0], batches[2]
        sample = recipe()
        info = env_spec_info(sample, resolved.run.scale_actions)
        sample.close()
        verdict = probe_determinism(recipe, resolved.run.seed)
        rng = Rng(resolved.run.seed)
        collector = _collector(resolved, batch, rng)
        collector.start()
        spec = TaskSpec(batch.obs_codec, batch.action_codec, batch.mask is not None)
        task_info = {**info, "task": spec.to_json(), "resume": _resume_info(verdict)}
        writer = RunWriter(
            path,
            config=resolved.values(),
            sources=resolved.sources,
            spec=task_info,
            system=describe_system() | {"backend": batch.backend, "backend_measured": measured},
        )
    except BaseException:
        _close(batches)
        raise
    session = _session(resolved, spec, batches, collector, writer, rng, hooks, trust)
    if not verdict.exact:
        writer.event("inexact", 0, reason=verdict.reason)
        writer.log(f"This run cannot be resumed exactly: {verdict.reason}")
    session.trainer.save()
    return session


def resume_run(
    run: Run,
    overrides: dict[str, Any],
    *,
    env: Any = None,
    hooks: Sequence[Hook] = (),
    trust: bool = False,
) -> Session:
    """The run as it was at its last whole checkpoint; with other settings it is no longer exact."""
    stored = dict(run.config)
    changed = {key: value for key, value in overrides.items() if stored.get(key) != value}
    resolved = resolve(
        stored["env"], stored["algo"], stored | overrides, trust=trust, use_preset=False
    )
    refuse_changes(changed)
    latest = latest_checkpoint(run.path)
    if latest.path is None:
        raise RunError(
            f"{run.id} has no checkpoint to resume from"
            + (f" ({latest.skipped[0]})" if latest.skipped else "")
            + ": train it anew with `dressage train --config` and its config.json."
        )
    checkpoint = load_checkpoint(latest.path)
    recipe = make_recipe(resolved, env, trust or env is not None)
    writer = RunWriter.reopen(run.path, checkpoint.offsets)
    try:
        discard_after(run.path, checkpoint.env_steps)
        batches = _open_batches(resolved, recipe)
    except BaseException:
        writer.close()
        raise
    rng = Rng(resolved.run.seed)
    spec = TaskSpec.from_json(run.spec["task"])
    session = None
    try:
        collector = _collector(resolved, batches[0], rng)
        session = _session(resolved, spec, batches, collector, writer, rng, hooks, trust)
        restored = session.trainer.load(checkpoint)
    except BaseException:
        _close(batches)
        writer.close()
        raise
    env_steps = session.trainer.clock.env_steps
    reasons = [one.reason for one in restored if not one.exact]
    exact = not reasons and not changed and bool(run.spec["resume"]["exact"])
    writer.event(
        "resume", env_steps, exact=exact, changed=changed, reasons=reasons, skipped=latest.skipped
    )
    for reason in [*reasons, *latest.skipped]:
        writer.log(f"Resumed, but not exactly: {reason}")
    return session


FIXED_ON_RESUME = (
    "env",
    "algo",
    "seed",
    "n_envs",
    "net_arch",
    "recurrent",
    "hidden_size",
    "share_features",
    "layer_norm",
    "wrappers",
    "env_kwargs",
    "normalize_obs",
    "normalize_reward",
    "net",
    "use_sde",
)


def refuse_changes(changed: dict[str, Any]) -> None:
    """Settings that the checkpoint's arrays depend on cannot change in mid-run."""
    if fixed := [key for key in changed if key in FIXED_ON_RESUME]:
        raise ConfigError(
            f"{', '.join(fixed)} cannot change when a run resumes: the checkpoint was made with "
            "other values. Start a new run."
        )


def _open_batches(
    resolved: Resolved, recipe: EnvRecipe
) -> tuple[EnvBatch, EnvBatch | None, dict[str, Any]]:
    run = resolved.run
    backend, measured = choose_backend(recipe, resolved.n_envs, run.backend)
    batch = open_batch(recipe, resolved.n_envs, backend, run.scale_actions)
    evaluates = run.final_eval_episodes > 0 or run.eval_every != 0
    if not evaluates:
        return batch, None, measured
    most = max(run.eval_episodes, run.final_eval_episodes)
    try:
        eval_batch = open_batch(recipe, min(most, MOST_EVAL_ENVS), "inline", run.scale_actions)
    except BaseException:
        batch.close()
        raise
    return batch, eval_batch, measured


def _close(batches: Any) -> None:
    for batch in batches[:2]:
        if batch is not None:
            batch.close()


def _collector(resolved: Resolved, batch: EnvBatch, rng: Rng) -> Collector:
    run, cfg = resolved.run, resolved.cfg
    obs_normalizer = reward_normalizer = None
    if run.normalize_obs and batch.obs_codec.vector:
        obs_normalizer = ObsNormalizer(batch.obs_codec.vector, run.clip_obs)
    if run.normalize_reward:
        gamma = cfg.at(0.0).gamma  # type: ignore[attr-defined]
        reward_normalizer = RewardNormalizer(batch.n_envs, gamma, run.clip_reward)
    return Collector(batch, rng, obs_normalizer=obs_normalizer, reward_normalizer=reward_normalizer)


def _session(
    resolved: Resolved,
    spec: TaskSpec,
    batches: Any,
    collector: Collector,
    writer: RunWriter,
    rng: Rng,
    hooks: Sequence[Hook],
    trust: bool,
) -> Session:
    run = resolved.run
    torch.set_num_threads(run.threads)
    learner = make_learner(resolved, spec, rng, trust)
    collector.use_carry(resolved.algo.carry_size(learner))
    own = [import_named(name, trust=trust, what="callback")() for name in run.callbacks]
    trackers = make_trackers(run.trackers, writer.path, resolved.values(), writer)
    trainer = Trainer(
        algo=resolved.algo,
        run=run,
        cfg=resolved.cfg,
        learner=learner,
        collector=collector,
        eval_batch=batches[1],
        writer=writer,
        rng=rng,
        hooks=[*own, *hooks, *trackers],
    )
    return Session(trainer, writer, [b for b in batches[:2] if b is not None])


def make_learner(resolved: Resolved, spec: TaskSpec, rng: Rng, trust: bool) -> Any:
    """The networks of a run, freshly drawn."""
    run = resolved.run
    custom = import_named(run.net, trust=trust, what="network") if run.net else None
    task = Task(spec, run, rng, pick_device(run.device), custom)
    return resolved.algo.init(task, resolved.cfg)


def _resume_info(verdict: Verdict) -> dict[str, Any]:
    return {"exact": verdict.exact, "reason": verdict.reason}

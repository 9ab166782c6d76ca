"""Puts the parts of one run together: environments, learner, collector, writer, trainer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dressage.core.algorithm import Task
from dressage.core.collector import Collector
from dressage.core.hooks import Hook
from dressage.core.learner import Learner
from dressage.core.normalizer import ObsNormalizer, RewardNormalizer
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.trainer import Trainer
from dressage.envs.backends import choose_backend, open_batch, same_trajectories
from dressage.envs.batch import EnvBatch
from dressage.envs.make import EnvRecipe, env_spec_info, import_named
from dressage.envs.process import available_cores
from dressage.envs.restore import Restored, Verdict, probe_determinism
from dressage.errors import ConfigError, DressageError, EnvError, RunError
from dressage.lazy import torch
from dressage.native import env_batch, face
from dressage.native.algorithm import is_native, on_native, why_not
from dressage.native.convolutions import use_convolutions
from dressage.native.text import native_lines
from dressage.presets.resolve import Resolved, resolve, unaliased
from dressage.runs.checkpoint import (
    Checkpoint,
    discard_after,
    latest_checkpoint,
    load_checkpoint,
)
from dressage.runs.run import Run
from dressage.runs.system import describe_system
from dressage.runs.writer import RunWriter
from dressage.trackers import find_tracker, make_trackers

MOST_EVAL_ENVS = 10
LONGEST_WITHOUT_CHECKPOINT = 60.0  # seconds; a longer run had one, and somebody took it away


@dataclass
class Session:
    """One run being trained in this process."""

    trainer: Trainer
    writer: RunWriter
    batches: list[EnvBatch]
    threads_before: int | None  # of torch, in the process that called us; None: torch is not used

    def fail(self, reason: str) -> None:
        """Says in the run why it ended; a full disk or nonsense in a checkpoint may prevent it."""
        with suppress(RunError, TypeError, ValueError):
            self.writer.event("failure", self.trainer.collector.env_steps, reason=reason)
            self.writer.log(reason)
            self.writer.status("failed", reason)

    def close(self) -> None:
        for hook in self.trainer.hooks:
            hook.close()
        for batch in self.batches:
            batch.close()
        self.writer.close()
        if self.threads_before is not None:
            use_threads(self.threads_before, of_parts=1)


def use_threads(of_torch: int, of_parts: int) -> None:
    """How many threads torch uses in an operation, and how many batches of images are shared out
    to: parts of a fixed size, forward and backward."""
    from dressage.nets import parts

    torch.set_num_threads(of_torch)
    parts.use_threads(of_parts)


def make_recipe(resolved: Resolved, env: Any = None, trust: bool = True) -> EnvRecipe:
    run = resolved.run
    return EnvRecipe(
        env or run.env, run.env_kwargs, tuple(run.wrappers), trust=trust, vector=run.vector
    )


def pick_device(asked: str) -> str:
    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(1, device=asked)
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise ConfigError(
            f"device={asked} cannot be used here ({why}): use auto, cpu, cuda or mps."
        ) from None
    return asked


def start_run(
    resolved: Resolved,
    path: Path,
    *,
    env: Any = None,
    hooks: Sequence[Hook] = (),
    trust: bool = True,
    again: bool = False,
) -> Session:
    """A new run in `path`, its environments reset.

    `again`: in place of one that was killed before its first checkpoint.
    """
    recipe = make_recipe(resolved, env, trust)
    batches = _open_batches(resolved, recipe)
    try:
        batch, measured = batches[0], batches[2]
        sample = recipe()
        info = env_spec_info(sample, resolved.run.scale_actions)
        sample.close()
        verdict = _probe(recipe, batch, resolved.run.seed)
        rng = Rng(resolved.run.seed)
        collector = make_collector(resolved, batch, rng)
        collector.start()
        spec = TaskSpec(batch.obs_codec, batch.action_codec, batch.mask is not None)
        resolved, engine = with_engine(resolved, spec, resolved.run.engine)
        system = describe_system() | {
            "engine": engine.name,
            "engine_reason": engine.reason,
            "backend": batch.backend,
            "backend_measured": measured,
        }

        def begin() -> RunWriter:
            return RunWriter(
                path,
                config=resolved.values(),
                sources=resolved.sources,
                spec={**info, "task": spec.to_json(), "resume": _resume_info(verdict)},
                system=system,
                again=again,
            )

        session = _session(
            resolved, spec, batches, collector, path, begin, rng, hooks, trust, engine
        )
    except BaseException:
        _close(batches)
        raise
    with ending_with(session):
        if not verdict.exact:
            session.writer.event("inexact", 0, reason=verdict.reason)
            session.writer.log(f"This run cannot be resumed exactly: {verdict.reason}")
        if not session.trainer.automatic_checkpoints:  # else one that is killed soon begins again
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
    """The run as it was at its last whole checkpoint; with other settings it is no longer exact.

    Nothing of the run is touched before everything that may be refused has been looked at.
    """
    stored = dict(run.config)
    asked = unaliased(overrides)
    wanted = stored | asked
    resolved = resolve(wanted.get("env"), wanted.get("algo"), wanted, trust=trust, use_preset=False)
    now = resolved.values()
    changed = {key: now[key] for key in asked if stored.get(key) != now[key]}
    refuse_changes(changed)
    latest = latest_checkpoint(run.path)
    at_the_end = latest.path is not None and int(latest.path.name) >= resolved.run.env_steps
    if run.status == "finished" and at_the_end:  # else it was killed between its last steps
        raise RunError(
            f"{run.id} has finished, with a budget of {stored['env_steps']} env steps: add "
            f"env_steps={2 * stored['env_steps']} to train on, or start a new run."
        )
    if latest.path is None:
        trained = run.metrics("wall_seconds")["wall_seconds"]
        automatic = isinstance(resolved.run.checkpoint_every, str)
        long = LONGEST_WITHOUT_CHECKPOINT if automatic else 0.0
        if latest.skipped or (trained.size and trained[-1] > long):
            raise RunError(
                f"{run.id} has no checkpoint to resume from"
                + (f" ({latest.skipped[0]})" if latest.skipped else "")
                + ": train it anew with `dressage train --config` and its config.json."
            )
        resolved.sources.update(run.sources)  # killed before its first checkpoint: begun again
        return start_run(resolved, run.path, env=env, hooks=hooks, trust=trust, again=True)
    checkpoint = load_checkpoint(latest.path)
    spec, exact_so_far = stored_spec(run)
    recipe = make_recipe(resolved, env, trust)
    batches = _open_batches(resolved, recipe)
    try:
        refuse_other_spaces(spec, batches[0])
        rng = Rng(resolved.run.seed)
        collector = make_collector(resolved, batches[0], rng)
        before = str(checkpoint.meta.get("engine", "torch"))
        asked_engine = resolved.run.engine
        if asked_engine == "auto":
            asked_engine = "torch" if before == "torch" else "auto"
        resolved, engine = with_engine(resolved, spec, asked_engine)

        def reopen() -> RunWriter:
            return RunWriter.reopen(run.path, checkpoint.offsets)

        session = _session(
            resolved, spec, batches, collector, run.path, reopen, rng, hooks, trust, engine
        )
    except BaseException:
        _close(batches)
        raise
    with ending_with(session):
        discard_after(run.path, checkpoint.env_steps)
        restored = _load(session.trainer, checkpoint)
        reasons = [one.reason for one in restored if not one.exact]
        if not exact_so_far.exact:
            reasons.insert(0, exact_so_far.reason)
        if engine.name != before:
            reasons.append(
                f"the checkpoint was made by the engine {before}, this process has {engine.name}"
                + (f" ({engine.reason})" if engine.reason else "")
            )
        exact = not reasons and not changed.keys() - WITHOUT_EFFECT
        session.writer.event(
            "resume",
            checkpoint.env_steps,
            exact=exact,
            changed=changed,
            reasons=reasons,
            skipped=latest.skipped,
        )
        for reason in reasons:
            session.writer.log(f"Resumed, but not exactly: {reason}")
        for sentence in latest.skipped:
            session.writer.log(f"Resumed from the checkpoint before: {sentence}")
        if changed:
            session.writer.change_config(now, dict.fromkeys(changed, "resume"))
        if not exact:  # so that the next resume cannot cut this event away
            session.trainer.save()
    return session


@contextmanager
def ending_with(session: Session) -> Iterator[None]:
    """Whatever is raised within ends the session, and the run says why."""
    try:
        yield
    except BaseException as error:
        expected = isinstance(error, DressageError)
        session.fail(str(error) if expected else f"{type(error).__name__}: {error}")
        session.close()
        raise


def stored_spec(run: Run) -> tuple[TaskSpec, Verdict]:
    """What spec.json says of the spaces, and of whether the environment can be restored."""
    try:
        resume = run.spec["resume"]
        spec = TaskSpec.from_json(run.spec["task"])
        return spec, Verdict(bool(resume["exact"]), str(resume["reason"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"{run.path / 'spec.json'} is damaged ({error!r}).") from None


def refuse_other_spaces(spec: TaskSpec, batch: EnvBatch) -> None:
    if (spec.obs.to_json(), spec.action.to_json()) != (
        batch.obs_codec.to_json(),
        batch.action_codec.to_json(),
    ):
        raise EnvError(
            "The environment has other spaces than when the run was trained: check its version, "
            "or start a new run."
        )


def _load(trainer: Trainer, checkpoint: Checkpoint) -> list[Restored]:
    try:
        restored = trainer.load(checkpoint)
        counters = asdict(trainer.clock) | {"updates": trainer.learner.updates}
        for name in ("env_steps", "iterations", "evaluations", "lost_iterations", "updates"):
            if type(counters[name]) is not int:
                raise TypeError(f"{name} is {counters[name]!r}")
        if trainer.clock.env_steps != checkpoint.env_steps:
            raise ValueError(f"its clock says {trainer.clock.env_steps} env steps")
        return restored
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise RunError(
            f"The checkpoint {checkpoint.path} cannot be used ({error!r}): it is damaged, or of "
            "another version of dressage."
        ) from error


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
    "squash",
    "baseline",
    "dueling",
    "noisy",
    "n_atoms",
    "n_quantiles",
    "n_critics",
    "action_noise",
    "bonus",
    "demonstrations",
    "demo_share",
    "optimizer",
    "precision",
    "scale_actions",
    "vector",
)

# What changes no number of a run.
WITHOUT_EFFECT = {"trackers", "keep_checkpoints", "backend", "guard"}


def refuse_changes(changed: dict[str, Any]) -> None:
    """Settings that the checkpoint's arrays depend on cannot change in mid-run."""
    if fixed := [key for key in changed if key in FIXED_ON_RESUME]:
        raise ConfigError(
            f"{', '.join(fixed)} cannot change when a run resumes: the checkpoint was made with "
            "other values. Start a new run."
        )


@dataclass(frozen=True)
class Engine:
    """What computes a run's updates: torch, or native with the CPU's extensions it uses."""

    name: str
    reason: str = ""  # why not the native one


def with_engine(resolved: Resolved, spec: TaskSpec, asked: str) -> tuple[Resolved, Engine]:
    """The algorithm on the engine asked for; auto: native where it can do what the run needs."""
    why = "engine=torch" if asked == "torch" else ""
    why = why or why_not(resolved.algo, spec, resolved.run, resolved.cfg)
    if not why:
        engine = Engine(f"native-{face.library().variant}")
        return replace(resolved, algo=on_native(resolved.algo)), engine
    if asked == "native":
        raise ConfigError(f"engine=native cannot train this run ({why}): use engine=auto or torch.")
    return resolved, Engine("torch", why)


def _open_batches(
    resolved: Resolved, recipe: EnvRecipe
) -> tuple[EnvBatch, EnvBatch | None, dict[str, Any]]:
    run = resolved.run
    backend: str = run.backend
    measured: dict[str, Any] = {}
    if backend in ("auto", "native") and _native_agrees(recipe, required=backend == "native"):
        backend = "native"
    else:
        backend, measured = choose_backend(recipe, resolved.n_envs, backend)
    batch = _open(recipe, resolved.n_envs, backend, run.scale_actions)
    evaluates = run.final_eval_episodes > 0 or run.eval_every != 0
    if not evaluates:
        return batch, None, measured
    most = max(run.eval_episodes, run.final_eval_episodes)
    try:
        beside = "native" if backend == "native" else "inline"
        eval_batch = _open(recipe, min(most, MOST_EVAL_ENVS), beside, run.scale_actions)
    except BaseException:
        batch.close()
        raise
    return batch, eval_batch, measured


def _open(recipe: EnvRecipe, n_envs: int, backend: str, scale_actions: bool) -> EnvBatch:
    if backend == "native":
        return env_batch.NativeBatch.from_recipe(recipe, n_envs, scale_actions)
    return open_batch(recipe, n_envs, backend, scale_actions)


def open_for_evaluation(recipe: EnvRecipe, n_envs: int, scale_actions: bool) -> EnvBatch:
    """The fastest of those in this process."""
    backend = "native" if _native_agrees(recipe, required=False) else "inline"
    return _open(recipe, n_envs, backend, scale_actions)


def _native_agrees(recipe: EnvRecipe, required: bool) -> bool:
    """Is there a C form of this environment, and does it step as the installed one does?"""
    why = env_batch.why_not(recipe)
    if not why:
        with _open(recipe, 2, "native", True) as ours, open_batch(recipe, 2) as theirs:
            if not env_batch.same_libm() or not same_trajectories(ours, theirs, env_steps=50):
                why = "the installed environment steps otherwise"
    if why and required:
        raise ConfigError(f"backend=native cannot step this environment: {why}.")
    return not why


def all_native(resolved: Resolved) -> bool:
    """Would environments and updates of such a run both be C?"""
    run, recipe = resolved.run, make_recipe(resolved)
    if run.backend not in ("auto", "native") or run.engine == "torch":
        return False
    if run.callbacks or run.trackers:  # made for one run a process
        return False
    if not _native_agrees(recipe, required=False):
        return False
    with _open(recipe, 1, "native", run.scale_actions) as batch:
        spec = TaskSpec(batch.obs_codec, batch.action_codec, masked=False)
    return not why_not(resolved.algo, spec, run, resolved.cfg)


def _probe(recipe: EnvRecipe, batch: EnvBatch, seed: int) -> Verdict:
    if isinstance(batch, env_batch.NativeBatch):
        return Verdict(True, "native environments are functions of their seed and actions")
    return probe_determinism(recipe, seed)


def _close(batches: Any) -> None:
    for batch in batches[:2]:
        if batch is not None:
            batch.close()


def make_collector(resolved: Resolved, batch: EnvBatch, rng: Rng) -> Collector:
    """With the normalisers that the run asks for; not started."""
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
    path: Path,
    open_writer: Callable[[], RunWriter],
    rng: Rng,
    hooks: Sequence[Hook],
    trust: bool,
    engine: Engine,
) -> Session:
    """The run's directory is opened last: what fails before leaves it as it was."""
    run = resolved.run
    threads_before = None
    if engine.name == "torch":
        threads_before = torch.get_num_threads()
        if isinstance(run.threads, str):
            use_threads(1, of_parts=available_cores())  # no result depends on the number of these
        else:
            use_threads(run.threads, of_parts=1)
    learner = make_learner(resolved, spec, rng, trust)
    collector.use_carry(resolved.algo.carry_size(learner))
    memory = resolved.algo.memory(resolved.cfg)
    memory.attach(collector, path)
    own = [_make_callback(name, trust) for name in run.callbacks]
    for name in run.trackers:
        find_tracker(name)
    writer = open_writer()
    if engine.name.startswith("native"):
        writer.lines = native_lines
    try:
        trackers = make_trackers(run.trackers, writer.path, resolved.values(), writer)
        trainer = Trainer(
            algo=resolved.algo,
            run=run,
            cfg=resolved.cfg,
            learner=learner,
            collector=collector,
            memory=memory,
            eval_batch=batches[1],
            writer=writer,
            rng=rng,
            engine=engine.name,
            hooks=[*own, *trackers, *hooks],
        )
    except BaseException as error:
        with suppress(RunError):
            writer.status("failed", str(error))
        writer.close()
        raise
    return Session(trainer, writer, [b for b in batches[:2] if b is not None], threads_before)


def _make_callback(name: str, trust: bool) -> Hook:
    made = import_named(name, trust=trust, what="callback")
    try:
        hook = made()
    except Exception as error:
        raise ConfigError(
            f"Making the callback '{name}' failed with {type(error).__name__}: {error}."
        ) from error
    if not isinstance(hook, Hook):
        raise ConfigError(
            f"The callback '{name}' is a {type(hook).__name__}, expected a dressage Hook: derive "
            "it from dressage.core.hooks.Hook."
        )
    return hook


def make_learner(resolved: Resolved, spec: TaskSpec, rng: Rng, trust: bool) -> Any:
    """The networks of a run, freshly drawn."""
    run = resolved.run
    refuse_other_actions(resolved, spec)
    custom = import_named(run.net, trust=trust, what="network") if run.net else None
    native = is_native(resolved.algo)
    task = Task(spec, run, rng, "cpu" if native else pick_device(run.device), custom)
    learner = resolved.algo.init(task, resolved.cfg)
    if isinstance(learner, Learner):
        use_convolutions(learner.nets.values())
    return learner


def refuse_other_actions(resolved: Resolved, spec: TaskSpec) -> None:
    """An algorithm says which kinds of actions it takes."""
    taken, action = resolved.algo.NEEDS.actions, spec.action
    there = {"categorical": bool(action.categories), "continuous": bool(action.continuous)}
    if other := [kind for kind, is_there in there.items() if is_there and kind not in taken]:
        words = {"categorical": "discrete", "continuous": "continuous"}
        takes, has = (" and ".join(words[kind] for kind in kinds) for kinds in (taken, other))
        raise ConfigError(
            f"algo={resolved.run.algo} takes {takes} actions, and this task has {has} ones: "
            "algo=ppo takes any."
        )


def _resume_info(verdict: Verdict) -> dict[str, Any]:
    return {"exact": verdict.exact, "reason": verdict.reason}

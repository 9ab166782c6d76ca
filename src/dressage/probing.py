"""Puts together what probes need of a run: its environment, and its algorithm ready to train."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dressage.assemble import make_collector, make_learner, use_threads, with_engine
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.diagnosis.probes.practice import Practice
from dressage.diagnosis.probes.result import ProbeResult
from dressage.diagnosis.probes.run import run_probes
from dressage.diagnosis.probes.subject import Subject
from dressage.envs.backends import open_batch
from dressage.envs.make import EnvRecipe, make_env
from dressage.errors import ConfigError, DressageError
from dressage.presets.resolve import Resolved, resolve
from dressage.runs.checkpoint import latest_checkpoint, load_checkpoint
from dressage.runs.view import RunView

OURS = "dressage"


def probe(
    view: RunView,
    *,
    env: str | None = None,
    trust: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> list[ProbeResult]:
    """Runs the probes on a run's environment, and on its algorithm where that is ours."""
    return run_probes(subject_of(view, env, trust), say)


def _check_named(view: RunView, env: str) -> None:
    """That there is such an environment, and that it is not another than the log's."""
    task = (view.env or "").rpartition("-v")[0]
    if task and ":" not in env and task != env.rpartition("-v")[0]:
        raise ConfigError(
            f"The log of {view.id} is of {view.env}, and --env says {env}. Name the run's own "
            "environment; one of yours with a wrapper is module:Env."
        )
    make_env(env).close()


def subject_of(
    view: RunView,
    env: str | None = None,
    trust: bool = False,
    checkpoint: Path | None = None,
) -> Subject:
    """`env`: the run's environment, named by the user, who thereby trusts it. `checkpoint`: what
    the algorithm begins from; the newest by default."""
    if view.library != OURS:
        if env is None:
            known = f" --env {view.env}" if view.env else " --env CartPole-v1 or module:Env"
            raise ConfigError(
                f"{view.id} is a run of {view.library}: to probe it, name its environment,{known}."
            )
        _check_named(view, env)
        why = f"The algorithm is that of {view.library}, and only dressage's own are run."
        return Subject(view, EnvRecipe(partial(make_env, env)), why_not=why)
    config = dict(view.config)
    named = partial(make_env, env) if env is not None else config.get("env")
    recipe = EnvRecipe(
        named or "",
        config.get("env_kwargs") or {},
        tuple(config.get("wrappers") or ()),
        trust=trust,
    )
    try:
        resolve(config.get("env"), config.get("algo"), config, trust=trust, use_preset=False)
    except DressageError as error:  # an algorithm of the user's own, or a damaged config
        return Subject(view, recipe, why_not=str(error), settings=config)
    latest = checkpoint or latest_checkpoint(view.path).path

    def practise(
        recipe: EnvRecipe, settings: Mapping[str, Any], engine: str, from_checkpoint: bool
    ) -> Practice:
        changed = {**config, **settings}
        resolved = resolve(config["env"], config["algo"], changed, trust=trust, use_preset=False)
        arrays = None
        if from_checkpoint and latest is not None:
            arrays = load_checkpoint(latest, ["policy"]).parts["policy"]
        return make_practice(resolved, recipe, engine, trust, arrays)

    return Subject(view, recipe, practise, "", config, latest is not None)


def make_practice(
    resolved: Resolved,
    recipe: EnvRecipe,
    engine: str,
    trust: bool,
    arrays: Mapping[str, Any] | None = None,
) -> Practice:
    """The algorithm with its environments, in this process; weights and statistics of
    observations from `arrays` of a checkpoint, where given."""
    batch = open_batch(recipe, resolved.n_envs, "inline", resolved.run.scale_actions)
    try:
        rng = Rng(resolved.run.seed)
        collector = make_collector(resolved, batch, rng)
        collector.start()
        spec = TaskSpec(batch.obs_codec, batch.action_codec, batch.mask is not None)
        asked = resolved.run.engine if engine == "auto" else engine
        resolved, used = with_engine(resolved, spec, asked)
        if used.name == "torch":
            use_threads(1, of_parts=1)  # small networks, and two threads are slower
        learner = make_learner(resolved, spec, rng, trust)
        collector.use_carry(resolved.algo.carry_size(learner))
        if arrays is not None:
            learner.load_weights(dict(arrays))
            if collector.obs_normalizer is not None:
                collector.obs_normalizer.load(dict(arrays))
        return Practice(resolved.algo, resolved.cfg, learner, collector, rng)
    except BaseException:
        batch.close()
        raise

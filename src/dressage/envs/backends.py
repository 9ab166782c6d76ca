"""Which backend: measured, because it depends on the environment and the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dressage.envs.actions import ActionCodec
from dressage.envs.batch import EnvBatch, Floats, InlineBatch, obs_hashes
from dressage.envs.make import EnvRecipe, import_named
from dressage.envs.process import ProcessBatch, available_cores
from dressage.envs.vector import VectorBatch
from dressage.errors import EnvError, did_you_mean

BACKENDS = ("auto", "inline", "process", "vector")
# Below this a step costs less than waking a worker and waiting for the slowest of them.
CHEAP_STEP_SECONDS = 200e-6
MEASURE_SECONDS = 0.3


def random_actions(codec: ActionCodec, rng: np.random.Generator, rows: int) -> Floats:
    """Flat actions [rows, A]: uniform over values and within bounds, normal where unbounded."""
    flat = np.empty((rows, codec.size), np.float32)
    for column, n in enumerate(codec.categories):
        flat[:, column] = rng.integers(0, n, rows)
    first = len(codec.categories)
    for d in range(codec.continuous):
        low, high = float(codec.low[d]), float(codec.high[d])
        bounded = max(abs(low), abs(high)) < 1e10
        flat[:, first + d] = rng.uniform(low, high, rows) if bounded else rng.normal(size=rows)
    return flat


def masked_random_actions(batch: EnvBatch, rng: np.random.Generator) -> Floats:
    """Random actions for all environments that respect the masks."""
    flat = random_actions(batch.action_codec, rng, batch.n_envs)
    if batch.mask is not None:
        start = 0
        for column, n in enumerate(batch.action_codec.categories):
            for i in range(batch.n_envs):
                allowed = np.flatnonzero(batch.mask[i, start : start + n])
                flat[i, column] = allowed[int(flat[i, column]) % len(allowed)]
            start += n
    return flat


def as_recipe(make: EnvRecipe | str | Callable[..., Any]) -> EnvRecipe:
    return make if isinstance(make, EnvRecipe) else EnvRecipe(make)


def open_batch(
    make: EnvRecipe | str | Callable[..., Any],
    n_envs: int,
    backend: str = "inline",
    scale_actions: bool = True,
) -> EnvBatch:
    """A batch of n_envs environments on a backend by name (not `auto`)."""
    recipe = as_recipe(make)
    if backend == "inline":
        return InlineBatch([recipe() for _ in range(n_envs)], scale_actions)
    if backend == "process":
        return ProcessBatch(recipe, n_envs, scale_actions)
    if backend == "vector":
        if recipe.vector is None:
            raise EnvError(
                "backend=vector needs vector=module:function, a function that makes a VectorEnv "
                "for a number of environments."
            )
        make_vector = (
            import_named(recipe.vector, trust=recipe.trust, what="vector environment")
            if isinstance(recipe.vector, str)
            else recipe.vector
        )
        return VectorBatch(make_vector(n_envs), scale_actions)
    raise EnvError(
        f"There is no backend '{backend}'.{did_you_mean(backend, BACKENDS)} "
        f"Known: {', '.join(BACKENDS)}."
    )


def choose_backend(
    make: EnvRecipe | str | Callable[..., Any], n_envs: int, requested: str = "auto"
) -> tuple[str, dict[str, float]]:
    """The backend to use, and what was measured: seconds per step, env steps per second."""
    recipe = as_recipe(make)
    if requested not in BACKENDS:
        open_batch(recipe, n_envs, requested)
    if requested != "auto":
        return requested, {}
    measured: dict[str, float] = {}
    with open_batch(recipe, 1) as one:
        measured["median_step_seconds"] = median = _median_step_seconds(one)
    names = ["inline"]
    if recipe.vector is not None and _vector_agrees(recipe, n_envs):
        names.append("vector")
    if n_envs > 1 and available_cores() > 1 and median > CHEAP_STEP_SECONDS:
        names.append("process")
    if names == ["inline"]:
        return "inline", measured
    for name in names:
        try:
            with open_batch(recipe, n_envs, name) as batch:
                measured[f"{name}_env_steps_per_second"] = _env_steps_per_second(batch)
        except EnvError:
            if name == "inline":
                raise
    speeds = {n: measured.get(f"{n}_env_steps_per_second", 0.0) for n in names}
    return max(speeds, key=lambda name: speeds[name]), measured


def _reset_ended(batch: EnvBatch, next_seed: int) -> int:
    ended = np.flatnonzero(batch.terminated | batch.truncated).tolist()
    if ended:
        batch.reset_many(ended, list(range(next_seed, next_seed + len(ended))))
    return next_seed + len(ended)


def _median_step_seconds(batch: EnvBatch) -> float:
    rng = np.random.default_rng(0)
    batch.reset(0, 0)
    seed = 1
    times: list[float] = []
    deadline = time.perf_counter() + MEASURE_SECONDS / 2
    while len(times) < 64 and (not times or time.perf_counter() < deadline):
        actions = masked_random_actions(batch, rng)
        start = time.perf_counter()
        batch.step(actions)
        times.append(time.perf_counter() - start)
        seed = _reset_ended(batch, seed)
    return statistics.median(times)


def _env_steps_per_second(batch: EnvBatch) -> float:
    """Resets included: they are part of what a run pays."""
    rng = np.random.default_rng(0)
    n = batch.n_envs
    batch.reset_many(range(n), range(n))
    batch.step(masked_random_actions(batch, rng))
    seed, steps = _reset_ended(batch, n), 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < MEASURE_SECONDS or steps == 0:
        batch.step(masked_random_actions(batch, rng))
        seed = _reset_ended(batch, seed)
        steps += 1
    return steps * n / elapsed if elapsed > 0 else 0.0


def _vector_agrees(recipe: EnvRecipe, n_envs: int, env_steps: int = 20) -> bool:
    """Does the vector form give the trajectories of single environments?"""
    try:
        with open_batch(recipe, n_envs, "vector") as vector, open_batch(recipe, n_envs) as inline:
            return same_trajectories(vector, inline, env_steps)
    except EnvError:
        return False


def same_trajectories(a: EnvBatch, b: EnvBatch, env_steps: int) -> bool:
    """Bit-identical observations, rewards, ends and masks under the same seeds and actions."""
    rng = np.random.default_rng(0)
    for batch in (a, b):
        batch.reset_many(range(batch.n_envs), range(batch.n_envs))
    seed = a.n_envs
    for _ in range(env_steps):
        if obs_hashes(a) != obs_hashes(b):
            return False
        actions = masked_random_actions(a, rng)
        a.step(actions)
        b.step(actions)
        for name in ("reward", "raw_reward", "terminated", "truncated", "game_over"):
            if getattr(a, name).tobytes() != getattr(b, name).tobytes():
                return False
        _reset_ended(a, seed)
        seed = _reset_ended(b, seed)
    return obs_hashes(a) == obs_hashes(b)

"""Faults in code: each patches a function of dressage for the length of one run.

Where it can, a patch changes the data that a learner gets (`prepare`), which costs nothing and
works on either engine; what is inside a loss or a network needs torch (`TORCH`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.faults.injections import losses, midway, networks
from benchmarks.faults.setting import Setting

from dressage.core.steps import Steps
from dressage.core.trainer import Trainer

Patch = Callable[..., AbstractContextManager[Any]]


def module_of(setting: Setting) -> Any:
    return importlib.import_module(f"dressage.algos.{setting.algo}")


@contextmanager
def prepared(
    setting: Setting,
    before: Callable[[Steps], Steps] = lambda steps: steps,
    after: Callable[[Steps], Steps] = lambda steps: steps,
) -> Iterator[None]:
    """Changes the steps that go into `prepare`, or those that come out of it."""
    module = module_of(setting)
    original = module.prepare

    def prepare(learner: Any, steps: Steps, cfg: Any) -> tuple[Steps, dict[str, float]]:
        made, metrics = original(learner, before(steps), cfg)
        return after(made), metrics

    with patch.object(module, "prepare", prepare):
        yield


# -- on-policy: advantages and returns -----------------------------------------------------------


def advantage_negated(setting: Setting, share: float) -> Any:
    """The policy loss has the wrong sign, for a share of the steps."""
    rng = np.random.default_rng(0)

    def after(steps: Steps) -> Steps:
        x = steps.extras
        sign = np.where(rng.random(x["advantage"].shape) < share, -1.0, 1.0).astype(np.float32)
        return steps._replace(extras=x | {"advantage": x["advantage"] * sign})

    return prepared(setting, after=after)


def returns_shifted(setting: Setting, rows: int) -> Any:
    """Advantages and returns belong to steps `rows` away; 0: they are in reverse order."""

    def moved(x: Any) -> Any:
        return np.ascontiguousarray(x[::-1] if rows == 0 else np.roll(x, rows, axis=0))

    def after(steps: Steps) -> Steps:
        x = steps.extras
        both = {name: moved(x[name]) for name in ("advantage", "returns")}
        return steps._replace(extras=x | both)

    return prepared(setting, after=after)


def broadcast(setting: Setting, policy: bool, value: bool) -> Any:
    """`[B, 1]` with `[B]` gives `[B, B]`, whose mean has the gradient of the mean target."""

    def after(steps: Steps) -> Steps:
        x = dict(steps.extras)
        for name in ["advantage"] * policy + ["returns"] * value:
            x[name] = np.full_like(x[name], x[name].mean())
        return steps._replace(extras=x)

    return prepared(setting, after=after)


def advantage_lost(setting: Setting, kept: float) -> Any:
    """The policy gets next to no gradient: advantages are detached into zeros for most steps."""
    rng = np.random.default_rng(0)

    def after(steps: Steps) -> Steps:
        x = steps.extras
        there = rng.random(x["advantage"].shape) < kept
        return steps._replace(extras=x | {"advantage": x["advantage"] * there.astype(np.float32)})

    return prepared(setting, after=after)


def episodes_joined(setting: Setting, share: float) -> Any:
    """The ends of a share of the episodes are lost: estimates leak from one into the next."""
    rng = np.random.default_rng(0)

    def before(steps: Steps) -> Steps:
        kept = rng.random(steps.terminated.shape) >= share
        return steps._replace(terminated=steps.terminated & kept, truncated=steps.truncated & kept)

    return prepared(setting, before=before)


# -- the data of any learner ---------------------------------------------------------------------


def terminals_lost(setting: Setting, share: float) -> Any:
    """Ends of the task are kept as ends by the clock: values go on after them."""
    rng = np.random.default_rng(0)

    def before(steps: Steps) -> Steps:
        lost = steps.terminated & (rng.random(steps.terminated.shape) < share)
        return steps._replace(terminated=steps.terminated & ~lost, truncated=steps.truncated | lost)

    return prepared(setting, before=before)


def clock_as_end(setting: Setting) -> Any:
    """Ends by the clock are kept as ends of the task."""

    def before(steps: Steps) -> Steps:
        return steps._replace(
            terminated=steps.terminated | steps.truncated,
            truncated=np.zeros_like(steps.truncated),
        )

    return prepared(setting, before=before)


def successor_stale(setting: Setting, share: float) -> Any:
    """`next_obs` is the observation itself, for a share of the steps."""
    rng = np.random.default_rng(0)

    def before(steps: Steps) -> Steps:
        stale = rng.random(steps.reward.shape) < share
        return steps._replace(next_obs=np.where(stale[..., None], steps.obs, steps.next_obs))

    return prepared(setting, before=before)


def replay_mangled(setting: Setting, share: float, what: str) -> Any:
    """Observations or rewards of a share of the steps belong to other steps."""
    rng = np.random.default_rng(0)
    old: dict[str, Any] = {}

    def before(steps: Steps) -> Steps:
        mangled = rng.random(steps.reward.shape) < share
        values = getattr(steps, what)
        pool = np.concatenate(
            [
                old.get(what, values.reshape(-1, *values.shape[2:])),
                values.reshape(-1, *values.shape[2:]),
            ]
        )[-2000:]
        old[what] = pool
        drawn = pool[rng.integers(len(pool), size=steps.reward.shape)]
        mask = mangled if what == "reward" else mangled[..., None]
        return steps._replace(**{what: np.where(mask, drawn, values).astype(values.dtype)})

    return prepared(setting, before=before)


@contextmanager
def updated_with(setting: Setting, **given: Any) -> Iterator[None]:
    """Updates use other numbers than the settings say: `name=value`, or `name__power=value`."""
    original = Trainer._replay_rounds

    def rounds(self: Trainer, cfg: Any) -> Any:
        other = {}
        for key, value in given.items():
            name, _, power = key.partition("__")
            other[name] = getattr(cfg, name) ** value if power else value
        return original(self, cfg.model_copy(update=other))

    with patch.object(Trainer, "_replay_rounds", rounds):
        yield


# -- evaluation ----------------------------------------------------------------------------------


@contextmanager
def evaluated_with(setting: Setting, wrapper: str, **kwargs: Any) -> Iterator[None]:
    """The environments of evaluations have one more wrapper than those of training."""
    from benchmarks.faults.injection import INJECTIONS

    from dressage import assemble

    original, calls = assemble._open, []

    def open_batch(recipe: Any, *args: Any) -> Any:
        calls.append(recipe)
        if len(calls) == 2:
            added = {"name": f"{INJECTIONS}.{wrapper}", **kwargs}
            recipe = replace(recipe, wrappers=[*recipe.wrappers, added])
        return original(recipe, *args)

    with patch.object(assemble, "_open", open_batch):
        yield


@contextmanager
def evaluated_unnormalised(setting: Setting, scale: float) -> Iterator[None]:
    """Evaluations normalise observations with statistics that are not training's."""

    def choose(self: Trainer, obs: Any, carry: Any, mask: Any) -> Any:
        return self.algo.act(self.learner, (obs * scale).astype(np.float32), carry, mask, None)

    with patch.object(Trainer, "_choose", choose):
        yield


# -- no fault ------------------------------------------------------------------------------------


@contextmanager
def on_torch(setting: Setting) -> Iterator[None]:
    """No fault: the same on the other engine."""
    yield


CODE: dict[str, Patch] = {
    function.__name__: function
    for function in (
        advantage_negated,
        returns_shifted,
        broadcast,
        advantage_lost,
        episodes_joined,
        terminals_lost,
        clock_as_end,
        successor_stale,
        replay_mangled,
        updated_with,
        evaluated_with,
        evaluated_unnormalised,
        on_torch,
        *midway.PATCHES,
        *losses.PATCHES,
        *networks.PATCHES,
    )
}
# These reach what they change in native environments too; the others need the Python loop.
IN_C_TOO = {f.__name__ for f in midway.PATCHES if f is not midway.state_lost}
TORCH = {f.__name__ for f in (on_torch, *losses.PATCHES, *networks.PATCHES)}

"""The public functions: what each command does, as one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dressage.errors import DressageError, RunError
from dressage.runs.find import find, find_checkpoint, new_run_id, runs_root, set_last
from dressage.runs.group import Group
from dressage.runs.run import Run

if TYPE_CHECKING:
    from dressage.core.hooks import Hook
    from dressage.policy import Policy


def train(
    env: Any = None,
    *,
    algo: str | None = None,
    config: str | Path | None = None,
    resume: str | Path | Run | None = None,
    runs: str | Path | None = None,
    hooks: Sequence[Hook] = (),
    trust: bool = False,
    **overrides: Any,
) -> Run | Group:
    """Trains an agent and returns its run (a group where `seeds` is over one).

    `env`: a Gymnasium id, `module:Class`, `module:function`, or a callable; `ENV:ALGO` works too.
    `config`: a file of settings. `overrides`: any setting by name, `lr=3e-4`.
    `resume`: a run to go on with, from its last checkpoint; `trust` lets it import its own code.
    """
    from dressage.presets.resolve import read_config_file, resolve
    from dressage.training import train_group, train_new, train_resumed

    root = runs_root(runs)
    if resume is not None:
        run = resume if isinstance(resume, Run) else find(resume, root)
        return train_resumed(run, overrides, env=env, hooks=hooks, trust=trust)
    made = None if env is None or isinstance(env, str) else env
    name = env if made is None else f"{made.__module__}:{made.__qualname__}"
    resolved = resolve(name, algo, overrides, read_config_file(Path(config)) if config else None)
    if resolved.run.seeds > 1:
        return train_group(resolved, root, hooks=hooks)
    path = root / new_run_id(resolved.run.env, resolved.run.algo, resolved.run.seed, root)
    set_last(root, path.name)
    return train_new(resolved, path, env=made, hooks=hooks)


def load(
    run: str | Path | Run,
    *,
    runs: str | Path | None = None,
    trust: bool = False,
    device: str = "cpu",
) -> Policy:
    """The policy of `RUN`, `RUN@best`, `RUN@last` or `RUN@<env_steps>`, ready to `predict`."""
    from dressage.policy import load_policy

    if isinstance(run, Run):
        return load_policy(run, None, trust=trust, device=device)
    found, checkpoint = find_checkpoint(str(run), runs_root(runs))
    if isinstance(found, Group):
        raise RunError(
            f"{found.id} is a group of {len(found.members)} runs: name one of them, such as "
            f"{found.id}/{found.listed[0]['seed']}."
        )
    return load_policy(found, checkpoint, trust=trust, device=device)


__all__ = ["DressageError", "load", "train"]

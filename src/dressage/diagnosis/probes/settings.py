"""Settings that probes change: to make a training short, or an optimizer the usual one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dressage.diagnosis.probes.subject import Subject

MOST_ENVS = 8
ROWS = 512  # of a rollout, at least two batches
USUAL_RATE = 1e-3
SMALL_BATCH = 64  # enough for what two observations can tell
QUICK_TAU = 0.05  # with the usual 0.005 a target is half there after 140 updates


def known(subject: Subject, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Those that the run's algorithm has."""
    settings = subject.settings or {}
    return {name: value for name, value in wanted.items() if name in settings}


def short(subject: Subject, rows: int = ROWS) -> dict[str, Any]:
    """Fewer environments and shorter rollouts, a smaller memory, nothing that waits long."""
    n_envs = min(int(subject.setting("n_envs", 1)), MOST_ENVS)
    changed: dict[str, Any] = {"n_envs": n_envs}
    n_steps, batch = subject.setting("n_steps"), subject.setting("batch_size")
    if n_steps is not None:
        changed["n_steps"] = _rollout(subject, int(n_steps), batch, n_envs, rows)
    limits = {"learning_starts": 100, "buffer_size": 20_000, "target_update_interval": 100}
    for name, most in limits.items():
        value = subject.setting(name)
        if isinstance(value, int):
            changed[name] = min(value, most)
    off = {"bonus": "none", "her": "none", "demonstrations": None, "buffer_on": "memory"}
    return known(subject, changed | off)


def _rollout(subject: Subject, n_steps: int, batch: Any, n_envs: int, rows: int) -> int:
    """Vector steps of a rollout that whole batches and sequences still share out."""
    if batch is None:
        return min(n_steps, max(2, rows // n_envs))
    unit = int(batch) // math.gcd(int(batch), n_envs)
    if subject.setting("recurrent", "none") != "none":
        unit = math.lcm(unit, int(subject.setting("sequence_length", 1)))
    wanted = min(n_steps, max(2 * int(batch), rows) // n_envs)
    return unit * max(1, math.ceil(wanted / unit))


def plain(subject: Subject) -> dict[str, Any]:
    """For the probe environments: no normalisers, and no network made for other observations."""
    changed: dict[str, Any] = {"normalize_obs": False, "normalize_reward": False, "net": None}
    tau = subject.setting("tau")
    if isinstance(tau, int | float):
        changed["tau"] = max(float(tau), QUICK_TAU)
    if subject.setting("buffer_size") is not None:
        changed["batch_size"] = min(int(subject.setting("batch_size", SMALL_BATCH)), SMALL_BATCH)
    return short(subject, rows=128) | known(subject, changed)


def usual_optimizer(subject: Subject) -> dict[str, Any]:
    """What learns any tiny task, if the losses are right."""
    return known(
        subject,
        {
            "learning_rate": USUAL_RATE,
            "value_learning_rate": None,
            "optimizer": "adam",
            "optimizer_eps": 1e-8,
            "weight_decay": 0.0,
            "max_grad_norm": 10.0,
        },
    )

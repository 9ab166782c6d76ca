"""Where the settings of compared runs differ, and what such a difference is expected to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dressage.runs.view import RunView

# Settings that change what is learned, by what they are about, each with what more of it does.
EFFECTS: dict[str, tuple[str, str]] = {
    "learning_rate": ("optimisation", "larger steps: faster, until the KL divergence leaves 0.02"),
    "value_learning_rate": ("optimisation", "values follow faster, and oscillate sooner"),
    "n_epochs": ("optimisation", "more updates of the same data: a larger KL divergence"),
    "batch_size": ("optimisation", "steadier gradients, fewer updates"),
    "clip_range": ("optimisation", "the policy may move further in an update"),
    "clip_range_vf": ("optimisation", "the values may move further in an update"),
    "target_kl": ("optimisation", "more epochs before an update stops"),
    "max_grad_norm": ("optimisation", "larger gradients pass"),
    "optimizer": ("optimisation", "another scale of steps: the rate goes with it"),
    "optimizer_eps": ("optimisation", "smaller steps where gradients are small"),
    "weight_decay": ("optimisation", "smaller weights"),
    "normalize_advantage": (
        "optimisation",
        "the policy's steps do not depend on the reward's scale",
    ),
    "vf_coef": ("optimisation", "the values weigh more in shared layers"),
    "n_steps": ("data", "longer rollouts: steadier advantages, fewer updates"),
    "n_envs": ("data", "more episodes side by side, fewer updates for as many env steps"),
    "env_steps": ("data", "a longer run, and slower schedules"),
    "buffer_size": ("data", "older transitions stay"),
    "learning_starts": ("data", "learning begins later, on more data"),
    "train_freq": ("data", "fewer updates an env step"),
    "gradient_steps": ("data", "more updates an env step"),
    "n_step": ("data", "rewards reach further back, with more variance"),
    "prioritized": ("data", "transitions with large errors come more often"),
    "gamma": ("horizon", "later rewards count more; values are larger and noisier"),
    "gae_lambda": ("horizon", "less bias and more variance of advantages"),
    "tau": ("targets", "targets follow faster"),
    "target_update_interval": ("targets", "targets follow more rarely"),
    "double": ("targets", "less overestimation"),
    "ent_coef": ("exploration", "a more random policy"),
    "epsilon": ("exploration", "more random actions"),
    "noise_std": ("exploration", "more noise on the actions"),
    "action_noise": ("exploration", "another kind of noise on the actions"),
    "log_std_init": ("exploration", "wider first actions"),
    "use_sde": ("exploration", "noise that depends on the state"),
    "bonus": ("exploration", "new states are rewarded"),
    "bonus_coef": ("exploration", "new states are rewarded more"),
    "net_arch": ("network", "more to learn with, and more to learn"),
    "activation": ("network", "tanh is usual on-policy, ReLU off-policy"),
    "layer_norm": ("network", "steadier features, for many updates a step"),
    "share_features": ("network", "the value loss moves the policy's features"),
    "recurrent": ("network", "a memory"),
    "normalize_obs": ("scales", "observations of one scale"),
    "normalize_reward": ("scales", "values of one scale"),
    "wrappers": ("task", "another task"),
    "env": ("task", "another task"),
    "env_kwargs": ("task", "another task"),
    "algo": ("algorithm", "another algorithm"),
}
OTHER = "other"


@dataclass(frozen=True)
class Difference:
    setting: str
    values: list[str]  # one for each side
    group: str
    expected: str  # what more of it does; empty where nothing is known


def differences(sides: Sequence[Sequence[RunView]]) -> list[Difference]:
    """Settings in which the sides differ, those that are known to matter first.

    A setting that differs among the runs of one side (its seed) is that side's own affair.
    """
    configs = [_shared(runs) for runs in sides]
    names = {name: None for config in configs for name in config}
    order = {name: place for place, name in enumerate(EFFECTS)}
    found = []
    for name in sorted(names, key=lambda n: (order.get(n, len(order)), n)):
        values = [config.get(name, "–") for config in configs]
        if len(set(values)) > 1:
            group, expected = EFFECTS.get(name, (OTHER, ""))
            found.append(Difference(name, values, group, expected))
    return found


def _shared(runs: Sequence[RunView]) -> dict[str, str]:
    """What all runs of a side have in common, as text."""
    texts = [{k: _text(v) for k, v in settings(run).items()} for run in runs]
    return {k: v for k, v in texts[0].items() if all(t.get(k) == v for t in texts)}


def settings(run: RunView) -> dict[str, Any]:
    named = {"env": run.env, "algo": run.algo, "library": run.library}
    return run.config | {k: v for k, v in named.items() if v is not None}


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, default=str)

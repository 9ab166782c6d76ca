"""Algorithms by name; each is one module, imported when it is used."""

from __future__ import annotations

import importlib
from typing import cast

from dressage.core.algorithm import Algorithm
from dressage.envs.make import import_named, is_module
from dressage.errors import ConfigError, did_you_mean

ALGORITHMS = {
    "ppo": "dressage.algos.ppo",
    "a2c": "dressage.algos.a2c",
    "reinforce": "dressage.algos.reinforce",
    "dqn": "dressage.algos.dqn",
    "c51": "dressage.algos.c51",
    "qr_dqn": "dressage.algos.qr_dqn",
    "rainbow": "dressage.algos.rainbow",
    "drqn": "dressage.algos.drqn",
    "bootstrapped_dqn": "dressage.algos.bootstrapped_dqn",
    "q_learning": "dressage.algos.q_learning",
    "sarsa": "dressage.algos.sarsa",
    "ucb": "dressage.algos.ucb",
    "sac": "dressage.algos.sac",
    "td3": "dressage.algos.td3",
    "ddpg": "dressage.algos.ddpg",
    "tqc": "dressage.algos.tqc",
    "crossq": "dressage.algos.crossq",
    "sac_discrete": "dressage.algos.sac_discrete",
    "recurrent_sac": "dressage.algos.recurrent_sac",
    "recurrent_td3": "dressage.algos.recurrent_td3",
}
REQUIRED = (
    "Config",
    "NEEDS",
    "check",
    "init",
    "memory",
    "rollout_length",
    "carry_size",
    "noise",
    "act",
    "prepare",
    "update",
)


def load_algorithm(name: str, *, trust: bool = True) -> Algorithm:
    """The module behind a name, or behind `package.module` or `module` of the user's own."""
    if name in ALGORITHMS:
        return cast(Algorithm, importlib.import_module(ALGORITHMS[name]))
    if "." not in name and not is_module(name):
        raise ConfigError(
            f"There is no algorithm '{name}'; known: {', '.join(ALGORITHMS)}."
            f"{did_you_mean(name, list(ALGORITHMS))} Your own is named as package.module."
        )
    module = import_named(name, trust=trust, what="algorithm")
    if missing := [part for part in REQUIRED if not hasattr(module, part)]:
        raise ConfigError(
            f"algo={name} lacks {', '.join(missing)}: an algorithm's module defines them."
        )
    return cast(Algorithm, module)

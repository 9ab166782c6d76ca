"""Names of algorithms, whoever wrote them, and the family whose habits a diagnosis looks for."""

from __future__ import annotations

import re

FAMILIES: dict[str, tuple[str, ...]] = {
    "on-policy": (
        "ppo", "a2c", "a3c", "reinforce", "trpo", "npg", "ppg", "rpo", "appo", "impala",
    ),
    "value-based": ("dqn", "c51", "qr_dqn", "rainbow", "drqn", "iqn", "fqf", "r2d2", "pqn"),
    "actor-critic": ("sac", "td3", "ddpg", "tqc", "crossq", "redq", "droq"),
    "offline": ("cql", "iql", "td3_bc", "bcq", "bear", "awac", "crr", "marwil", "dt"),
    "imitation": ("bc", "dagger", "gail", "airl"),
    "multi-agent": ("qmix", "vdn", "maddpg", "mappo", "ippo"),
    "model-based": ("dreamer", "muzero", "mbpo"),
    "evolution": ("ars", "es"),
}  # fmt: skip
FAMILY = {algo: family for family, algos in FAMILIES.items() for algo in algos}
UNKNOWN = "unknown"

# Other spellings, after everything that is no letter or digit is left out.
_SPELLINGS = {algo.replace("_", ""): algo for algo in FAMILY} | {
    "recurrentppo": "ppo",
    "maskableppo": "ppo",
    "ppolstm": "ppo",
    "pporec": "ppo",
    "doubledqn": "dqn",
    "ddqn": "dqn",
    "duelingdqn": "dqn",
    "qrdqn": "qr_dqn",
    "quantiledqn": "qr_dqn",
    "categoricaldqn": "c51",
    "discretesac": "sac",
    "sacdiscrete": "sac",
    "vpg": "reinforce",
    "pg": "reinforce",
    "policygradient": "reinforce",
    "dreamerv3": "dreamer",
    "behavioralcloning": "bc",
    "decisiontransformer": "dt",
    "discretecql": "cql",
}


def canonical_algorithm(name: object) -> str | None:
    """`PPO`, `ppo_continuous_action`, `QRDQN`, `RecurrentPPO` in our spelling; None if unknown.

    A name of several words counts by its longest beginning that is known.
    """
    words = re.findall(r"[A-Za-z0-9]+", str(name)[:200])
    for count in range(len(words), 0, -1):
        found = _SPELLINGS.get("".join(words[:count]).lower())
        if found:
            return found
    return None


def family_of(algo: str | None) -> str:
    return FAMILY.get(algo or "", UNKNOWN)

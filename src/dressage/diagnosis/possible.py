"""Which causes a run can have at all: what its algorithm, its actions and its settings leave open.

Only what follows by definition: A2C has no clip range, a choice among actions has no deviation, a
limit that is not set is not too tight; and what no log without evaluations can show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dressage.diagnosis.causes import CAUSES
from dressage.runs.algorithms import FAMILY
from dressage.runs.view import RunView

CLIPPED = ("ppo", "appo", "ppg", "rpo")
SOFT = ("sac", "tqc", "crossq", "redq", "droq")
NOISY = ("td3", "ddpg")
WITHOUT_GAE = ("reinforce", "impala")
# Parts that only these algorithms have, and the causes that lie in them.
ONLY: dict[str, tuple[str, ...]] = {
    "clip-range-too-wide": CLIPPED,
    "clip-range-too-tight": CLIPPED,
    "value-clip-too-tight": CLIPPED,
    "too-many-epochs": CLIPPED,
    "batch-not-dividing-rollout": CLIPPED,
    "target-kl-too-tight": (*CLIPPED, "trpo", "npg"),
    "sac-alpha-too-high": SOFT,
    "sac-alpha-too-low": SOFT,
    "sac-alpha-explodes": SOFT,
    "reward-scale-vs-alpha": SOFT,
    "no-action-noise": NOISY,
    "action-noise-too-large": (*NOISY, *SOFT),  # SB3's SAC and TQC take noise too
    "td3-smoothing-off": ("td3",),
    "gae-lambda-extreme": tuple(
        algo for algo, family in FAMILY.items() if family == "on-policy" and algo not in WITHOUT_GAE
    ),
}
OF_NUMBERS = (  # actions that are numbers, not choices
    "action-std-explosion",
    "action-range-unnormalised",
    "action-saturation",
    "actor-saturation",
    "action-space-degenerate",
)
OF_EVALUATIONS = ("normaliser-mismatch", "eval-env-mismatch")  # nothing tells of them without
ONE_PROCESS = ("dressage", "sb3", "cleanrl", "tianshou", "gymnasium-solver")
# A setting, and the value with which it rules a cause out.
RULED_OUT: dict[str, tuple[str, object]] = {
    "value-clip-too-tight": ("clip_range_vf", None),
    "target-kl-too-tight": ("target_kl", None),
    "entropy-bonus-too-high": ("ent_coef", 0),
    "weight-decay-too-strong": ("weight_decay", 0),
    "envs-share-seed": ("n_envs", 1),
}


def possible_causes(run: RunView) -> list[str]:
    """In the order of the vocabulary."""
    family, known = run.family, run.family != "unknown"
    choices, evaluated = _chooses(run), bool(run["val/roll/ep_rew_mean"])
    return [
        cause.id
        for cause in CAUSES.values()
        if (not known or family in cause.families)
        and not (known and cause.id in ONLY and run.algo not in ONLY[cause.id])
        and not (choices and cause.id in OF_NUMBERS)
        and not (not evaluated and cause.id in OF_EVALUATIONS)
        and not (cause.id == "distributed-desync" and run.library in ONE_PROCESS)
        and not _ruled_out(cause.id, run.config)
    ]


def _chooses(run: RunView) -> bool:
    """Whether actions are choices, as far as that is known."""
    return (
        run.family == "value-based"
        or str(run.spec.get("action_space", "")).startswith(("Discrete", "Multi"))
        or ("train/roll/action_share_max" in run and "train/roll/action_std" not in run)
    )


def _ruled_out(cause: str, config: Mapping[str, Any]) -> bool:
    if cause not in RULED_OUT:
        return False
    setting, value = RULED_OUT[cause]
    return setting in config and config[setting] == value

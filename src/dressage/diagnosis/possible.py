"""Which causes a run can have at all: what its algorithm, its actions and its settings leave open.

What follows by definition: A2C has no clip range, a choice among actions has no deviation, a limit
that is not set is not too tight; what no log without evaluations can show; and settings that are
known and well inside their usual range.
"""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.look import (
    FEWEST,
    beginning,
    early_spread,
    late_episodes,
    layers,
    median,
    number,
    part,
    returns,
)
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
AGREE = (
    0.25  # share of what training gained by which evaluations may differ and still agree (guess)
)
# Deviations of late episodes by which the best evaluation is lower; the least that they are taken
# to differ by, as a share (chosen on training runs: 1 of 949 healthy ones).
FAR, SAME = 1.5, 0.02
OTHER_SCALE = 10.0  # times what training earns (guess)
OF_SCHEDULES = ("schedule-restarts", "lr-schedule-ends-early")
ONE_PROCESS = ("dressage", "sb3", "cleanrl", "tianshou", "gymnasium-solver")
# A setting, and the value with which it rules a cause out.
RULED_OUT: dict[str, tuple[str, object]] = {
    "value-clip-too-tight": ("clip_range_vf", None),
    "target-kl-too-tight": ("target_kl", None),
    "entropy-bonus-too-high": ("ent_coef", 0),
    "weight-decay-too-strong": ("weight_decay", 0),
    "envs-share-seed": ("n_envs", 1),
}


# A setting, and the range in which it cannot be the cause, both ends allowed: well inside of what
# presets and papers use, and far from where rules of configuration begin.
SETTLED: dict[str, tuple[str, float, float]] = {
    "lr-too-low": ("learning_rate", 3e-4, math.inf),
    "lr-too-high": ("learning_rate", 0.0, 5e-4),
    "optimizer-eps": ("optimizer_eps", 1e-9, 1e-3),
    "weight-decay-too-strong": ("weight_decay", 0.0, 1e-4),
    "grad-clip-too-tight": ("max_grad_norm", 0.1, math.inf),
    "grad-clip-missing": ("max_grad_norm", 0.0, 5.0),
    "clip-range-too-tight": ("clip_range", 0.05, math.inf),
    "clip-range-too-wide": ("clip_range", 0.0, 0.4),
    "target-kl-too-tight": ("target_kl", 0.005, math.inf),
    "gae-lambda-extreme": ("gae_lambda", 0.8, 0.99),
    "gamma-too-low": ("gamma", 0.99, 1.0),
    "gamma-too-high": ("gamma", 0.0, 0.99),
    "too-many-epochs": ("n_epochs", 1, 10),
    "batch-too-small": ("batch_size", 32, math.inf),
    "buffer-too-small": ("buffer_size", 10_000, math.inf),
    "target-tau-extreme": ("tau", 1e-3, 0.05),
}
WORKED_OUT = 0.01  # error of returns, beside rewards, that rounding stays below
WORKING_OPTIMIZERS = ("adam", "adamw", "rmsprop")
ONE_RATE = ("sb3", "cleanrl")  # libraries whose values learn at the policy's rate


def possible_causes(run: RunView) -> list[str]:
    """In the order of the vocabulary."""
    family, known = run.family, run.family != "unknown"
    choices, evaluated = _chooses(run), _evaluations_differ(run)
    kept = _schedules_that_did_not(run)
    return [
        cause.id
        for cause in CAUSES.values()
        if (not known or family in cause.families)
        and not (known and cause.id in ONLY and run.algo not in ONLY[cause.id])
        and not (choices and cause.id in OF_NUMBERS)
        and not (not evaluated and cause.id in OF_EVALUATIONS)
        and not (cause.id == "distributed-desync" and run.library in ONE_PROCESS)
        and cause.id not in kept
        and not _ruled_out(cause.id, run)
    ]


def _evaluations_differ(run: RunView) -> bool:
    """Whether there are evaluations, and none of the late ones comes near what training earns, by
    what it gained or by what single episodes differ, or they are on another scale. A policy that
    needs its noise fails at times; in another game it fails every time."""
    held_out = part(run["val/roll/ep_rew_mean"], 0.5)
    late = median(returns(run), 0.7)
    if not len(held_out) or not run["train/roll/ep_rew_mean"]:
        return bool(len(held_out))
    best, spread = float(held_out.max()), early_spread(run)
    below = not late - best <= AGREE * max(abs(late - beginning(run)), spread)
    single = late_episodes(run, 0.7)
    if len(single) >= FEWEST and len(held_out) >= 3:
        deviation = max(float(np.std(single)), SAME * abs(late))
        below = below or best < late - FAR * deviation
    return below or abs(best) > OTHER_SCALE * max(abs(late), spread)


def _chooses(run: RunView) -> bool:
    """Whether actions are choices, as far as that is known."""
    return (
        run.family == "value-based"
        or str(run.spec.get("action_space", "")).startswith(("Discrete", "Multi"))
        or ("train/roll/action_share_max" in run and "train/roll/action_std" not in run)
    )


def _schedules_that_did_not(run: RunView) -> list[str]:
    """Of `OF_SCHEDULES`, those that the settings as they were in force rule out: nothing that is
    logged rises, or the learning rate does not fall."""
    rate = run["train/hp/lr"].values
    if len(rate) < 3 or not np.isfinite(rate).all():
        return []
    logged = [s.values for name, s in run.series.items() if name.startswith("train/hp/")]
    rises = any((np.diff(values) > 0.01 * np.abs(values[:-1])).any() for values in logged)
    restarts, ends = OF_SCHEDULES
    return [restarts] * (not rises) + [ends] * bool(rate[-1] > 0.5 * rate.max())


def _ruled_out(cause: str, run: RunView) -> bool:
    """Whether the settings, as far as they are known, leave no room for a cause."""
    if cause in RULED_OUT:
        setting, value = RULED_OUT[cause]
        if setting in run.config and run.config[setting] == value:
            return True
    if cause in SETTLED:
        setting, low, high = SETTLED[cause]
        needs_more = cause == "lr-too-low" and run.config.get("optimizer") == "sgd"
        return low <= number(run, setting) <= high and not needs_more
    match cause:
        case "optimizer-choice":
            return run.config.get("optimizer") in WORKING_OPTIMIZERS
        case "value-clip-too-tight":  # SB3 logs the range if there is one
            logged = run["train/loss/value"] and not run["train/hp/clip_range_vf"]
            return run.library == "sb3" and bool(logged)
        case "hardware-underused":  # or is the environment slow? Settings tell, and idle workers
            return not run.config and not run["sys/workers_busy"]
        case "returns-misaligned":  # worked out a second time, and the same
            return median(run["train/metrics/returns_error"]) < WORKED_OUT
        case "value-lr-mismatch":
            return run.library in ONE_RATE
        case "network-too-small":
            return bool(units := layers(run)) and all(min(net, default=0) >= 32 for net in units)
        case "sac-alpha-too-high" | "sac-alpha-too-low" | "reward-scale-vs-alpha":
            return str(run.config.get("ent_coef", "")).startswith("auto")
    return False

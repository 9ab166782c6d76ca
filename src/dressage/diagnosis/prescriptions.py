"""What to change, cause by cause: settings in our words, turned into the run's own.

A patch is built from the numbers of the run and checked before it is shown. Expected effects are
ranges marked `guess` until the record of verified fixes has measured them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.rule import Finding, Severity
from dressage.errors import ConfigError
from dressage.math.schedules import at, parse_schedule
from dressage.runs.view import RunView

Patch = dict[str, Any]
MOST = 3  # changes asked for at first


@dataclass(frozen=True)
class Prescription:
    cause: str
    patch: Patch  # in the run's own words; empty where no setting mends it
    advice: str
    rationale: str
    expected_effect: str
    risk: str
    priority: Severity
    verify: str = "train it again on several seeds, and compare"
    ours: Patch = field(default_factory=dict)  # the same patch in our words


Make = Callable[[RunView], Patch]


def rate(run: RunView) -> float:
    """The learning rate at its start; 3e-4 where it is not known."""
    try:
        return float(at(parse_schedule(run.config["learning_rate"]), 0.0))
    except (ConfigError, KeyError, TypeError, ValueError):
        return 3e-4


def nearest_batch(run: RunView) -> Patch:
    steps = int(run.config["n_steps"]) * int(run.config["n_envs"])
    batch = int(run.config["batch_size"])
    divisors = [d for d in range(2, steps + 1) if steps % d == 0]
    return {"batch_size": min(divisors, key=lambda d: abs(d - batch))} if divisors else {}


def starts(run: RunView) -> Patch:
    budget = run.budget or run.env_steps or 50_000
    return {"learning_starts": int(min(10_000, max(100, 0.02 * budget)))}


# Cause -> (what it sets, what is said, risk).
SETTINGS: Mapping[str, tuple[Make, str, str]] = {
    "lr-too-high": (
        lambda run: {"learning_rate": min(3e-4, round(rate(run) / 3, 8))},
        "Lower the learning rate.",
        "slower learning if the rate was not the cause",
    ),
    "lr-too-low": (
        lambda run: {"learning_rate": min(1e-3, max(3e-4, 10 * rate(run)))},
        "Raise the learning rate.",
        "updates that overshoot: watch the KL divergence",
    ),
    "lr-schedule-ends-early": (
        lambda run: {"learning_rate": f"linear({rate(run):g}, 0)"},
        "Let the learning rate decay over the whole budget.",
        "none known",
    ),
    "too-many-epochs": (
        lambda run: {"n_epochs": 10 if int(run.config.get("n_epochs") or 10) > 10 else 4},
        "Make fewer passes over each rollout.",
        "fewer updates: slower where data was the limit",
    ),
    "clip-range-too-wide": (lambda run: {"clip_range": 0.2}, "Use the usual clip range.", "none"),
    "clip-range-too-tight": (lambda run: {"clip_range": 0.2}, "Use the usual clip range.", "none"),
    "batch-not-dividing-rollout": (nearest_batch, "Use a batch size that divides it.", "none"),
    "rollout-too-long": (
        lambda run: {"n_steps": max(32, int(run.config.get("n_steps") or 2048) // 8)},
        "Collect less between updates.",
        "noisier advantages",
    ),
    "rollout-too-short": (
        lambda run: {"n_steps": max(128, 8 * int(run.config.get("n_steps") or 16))},
        "Collect more between updates.",
        "fewer updates",
    ),
    "entropy-collapse": (
        lambda run: {"ent_coef": 0.01},
        "Reward entropy.",
        "a policy that stays too random: lower it once the return rises",
    ),
    "entropy-bonus-too-high": (
        lambda run: {"ent_coef": float(run.config.get("ent_coef") or 0.1) / 10},
        "Lower the entropy bonus.",
        "an early collapse of the entropy: watch it",
    ),
    "critic-too-weak": (lambda run: {"vf_coef": 0.5}, "Let the value function learn.", "none"),
    "reward-scale-too-large": (
        lambda run: {"normalize_reward": True},
        "Normalise the reward.",
        "the logged loss changes its scale",
    ),
    "obs-unnormalised": (
        lambda run: {"normalize_obs": True},
        "Normalise the observations.",
        "the statistics must go along with the policy",
    ),
    "learning-never-starts": (starts, "Begin to learn early.", "none"),
    "learning-starts-misplaced": (starts, "Begin to learn early.", "none"),
    "gamma-too-low": (lambda run: {"gamma": 0.99}, "Look further ahead.", "larger values"),
    "gamma-too-high": (lambda run: {"gamma": 0.99}, "Discount.", "none known"),
    "optimizer-eps": (lambda run: {"optimizer_eps": 1e-5}, "Use the usual epsilon.", "none"),
    "optimizer-choice": (lambda run: {"optimizer": "adam"}, "Use Adam.", "none known"),
    "budget-too-small": (
        lambda run: {"env_steps": int(2 * (run.budget or run.env_steps))},
        "Train longer.",
        "time",
    ),
}

IN_WORDS: Mapping[str, str] = {
    "settings": "Change the setting named above, one at a time.",
    "code": "Compare the loss and the data path with a reference implementation, line by line.",
    "environment": "Look at the environment: `dressage diagnose --probe` runs it.",
    "evaluation": "Evaluate with the same wrappers and the training normalisers, frozen.",
    "bookkeeping": "Look at what is saved and logged, and when.",
    "machine": "Look at where the time goes: sys/time/* in metrics.csv.",
    "data": "Look at the data set: scales, ends of episodes, alignment of actions.",
}
PRIORITIES: Mapping[Severity, str] = {
    "critical": "prevents convergence (guess)",
    "high": "over 30 % fewer env steps to the threshold (guess)",
    "medium": "10 to 30 % fewer env steps to the threshold (guess)",
    "low": "under 10 % (guess)",
}


def prescribe(cause: str, run: RunView, findings: list[Finding], worst: Severity) -> Prescription:
    """The change that a cause asks for in this run."""
    rationale = " ".join(finding.says for finding in findings[:2])
    made = SETTINGS.get(cause)
    ours: Patch = {}
    if made is not None:
        try:
            ours = {k: v for k, v in made[0](run).items() if run.config.get(k) != v}
        except (KeyError, TypeError, ValueError):  # the config does not say enough
            ours = {}
    return Prescription(
        cause=cause,
        patch={run.own_setting(name): value for name, value in ours.items()},
        advice=made[1] if made is not None else IN_WORDS[CAUSES[cause].place],
        rationale=rationale,
        expected_effect=PRIORITIES[worst],
        risk=made[2] if made is not None else "none: nothing is changed yet",
        priority=worst,
        ours=ours,
    )

"""Faults of the environment, of its data and of evaluation."""

from __future__ import annotations

from typing import Any

from benchmarks.faults.fault import ANY, CONTINUOUS, WRAPPED_CHOICES, fault
from benchmarks.faults.injection import levels

UNLOGGED: dict[str, dict[str, Any]] = {"rewards:LoggedAsItWas": {}}
ENVIRONMENT = [
    fault(
        "reward-sign-flipped",
        ANY,
        levels(wrap={"rewards:FlippedAtTimes": {"share": (0.8, 0.9, 1.0)}}),
    ),
    fault(
        "reward-scale-too-large",
        ("cartpole-dqn", "pointmass-dqn", "pendulum-sac", "pointmass-sac"),
        levels(wrap={"rewards:Scaled": {"factor": (100.0, 1e3, 1e5)}}),
        "values",
    ),
    fault(
        "reward-scale-too-large",
        ("cartpole-a2c", "pointmass-choices-ppo", "cartpole-ppo"),
        levels({"share_features": True}, wrap={"rewards:Scaled": {"factor": (1e2, 1e3, 1e5)}}),
        "shared",
    ),
    fault(
        "reward-scale-too-small",
        ("pendulum-sac", "pointmass-sac"),
        levels({"ent_coef": 0.2}, wrap={"rewards:Scaled": {"factor": (0.01, 1e-3, 1e-5)}}),
        "soft",
    ),
    fault(
        "reward-scale-too-small",
        ("cartpole-a2c", "pointmass-a2c"),
        levels({"ent_coef": 0.01}, wrap={"rewards:Scaled": {"factor": (1e-3, 1e-4, 1e-6)}}),
        "bonus",
    ),
    fault(
        "sparse-reward",
        ("pendulum-ppo", "pendulum-sac"),
        levels(wrap={"rewards:Sparse": {"above": (-250.0, -150.0, -50.0)}}),
        "pendulum",
        widened=False,
    ),
    fault(
        "sparse-reward",
        ("pointmass-ppo", "pointmass-sac", "pointmass-dqn"),
        levels(wrap={"rewards:Sparse": {"above": (35.0, 45.0, 52.0)}}),
        "pointmass",
        widened=False,
    ),
    fault(
        "reward-uninformative",
        ANY,
        levels(
            wrap={"rewards:Uninformative": {"kept": (0.02, 0.005, 0.0), "noise": (3.0, 1.0, 1.0)}}
        ),
    ),
    # The same where the log tells what the environment paid, not what was learned from.
    fault(
        "reward-sign-flipped",
        ANY,
        levels(wrap=UNLOGGED | {"rewards:FlippedAtTimes": {"share": (0.8, 0.9, 1.0)}}),
        "unlogged",
    ),
    fault(
        "reward-scale-too-large",
        ("cartpole-dqn", "pointmass-dqn", "pendulum-sac", "pointmass-sac"),
        levels(wrap=UNLOGGED | {"rewards:Scaled": {"factor": (100.0, 1e3, 1e5)}}),
        "unlogged",
    ),
    fault(
        "reward-scale-too-large",
        ("cartpole-a2c", "pointmass-choices-ppo", "cartpole-ppo"),
        levels(
            {"share_features": True},
            wrap=UNLOGGED | {"rewards:Scaled": {"factor": (1e2, 1e3, 1e5)}},
        ),
        "unlogged-shared",
    ),
    fault(
        "reward-uninformative",
        ANY,
        levels(
            wrap=UNLOGGED
            | {"rewards:Uninformative": {"kept": (0.02, 0.005, 0.0), "noise": (3.0, 1.0, 1.0)}}
        ),
        "unlogged",
    ),
    fault("reward-misaligned", CONTINUOUS, levels(wrap={"rewards:Late": {"steps": (8, 20, 40)}})),
    fault(
        "nan-input",
        ANY,
        levels(wrap={"rewards:NotANumber": {"chance": 1.0, "after": (1500, 1000, 500)}}),
        "reward",
        "crash",
    ),
    fault(
        "nan-input",
        ("cartpole-ppo", "pointmass-ppo", "pendulum-sac"),
        levels(wrap={"observations:NotANumber": {"chance": 1.0, "after": (1500, 1000, 500)}}),
        "obs",
        "crash",
    ),
    fault(
        "reward-noise",
        ("cartpole-ppo", "pointmass-ppo", "cartpole-dqn"),
        levels(wrap={"rewards:Noisy": {"deviation": (5.0, 10.0, 30.0)}}),
    ),
    fault(
        "obs-unnormalised",
        ("cartpole-ppo", "pointmass-ppo", "cartpole-dqn", "pointmass-sac", "pendulum-sac"),
        levels(wrap={"observations:Rescaled": {"factor": (100.0, 1e3, 1e4)}}),
        "mixed",
    ),
    fault(
        "obs-unnormalised",
        ("pendulum-sac", "pointmass-sac", "pendulum-ppo", "pointmass-ppo"),
        levels(wrap={"observations:Enlarged": {"factor": (100.0, 1e3, 1e4)}}),
        "large",
    ),
    fault(
        "obs-constant",
        ANY,
        levels(wrap={"observations:Constant": {"kept": (1, 0, 0), "value": (0.0, 0.0, 1.0)}}),
    ),
    fault("obs-stale", ANY, levels(wrap={"observations:Stale": {"steps": (4, 8, 16)}})),
    fault(
        "partial-observability",
        ("cartpole-ppo", "pointmass-ppo", "cartpole-dqn", "pointmass-sac"),
        levels(wrap={"observations:Without": {"entries": ([1, 3], [2, 3], [1, 2, 3])}}),
    ),
    fault(
        "truncation-as-termination",
        ("pendulum-sac", "pointmass-ppo", "pendulum-ppo", "pointmass-sac"),
        levels(wrap={"episodes:ClockAsEnd": {"limit": (5, 3, 2)}}),
        measure="played",
    ),
    fault(
        "terminal-not-stored",
        ("cartpole-dqn", "acrobot-dqn", "cartpole-ppo", "inverted-pendulum-ppo"),
        levels(code={"terminals_lost": {"share": (0.95, 0.99, 1.0)}}),
    ),
    fault(
        "autoreset-leak",
        ("cartpole-ppo", "inverted-pendulum-ppo"),
        levels(code={"episodes_joined": {"share": (0.8, 0.95, 1.0)}}),
    ),
    fault(
        "episode-limit-too-short",
        ("cartpole-ppo", "acrobot-ppo", "cartpole-dqn"),
        levels(wrap={"episodes:Short": {"share": (0.1, 0.06, 0.03)}}),
        measure="played",
    ),
    fault(
        "action-range-unnormalised",
        ("pendulum-ppo", "pointmass-ppo"),
        levels(
            {"scale_actions": False}, wrap={"actions:Ranged": {"factor": (50.0, 500.0, 5000.0)}}
        ),
    ),
    fault(
        "action-space-degenerate",
        CONTINUOUS,
        levels(wrap={"actions:Narrow": {"share": (0.03, 0.01, 1e-3)}}),
    ),
    fault(
        "action-ignored",
        ANY,
        levels(wrap={"actions:Ignored": {"share": (0.6, 0.8, 1.0)}}),
        "random",
    ),
    fault(
        "action-ignored",
        WRAPPED_CHOICES,
        levels(wrap={"actions:Permuted": {"share": (0.7, 0.85, 1.0)}}),
        "permuted",
    ),
    fault("action-delay", ANY, levels(wrap={"actions:Delayed": {"steps": (4, 8, 16)}})),
    fault(
        "normaliser-mismatch",
        ("pendulum-ppo", "inverted-pendulum-ppo", "pointmass-ppo"),
        levels(
            {"normalize_obs": True}, code={"evaluated_unnormalised": {"scale": (3.0, 10.0, 30.0)}}
        ),
        measure="val",
    ),
    fault(
        "logged-reward-normalised",
        ("pendulum-sac", "pointmass-ppo", "pendulum-ppo"),
        levels(wrap={"rewards:Normalised": {"gamma": (0.9, 0.99, 0.999)}}),
        measure="logged",
    ),
    fault(
        "eval-env-mismatch",
        ("cartpole-ppo", "pointmass-ppo", "cartpole-dqn", "pointmass-sac"),
        levels(code={"evaluated_with": {"wrapper": "actions:Delayed", "steps": (4, 8, 16)}}),
        measure="val",
    ),
    fault(
        "envs-share-seed",
        ("cartpole-ppo", "pointmass-ppo"),
        levels(wrap={"episodes:SameEpisodes": {"episodes": (4, 2, 1)}}),
        measure="played",
    ),
    fault(
        "env-not-reset",
        ANY,
        levels(wrap={"episodes:NeverReset": {"limit": (1500, 1000, 500), "left": (8, 4, 1)}}),
    ),
    fault(
        "reward-hacking",
        ("pendulum-ppo", "pointmass-ppo", "pendulum-sac", "pointmass-sac"),
        levels(wrap={"rewards:PaidForSpeed": {"weight": (3.0, 6.0, 12.0)}}),
    ),
    fault(
        "throughput-decay",
        ("cartpole-ppo", "pointmass-ppo"),
        levels(wrap={"episodes:Slower": {"microseconds": (30.0, 60.0, 120.0)}}),
        measure="speed",
    ),
]

"""Faults of learning from a memory: action values, and actors with critics."""

from __future__ import annotations

from benchmarks.faults.fault import ACTOR, DETERMINISTIC, EXPLORING, OFF, SAC, VALUES, fault
from benchmarks.faults.injection import budget_shares, levels, times

VALUE_BASED = [
    fault("learning-never-starts", OFF, levels({"learning_starts": budget_shares(1.0, 1.5, 5.0)})),
    fault(
        "learning-starts-misplaced",
        OFF,
        levels({"learning_starts": budget_shares(0.85, 0.93, 0.97)}),
    ),
    fault(
        "buffer-too-small",
        ("cartpole-dqn", "pointmass-dqn", "pendulum-sac"),
        levels({"buffer_size": (48, 16, 4)}),
    ),
    fault("no-exploration", EXPLORING, levels({"epsilon": 0.0, "learning_starts": (64, 16, 1)})),
    fault(
        "epsilon-decays-too-fast",
        EXPLORING,
        levels(
            {
                "epsilon": (
                    "linear(1, 0.01, until=0.01)",
                    "linear(1, 0, until=0.003)",
                    "linear(1, 0, until=0.001)",
                ),
                "learning_starts": 64,
            }
        ),
    ),
    fault(
        "final-epsilon-too-high",
        VALUES,
        levels(
            {
                "epsilon": (
                    "linear(1, 0.4, until=0.2)",
                    "linear(1, 0.6, until=0.2)",
                    "linear(1, 0.8, until=0.2)",
                )
            }
        ),
    ),
    fault(
        "target-updates-too-rarely",
        VALUES,
        levels({"target_update_interval": budget_shares(0.3, 0.6, 2.0)}),
    ),
    fault(
        "q-divergence",
        VALUES,
        levels(
            {
                "gamma": 1.0,
                "target_update_interval": 4,
                "double": False,
                "n_step": 1,
                "learning_rate": (1e-3, 3e-3, 5e-3),
            },
            code={"terminals_lost": {"share": 1.0}},
        ),
    ),
    fault("updates-too-few", OFF, levels({"train_freq": (64, 128, 256), "gradient_steps": 1})),
    fault(
        "batch-too-small",
        ("cartpole-dqn", "pointmass-dqn", "pendulum-sac", "pointmass-sac"),
        levels({"batch_size": (2, 1, 1), "learning_rate": times("learning_rate", 2, 3, 6)}),
    ),
    fault(
        "lr-too-high",
        VALUES,
        levels({"learning_rate": times("learning_rate", 30, 100, 300)}),
        "values",
    ),
    fault(
        "lr-too-low",
        OFF,
        levels({"learning_rate": times("learning_rate", 1e-2, 1e-3, 1e-4)}),
        "off",
    ),
    fault("gamma-too-low", VALUES, levels({"gamma": (0.5, 0.25, 0.0)}), "values"),
    fault(
        "replay-corrupted",
        OFF,
        levels(code={"replay_mangled": {"share": (0.6, 0.8, 1.0), "what": "obs"}}),
        "obs",
    ),
    fault(
        "replay-corrupted",
        OFF,
        levels(code={"replay_mangled": {"share": (0.8, 0.9, 1.0), "what": "action"}}),
        "action",
    ),
    fault(
        "obs-stale",
        ACTOR,
        levels(code={"successor_stale": {"share": (0.7, 0.85, 1.0)}}),
        "memory",
    ),
    fault(
        "discount-misapplied",
        OFF,
        levels(code={"updated_with": {"gamma__power": (16.0, 40.0, 100.0)}}),
        "twice",
    ),
    fault(
        "discount-misapplied",
        ("pendulum-sac", "pointmass-sac", "pendulum-td3", "pointmass-td3"),
        levels(code={"updated_with": {"gamma": (1.02, 1.05, 1.1)}}),
        "missing",
    ),
    fault("resume-lost-state", VALUES, levels(code={"state_lost": {"share": (0.86, 0.9, 0.93)}})),
    fault(
        "td-target-wrong",
        ("cartpole-dqn-light", "pointmass-dqn"),
        levels(code={"td_target_wrong": {"how": ("minus", "unpaid", "flipped")}}),
        "values",
    ),
    fault(
        "td-target-wrong",
        ("pendulum-sac", "pointmass-sac"),
        levels(code={"td_target_wrong": {"how": ("largest", "entropy", "minus")}}),
        "soft",
    ),
    fault(
        "shape-broadcast",
        ("cartpole-dqn-light", "pointmass-dqn", "pendulum-ddpg", "pointmass-td3"),
        levels(code={"target_broadcast": {"share": (0.7, 0.9, 1.0)}}),
        "off",
    ),
    fault(
        "batch-reused",
        ("cartpole-dqn-light", "pointmass-dqn", "pendulum-ddpg"),
        levels(code={"batch_reused": {"calls": (50, 200, 1000)}}),
    ),
]

ACTOR_CRITIC = [
    fault(
        "no-action-noise",
        DETERMINISTIC,
        levels({"action_noise": "none", "learning_starts": (32, 8, 1)}),
    ),
    fault("action-noise-too-large", DETERMINISTIC, levels({"noise_std": (0.8, 1.5, 3.0)})),
    fault(
        "actor-saturation",
        DETERMINISTIC,
        levels(
            {"learning_rate": (1e-2, 2e-2, 3e-2)},
            wrap={"observations:Enlarged": {"factor": (10.0, 30.0, 100.0)}},
        ),
    ),
    fault("sac-alpha-too-high", SAC, levels({"ent_coef": (2.0, 10.0, 50.0)})),
    fault("sac-alpha-too-low", SAC, levels({"ent_coef": (1e-4, 1e-6, 0.0), "learning_starts": 8})),
    fault("sac-alpha-explodes", SAC, levels({"target_entropy": (2.0, 5.0, 20.0)})),
    fault("target-tau-extreme", ACTOR, levels({"tau": (2e-4, 5e-5, 1e-5)})),
    fault(
        "lr-too-high",
        ACTOR,
        levels({"learning_rate": times("learning_rate", 50, 200, 1000)}),
        "actor",
    ),
    fault(
        "reward-scale-vs-alpha",
        SAC,
        levels({"ent_coef": 0.2}, wrap={"rewards:Scaled": {"factor": (0.03, 0.01, 0.003)}}),
    ),
    fault("updates-starved", ACTOR, levels({"train_freq": (200, 500, 1000), "gradient_steps": 1})),
    fault(
        "policy-loss-sign",
        ("pendulum-ddpg", "pointmass-td3", "pendulum-sac", "pointmass-sac"),
        levels(code={"actor_negated": {}}),
        "actor",
    ),
    fault(
        "gamma-too-high",
        ("pendulum-sac", "pointmass-sac", "pendulum-ddpg", "pointmass-td3"),
        levels({"gamma": (0.998, 0.9995, 1.0)}),
        "actor",
    ),
    fault(
        "value-lr-mismatch",
        ACTOR,
        levels({"value_learning_rate": times("learning_rate", 0.02, 0.005, 0.001)}),
        "actor",
    ),
]

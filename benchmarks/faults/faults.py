"""The faults: a cause of the vocabulary, the settings it is put into, and three severities.

A cause may be put in by several faults (`lr-too-high` of PPO, of DQN, of SAC). The first training
and the first test setting of a fault get five seeds, further ones two.
"""

from __future__ import annotations

from benchmarks.faults.fault import (
    ANY,
    CHOICES,
    GAUSSIAN,
    OFF,
    ON,
    PPO,
    WRAPPED_ON,
    WRAPPED_PPO,
    Fault,
    fault,
)
from benchmarks.faults.faults_around import ENVIRONMENT
from benchmarks.faults.faults_off_policy import ACTOR_CRITIC, VALUE_BASED
from benchmarks.faults.injection import budget_shares, levels, times

ON_POLICY = [
    fault("lr-too-high", ON, levels({"learning_rate": (0.01, 0.1, 0.3)})),
    fault("lr-too-low", ON, levels({"learning_rate": times("learning_rate", 1e-2, 1e-3, 1e-4)})),
    fault(
        "lr-schedule-ends-early",
        PPO,
        levels(
            {
                "learning_rate": (
                    "linear(1e-3, 0, until=0.3)",
                    "linear(1e-3, 0, until=0.15)",
                    "linear(1e-3, 0, until=0.06)",
                )
            }
        ),
    ),
    fault(
        "schedule-restarts",
        PPO,
        levels(
            {"learning_rate": "linear(0.1, 0)"},
            code={"schedules_restarted": {"parts": (4, 6, 8), "share": (0.7, 0.5, 0.3)}},
        ),
    ),
    fault(
        "too-many-epochs",
        PPO,
        levels({"n_epochs": (60, 100, 150), "batch_size": 128, "learning_rate": 5e-3}),
    ),
    fault(
        "clip-range-too-wide",
        PPO,
        levels({"clip_range": (1.0, 3.0, 10.0), "n_epochs": 30, "learning_rate": 3e-3}),
    ),
    fault("clip-range-too-tight", PPO, levels({"clip_range": (3e-3, 1e-3, 1e-4)})),
    fault(
        "rollout-too-short",
        ("pendulum-ppo", "acrobot-ppo", "cartpole-ppo"),
        levels({"n_steps": (6, 3, 2), "n_envs": 2, "batch_size": (12, 6, 4)}),
    ),
    fault(
        "rollout-too-long",
        PPO,
        levels(
            {"n_steps": (1024, 2048, 2048), "n_envs": (8, 8, 16), "batch_size": (512, 1024, 2048)}
        ),
    ),
    fault("entropy-collapse", CHOICES, levels({"ent_coef": (-0.3, -1.0, -3.0)}), "choices"),
    fault("entropy-bonus-too-high", CHOICES, levels({"ent_coef": (0.3, 1.0, 5.0)})),
    fault("action-std-explosion", GAUSSIAN, levels({"ent_coef": (5.0, 20.0, 100.0)})),
    fault(
        "advantage-normalisation",
        ("pendulum-ppo", "pointmass-ppo"),
        levels(
            {"normalize_advantage": "off", "normalize_reward": False},
            wrap={"rewards:Scaled": {"factor": (100.0, 1000.0, 10_000.0)}},
        ),
    ),
    fault(
        "gae-lambda-extreme",
        ("pendulum-ppo", "pointmass-ppo", "acrobot-ppo"),
        levels({"gae_lambda": (0.3, 0.1, 0.0)}),
    ),
    fault("gamma-too-low", ON, levels({"gamma": (0.6, 0.3, 0.0)})),
    fault(
        "gamma-too-high",
        GAUSSIAN,
        levels({"gamma": (0.999, 0.9997, 1.0), "normalize_reward": False}),
    ),
    fault("critic-too-weak", PPO, levels({"vf_coef": (1e-4, 1e-6, 0.0)})),
    fault(
        "critic-dominates",
        ("cartpole-ppo", "acrobot-ppo", "pendulum-ppo"),
        levels(
            {"share_features": True, "vf_coef": (50.0, 500.0, 5000.0), "normalize_reward": False}
        ),
    ),
    fault(
        "value-clip-too-tight",
        ("pendulum-ppo", "pointmass-ppo", "cartpole-ppo"),
        levels({"clip_range_vf": (1e-3, 1e-4, 1e-5), "normalize_reward": False}),
    ),
    fault(
        "grad-clip-missing",
        ("cartpole-a2c", "pointmass-a2c", "pendulum-ppo"),
        levels(
            {
                "max_grad_norm": "inf",
                "optimizer": "sgd",
                "learning_rate": (3e-3, 1e-2, 3e-2),
                "normalize_reward": False,  # or the rewards' size is lost, and the harm with it
            },
            wrap={"rewards:Scaled": {"factor": 30.0}},
        ),
    ),
    fault(
        "grad-clip-too-tight",
        ("cartpole-ppo", "acrobot-ppo", "cartpole-a2c", "pointmass-a2c"),
        levels({"max_grad_norm": (1e-5, 1e-6, 1e-7), "optimizer_eps": 1e-5}),
    ),
    fault("target-kl-too-tight", PPO, levels({"target_kl": (1e-4, 1e-5, 1e-6)})),
    fault(
        "dead-policy-gradient",
        ("cartpole-ppo", "pointmass-choices-ppo"),
        levels(code={"actor_frozen": {"parts": ("torso", "head", "all")}}),
        "frozen",
    ),
    fault(
        "dead-policy-gradient",
        ("cartpole-a2c", "pointmass-ppo", "pointmass-a2c"),
        levels(code={"advantage_lost": {"kept": (0.01, 0.002, 0.0)}}),
        "lost",
    ),
    fault(
        "policy-loss-sign",
        WRAPPED_ON,
        levels(code={"advantage_negated": {"share": (0.75, 0.9, 1.0)}}),
    ),
    fault(
        "returns-misaligned", WRAPPED_PPO, levels(code={"returns_shifted": {"rows": (6, 16, 0)}})
    ),
    fault(
        "shape-broadcast",
        WRAPPED_PPO,
        levels(code={"broadcast": {"policy": (False, True, True), "value": (True, False, True)}}),
    ),
]

NETWORKS = [
    fault("optimizer-eps", ON, levels({"optimizer_eps": (1.0, 10.0, 100.0)})),
    fault("optimizer-eps", OFF, levels({"optimizer_eps": (1.0, 10.0, 100.0)}), "off"),
    fault(
        "optimizer-choice",
        ("cartpole-ppo", "acrobot-ppo", "cartpole-dqn", "pointmass-sac"),
        levels({"optimizer": "sgd", "learning_rate": times("learning_rate", 1.0, 0.5, 0.3)}),
    ),
    fault("weight-decay-too-strong", ANY, levels({"weight_decay": (0.3, 1.0, 3.0)})),
    fault(
        "optimizer-state-corrupted",
        ANY,
        levels(
            code={
                "moments_damaged": {
                    "share": 0.8,
                    "first": (1e3, 1e3, 1e4),
                    "second": (1.0, 1e-4, 1e-8),
                }
            }
        ),
    ),
    fault(
        "loaded-model-ignored",
        ANY,
        levels(code={"weights_forgotten": {"share": (0.75, 0.85, 0.92)}}),
    ),
    fault("network-too-small", ANY, levels({"net_arch": ([2], [1], [1, 1])})),
    fault(
        "network-too-deep",
        ANY,
        levels(
            {"net_arch": ([64] * 6, [32] * 7, [16] * 8), "activation": "tanh", "ortho_init": False}
        ),
    ),
    fault(
        "bad-initialisation",
        ("cartpole-ppo", "acrobot-ppo", "pendulum-ppo"),
        levels(code={"heads_scaled": {"factor": (1e3, 3e3, 1e4)}}),
        "policy",
    ),
    fault(
        "bad-initialisation",
        OFF,
        levels(code={"weights_scaled": {"factor": (5.0, 10.0, 30.0)}}),
        "off",
    ),
    fault(
        "features-frozen",
        ("cartpole-ppo", "pointmass-choices-ppo", "cartpole-dqn-light", "pointmass-dqn"),
        levels(code={"features_frozen": {"layers": (1, 2, 0)}}),
    ),
    fault(
        "output-activation",
        ("pendulum-ppo", "pointmass-ppo", "pendulum-ddpg", "pointmass-td3"),
        levels(code={"output_activated": {"activation": ("relu", "sigmoid", "tanh")}}),
    ),
    fault(
        "activation-choice",
        ANY,
        levels(
            {
                "activation": ("gelu", "silu", "elu"),
                "net_arch": ([64, 64], [64, 64, 64, 64], [32] * 5),
            }
        ),
    ),
    fault("budget-too-small", ANY, levels({"env_steps": budget_shares(0.3, 0.2, 0.1)})),
    fault(
        "batch-too-large",
        PPO,
        levels(
            {
                "batch_size": (512, 1024, 2048),
                "n_steps": (128, 256, 256),
                "n_envs": 8,
                "n_epochs": (4, 2, 1),
            }
        ),
    ),
    fault(
        "lr-decay-too-little",
        ("cartpole-ppo", "pointmass-ppo", "acrobot-ppo"),
        levels({"learning_rate": (4e-3, 6e-3, 1e-2)}),
    ),
    fault(
        "value-lr-mismatch",
        ON,
        levels({"value_learning_rate": times("learning_rate", 0.01, 1e-3, 1e-5)}),
    ),
    fault(
        "hardware-underused",
        ("cartpole-ppo", "pointmass-ppo"),
        levels(
            {
                "backend": "process",
                "n_envs": (4, 8, 8),
                "n_steps": (32, 16, 16),
                "batch_size": 128,
                "env_steps": 8192,
            }
        ),
        measure="speed",
    ),
    fault(
        "pipeline-bottleneck",
        ("cartpole-ppo", "acrobot-ppo", "pointmass-ppo"),
        levels(
            {"eval_every": (1024, 512, 256), "eval_episodes": (10, 20, 50), "env_steps": 12_288}
        ),
        measure="speed",
    ),
]

FAULTS: dict[str, Fault] = {
    one.name: one for one in [*ON_POLICY, *ENVIRONMENT, *VALUE_BASED, *ACTOR_CRITIC, *NETWORKS]
}

"""The faults: a cause of the vocabulary, the settings it is put into, and three severities.

A cause may be put in by several faults (`lr-too-high` of PPO, of DQN, of SAC). The first training
and the first test setting of a fault get five seeds, further ones two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.faults.injection import Levels, budget_shares, levels, times

# What is compared with the clean twin: the environment's own return at the end of training; that of
# the last evaluation; that of the last policy in the clean environment; the logged return; the
# speed; or, of crashes, nothing.
Measure = Literal["final", "val", "played", "logged", "speed", "crash"]


@dataclass(frozen=True)
class Fault:
    name: str
    cause: str
    settings: tuple[str, ...]
    levels: Levels
    measure: Measure = "final"


# Acrobot is quick only in C, so what wraps it or patches its collecting goes to other tasks.
PPO = ("cartpole-ppo", "acrobot-ppo", "pendulum-ppo", "pointmass-ppo")
WRAPPED_PPO = ("cartpole-ppo", "pointmass-ppo", "pendulum-ppo", "pointmass-choices-ppo")
CHOICES = ("cartpole-ppo", "acrobot-ppo", "cartpole-a2c", "acrobot-a2c")
WRAPPED_CHOICES = ("cartpole-ppo", "pointmass-choices-ppo", "cartpole-dqn", "pointmass-dqn")
GAUSSIAN = ("pendulum-ppo", "pointmass-ppo", "pointmass-a2c")
ON = ("cartpole-ppo", "acrobot-ppo", "pendulum-ppo", "pointmass-a2c", "cartpole-a2c")
WRAPPED_ON = ("cartpole-ppo", "pointmass-a2c", "cartpole-a2c", "pointmass-choices-ppo")
VALUES = ("cartpole-dqn", "pointmass-dqn", "acrobot-dqn")
EXPLORING = ("corridor-dqn", "acrobot-dqn", "cartpole-dqn")
ACTOR = ("pendulum-sac", "pointmass-sac", "pendulum-td3", "pointmass-td3")
SAC = ("pendulum-sac", "pointmass-sac")
DETERMINISTIC = ("pendulum-ddpg", "pointmass-td3", "pendulum-td3")
OFF = ("cartpole-dqn", "pointmass-sac", "pendulum-sac", "pointmass-dqn")
ANY = ("cartpole-ppo", "pointmass-ppo", "cartpole-dqn", "pointmass-sac", "pendulum-sac")
CONTINUOUS = ("pendulum-ppo", "pointmass-ppo", "pendulum-sac", "pointmass-sac")


def fault(
    cause: str,
    settings: tuple[str, ...],
    three: Levels,
    of: str = "",
    measure: Measure = "final",
) -> Fault:
    return Fault(f"{cause}.{of}" if of else cause, cause, settings, three, measure)


ON_POLICY = [
    fault("lr-too-high", ON, levels({"learning_rate": (0.03, 0.1, 0.3)})),
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
            {"max_grad_norm": "inf", "optimizer": "sgd", "learning_rate": (3e-3, 1e-2, 3e-2)},
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
    ),
    fault(
        "sparse-reward",
        ("pointmass-ppo", "pointmass-sac", "pointmass-dqn"),
        levels(wrap={"rewards:Sparse": {"above": (35.0, 45.0, 52.0)}}),
        "pointmass",
    ),
    fault(
        "reward-uninformative",
        ANY,
        levels(
            wrap={"rewards:Uninformative": {"kept": (0.02, 0.005, 0.0), "noise": (3.0, 1.0, 1.0)}}
        ),
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

FAULTS = {
    one.name: one for one in [*ON_POLICY, *ENVIRONMENT, *VALUE_BASED, *ACTOR_CRITIC, *NETWORKS]
}

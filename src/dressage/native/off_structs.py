"""The structures of off-policy updates that C and Python share; see c/off_policy.h and replay.h."""

from __future__ import annotations

import ctypes

from dressage.native.structs import (
    MOST_LAYERS,
    Double,
    Float,
    Int32,
    Int64,
    OptimSettings,
    Pointer,
    RunningMoments,
    UInt64,
)

OFF_FAMILIES = ("dqn", "sac", "td3", "qr_dqn", "c51", "tqc")
PARTS = ("critic", "actor", "temperature")
MOST_CHOICES = 64  # of off_job.h


class TowerShape(ctypes.Structure):
    """`tower_shape` of tower.h."""

    _fields_ = (
        ("members", Int32),
        ("inputs", Int32),
        ("depth", Int32),
        ("activation", Int32),
        ("layer_norm", Int32),
        ("stacked", Int32),
        ("outputs", Int32 * 2),
        ("widths", Int32 * MOST_LAYERS),
    )


class OffPart(ctypes.Structure):
    """`off_part` of off_policy.h."""

    _fields_ = (
        ("shape", TowerShape),
        ("learning_rate", Double),
        ("parameters", Pointer),
        ("first", Pointer),
        ("second", Pointer),
        ("target", Pointer),
        ("backward", Pointer),
        ("transposed", Int32),
        ("inspect", Int32),
        ("steps", Int64),
    )


class ReplayView(ctypes.Structure):
    """`replay` of replay.h. Whoever makes one keeps the arrays alive."""

    _fields_ = (
        ("capacity", Int64),
        ("n_envs", Int64),
        ("low", Int64),
        ("high", Int64),
        ("draws", Int64),
        ("seed", UInt64),
        ("stream", UInt64),
        ("obs_size", Int32),
        ("action_size", Int32),
        ("mask_size", Int32),
        ("n_step", Int32),
        ("gamma", Double),
        ("obs", Pointer),
        ("next_obs", Pointer),
        ("action", Pointer),
        ("reward", Pointer),
        ("terminated", Pointer),
        ("truncated", Pointer),
        ("next_mask", Pointer),
        ("obs_mean", Pointer),
        ("obs_scale", Pointer),
        ("obs_clip", Float),
        ("reward_clip", Float),
        ("reward_scale", Float),
        ("priorities", Pointer),
        ("priority_alpha", Double),
        ("priority_beta", Double),
        ("largest", Double),
    )


class PartMetrics(ctypes.Structure):
    """`part_metrics` of off_policy.h."""

    _fields_ = (
        ("norm", Double),
        ("clipped", Double),
        ("skipped", Double),
        ("steps", Double),
        ("weight_norm", Double),
        ("update_to_weight", Double),
        ("dormant_share", Double),
    )


class ValueMetrics(ctypes.Structure):
    """`value_metrics` of off_policy.h."""

    _fields_ = (
        ("q_mean", Double),
        ("q_max", Double),
        ("error_mean", Double),
        ("error_max", Double),
        ("loss", Double),
        ("disagreement", Double),
        ("actor_loss", Double),
        ("entropy", Double),
        ("alpha", Double),
        ("alpha_loss", Double),
        ("updates", Double),
        ("actor_updates", Double),
        ("clipped_atoms", Double),
    )


class OffPolicyCall(ctypes.Structure):
    """`off_policy` of off_policy.h."""

    _fields_ = (
        ("family", Int32),
        ("n_threads", Int32),
        ("adds", Int32),
        ("n_choices", Int32),
        ("atoms", Int32),
        ("double_q", Int32),
        ("dueling", Int32),
        ("follow_last", Int32),
        ("learn_alpha", Int32),
        ("actor_every", Int32),
        ("dropped", Int32),
        ("categories", Pointer),
        ("batch_size", Int64),
        ("updates", Int64),
        ("max_grad_norm", Double),
        ("tau", Double),
        ("alpha", Double),
        ("target_entropy", Double),
        ("smoothing", Double),
        ("smoothing_clip", Double),
        ("kappa", Double),
        ("v_min", Double),
        ("v_max", Double),
        ("noise_stream", UInt64),
        ("optimizer", OptimSettings),
        ("parts", OffPart * len(PARTS)),
        ("memory", ReplayView),
        ("places", Pointer),
        ("td_errors", Pointer),
        ("measured", PartMetrics * len(PARTS)),
        ("values", ValueMetrics),
    )


ROUND_PHASES = ("collect", "update")


class OffRounds(ctypes.Structure):
    """`off_rounds` of off_rounds.h."""

    _fields_ = (
        ("learning", Pointer),
        ("rounds", Int64),
        ("n_steps", Int64),
        ("learning_starts", Int64),
        ("gradient_steps", Int64),
        ("target_every", Int64),
        ("epsilon", Double),
        ("temperature", Double),
        ("noise_std", Double),
        ("choice_stream", UInt64),
        ("uniform_stream", UInt64),
        ("normal_stream", UInt64),
        ("episode_stream", UInt64),
        ("envs", Pointer),
        ("current_obs", Pointer),
        ("current_first", Pointer),
        ("episode_index", Pointer),
        ("episode_length", Pointer),
        ("episode_return", Pointer),
        ("vector_steps", Int64),
        ("obs_moments", RunningMoments),
        ("reward_moments", RunningMoments),
        ("discounted", Pointer),
        ("reward_gamma", Double),
        ("first", Pointer),
        ("actions", Pointer),
        ("episodes", Pointer),
        ("n_episodes", Int64),
        ("updates", Int64),
        ("seconds", Double * len(ROUND_PHASES)),
        ("error", Int32),
        ("error_env", Int64),
        ("error_step", Int64),
        ("error_column", Int64),
        ("error_value", Double),
    )

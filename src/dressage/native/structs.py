"""The structures that C and Python share: each mirrors the one of its name in c/*.h."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

Int32, Int64, Double, Pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p

CHUNKS = ("policy", "value", "shared")
ACTIVATIONS = ("tanh", "relu", "gelu", "elu", "silu")
OPTIMIZERS = ("adam", "adamw", "sgd", "rmsprop", "rmsprop_tf")
FAMILIES = ("ppo", "a2c", "reinforce", "baseline")
MOST_LAYERS = 8


def layout(structure: type[ctypes.Structure]) -> struct.Struct:
    """All numbers of a structure in one call, `layout(X).unpack_from(x)`: a field at a time takes
    some forty times as long."""
    found = struct.Struct("@" + "".join(_letters(kind) for _, kind, *_ in structure._fields_))
    assert found.size <= ctypes.sizeof(structure) < found.size + ctypes.alignment(structure)
    return found


def _letters(kind: Any) -> str:
    length, kind = getattr(kind, "_length_", 1), getattr(kind, "_type_", kind)
    return str(kind if isinstance(kind, str) else kind._type_) * length


class NetShape(ctypes.Structure):
    """`net_shape` of net.h. Whoever makes one keeps the array of categories alive."""

    _fields_ = (
        ("obs_size", Int32),
        ("shared", Int32),
        ("activation", Int32),
        ("layer_norm", Int32),
        ("policy_depth", Int32),
        ("value_depth", Int32),
        ("policy_widths", Int32 * MOST_LAYERS),
        ("value_widths", Int32 * MOST_LAYERS),
        ("n_choices", Int32),
        ("continuous", Int32),
        ("squash", Int32),
        ("categories", Pointer),
    )


class ConvShape(ctypes.Structure):
    """`conv_shape` of conv.h."""

    _fields_ = (
        ("channels", Int32),
        ("height", Int32),
        ("width", Int32),
        ("layers", Int32),
        ("outs", Int32 * MOST_LAYERS),
        ("kernel", Int32 * MOST_LAYERS),
        ("stride", Int32 * MOST_LAYERS),
    )


class LossSettings(ctypes.Structure):
    """`loss_settings` of loss.h."""

    _fields_ = (
        ("family", Int32),
        ("normalize_advantage", Int32),
        ("clip_value", Int32),
        ("clip_range", Double),
        ("clip_range_vf", Double),
        ("ent_coef", Double),
        ("vf_coef", Double),
    )


class OptimSettings(ctypes.Structure):
    """`optim_settings` of optim.h."""

    _fields_ = (
        ("kind", Int32),
        ("beta1", Double),
        ("beta2", Double),
        ("alpha", Double),
        ("eps", Double),
        ("weight_decay", Double),
        ("momentum", Double),
    )


class UpdateSettings(ctypes.Structure):
    """`update_settings` of update.h."""

    _fields_ = (
        ("loss", LossSettings),
        ("optimizer", OptimSettings),
        ("learning_rate", Double * len(CHUNKS)),
        ("max_grad_norm", Double),
        ("target_kl", Double),
        ("batch_size", Int64),
        ("n_epochs", Int32),
        ("n_threads", Int32),
        ("inspect", Int32),
    )


class RolloutRows(ctypes.Structure):
    """`rollout` of update.h."""

    _fields_ = (
        ("rows", Int64),
        ("obs", Pointer),
        ("action", Pointer),
        ("mask", Pointer),
        ("log_prob", Pointer),
        ("value", Pointer),
        ("advantage", Pointer),
        ("returns", Pointer),
        ("weight", Pointer),
        ("order", Pointer),
    )


class LearnerState(ctypes.Structure):
    """`learner_state` of update.h."""

    _fields_ = (
        ("parameters", Pointer),
        ("first", Pointer),
        ("second", Pointer),
        ("steps", Int64),
    )


class UpdateMetrics(ctypes.Structure):
    """`update_metrics` of update.h."""

    _fields_ = (
        ("policy", Double),
        ("value", Double),
        ("entropy_loss", Double),
        ("total", Double),
        ("entropy", Double),
        ("kl", Double),
        ("clip_fraction", Double),
        ("ratio_max", Double),
        ("value_clip_fraction", Double),
        ("grad_norm", Double * len(CHUNKS)),
        ("grad_norm_total", Double),
        ("grad_clipped", Double),
        ("skipped", Double),
        ("weight_norm", Double * len(CHUNKS)),
        ("update_to_weight", Double * len(CHUNKS)),
        ("dormant_share", Double * len(CHUNKS)),
        ("minibatches", Double),
    )


UInt64, Float, Bool = ctypes.c_uint64, ctypes.c_float, ctypes.c_bool
PHASES = ("collect", "prepare", "update")
ITERATION_ERRORS = ("", "observation", "reward", "action", "nonsense")


class RunningMoments(ctypes.Structure):
    """`running_moments` of normalise.h."""

    _fields_ = (("count", Int64), ("size", Int64), ("mean", Pointer), ("m2", Pointer))


class FinishedEpisode(ctypes.Structure):
    """`finished_episode` of iterate.h: the fields of core.collector.Episode, in their order."""

    _fields_ = (
        ("env_steps", Int64),
        ("episode_return", Double),
        ("length", Int64),
        ("truncated", Bool),
        ("success", Double),
        ("env_index", Int64),
    )


class RolloutMetrics(ctypes.Structure):
    """`rollout_metrics` of iterate.h."""

    _fields_ = (
        ("reward_mean", Double),
        ("reward_std", Double),
        ("obs_mean", Double),
        ("obs_std", Double),
        ("obs_abs_max", Double),
        ("action_share_max", Double),
        ("action_entropy", Double),
        ("action_mean", Double),
        ("action_std", Double),
        ("action_saturation", Double),
        ("adv_mean", Double),
        ("adv_std", Double),
        ("return_mean", Double),
        ("return_std", Double),
        ("value_mean", Double),
        ("explained_variance", Double),
        ("policy_std", Double),
    )


class Iteration(ctypes.Structure):
    """`iteration` of iterate.h."""

    _fields_ = (
        ("shape", NetShape),
        ("update", UpdateSettings),
        ("learner", LearnerState),
        ("gamma", Double),
        ("gae_lambda", Double),
        ("normalize_batch", Int32),
        ("shuffle", Int32),
        ("envs", Pointer),
        ("n_envs", Int64),
        ("n_steps", Int64),
        ("action_low", Float),
        ("action_high", Float),
        ("seed", UInt64),
        ("choice_stream", UInt64),
        ("normal_stream", UInt64),
        ("episode_stream", UInt64),
        ("minibatch_stream", UInt64),
        ("current_obs", Pointer),
        ("current_first", Pointer),
        ("episode_index", Pointer),
        ("episode_length", Pointer),
        ("episode_return", Pointer),
        ("vector_steps", Int64),
        ("epochs", Int64),
        ("obs_moments", RunningMoments),
        ("reward_moments", RunningMoments),
        ("discounted", Pointer),
        ("reward_gamma", Double),
        ("obs_clip", Float),
        ("reward_clip", Float),
        ("obs", Pointer),
        ("action", Pointer),
        ("reward", Pointer),
        ("log_prob", Pointer),
        ("value", Pointer),
        ("advantage", Pointer),
        ("returns", Pointer),
        ("first", Pointer),
        ("terminated", Pointer),
        ("truncated", Pointer),
        ("episodes", Pointer),
        ("n_episodes", Int64),
        ("rolled", RolloutMetrics),
        ("updated", UpdateMetrics),
        ("seconds", Double * len(PHASES)),
        ("error", Int32),
        ("error_env", Int64),
        ("error_step", Int64),
        ("error_column", Int64),
        ("error_value", Double),
    )

"""What the constructors of Stable-Baselines3's algorithms and policies take, by our names of the
algorithms, and where our settings are among them. A test holds SB3's own against SB3; those of
sb3-contrib are from its documentation."""

from __future__ import annotations

CLASSES = {
    "ppo": "PPO", "a2c": "A2C", "dqn": "DQN", "sac": "SAC", "td3": "TD3", "ddpg": "DDPG",
    "trpo": "TRPO", "tqc": "TQC", "qr_dqn": "QRDQN", "crossq": "CrossQ",
}  # fmt: skip
CONTRIB = ("trpo", "tqc", "qr_dqn", "crossq")  # of sb3-contrib, which we do not train again

_ALL = ("learning_rate", "gamma", "policy_kwargs", "seed", "stats_window_size")
_SDE = ("use_sde", "sde_sample_freq")
_ROLLOUT = (
    *_ALL, *_SDE, "n_steps", "gae_lambda", "normalize_advantage", "rollout_buffer_class",
    "rollout_buffer_kwargs",
)  # fmt: skip
_LOSSES = ("ent_coef", "vf_coef", "max_grad_norm")
_MEMORY = (
    *_ALL, "buffer_size", "learning_starts", "batch_size", "train_freq", "gradient_steps",
    "replay_buffer_class", "replay_buffer_kwargs", "optimize_memory_usage", "n_steps",
)  # fmt: skip
_DQN = (
    *_MEMORY, "tau", "target_update_interval", "exploration_fraction", "exploration_initial_eps",
    "exploration_final_eps", "max_grad_norm",
)  # fmt: skip
_DDPG = tuple(name for name in (*_MEMORY, "tau", "action_noise") if name != "stats_window_size")
_SOFT = (*_MEMORY, *_SDE, "action_noise", "ent_coef", "target_entropy", "use_sde_at_warmup")

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "ppo": (
        *_ROLLOUT, *_LOSSES, "batch_size", "n_epochs", "clip_range", "clip_range_vf", "target_kl",
    ),
    "a2c": (*_ROLLOUT, *_LOSSES, "rms_prop_eps", "use_rms_prop"),
    "trpo": (
        *_ROLLOUT, "batch_size", "target_kl", "cg_max_steps", "cg_damping",
        "line_search_shrinking_factor", "line_search_max_iter", "n_critic_updates",
        "sub_sampling_factor",
    ),
    "dqn": _DQN,
    "qr_dqn": _DQN,
    "sac": (*_SOFT, "tau", "target_update_interval"),
    "tqc": (*_SOFT, "tau", "target_update_interval", "top_quantiles_to_drop_per_net"),
    "crossq": (*_SOFT, "policy_delay"),
    "td3": (
        *_DDPG, "stats_window_size", "policy_delay", "target_policy_noise", "target_noise_clip",
    ),
    "ddpg": _DDPG,
}  # fmt: skip

_NETWORK = ("net_arch", "activation_fn", "optimizer_class", "optimizer_kwargs")
_ON_POLICY = (*_NETWORK, "ortho_init", "log_std_init", "share_features_extractor")
_CRITICS = (*_NETWORK, "n_critics", "share_features_extractor")
POLICY_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "ppo": _ON_POLICY,
    "a2c": _ON_POLICY,
    "trpo": _ON_POLICY,
    "dqn": _NETWORK,
    "qr_dqn": (*_NETWORK, "n_quantiles"),
    "sac": (*_CRITICS, "log_std_init"),
    "tqc": (*_CRITICS, "log_std_init", "n_quantiles"),
    "crossq": (*_CRITICS, "log_std_init"),
    "td3": _CRITICS,
    "ddpg": _CRITICS,
}

# Settings of ours that are parts of `policy_kwargs`, and of `optimizer_kwargs` in there.
OF_POLICY = {
    "net_arch": "net_arch", "activation": "activation_fn", "log_std_init": "log_std_init",
    "ortho_init": "ortho_init", "n_critics": "n_critics", "n_quantiles": "n_quantiles",
    "share_features": "share_features_extractor", "optimizer": "optimizer_class",
}  # fmt: skip
OF_OPTIMIZER = {"optimizer_eps": "eps", "weight_decay": "weight_decay", "rmsprop_alpha": "alpha"}
ACTIVATIONS = {
    "tanh": "Tanh", "relu": "ReLU", "gelu": "GELU", "elu": "ELU", "silu": "SiLU",
    "leakyrelu": "LeakyReLU", "sigmoid": "Sigmoid", "identity": "Identity",
}  # fmt: skip
OPTIMIZERS = {
    "adam": "Adam", "adamw": "AdamW", "sgd": "SGD", "rmsprop": "RMSprop",
    "rmsprop_tf": "RMSpropTFLike",  # of stable_baselines3.common.sb2_compat, the others of torch
}  # fmt: skip
OPTIMIZER_LACKS = {"sgd": ("eps", "alpha"), "adam": ("alpha",), "adamw": ("alpha",)}

"""Rules of CFG, each with a run on which it fires and one that looks alike."""

from __future__ import annotations

from rule_views import GRADIENT, view

from dressage.runs.view import RunView

CASES: dict[str, tuple[RunView, RunView]] = {
    "CFG001": (
        view({"learning_starts": 60_000}, "dqn"),
        view({"learning_starts": 1000}, "dqn"),
    ),
    "CFG002": (
        view({"n_steps": 65, "n_envs": 1, "batch_size": 64}),
        view({"n_steps": 128, "n_envs": 1, "batch_size": 64}),
    ),
    "CFG003": (view({"n_steps": 2048, "n_envs": 8}), view({"n_steps": 128, "n_envs": 8})),
    "CFG004": (
        view({"learning_rate": 0.05}),
        view({"learning_rate": 0.05, "optimizer": "sgd"}),
    ),
    "CFG005": (
        view({"learning_rate": "linear(1e-8, 0)"}),
        view({"learning_rate": "linear(3e-4, 0)"}),
    ),
    "CFG006": (view({"gamma": 0.5}, ep_len_mean=200.0), view({"gamma": 0.5}, ep_len_mean=2.0)),
    "CFG007": (view({"gae_lambda": 0.0}), view({"gae_lambda": 0.8})),
    "CFG008": (view({"clip_range": 1e-3}), view({"clip_range": "linear(0.2, 0)"})),
    "CFG009": (view({"ent_coef": 0.5}), view({"ent_coef": 0.01})),
    "CFG010": (view({"vf_coef": 0.0}), view({"vf_coef": 0.5})),
    "CFG011": (view({"max_grad_norm": 1e-5}), view({"max_grad_norm": 0.5})),
    "CFG012": (
        view({"optimizer": "sgd", "learning_rate": 3e-4}),
        view({"optimizer": "sgd", "learning_rate": 0.05}),
    ),
    "CFG013": (view({"optimizer_eps": 0.1}), view({"optimizer_eps": 1e-5})),
    "CFG014": (view({"weight_decay": 1.0}), view({"weight_decay": 1e-4})),
    "CFG015": (
        view({"net_arch": {"pi": [1], "vf": [64]}}),
        view({"net_arch": [64, 64], "activation": "tanh"}),
    ),
    "CFG016": (
        view({"target_update_interval": 30_000, "tau": 1.0}, "dqn"),
        view({"target_update_interval": 1, "tau": 0.005}, "dqn"),
    ),
    "CFG017": (
        view({"policy_delay": 1, "target_policy_noise": 0.0}, "td3"),
        view({"policy_delay": 2, "target_policy_noise": 0.0}, "td3"),
    ),
    "CFG018": (view({"noise_std": 0.0}, "td3"), view({"noise_std": 0.0}, "sac")),
    "CFG019": (
        view(spec={"action": {"leaves": [{"low": [-1.0, 2.0], "high": [1.0, 2.0]}]}}),
        view(spec={"action": {"leaves": [{"low": [-1.0, -2.0], "high": [1.0, 2.0]}]}}),
    ),
    "CFG021": (view({"gamma": 1.0}), view({"gamma": 0.999})),
    "CFG022": (view({"vf_coef": 100.0}), view({"vf_coef": 1.0})),
    "CFG023": (view({"clip_range": 5.0}), view({"clip_range": 0.3})),
    "CFG024": (
        view({"target_update_interval": 1, "tau": 1.0}, "dqn"),
        view({"target_update_interval": 1, "tau": 0.005}, "dqn"),
    ),
    "CFG025": (
        view({"max_grad_norm": None}, **{GRADIENT + "policy": 90.0}),
        view({"max_grad_norm": None}, **{GRADIENT + "policy": 2.0}),
    ),
    "CFG026": (view({"net_arch": [64] * 12}), view({"net_arch": [64, 64], "activation": "tanh"})),
    "CFG027": (view({"noise_std": 2.0}, "td3"), view({"noise_std": 0.2}, "td3")),
    "CFG028": (view({"ent_coef": -0.02}), view({"ent_coef": 0.0})),
    "CFG029": (
        view(spec={"action": {"scale": False, "leaves": [{"low": [-2000.0], "high": [2000.0]}]}}),
        view(spec={"action": {"scale": True, "leaves": [{"low": [-2000.0], "high": [2000.0]}]}}),
    ),
    "CFG030": (view({"target_kl": 1e-5}), view({"target_kl": 0.015})),
    "CFG031": (
        view({"clip_range_vf": 0.2}, **{"train/loss/value": 900.0}),
        view({"clip_range_vf": 0.2}, **{"train/loss/value": 0.04}),
    ),
    "CFG032": (view({"target_entropy": 10.0}, "sac"), view({"target_entropy": -1.0}, "sac")),
}

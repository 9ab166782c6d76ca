"""Whose names are these? For logs that any library may have written: CSV, W&B, MLflow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dressage.runs.algorithms import canonical_algorithm
from dressage.runs.readers import assemble, cleanrl, gymnasium_solver, own, rllib, sb3, tianshou
from dressage.runs.readers.names import Metric, Names, Setting
from dressage.runs.readers.values import canonical, flat_config
from dressage.runs.view import RunView

ENV_STEPS = (
    "env_steps", "total_env_steps", "global_step", "total_timesteps", "timesteps_total",
    "timesteps", "env_step", "num_env_steps", "frames", "n_steps", "steps", "step", "Step", "_step",
)  # fmt: skip
GUESSED = ("steps", "step", "Step", "_step")
# Names that people give of their own accord, after what comes before the last slash is left out.
PLAIN: tuple[tuple[str, str], ...] = (
    ("return", "train/roll/ep_rew_mean"),
    ("reward", "train/roll/ep_rew_mean"),
    ("ep_rew_mean", "train/roll/ep_rew_mean"),
    ("episode_reward", "train/roll/ep_rew_mean"),
    ("episode_return", "train/roll/ep_rew_mean"),
    ("episodic_return", "train/roll/ep_rew_mean"),
    ("mean_reward", "train/roll/ep_rew_mean"),
    ("ep_len_mean", "train/roll/ep_len_mean"),
    ("episode_length", "train/roll/ep_len_mean"),
    ("episodic_length", "train/roll/ep_len_mean"),
    ("entropy", "train/metrics/entropy"),
    ("approx_kl", "train/metrics/kl_divergence"),
    ("kl", "train/metrics/kl_divergence"),
    ("clip_fraction", "train/metrics/clip_fraction"),
    ("clipfrac", "train/metrics/clip_fraction"),
    ("explained_variance", "train/metrics/explained_variance"),
    ("value_loss", "train/loss/value"),
    ("policy_loss", "train/loss/policy"),
    ("critic_loss", "train/loss/critic"),
    ("actor_loss", "train/loss/actor"),
    ("td_loss", "train/loss/td"),
    ("learning_rate", "train/hp/lr"),
    ("lr", "train/hp/lr"),
    ("epsilon", "train/hp/epsilon"),
    ("grad_norm", "train/metrics/grad_norm/total"),
    ("eval_return", "val/roll/ep_rew_mean"),
    ("eval_reward", "val/roll/ep_rew_mean"),
    ("fps", "sys/env_steps_per_second"),
)


class Vocabulary(NamedTuple):
    library: str
    names: Names
    clock: tuple[str, ...]
    settings: tuple[Setting, ...]
    configure: Callable[[RunView, Mapping[str, Any]], None] | None


KNOWN = (
    Vocabulary(sb3.LIBRARY, sb3.NAMES, sb3.CLOCK, sb3.SETTINGS, sb3.configure),
    Vocabulary(cleanrl.LIBRARY, cleanrl.NAMES, cleanrl.CLOCK, cleanrl.SETTINGS, cleanrl.configure),
    Vocabulary(rllib.LIBRARY, rllib.NAMES, rllib.CLOCK, rllib.SETTINGS, rllib.configure),
    Vocabulary(tianshou.LIBRARY, tianshou.NAMES, (), (), None),
    Vocabulary(
        gymnasium_solver.LIBRARY,
        gymnasium_solver.NAMES,
        gymnasium_solver.CLOCK,
        gymnasium_solver.SETTINGS,
        gymnasium_solver.configure,
    ),
)
OURS = Vocabulary(own.LIBRARY, own.NAMES, own.CLOCK, (), None)
_BY_LIBRARY = {one.library: one for one in (*KNOWN, OURS)}


def by_library(library: str) -> Vocabulary | None:
    return _BY_LIBRARY.get(library)


def guess(columns: Iterable[str]) -> Vocabulary:
    """The library that knows most of these names; ours, with people's own words, if none does."""
    columns = list(columns)[:5000]
    known = [(sum(one.names.find(name) is not None for name in columns), one) for one in KNOWN]
    count, best = max(known, key=lambda pair: pair[0])
    return best if count >= 2 else OURS._replace(names=plain_names(columns))


def plain_names(columns: Iterable[str]) -> Names:
    """What each column seems to be by its last word; the first of several counts."""
    table: dict[str, Metric] = {}
    for words, ours in PLAIN:
        for name in columns:
            last = name.rpartition("/")[2].strip().lower().replace(" ", "_").replace("-", "_")
            if last == words and ours not in {row.ours for row in table.values()}:
                said = f"Column {name!r} was taken for {ours}: --map {ours}=NAME tells otherwise."
                table.setdefault(name, Metric(name, ours, note=said[:300]))
    return Names(table.values())


def configure(view: RunView, vocabulary: Vocabulary, own: Mapping[str, Any]) -> None:
    """Settings that somebody logged beside the metrics, in the vocabulary of their library; names
    that are ours count as well."""
    flat = flat_config(own)
    algo = next(
        (
            flat[key]
            for key in ("algo", "algorithm", "exp_name", "algo_id", "agent")
            if flat.get(key)
        ),
        "",
    )
    view.algo = view.algo or canonical_algorithm(algo)
    if vocabulary.configure is not None:
        vocabulary.configure(view, own)
    view.own_config = flat
    ours = {key: value for key, value in flat.items() if key in OUR_SETTINGS}
    for theirs, name in ALIASES.items():
        if theirs in flat:
            ours.setdefault(name, flat[theirs])
    view.config = canonical(ours) | view.config
    if view.algo:
        view.config["algo"] = view.algo
    view.env = view.env or assemble.text_of(view.config.get("env"))


ALIASES = {
    "lr": "learning_rate",
    "env_id": "env",
    "env_name": "env",
    "total_timesteps": "env_steps",
    "n_timesteps": "env_steps",
    "num_envs": "n_envs",
}
OUR_SETTINGS = frozenset(
    (
        "env", "algo", "env_steps", "seed", "n_envs", "learning_rate", "value_learning_rate",
        "optimizer", "optimizer_eps", "weight_decay", "momentum", "max_grad_norm", "activation",
        "layer_norm", "ortho_init", "net_arch", "share_features", "log_std_init", "squash",
        "use_sde", "n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range",
        "clip_range_vf", "normalize_advantage", "ent_coef", "ent_coef_init", "vf_coef", "target_kl",
        "buffer_size", "learning_starts", "train_freq", "gradient_steps", "n_step", "prioritized",
        "priority_alpha", "priority_beta", "target_update_interval", "tau", "double", "dueling",
        "noisy", "epsilon", "n_atoms", "v_min", "v_max", "n_quantiles", "target_entropy",
        "policy_delay", "target_policy_noise", "target_noise_clip", "action_noise", "noise_std",
        "normalize_obs", "normalize_reward", "recurrent",
    )
)  # fmt: skip

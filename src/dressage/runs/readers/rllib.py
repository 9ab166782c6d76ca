"""RLlib, both its API stacks: result.json (JSON lines) or progress.csv, and params.json.

`*` in a name is the id of a policy; of several policies the first counts, the others keep their own
names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dressage.errors import DressageError
from dressage.runs.algorithms import FAMILIES, canonical_algorithm
from dressage.runs.readers import assemble
from dressage.runs.readers.names import Metric, Names, Setting, renamed
from dressage.runs.readers.safe import read_json_file, read_text
from dressage.runs.readers.tables import Table, read_csv, read_json_lines
from dressage.runs.readers.values import canonical, flat_config, schedule_text
from dressage.runs.view import RunView

LIBRARY = "rllib"
CLOCK = (
    "num_env_steps_sampled_lifetime",
    "env_runners/num_env_steps_sampled_lifetime",
    "timesteps_total",
    "num_env_steps_sampled",
    "info/num_env_steps_sampled",
    "agent_timesteps_total",
)
ON, VALUE, ACTOR = FAMILIES["on-policy"], FAMILIES["value-based"], FAMILIES["actor-critic"]
_LEARNERS = ("learners/*/", "info/learner/*/learner_stats/", "info/learner/*/")
_LEARNED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("entropy", "train/metrics/entropy", ()),
    ("mean_kl_loss", "train/metrics/kl_divergence", ()),
    ("kl", "train/metrics/kl_divergence", ()),
    ("vf_explained_var", "train/metrics/explained_variance", ()),
    ("vf_loss", "train/loss/value", ()),
    ("policy_loss", "train/loss/actor", ACTOR),
    ("policy_loss", "train/loss/policy", ()),
    ("actor_loss", "train/loss/actor", ()),
    ("critic_loss", "train/loss/critic", ()),
    ("qf_loss", "train/loss/critic", ACTOR),
    ("qf_loss", "train/loss/td", ()),
    ("total_loss", "train/loss/td", VALUE),
    ("total_loss", "train/loss/total", ()),
    ("curr_entropy_coeff", "train/hp/ent_coef", ()),
    ("entropy_coeff", "train/hp/ent_coef", ()),
    ("default_optimizer_learning_rate", "train/hp/lr", ()),
    ("cur_lr", "train/hp/lr", ()),
    ("gradients_default_optimizer_global_norm", "train/metrics/grad_norm/total", ()),
    ("grad_gnorm", "train/metrics/grad_norm/total", ()),
    ("qf_mean", "train/metrics/q_mean", ()),
    ("mean_q", "train/metrics/q_mean", ()),
    ("qf_max", "train/metrics/q_max", ()),
    ("max_q", "train/metrics/q_max", ()),
    ("td_error_mean", "train/metrics/td_error_mean", ()),
    ("mean_td_error", "train/metrics/td_error_mean", ()),
    ("alpha_value", "train/metrics/alpha", ()),
    ("alpha_loss", "train/loss/alpha", ()),
    ("target_entropy", "train/metrics/target_entropy", ()),
)
_EPISODES = (
    ("episode_return_mean", "roll/ep_rew_mean"),
    ("episode_reward_mean", "roll/ep_rew_mean"),
    ("episode_len_mean", "roll/ep_len_mean"),
)

NAMES = Names(
    (
        *(Metric(name, "env_steps") for name in CLOCK),
        *(
            Metric(f"{before}{theirs}", f"{part}/{ours}")
            for before, part in (
                ("env_runners/", "train"),
                ("", "train"),
                ("sampler_results/", "train"),
                ("evaluation/env_runners/", "val"),
                ("evaluation/", "val"),
                ("evaluation/sampler_results/", "val"),
            )
            for theirs, ours in _EPISODES
        ),
        Metric("env_runners/num_episodes_lifetime", "episodes"),
        Metric("episodes_total", "episodes"),
        Metric("training_iteration", "train/cnt/iterations"),
        Metric("time_total_s", "wall_seconds"),
        Metric("num_env_steps_sampled_throughput_per_sec", "sys/env_steps_per_second"),
        *(
            Metric(f"{before}{theirs}", ours, algos=algos)
            for before in _LEARNERS
            for theirs, ours, algos in _LEARNED
        ),
    )
)
SETTINGS = (
    Setting("lr", "learning_rate"),
    Setting("actor_lr", "learning_rate"),
    Setting("optimization/actor_learning_rate", "learning_rate"),
    Setting("critic_lr", "value_learning_rate"),
    Setting("optimization/critic_learning_rate", "value_learning_rate"),
    Setting("gamma", "gamma"),
    Setting("lambda_", "gae_lambda"),
    Setting("lambda", "gae_lambda"),
    Setting("clip_param", "clip_range"),
    Setting("vf_clip_param", "clip_range_vf"),
    Setting("entropy_coeff", "ent_coef"),
    Setting("initial_alpha", "ent_coef_init", algos=("sac",)),
    Setting("target_entropy", "target_entropy"),
    Setting("vf_loss_coeff", "vf_coef"),
    Setting("num_epochs", "n_epochs"),
    Setting("num_sgd_iter", "n_epochs"),
    Setting("minibatch_size", "batch_size"),
    Setting("sgd_minibatch_size", "batch_size"),
    Setting("train_batch_size_per_learner", "batch_size", algos=(*VALUE, *ACTOR)),
    Setting("train_batch_size", "batch_size", algos=(*VALUE, *ACTOR)),
    Setting("grad_clip", "max_grad_norm"),
    Setting("replay_buffer_config/capacity", "buffer_size"),
    Setting("num_steps_sampled_before_learning_starts", "learning_starts"),
    Setting("target_network_update_freq", "target_update_interval"),
    Setting("tau", "tau"),
    Setting("n_step", "n_step"),
    Setting("double_q", "double"),
    Setting("dueling", "dueling"),
    Setting("noisy", "noisy"),
    Setting("num_atoms", "n_atoms"),
    Setting("v_min", "v_min"),
    Setting("v_max", "v_max"),
    Setting("policy_delay", "policy_delay"),
    Setting("model/fcnet_hiddens", "net_arch"),
    Setting("model/fcnet_activation", "activation"),
    Setting("env", "env"),
    Setting("seed", "seed"),
)


def read(path: Path, files: list[Path]) -> RunView:
    folder = path.parent if path.is_file() else path
    view = RunView(path, folder.name, LIBRARY)
    by_name = {file.name: file for file in reversed(files)}
    table = _table(by_name)
    own: dict[str, Any] = {}
    if "params.json" in by_name:
        try:
            content = read_json_file(by_name["params.json"])
            own = content if isinstance(content, dict) else {}
        except DressageError as error:
            assemble.note(view, str(error))
    if not own and table is not None and isinstance(table.first.get("config"), dict):
        own = table.first["config"]
    view.algo = _algorithm(folder, own)
    configure(view, own)
    if table is not None:
        clock = assemble.clock_or_rows(view, table, CLOCK)
        assemble.add_table(view, table, clock, NAMES, CLOCK)
        if table.texts.get("done") == "True" or (view["done"] and view["done"].values[-1] == 1):
            view.state = "finished"
    for name in ("error.txt", "error.pkl"):
        if name in by_name:
            view.state = "crashed"
    if "error.txt" in by_name:
        assemble.add_log(view, read_text(by_name["error.txt"]))
    return assemble.finish(view, files)


def _table(by_name: Mapping[str, Path]) -> Table | None:
    """result.json, which holds more; progress.csv where it is empty or missing."""
    table = None
    if "result.json" in by_name:
        table = read_json_lines(by_name["result.json"], skip=("config",))
    if (table is None or not table.rows) and "progress.csv" in by_name:
        table = read_csv(by_name["progress.csv"])
    return table


def _algorithm(folder: Path, own: Mapping[str, Any]) -> str | None:
    """Trials and experiments are named PPO_CartPole-v1_… and PPO_2024-…"""
    for name in (own.get("algo_class", ""), own.get("algo", ""), folder.name, folder.parent.name):
        if found := canonical_algorithm(name):
            return found
    for key, algo in (("clip_param", "ppo"), ("twin_q", "sac"), ("double_q", "dqn")):
        if own.get(key) is not None:
            return algo
    return None


def configure(view: RunView, own: Mapping[str, Any]) -> None:
    view.own_config = flat_config(own)
    values, view.own_settings = renamed(SETTINGS, view.own_config, view.algo)
    rate = values.get("learning_rate")
    if isinstance(rate, list):  # [[env_steps, value], …]
        values["learning_rate"] = _pieces(rate)
        assemble.note(view, "A learning rate in pieces was taken for a line from first to last.")
    config = canonical(values)
    n_envs = _environments(own)
    if n_envs:
        config["n_envs"] = n_envs
    rollout = own.get("train_batch_size_per_learner") or own.get("train_batch_size")
    if view.algo in ON and assemble.positive(rollout) and n_envs:
        config["n_steps"] = max(1, round(float(rollout or 0) / n_envs))
        view.own_settings["n_steps"] = "train_batch_size"
    if view.algo == "sac" and "ent_coef_init" in config:
        config["ent_coef"] = "auto"
    if view.algo:
        config["algo"] = view.algo
    view.config = config
    view.env = assemble.text_of(config.get("env"))


def _pieces(points: list[Any]) -> Any:
    match points:
        case [[_, first], *_, [end, last]] if assemble.positive(end):
            return schedule_text("linear", first, last)
        case [[_, only]]:
            return only
    return None


def _environments(own: Mapping[str, Any]) -> int | None:
    runners = own.get("num_env_runners", own.get("num_workers"))
    each = own.get("num_envs_per_env_runner", own.get("num_envs_per_worker"))
    if not isinstance(runners, int) or not isinstance(each, int):
        return None
    return max(runners, 1) * max(each, 1) if 0 <= runners < 10**6 and each < 10**6 else None


def looks_like(columns: set[str]) -> bool:
    return any(
        name in columns
        for name in (
            "training_iteration", "env_runners/episode_return_mean", "episode_reward_mean",
        )
    )  # fmt: skip

"""gymnasium-solver: config.json, metrics.csv, run.log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dressage.errors import DressageError
from dressage.runs.algorithms import canonical_algorithm
from dressage.runs.readers import assemble
from dressage.runs.readers.names import Metric, Names, Setting, renamed
from dressage.runs.readers.safe import read_json_file, read_text
from dressage.runs.readers.tables import read_csv
from dressage.runs.readers.values import canonical, flat_config, schedule_text
from dressage.runs.view import RunView

LIBRARY = "gymnasium-solver"
CLOCK = (
    "train/cnt/total_env_steps",
    "train/cnt/total_timesteps",
    "train/total_timesteps",
    "total_env_steps",
    "total_timesteps",
)
NAMES = Names(
    (
        *(Metric(name, "env_steps") for name in CLOCK),
        *(
            Metric(f"{part}/{theirs}", f"{part}/roll/{ours}")
            for part in ("train", "val")
            for theirs, ours in (
                ("roll/ep_rew/mean", "ep_rew_mean"),
                ("roll/ep_rew/std", "ep_rew_std"),
                ("roll/ep_len/mean", "ep_len_mean"),
                ("ep_rew_mean", "ep_rew_mean"),
                ("ep_len_mean", "ep_len_mean"),
            )
        ),
        *(
            Metric(f"train/{theirs}", ours, scale)
            for theirs, ours, scale in (
                ("roll/ep_rew/best", "train/roll/ep_rew_best", 1.0),
                ("opt/ppo/approx_kl", "train/metrics/kl_divergence", 1.0),
                ("opt/ppo/clip_fraction", "train/metrics/clip_fraction", 1.0),
                ("opt/policy/entropy", "train/metrics/entropy", 1.0),
                ("opt/value/explained_var", "train/metrics/explained_variance", 1.0),
                ("opt/loss/value", "train/loss/value", 1.0),
                ("opt/loss/policy", "train/loss/policy", 1.0),
                ("opt/loss/total", "train/loss/total", 1.0),
                ("opt/loss/entropy_scaled", "train/loss/entropy", 1.0),
                ("opt/grads/norm/*", "train/metrics/grad_norm/*", 1.0),
                ("roll/obs/mean", "train/roll/obs_mean", 1.0),
                ("roll/obs/std", "train/roll/obs_std", 1.0),
                ("roll/reward/mean", "train/roll/reward_mean", 1.0),
                ("roll/reward/std", "train/roll/reward_std", 1.0),
                ("roll/adv/mean", "train/roll/adv_mean", 1.0),
                ("roll/adv/std", "train/roll/adv_std", 1.0),
                ("roll/return/mean", "train/roll/return_mean", 1.0),
                ("roll/return/std", "train/roll/return_std", 1.0),
                ("roll/actions/mean", "train/roll/action_mean", 1.0),
                ("roll/actions/std", "train/roll/action_std", 1.0),
                ("hp/policy_lr", "train/hp/lr", 1.0),
                ("hp/clip_range", "train/hp/clip_range", 1.0),
                ("hp/ent_coef", "train/hp/ent_coef", 1.0),
                ("cnt/total_episodes", "episodes", 1.0),
                ("cnt/total_rollouts", "train/cnt/iterations", 1.0),
                ("sys/timing/fps", "sys/env_steps_per_second", 1.0),
                ("sys/timing/time_elapsed", "wall_seconds", 1.0),
                # older versions
                ("ep_rew_best", "train/roll/ep_rew_best", 1.0),
                ("approx_kl", "train/metrics/kl_divergence", 1.0),
                ("clip_fraction", "train/metrics/clip_fraction", 1.0),
                ("entropy", "train/metrics/entropy", 1.0),
                ("entropy_loss", "train/metrics/entropy", -1.0),
                ("explained_variance", "train/metrics/explained_variance", 1.0),
                ("value_loss", "train/loss/value", 1.0),
                ("policy_loss", "train/loss/policy", 1.0),
                ("loss", "train/loss/total", 1.0),
                ("grad_norm/*", "train/metrics/grad_norm/*", 1.0),
                ("obs_mean", "train/roll/obs_mean", 1.0),
                ("obs_std", "train/roll/obs_std", 1.0),
                ("reward_mean", "train/roll/reward_mean", 1.0),
                ("reward_std", "train/roll/reward_std", 1.0),
                ("policy_lr", "train/hp/lr", 1.0),
                ("total_episodes", "episodes", 1.0),
                ("total_rollouts", "train/cnt/iterations", 1.0),
                ("time_elapsed", "wall_seconds", 1.0),
                ("fps", "sys/env_steps_per_second", 1.0),
            )
        ),
    )
)
SETTINGS = (
    Setting("policy_lr", "learning_rate"),
    Setting("max_env_steps", "env_steps"),
    Setting("max_timesteps", "env_steps"),
    Setting("env_id", "env"),
    Setting("normalize_advantages", "normalize_advantage"),
    Setting("hidden_dims", "net_arch"),
    Setting("_hidden_dims", "net_arch"),
    Setting("_activation", "activation"),
    *(
        Setting(name, name)
        for name in (
            "n_steps", "batch_size", "n_epochs", "n_envs", "seed", "gamma", "gae_lambda",
            "clip_range", "ent_coef", "vf_coef", "max_grad_norm", "target_kl", "optimizer",
            "normalize_obs", "activation", "env_kwargs",
        )
    ),
)  # fmt: skip
_SCHEDULES = {"policy_lr": "learning_rate", "clip_range": "clip_range", "ent_coef": "ent_coef"}


def read(path: Path, files: list[Path]) -> RunView:
    folder = path.parent if path.is_file() else path
    view = RunView(path, folder.name, LIBRARY)
    by_name = {file.name: file for file in reversed(files)}
    if "config.json" in by_name:
        try:
            own = read_json_file(by_name["config.json"])
            configure(view, own if isinstance(own, dict) else {})
        except DressageError as error:
            assemble.note(view, str(error))
    if "metrics.csv" in by_name:
        table = read_csv(by_name["metrics.csv"])
        clock = assemble.clock_or_rows(view, table, CLOCK)
        assemble.add_table(view, table, clock, NAMES, (*CLOCK, "time"))
    if "run.log" in by_name:
        try:
            assemble.add_log(view, read_text(by_name["run.log"]))
        except DressageError as error:
            assemble.note(view, str(error))
    view.weights = [file for file in files if file.suffix in (".ckpt", ".pt", ".safetensors")]
    return assemble.finish(view, files)


def configure(view: RunView, own: Mapping[str, Any]) -> None:
    view.own_config = flat_config(own)
    if view.algo is None:
        project = str(own.get("project_id", "")).rpartition("_")[2]
        view.algo = canonical_algorithm(own.get("algo_id") or own.get("algo") or project)
    if view.algo is None and own.get("clip_range") is not None:
        view.algo = "ppo"
    values, view.own_settings = renamed(SETTINGS, view.own_config, view.algo)
    config = canonical(values)
    for theirs, ours in _SCHEDULES.items():
        kind, start = own.get(f"{theirs}_schedule"), own.get(f"{theirs}_schedule_start_value")
        if kind:
            end = own.get(f"{theirs}_schedule_end_value", 0.0)
            until = _share(own.get(f"{theirs}_schedule_end"), own.get("max_env_steps"))
            start = own.get(theirs) if start is None else start
            config[ours] = schedule_text(str(kind), start, 0.0 if end is None else end, until)
    way = {"rollout": "batch", "batch": "minibatch", "off": "off"}.get(
        str(config.get("normalize_advantage")).lower()
    )
    if way:
        config["normalize_advantage"] = way
    else:
        config.pop("normalize_advantage", None)
    if view.algo:
        config["algo"] = view.algo
    view.config = config
    view.env = assemble.text_of(config.get("env"))
    threshold = own.get("reward_threshold")
    if isinstance(threshold, (int, float)) and not isinstance(threshold, bool):
        view.threshold = float(threshold)


def _share(end: Any, budget: Any) -> float:
    """A schedule's end is a share of the budget, or env steps."""
    if not isinstance(end, (int, float)) or isinstance(end, bool) or end <= 0:
        return 1.0
    if end <= 1:
        return float(end)
    whole = assemble.positive(budget)
    return min(1.0, float(end) / whole) if whole else 1.0


def looks_like(columns: set[str]) -> bool:
    return any(name.startswith(("train/roll/ep_rew/", "train/opt/")) for name in columns) or (
        "train/ep_rew_mean" in columns
    )

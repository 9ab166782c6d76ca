"""Stable-Baselines3 and sb3-contrib, with RL-Zoo's files: progress.csv, progress.json or event
files, monitors, evaluations.npz, the plain values of a model's zip, config.yml and args.yml; and
what `dressage.sb3.Recorder` has added to them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dressage.errors import DressageError, RunError
from dressage.runs.algorithms import FAMILIES, canonical_algorithm
from dressage.runs.files import parse_json
from dressage.runs.readers import assemble
from dressage.runs.readers.clock import straighten
from dressage.runs.readers.event_files import Events, is_event_file, read_events
from dressage.runs.readers.names import Metric, Names, Setting, renamed
from dressage.runs.readers.safe import npz_arrays, read_json_file, read_yaml, written, zip_entries
from dressage.runs.readers.sb3_arguments import ARGUMENTS
from dressage.runs.readers.sb3_zip import settings_in
from dressage.runs.readers.tables import Table, read_csv, read_json_lines
from dressage.runs.readers.values import canonical, flat_config, plain_value, schedule_text
from dressage.runs.view import Episodes, RunView, Series

LIBRARY = "sb3"
RECORDED = "dressage.json"  # settings that the Recorder writes
JSON = "progress.json"  # the same as progress.csv, one object a line
CLOCK = ("time/total_timesteps",)
ON_POLICY, VALUE_BASED = FAMILIES["on-policy"], FAMILIES["value-based"]
OFF_POLICY = (*VALUE_BASED, *FAMILIES["actor-critic"])
FPS = "SB3's time/fps is the mean speed since learn() began, not that of the interval."

NAMES = Names(
    (
        Metric("time/total_timesteps", "env_steps"),
        Metric("time/time_elapsed", "wall_seconds"),
        Metric("time/episodes", "episodes"),
        Metric("time/iterations", "train/cnt/iterations"),
        Metric("time/fps", "sys/env_steps_per_second", note=FPS),
        Metric("rollout/ep_rew_mean", "train/roll/ep_rew_mean"),
        Metric("rollout/ep_len_mean", "train/roll/ep_len_mean"),
        Metric("rollout/success_rate", "train/roll/success_rate"),
        Metric("rollout/exploration_rate", "train/hp/epsilon"),
        Metric("eval/mean_reward", "val/roll/ep_rew_mean"),
        Metric("eval/mean_ep_length", "val/roll/ep_len_mean"),
        Metric("eval/success_rate", "val/roll/success_rate"),
        Metric("train/entropy_loss", "train/metrics/entropy", scale=-1.0),
        Metric("train/approx_kl", "train/metrics/kl_divergence"),
        Metric("train/kl_divergence_loss", "train/metrics/kl_divergence"),
        Metric("train/clip_fraction", "train/metrics/clip_fraction"),
        Metric("train/clip_range", "train/hp/clip_range"),
        Metric("train/clip_range_vf", "train/hp/clip_range_vf"),
        Metric("train/explained_variance", "train/metrics/explained_variance"),
        Metric("train/value_loss", "train/loss/value"),
        Metric("train/policy_gradient_loss", "train/loss/policy"),
        Metric("train/policy_loss", "train/loss/policy"),
        Metric("train/policy_objective", "train/loss/policy", scale=-1.0, algos=("trpo",)),
        Metric("train/std", "train/metrics/action_std"),
        Metric("train/loss", "train/loss/td", algos=VALUE_BASED),
        Metric("train/loss", "train/loss/total"),
        Metric("train/critic_loss", "train/loss/critic"),
        Metric("train/actor_loss", "train/loss/actor"),
        Metric("train/ent_coef", "train/metrics/alpha"),
        Metric("train/ent_coef_loss", "train/loss/alpha"),
        Metric("train/learning_rate", "train/hp/lr"),
        # PPO counts passes over a rollout, the others gradient steps.
        Metric("train/n_updates", "train/cnt/epochs", algos=("ppo", "trpo")),
        Metric("train/n_updates", "updates"),
    )
)
SETTINGS = (
    Setting("learning_rate", "learning_rate"),
    Setting("lr_schedule", "learning_rate"),
    Setting("n_steps", "n_step", algos=OFF_POLICY),
    Setting("n_steps", "n_steps"),
    Setting("target_update_interval", "target_update_interval", algos=VALUE_BASED),
    Setting("clip_range", "clip_range"),
    Setting("clip_range_vf", "clip_range_vf"),
    Setting("policy_kwargs/net_arch", "net_arch"),
    Setting("policy_kwargs/activation_fn", "activation"),
    Setting("policy_kwargs/ortho_init", "ortho_init"),
    Setting("policy_kwargs/log_std_init", "log_std_init"),
    Setting("policy_kwargs/n_critics", "n_critics"),
    Setting("policy_kwargs/n_quantiles", "n_quantiles"),
    Setting("policy_kwargs/optimizer_class", "optimizer"),
    Setting("policy_kwargs/optimizer_kwargs/eps", "optimizer_eps"),
    Setting("policy_kwargs/optimizer_kwargs/weight_decay", "weight_decay"),
    Setting("policy_kwargs/optimizer_kwargs/alpha", "rmsprop_alpha"),
    Setting("n_timesteps", "env_steps"),
    Setting("total_timesteps", "env_steps"),
    Setting("_total_timesteps", "env_steps"),
    Setting("env", "env"),
    *(
        Setting(name, name)
        for name in (
            "batch_size", "n_epochs", "gamma", "gae_lambda", "normalize_advantage", "ent_coef",
            "vf_coef", "max_grad_norm", "target_kl", "use_sde", "sde_sample_freq", "buffer_size",
            "learning_starts", "train_freq", "gradient_steps", "tau",
            "policy_delay", "target_policy_noise", "target_noise_clip", "target_entropy", "seed",
            "n_envs", "action_noise", "noise_std",
        )
    ),
)  # fmt: skip
EPSILON = ("exploration_initial_eps", "exploration_final_eps", "exploration_fraction")


def read(path: Path, files: list[Path], tags: Events | None = None) -> RunView:
    """A run from its files, whichever of them there are; `tags` if its event files are read."""
    view = RunView(path, path.stem if path.is_file() else path.name, LIBRARY)
    own = _own_config(view, files)
    tables = _tables(files)
    events = [file for file in files if is_event_file(file)]
    if tags is None and events and not any(table.rows for table in tables):
        tags = read_events(events)
    columns = {name for table in tables for name in table.columns}
    columns |= set(tags.scalars) if tags else set()
    view.algo = algorithm(own, columns, view)
    has = ARGUMENTS.get(view.algo or "", own)  # SB3 saves None of what an algorithm does not have
    own = {name: value for name, value in own.items() if value is not None or name in has}
    configure(view, own)
    for table in tables:
        clock = assemble.clock_or_rows(view, table, CLOCK)
        assemble.add_table(view, table, clock, NAMES, CLOCK)
    if tags:
        assemble.add_events(view, tags, NAMES)
    _count_updates(view)
    _add_monitors(view, [read_csv(file) for file in files if is_monitor(file)])
    for file in files:
        if file.name == "evaluations.npz":
            _guarded(view, _add_evaluations, file)
    view.weights = sorted((file for file in files if file.suffix == ".zip"), key=written)
    return assemble.finish(view, [*events, *(table.path for table in tables)])


def _tables(files: list[Path]) -> list[Table]:
    """Where SB3 was asked for both, both hold the same."""
    tables = [read_csv(file) for file in files if file.name == "progress.csv"]
    if any(table.rows for table in tables):
        return tables
    return tables + [read_json_lines(file) for file in files if file.name == JSON]


def is_monitor(file: Path) -> bool:
    return file.name.endswith("monitor.csv")


def _guarded(view: RunView, step: Any, file: Path) -> Any:
    """A file beside the log that cannot be read costs a sentence, not the diagnosis."""
    try:
        return step(view, file)
    except DressageError as error:
        assemble.note(view, str(error))
        return {}


def _own_config(view: RunView, files: list[Path]) -> dict[str, Any]:
    """config.yml before args.yml before the Recorder's before the newest zip."""
    parts = []
    for name in ("config.yml", "args.yml"):
        found = [file for file in files if file.name == name][:1]
        parts += [_guarded(view, _yaml_config, file) for file in found]
    parts += [_guarded(view, _recorded_config, file) for file in files if file.name == RECORDED]
    zips = sorted((file for file in files if file.suffix == ".zip"), key=written)
    parts += [_guarded(view, _zip_config, file) for file in zips[-1:]]
    return assemble.merged(*parts)


def _yaml_config(view: RunView, file: Path) -> dict[str, Any]:
    content = read_yaml(file)
    return content if isinstance(content, dict) else {}


def _recorded_config(view: RunView, file: Path) -> dict[str, Any]:
    """Plain values all of them, by SB3's names."""
    content = read_json_file(file)
    settings = content.get("settings") if isinstance(content, dict) else None
    if not isinstance(settings, dict):
        raise RunError(f"{file.name} holds no settings: left out.")
    spaces = content.get("spaces")
    view.spec = view.spec | (spaces if isinstance(spaces, dict) else {})
    return settings_in(settings)


def _zip_config(view: RunView, file: Path) -> dict[str, Any]:
    """What the JSON entry `data` says in plain values; what is pickled in it stays unread."""
    entries = zip_entries(file, ("data", "_stable_baselines3_version"))
    if "data" not in entries:
        raise RunError(f"{file.name} holds no settings: it is not a model of SB3.")
    data = parse_json(entries["data"], f"{file.name}: data")
    if not isinstance(data, dict):
        raise RunError(f"{file.name}: its settings are not a JSON object.")
    if steps := assemble.positive(data.get("num_timesteps")):
        view.env_steps = steps
    spaces = {name: _space(data.get(name)) for name in ("observation_space", "action_space")}
    view.spec = {name: text for name, text in spaces.items() if text} | view.spec
    return settings_in(data)


def _space(value: Any) -> str | None:
    """A space as Gymnasium prints it, from the plain values beside its pickle."""
    match value:
        case {":type:": str(kind), "n": n} if "Discrete" in kind:
            return f"Discrete({n})"
        case {"low": low, "high": high, "_shape": list(shape), "dtype": dtype}:
            return f"Box({low}, {high}, {tuple(shape)}, {dtype})"[:500]
    return None


def algorithm(own: Mapping[str, Any], columns: set[str], view: RunView) -> str | None:
    """From the settings, from what is logged, from the folder's name."""
    if found := canonical_algorithm(own.get("algo", "")):
        return found
    if found := canonical_algorithm(view.path.name):
        return found
    if "clip_range" in own or "train/clip_fraction" in columns:
        return "ppo"
    if "exploration_final_eps" in own or "rollout/exploration_rate" in columns:
        return "dqn"
    if "train/ent_coef" in columns:
        return "sac"
    if "train/policy_loss" in columns and "train/value_loss" in columns:
        return "a2c"
    if "train/actor_loss" in columns:
        assemble.note(view, "TD3 and DDPG log the same names: TD3 was assumed.")
        return "td3"
    return None


def configure(view: RunView, own: Mapping[str, Any]) -> None:
    """Settings under our names, in our units."""
    view.own_config = flat_config(own)
    if isinstance(own.get("policy_kwargs"), str):  # RL-Zoo: "dict(net_arch=[64, 64], …)"
        view.own_config |= _policy_kwargs(own["policy_kwargs"][:2000])
    values, names = renamed(SETTINGS, view.own_config, view.algo)
    view.own_settings = names | {"epsilon": EPSILON[1]}
    config = canonical(values)
    config |= _epsilon(own) | _temperature(config) | _normalised(own)
    if isinstance(advantage := config.get("normalize_advantage"), bool):
        way = "batch" if view.algo == "a2c" else "minibatch"
        config["normalize_advantage"] = way if advantage else "off"
    config.pop("action_noise", None)
    if "action_noise" in own:
        config |= _noise(own["action_noise"], view.algo)
    if view.algo:
        config["algo"] = view.algo
    if isinstance(own.get("policy_kwargs"), dict):  # what is not in it is as SB3 has it
        config = _of_policies(view.algo) | config
    view.config = config
    view.env = assemble.text_of(config.get("env"))


def _of_policies(algo: str | None) -> dict[str, Any]:
    """What SB3 takes for networks and optimizers where nothing is asked for."""
    if algo in ("ppo", "a2c"):
        return {"net_arch": [64, 64], "activation": "tanh", "optimizer": "adam",
                "optimizer_eps": 1e-5, "weight_decay": 0.0}  # fmt: skip
    sizes = {"dqn": [64, 64], "sac": [256, 256], "td3": [400, 300], "ddpg": [400, 300]}
    if algo not in sizes:
        return {}
    return {"net_arch": sizes[algo], "activation": "relu", "optimizer": "adam",
            "optimizer_eps": 1e-8, "weight_decay": 0.0}  # fmt: skip


def _noise(own: Any, algo: str | None) -> dict[str, Any]:
    """The deviation of noise on actions: `NormalActionNoise(sigma=[0.1 0.1])`."""
    if own is None:
        return {"noise_std": 0.0} if algo in ("td3", "ddpg") else {}
    number = re.search(r"sigma\D*(\d+\.?\d*(?:e-?\d+)?)", str(own)[:2000])
    return {"noise_std": float(number[1])} if number else {}


def _policy_kwargs(text: str) -> dict[str, Any]:
    """The parts we know of the text of a Python call, which is never called."""
    found: dict[str, Any] = {}
    if "net_arch" in text:
        after = text.partition("net_arch")[2]
        dual = after.find("vf=") if after.lstrip(" =").startswith("dict") else -1
        end = after.find("]", max(dual, 0))
        found["policy_kwargs/net_arch"] = after[: end + 1]
    for name, ours in (
        ("activation_fn", "policy_kwargs/activation_fn"),
        ("optimizer_class", "policy_kwargs/optimizer_class"),
        ("log_std_init", "policy_kwargs/log_std_init"),
        ("ortho_init", "policy_kwargs/ortho_init"),
    ):
        if f"{name}=" in text:
            found[ours] = text.partition(f"{name}=")[2].partition(",")[0].strip(" )")
    return found


def _epsilon(own: Mapping[str, Any]) -> dict[str, Any]:
    start, end, until = (plain_value(own.get(name)) for name in EPSILON)
    if end is None and until is None:
        return {}
    text = schedule_text(
        "linear",
        1.0 if start is None else start,
        0.05 if end is None else end,
        until=0.1 if until is None else until,
    )
    return {"epsilon": text}


def _temperature(config: Mapping[str, Any]) -> dict[str, Any]:
    """SAC's `auto_0.1` is a learned temperature that begins at 0.1."""
    value = config.get("ent_coef")
    if isinstance(value, str) and value.startswith("auto_"):
        return {"ent_coef": "auto", "ent_coef_init": plain_value(value.removeprefix("auto_"))}
    return {}


def _normalised(own: Mapping[str, Any]) -> dict[str, Any]:
    """RL-Zoo's `normalize: true`, or the arguments of VecNormalize as text."""
    value = own.get("normalize")
    if value is None:
        return {}
    text = str(value).replace(" ", "").replace("'", "").replace('"', "").replace(":", "=").lower()
    wanted = text not in ("false", "none", "")
    return {
        "normalize_obs": wanted and "norm_obs=false" not in text,
        "normalize_reward": wanted and "norm_reward=false" not in text,
    }


def _count_updates(view: RunView) -> None:
    """Gradient steps of PPO, which logs passes over the rollout instead."""
    epochs = view["train/cnt/epochs"]
    sizes = [view.config.get(name) for name in ("n_steps", "n_envs", "batch_size")]
    if not epochs or "updates" in view or not all(assemble.positive(size) for size in sizes):
        return
    n_steps, n_envs, batch_size = (float(size) for size in sizes if size is not None)
    batches = math.ceil(n_steps * n_envs / batch_size)
    view.series["updates"] = Series(epochs.env_steps, epochs.values * batches)
    view.own_names["updates"] = "train/n_updates"


def _add_monitors(view: RunView, tables: list[Table]) -> None:
    """Episodes of all environments in the order of time, as SB3's own `load_results` joins them."""
    times, returns, lengths = [], [], []
    for table in tables:
        header = _monitor_header(table)
        if view.env is None:
            view.env = assemble.text_of(header.get("env_id"))
        assemble.note(view, *table.notes)
        if not {"r", "l", "t"} <= set(table.columns):
            if table.rows:
                assemble.note(view, f"{table.path.name} has no columns r, l and t: left out.")
            continue
        start = header.get("t_start")
        begin = float(start) if isinstance(start, (int, float)) else 0.0
        times.append(table.dense("t") + begin)
        returns.append(table.dense("r"))
        lengths.append(table.dense("l"))
    if not times:
        return
    when = np.concatenate(times)
    order = np.argsort(when, kind="stable")
    length = np.nan_to_num(np.concatenate(lengths)[order], posinf=0.0, neginf=0.0)
    ended_at = np.cumsum(np.maximum(length, 0.0))
    episodes = Episodes(ended_at, np.concatenate(returns)[order], length)
    assemble.add_episodes(view, episodes, "rollout/ep_rew_mean", "rollout/ep_len_mean")


def _monitor_header(table: Table) -> dict[str, Any]:
    for line in table.comments[:1]:
        try:
            header = parse_json(line[1:], table.path)
        except RunError:
            continue
        if isinstance(header, dict):
            return header
    return {}


def _add_evaluations(view: RunView, file: Path) -> None:
    arrays = npz_arrays(file, ("timesteps", "results", "ep_lengths", "successes"))
    steps, results = arrays.get("timesteps"), arrays.get("results")
    if steps is None or results is None or steps.ndim != 1 or results.ndim != 2:
        raise RunError(f"{file.name} has no timesteps and results: left out.")
    if len(steps) != len(results) or not results.size:
        raise RunError(f"{file.name} has {len(steps)} timesteps for {len(results)} results.")
    straight = straighten(steps.astype(np.float64))
    clock, results = straight.clock, results[straight.keep]
    lengths = arrays.get("ep_lengths", np.empty(0))
    found = {
        "val/roll/ep_rew_mean": results.mean(1),
        "val/roll/ep_rew_std": results.std(1),
        "val/roll/ep_rew_min": results.min(1),
        "val/roll/ep_rew_max": results.max(1),
        "val/roll/episodes": np.full(len(clock), float(results.shape[1])),
    }
    if lengths.shape == (len(steps), results.shape[1]):
        found["val/roll/ep_len_mean"] = lengths[straight.keep].mean(1)
    for name, values in found.items():
        if name not in view.series:
            view.series[name] = Series(clock, values.astype(np.float64))


def looks_like(columns: set[str]) -> bool:
    return any(name in columns for name in ("rollout/ep_rew_mean", "time/total_timesteps"))

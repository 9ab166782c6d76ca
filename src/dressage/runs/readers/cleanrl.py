"""CleanRL: event files, with the settings in a text summary named `hyperparameters`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dressage.runs.algorithms import FAMILIES, canonical_algorithm
from dressage.runs.readers import assemble
from dressage.runs.readers.event_files import Events
from dressage.runs.readers.names import Metric, Names, Setting, renamed
from dressage.runs.readers.values import canonical, plain_value, schedule_text
from dressage.runs.view import Episodes, RunView

LIBRARY = "cleanrl"
CLOCK = ("global_step",)
RETURN, LENGTH = "charts/episodic_return", "charts/episodic_length"
ACTOR = FAMILIES["actor-critic"]
SPS = "CleanRL's charts/SPS is the mean speed since the start, not that of the interval."
SINGLE = f"{RETURN} holds single episodes, not their mean."
HALF = "CleanRL logs half of the squared value error; it was doubled."

NAMES = Names(
    (
        Metric("global_step", "env_steps"),
        Metric(RETURN, "train/roll/ep_rew_mean", note=SINGLE),
        Metric(LENGTH, "train/roll/ep_len_mean"),
        Metric("eval/episodic_return", "val/roll/ep_rew_mean"),
        Metric("charts/learning_rate", "train/hp/lr"),
        Metric("charts/epsilon", "train/hp/epsilon"),
        Metric("charts/SPS", "sys/env_steps_per_second", note=SPS),
        Metric("losses/value_loss", "train/loss/value", scale=2.0, note=HALF),
        Metric("losses/policy_loss", "train/loss/policy"),
        Metric("losses/entropy", "train/metrics/entropy"),
        Metric("losses/approx_kl", "train/metrics/kl_divergence"),
        Metric("losses/clipfrac", "train/metrics/clip_fraction"),
        Metric("losses/explained_variance", "train/metrics/explained_variance"),
        Metric("losses/td_loss", "train/loss/td"),
        Metric("losses/loss", "train/loss/td"),
        Metric("losses/q_values", "train/metrics/q_mean"),
        Metric("losses/qf1_values", "train/metrics/q_mean"),
        Metric("losses/qf_loss", "train/loss/critic"),
        Metric("losses/qf1_loss", "train/loss/critic"),
        Metric("losses/actor_loss", "train/loss/actor"),
        Metric("losses/alpha", "train/metrics/alpha"),
        Metric("losses/alpha_loss", "train/loss/alpha"),
    )
)
SETTINGS = (
    Setting("learning_rate", "learning_rate"),
    Setting("policy_lr", "learning_rate"),
    Setting("q_lr", "value_learning_rate"),
    Setting("total_timesteps", "env_steps"),
    Setting("env_id", "env"),
    Setting("gym_id", "env"),
    Setting("num_envs", "n_envs"),
    Setting("num_steps", "n_steps"),
    Setting("minibatch_size", "batch_size"),
    Setting("batch_size", "batch_size", algos=(*FAMILIES["value-based"], *ACTOR)),
    Setting("update_epochs", "n_epochs"),
    Setting("gamma", "gamma"),
    Setting("gae_lambda", "gae_lambda"),
    Setting("clip_coef", "clip_range"),
    Setting("ent_coef", "ent_coef"),
    Setting("alpha", "ent_coef", algos=("sac",)),
    Setting("vf_coef", "vf_coef"),
    Setting("max_grad_norm", "max_grad_norm"),
    Setting("target_kl", "target_kl"),
    Setting("buffer_size", "buffer_size"),
    Setting("learning_starts", "learning_starts"),
    Setting("train_frequency", "train_freq"),
    Setting("target_network_frequency", "target_update_interval"),
    Setting("target_tau", "tau"),
    Setting("tau", "tau"),
    Setting("policy_frequency", "policy_delay"),
    Setting("policy_noise", "target_policy_noise"),
    Setting("noise_clip", "target_noise_clip"),
    Setting("exploration_noise", "noise_std"),
    Setting("n_atoms", "n_atoms"),
    Setting("v_min", "v_min"),
    Setting("v_max", "v_max"),
    Setting("seed", "seed"),
)


def read(path: Path, files: list[Path], events: Events) -> RunView:
    folder = path.parent if path.is_file() else path
    view = RunView(path, folder.name, LIBRARY)
    own = hyperparameters(events.texts.get("hyperparameters", ""))
    parts = folder.name.split("__")  # env_id__exp_name__seed__time
    named = (
        dict(zip(("env_id", "exp_name", "seed"), parts, strict=False)) if len(parts) >= 4 else {}
    )
    own = assemble.merged(own, named)
    view.algo = canonical_algorithm(own.get("exp_name", ""))
    configure(view, own)
    rest = Events(
        {tag: part for tag, part in events.scalars.items() if tag not in (RETURN, LENGTH)},
        notes=events.notes,
    )
    assemble.add_events(view, rest, NAMES)
    _add_episodes(view, events)
    weights = (".cleanrl_model", ".pth", ".pt")
    view.weights = [file for file in files if file.suffix in weights]
    return assemble.finish(view, files)


def hyperparameters(text: str) -> dict[str, Any]:
    """The rows of the Markdown table `|param|value|`."""
    found: dict[str, Any] = {}
    for line in text.split("\n")[2:2000]:
        cells = line.strip().strip("|").split("|", 1)
        if len(cells) == 2 and cells[0]:
            found[cells[0].strip()] = plain_value(cells[1])
    return found


def configure(view: RunView, own: Mapping[str, Any]) -> None:
    view.own_config = dict(own)
    values, view.own_settings = renamed(SETTINGS, own, view.algo)
    config = canonical(values)
    if own.get("anneal_lr") is True and isinstance(config.get("learning_rate"), (int, float)):
        config["learning_rate"] = schedule_text("linear", config["learning_rate"], 0.0)
    if isinstance(own.get("norm_adv"), bool):
        config["normalize_advantage"] = "minibatch" if own["norm_adv"] else "off"
    if own.get("clip_vloss") is True and "clip_range" in config:
        config["clip_range_vf"] = config["clip_range"]
    if own.get("autotune") is True:
        config["ent_coef"] = "auto"
    if "start_e" in own and "end_e" in own:
        until = own.get("exploration_fraction", 1.0)
        config["epsilon"] = schedule_text("linear", own["start_e"], own["end_e"], until)
        view.own_settings["epsilon"] = "end_e"
    if view.algo:
        config["algo"] = view.algo
    view.config = config
    view.env = assemble.text_of(config.get("env"))


def _add_episodes(view: RunView, events: Events) -> None:
    """Each value of `charts/episodic_return` is one episode."""
    returns, lengths = events.scalars.get(RETURN), events.scalars.get(LENGTH)
    if returns is None:
        return
    if lengths is not None and np.array_equal(lengths.steps, returns.steps):
        length = lengths.values
    else:
        length = np.full(len(returns.steps), np.nan)
    episodes = Episodes(returns.steps, returns.values, length)
    assemble.add_episodes(view, episodes, RETURN, LENGTH)


def looks_like(tags: set[str]) -> bool:
    return RETURN in tags or "charts/SPS" in tags

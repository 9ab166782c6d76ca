"""Tianshou, before and since 1.0: event files. What updates log is counted in gradient steps there,
and is brought to env steps by the time at which both were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dressage.runs.algorithms import FAMILIES, canonical_algorithm
from dressage.runs.readers import assemble
from dressage.runs.readers.event_files import Events, Scalars
from dressage.runs.readers.names import Metric, Names
from dressage.runs.view import RunView

LIBRARY = "tianshou"
ON, ACTOR = FAMILIES["on-policy"], FAMILIES["actor-critic"]
_PLUS = "Tianshou's entropy loss is the entropy itself, not its opposite."
COLLECTED = ("training/", "train/")
NAMES = Names(
    (
        *(
            Metric(f"{before}{theirs}", f"{part}/roll/{ours}")
            for before, part in (("training/", "train"), ("train/", "train"), ("test/", "val"))
            for theirs, ours in (
                ("returns_stat/mean", "ep_rew_mean"),
                ("reward", "ep_rew_mean"),
                ("returns_stat/std", "ep_rew_std"),
                ("reward_std", "ep_rew_std"),
                ("lens_stat/mean", "ep_len_mean"),
                ("length", "ep_len_mean"),
                ("n_collected_episodes", "episodes"),
            )
        ),
        Metric("training/collect_speed", "sys/env_steps_per_second"),
        Metric("train/collect_speed", "sys/env_steps_per_second"),
        *(
            Metric(f"update/{theirs}", ours, algos=algos, note=note)
            for theirs, ours, algos, note in (
                ("actor_loss", "train/loss/policy", ON, ""),
                ("actor_loss", "train/loss/actor", (), ""),
                ("clip_loss", "train/loss/policy", (), ""),
                ("vf_loss", "train/loss/value", (), ""),
                ("ent_loss", "train/metrics/entropy", (), _PLUS),
                ("critic_loss", "train/loss/critic", (), ""),
                ("critic1_loss", "train/loss/critic", (), ""),
                ("alpha", "train/metrics/alpha", (), ""),
                ("alpha_loss", "train/loss/alpha", (), ""),
                ("kl", "train/metrics/kl_divergence", (), ""),
                ("loss", "train/loss/total", (*ON, *ACTOR), ""),
                ("loss", "train/loss/td", (), ""),
                # before 1.0
                ("loss/clip", "train/loss/policy", (), ""),
                ("loss/actor", "train/loss/policy", ON, ""),
                ("loss/actor", "train/loss/actor", (), ""),
                ("loss/vf", "train/loss/value", (), ""),
                ("loss/ent", "train/metrics/entropy", (), _PLUS),
                ("loss/critic", "train/loss/critic", (), ""),
                ("loss/critic1", "train/loss/critic", (), ""),
                ("loss/alpha", "train/loss/alpha", (), ""),
            )
        ),
    )
)
SETTINGS = ()  # event files hold none


def read(path: Path, files: list[Path], events: Events) -> RunView:
    folder = path.parent if path.is_file() else path
    view = RunView(path, folder.name, LIBRARY)
    view.algo = _algorithm(folder, set(events.scalars))
    parents = [folder.name, *(parent.name for parent in list(folder.parents)[:3])]
    view.env = next((name for name in parents if "-v" in name), None)
    assemble.note(view, "Tianshou's event files hold no settings: --config FILE adds them.")
    scalars = {_short(tag): part for tag, part in on_env_steps(view, events.scalars).items()}
    assemble.add_events(view, Events(scalars, notes=events.notes), NAMES)
    view.weights = [file for file in files if file.suffix in (".pth", ".pt")]
    return assemble.finish(view, files)


def _short(tag: str) -> str:
    """Since 1.0 a loss is a summary of a sequence: its mean counts."""
    return tag.removesuffix("/mean") if tag.startswith("update/") else tag


def _algorithm(folder: Path, tags: set[str]) -> str | None:
    for name in (folder.name, folder.parent.name):
        if found := canonical_algorithm(name):
            return found
    shorts = {_short(tag) for tag in tags}
    if {"update/vf_loss", "update/loss/vf"} & shorts:
        return "ppo"
    if {"update/alpha", "update/loss/alpha", "update/alpha_loss"} & shorts:
        return "sac"
    return None


def on_env_steps(view: RunView, scalars: dict[str, Scalars]) -> dict[str, Scalars]:
    """The same, with the steps of `update/…` in env steps."""
    collected = [
        part
        for tag, part in scalars.items()
        if tag.startswith((*COLLECTED, "test/")) and len(part.steps)
    ]
    if not collected:
        assemble.note(view, "The log has no env steps: gradient steps are counted instead.")
        return scalars
    times = np.concatenate([part.times for part in collected])
    steps = np.concatenate([part.steps for part in collected])
    order = np.argsort(times, kind="stable")
    times, steps = times[order], np.maximum.accumulate(steps[order])
    found = {}
    for tag, part in scalars.items():
        if tag.startswith("update/"):
            part = part._replace(steps=np.interp(part.times, times, steps))
        elif not tag.startswith((*COLLECTED, "test/")):
            continue  # save/…, info/…: counted in epochs
        found[tag] = part
    assemble.note(view, "Env steps of updates were taken from the time at which they were logged.")
    return found


def looks_like(tags: set[str]) -> bool:
    return any(tag.startswith("update/") for tag in tags) or any(
        name in tags
        for name in ("test/reward", "test/returns_stat/mean", "training/returns_stat/mean")
    )

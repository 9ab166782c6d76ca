"""One job: trains it in this process, and gives the view that is stored, and its outcome."""

from __future__ import annotations

import hashlib
import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.faults.injection import INJECTIONS, Injection
from benchmarks.faults.injections import recording
from benchmarks.faults.injections.code import CODE, IN_C_TOO, TORCH
from benchmarks.faults.setting import Setting
from benchmarks.faults.settings import SETTINGS

import dressage
from dressage.envs.make import make_env
from dressage.errors import DressageError
from dressage.runs.readers import read
from dressage.runs.view import RunView

RECORDER = f"{INJECTIONS}.recording:TrueReturn"
# An evaluation costs as much as training where episodes are long.
EVALUATION = {"eval_episodes": 5, "final_eval_episodes": 10, "guard": "off"}
# Of the machinery, or how it was injected: a healthy run's are shown instead.
HIDDEN = {
    "engine": "auto",
    "backend": "auto",
    "wrappers": [],
    "callbacks": [],
    "threads": "auto",
    "guard": "warn",
}
SHOWN_EVENTS = ("begin", "end", "resume", "failure")

INEXACT = "This run cannot be resumed exactly"  # which is so of our wrappers, faulty or not


@dataclass(frozen=True)
class Job:
    setting: str
    variant: str  # clean, a fault's or a variation's name
    kind: str  # clean, fault, benign
    cause: str | None  # of a fault
    severity: int  # 1 to 3; 0 for clean runs
    seed: int
    injection: Injection

    @property
    def key(self) -> str:
        return f"{self.setting}/{self.variant}/{self.severity}/{self.seed}"

    def fingerprint(self) -> str:
        """Of all that the run follows from: runs stored with another are out of date."""
        described = self.injection.described(SETTINGS[self.setting])
        text = json.dumps(described, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def label(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "setting": self.setting,
            "split": SETTINGS[self.setting].split,
            "variant": self.variant,
            "kind": self.kind,
            "cause": self.cause,
            "severity": self.severity,
            "seed": self.seed,
            "library": "dressage",
            "unfinished": SETTINGS[self.setting].unfinished,
            "fingerprint": self.fingerprint(),
        }


def make(job: Job, env_steps: int | None = None) -> tuple[RunView, dict[str, Any]]:
    """The run's view, as a person would see it, and its outcome. `env_steps`: for tests."""
    setting, injection = SETTINGS[job.setting], job.injection
    config: dict[str, Any] = {**EVALUATION, **setting.config, **injection.changes(setting)}
    config["seed"] = job.seed
    if env_steps is not None:
        config["env_steps"] = env_steps
    if injection.wrappers:
        added = [{"name": f"{INJECTIONS}.{name}", **kw} for name, kw in injection.wrappers]
        config |= {"wrappers": [RECORDER, *added], "backend": "inline"}
    if injection.code:
        if any(name not in IN_C_TOO for name, _ in injection.code):
            config["backend"] = "inline"
        if any(name in TORCH for name, _ in injection.code):
            config["engine"] = "torch"
    recording.MADE.clear()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        error = ""
        for name, kwargs in injection.code:
            stack.enter_context(CODE[name](setting, **kwargs))
        try:
            dressage.train(setting.env, algo=setting.algo, preset=False, runs=folder, **config)
        except Exception as failed:
            error = f"{type(failed).__name__}: {failed}"
        found = [view for view in _views(Path(folder)) if len(view.series)]
        if not found:
            raise RuntimeError(error or "the run left nothing to read")
        view = found[-1]
        result = outcome(view, config) | {"error": error}
        if any(name.startswith("episodes:") for name, _ in injection.wrappers):
            result["played"] = played(setting, view.path)
    return as_seen(view, setting, job), result


def _views(folder: Path) -> list[RunView]:
    runs = sorted(p for p in folder.iterdir() if p.is_dir() and not p.is_symlink())
    return [view for path in runs for view in read(path)]


def played(setting: Setting, run: Path, episodes: int = 8) -> float | None:
    """Mean return of the last policy in the clean environment: returns of episodes that end
    elsewhere cannot be compared."""
    try:
        policy = dressage.load(f"{run}@last", trust=True)
    except DressageError:
        return None
    env = make_env(setting.env, env_kwargs=setting.config.get("env_kwargs"))
    total = 0.0
    for seed in range(episodes):
        obs, _ = env.reset(seed=seed)
        state, over = None, False
        while not over:
            action, state = policy.predict(obs, state)
            obs, reward, terminated, truncated, _ = env.step(action)
            total, over = total + float(reward), terminated or truncated
    return total / episodes


def outcome(view: RunView, config: dict[str, Any]) -> dict[str, Any]:
    """Returns at the end: as logged and in the environment's own reward, and of evaluations."""
    episodes = view.episodes
    late = episodes.returns[episodes.env_steps >= 0.9 * view.env_steps]
    if len(late) < 3:
        late = episodes.returns[-3:]
    logged = float(np.mean(late)) if len(late) else None
    true = recording.late_return(int(config["n_envs"]) if "n_envs" in config else 1)
    means = view["train/roll/ep_rew_mean"].values
    held_out = view["val/roll/ep_rew_mean"].values
    speed = view["sys/env_steps_per_second"].values
    return {
        "logged": logged,
        "final": logged if true is None else true,
        "best": float(np.nanmax(means)) if len(means) else None,
        "val": float(held_out[-1]) if len(held_out) else None,
        "val_best": float(held_out.max()) if len(held_out) else None,
        "speed": float(np.median(speed[-max(1, len(speed) // 5) :])) if len(speed) else None,
        "env_steps": view.env_steps,
        "state": view.state,
    }


def as_seen(view: RunView, setting: Setting, job: Job) -> RunView:
    """The view without what only this benchmark knows."""
    hidden = HIDDEN | {"wrappers": list(setting.config.get("wrappers", []))}
    shown = {key: job.injection.config.get(key, value) for key, value in hidden.items()}
    view.config = {key: shown.get(key, value) for key, value in view.config.items()}
    view.own_config = view.config
    view.path, view.id = Path("run"), "run"
    view.weights = []
    ours = [name.rpartition(":")[2] for name, _ in job.injection.wrappers] + ["TrueReturn"]
    told = view.spec.get("wrappers", [])
    machinery = ("task", "resume", "package", "observation", "format")
    view.spec = {key: value for key, value in view.spec.items() if key not in machinery}
    view.spec["wrappers"] = [name for name in told if name not in ours]
    lines = [line.partition(" ")[2] for line in view.log_lines]  # without the time
    view.log_lines = [line for line in lines if not line.startswith(INEXACT)][-20:]
    view.events = [
        {key: value for key, value in event.items() if key not in ("time", "format")}
        for event in view.events
        if event["kind"] in SHOWN_EVENTS
    ][-40:]
    return view

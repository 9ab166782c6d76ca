"""The same with Stable-Baselines3: its users' faults, in its users' logs.

`sb3_settings.py` has its clean settings, `sb3_faults.py` what is put wrong, `sb3_worker.py` trains.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.faults import store
from benchmarks.faults.sb3_faults import FAULTS, Sb3Fault
from benchmarks.faults.sb3_settings import SETTINGS, Sb3Setting

from dressage.diagnosis.checkpoints import saved_numbers
from dressage.runs.readers import read
from dressage.runs.readers.sb3 import RECORDED
from dressage.runs.view import RunView

WORK = Path("build/faults-sb3")
BATCH = 10  # jobs of a process, which takes a while to start
CLEAN_SEEDS, FAULT_SEEDS = 5, 2
SAVED = "saved"  # in an outcome: how many numbers of the saved model are kept


def jobs(recorded: bool = False) -> Iterator[dict[str, Any]]:
    """A seed of everything at a time. `recorded`: the same runs with what `dressage.sb3.Recorder`
    adds to their logs."""
    for seed in range(max(CLEAN_SEEDS, FAULT_SEEDS)):
        for setting in SETTINGS.values():
            if seed < CLEAN_SEEDS:
                yield _job(setting, None, seed, recorded)
        for fault in FAULTS.values():
            for name in fault.settings if seed < FAULT_SEEDS else ():
                yield _job(SETTINGS[name], fault, seed, recorded)


def _job(setting: Sb3Setting, fault: Sb3Fault | None, seed: int, recorded: bool) -> dict[str, Any]:
    fault = fault.on(setting) if fault else None
    hyper = {**setting.hyper, **(fault.hyper if fault else {})}
    if fault and "policy_kwargs" in fault.hyper:
        hyper["policy_kwargs"] = (
            setting.hyper.get("policy_kwargs", {}) | fault.hyper["policy_kwargs"]
        )
    variant = fault.name if fault else "clean"
    described = {
        "algo": setting.algo,
        "env": setting.env,
        "env_kwargs": setting.env_kwargs,
        "env_steps": setting.env_steps,
        "n_envs": setting.n_envs,
        "hyper": {key: value for key, value in hyper.items() if value is not None},
        "wrappers": [list(one) for one in fault.wrappers] if fault else [],
        "code": [list(one) for one in fault.code] if fault else [],
        "log_interval": 20 if setting.algo == "A2C" else 1,
        **(fault.job if fault else {}),
        **({"recorded": True} if recorded else {}),
    }
    text = json.dumps(described, sort_keys=True).encode()
    label = {
        "key": f"{setting.name}/{variant}/{2 if fault else 0}/{seed}",
        "setting": setting.name,
        "split": setting.split,
        "variant": variant,
        "kind": "fault" if fault else "clean",
        "cause": fault.cause if fault else None,
        "severity": 2 if fault else 0,
        "seed": seed,
        "library": "sb3",
        "fingerprint": hashlib.sha256(text).hexdigest()[:12],
    }
    folder = WORK / label["key"].replace("/", "~")
    return described | {"seed": seed, "folder": str(folder), "label": label}


def generate(
    minutes: float,
    only: Sequence[str] = ("",),
    folder: Path = store.FOLDER,
    recorded: bool = False,
    saved: bool = False,
    part: tuple[int, int] = (0, 1),
) -> int:
    """Batches of jobs that are not there yet, each batch a process; one shard at the end. `only`:
    keys with one of these words. `saved`: anew where no numbers of the model are kept. `part`:
    of all jobs every n-th from k, which may be made beside the others."""
    from benchmarks.faults.generate import fingerprints, gather

    done = fingerprints(folder)
    if saved:
        kept = {run.label["key"] for run in store.load(folder) if SAVED in run.outcome}
        done = {key: value for key, value in done.items() if key in kept}
    k, n = part
    pending, file = WORK / f"pending-{k}-of-{n}", WORK / f"jobs-{k}-of-{n}.json"
    left = [
        job
        for job in list(jobs(recorded))[k::n]
        if done.get(key := job["label"]["key"]) != job["label"]["fingerprint"]
        and any(word in key for word in only)
    ]
    began, made = time.monotonic(), 0
    while left and time.monotonic() - began < 60 * minutes:
        batch, left = left[:BATCH], left[BATCH:]
        run_batch(batch, file)
        for job in batch:
            name = job["label"]["key"].replace("/", "~")
            store.write(pending / f"{name}.zip", [stored(job)])
            shutil.rmtree(job["folder"], ignore_errors=True)
            Path(job["folder"] + ".outcome.json").unlink(missing_ok=True)
        made += len(batch)
        print(f"{made} runs of SB3 in {time.monotonic() - began:.0f} s", flush=True)
    gather(folder, pending)
    return made


def run_batch(batch: Sequence[dict[str, Any]], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(list(batch)))
    path = os.pathsep.join([".", *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, "-m", "benchmarks.faults.sb3_worker", str(file)]
    subprocess.run(command, env=environment, check=True)


def _without_settings(folder: Path) -> dict[str, Any]:
    """Settings and spaces as they are known without the Recorder's file."""
    beside, aside = folder / RECORDED, folder / "aside"
    if not beside.exists():
        return {}
    beside.rename(aside)
    try:
        view = read(folder)[-1]
        return {"own_config": view.own_config, "spec": view.spec}
    finally:
        aside.rename(beside)


def stored(job: dict[str, Any]) -> store.Stored:
    folder = Path(job["folder"])
    outcome = json.loads(Path(f"{folder}.outcome.json").read_text())
    try:
        plain = _without_settings(folder)
        view = read(folder)[-1]
    except Exception as error:
        outcome |= {"failed": True, "error": f"{outcome['error']} {error}"}
        return store.Stored(job["label"], outcome, RunView(Path("run"), "run", "sb3"))
    returns, steps = view.episodes.returns, view.episodes.env_steps
    late = returns[steps >= 0.9 * view.env_steps]
    held_out = view["val/roll/ep_rew_mean"].values
    outcome |= {
        "logged": float(np.mean(late)) if len(late) else None,
        "val": float(held_out[-1]) if len(held_out) else None,
        "env_steps": view.env_steps,
        "state": "crashed" if outcome["error"] else "finished",
    }
    if job.get("recorded"):
        outcome["plain"] = plain
    view.saved = {name: float(f"{n:.4g}") for name, n in saved_numbers(view).items()}
    outcome[SAVED] = len(view.saved)
    view.path, view.id, view.weights = Path("run"), "run", []
    view.env = view.env or job["env"]
    return store.Stored(job["label"], outcome, view)

"""What a replay memory costs: prioritised against uniform sampling, a million Atari frames, and a
checkpoint of a million transitions.

    python benchmarks/replay.py            # writes results/replay/results.json and prints it
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from dressage.core.replay import Replay, ReplaySettings
from dressage.core.rng import Rng
from dressage.core.steps import Steps
from dressage.native.sum_tree import make_priorities
from dressage.runs.checkpoint import latest_checkpoint, load_checkpoint, save_checkpoint

RESULTS = Path(__file__).parent / "results" / "replay" / "results.json"
MILLION = 1_000_000


class Collector:
    """As much of a collector as a memory looks at."""

    n_envs, obs_normalizer, reward_normalizer = 1, None, None

    def keep_raw(self) -> None: ...


def replay(folder: Path, **given: Any) -> tuple[Replay, Any]:
    cfg = ReplaySettings(**{"buffer_size": MILLION, "batch_size": 256, **given}).at(0.5)
    memory = Replay(cfg, make_priorities=make_priorities)
    memory.attach(Collector(), folder)  # type: ignore[arg-type]
    return memory, cfg


def vectors(length: int) -> Steps:
    """As of HalfCheetah: 17 numbers observed, 6 chosen."""
    generator = np.random.default_rng(0)
    obs = generator.random((length, 1, 17), np.float32)
    action = generator.random((length, 1, 6), np.float32)
    ends = np.zeros((length, 1), bool)
    return Steps(obs, action, action[..., 0], ends, ends, obs, {})


def prioritised_against_uniform(folder: Path, repeats: int = 15) -> dict[str, float]:
    """Drawing batches of 256 out of a million and, where prioritised, telling their errors."""
    memories = {name: replay(folder, prioritized=name == "prioritised") for name in NAMES}
    for memory, _ in memories.values():
        for _ in range(100):
            memory.add(vectors(MILLION // 100))
    rng, errors = Rng(0), np.random.default_rng(1).random(256).astype(np.float32)
    seconds: dict[str, list[float]] = {name: [] for name in NAMES}
    for _ in range(repeats):  # interleaved
        for name, (memory, cfg) in memories.items():
            began = time.perf_counter()
            for batch in memory.batches(rng, 200, cfg):
                if memory.priorities is not None:
                    memory.feedback(batch.extras["place"], errors, cfg)
            seconds[name].append((time.perf_counter() - began) / 200)
    ratios = np.array(seconds["prioritised"]) / np.array(seconds["uniform"])
    return {f"{name}_us": float(np.median(s)) * 1e6 for name, s in seconds.items()} | {
        "ratio": float(np.median(ratios)),
        "ratio_low": float(np.quantile(ratios, 0.1)),
        "ratio_high": float(np.quantile(ratios, 0.9)),
    }


NAMES = ("uniform", "prioritised")


def million_frames(folder: Path) -> dict[str, float]:
    """Stacks of four 84 x 84 frames, a new frame each step, episodes of 1,000 steps."""
    memory, cfg = replay(folder, batch_size=32, buffer_on="memory")
    before, began = resident_gb(), time.perf_counter()
    generator = np.random.default_rng(0)
    pictures = generator.integers(0, 256, (1003, 84, 84), np.uint8)
    length = 1000
    for episode in range(MILLION // length):
        pictures[:, 0, :8] = np.frombuffer(np.int64(episode).tobytes(), np.uint8)
        windows = np.lib.stride_tricks.sliding_window_view(pictures, 4, axis=0)
        stacks = np.moveaxis(windows, -1, 1)[:, None]  # [1000, 1, 4, 84, 84]
        obs, following = stacks[: length - 1], stacks[1:length]
        ends = np.zeros((length - 1, 1), bool)
        reward = np.zeros((length - 1, 1), np.float32)
        memory.add(Steps(obs, reward[..., None], reward, ends, ends, following, {}))
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    for _ in memory.batches(Rng(0), 200, cfg):
        pass
    return {
        "transitions": len(memory),
        "gigabytes": resident_gb() - before,
        "add_us": seconds / (MILLION - MILLION // length) * 1e6,
        "draw_32_us": (time.perf_counter() - began) / 200 * 1e6,
    }


def million_transitions_saved(folder: Path) -> dict[str, float]:
    """Seconds and bytes of the first checkpoint, of one 10,000 steps later, and of loading it."""
    memory, _ = replay(folder)
    memory.add(vectors(MILLION))
    found: dict[str, float] = {
        "memory_mb": sum(c.nbytes for c in memory.ring.columns.values()) / 1e6
    }
    for number, name in enumerate(("first", "second")):
        before, began = disk_mb(folder), time.perf_counter()
        segments = memory.seal()
        save_checkpoint(folder, number, {"memory": memory.state()}, {}, {}, True, segments)
        found |= {
            f"{name}_seconds": time.perf_counter() - began,
            f"{name}_mb": disk_mb(folder) - before,
        }
        memory.add(vectors(10_000))
    began = time.perf_counter()
    path = latest_checkpoint(folder).path
    assert path is not None
    saved = load_checkpoint(path)
    again, _ = replay(folder)
    again.load(saved.parts["memory"], saved.segments)
    return found | {"load_seconds": time.perf_counter() - began}


def resident_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def disk_mb(folder: Path) -> float:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6


PARTS = {
    "prioritised": prioritised_against_uniform,
    "frames": million_frames,
    "saved": million_transitions_saved,
}


def main() -> None:
    if len(sys.argv) > 1:  # a part, in a process of its own: memory is measured
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(PARTS[sys.argv[1]](Path(folder))))
        return
    results: dict[str, Any] = {}
    for name in PARTS:
        done = subprocess.run(
            [sys.executable, __file__, name], check=True, capture_output=True, text=True
        )
        results[name] = {k: round(v, 3) for k, v in json.loads(done.stdout).items()}
        print(name, results[name], flush=True)
    results |= {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "command": "python benchmarks/replay.py",
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

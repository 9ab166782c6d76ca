"""The binary log of W&B: as its package writes it, and cut, damaged or foreign."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dressage.runs.readers import read
from dressage.runs.readers.wandb_log import BLOCK, read_log

PACKAGE = """
import sys, wandb
settings = wandb.Settings(silent=True, console="off", mode="offline", x_disable_stats=True)
config = {"algo": "PPO", "env_id": "CartPole-v1", "n_steps": 128}
config["policy_kwargs"] = {"net_arch": [8]}
run = wandb.init(project="p", dir=sys.argv[1], config=config, settings=settings)
for index in range(1, 31):
    row = {"rollout/ep_rew_mean": 1.5 * index, "train/entropy_loss": -0.6}
    row |= {"global_step": 100 * index, "word": "x", "nan": float("nan")}
    row |= {"picture": wandb.Histogram([1, 2])}
    run.log(row | ({"eval/mean_reward": 2 * index} if index % 10 == 0 else {}))
run.finish(exit_code=int(sys.argv[2]))
"""


@pytest.mark.parametrize(("code", "state"), [(0, "finished"), (1, "crashed")])
def test_what_the_package_writes(tmp_path: Path, code: int, state: str) -> None:
    pytest.importorskip("wandb")
    subprocess.run([sys.executable, "-c", PACKAGE, str(tmp_path), str(code)], check=True)
    (view,) = read(tmp_path / "wandb")
    assert (view.library, view.algo, view.env, view.state) == ("wandb", "ppo", "CartPole-v1", state)
    assert view.config["n_steps"] == 128 and view.config["net_arch"] == [8]
    np.testing.assert_allclose(view["train/roll/ep_rew_mean"].values, 1.5 * np.arange(1, 31))
    np.testing.assert_array_equal(view["train/roll/ep_rew_mean"].env_steps, 100 * np.arange(1, 31))
    assert view["train/metrics/entropy"].values[0] == 0.6  # the sign is turned
    assert view["val/roll/ep_rew_mean"].env_steps.tolist() == [1000, 2000, 3000]
    assert len(view["wall_seconds"].values) == 30 and not view.notes


def varint(number: int) -> bytes:
    parts = []
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def framed(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def history(row: dict[str, Any]) -> bytes:
    """A record with its values as JSON text, as older versions write them."""
    items = [
        framed(1, framed(2, name.encode()) + framed(16, json.dumps(value).encode()))
        for name, value in row.items()
    ]
    return framed(2, b"".join(items))


def log_file(path: Path, records: list[bytes]) -> bytes:
    content = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        first = True
        while first or record:
            left = BLOCK - len(content) % BLOCK
            if left < 7:
                content += bytes(left)
                continue
            part, record = record[: left - 7], record[left - 7 :]
            kind = (1 if not record else 2) if first else (4 if not record else 3)
            content += struct.pack("<IHB", 0, len(part), kind) + part
            first = False
    path.write_bytes(content)
    return bytes(content)


def test_records_over_several_blocks(tmp_path: Path) -> None:
    file = tmp_path / "run-x.wandb"
    sizes = [10, 40_000, 3, 70_000, BLOCK - 7, BLOCK, 5]
    log_file(file, [history({"x": index, "pad": "p" * size}) for index, size in enumerate(sizes)])
    log = read_log(file)
    assert log.table.columns["x"].values.tolist() == list(range(len(sizes)))
    assert not log.table.notes


def test_cut_or_changed_anywhere(tmp_path: Path) -> None:
    file = tmp_path / "run-x.wandb"
    content = log_file(file, [history({"x": index, "y": 2.5}) for index in range(6)])
    for length in range(len(content)):
        file.write_bytes(content[:length])
        column = read_log(file).table.columns.get("x")
        assert column is None or column.values.tolist() == list(range(len(column.values)))
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 0xFF
        file.write_bytes(changed)
        read_log(file)
    file.write_bytes(b"something else")
    (view,) = read(file)
    assert any("not a log of W&B" in note for note in view.notes)

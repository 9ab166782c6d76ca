"""Whatever a file holds: views that keep their promises, or a DressageError; nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from event_writer import cleanrl_run, tianshou_run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dressage.errors import DressageError
from dressage.runs.metrics import METRICS
from dressage.runs.readers import read
from dressage.runs.readers.clock import straighten
from dressage.runs.readers.safe import parse_yaml
from dressage.runs.readers.vocabulary import KNOWN
from dressage.runs.view import RunView
from dressage.runs.writer import RunWriter

SAMPLES = Path(__file__).parent / "samples"
# The same examples each time; READER_EXAMPLES=500 looks at others.
EXAMPLES = settings(
    max_examples=int(os.environ.get("READER_EXAMPLES", "20")),
    derandomize="READER_EXAMPLES" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def promises(view: RunView) -> None:
    for name, series in view.series.items():
        assert series.env_steps.dtype == series.values.dtype == np.float64, name
        assert series.env_steps.shape == series.values.shape == (len(series.values),), name
        assert len(series.values), name
        assert np.isfinite(series.env_steps).all() and (np.diff(series.env_steps) >= 0).all(), name
    episodes = view.episodes
    assert len(episodes.env_steps) == len(episodes.returns) == len(episodes.lengths)
    assert set(view.unknown) <= set(view.series)
    assert all(name in METRICS or "/" in name for name in view.visible())
    assert view.budget is None or view.budget > 0
    assert all(isinstance(note, str) and note.isprintable() for note in view.notes)
    missing = view.not_visible()
    assert all(entry.how and entry.meaning for entry in missing)
    json.dumps(view.config)


def attempt(path: Path, **options: Any) -> None:
    try:
        views = read(path, **options)
    except DressageError:
        return
    for view in views:
        promises(view)


@cache
def prepared() -> dict[str, Path]:
    """A folder of each kind; events and runs of ours are made here."""
    folder = Path(tempfile.mkdtemp(prefix="dressage-readers-"))
    found = {path.name: path for path in SAMPLES.iterdir() if path.is_dir()}
    found["cleanrl"] = cleanrl_run(folder / "cleanrl")
    found["tianshou"] = tianshou_run(folder / "tianshou")
    with RunWriter(
        folder / "own",
        config={"env": "CartPole-v1", "algo": "dqn", "env_steps": 300},
        spec={"reward_threshold": 475.0},
        system={},
    ) as writer:
        for index in range(1, 4):
            writer.metrics_row({"env_steps": 100 * index, "train/loss/td": 1 / index})
            writer.episodes_rows([(100 * index, 9.0, 9, "terminated", True, 0)])
        writer.status("finished")
    found["own"] = folder / "own"
    return found


KINDS = [
    "cleanrl", "gymnasium_solver", "mlflow", "own", "rllib", "rllib_old", "sb3_dqn", "sb3_ppo",
    "sb3_sac", "tianshou", "wandb_run", "zoo",
]  # fmt: skip


def test_all_samples_are_covered() -> None:
    assert sorted(prepared()) == KINDS


def cut(content: bytes, draw: Callable[[int], int]) -> bytes:
    return content[: draw(len(content) + 1)]


def flip(content: bytes, draw: Callable[[int], int]) -> bytes:
    changed = bytearray(content)
    for _ in range(min(len(changed), 3)):
        changed[draw(len(changed))] = draw(256)
    return bytes(changed)


def repeat(content: bytes, draw: Callable[[int], int]) -> bytes:
    lines = content.split(b"\n")
    at = draw(len(lines))
    return b"\n".join([*lines[:at], *lines[at:], *lines[at:]])


def swap(content: bytes, draw: Callable[[int], int]) -> bytes:
    words = (b"nan", b"-inf", b"1e999", b"", b"abc", b"-1", b'"', b"{}", b"[]", b"9" * 400, b"\xff")
    lines = content.split(b"\n")
    at = draw(len(lines))
    cells = lines[at].split(b",")
    cells[draw(len(cells))] = words[draw(len(words))]
    lines[at] = b",".join(cells)
    return b"\n".join(lines)


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(data=st.data())
def test_damaged_runs(kind: str, data: st.DataObject) -> None:
    def draw(below: int) -> int:
        return data.draw(st.integers(0, max(below - 1, 0)))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        shutil.copytree(prepared()[kind], folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        for _ in range(data.draw(st.integers(1, 3))):
            file = files[draw(len(files))]
            damage = data.draw(st.sampled_from([cut, flip, repeat, swap]))
            file.write_bytes(damage(file.read_bytes(), draw))
        attempt(folder)
        attempt(files[draw(len(files))])


cells = st.one_of(
    st.floats().map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["", "nan", "inf", "x", '"', '"a,b"', " ", "1_0", "0x1", "True", "٣"]),
    st.text(max_size=5),
)
names = st.one_of(
    st.sampled_from(
        [
            "env_steps", "step", "time/total_timesteps", "train/loss", "train/entropy_loss", "r",
            "charts/episodic_return", "learners/p/entropy", "train/metrics/grad_norm/x", "done",
            "training_iteration", "return", "a - b", "train/hp/*",
        ]
    ),
    st.text(max_size=8),
)  # fmt: skip


@EXAMPLES
@given(
    header=st.lists(names, max_size=6),
    rows=st.lists(st.lists(cells, max_size=7), max_size=12),
    mark=st.sampled_from([",", ";", "\t"]),
    end=st.sampled_from(["", "\n", "\r\n"]),
    name=st.sampled_from(["log.csv", "progress.csv", "0.monitor.csv", "metrics.csv", "x.tsv"]),
)
def test_any_csv(header: list[str], rows: list[list[str]], mark: str, end: str, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        text = "\n".join(mark.join(row) for row in [header, *rows]) + end
        file.write_text(text, encoding="utf-8", errors="replace", newline="")
        attempt(file)
        attempt(Path(folder))
        attempt(file, mapping={"env_steps": header[0]} if header else None)


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


@EXAMPLES
@given(
    rows=st.lists(st.dictionaries(names, values, max_size=5), max_size=6), tail=st.text(max_size=9)
)
def test_any_json_lines(rows: list[dict[str, Any]], tail: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("log.jsonl", "result.json"):
            file = Path(folder) / name
            text = "\n".join(json.dumps(row) for row in rows) + "\n" + tail
            file.write_text(text, encoding="utf-8", errors="replace")
            attempt(file)
        attempt(Path(folder))


settings_of_all = sorted({row.theirs for one in KNOWN for row in one.settings})
loaded = st.one_of(
    values,
    st.sampled_from(
        [
            "lin_0.1", "lin_x", "auto_0.1", "linear(1, 0)", "dict(net_arch=[8, 8])", "1e-3", "True",
            [[0, 1e-3], [1000, 0]], {"start": 1, "end": 0}, {"kind": "linear"}, 10**400, -5, [],
            {"value_schedule": "ConstantSchedule(val=0.2)"}, {"end_fraction": "x", "start": 1},
        ]
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    "kind", ["sb3_ppo", "sb3_sac", "rllib", "gymnasium_solver", "wandb_run", "own"]
)
@EXAMPLES
@given(
    config=st.dictionaries(
        st.sampled_from(
            [
                *settings_of_all,
                "policy_kwargs",
                "normalize",
                "start_e",
                "end_e",
                "anneal_lr",
                "algo",
                "model",
                "num_workers",
                "num_envs_per_worker",
                "train_batch_size",
                "action_noise",
            ]
        ),
        loaded,
        max_size=8,
    )
)
def test_any_config(kind: str, config: dict[str, Any]) -> None:
    attempt(prepared()[kind], config=config)


@EXAMPLES
@given(text=st.text(alphabet="ab:-[]{}&*!? \n\t'\"#,0123456789.e|>%@", max_size=60))
def test_any_yaml(text: str) -> None:
    with contextlib.suppress(DressageError):
        json.dumps(parse_yaml(text, "x"))


@EXAMPLES
@given(
    st.lists(
        st.one_of(st.integers(-5, 60).map(float), st.sampled_from([np.nan, np.inf, -np.inf])),
        max_size=40,
    )
)
def test_any_clock(clock: list[float]) -> None:
    straight = straighten(np.array(clock, np.float64))
    assert len(straight.keep) == len(straight.clock) == len(set(straight.keep.tolist()))
    assert (np.diff(straight.clock) >= 0).all()
    if sorted(clock) == clock and np.isfinite(clock).all():
        assert straight.clock.tolist() == clock and not straight.notes

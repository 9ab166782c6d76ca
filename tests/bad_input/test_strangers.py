"""A run from elsewhere: loading, evaluating, playing and resuming it executes nothing of it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_envs import StopAt

import dressage
from dressage.errors import DressageError
from dressage.runs.run import Run

TINY: dict[str, Any] = {
    "n_envs": 2,
    "n_steps": 16,
    "batch_size": 16,
    "n_epochs": 1,
    "env_steps": 96,
    "net_arch": [8],
    "backend": "inline",
    "checkpoint_every": 32,
    "eval_every": 32,
    "eval_episodes": 1,
    "final_eval_episodes": 1,
}
STRANGER = """
from pathlib import Path
Path(__file__).with_name("executed").touch()
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in mid-way, of an environment that anyone has."""
    root = tmp_path_factory.mktemp("original")
    return dressage.train("CartPole-v1", **TINY, runs=root, hooks=[StopAt(60)]).path


@pytest.fixture
def stranger(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy beside a module `stranger_code` that leaves a trace when it is imported."""
    shutil.copytree(original, tmp_path / "run")
    (tmp_path / "stranger_code.py").write_text(STRANGER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "run"


USES: dict[str, Callable[[Path], Any]] = {
    "load": lambda path: dressage.load(path),
    "evaluate": lambda path: dressage.evaluate(path, episodes=1),
    "play": lambda path: dressage.play(path, video=path.parent / "film.gif"),
    "resume": lambda path: dressage.train(resume=path),
}
READS: dict[str, Callable[[Path], Any]] = {
    "metrics": lambda path: Run(path).metrics(),
    "summary": lambda path: Run(path).summary(),
    "notebook": lambda path: Run(path)._repr_html_(),
    "report": lambda path: dressage.api.report(path, html=path.parent / "report.html"),
}


def change(path: Path, **values: Any) -> None:
    config = json.loads((path / "config.json").read_text())
    config["values"].update(values)
    (path / "config.json").write_text(json.dumps(config))


def assert_nothing_executed(path: Path) -> None:
    assert not (path.parent / "executed").exists(), "code that the run names was executed"
    assert "stranger_code" not in sys.modules


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "named",
    [
        {"env": "stranger_code:Env"},
        {"env": "stranger_code:Env-v0"},
        {"algo": "stranger_code.algo"},
        {"net": "stranger_code:make_net"},
        {"callbacks": ["stranger_code:Callback"]},
        {"wrappers": ["stranger_code:Wrapper"]},
        {"wrappers": [{"name": "stranger_code:Wrapper"}]},
        {"vector": "stranger_code:make", "backend": "vector"},
        {"vector": "stranger_code:make", "backend": "auto"},
        {"env_kwargs": {"entry_point": "stranger_code:Env"}},
    ],
    ids=lambda named: ",".join(f"{k}={v}" for k, v in named.items()),
)
def test_what_a_run_names_is_not_imported(use: str, named: dict[str, Any], stranger: Path) -> None:
    change(stranger, **named)
    before = sorted(p.name for p in stranger.rglob("*"))
    needs_it = use == "resume" or not {"callbacks", "env_kwargs"} & set(named)
    if named.get("backend") == "auto":
        needs_it = False  # a vector form that cannot be had is done without
    if use == "load" and not {"net", "algo"} & set(named):
        needs_it = False  # a policy works without its environment
    if use in ("evaluate", "play") and "vector" in named:
        needs_it = False  # these play environments one by one
    if needs_it:
        with pytest.raises(DressageError):
            USES[use](stranger)
        assert sorted(p.name for p in stranger.rglob("*")) == before
        assert Run(stranger).status == "stopped"
    else:
        try:
            USES[use](stranger)
        except DressageError:
            assert use != "load"
    assert_nothing_executed(stranger)


@pytest.mark.parametrize("read", READS)
def test_reading_imports_nothing(read: str, stranger: Path) -> None:
    code = "stranger_code:X"
    change(stranger, env=code, algo="stranger_code.algo", net=code, callbacks=[code])
    READS[read](stranger)
    assert_nothing_executed(stranger)


def test_trust_lets_it_in(stranger: Path) -> None:
    change(stranger, callbacks=["stranger_code:Callback"])
    with pytest.raises(DressageError, match="no 'Callback'"):
        dressage.train(resume=stranger, trust=True)
    assert (stranger.parent / "executed").exists()
    sys.modules.pop("stranger_code", None)


class Payload:
    """What a pickle would execute."""

    def __reduce__(self) -> Any:
        return os.system, ("touch executed",)


def torch_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Payload()))
    return buffer.getvalue()


def zip_bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("policy.npy", bytes(50_000_000))
    return buffer.getvalue()


def object_array() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Payload()], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def bomb() -> bytes:
    header = b'{"a":{"dtype":"F64","shape":[1099511627776],"data_offsets":[0,8796093022208]}}'
    return len(header).to_bytes(8, "little") + header + bytes(64)


def long_header() -> bytes:
    return (2**62).to_bytes(8, "little") + b"{}"


HOSTILE = {
    "pickle": lambda: pickle.dumps(Payload()),
    "torch": torch_zip,
    "zip-bomb": zip_bomb,
    "object-array": object_array,
    "safetensors-bomb": bomb,
    "long-header": long_header,
    "empty": lambda: b"",
}


def with_manifest(path: Path, edit: Callable[[dict[str, Any], Path], None]) -> None:
    """Edits every checkpoint's manifest, hashes and sizes set right: a careful attacker."""
    for manifest in path.glob("checkpoints/*/manifest.json"):
        content = json.loads(manifest.read_text())
        edit(content, manifest.parent)
        manifest.write_text(json.dumps(content))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_parts_are_refused(kind: str, use: str, stranger: Path) -> None:
    import hashlib

    payload = HOSTILE[kind]()

    def replace(content: dict[str, Any], folder: Path) -> None:
        for name in content["files"]:
            (folder / name).write_bytes(payload)
            digest = hashlib.sha256(payload).hexdigest()
            content["files"][name] = {"sha256": digest, "bytes": len(payload)}

    with_manifest(stranger, replace)
    with pytest.raises(DressageError):
        USES[use](stranger)
    assert not (stranger.parent / "executed").exists()


OUTSIDE = (
    "../../../outside.safetensors",
    "/etc/passwd",
    "..",
    "a/b.safetensors",
    "x\0.safetensors",
)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", OUTSIDE)
def test_names_that_lead_outside_are_refused(name: str, use: str, stranger: Path) -> None:
    def rename(content: dict[str, Any], folder: Path) -> None:
        content["files"][name] = content["files"].pop("policy.safetensors")

    with_manifest(stranger, rename)
    with pytest.raises(DressageError):
        USES[use](stranger)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "garbage",
    [
        {"clock": {}},
        {"clock": {"env_steps": "many"}},
        {"collector": None},
        {"collector": {"vector_steps": -1, "obs_hashes": [], "env_states": []}},
        {"recorder": {"window": [[1, 2]]}},
        {"optimizer": {"updates": None}},
    ],
    ids=str,
)
def test_a_manifest_full_of_nonsense(use: str, garbage: dict[str, Any], stranger: Path) -> None:
    with_manifest(stranger, lambda content, folder: content["meta"].update(garbage))
    if use != "resume":
        USES[use](stranger)  # a policy needs none of this
        return
    with pytest.raises(DressageError):
        USES[use](stranger)
    assert Run(stranger).status == "failed"
    assert Run(stranger).checkpoints(), "the checkpoint is still there for a look at it"


@pytest.mark.parametrize("use", [*USES, *READS])
@pytest.mark.parametrize("file", ["config.json", "spec.json"])
@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"format": 1}',
        '{"format": 1, "values": {}}',
        '{"format": 1, "values": {"env": 7, "algo": [1]}, "task": {}, "resume": []}',
        '{"format": 1, "values": {"env": "CartPole-v1", "algo": "ppo", "seed": {}}, "task": 3}',
        '{"format": 99}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:20],
)
def test_documents_full_of_nonsense(use: str, file: str, content: str, stranger: Path) -> None:
    (stranger / file).write_text(content)
    with contextlib.suppress(DressageError):
        (USES | READS)[use](stranger)


def test_a_best_pointer_that_leads_outside(stranger: Path) -> None:
    for value in ("../../..", -1, 10**30, None, {"a": 1}):
        pointer = {"format": 1, "env_steps": value, "evaluation": {}}
        (stranger / "checkpoints/best.json").write_text(json.dumps(pointer))
        with pytest.raises(DressageError):
            dressage.load(f"{stranger}@best")


def test_links_in_a_run_are_not_followed(stranger: Path, tmp_path: Path) -> None:
    (folder,) = (
        list(stranger.glob("checkpoints/64")) or list(stranger.glob("checkpoints/[0-9]*"))[:1]
    )
    real = folder / "policy.safetensors"
    shutil.move(real, tmp_path / "elsewhere")
    real.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DressageError, match="link"):
        dressage.load(f"{stranger}@{folder.name}")

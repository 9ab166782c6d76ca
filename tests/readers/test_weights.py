"""Weights of others are read without torch and without running anything."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from dressage.errors import RunError
from dressage.runs.torch_file import torch_file
from dressage.runs.weights import read_weights


def saved(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def trained() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.Adam(net.parameters(), betas=(0.8, 0.99))
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.randn(5, 4)).pow(2).sum().backward()
        optimizer.step()
    return net, optimizer


def sb3_zip(path: Path) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """As SB3's save() lays it out."""
    net, optimizer = trained()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps({"n_steps": 5}))
        archive.writestr("policy.pth", saved(net.state_dict()))
        archive.writestr("policy.optimizer.pth", saved(optimizer.state_dict()))
        archive.writestr("pytorch_variables.pth", saved({}))
    return net, optimizer


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(3, 4),
        torch.randn(3, 4).T,
        torch.arange(24).reshape(2, 3, 4)[:, 1:, ::2],
        torch.randn(4).double(),
        torch.tensor([True, False]),
        torch.tensor(3),
        torch.empty(0, 3),
        torch.nn.Parameter(torch.randn(2)),
    ],
)
def test_a_tensor_comes_back_as_torch_saved_it(tensor: torch.Tensor) -> None:
    found = torch_file(saved({"x": tensor, "plain": [1, "a", None, 0.5, (2,)]}), "file")
    np.testing.assert_array_equal(found["x"], tensor.detach().numpy())
    assert found["plain"] == [1, "a", None, 0.5, (2,)]


def test_a_model_of_sb3_gives_weights_and_moments(tmp_path: Path) -> None:
    net, optimizer = sb3_zip(tmp_path / "model.zip")
    found = read_weights(tmp_path / "model.zip")
    for name, value in net.state_dict().items():
        np.testing.assert_allclose(found.tensors[name], value.numpy())
    states = list(optimizer.state.values())
    assert [m.step for m in found.moments] == [3.0] * 4
    assert found.moments[0].betas == (0.8, 0.99)
    first = found.moments[0].first
    assert first is not None
    np.testing.assert_allclose(first, states[0]["exp_avg"].numpy().ravel())


def test_safetensors_and_pth_files_are_read(tmp_path: Path) -> None:
    save_file({"a": np.ones((2, 3), np.float32)}, tmp_path / "a.safetensors")
    assert read_weights(tmp_path / "a.safetensors").tensors["a"].shape == (2, 3)
    (tmp_path / "a.pth").write_bytes(saved({"model": {"w": torch.ones(2)}, "epoch": 3}))
    assert list(read_weights(tmp_path / "a.pth").tensors) == ["model.w"]


class Harmful:
    def __reduce__(self) -> Any:
        return os.mkdir, ("harm",)


@pytest.mark.parametrize("place", ["value", "key of a list", "whole"])
def test_nothing_that_a_pickle_asks_for_is_called(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    value: Any = {"value": {"x": Harmful()}, "key of a list": [Harmful()], "whole": Harmful()}[
        place
    ]
    with pytest.raises(RunError, match=r"mkdir"):
        torch_file(saved(value), "harmful.pth")
    assert not (tmp_path / "harm").exists()


def rewritten(content: bytes, pickled: bytes) -> bytes:
    """The same file with another data.pkl."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            is_pickle = info.filename.endswith("data.pkl")
            new.writestr(info.filename, pickled if is_pickle else old.read(info))
    return out.getvalue()


@pytest.mark.parametrize(
    ("pickled", "why"),
    [
        (b"\x80\x02c__builtin__\neval\n(X\x01\x00\x00\x001tR.", "eval"),
        (b"\x80\x02}", "exhausted"),
        (b"not a pickle", "cannot be read"),
        (b"\x80\x02](lp0\n.", "opcode"),
        (pickle.dumps({1, 2}, 4), "opcode"),
    ],
)
def test_a_pickle_that_does_more_is_refused(pickled: bytes, why: str) -> None:
    with pytest.raises(RunError, match=why):
        torch_file(rewritten(saved({"x": torch.ones(2)}), pickled), "odd.pth")


def test_a_tensor_beyond_its_storage_is_refused() -> None:
    content = saved({"x": torch.ones(2, 3)})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        name = next(n for n in archive.namelist() if n.endswith("data.pkl"))
        pickled = archive.read(name)
    wider = pickled.replace(b"K\x02K\x03\x86", b"K\x02K\x09\x86")
    assert wider != pickled
    with pytest.raises(RunError, match="does not fit"):
        torch_file(rewritten(content, wider), "wide.pth")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", os.urandom(200)])
def test_a_damaged_file_gets_a_sentence(content: bytes, tmp_path: Path) -> None:
    for name in ("m.zip", "m.pth", "m.safetensors", "m.txt"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RunError):
            read_weights(tmp_path / name)


def test_torch_is_not_imported(tmp_path: Path) -> None:
    sb3_zip(tmp_path / "model.zip")
    code = (
        "import sys; from pathlib import Path; from dressage.runs.weights import read_weights\n"
        "read_weights(Path(sys.argv[1])); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "model.zip")], check=True)

"""Batches in parts: the same gradients as the whole, the same bits on any number of threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import dressage
from dressage.nets.encoder import Cnn
from dressage.nets.parts import ROWS, in_parts, use_threads
from dressage.runs.checkpoint import latest_checkpoint, load_checkpoint


@pytest.fixture(autouse=True)
def one_after_the_other() -> Iterator[None]:
    yield
    use_threads(1)


def gradients(net: Cnn, images: Tensor, weights: Tensor) -> list[Tensor]:
    out = net(images)
    return [out, *torch.autograd.grad((out * weights).sum(), list(net.parameters()))]


def test_no_bit_depends_on_the_number_of_threads() -> None:
    torch.manual_seed(0)
    net, images = Cnn((2, 36, 36)), torch.randint(0, 256, (300, 2, 36, 36), dtype=torch.uint8)
    weights = torch.randn(300, 512)
    alone = gradients(net, images, weights)
    for number in (2, 3):
        use_threads(number)
        for ours, theirs in zip(gradients(net, images, weights), alone, strict=True):
            assert torch.equal(ours, theirs)


def test_parts_give_the_gradient_of_the_whole() -> None:
    torch.manual_seed(0)
    net = nn.Linear(3, 2).double()
    rows = torch.randn(2 * ROWS + 7, 3, dtype=torch.float64)
    found = []
    for run in (net, lambda x: in_parts(net, x, net)):
        out = run(rows).tanh()
        loss = (out * torch.arange(len(rows)).unsqueeze(-1)).sum()
        found.append([out, *torch.autograd.grad(loss, list(net.parameters()))])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_where_it_splits() -> None:
    net, seen = nn.Linear(1, 1), []

    def watched(x: Tensor) -> Tensor:
        seen.append((len(x), threading.current_thread().name))
        return net(x)

    def parts(rows: Tensor) -> list[tuple[int, str]]:
        seen.clear()
        in_parts(watched, rows, net)
        return list(seen)

    many = torch.zeros(2 * ROWS, 1)
    main = threading.current_thread().name
    assert parts(many) == [(ROWS, main)] * 2
    assert parts(many[1:]) == [(2 * ROWS - 1, main)]
    with torch.no_grad():
        assert parts(many) == [(2 * ROWS, main)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert parts(many) == [(2 * ROWS, main)]
    assert parts(many.clone().requires_grad_()) == [(2 * ROWS, main)]
    use_threads(2)
    assert all(name.startswith("dressage-part") for _, name in parts(many))


def test_a_failure_on_a_thread_is_raised() -> None:
    def broken(x: Tensor) -> Tensor:
        raise ValueError("not here")

    use_threads(2)
    with pytest.raises(ValueError, match="not here"):
        in_parts(broken, torch.zeros(2 * ROWS, 1), nn.Linear(1, 1))


def test_a_run_has_the_same_weights_whether_its_batches_are_shared_out_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ale_py")
    monkeypatch.setattr("dressage.assemble.available_cores", lambda: 2)
    weights = []
    for threads in (1, "auto"):
        run = dressage.train(
            "ALE/Breakout-v5",
            algo="ppo",
            preset=False,
            runs=tmp_path,
            wrappers=["atari"],
            backend="inline",
            share_features=True,
            net_arch=[],
            n_envs=4,
            n_steps=64,
            batch_size=256,
            n_epochs=2,
            env_steps=256,
            eval_every=0,
            final_eval_episodes=0,
            threads=threads,
        )
        path = latest_checkpoint(run.path).path
        assert path is not None
        weights.append(load_checkpoint(path).parts["policy"])
    for name, array in weights[0].items():
        np.testing.assert_array_equal(array, weights[1][name], err_msg=name)

"""LSTM and GRU over sequences against torch's cells stepped one by one, gradients included."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dressage.nets.recurrent import Recurrent


def stepped(net: Recurrent, x: Tensor, carry: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """What `Recurrent` promises, with torch's own cell."""
    out = []
    for t in range(len(x)):
        carry = torch.where(first[t].unsqueeze(-1), 0.0, carry)
        if net.kind == "lstm":
            carry = torch.cat(net.cell(x[t], carry.chunk(2, dim=-1)), dim=-1)
        else:
            carry = net.cell(x[t], carry)
        out.append(carry[:, : net.hidden])
    return torch.stack(out), carry


@pytest.mark.parametrize("length", [1, 9])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_values_and_gradients_are_those_of_torchs_cells(kind: str, length: int) -> None:
    torch.manual_seed(0)
    net = Recurrent(3, 5, kind).double()
    x = torch.randn(length, 4, 3, dtype=torch.float64, requires_grad=True)
    carry = torch.randn(4, net.carry_size, dtype=torch.float64, requires_grad=True)
    first = torch.rand(length, 4) < 0.3
    first[0, 1], first[-1, 0] = True, True
    sources = [x, carry, *net.parameters()]
    weights = torch.randn(length, 4, 5, dtype=torch.float64), torch.randn_like(carry)
    found = []
    for run in (net, lambda *a: stepped(net, *a)):
        out, last = run(x, carry, first)
        loss = (out * weights[0]).sum() + (last * weights[1]).sum()
        found.append([out, last, *torch.autograd.grad(loss, sources)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_inputs_are_left_as_they_were(kind: str) -> None:
    """Carries lie in the rollout: a step that wrote into them would change later epochs."""
    net = Recurrent(2, 3, kind)
    x, carry = torch.randn(4, 2, 2), torch.randn(2, net.carry_size)
    first = torch.ones(4, 2, dtype=torch.bool)
    before = [t.clone() for t in (x, carry, first)]
    net(x, carry, first)[0].sum().backward()
    for now, then in zip((x, carry, first), before, strict=True):
        assert torch.equal(now, then)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_mixed_precision_keeps_the_carry_in_full(kind: str) -> None:
    net = Recurrent(2, 3, kind)
    x, carry = torch.randn(4, 2, 2).bfloat16(), torch.randn(2, net.carry_size)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, last = net(x, carry, torch.zeros(4, 2, dtype=torch.bool))
        out.sum().backward()
    assert out.dtype == last.dtype == torch.float32
    assert net.cell.weight_hh.grad is not None

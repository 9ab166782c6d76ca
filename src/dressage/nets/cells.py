"""What an LSTM and a GRU do from step to step, with gradients written by hand.

Autograd through torch's cells makes some forty small tensors a step, and adds a gradient of the
size of the weights to the one before at every step. Here a step is one product with the weights
and a few operations on arrays that exist already, forward and backward, and the gradient of the
weights is one product over all steps.

Shapes: L steps, B rows, H units. `keep [L, B, 1]` is 0 where an episode begins, else 1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def lstm(
    driven: Tensor, hidden: Tensor, cell: Tensor, keep: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """`driven [L, B, 4 H]` (gates i, f, g, o as far as inputs and biases drive them), `hidden` and
    `cell [B, H]`, `weight [4 H, H]` -> hidden states `[L, B, H]` and the last cell state `[B, H]`.
    """
    return _Lstm.apply(driven, hidden, cell, keep, weight)  # type: ignore[no-any-return, no-untyped-call]


def gru(driven: Tensor, hidden: Tensor, keep: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """`driven [L, B, 3 H]` (r, z, n), `hidden [B, H]`, `weight [3 H, H]` -> states `[L, B, H]`."""
    return _Gru.apply(driven, hidden, keep, weight, bias)  # type: ignore[no-any-return, no-untyped-call]


class _Lstm(torch.autograd.Function):
    """i, f, o = sigmoid, g = tanh of driven + weight h;  c' = f c + i g;  h' = o tanh(c')."""

    @staticmethod
    def forward(
        ctx: Any, driven: Tensor, hidden: Tensor, cell: Tensor, keep: Tensor, weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        size, transposed = weight.shape[1], weight.t()
        gates = torch.empty_like(driven)
        squashed = torch.empty_like(gates[..., :size])  # tanh of the cell state
        out = torch.empty_like(squashed)
        i, f, g, o = (part.unbind() for part in torch.split(gates, size, dim=-1))
        i_and_f = gates[..., : 2 * size].unbind()
        gate, x, tanh_c, h_out = gates.unbind(), driven.unbind(), squashed.unbind(), out.unbind()
        h, c, from_h, from_c = hidden, cell, [], []
        for t, begins in enumerate(_begins(keep)):
            if begins:
                h, c = h * keep[t], c * keep[t]
            from_h.append(h)
            from_c.append(c)
            torch.addmm(x[t], h, transposed, out=gate[t])
            i_and_f[t].sigmoid_()
            g[t].tanh_()
            o[t].sigmoid_()
            c = torch.mul(i[t], g[t]).addcmul_(f[t], c)
            torch.tanh(c, out=tanh_c[t])
            h = torch.mul(o[t], tanh_c[t], out=h_out[t])
        ctx.save_for_backward(
            gates, torch.stack(from_h), torch.stack(from_c), squashed, keep, weight
        )
        return out, c

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor, d_last: Tensor) -> Any:
        gates, from_h, from_c, squashed, keep, weight = ctx.saved_tensors
        size = weight.shape[1]
        i, f, g, o = torch.split(gates, size, dim=-1)
        # d c' = d c'' + h_slope dh;  d(i, f, g) = c_slopes dc';  do = o_slope dh  [L, B, …]
        h_slope = o * (1.0 - squashed.square())
        o_slope = squashed * o * (1.0 - o)
        c_slopes = torch.stack(
            (g * i * (1.0 - i), from_c * f * (1.0 - f), i * (1.0 - g.square())), dim=2
        )
        d_gates = torch.empty_like(gates)
        d_o, d_gate = d_gates[..., 3 * size :].unbind(), d_gates.unbind()
        d_ifg = d_gates[..., : 3 * size].view(*gates.shape[:2], 3, size).unbind()
        forget, of_h, of_o, of_c = (x.unbind() for x in (f, h_slope, o_slope, c_slopes))
        dh, dc, d_outs = torch.zeros_like(d_last), d_last, d_out.unbind()
        begins = _begins(keep)
        for t in reversed(range(len(d_outs))):
            dh = dh + d_outs[t]
            dc = torch.addcmul(dc, dh, of_h[t])
            torch.mul(of_c[t], dc.unsqueeze(1), out=d_ifg[t])
            torch.mul(of_o[t], dh, out=d_o[t])
            dh, dc = torch.mm(d_gate[t], weight), dc * forget[t]
            if begins[t]:
                dh, dc = dh * keep[t], dc * keep[t]
        d_weight = d_gates.flatten(0, 1).t() @ from_h.flatten(0, 1)
        return d_gates, dh, dc, None, d_weight


class _Gru(torch.autograd.Function):
    """r, z = sigmoid of driven + weight h + bias;  n = tanh(driven + r (weight h + bias));
    h' = (1 - z) n + z h."""

    @staticmethod
    def forward(
        ctx: Any, driven: Tensor, hidden: Tensor, keep: Tensor, weight: Tensor, bias: Tensor
    ) -> Tensor:
        size, transposed = weight.shape[1], weight.t()
        recalled = torch.empty_like(driven)  # weight h + bias; its r and z become the gates
        r, z, recalled_n = (part.unbind() for part in torch.split(recalled, size, dim=-1))
        r_and_z = recalled[..., : 2 * size].unbind()
        driven_rz, driven_n = torch.split(driven, [2 * size, size], dim=-1)
        x, x_n, rows = driven_rz.unbind(), driven_n.unbind(), recalled.unbind()
        new = torch.empty_like(driven_n)
        out = torch.empty_like(new)
        n, h_out = new.unbind(), out.unbind()
        h, from_h = hidden, []
        for t, begins in enumerate(_begins(keep)):
            if begins:
                h = h * keep[t]
            from_h.append(h)
            torch.addmm(bias, h, transposed, out=rows[t])
            r_and_z[t].add_(x[t]).sigmoid_()
            torch.addcmul(x_n[t], r[t], recalled_n[t], out=n[t]).tanh_()
            h = torch.lerp(n[t], h, z[t], out=h_out[t])
        ctx.save_for_backward(recalled, new, torch.stack(from_h), keep, weight)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> Any:
        recalled, new, from_h, keep, weight = ctx.saved_tensors
        size = weight.shape[1]
        r, z, recalled_n = torch.split(recalled, size, dim=-1)
        # of what is squashed, a unit of dh: (r, z, n) [L, B, 3, H]; weight h + bias sees n times r
        n_slope = (1.0 - z) * (1.0 - new.square())
        r_slope = n_slope * recalled_n * r * (1.0 - r)
        z_slope = (from_h - new) * z * (1.0 - z)
        slopes = torch.stack((r_slope, z_slope, n_slope * r), dim=2).unbind()
        d_recalled = torch.empty_like(recalled)
        rows, parts = d_recalled.unbind(), d_recalled.view(*new.shape[:2], 3, size).unbind()
        dhs = torch.empty_like(d_out)
        z_rows, d_outs, dh_rows = z.unbind(), d_out.unbind(), dhs.unbind()
        dh, begins = torch.zeros_like(d_outs[0]), _begins(keep)
        for t in reversed(range(len(d_outs))):
            torch.add(dh, d_outs[t], out=dh_rows[t])
            torch.mul(slopes[t], dh_rows[t].unsqueeze(1), out=parts[t])
            dh = torch.mm(rows[t], weight).addcmul_(z_rows[t], dh_rows[t])
            if begins[t]:
                dh = dh * keep[t]
        d_driven = torch.cat((d_recalled[..., : 2 * size], n_slope * dhs), dim=-1)
        flat = d_recalled.flatten(0, 1)
        return d_driven, dh, None, flat.t() @ from_h.flatten(0, 1), flat.sum(0)


def _begins(keep: Tensor) -> list[bool]:
    """For each step, whether an episode begins in any row."""
    return (keep == 0).flatten(1).any(1).tolist()

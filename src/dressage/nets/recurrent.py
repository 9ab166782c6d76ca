"""Recurrent cells over sequences in which episodes begin and end."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dressage.nets.cells import gru, lstm


class Recurrent(nn.Module):
    """A GRU or LSTM. `x [L, B, F]`, `carry [B, C]`, `first [L, B]` -> `([L, B, H], carry)`.

    The carry is one flat vector a row (for an LSTM hidden and cell state side by side), zeroed
    wherever `first` says that an episode begins. The inputs of all steps are multiplied with their
    weights at once; what depends on the step before is in cells.py.
    """

    def __init__(self, inputs: int, hidden: int, kind: str) -> None:
        super().__init__()
        self.hidden, self.kind = hidden, kind
        self.carry_size = hidden * (2 if kind == "lstm" else 1)
        self.outputs = hidden
        # torch's cell holds the weights, under the names that checkpoints have
        self.cell = (nn.LSTMCell if kind == "lstm" else nn.GRUCell)(inputs, hidden)

    def forward(self, x: Tensor, carry: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        cell = self.cell
        keep = (~first).to(carry.dtype).unsqueeze(-1)  # [L, B, 1]
        with torch.autocast(x.device.type, enabled=False):  # sums over many steps: full precision
            x = x.to(cell.weight_ih.dtype)
            if self.kind == "gru":
                driven = F.linear(x, cell.weight_ih, cell.bias_ih)
                out = gru(driven, carry, keep, cell.weight_hh, cell.bias_hh)
                return out, out[-1]
            driven = F.linear(x, cell.weight_ih, cell.bias_ih + cell.bias_hh)
            h, c = carry[:, : self.hidden], carry[:, self.hidden :]
            out, last_c = lstm(driven, h, c, keep, cell.weight_hh)
            return out, torch.cat((out[-1], last_c), dim=-1)

"""Recurrent cells over sequences in which episodes begin and end."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Recurrent(nn.Module):
    """A GRU or LSTM. `x [L, B, F]`, `carry [B, C]`, `first [L, B]` -> `([L, B, H], carry)`.

    The carry is one flat vector a row (for an LSTM hidden and cell state side by side), zeroed
    wherever `first` says that an episode begins.
    """

    def __init__(self, inputs: int, hidden: int, kind: str) -> None:
        super().__init__()
        self.hidden, self.kind = hidden, kind
        self.carry_size = hidden * (2 if kind == "lstm" else 1)
        self.outputs = hidden
        self.cell = (nn.LSTMCell if kind == "lstm" else nn.GRUCell)(inputs, hidden)

    def forward(self, x: Tensor, carry: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        keep = (~first).to(x.dtype).unsqueeze(-1)  # [L, B, 1]
        outputs = []
        for t in range(x.shape[0]):
            carry = carry * keep[t]
            if self.kind == "lstm":
                h, c = self.cell(x[t], (carry[:, : self.hidden], carry[:, self.hidden :]))
                carry = torch.cat((h, c), dim=-1)
            else:
                h = carry = self.cell(x[t], carry)
            outputs.append(h)
        return torch.stack(outputs), carry

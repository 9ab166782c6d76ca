"""Distributions over actions: any number of categorical choices beside continuous dimensions.

All randomness comes in as tensors: uniforms for the choices, normals for the dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
FORBIDDEN = -1e8  # a masked logit: probability zero in float32, and no NaN in p log p


class Actions(NamedTuple):
    """A product of independent distributions; the flat action is `[choices…, dimensions…]`.

    `log_probs`: log-probabilities of each choice's categories, `[..., n]` each.
    `mean`, `std`: `[..., continuous]`, or None. `squash`: the action is tanh of the Gaussian.
    """

    log_probs: tuple[Tensor, ...]
    mean: Tensor | None
    std: Tensor | None
    squash: bool

    def sample(self, uniform: Tensor, normal: Tensor) -> Tensor:
        """`[..., A]` from `uniform [..., choices]` (inverse of the cumulative distribution) and
        `normal [..., dimensions]` (mean + std * normal)."""
        parts = []
        for i, log_p in enumerate(self.log_probs):
            cumulative = log_p.exp().cumsum(-1)
            # scaled by the total, so that rounding never picks a category beyond the last possible
            u = uniform[..., i : i + 1] * cumulative[..., -1:]
            parts.append((cumulative <= u).sum(-1, keepdim=True).to(log_p.dtype))
        if self.mean is not None and self.std is not None:
            x = self.mean + self.std * normal
            parts.append(torch.tanh(x) if self.squash else x)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)

    def mode(self) -> Tensor:
        """`[..., A]`: the most probable choice, the mean."""
        parts = [p.argmax(-1, keepdim=True).to(p.dtype) for p in self.log_probs]
        if self.mean is not None:
            parts.append(torch.tanh(self.mean) if self.squash else self.mean)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)

    def log_prob(self, action: Tensor) -> Tensor:
        """`[...]`: summed over choices and dimensions."""
        terms = []
        for i, log_p in enumerate(self.log_probs):
            terms.append(log_p.gather(-1, action[..., i : i + 1].long()).squeeze(-1))
        if self.mean is not None and self.std is not None:
            x = action[..., len(self.log_probs) :]
            correction: Tensor | float = 0.0
            if self.squash:
                x = unsquash(x)
                correction = log_slope(x).sum(-1)
            z = (x - self.mean) / self.std
            terms.append((-0.5 * z * z - self.std.log() - HALF_LOG_TWO_PI).sum(-1) - correction)
        return terms[0] if len(terms) == 1 else torch.stack(terms).sum(0)

    def entropy(self, action: Tensor) -> Tensor:
        """`[...]` in nats, summed. Closed form, but for squashed dimensions: E[log |d tanh / dx|]
        is estimated at `action`, which was drawn from (nearly) this distribution.

        The draw is written as mean + std * z with z held fixed, so that the gradient is that of the
        entropy. Minus the log-probability would have the right mean and a gradient of mean zero.
        """
        terms = [-(p.exp() * p).sum(-1) for p in self.log_probs]
        if self.mean is not None and self.std is not None:
            each = (0.5 + HALF_LOG_TWO_PI + self.std.log()).expand_as(self.mean)
            if self.squash:
                x = unsquash(action[..., len(self.log_probs) :])
                z = ((x - self.mean) / self.std).detach()
                each = each + log_slope(self.mean + self.std * z)
            terms.append(each.sum(-1))
        return terms[0] if len(terms) == 1 else torch.stack(terms).sum(0)


def unsquash(action: Tensor) -> Tensor:
    """The Gaussian number behind a squashed one; the bounds themselves have none."""
    return torch.atanh(action.clamp(-1.0 + 1e-6, 1.0 - 1e-6))


def log_slope(x: Tensor) -> Tensor:
    """log |d tanh(x) / dx| = log(1 - tanh(x)^2), Haarnoja et al. 2018, appendix C, equation 21."""
    return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


def categorical_log_probs(
    logits: Tensor, categories: Sequence[int], mask: Tensor | None
) -> tuple[Tensor, ...]:
    """Log-probabilities of each choice; `mask [..., sum(categories)]` is True where allowed."""
    # half precision holds neither FORBIDDEN nor a sum of many small probabilities
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if mask is not None:
        logits = logits.masked_fill(~mask, FORBIDDEN)
    if len(categories) == 1:
        return (F.log_softmax(logits, dim=-1),)
    return tuple(
        F.log_softmax(part, dim=-1) for part in torch.split(logits, list(categories), dim=-1)
    )

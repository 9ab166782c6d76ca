"""What exploration bonuses are computed from: networks, tables and running statistics.

Statistics and tables are buffers, so that they are saved with the weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Tree
from dressage.nets.encoder import make_encoder
from dressage.nets.mlp import Mlp

FEATURES = 64  # that a network makes of an observation
FARTHEST = 5.0  # deviations from the mean at which observations are clipped
TABLE = 2**16  # counters


class Moments(nn.Module):
    """Mean and variance of everything merged so far, for each element of `shape`."""

    count: Tensor
    mean: Tensor
    var: Tensor

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(tuple(shape)))
        self.register_buffer("var", torch.ones(tuple(shape)))

    def merge(self, x: Tensor) -> None:
        """`[B, *shape]`, by the pairwise formula (Chan, Golub and LeVeque 1979, eq. 2.1)."""
        self.count += len(x)
        share = len(x) / self.count
        mean, var = x.mean(0), x.var(0, correction=0)
        change = mean - self.mean
        self.var += share * (var - self.var + (1.0 - share) * change.square())
        self.mean += share * change


class Seen(nn.Module):
    """Observations by the mean and deviation of those seen, within 5 deviations (Burda et al. 2018,
    section 2.4); images times 255, by which encoders divide."""

    def __init__(self, shapes: Any) -> None:
        super().__init__()
        parts = shapes if isinstance(shapes, Mapping) else {"obs": shapes}
        self.moments = nn.ModuleDict({name: Moments(shape) for name, shape in parts.items()})
        self.images = {name for name, shape in parts.items() if len(shape) == 3}
        self.is_dict = isinstance(shapes, Mapping)
        self.size = sum(math.prod(shape) for shape in parts.values())

    def _parts(self, obs: Tree) -> Mapping[str, Tensor]:
        return obs if self.is_dict else {"obs": obs}

    def merge(self, obs: Tree) -> None:
        """`[B, …]`"""
        for name, x in self._parts(obs).items():
            self.moments[name].merge(x.float())  # type: ignore[operator]

    def forward(self, obs: Tree) -> Tree:
        found = {name: self._scaled(name, x.float()) for name, x in self._parts(obs).items()}
        return found if self.is_dict else found["obs"]

    def _scaled(self, name: str, x: Tensor) -> Tensor:
        moments: Any = self.moments[name]
        x = (x - moments.mean) / (moments.var + 1e-8).sqrt()
        return x.clamp(-FARTHEST, FARTHEST) * (255.0 if name in self.images else 1.0)

    def flat(self, obs: Tree) -> Tensor:
        """`[B, size]`: all of it side by side, whatever the order of the dict given."""
        parts = self._parts(self(obs))
        return torch.cat([parts[name].flatten(1) for name in self.moments], dim=-1)


class Features(nn.Module):
    """An observation as 64 numbers."""

    def __init__(self, spec: TaskSpec, widths: Sequence[int]) -> None:
        super().__init__()
        self.encoder = make_encoder(spec.obs_shapes)
        self.mlp = Mlp(self.encoder.outputs, widths, "relu")  # type: ignore[arg-type]
        self.head = nn.Linear(self.mlp.outputs, FEATURES)

    def forward(self, obs: Tree) -> Tensor:
        return self.head(self.mlp(self.encoder(obs)))  # type: ignore[no-any-return]


def _layers(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(Mlp(inputs, [FEATURES], "relu"), nn.Linear(FEATURES, outputs))


class Bonus(nn.Module):
    """What the three kinds share."""

    def __init__(self, spec: TaskSpec) -> None:
        super().__init__()
        self.seen = Seen(spec.obs_shapes)
        self.learned: nn.Module | None = None  # the part that has gradients, if any

    def observe(self, next_obs: Tree) -> None:
        """Takes note of states `[B, …]` that were reached."""
        self.seen.merge(next_obs)

    def scaled(self, surprise: Tensor) -> Tensor:
        """The bonus of steps `[B]`, of typical size 1."""
        return surprise


class LearnedBonus(Bonus):
    """The surprise is a network's error, whose size says nothing by itself."""

    def __init__(self, spec: TaskSpec) -> None:
        super().__init__(spec)
        self.squares = Moments(())

    def scaled(self, surprise: Tensor) -> Tensor:
        """Over the root mean square of all so far, these included."""
        self.squares.merge(surprise.float().square())
        return surprise / (self.squares.mean.sqrt() + 1e-8)


class Distillation(LearnedBonus):
    """A network that learns what another, which stays random, says of observations."""

    def __init__(self, spec: TaskSpec, widths: Sequence[int]) -> None:
        super().__init__(spec)
        self.target = Features(spec, widths).requires_grad_(False)
        self.learned = Features(spec, widths)

    def errors(self, next_obs: Tree) -> Tensor:
        """`[B]`: mean squared differences."""
        seen = self.seen(next_obs)
        difference: Tensor = self.learned(seen) - self.target(seen)  # type: ignore[misc]
        return difference.square().mean(-1)


class Curiosity(LearnedBonus):
    """Features that tell which action led from one observation to the next, and a network that
    foretells the features of the next."""

    def __init__(self, spec: TaskSpec, widths: Sequence[int]) -> None:
        super().__init__(spec)
        self.categories, self.continuous = spec.action.categories, spec.action.continuous
        actions = sum(self.categories) + self.continuous
        self.learned = nn.ModuleDict(
            {
                "features": Features(spec, widths),
                "ahead": _layers(FEATURES + actions, FEATURES),
                "guess": _layers(2 * FEATURES, actions),
            }
        )

    def forward(self, obs: Tree, action: Tensor, next_obs: Tree) -> tuple[Tensor, Tensor]:
        """`[B]` each: the errors of the foretold features, and of the guessed actions."""
        part: Any = self.learned
        before = part["features"](self.seen(obs))
        after = part["features"](self.seen(next_obs))
        known = torch.cat((before.detach(), self._flat(action)), dim=-1)
        ahead = (part["ahead"](known) - after.detach()).square().mean(-1)
        guess = part["guess"](torch.cat((before, after), dim=-1))
        return ahead, self._action_error(guess, action)

    def _flat(self, action: Tensor) -> Tensor:
        """`[B, A]` with each choice as one of n."""
        choices = [F.one_hot(action[:, i].long(), n) for i, n in enumerate(self.categories)]
        return torch.cat((*choices, action[:, len(self.categories) :]), dim=-1)

    def _action_error(self, guess: Tensor, action: Tensor) -> Tensor:
        *choices, dimensions = torch.split(guess, [*self.categories, self.continuous], dim=-1)
        error = (dimensions - action[:, len(self.categories) :]).square().sum(-1)
        for i, logits in enumerate(choices):
            error = error + F.cross_entropy(logits, action[:, i].long(), reduction="none")
        return error


class Counts(Bonus):
    """How often states of one hash were reached."""

    projection: Tensor
    offset: Tensor
    numbers: Tensor
    table: Tensor

    def __init__(self, spec: TaskSpec, bits: int, rng: Rng) -> None:
        super().__init__(spec)
        size = self.seen.size
        drawn = {
            "projection": rng.normal("bonus/projection", (size, bits)),
            "offset": rng.normal("bonus/offset", bits) * math.sqrt(size),
            "numbers": rng.integers("bonus/numbers", bits, TABLE),
        }
        for name, array in drawn.items():  # of the seed alone: nothing to save
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        self.register_buffer("table", torch.zeros(TABLE, dtype=torch.int32))

    def places(self, obs: Tree) -> Tensor:
        """`[B]`: where the counter of each observation lies."""
        signs = self.seen.flat(obs) @ self.projection + self.offset > 0
        return (signs * self.numbers).sum(-1) % TABLE

    def observe(self, next_obs: Tree) -> None:
        super().observe(next_obs)
        places = self.places(next_obs)
        self.table.index_add_(0, places, torch.ones_like(places, dtype=torch.int32))

    def visits(self, obs: Tree) -> Tensor:
        """`[B]`, 1 for a state never reached."""
        return self.table[self.places(obs)].clamp(min=1)

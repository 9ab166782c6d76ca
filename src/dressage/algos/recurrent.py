"""What recurrent SAC and recurrent TD3 share: sequences, cells, and losses on what they remember.

Actor and critics have a cell each over the observations; the slow copies have their own weights of
it. Sequences begin with the states that the cells had when the steps were made, the first `burn_in`
steps only bring these up to date, and a step that the clock ended bootstraps from its true
successor, with the state after that step (sequences.py). The losses are then those of SAC and TD3,
given what the cells remember in place of observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from dressage.algos.continuous import ContinuousSettings, target_drift
from dressage.algos.off_policy import tensor
from dressage.algos.sequences import along, learned_from
from dressage.core.config import Count
from dressage.core.steps import tree_map
from dressage.lazy import torch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    from dressage.core.learner import Learner
    from dressage.core.replay import Replay
    from dressage.core.steps import Steps, Tree


class SequenceSettings(ContinuousSettings):
    """How recurrent networks learn from sequences."""

    GROUP: ClassVar[str] = "sequences"

    recurrent: Literal["gru", "lstm"] = Field("lstm", description="the recurrent cell")
    sequence_length: Count = Field(16, description="steps of a sequence that are learned from")
    burn_in: int = Field(8, ge=0, description="steps before them, for the state alone")
    batch_size: int = Field(32, ge=1, description="sequences of an update")
    buffer_size: int = Field(100_000, ge=1, description="newest transitions that are kept")


class Parts(NamedTuple):
    """Which numbers of an environment's carry are whose; action noise has the rest."""

    actor: slice
    critic: slice


def parts(nets: dict[str, Any]) -> Parts:
    size, both = nets["actor"].carry_size, nets["actor"].carry_size + nets["critic"].carry_size
    return Parts(slice(0, size), slice(size, both))


def carry_size(learner: Learner) -> int:
    nets = learner.nets
    noise: int = getattr(nets["actor"].net, "noise_size", 0)
    return int(nets["actor"].carry_size + nets["critic"].carry_size + noise)


def remembered(
    learner: Learner, obs: Tree, carry: npt.NDArray[np.float32], learns: bool
) -> tuple[Tensor, npt.NDArray[np.float32]]:
    """What the actor remembers `[N, H]` with one more observation, and the carry after it. The
    critics' cell goes along where the steps will be learned from."""
    of, after = parts(learner.nets), carry.copy()
    one = tree_map(lambda leaf: leaf.unsqueeze(0), tensor(learner, obs))  # a sequence of one
    first = torch.zeros((1, len(carry)), dtype=torch.bool, device=learner.device)
    cells = {"critic": of.critic, "actor": of.actor} if learns else {"actor": of.actor}
    for name, part in cells.items():
        before = tensor(learner, carry[:, part])
        features, state = learner.nets[name].along(one, before, first)
        after[:, part] = state.cpu().numpy()
    return features[0], after


class OnFeatures:
    """A network that finds what its own cell remembers among what all do."""

    def __init__(self, net: Any, name: str) -> None:
        self.net, self.name, self.parameters = net, name, net.parameters

    def __call__(self, features: dict[str, Tensor], *args: Any, **kwargs: Any) -> Any:
        return self.net(features[self.name], *args, **kwargs)

    def noisy(self, features: dict[str, Tensor], noise: Tensor) -> Any:
        return self.net.noisy(features[self.name], noise)


def on_features(
    nets: dict[str, Any], batch: Steps, burn_in: int, names: Sequence[str]
) -> tuple[dict[str, Any], Steps]:
    """The networks of these names, and a batch `[L * B, …]` in which each finds what it remembers
    of the observations and of their successors. The gradient reaches the cell of the first."""
    steps, sequence = learned_from(batch, burn_in)
    place, of = sequence.place, parts(nets)
    column = torch.arange(place.shape[1], device=place.device).expand_as(place)
    obs, next_obs = {}, {}
    for name in names:
        part = of.actor if name.startswith("actor") else of.critic
        own = batch._replace(extras=batch.extras | {"carry": batch.extras["carry"][:, part]})
        with torch.set_grad_enabled(name == names[0] and torch.is_grad_enabled()):
            features = along(nets[name], own, sequence, burn_in, None)
            obs[name] = features[place, column].flatten(0, 1)
            next_obs[name] = features[place + 1, column].flatten(0, 1)
    views = {name: OnFeatures(nets[name].net, name) for name in names}
    return views, steps._replace(obs=obs, next_obs=next_obs)


def drift(learner: Learner, memory: Replay, batch: Steps, cfg: Any) -> dict[str, float]:
    """How far the slow copy of the critics is from them."""
    with torch.no_grad():
        return target_drift(*on_features(learner.nets, batch, cfg.burn_in, ("critic", "target")))

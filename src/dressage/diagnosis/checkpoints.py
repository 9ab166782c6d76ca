"""What saved weights and optimizer state tell by themselves: pure functions over their arrays.

`inspect` lists layers, dormant units and problems; the rules of `rules/checkpoint/` speak of the
newest checkpoint of a run, and the report shows the layers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from dressage.core.inspection import DORMANT_TAU
from dressage.diagnosis.rule import Rule
from dressage.diagnosis.saved_model import numbers
from dressage.errors import RunError
from dressage.runs.table import Array
from dressage.runs.view import RunView
from dressage.runs.weights import Moments, Weights, read_weights

PROBES = 512  # standard normal observations by which units are judged
SB3 = ".zip"  # of the models that it saves
APART = "ent_coef_optimizer"  # of what SB3 saves elsewhere than among the weights
LARGEST = 256 * 2**20  # bytes of a file that is still read
EXPLODING = 1e3  # root of a second moment: gradients of a thousand and more (guess)
Kind = Literal[
    "not-finite", "impossible-moments", "exploding-moments", "wrong-steps", "misfit-moments"
]
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-np.clip(x, -60.0, 60.0))),
}


@dataclass(frozen=True)
class Layer:
    name: str
    shape: tuple[int, ...]
    norm: float  # of Frobenius
    largest: float  # absolute entry
    not_finite: int  # entries


@dataclass(frozen=True)
class Units:
    """The hidden units behind one weight matrix."""

    layer: str
    count: int
    dormant: int


@dataclass(frozen=True)
class Problem:
    kind: Kind
    says: str  # one sentence, with the numbers


@dataclass(frozen=True)
class Inspection:
    path: Path
    layers: list[Layer]
    units: list[Units]
    problems: list[Problem]
    numbers: dict[str, float]  # of `saved_model.py`, of a model that SB3 saved

    @property
    def dormant_share(self) -> float:
        """Of all hidden units that could be judged; NaN without any."""
        count = sum(u.count for u in self.units)
        return sum(u.dormant for u in self.units) / count if count else math.nan


def inspect(weights: Weights, activation: str = "tanh") -> Inspection:
    layers = [
        Layer(
            name,
            value.shape,
            float(np.linalg.norm(known := value[np.isfinite(value)])),
            float(np.abs(known).max(initial=0.0)),
            int(value.size - known.size),
        )
        for name, value in weights.tensors.items()
    ]
    problems = [*_not_finite(layers, weights.moments), *_steps(weights), *_misfits(weights)]
    for moments in weights.moments:
        problems += _moment_problems(moments)
    return Inspection(
        weights.path,
        layers,
        dormant_units(weights.tensors, activation),
        problems,
        numbers(weights) if weights.path.suffix == SB3 else {},
    )


def first_moment_bound(betas: tuple[float, float]) -> float:
    """The most that |first moment| / sqrt(second moment) of Adam can be, whatever the gradients.

    Both are weighted sums over the same gradients, so that Cauchy and Schwarz's inequality holds:
    m^2 <= v (1 - b1)^2 / ((1 - b2) (1 - b1^2 / b2)). With the usual betas it is 7.27.
    """
    first, second = betas
    if not 0 <= first < 1 or not 0 < second < 1 or first**2 >= second:
        return math.inf
    return (1 - first) / math.sqrt((1 - second) * (1 - first**2 / second))


def dormant_units(tensors: Mapping[str, Array], activation: str) -> list[Units]:
    """Hidden units of MLPs whose mean |activation| is at most tau times their layer's mean.

    Observations are standard normal, as a normalised network sees them: a network that is fed
    other scales may have units asleep that these wake.
    """
    function = ACTIVATIONS.get(activation)
    if function is None:
        return []
    found = []
    for names in _chains(tensors):
        inputs = tensors[names[0]].shape[1]
        hidden: Array = np.random.default_rng(0).standard_normal((PROBES, inputs))
        for name in names:
            bias = tensors.get(name.removesuffix("weight") + "bias")
            with np.errstate(all="ignore"):
                hidden = function(hidden @ tensors[name].T + (0.0 if bias is None else bias))
            size = np.abs(hidden).mean(axis=0)
            asleep = int((size <= DORMANT_TAU * size.mean()).sum())
            found.append(Units(name, len(size), asleep))
    return found


def _chains(tensors: Mapping[str, Array]) -> Iterator[list[str]]:
    """Weight matrices that follow one another, hidden layers only: those of a numbered list, less
    its last where no other matrix takes that one's outputs."""
    lists: dict[str, list[tuple[int, str]]] = {}
    for name, value in tensors.items():
        numbered = re.fullmatch(r"(.*?)(\d+)\.weight", name)
        if numbered and value.ndim == 2 and "target" not in name:
            lists.setdefault(numbered[1], []).append((int(numbered[2]), name))
    for prefix, members in lists.items():
        names = [name for _, name in sorted(members)]
        if any(tensors[b].shape[1] != tensors[a].shape[0] for a, b in pairwise(names)):
            continue
        outputs = tensors[names[-1]].shape[0]
        family = prefix.partition(".")[0]
        headed = any(
            value.ndim == 2 and value.shape[1] == outputs and name not in names
            for name, value in tensors.items()
            if name.endswith("weight")
            and not name.startswith(prefix)
            and (name.partition(".")[0] == family or "_net." in name)
        )
        if hidden := names if headed else names[:-1]:
            yield hidden


def _not_finite(layers: list[Layer], moments: list[Moments]) -> Iterator[Problem]:
    bad = [layer for layer in layers if layer.not_finite]
    if bad:
        count = sum(layer.not_finite for layer in bad)
        yield Problem(
            "not-finite",
            f"{count:,} weights are NaN or infinite, in {len(bad)} of {len(layers)} tensors, "
            f"{bad[0].name} among them.",
        )
    for held in moments:
        for what, values in (("first", held.first), ("second", held.second)):
            if values is not None and not np.isfinite(values).all():
                yield Problem(
                    "not-finite", f"The optimizer's {what} moment of {held.name} is not finite."
                )


def _moment_problems(held: Moments) -> Iterator[Problem]:
    if held.second is None or not np.isfinite(held.second).all():
        return
    if (negative := int((held.second < 0).sum())) > 0:
        yield Problem(
            "impossible-moments",
            f"{negative:,} second moments of {held.name} are negative, which no sum of squares is.",
        )
        return
    largest = math.sqrt(float(held.second.max(initial=0.0)))
    if largest > EXPLODING:
        yield Problem(
            "exploding-moments",
            f"The largest root of a second moment of {held.name} is {largest:.3g}: its gradients "
            "were that large.",
        )
    if held.first is None or not held.is_adam or held.first.shape != held.second.shape:
        return
    bound = first_moment_bound(held.betas)
    # Tiny values lose bits; a tenth over the bound is beyond what rounding explains.
    over = np.abs(held.first) > 1.1 * bound * np.sqrt(held.second) + 1e-12
    if over.any():
        yield Problem(
            "impossible-moments",
            f"{int(over.sum()):,} of {over.size:,} first moments of {held.name} are more than "
            f"{bound:.2f} times the root of their second moments, which no gradients can give.",
        )


def _steps(weights: Weights) -> Iterator[Problem]:
    known = {m.name: m.step for m in weights.moments if m.step is not None}
    if weights.updates is None or not known:
        return
    for name, step in known.items():
        if step > weights.updates or not math.isfinite(step) or step < 0:
            yield Problem(
                "wrong-steps",
                f"The optimizer counts {step:,.0f} steps of {name}, and the run made "
                f"{weights.updates:,.0f} updates.",
            )
        elif step < 0.01 * weights.updates:
            yield Problem(
                "wrong-steps",
                f"The optimizer counts only {step:,.0f} steps of {name} after "
                f"{weights.updates:,.0f} updates: it was begun anew.",
            )


def _misfits(weights: Weights) -> Iterator[Problem]:
    total = sum(value.size for value in weights.tensors.values())
    shapes = {value.shape for value in weights.tensors.values()}
    of_sb3 = weights.path.suffix == SB3  # tensor by tensor, and in a row where it is ours
    in_a_row = weights.moments and not of_sb3
    sums = _sums(value.size for value in weights.tensors.values()) if in_a_row else 0
    for held in weights.moments:
        sizes = {v.size for v in (held.first, held.second) if v is not None}
        size = max(sizes, default=0)
        says = ""
        if len(sizes) > 1:
            says = f"The moments of {held.name} have sizes {sorted(sizes)}."
        elif size > total:
            says = (
                f"The optimizer remembers {size:,} numbers of {held.name}, more than the {total:,} "
                "weights there are."
            )
        elif of_sb3:
            if held.shape not in shapes and sizes and not held.name.startswith(APART):
                says = (
                    f"The moments of {held.name} have the shape {held.shape}, which no tensor of "
                    "the weights has."
                )
        elif not sums >> size & 1:
            says = (
                f"The optimizer remembers {size:,} numbers of {held.name}, and no choice among the "
                f"{len(weights.tensors)} tensors of weights has as many."
            )
        if says:
            yield Problem("misfit-moments", says)


def _sums(sizes: Iterable[int]) -> int:
    """Bit n is set where some of these sum to n."""
    sums = 1
    for size in sizes:
        sums |= sums << size
    return sums


@lru_cache(maxsize=32)
def _inspected(path: Path, changed: int, activation: str) -> Inspection | str:
    """What is found, or why it cannot be read."""
    try:
        return inspect(read_weights(path), activation)
    except RunError as error:  # damaged, or of a kind that is not read
        return str(error)


def _looks(run: RunView, paths: Sequence[Path]) -> Iterator[Inspection | str]:
    """At the newest of some weights, and at the one before it if that cannot be read."""
    for path in reversed(paths[-2:]):
        try:
            files = [*path.iterdir()] if path.is_dir() else [path]
            sizes = {file: file.stat() for file in files if file.name != "memory.safetensors"}
            changed = max(status.st_mtime_ns for status in [path.stat(), *sizes.values()])
        except OSError:  # deleted since
            continue
        if (size := sum(status.st_size for status in sizes.values())) > LARGEST:
            yield f"{path} has {size:,} bytes, more than the {LARGEST:,} that are looked at."
            continue
        default = "tanh" if run.family == "on-policy" else "relu"
        found = _inspected(path, changed, str(run.config.get("activation") or default))
        yield found
        if not isinstance(found, str):
            return


def newest(run: RunView) -> Inspection | None:
    """Of the run's newest weights; None where there are none that can be read."""
    return _first(_looks(run, run.weights))


def _first(looks: Iterable[Inspection | str]) -> Inspection | None:
    return next((found for found in looks if not isinstance(found, str)), None)


def not_looked_at(run: RunView) -> list[str]:
    """Why the newest weights were passed over, a sentence each."""
    return [
        f"Weights that were not looked at: {why}"
        for why in _looks(run, run.weights)
        if isinstance(why, str)
    ]


class CheckpointRule(Rule):
    """A rule about the newest checkpoint: it can be looked for where weights can be read."""

    def can_see(self, run: RunView) -> bool:
        return bool(run.weights) and super().can_see(run) and newest(run) is not None


def saved_numbers(run: RunView) -> dict[str, float]:
    """Of `saved_model.py`: those kept of a model, or of the newest one that SB3 saved."""
    models = [path for path in run.weights if path.suffix == SB3]
    if run.saved or (found := _first(_looks(run, models))) is None:
        return run.saved
    return found.numbers


class Late(NamedTuple):
    """Of the last fifth of the episodes, in the median."""

    returned: float
    length: float


def late_episodes(run: RunView) -> Late:
    """NaN where the log has no episodes with their lengths."""
    count = max(len(run.episodes.returns) // 5, 1)
    returns, lengths = run.episodes.returns[-count:], run.episodes.lengths[-count:]
    known = np.isfinite(returns) & np.isfinite(lengths)
    if not known.any():
        return Late(math.nan, math.nan)
    return Late(float(np.median(returns[known])), float(np.median(lengths[known])))


class SavedModelRule(Rule):
    """A rule about the numbers of a model that SB3 saved, where the log has no better ones."""

    stands_in = True
    reads: ClassVar[tuple[str, ...]]  # names of `saved_model.numbers`

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and all(name in saved_numbers(run) for name in self.reads)

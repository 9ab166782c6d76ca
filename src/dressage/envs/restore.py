"""Exact restoring of environments in mid-episode, by replaying the unfinished episode.

Why replay and not snapshots: deep-copying or pickling Box2D, MuJoCo and ALE environments raises
nothing and gives a *fresh* environment; copying MjData or ALE's state leaves behind what wrappers
hold (time limits, frame stacks, lives, the last action of sticky actions). Replaying the seed and
the actions of the unfinished episode in a new instance brings all layers back at once, needs no
binary blobs and no adapter per family, and costs at most one episode. It is exact where an episode
is a function of its seed and actions; `probe_determinism` says so when a run starts, and after a
restore the observation's hash must match.

State that outlives an episode is the layers' own matter: an environment or wrapper with
`state_dict()` and `load_state_dict()` is asked right before each reset that starts a new episode.
Order of a restore: load those states, reset with the episode's seed, replay its actions.

Resets that continue a game (`episodic_life`) belong to one trace: it holds every (seed, actions)
segment since the last reset that really restarted the environment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dressage.envs.backends import as_recipe, masked_random_actions
from dressage.envs.batch import EnvBatch, Floats, InlineBatch, obs_hashes
from dressage.envs.make import EnvRecipe
from dressage.envs.state import decode_state, encode_state
from dressage.envs.wrappers import layers
from dressage.errors import EnvError


@dataclass(frozen=True)
class EpisodeTrace:
    """The unfinished episode of one environment: (seed, flat actions [t, A]) per reset."""

    segments: tuple[tuple[int, Floats], ...]

    @property
    def env_steps(self) -> int:
        return sum(len(actions) for _, actions in self.segments)


class TraceRecorder:
    """Records what restoring needs, at one array copy per vector step.

    The Collector calls `reset(i, seed, batch.continued[i])` after each reset and `step(actions)`
    after each step. Memory: the actions since the oldest unfinished episode began.
    """

    def __init__(self, n_envs: int, action_size: int) -> None:
        self._actions = np.zeros((1024, n_envs, action_size), np.float32)
        self._length = 0
        self._starts: list[list[tuple[int, int]]] = [[] for _ in range(n_envs)]  # (seed, row)
        # Rows where episodes begun within rollouts start; their seeds are asked for late.
        self._begun: dict[int, int] = {}
        self._seed_of: Callable[[int], int] | None = None

    def reset(self, index: int, seed: int, continued: bool = False) -> None:
        self._settle()
        if not continued:
            self._starts[index] = []
        self._starts[index].append((int(seed), self._length))

    def step(self, flat_actions: Floats) -> None:
        if self._length == len(self._actions):
            self._make_room()
        self._actions[self._length] = flat_actions
        self._length += 1

    def rollout(
        self, actions: Floats, ends: Mapping[int, int], seed_of: Callable[[int], int]
    ) -> None:
        """Many steps at once, `[T, N, A]`, with a reset after each end of an episode.

        `ends[i]`: the steps of environment i up to and with its last end; `seed_of(i)`: of the
        episode that it is in, whenever it is asked.
        """
        length = len(actions)
        if self._length + length > len(self._actions):
            self._make_room(length)
        self._actions[self._length : self._length + length] = actions
        for i, steps in ends.items():
            self._begun[i] = self._length + steps
        self._length += length
        self._seed_of = seed_of

    def _settle(self) -> None:
        """Gives the episodes begun within rollouts their seeds."""
        if self._seed_of is None:
            return
        for i, row in self._begun.items():
            self._starts[i] = [(int(self._seed_of(i)), row)]
        self._begun = {}
        self._seed_of = None

    @property
    def kept_bytes(self) -> int:
        """Of the actions since the oldest unfinished episode began."""
        return (self._length - self._oldest()) * int(self._actions[0].nbytes)

    def _oldest(self) -> int:
        """The row in which the oldest unfinished episode began."""
        rows = [starts[0][1] if starts else self._length for starts in self._starts]
        for i, row in self._begun.items():
            rows[i] = row
        return min(rows, default=0)

    def _make_room(self, rows: int = 1) -> None:
        oldest = self._oldest()
        kept = self._actions[oldest : self._length]
        room = len(self._actions)
        while room < 2 * len(kept) or room < len(kept) + rows:
            room *= 2
        if room > len(self._actions):
            self._actions = np.zeros((room, *self._actions.shape[1:]), np.float32)
        self._actions[: len(kept)] = kept  # numpy minds that both may be the same memory
        self._length = len(kept)
        self._starts = [[(seed, row - oldest) for seed, row in env] for env in self._starts]
        self._begun = {i: row - oldest for i, row in self._begun.items()}

    def traces(self) -> list[EpisodeTrace]:
        self._settle()
        found = []
        for i, starts in enumerate(self._starts):
            ends = [row for _, row in starts[1:]] + [self._length]
            segments = tuple(
                (seed, self._actions[row:end, i].copy())
                for (seed, row), end in zip(starts, ends, strict=True)
            )
            found.append(EpisodeTrace(segments))
        return found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """For a checkpoint: `segment` rows are (env index, length), `seed`, `action` in order."""
        rows = [(i, len(a), s, a) for i, t in enumerate(self.traces()) for s, a in t.segments]
        empty = np.zeros((0, self._actions.shape[2]), np.float32)
        return {
            "segment": np.array([row[:2] for row in rows], np.int64).reshape(-1, 2),
            "seed": np.array([row[2] for row in rows], np.uint64),
            "action": np.concatenate([empty, *(row[3] for row in rows)]),
        }

    @classmethod
    def from_traces(cls, traces: Sequence[EpisodeTrace], action_size: int) -> TraceRecorder:
        """A recorder that goes on where the traces end."""
        recorder = cls(len(traces), action_size)
        longest = max((trace.env_steps for trace in traces), default=0)
        recorder._actions = np.zeros((longest + 1024, len(traces), action_size), np.float32)
        recorder._length = longest
        for i, trace in enumerate(traces):
            row = longest - trace.env_steps  # all traces end now
            for seed, actions in trace.segments:
                recorder._starts[i].append((seed, row))
                recorder._actions[row : row + len(actions), i] = actions
                row += len(actions)
        return recorder


def traces_from_arrays(arrays: Mapping[str, NDArray[Any]], n_envs: int) -> list[EpisodeTrace]:
    """The traces that `TraceRecorder.to_arrays` saved."""
    segments: list[list[tuple[int, Floats]]] = [[] for _ in range(n_envs)]
    row = 0
    for (i, length), seed in zip(arrays["segment"].tolist(), arrays["seed"].tolist(), strict=True):
        if not 0 <= i < n_envs or length < 0 or row + length > len(arrays["action"]):
            raise EnvError("The saved episode traces do not fit together: the file is damaged.")
        segments[i].append((seed, np.asarray(arrays["action"][row : row + length], np.float32)))
        row += length
    return [EpisodeTrace(tuple(env)) for env in segments]


@dataclass(frozen=True)
class Restored:
    """Whether one environment is where it was."""

    exact: bool
    reason: str = ""


def restore(
    batch: EnvBatch, traces: Sequence[EpisodeTrace], expected_hashes: Sequence[str]
) -> list[Restored]:
    """Replay every unfinished episode in a fresh batch and compare observations."""
    if not len(traces) == len(expected_hashes) == batch.n_envs:
        raise EnvError(
            f"The checkpoint has {len(traces)} unfinished episodes, this run has {batch.n_envs} "
            "environments: resume with the same n_envs."
        )
    batch.replay([trace.segments for trace in traces])
    results = []
    for i, (found, expected) in enumerate(zip(obs_hashes(batch), expected_hashes, strict=True)):
        ended = bool(batch.terminated[i] or batch.truncated[i])
        if found == expected and not ended:
            results.append(Restored(True))
            continue
        what = "ended while replayed" if ended else "came to another observation"
        results.append(
            Restored(False, f"environment {i} {what} ({traces[i].env_steps} env steps replayed)")
        )
    return results


def save_state(batch: EnvBatch) -> Any:
    """The layers' states from before the unfinished episodes, as JSON."""
    return encode_state(batch.states())


def load_state(batch: EnvBatch, saved: Any) -> None:
    """Before `restore`: give the layers what `save_state` kept."""
    batch.load_states(decode_state(saved))


@dataclass(frozen=True)
class Verdict:
    """Can this environment be restored exactly? If not, why."""

    exact: bool
    reason: str


def probe_determinism(
    make: EnvRecipe | str | Callable[..., Any], seed: int = 0, seconds: float = 0.2
) -> Verdict:
    """Tries what a resume will do. Run when a run starts; its verdict is declared to the user.

    Fresh instances must agree under the same seed and actions, and an instance that has already
    played must agree with a fresh one. A probe can miss what shows only later in an episode; the
    hash after a restore does not.
    """
    recipe = as_recipe(make)
    used, fresh = InlineBatch([recipe()]), InlineBatch([recipe()])
    try:
        difference = _difference(used, fresh, seed, env_steps=24, seconds=seconds / 3)
        if difference:
            return Verdict(False, f"two instances with the same seed and actions {difference}")
        fresh.close()
        rng = np.random.default_rng(seed)
        deadline = time.perf_counter() + seconds / 3
        episodes = 0
        while episodes < 3 and time.perf_counter() < deadline:
            if used.terminated[0] or used.truncated[0]:
                episodes += 1
                used.reset(0, seed + episodes)
            used.step(masked_random_actions(used, rng))
        for layer in layers(used.envs[0]):
            if hasattr(type(layer), "force_reset"):
                layer.force_reset()
        fresh = InlineBatch([recipe()])
        used.reset(0, seed + 10)
        fresh.load_states(used.states())
        difference = _difference(
            used, fresh, seed + 10, env_steps=64, seconds=seconds / 3, used_is_reset=True
        )
        if difference:
            return Verdict(
                False,
                f"an instance that has played before and a fresh one {difference}: something "
                "outlives an episode; give it state_dict() and load_state_dict()",
            )
    finally:
        used.close()
        fresh.close()
    return Verdict(True, "episodes are functions of their seed and actions, as far as probed")


def _difference(
    a: InlineBatch,
    b: InlineBatch,
    seed: int,
    env_steps: int,
    seconds: float,
    used_is_reset: bool = False,
) -> str:
    """Where two batches of one environment part, or "" if they do not."""
    rng = np.random.default_rng(seed)
    if not used_is_reset:
        a.reset(0, seed)
    b.reset(0, seed)
    deadline = time.perf_counter() + seconds
    for t in range(env_steps):
        if obs_hashes(a) != obs_hashes(b):
            return f"differ in the observation after {t} env steps"
        actions = masked_random_actions(a, rng)
        a.step(actions)
        b.step(actions)
        for name in ("raw_reward", "terminated", "truncated"):
            if getattr(a, name).tobytes() != getattr(b, name).tobytes():
                return f"differ in {name} after {t + 1} env steps"
        if a.terminated[0] or a.truncated[0] or (t > 0 and time.perf_counter() > deadline):
            break
    return (
        "" if obs_hashes(a) == obs_hashes(b) else f"differ in the observation after {t + 1} steps"
    )

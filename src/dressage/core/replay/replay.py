"""`Replay`: the memory of algorithms that learn from a transition more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dressage.core.replay.priorities import EPSILON, Priorities
from dressage.core.replay.relabel import Hindsight
from dressage.core.replay.returns import discounted_ahead, n_step_ahead
from dressage.core.replay.ring import Ring, Rows
from dressage.core.replay.room import refuse_beyond_memory
from dressage.core.rng import Rng
from dressage.core.steps import Steps, Tree
from dressage.errors import ConfigError, RunError
from dressage.runs.segments import (
    FOLDER,
    Entry,
    read_segment,
    segment_begin,
    segment_name,
    write_segment,
)

if TYPE_CHECKING:
    from dressage.core.collector import Collector
    from dressage.core.replay.settings import ReplaySettings

Arrays = dict[str, npt.NDArray[Any]]
Floats = npt.NDArray[np.float32]
SEGMENT_BYTES = 2**23
PRIORITY_BYTES, EPISODE_BYTES = 10, 16  # of a transition: in the tree of sums, for its episode
RECENT_ROWS = 2000  # looked back on for returns that really followed
KNOWN_ENOUGH = 0.05  # weight of what is unknown of such a return, at most


class Replay:
    """The newest `buffer_size` transitions, as they came from the environment.

    Observations and rewards are kept raw and normalised when they are drawn, with the statistics
    of that moment. A batch is `[B, …]`, or `[L, B, …]` where `sequence_length` is given; its
    extras have `discount`, what the successor's value is multiplied with (0 after a terminal
    step), `weight` for the loss, and `place` for `feedback`. With `n_step` above 1 the reward is
    the sum of several, and the successor is the one after them; an end of an episode, by the task
    or by the clock, and the newest row cut that short, with the bootstrap from there.
    """

    def __init__(
        self,
        cfg: ReplaySettings,
        sequence_length: int | None = None,
        make_priorities: Callable[[int], Priorities] = Priorities,
    ) -> None:
        self.cfg, self.sequence_length = cfg, sequence_length
        self.make_priorities = make_priorities
        self.batch_size, self.stream = cfg.batch_size, "replay"
        self.draws = 0  # batches so far: the index of the next draw
        self.ring = Ring(0)
        self.priorities: Priorities | None = None
        self.hindsight: Hindsight | None = None
        self.sealed: dict[str, Entry] = {}  # segments on disk that hold rows still here

    def attach(self, collector: Collector, run_path: Path) -> None:
        """Takes the size and the normalisers of the collector whose steps it will get, and the
        run's folder for what does not fit into memory or into every checkpoint."""
        self.collector, self.run_path = collector, run_path
        collector.keep_raw()
        rows = max(1, self.cfg.buffer_size // collector.n_envs)
        self.ring = Ring(rows, self.cfg.buffer_on, run_path / FOLDER)
        if self.cfg.prioritized:
            refuse_beyond_memory(rows * collector.n_envs, PRIORITY_BYTES, "prioritized=true")
            self.priorities = self.make_priorities(rows * collector.n_envs)
        for setting, none in {"her": "none", "demonstrations": None}.items():
            value = getattr(self.cfg, setting)
            if self.sequence_length is not None and value != none:
                raise ConfigError(f"{setting}={value} does not go with sequences: {setting}=none.")
        if self.cfg.her != "none":
            refuse_beyond_memory(rows * collector.n_envs, EPISODE_BYTES, f"her={self.cfg.her}")
            self.hindsight = Hindsight(self.cfg.her, self.cfg.her_k, collector.batch)

    def __len__(self) -> int:
        return len(self.ring) * self.collector.n_envs

    @property
    def ready(self) -> bool:
        """Whether a batch can be drawn."""
        return len(self.ring) >= (self.sequence_length or 1)

    def add(self, steps: Steps) -> None:
        """`[T, N, …]` new steps."""
        ring, low, high = self.ring, self.ring.low, self.ring.high
        columns = {
            "action": steps.action,
            "reward": steps.reward,
            "terminated": steps.terminated,
            "truncated": steps.truncated,
            **_columns("obs", steps.obs),
            **_columns("next_obs", steps.next_obs),
            **{f"extras/{name}": values for name, values in steps.extras.items()},
        }
        ring.add(columns)
        if self.hindsight is not None:
            self.hindsight.extend(ring, high)
        if self.priorities is not None:
            self._prioritise(low, ring.low, 0.0)
            self._prioritise(max(high, ring.low), ring.high, self.priorities.largest)

    def _prioritise(self, begin: int, end: int, priority: float) -> None:
        """Gives all transitions of some rows one priority."""
        rows, envs = np.arange(begin, end)[:, None], np.arange(self.ring.n_envs)
        if rows.size:
            assert self.priorities is not None
            self.priorities.set(self.ring.place(rows, envs).reshape(-1), priority)

    def batches(self, rng: Rng, count: int, cfg: Any) -> Iterator[Steps]:
        """`count` batches, each drawn when it is asked for; `cfg` has the settings in force."""
        for _ in range(count):
            rows, envs, places, weight = self._draw(rng, cfg)
            self.draws += 1
            if self.sequence_length is None:
                yield self._transitions(rows, envs, places, weight, cfg.gamma, rng)
            else:
                yield self._sequences(rows, envs, places, weight, cfg.gamma)

    def feedback(self, place: Rows, error: Floats, cfg: Any) -> None:
        """New priorities from the absolute TD errors `[B]` of a batch's places."""
        assert self.priorities is not None
        values = (np.abs(error).astype(np.float64) + EPSILON) ** cfg.priority_alpha
        self.priorities.set(place, values)
        self.priorities.largest = max(self.priorities.largest, float(values.max()))

    # -- drawing ---------------------------------------------------------------------------------

    def _draw(self, rng: Rng, cfg: Any) -> tuple[Rows, Rows, Rows, Floats]:
        """Rows, environments, places and weights of a batch; of sequences, where they begin."""
        ring, count = self.ring, self.batch_size
        if self.priorities is not None:
            return self._draw_by_priority(rng, cfg)
        rows = len(ring) - (self.sequence_length or 1) + 1
        index = rng.integers(self.stream, count, rows * ring.n_envs, self.draws)
        row, env = ring.low + index // ring.n_envs, index % ring.n_envs
        return row, env, ring.place(row, env), np.ones(count, np.float32)

    def _draw_by_priority(self, rng: Rng, cfg: Any) -> tuple[Rows, Rows, Rows, Floats]:
        """Schaul et al. 2016: weights `(P * count)^-beta`, the largest of the batch being 1."""
        ring, tree = self.ring, self.priorities
        assert tree is not None
        place = tree.draw(rng.uniform(self.stream, self.batch_size, self.draws))
        share = tree.leaves[place] / tree.total * len(self)
        weight = share**-cfg.priority_beta
        row, env = ring.row_of(place)
        return row, env, place, (weight / weight.max()).astype(np.float32)

    def _transitions(
        self, rows: Rows, envs: Rows, place: Rows, weight: Floats, gamma: float, rng: Rng
    ) -> Any:
        ring = self.ring
        ahead = n_step_ahead(ring, rows, envs, self.cfg.n_step, gamma, self._scaled)
        extras = {
            name.removeprefix("extras/"): ring.take(name, rows, envs)
            for name in ring.names("extras/")
            if name != "extras/next_mask"
        }
        if "extras/next_mask" in ring.columns:
            extras["next_mask"] = ring.take("extras/next_mask", ahead.last, envs)
        obs, next_obs = self.raw("obs", rows, envs), self.raw("next_obs", ahead.last, envs)
        if self.hindsight is not None:
            uniform = rng.uniform(f"{self.stream}/her", (2, len(rows)), self.draws)
            ahead = self.hindsight.relabel(
                uniform, rows, envs, obs, next_obs, ahead, gamma, self._scaled
            )
        extras |= {"discount": ahead.discount, "weight": weight, "place": place}
        return Steps(
            self._seen(obs),
            ring.take("action", rows, envs),
            ahead.reward,
            ahead.terminated,
            ahead.truncated,
            self._seen(next_obs),
            extras,
        )

    def _sequences(
        self, start: Rows, env: Rows, place: Rows, weight: Floats, gamma: float
    ) -> Steps:
        assert self.sequence_length is not None
        rows = start + np.arange(self.sequence_length)[:, None]  # [L, B]
        envs = np.broadcast_to(env, rows.shape)
        ring = self.ring
        terminated = ring.take("terminated", rows, envs)
        extras = {
            name.removeprefix("extras/"): ring.take(name, rows, envs)
            for name in ring.names("extras/")
            if name != "extras/carry"
        }
        extras["carry"] = ring.take("extras/carry", start, env)
        extras["discount"] = np.float32(gamma) * ~terminated
        extras |= {"weight": weight, "place": place}  # of where they begin
        return Steps(
            self._observed("obs", rows, envs),
            ring.take("action", rows, envs),
            self._scaled(ring.take("reward", rows, envs)),
            terminated,
            ring.take("truncated", rows, envs),
            self._observed("next_obs", rows, envs),
            extras,
        )

    def _observed(self, name: str, rows: Rows, envs: Rows) -> Tree:
        """Observations as a network sees them now."""
        return self._seen(self.raw(name, rows, envs))

    def raw(self, name: str, rows: Rows, envs: Rows) -> Tree:
        """Observations as they are stored."""
        parts = self.ring.names(f"{name}/")
        if not parts:
            return self.ring.take(name, rows, envs)
        return {p.removeprefix(f"{name}/"): self.ring.take(p, rows, envs) for p in parts}

    def _seen(self, obs: Tree) -> Tree:
        normalizer = self.collector.obs_normalizer
        return obs if normalizer is None else normalizer(obs)

    def _scaled(self, reward: Floats) -> Floats:
        normalizer = self.collector.reward_normalizer
        return reward if normalizer is None else normalizer.scaled(reward)

    def newest(self, count: int, successors: bool = False) -> Steps:
        """The last `count` rows as `[T, N, …]`, as a network sees them now; `next_obs` if asked."""
        ring = self.ring
        rows = np.arange(max(ring.low, ring.high - count), ring.high)[:, None]
        envs = np.arange(ring.n_envs)[None]
        return Steps(
            self._observed("obs", rows, envs),
            ring.take("action", rows, envs),
            self._scaled(ring.take("reward", rows, envs)),
            ring.take("terminated", rows, envs),
            ring.take("truncated", rows, envs),
            self._observed("next_obs", rows, envs) if successors else None,
            {},
        )

    # -- what is measured ------------------------------------------------------------------------

    def recent_returns(self, gamma: float, most: int) -> tuple[Tree, Floats, Floats] | None:
        """Observations, actions and the discounted returns that really followed, of at most `most`
        of the newest steps for which these are known; None while there are none."""
        ring = self.ring
        rows = np.arange(max(ring.low, ring.high - RECENT_ROWS), ring.high)
        envs = np.arange(ring.n_envs)
        at = np.repeat(rows[:, None], ring.n_envs, 1), np.repeat(envs[None], len(rows), 0)
        returns, unknown = discounted_ahead(
            self._scaled(ring.take("reward", *at)),
            ring.take("terminated", *at),
            ring.take("truncated", *at),
            gamma,
        )
        known = np.flatnonzero(unknown.reshape(-1) <= KNOWN_ENOUGH)
        if not known.size:
            return None
        chosen = known[np.linspace(0, known.size - 1, min(most, known.size)).astype(np.int64)]
        row, env = rows[0] + chosen // ring.n_envs, chosen % ring.n_envs
        return (
            self._observed("obs", row, env),
            ring.take("action", row, env),
            returns.reshape(-1)[chosen],
        )

    def metrics(self, place: Rows) -> dict[str, float]:
        """How full it is, and how old what a batch had from these places."""
        ring = self.ring
        row, _ = ring.row_of(place)
        found = {
            "train/metrics/buffer_fill": len(ring) / ring.capacity,
            "train/metrics/buffer_age": float((ring.high - row).mean()) * ring.n_envs,
        }
        if self.priorities is not None:
            leaves = self.priorities.leaves[: len(self)]
            found["train/metrics/priority_spread"] = float(leaves.max() / leaves.mean())
        return found

    # -- state -----------------------------------------------------------------------------------

    def seal(self) -> dict[str, Entry]:
        """Writes every whole block of rows that is not on disk yet, once; names all in use.

        Blocks lie on a fixed grid: what is on disk depends on the rows held alone, not on when
        checkpoints were made. `state` has what is held before the first and after the last block.
        """
        sealed = {}
        first, last = self._blocks()
        for begin in range(first, last, self._block):
            name = segment_name(begin, begin + self._block)
            entry = self.sealed.get(name)
            if entry is None:
                piece = self.ring.piece(begin, begin + self._block)
                entry = write_segment(self.run_path, name, piece)
            sealed[name] = entry
        self.sealed = sealed
        return sealed

    @property
    def _block(self) -> int:
        """Rows of a segment: about eight megabytes, and at most an eighth of the memory."""
        ring = self.ring
        return max(1, min(SEGMENT_BYTES // max(ring.row_bytes, 1), ring.capacity // 8))

    def _blocks(self) -> tuple[int, int]:
        """Where the first whole block of the rows held begins, and where the last ends."""
        ring, block = self.ring, self._block
        first = -(-ring.low // block) * block
        return first, max(first, ring.high // block * block)

    def state(self) -> Arrays:
        """What is not sealed."""
        ring = self.ring
        first, last = self._blocks()
        arrays = {
            "draws": np.array(self.draws),
            "low": np.array(ring.low),
            "high": np.array(ring.high),
        }
        for place, begin, end in (
            ("before", ring.low, min(first, ring.high)),
            ("after", max(last, ring.low), ring.high),
        ):
            if begin < end:
                arrays |= {f"{place}/{n}": a for n, a in ring.piece(begin, end).items()}
            if first >= ring.high:
                break  # no whole block: all is before it
        if self.priorities is None:
            return arrays
        return arrays | {
            "priorities": self.priorities.leaves[: ring.capacity * self.collector.n_envs],
            "largest": np.array(self.priorities.largest),
        }

    def load(self, arrays: Arrays, segments: Mapping[str, Entry]) -> None:
        ring = self.ring
        self.draws, self.sealed = int(arrays["draws"]), dict(segments)
        low, high = int(arrays["low"]), int(arrays["high"])
        end = low
        for place in ("before", *sorted(segments, key=segment_begin), "after"):
            if place in segments:
                piece = read_segment(self.run_path, place, segments[place])
            else:
                piece = {
                    name.removeprefix(f"{place}/"): array
                    for name, array in arrays.items()
                    if name.startswith(f"{place}/")
                }
            if piece:
                ring.restore(end, piece)
                end += len(piece["reward"])
        if end != high:
            raise RunError(
                f"The checkpoint's replay memory has rows {low} to {end}, expected them to {high}: "
                "it is damaged; use an earlier checkpoint."
            )
        ring.rest(low, high)
        if self.hindsight is not None and len(ring):
            self.hindsight.extend(ring, low)
        if self.priorities is not None:
            self._load_priorities(arrays)

    def _load_priorities(self, arrays: Arrays) -> None:
        """Row by row: `buffer_size` may have changed, or priorities may be new to the run."""
        assert self.priorities is not None
        ring = self.ring
        if "priorities" not in arrays:
            self._prioritise(ring.low, ring.high, self.priorities.largest)
            return
        self.priorities.largest = float(arrays["largest"])
        n_envs = self.collector.n_envs
        leaves = arrays["priorities"].reshape(-1, n_envs)
        rows, envs = np.arange(ring.low, ring.high)[:, None], np.arange(n_envs)
        if rows.size:
            place = ring.place(rows, envs).reshape(-1)
            self.priorities.set(place, leaves[rows[:, 0] % len(leaves)].reshape(-1))


def _columns(name: str, tree: Tree) -> dict[str, Any]:
    if isinstance(tree, dict):
        return {f"{name}/{key}": leaf for key, leaf in tree.items()}
    return {name: tree}

"""Transitions from elsewhere in a replay memory: from a file, or from the memory of another run.

A file (.safetensors or .npz) has M transitions in the environment's own form, steps of one episode
one after the other:

- `obs`, `next_obs`: `[M, …]`; of a Dict or Tuple `obs/NAME`, `next_obs/NAME` for each of its parts;
- `action`: `[M]` for Discrete, else `[M, …]`, in the environment's units;
- `reward`, `terminated`, `truncated`: `[M]`.

A run's folder stands for what its replay memory holds at its last checkpoint.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dressage.core.replay.priorities import Priorities
from dressage.core.replay.replay import Arrays, Replay
from dressage.core.replay.ring import Ring, Rows
from dressage.core.replay.settings import ReplaySettings
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Steps, Tree, map_steps
from dressage.envs.actions import ActionCodec
from dressage.envs.spaces import ObsCodec
from dressage.errors import ConfigError, EnvError, RunError
from dressage.runs.checkpoint import latest_checkpoint, load_checkpoint
from dressage.runs.run import Run, is_run
from dressage.runs.tensors import parse_tensors

if TYPE_CHECKING:
    from dressage.core.collector import Collector

Array = npt.NDArray[Any]


class DemonstratedReplay(Replay):
    """A replay memory with demonstrations: a share of each batch, kept for good beside it
    (`demo_share` above 0), or its first rows, which go when it is full."""

    def __init__(
        self, cfg: ReplaySettings, make_priorities: Callable[[int], Priorities] = Priorities
    ) -> None:
        super().__init__(cfg, make_priorities=make_priorities)
        self.kept: Replay | None = None
        self.digest = ""
        if cfg.demo_share > 0:
            self.demonstrated = min(max(1, round(cfg.demo_share * cfg.batch_size)), cfg.batch_size)
            self.batch_size -= self.demonstrated

    def attach(self, collector: Collector, run_path: Path) -> None:
        super().attach(collector, run_path)
        if self.cfg.demo_share == 0:
            return  # read with the first steps: a run that goes on has them in its memory
        steps = self._read()
        own = {"buffer_size": steps.reward.size, "prioritized": False, "buffer_on": "memory"}
        self.kept = Replay(self.cfg.model_copy(update=own))
        self.kept.stream, self.kept.batch_size = "demonstrations", self.demonstrated
        self.kept.attach(collector, run_path)
        self.kept.add(steps)

    def _read(self) -> Steps:
        assert self.cfg.demonstrations is not None
        path, batch = Path(self.cfg.demonstrations), self.collector.batch
        steps = read_demonstrations(path, batch.obs_codec, batch.action_codec)
        self.digest = digest(steps)
        return in_rows(steps, batch.n_envs, path)

    def add(self, steps: Steps) -> None:
        if self.kept is None and self.ring.high == 0:
            first = self._read()
            lead = first.reward.shape
            super().add(first._replace(extras=_filled(first.extras, steps.extras, lead)))
        super().add(steps)

    def batches(self, rng: Rng, count: int, cfg: Any) -> Iterator[Steps]:
        if self.kept is None:
            yield from super().batches(rng, count, cfg)
            return
        for _ in range(count):
            self.kept.draws = self.draws
            (theirs,) = self.kept.batches(rng, 1, cfg)
            if not self.batch_size:
                self.draws += 1
                yield theirs
                continue
            (own,) = super().batches(rng, 1, cfg)
            extras = theirs.extras | {"place": np.full(self.demonstrated, -1)}
            extras = _filled(extras, own.extras, (self.demonstrated,))
            yield _joined(own, theirs._replace(extras=extras))

    def feedback(self, place: Rows, error: Any, cfg: Any) -> None:
        """Of the memory's own; demonstrations are drawn uniformly."""
        own = place >= 0
        if own.any():
            super().feedback(place[own], error[own], cfg)

    def metrics(self, place: Rows) -> dict[str, float]:
        own = place[place >= 0]
        return super().metrics(own if own.size else np.zeros(1, np.int64))

    def state(self) -> Arrays:
        if self.kept is None:
            return super().state()
        sha = np.frombuffer(bytes.fromhex(self.digest), np.uint8)
        return super().state() | {"demonstrations": sha}

    def load(self, arrays: Arrays, segments: Mapping[str, Any]) -> None:
        super().load(arrays, segments)
        if self.kept is not None and arrays["demonstrations"].tobytes().hex() != self.digest:
            raise RunError(
                f"{self.cfg.demonstrations} holds other transitions than when the run began: put "
                "the old ones back, or start a new run."
            )


def _filled(extras: dict[str, Any], like: Mapping[str, Array], lead: tuple[int, ...]) -> Any:
    """With everything that `like` has: allowed where it is a mask, else zero."""
    missing = {
        name: np.full((*lead, *x.shape[len(lead) :]), name.endswith("mask"), x.dtype)
        for name, x in like.items()
        if name not in extras
    }
    return extras | missing


def _joined(a: Steps, b: Steps) -> Steps:
    """Two batches as one; of b's extras those that a has."""

    def join(x: Any, y: Any) -> Any:
        if isinstance(x, dict):
            return {name: np.concatenate((x[name], y[name])) for name in x}
        return np.concatenate((x, y))

    return Steps(*(join(x, y) for x, y in zip(a, b, strict=True)))


def in_rows(steps: Steps, n_envs: int, path: Path) -> Steps:
    """`[M, …]` transitions as rows `[M // n_envs, n_envs, …]`, a stretch of them an environment."""
    length = len(steps.reward) // n_envs
    if not length:
        raise ConfigError(
            f"demonstrations={path} has {len(steps.reward)} transitions, fewer than the "
            f"n_envs={n_envs} environments."
        )

    def rows(x: Array) -> Array:
        return x[: length * n_envs].reshape(n_envs, length, *x.shape[1:]).swapaxes(0, 1)

    made = map_steps(rows, steps)
    truncated = made.truncated.copy()
    truncated[-1] |= ~made.terminated[-1]  # whatever comes next does not follow it
    first = np.ones_like(truncated)
    first[1:] = (made.terminated | truncated)[:-1]
    return made._replace(truncated=truncated, extras={"first": first})


def digest(steps: Steps) -> str:
    """Of all that is in them."""
    sha = hashlib.sha256()
    for part in steps[:6]:
        for _, x in sorted(part.items()) if isinstance(part, dict) else [("", part)]:
            sha.update(np.ascontiguousarray(x).tobytes())
    return sha.hexdigest()


# -- reading -------------------------------------------------------------------------------------


def read_demonstrations(path: Path, obs: ObsCodec, action: ActionCodec) -> Steps:
    """`[M, …]` transitions in canonical form; ConfigError where they do not fit the task."""
    if is_run(path):
        return _of_run(path, obs, action)
    arrays = _arrays(path)
    count = len(_given(arrays, "reward", path).reshape(-1))

    def column(name: str, shape: tuple[int, ...]) -> Array:
        found = _given(arrays, name, path)
        if found.shape != (count, *shape):
            raise ConfigError(
                f"demonstrations={path}: {name} has shape {found.shape}, expected "
                f"{(count, *shape)}, one entry for each of the {count} rewards."
            )
        return found

    try:
        reward = column("reward", ()).astype(np.float32)
        if not np.isfinite(reward).all():
            raise ConfigError(f"demonstrations={path}: reward has NaN or infinite entries.")
        return Steps(
            _observations("obs", column, count, obs),
            _actions(column, action, path),
            reward,
            column("terminated", ()).astype(bool),
            column("truncated", ()).astype(bool),
            _observations("next_obs", column, count, obs),
            {},
        )
    except EnvError as error:
        raise ConfigError(f"demonstrations={path}: {error}") from None


def _arrays(path: Path) -> dict[str, Array]:
    try:
        if path.suffix == ".safetensors":
            return parse_tensors(bytearray(path.read_bytes()), path)
        if path.suffix == ".npz":
            with np.load(path) as file:
                return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, RunError) as error:
        raise ConfigError(f"demonstrations={path} cannot be read: {error}") from None
    raise ConfigError(
        f"demonstrations={path} is neither a run's folder nor a file .safetensors or .npz."
    )


def _given(arrays: Mapping[str, Array], name: str, path: Path) -> Array:
    if name not in arrays:
        raise ConfigError(f"demonstrations={path} has no '{name}', but {sorted(arrays)}.")
    return arrays[name]


def _observations(name: str, column: Any, count: int, codec: ObsCodec) -> Tree:
    parts = {
        leaf: column(name if leaf.name == "obs" else f"{name}/{leaf.name}", leaf.shape)
        for leaf in codec.leaves
    }
    out = codec.allocate(count)
    for i in range(count):
        obs: Any = {}
        for leaf, values in parts.items():
            if not leaf.path:
                obs = values[i]
                break
            node = obs
            for key in leaf.path[:-1]:
                node = node.setdefault(key, {})
            node[leaf.path[-1]] = values[i]
        codec.encode_into(obs, out, i)
    return out


def _actions(column: Any, codec: ActionCodec, path: Path) -> Array:
    if len(codec.leaves) != 1:
        raise ConfigError("demonstrations are for one action space, not a Dict or Tuple of them.")
    given = column("action", codec.leaves[0].shape)
    flat = np.stack([codec.encode(one) for one in given])
    choices, numbers = flat[:, : len(codec.categories)], flat[:, len(codec.categories) :]
    sizes = np.array(codec.categories)
    wrong = (choices < 0) | (choices >= sizes) | (choices != np.floor(choices))
    beyond = (numbers < codec.low - 1e-4) | (numbers > codec.high + 1e-4) | ~np.isfinite(numbers)
    if bad := np.flatnonzero(wrong.any(-1) | beyond.any(-1)).tolist():
        raise ConfigError(
            f"demonstrations={path}: action {given[bad[0]]} (entry {bad[0]}) is outside the "
            f"action space, and so are {len(bad) - 1} more."
        )
    return flat


def _of_run(path: Path, obs: ObsCodec, action: ActionCodec) -> Steps:
    """All that the run's replay memory holds, an environment after the other."""
    run, latest = Run(path), latest_checkpoint(path)
    saved = load_checkpoint(latest.path, parts=["memory"]) if latest.path is not None else None
    memory = saved.parts["memory"] if saved is not None else {}
    if saved is None or "high" not in memory:
        raise ConfigError(
            f"demonstrations={path} is a run without a replay memory: one of an algorithm such as "
            "dqn or sac has it."
        )
    task = TaskSpec.from_json(run.spec["task"])
    if (task.obs.to_json(), task.action.to_json()) != (obs.to_json(), action.to_json()):
        raise ConfigError(f"demonstrations={path} is a run on other observations or actions.")
    source = Replay(ReplaySettings.model_validate({}))
    source.ring = ring = Ring(max(1, run.config["buffer_size"] // run.config["n_envs"]))
    source.run_path = path
    source.load(memory, saved.segments)
    rows, envs = (
        x.reshape(-1) for x in np.meshgrid(np.arange(ring.low, ring.high), range(ring.n_envs))
    )
    truncated, terminated = ring.take("truncated", rows, envs), ring.take("terminated", rows, envs)
    truncated[rows == ring.high - 1] |= ~terminated[rows == ring.high - 1]
    return Steps(
        source.raw("obs", rows, envs),
        ring.take("action", rows, envs),
        ring.take("reward", rows, envs),
        terminated,
        truncated,
        source.raw("next_obs", rows, envs),
        {},
    )

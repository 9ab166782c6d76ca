"""ProcessBatch: environments in worker processes, arrays in shared memory."""

from __future__ import annotations

import itertools
import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dressage.envs.batch import BatchArrays, EnvBatch, Floats, Segments
from dressage.envs.make import EnvRecipe
from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.envs.state import decode_state, encode_state
from dressage.envs.worker import encode_segments, place, shared_size
from dressage.errors import EnvError


def available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def recipe_json(recipe: EnvRecipe) -> dict[str, Any]:
    """The recipe in words that another process understands."""
    wrappers = [w if isinstance(w, str) else _named(w, "wrapper") for w in recipe.wrappers]
    data = {
        "env": _named(recipe.env, "environment"),
        "env_kwargs": dict(recipe.env_kwargs),
        "wrappers": wrappers,
        "max_episode_steps": recipe.max_episode_steps,
        "trust": recipe.trust,
    }
    try:
        json.dumps(data)
    except TypeError as error:
        raise EnvError(
            f"The environment's arguments cannot be sent to worker processes ({error}): use "
            "backend=inline, or build them inside a function named module:function."
        ) from None
    return data


def _named(given: Any, what: str) -> Any:
    if isinstance(given, str | Mapping):
        return given
    module, name = getattr(given, "__module__", ""), getattr(given, "__qualname__", "")
    if not name or "<" in name or module in ("", "__main__"):
        raise EnvError(
            f"The {what} {name or given!r} cannot be found by worker processes: put it into a "
            "module and name it module:name, or use backend=inline."
        )
    return f"{module}:{name}"


class ProcessBatch(EnvBatch):
    """Environments spread over worker processes, for steps that cost more than the messages."""

    backend = "process"

    def __init__(
        self,
        recipe: EnvRecipe,
        n_envs: int,
        scale_actions: bool = True,
        n_workers: int | None = None,
    ) -> None:
        words = recipe_json(recipe)
        self.recipe, self.n_envs = recipe, n_envs
        self._single: Any = None
        # Since `workers_busy` was last asked: seconds of all workers in steps and resets, and of
        # this process from asking for them to having all answers.
        self._stepping = self._waiting = 0.0
        one = recipe()
        try:
            self.obs_codec = ObsCodec.from_space(one.observation_space)
            self.action_codec = ActionCodec.from_space(one.action_space, scale_actions)
        finally:
            one.close()
        template = BatchArrays.allocate(n_envs, self.obs_codec, self.action_codec)
        path, memory = _shared_memory(shared_size(template))
        self._adopt(place(template, memory))
        self.success.fill(np.nan)
        self.arrays.mask.fill(True)
        workers = min(n_envs, n_workers or available_cores())
        cuts = np.linspace(0, n_envs, workers + 1).astype(int).tolist()
        self._rows = list(itertools.pairwise(cuts))
        self._workers: list[subprocess.Popen[bytes]] = []
        # The numerical libraries of one worker must not start threads for all cores.
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path),
            "OMP_NUM_THREADS": "1",
        }
        order = {
            "recipe": words,
            "n_envs": n_envs,
            "scale_actions": scale_actions,
            "memory": path,
        }
        try:
            for _ in self._rows:
                self._workers.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "dressage.envs.worker"],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        env=environment,
                        bufsize=-1,
                    )
                )
            for w, rows in enumerate(self._rows):
                self._send(w, "open " + json.dumps({**order, "rows": rows}))
            self._gather(range(len(self._rows)))
        except BaseException:
            self.close()
            raise
        finally:
            with suppress(OSError):  # both sides have it mapped; nothing is left after a kill -9
                os.unlink(path)

    def _send(self, worker: int, line: str) -> None:
        stream = self._workers[worker].stdin
        assert stream is not None
        try:
            stream.write(line.encode() + b"\n")
            stream.flush()
        except (BrokenPipeError, ValueError):
            pass  # _gather reports the worker's end

    def _gather(self, workers: Sequence[int]) -> list[Any]:
        """One answer from each; all are read before an error is raised, to stay in step."""
        results: list[Any] = []
        failure = ""
        for w in workers:
            stream = self._workers[w].stdout
            assert stream is not None
            kind, _, body = stream.readline().decode().rstrip("\n").partition(" ")
            if kind == "ok":
                results.append(json.loads(body) if body else None)
                continue
            first, stop = self._rows[w]
            if kind == "error":
                failure = failure or json.loads(body)
            else:
                code = self._workers[w].wait()
                failure = failure or (
                    f"The worker process of environments {first} to {stop - 1} died with exit code "
                    f"{code}: its last words are above, if it had any; backend=inline shows more."
                )
        if failure:
            raise EnvError(failure)
        return results

    def _everyone(self, line: str) -> list[Any]:
        for w in range(len(self._workers)):
            self._send(w, line)
        return self._gather(range(len(self._workers)))

    def reset_many(self, indices: Sequence[int], seeds: Sequence[int]) -> None:
        asked, began = [], time.perf_counter()
        for w, (first, stop) in enumerate(self._rows):
            mine = [
                (int(i) - first, int(s))
                for i, s in zip(indices, seeds, strict=True)
                if first <= i < stop
            ]
            if mine:
                self._send(w, "reset " + json.dumps(list(zip(*mine, strict=True))))
                asked.append(w)
        answers = self._gather(asked)
        self.has_mask = any(mask for mask, _ in answers) or self.has_mask
        self._stepping += sum(seconds for _, seconds in answers)
        self._waiting += time.perf_counter() - began

    def step(self, flat_actions: Floats) -> None:
        self.arrays.action[:] = flat_actions
        began = time.perf_counter()
        self._stepping += sum(self._everyone("step"))  # they also copy next_obs to obs
        self._waiting += time.perf_counter() - began

    def workers_busy(self) -> float | None:
        if not self._waiting:
            return None
        busy = self._stepping / self._waiting
        self._stepping = self._waiting = 0.0
        return busy

    def replay(self, segments: Sequence[Segments]) -> None:
        for w, (first, stop) in enumerate(self._rows):
            self._send(w, "replay " + json.dumps(encode_segments(segments[first:stop])))
        self.has_mask = any(self._gather(range(len(self._rows))))

    def states(self) -> list[list[dict[str, Any]]]:
        return [env for part in self._everyone("states") for env in decode_state(part)]

    def load_states(self, states: Sequence[list[dict[str, Any]]]) -> None:
        for w, (first, stop) in enumerate(self._rows):
            self._send(w, "load " + json.dumps(encode_state(list(states[first:stop]))))
        self._gather(range(len(self._rows)))

    def single(self) -> Any:
        """One of its own in this process, made when it is asked for."""
        if self._single is None:
            self._single = self.recipe()
        return self._single

    def close(self) -> None:
        if self._single is not None:
            self._single.close()
            self._single = None
        workers, self._workers = self._workers, []
        for worker in workers:
            with suppress(BrokenPipeError, OSError):
                if worker.stdin is not None:
                    worker.stdin.close()
        for worker in workers:
            try:
                worker.wait(timeout=5)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            if worker.stdout is not None:
                worker.stdout.close()


def _shared_memory(size: int) -> tuple[str, mmap.mmap]:
    """A file mapped by all, in memory where the system has such a folder with room."""
    folders = [folder for folder in ("/dev/shm",) if os.path.isdir(folder)]
    for folder in [*folders, None]:
        handle, path = tempfile.mkstemp(prefix="dressage-", dir=folder)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(handle, 0, size)  # fails now and not with SIGBUS later
            else:
                os.truncate(handle, size)
            return path, mmap.mmap(handle, size)
        except OSError:
            os.unlink(path)
            if folder is None:
                raise EnvError(
                    f"There is no room for {size} bytes of shared memory: use backend=inline."
                ) from None
        finally:
            os.close(handle)
    raise AssertionError("unreachable")

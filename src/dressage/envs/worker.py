"""A worker process of ProcessBatch: hosts a few environments, writes into shared memory.

Started as `python -m dressage.envs.worker` and not by multiprocessing: that would import the
user's main script again and so demand a `__main__` guard of it. One line of text per request on
stdin, one per answer on a private copy of stdout (what environments print goes to stderr).
The end of stdin, also after a kill -9 of the parent, ends the worker.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import sys
import time
from typing import Any

import numpy as np

from dressage.envs.batch import BatchArrays, InlineBatch
from dressage.envs.make import EnvRecipe
from dressage.envs.state import decode_state, encode_state
from dressage.errors import EnvError

ALIGNMENT = 64


def shared_size(arrays: BatchArrays) -> int:
    """Bytes that the arrays take in shared memory."""
    total = 0

    def add(array: Any) -> Any:
        nonlocal total
        total += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        return array

    arrays.map(add)
    return max(total, ALIGNMENT)


def place(arrays: BatchArrays, memory: mmap.mmap) -> BatchArrays:
    """The same arrays in shared memory, in the order of their fields."""
    offset = 0

    def view(array: Any) -> Any:
        nonlocal offset
        flat = np.frombuffer(memory, array.dtype, array.size, offset)
        offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        return flat.reshape(array.shape)

    return arrays.map(view)


def encode_segments(segments: Any) -> Any:
    return [
        [[seed, encode_state(np.asarray(a, np.float32))] for seed, a in env] for env in segments
    ]


def _open(order: dict[str, Any]) -> InlineBatch:
    recipe = EnvRecipe(**order["recipe"])
    first, stop = order["rows"]
    batch = InlineBatch([recipe() for _ in range(first, stop)], order["scale_actions"])
    whole = BatchArrays.allocate(order["n_envs"], batch.obs_codec, batch.action_codec)
    with open(order["memory"], "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    batch._adopt(place(whole, memory).map(lambda array: array[first:stop]))
    batch.first_index = first
    return batch


def _answer(batch: InlineBatch, command: str, body: str) -> Any:
    if command == "step":
        began = time.perf_counter()
        batch.step(batch.arrays.action)
        return time.perf_counter() - began
    if command == "reset":
        indices, seeds = json.loads(body)
        began = time.perf_counter()
        batch.reset_many(indices, seeds)
        return batch.has_mask, time.perf_counter() - began
    if command == "replay":
        given = json.loads(body)
        segments = [[(seed, decode_state(a)) for seed, a in env] for env in given]
        batch.replay(segments)
        return batch.has_mask
    if command == "states":
        return encode_state(batch.states())
    if command == "load":
        batch.load_states(decode_state(json.loads(body)))
        return None
    raise EnvError(f"unknown request {command!r}")


def main() -> None:
    # Ctrl-C and its like reach the whole process group; the parent still needs us for its
    # checkpoint, and its end (the end of stdin) is ours.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    batch: InlineBatch | None = None
    while line := requests.readline():
        command, _, body = line.decode().rstrip("\n").partition(" ")
        try:
            if batch is None:
                batch = _open(json.loads(body))
                result = None
            else:
                result = _answer(batch, command, body)
            answer = "ok" if result is None else "ok " + json.dumps(result)
        except EnvError as error:
            answer = "error " + json.dumps(str(error))
        except Exception as error:
            answer = "error " + json.dumps(f"a worker process failed: {error!r}")
        try:
            answers.write(answer.encode() + b"\n")
        except BrokenPipeError:
            break
    if batch is not None:
        batch.close()


if __name__ == "__main__":
    main()

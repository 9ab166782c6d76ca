"""Checkpoints: `checkpoints/<env_steps>/` with one safetensors file per part and a manifest.

A checkpoint is written into a hidden sibling folder, made durable and renamed, so that a folder
with a number as its name is whole. The manifest holds sizes and hashes of the parts and of the
segments beside it that it needs (runs/segments.py), and the byte offsets of the run's logs, to
which a resume cuts them back.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dressage.errors import RunError
from dressage.runs.files import (
    at_once,
    json_text,
    read_bytes,
    read_json,
    sync_file,
    sync_folder,
    write_atomic,
    write_new,
    writing,
)
from dressage.runs.segments import FOLDER as SEGMENTS
from dressage.runs.segments import Entry, is_segment, keep_segments, segment_bytes
from dressage.runs.tensors import Arrays, parse_tensors, write_tensors

FORMAT = 1
FOLDER = "checkpoints"
MANIFEST = "manifest.json"
BEST = "best.json"
RESUMED_FROM = 2  # newest checkpoints: the second where the first turns out to be damaged
PART_LIMIT = 64 * 2**30  # bytes
_PART_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_STEPS_NAME = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Checkpoint:
    path: Path
    env_steps: int
    meta: dict[str, Any]
    offsets: dict[str, int]
    parts: dict[str, dict[str, np.ndarray[Any, Any]]]
    segments: dict[str, Entry] = field(default_factory=dict)  # those beside it that it needs


class Latest(NamedTuple):
    path: Path | None
    skipped: list[str]  # a sentence for each newer checkpoint that is incomplete or damaged


def save_checkpoint(
    run_path: Path,
    env_steps: int,
    parts: Mapping[str, Arrays],
    meta: Mapping[str, Any],
    offsets: Mapping[str, int],
    durable: bool = True,
    segments: Mapping[str, Entry] | None = None,
    syncs: Sequence[Callable[[], None]] = (),
    best: Mapping[str, Any] | None = None,
) -> Path:
    """Write a checkpoint as a whole; one with the same number is replaced only once this is done.

    `best`: what `@best` is to say from then on, as `set_best` is given it.

    Durable: `syncs` are called first, which make the logs durable up to `offsets`, as the manifest
    must not promise bytes that a power failure can take away. One that is not survives every end of
    the process; after a power failure its hashes tell whether it is whole, and an older durable one
    should be kept.
    """
    folder = run_path / FOLDER
    target = folder / str(int(env_steps))
    temporary = folder / f".tmp-{int(env_steps)}-{os.getpid()}"
    pointer = folder / f".{BEST}.{os.getpid()}.tmp"
    with writing(target):
        folder.mkdir(exist_ok=True)
        clean(run_path)
        temporary.mkdir()
        try:
            files = {}
            for part, arrays in parts.items():
                if not _PART_NAME.fullmatch(part):
                    raise ValueError(f"{part!r} is not a name for a part of a checkpoint")
                name = f"{part}.safetensors"
                sha256, size = write_tensors(temporary / name, arrays, durable=False)
                files[name] = {"sha256": sha256, "bytes": size}
            manifest = {
                "format": FORMAT,
                "env_steps": int(env_steps),
                "meta": meta,
                "offsets": offsets,
                "files": files,
                "segments": dict(segments or {}),
            }
            write_new(temporary / MANIFEST, json_text(manifest) + "\n")
            whole = [temporary / name for name in (*files, MANIFEST)]
            if best is not None:
                write_new(pointer, _best_text(**best))
                whole.append(pointer)
            if durable:
                names = partial(sync_folder, temporary)
                at_once([*(partial(sync_file, path) for path in whole), names, *syncs])
            if target.exists():
                os.rename(target, folder / f".old-{int(env_steps)}")
            os.rename(temporary, target)
            if best is not None:
                os.replace(pointer, folder / BEST)
            if durable:
                sync_folder(folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            with contextlib.suppress(OSError):
                clean(run_path)  # brings back the one that was to be replaced
            raise
        clean(run_path)
    return target


def clean(run_path: Path) -> None:
    """Remove what a crash left behind; called by the writer only."""
    folder = run_path / FOLDER
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".old-"):
            # Set aside while its successor was renamed into place; if that never happened it is
            # still the checkpoint of this number.
            home = folder / entry.name.removeprefix(".old-")
            if home.exists():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                os.rename(entry, home)
        elif entry.name.startswith(".tmp-") and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name.startswith(f".{BEST}."):
            entry.unlink(missing_ok=True)


def checkpoint_folders(run_path: Path) -> dict[int, Path]:
    """Every folder that claims to be a checkpoint, by env_steps, oldest first."""
    found: dict[int, Path] = {}
    try:
        entries = list((run_path / FOLDER).iterdir())
    except OSError:
        return {}
    for entry in sorted(entries, key=lambda path: path.name):  # ".old-N" sorts before "N"
        number = entry.name.removeprefix(".old-")
        if _STEPS_NAME.fullmatch(number) and entry.is_dir() and not entry.is_symlink():
            found[int(number)] = entry
    return dict(sorted(found.items()))


def _manifest(path: Path) -> dict[str, Any]:
    """The manifest with its fields checked; nothing in it may name a file outside the folder."""
    where = path / MANIFEST
    manifest = read_json(where, follow_links=False)
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise RunError(f"{where} is damaged: it is not a checkpoint's manifest.")
    if manifest["format"] != FORMAT:
        raise RunError(
            f"{where} has format {manifest['format']!r}, and this version of dressage reads format "
            f"{FORMAT}: update dressage."
        )
    match manifest:
        case {
            "env_steps": int(),
            "meta": dict(),
            "offsets": dict(offsets),
            "files": dict(files),
        } if all(type(offset) is int for offset in offsets.values()):
            pass
        case _:
            raise RunError(f"{where} is damaged: a field is missing or has the wrong type.")
    for name, entry in files.items():
        stem, dot, ending = name.partition(".")
        if not _PART_NAME.fullmatch(stem) or dot + ending != ".safetensors":
            raise RunError(f"{where} names the file {name[:80]!r}, which no checkpoint contains.")
        match entry:
            case {"sha256": str(), "bytes": int()}:
                pass
            case _:
                raise RunError(f"{where} is damaged: no size and hash for {name}.")
    segments = manifest.setdefault("segments", {})
    if not isinstance(segments, dict) or not all(map(is_segment, segments, segments.values())):
        raise RunError(f"{where} is damaged: its list of segments cannot be read.")
    return manifest


def _part_bytes(path: Path, name: str, entry: Mapping[str, Any]) -> bytearray:
    where = path / name
    size = where.stat().st_size if where.is_file() and not where.is_symlink() else entry["bytes"]
    if size != entry["bytes"]:  # before it is read: it may be huge
        raise RunError(
            f"{where} has {size} bytes, but its manifest says {entry['bytes']}: "
            "the checkpoint is damaged; use an earlier one."
        )
    content = read_bytes(where, min(int(entry["bytes"]), PART_LIMIT), follow_links=False)
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise RunError(
            f"{where} does not have the hash in its manifest: the checkpoint is damaged or was "
            "changed; use an earlier one."
        )
    return content


def load_checkpoint(path: Path, parts: Collection[str] | None = None) -> Checkpoint:
    """Read and verify a checkpoint, or some of its parts. Executes nothing that the files hold."""
    path = Path(path)
    manifest = _manifest(path)
    files: dict[str, Any] = manifest["files"]
    wanted = [f"{part}.safetensors" for part in parts] if parts is not None else list(files)
    for name in wanted:
        if name not in files:
            raise RunError(
                f"The checkpoint {path} has no {name}; it has {', '.join(files) or 'no parts'}."
            )
    return Checkpoint(
        path=path,
        env_steps=manifest["env_steps"],
        meta=manifest["meta"],
        offsets=manifest["offsets"],
        parts={
            name.removesuffix(".safetensors"): parse_tensors(
                _part_bytes(path, name, files[name]), path / name
            )
            for name in wanted
        },
        segments=manifest["segments"],
    )


def latest_checkpoint(run_path: Path) -> Latest:
    """The newest checkpoint whose every byte is right, and why newer ones were passed over."""
    skipped = []
    for path in reversed(checkpoint_folders(Path(run_path)).values()):
        try:
            manifest = _manifest(path)
            for name, entry in manifest["files"].items():
                _part_bytes(path, name, entry)
            for name, entry in manifest["segments"].items():
                segment_bytes(Path(run_path), name, entry)
            _check_logs(Path(run_path), path, manifest["offsets"])
        except RunError as error:
            skipped.append(str(error))
        else:
            return Latest(path, skipped)
    return Latest(None, skipped)


def _check_logs(run_path: Path, path: Path, offsets: Mapping[str, int]) -> None:
    """A power failure may have taken the end of a log that a checkpoint counts on."""
    for name, offset in offsets.items():
        log = run_path / name
        if name == "run.log" or not log.is_file():  # for people only, and no log at all
            continue
        if (size := log.stat().st_size) < offset:
            raise RunError(
                f"{log} has {size} bytes, but the checkpoint {path} was made at {offset}: the file "
                "was shortened since."
            )


def set_best(run_path: Path, env_steps: int, evaluation: Mapping[str, Any]) -> None:
    """Point `@best` at a checkpoint that is already saved."""
    write_atomic(run_path / FOLDER / BEST, _best_text(env_steps, evaluation))


def _best_text(env_steps: int, evaluation: Mapping[str, Any]) -> str:
    best = {"format": FORMAT, "env_steps": int(env_steps), "evaluation": evaluation}
    return json_text(best, indent=2) + "\n"


def read_best(run_path: Path) -> dict[str, Any] | None:
    """`{"env_steps": ..., "evaluation": {...}}`, or None where no checkpoint was evaluated."""
    path = run_path / FOLDER / BEST
    if not path.is_file():
        return None
    best: dict[str, Any] = read_json(path)
    match best:
        case {"env_steps": int(), "evaluation": dict()}:
            return best
    raise RunError(f"{path} is damaged: it does not name a checkpoint.")


def _remove(path: Path) -> None:
    # Renamed first: a half-deleted folder must not look like a checkpoint.
    trash = path.with_name(f".tmp-{path.name}-removed-{os.getpid()}")
    os.rename(path, trash)
    shutil.rmtree(trash, ignore_errors=True)


def _has_right_sizes(path: Path) -> bool:
    """A check without reading: hashing a replay memory again after each checkpoint is slow."""
    try:
        files = _manifest(path)["files"]
        return all((path / name).stat().st_size == files[name]["bytes"] for name in files)
    except (RunError, OSError):
        return False


def prune(run_path: Path, keep_last: int = 1, keep: Collection[int] = ()) -> list[int]:
    """Delete all but the newest `keep_last`, the best, and those in `keep`; returns what went.

    Segments stay with the newest two that are left: older ones serve as policies alone.

    Deletes nothing while the newest checkpoint is not whole.
    """
    folders = checkpoint_folders(run_path)
    if not folders or not _has_right_sizes(list(folders.values())[-1]):
        return []
    kept = set(list(folders)[-max(keep_last, 1) :]) | set(keep)
    best = read_best(run_path)
    if best is not None:
        kept.add(best["env_steps"])
    gone = [env_steps for env_steps in folders if env_steps not in kept]
    with writing(run_path / FOLDER):
        for env_steps in gone:
            _remove(folders[env_steps])
    if (run_path / SEGMENTS).is_dir():
        last = [path for number, path in folders.items() if number not in gone][-RESUMED_FROM:]
        needed: set[str] = set()
        for path in last:
            with contextlib.suppress(RunError):  # a damaged one cannot be resumed from
                needed |= _manifest(path)["segments"].keys()
        keep_segments(run_path, needed)
    return gone


def discard_after(run_path: Path, env_steps: int) -> list[int]:
    """Delete checkpoints beyond `env_steps`: a resume from an earlier one makes them anew."""
    folders = checkpoint_folders(run_path)
    gone = [number for number in folders if number > env_steps]
    with writing(run_path / FOLDER):
        for number in gone:
            _remove(folders[number])
        best = read_best(run_path)
        if best is not None and best["env_steps"] in gone:
            (run_path / FOLDER / BEST).unlink()
    return gone

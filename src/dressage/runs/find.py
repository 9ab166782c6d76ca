"""Naming runs: an id, a unique prefix, `@last`, a path, `GROUP/<seed>`; `@best` may follow each."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shutil
from pathlib import Path

from dressage.errors import RunError, did_you_mean
from dressage.runs.files import read_bytes, read_json, write_atomic, writing
from dressage.runs.group import Group, is_group
from dressage.runs.lock import RunLock
from dressage.runs.run import Run, is_run

LAST = "@last"
_CHECKPOINT = re.compile(r"(?s)(.+)@(best|last|[0-9]+)")


def runs_root(explicit: Path | str | None = None) -> Path:
    """The folder of runs: the argument, DRESSAGE_RUNS, or `runs` in the working directory."""
    return Path(explicit or os.environ.get("DRESSAGE_RUNS") or "runs")


def open_path(path: Path) -> Run | Group:
    return Group(path) if is_group(path) else Run(path)


def list_runs(root: Path) -> list[Run | Group]:
    """Runs and groups in a folder, oldest first; anything else in it is passed over."""
    found = []
    with contextlib.suppress(OSError):
        for entry in root.iterdir():
            if entry.name.startswith((".", "@")) or entry.is_symlink():
                continue
            for mark in ("group.json", "config.json"):
                with contextlib.suppress(OSError):
                    # Neither is touched by reading; group.json changes with its members' states.
                    found.append(((entry / mark).stat().st_mtime_ns, entry.name, entry))
                    break
    return [open_path(entry) for _, _, entry in sorted(found)]


def split_checkpoint(name: str) -> tuple[str, str | None]:
    """`RUN@best` into run and checkpoint; `@last` alone is a run."""
    match = _CHECKPOINT.fullmatch(name)
    return (match[1], match[2]) if match else (name, None)


def find_checkpoint(name: str, root: Path) -> tuple[Run | Group, str | None]:
    run, checkpoint = split_checkpoint(name)
    return find(run, root), checkpoint


def find(name: str | Path, root: Path) -> Run | Group:
    """The run or group that a person means by `name`."""
    text = str(name)
    if text == LAST:
        return _last(root)
    for path in (root / text, Path(text)):
        if is_run(path) or is_group(path):
            return open_path(path)
        if path.name == LAST and path.parent.is_dir():
            return _last(path.parent)
    head, _, seed = text.rpartition("/")
    if head and seed.isdecimal():
        group = find(head, root)
        if isinstance(group, Group):
            return group.member(int(seed))
        raise RunError(f"{head} is a single run, not a group: it has no member {seed}.")
    known = {run.path.name: run for run in list_runs(root)}
    matches = [run_id for run_id in known if text and run_id.startswith(text)]
    if len(matches) == 1:
        return known[matches[0]]
    if matches:
        raise RunError(
            f"'{text}' could be any of {len(matches)} runs: {', '.join(sorted(matches)[:10])}. "
            "Type more of the name."
        )
    hint = did_you_mean(text, list(known)) or " `dressage runs` lists what is there."
    raise RunError(f"There is no run '{text}' in {root}.{hint}")


def _last(root: Path) -> Run | Group:
    link = root / LAST
    target = None
    with contextlib.suppress(OSError, RunError, UnicodeDecodeError):
        target = os.readlink(link) if link.is_symlink() else read_bytes(link, 4096).decode().strip()
    # Only a name within the folder counts, and a dangling one (deleted by hand) is passed over.
    if target and target == Path(target).name:
        path = root / target
        if is_run(path) or is_group(path):
            return open_path(path)
    runs = list_runs(root)
    if not runs:
        raise RunError(f"There is no run in {root} yet: `dressage train CartPole-v1` makes one.")
    return runs[-1]


def set_last(root: Path, run_id: str) -> None:
    """Make `@last` name this run or group."""
    temporary = root / f".{LAST}.{os.getpid()}.tmp"
    try:
        temporary.unlink(missing_ok=True)
        os.symlink(run_id, temporary, target_is_directory=True)
        os.replace(temporary, root / LAST)
    except OSError:
        temporary.unlink(missing_ok=True)
        write_atomic(root / LAST, run_id + "\n")


def new_run_id(env_id: str, algo: str, seed: int | str, root: Path) -> str:
    """Create a new folder in `root` and return its name, `cartpole-v1-ppo-20261116-014503-s0`.

    For a group, `seed` may be a range such as "0-7". Two processes never get the same folder.
    """
    moment = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    slug = "-".join(_slug(word) for word in (env_id, algo)) + f"-{moment}-s{_slug(str(seed))}"
    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
        for count in range(1, 10_000):
            run_id = slug if count == 1 else f"{slug}-{count}"
            with contextlib.suppress(FileExistsError):
                (root / run_id).mkdir()
                return run_id
    raise RunError(f"{root} holds too many runs that begin with {slug}.")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60] or "x"


def delete_run(run: Run | Group) -> None:
    """Delete a run or group for good; refuses what is being written or is not plainly a run."""
    path = run.path
    if path.is_symlink():
        raise RunError(f"{path} is a link: name the run itself to delete it.")
    members = run.members
    for folder in [path, *(member.path for member in members)]:
        _refuse_strangers(folder)
    with contextlib.ExitStack() as locks:
        for member in members:
            locks.enter_context(RunLock(member.path))  # raises while a process writes it
        # Renamed first, so that a deletion cut short leaves nothing that looks like a run.
        trash = path.with_name(f".deleted-{path.name}-{os.getpid()}")
        with writing(path):
            os.rename(path, trash)
    with writing(trash):
        shutil.rmtree(trash)


def _refuse_strangers(folder: Path) -> None:
    mark = folder / ("group.json" if is_group(folder) else "config.json")
    document = None if mark.is_symlink() or folder.is_symlink() else read_json(mark)
    key = "members" if mark.name == "group.json" else "values"
    if not isinstance(document, dict) or not {"format", key} <= set(document):
        raise RunError(f"{folder} does not look like a run directory: delete it by hand.")

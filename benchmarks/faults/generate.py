"""Makes the runs that are not there yet, and gathers them into shards."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable
from pathlib import Path

from benchmarks.faults import store
from benchmarks.faults.admit import admitted
from benchmarks.faults.train import Job, make

from dressage.runs.view import RunView

PENDING = Path("build/faults")  # one file a run until a shard is made of them
SHARD_SECONDS = 20 * 60
RUNS_OF_A_SHARD = 500


def generate(
    jobs: Iterable[Job],
    minutes: float,
    folder: Path = store.FOLDER,
    pending: Path = PENDING,
    lacking: str = "",
) -> int:
    """Runs jobs in turn for so long; returns how many it made. A failure is noted, and goes on.

    `lacking`: a metric; runs from before it was recorded are made anew.
    """
    jobs = list(jobs)
    done = fingerprints(folder, lacking) | fingerprints(pending, lacking)
    began = shard_began = time.monotonic()
    made = 0
    for job in jobs:
        if time.monotonic() - began > 60 * minutes:
            break
        print_of_job = job.fingerprint()
        if done.get(job.key) == print_of_job:
            continue
        started = time.monotonic()
        stored = attempt(job)
        if stored.outcome.get("state") == "stopped":  # by a signal, which the run took for its own
            print("stopped in", job.key)
            break
        store.write(pending / f"{job.key.replace('/', '~')}.zip", [stored])
        made += 1
        spent, result = time.monotonic() - started, stored.outcome
        print(
            f"{job.key}: {result.get('final')} {result['error'][:200]} ({spent:.1f} s)", flush=True
        )
        if time.monotonic() - shard_began > SHARD_SECONDS:
            gather(folder, pending)
            shard_began = time.monotonic()
    gather(folder, pending)
    return made


def attempt(job: Job) -> store.Stored:
    """The run, or an empty one that says why there is none."""
    try:
        view, result = make(job)
    except Exception as error:
        reason = traceback.format_exception_only(error)[-1].strip()
        view, result = RunView(Path("run"), "run", "dressage"), {"failed": True, "error": reason}
    return store.Stored(job.label(), result, view)


def fingerprints(folder: Path, lacking: str = "") -> dict[str, str]:
    """Of the runs in a folder of shards, by key; none of those that lack a metric."""
    return {
        label["key"]: "" if columns and lacking and lacking not in columns else label["fingerprint"]
        for path in sorted(folder.glob("*.zip"))
        for label, columns in store.labels(path)
    }


def compact(folder: Path, wanted: dict[str, str]) -> None:
    """Writes all shards anew, as few, without the runs that are out of date; of one that was made
    again, the newer. Of runs that do not enter, since their fault does no harm or their variation
    does, the outcome is all that is needed."""
    old = sorted(folder.glob("*.zip"))
    newest = {run.label["key"]: run for run in store.load(folder)}
    kept = [
        run
        for run in newest.values()
        if wanted.get(run.label["key"]) == run.label["fingerprint"]
        and run.outcome.get("state") != "stopped"
    ]
    entering = {run.label["key"] for run in admitted(kept)}
    kept = [
        run if run.label["kind"] == "clean" or run.label["key"] in entering else bare(run)
        for run in kept
    ]
    for start in range(0, len(kept), RUNS_OF_A_SHARD):
        name = f"{start // RUNS_OF_A_SHARD + 1:04d}.compacted"
        store.write(folder / name, kept[start : start + RUNS_OF_A_SHARD])
    for path in old:
        path.unlink()
    for path in sorted(folder.glob("*.compacted")):
        path.rename(path.with_suffix(".zip"))


def bare(run: store.Stored) -> store.Stored:
    """Its label and its outcome."""
    view = RunView(Path("run"), "run", run.label["library"])
    return store.Stored(run.label, run.outcome | {store.BARE: True}, view)


def gather(folder: Path, pending_in: Path) -> None:
    """Makes one shard of the pending runs; parts that do so at the same time take turns."""
    pending = sorted(pending_in.glob("*.zip"))
    if not pending:
        return
    folder.mkdir(parents=True, exist_ok=True)
    shard = pending_in / "shard"
    store.write(shard, [run for path in pending for run in store.read(path)])
    number = 1 + max((int(path.stem) for path in folder.glob("[0-9]*.zip")), default=0)
    while not _placed(shard, folder / f"{number:04d}.zip"):
        number += 1
    for path in (shard, *pending):
        path.unlink()


def _placed(path: Path, target: Path) -> bool:
    """Unless somebody else has taken that name."""
    try:
        target.hardlink_to(path)
    except FileExistsError:
        return False
    return True

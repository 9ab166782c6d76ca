"""What the benchmarks share: a process for each job, a JSON file for each result, a command line.

A job is a few words and a seed. `SCRIPT run …` starts those whose result is not there yet, each as
`SCRIPT one WORDS… SEED`; `SCRIPT table` writes results/<script>/table.md from what is there.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

Job = tuple[Any, ...]  # its words, then its seed


class Benchmark:
    """The results of one script, in results/<script>/, one file a job."""

    def __init__(self, script: str, words: Mapping[str, Sequence[str] | None]) -> None:
        """`words`: what names a job beside its seed, and the choices where they are few."""
        self.script, self.words = Path(script), dict(words)
        self.results = self.script.parent / "results" / self.script.stem

    def file(self, *job: Any) -> Path:
        return self.results / ("-".join(slug(str(word)) for word in job) + ".json")

    def save(self, job: Job, result: Mapping[str, Any], packages: Sequence[str], by: str) -> None:
        """The result with where it comes from; `by`: the command that gives it again."""
        whole = {
            **result,
            "date": datetime.date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
            "versions": {name: version(name) for name in packages},
            "command": by,
        }
        self.results.mkdir(parents=True, exist_ok=True)
        self.file(*job).write_text(json.dumps(whole) + "\n")

    def load(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in sorted(self.results.glob("*.json"))]

    def run(self, jobs: Iterable[Job], at_once: int) -> None:
        """Whatever is not there yet, in the order given."""
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        started: dict[Job, subprocess.Popen[bytes]] = {}
        for job in jobs:
            if self.file(*job).exists():
                continue
            while sum(process.poll() is None for process in started.values()) >= at_once:
                time.sleep(0.2)
            command = [sys.executable, str(self.script), "one", *map(str, job)]
            started[job] = subprocess.Popen(command, env=environment)
        if failed := [job for job, process in started.items() if process.wait()]:
            names = ", ".join(" ".join(map(str, job)) for job in failed)
            raise SystemExit(f"{len(failed)} of {len(started)} jobs failed: {names}")

    def main(
        self,
        description: str | None,
        *,
        asked: Callable[[argparse.ArgumentParser], None],
        jobs: Callable[[argparse.Namespace], Iterable[Job]],
        one: Callable[..., None],
        table: Callable[[], str],
        seeds: int,
    ) -> None:
        """The command line: `asked` adds what `run` takes, `jobs` makes jobs of it."""
        parser = argparse.ArgumentParser(description=description)
        commands = parser.add_subparsers(dest="command", required=True)
        runner = commands.add_parser("run")
        asked(runner)
        runner.add_argument("--seeds", type=int, default=seeds)
        runner.add_argument("--at-once", type=int, default=2)
        single = commands.add_parser("one")
        for word, choices in self.words.items():
            single.add_argument(word, choices=choices)
        single.add_argument("seed", type=int)
        commands.add_parser("table")
        given = parser.parse_args()
        if given.command == "run":
            self.run(jobs(given), given.at_once)
        elif given.command == "one":
            one(*(getattr(given, word) for word in self.words), given.seed)
        else:
            text = table()
            (self.results / "table.md").write_text(text + "\n")
            print(text)


def slug(word: str) -> str:
    return word.replace("/", "-")

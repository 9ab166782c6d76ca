"""`python -m benchmarks.speed run` and `python -m benchmarks.speed table`"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.speed import __doc__ as about
from benchmarks.speed.runner import RESULTS, run, shrink
from benchmarks.speed.settings import PROGRAMS, SETTINGS
from benchmarks.speed.table import table

BUILD = Path("build")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--only", nargs="+", choices=list(SETTINGS), metavar="NAME")
    runner.add_argument("--programs", nargs="+", choices=list(PROGRAMS), metavar="PROGRAM")
    runner.add_argument("--repeats", type=int, default=5)
    runner.add_argument("--venvs", type=Path, default=BUILD / "venvs")
    runner.add_argument("--smoke", action="store_true", help="one round with tiny budgets")
    reader = commands.add_parser("table")
    for command in (runner, reader):
        command.add_argument(
            "--results",
            type=Path,
            help="folder of the results; build/speed with --programs, --smoke",
        )
    given = parser.parse_args()
    if given.command == "table":
        text = table(given.results or RESULTS)
        print(text)
        ((given.results or RESULTS) / "table.md").write_text(text + "\n")
        return
    partial = given.smoke or given.programs  # not to be mistaken for results
    default = BUILD / "speed" if partial else RESULTS
    if given.smoke:
        shrink()
    names = given.only or list(SETTINGS)
    repeats = 1 if given.smoke else given.repeats
    run(names, given.programs, repeats, given.venvs.absolute(), given.results or default)


if __name__ == "__main__":
    main()

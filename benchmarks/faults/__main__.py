"""`python -m benchmarks.faults`: makes labelled runs, learns from them, scores the diagnosis."""

from __future__ import annotations

import argparse
from collections import Counter

from benchmarks.faults import __doc__ as about
from benchmarks.faults import store


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("generate", help="make the runs that are not there yet")
    maker.add_argument("--minutes", type=float, default=20.0)
    maker.add_argument("--only", nargs="+", default=[""], help="keys with one of these words")
    maker.add_argument("--kind", choices=("clean", "benign", "fault"))
    maker.add_argument(
        "--lacking", default="", metavar="METRIC", help="stored runs without it anew, and no others"
    )
    others = commands.add_parser("sb3", help="make the runs of Stable-Baselines3")
    others.add_argument("--minutes", type=float, default=20.0)
    others.add_argument("--only", nargs="+", default=[""], help="keys with one of these words")
    others.add_argument(
        "--recorded", action="store_true", help="with what dressage.sb3.Recorder adds to their logs"
    )
    others.add_argument(
        "--saved", action="store_true", help="anew where no numbers of the saved model are kept"
    )
    for one in (maker, others):
        one.add_argument(
            "--part", type=int, nargs=2, default=(0, 1), metavar=("K", "N"), help="every N-th job"
        )
    commands.add_parser("admit", help="which faults hurt")
    scorer = commands.add_parser("score", help="how often the diagnosis is right")
    scorer.add_argument("--split", choices=("train", "test"), default="train")
    commands.add_parser("learn", help="count the rates that a diagnosis uses, on the train split")
    wrong = commands.add_parser("misses", help="wrong answers on the train split, and what fired")
    wrong.add_argument("--with-config", action="store_true")
    commands.add_parser("rules", help="what each rule contributes, on the train split")
    commands.add_parser("compact", help="fewer shards, without runs that are out of date")
    commands.add_parser("show", help="count what is stored")
    given = parser.parse_args()
    if given.command == "generate":
        from benchmarks.faults.generate import PENDING, fingerprints, generate
        from benchmarks.faults.plan import jobs

        k, n = given.part
        stored = fingerprints(store.FOLDER) if given.lacking else {}
        wanted = [
            job
            for job in jobs()
            if any(word in job.key for word in given.only)
            and given.kind in (None, job.kind)
            and (job.key in stored or not given.lacking)
        ][k::n]
        pending = PENDING / f"{k}-of-{n}"  # of its own: parts may be made side by side
        made = generate(wanted, given.minutes, pending=pending, lacking=given.lacking)
        print(made, "runs made")
    elif given.command == "sb3":
        from benchmarks.faults import sb3_runs

        made = sb3_runs.generate(
            given.minutes,
            given.only,
            recorded=given.recorded,
            saved=given.saved,
            part=tuple(given.part),
        )
        print(made, "runs made")
    elif given.command == "admit":
        from benchmarks.faults.admit import write_table

        print(write_table())
    elif given.command == "score":
        from benchmarks.faults.score import write_score

        print(write_score(given.split))
    elif given.command == "learn":
        from benchmarks.faults.learn import learn_shipped

        print(learn_shipped())
    elif given.command == "misses":
        from benchmarks.faults.learn import misses

        print(misses(given.with_config))
    elif given.command == "rules":
        from benchmarks.faults.rules import write_rules

        print(write_rules())
    elif given.command == "compact":
        from benchmarks.faults import sb3_runs
        from benchmarks.faults.generate import compact, fingerprints
        from benchmarks.faults.plan import jobs

        wanted = {job.key: job.fingerprint() for job in jobs()}
        there = fingerprints(store.FOLDER)
        for recorded in (False, True):  # a run may be of either kind
            for job in sb3_runs.jobs(recorded):
                key, fingerprint = job["label"]["key"], job["label"]["fingerprint"]
                if not recorded or there.get(key) == fingerprint:
                    wanted[key] = fingerprint
        compact(store.FOLDER, wanted)
    else:
        show()


def show() -> None:
    runs = store.load()
    size = sum(path.stat().st_size for path in store.FOLDER.glob("*.zip"))
    for names in (("library", "kind", "split"), ("setting", "kind")):
        counts = Counter(tuple(run.label[name] for name in names) for run in runs)
        for words, count in sorted(counts.items()):
            print(f"{count:6d}  {' '.join(words)}")
    failed = [run for run in runs if run.outcome.get("failed")]
    print(f"{len(runs)} runs, {len(failed)} failed, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

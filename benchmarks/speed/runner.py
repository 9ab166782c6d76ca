"""Runs programs in turn, each in a process of its own, and writes down what they tell.

No numpy here: a child's peak memory is never less than that of the process that started it.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.speed import settings as table_of
from benchmarks.speed.settings import PROGRAMS, SETTINGS, Setting
from benchmarks.speed.venvs import ROOT, python_of

PROGRAMS_FOLDER = Path(__file__).parent / "programs"
RESULTS = Path(__file__).parents[1] / "results" / "speed"
LIMIT_SECONDS = 1800.0
POLL_SECONDS = 0.001
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"  # set, it would let us be compiled anew in every process
Record = dict[str, Any]


def measured(
    command: list[str], environment: dict[str, str] | None = None, meanwhile: Any = None
) -> Record:
    """Runs a command: seconds, peak memory in megabytes, and its output or its error.

    `meanwhile(began, alive)` is called beside it, and may look at what it writes.
    """
    with (
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
        tempfile.TemporaryDirectory() as folder,  # MuJoCo writes a log where it stands
    ):
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=err,
            env={k: v for k, v in os.environ.items() if k != NO_BYTECODE} | (environment or {}),
            start_new_session=True,
            cwd=folder,
        )
        timer = threading.Timer(LIMIT_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        found = meanwhile(began, process) if meanwhile else {}
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        record: Record = {
            "began": began,
            "process_seconds": seconds,
            "peak_mb": usage.ru_maxrss / 1024,
            "output": out.read(),
            **found,
        }
        if process.returncode:
            said = " | ".join(err.read().strip().splitlines()[-3:]).replace(str(ROOT), ".")
            record["error"] = f"ended with {process.returncode}: {said}"
        return record


def run_script(setting: Setting, program: str, python: str, seed: int) -> Record:
    """A program of `programs/`: what it printed last, beside what was measured from outside."""
    chosen = PROGRAMS[program]
    order = {
        "env": setting.env,
        "algo": setting.algo,
        "env_steps": setting.fewer_env_steps.get(program, setting.env_steps),
        "n_envs": setting.n_envs,
        "n_steps": setting.n_steps,
        "hyper": setting.hyper,
        "ours": setting.ours,
        "wrappers": list(setting.wrappers),
        "normalize": setting.normalize,
        "seed": seed,
        "options": chosen.options,
    }
    if setting.kind == "solve":
        order["solve"] = {
            "env": setting.env,
            "every": setting.eval_every,
            "episodes": table_of.SOLVED_EPISODES,
            "return": table_of.SOLVED_RETURN,
        }
    threads = str(chosen.options.get("threads", ""))
    limited = {"OMP_NUM_THREADS": threads} if threads and chosen.venv else {}
    command = [python, str(PROGRAMS_FOLDER / chosen.script), json.dumps(order)]
    record = measured(command, limited)
    lines = [line for line in record.pop("output").splitlines() if line.startswith("{")]
    if lines:
        record |= json.loads(lines[-1])
    elif "error" not in record:
        record["error"] = "printed no result"
    began = record.pop("began")
    if solved := record.pop("solved", None):
        record |= {"solve_seconds": solved["at"] - began, "return": solved["return"]}
        record["env_steps"] = solved["env_steps"]
    return record


def dressage_command() -> str:
    return str(Path(sys.executable).with_name("dressage"))


def solve_by_command(setting: Setting, seed: int) -> Record:
    """`dressage train` as typed, from the command to the end of the process."""
    with tempfile.TemporaryDirectory() as runs:
        words = [
            f"seed={seed}",
            f"env_steps={setting.env_steps}",
            f"stop_at_return={table_of.SOLVED_RETURN}",
            f"eval_every={setting.eval_every}",
            f"eval_episodes={table_of.SOLVED_EPISODES}",
        ]
        record = measured([dressage_command(), "train", setting.env, *words, "--runs", runs])
        rows = metric_rows(Path(runs))
        record["engine"] = engine_of(Path(runs))
    record = {k: v for k, v in record.items() if k not in ("began", "output")}
    returns = [row["val/roll/ep_rew_mean"] for row in rows if row.get("val/roll/ep_rew_mean")]
    if not rows or not returns:
        return record | {"error": record.get("error", "the run has no evaluation")}
    record |= {"return": float(returns[-1]), "env_steps": int(rows[-1]["env_steps"])}
    if record["return"] >= table_of.SOLVED_RETURN:
        record["solve_seconds"] = record["process_seconds"]
    return record


def start_by_command(setting: Setting, seed: int) -> Record:
    """How long `dressage --help` takes, and a training command until its first row is written."""
    told = measured([dressage_command(), "--help"])

    def first_row(began: float, process: subprocess.Popen[bytes]) -> Record:
        # the process is not waited for here: `measured` needs its resource usage
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if any(path.read_bytes().count(b"\n") > 1 for path in Path(runs).glob("*/metrics.csv")):
                return {"first_row_seconds": time.monotonic() - began}
            time.sleep(POLL_SECONDS)
        return {}

    with tempfile.TemporaryDirectory() as runs:
        words = [f"seed={seed}", f"env_steps={setting.env_steps}", "--runs", runs]
        record = measured([dressage_command(), "train", setting.env, *words], None, first_row)
        record["engine"] = engine_of(Path(runs))
    record = {k: v for k, v in record.items() if k not in ("began", "output")}
    if "error" in told:
        record["error"] = told["error"]
    return record | {"help_seconds": told["process_seconds"]}


def metric_rows(runs: Path) -> list[dict[str, str]]:
    """The rows of the one run in a folder of runs."""
    import csv

    found = list(runs.glob("*/metrics.csv"))
    if not found:
        return []
    with found[0].open() as file:
        return list(csv.DictReader(file))


def engine_of(runs: Path) -> str | None:
    """What the one run in a folder of runs was computed by; the command leaves it to dressage."""
    found = list(runs.glob("*/system.json"))
    return json.loads(found[0].read_text()).get("engine") if found else None


def run_one(name: str, program: str, pythons: dict[str, str], repeat: int) -> Record:
    setting = SETTINGS[name]
    if program == "dressage-command":
        by_command: dict[str, Callable[[Setting, int], Record]] = {
            "solve": solve_by_command,
            "start": start_by_command,
        }
        record = by_command[setting.kind](setting, repeat)
    else:
        record = run_script(setting, program, pythons[program], repeat)
    return {"setting": name, "program": program, "repeat": repeat, **record}


def jobs_of(names: list[str], programs: list[str] | None) -> list[tuple[str, str]]:
    """What a round has to run: the programs asked for, and the unit of a setting's ratios."""
    jobs = [(n, p) for n in names for p in SETTINGS[n].programs if not programs or p in programs]
    for name in names:
        unit = SETTINGS[name].reference
        for program in ("peak", "sb3") if unit else ():
            if (unit, program) not in jobs:
                jobs.insert(0, (unit, program))
    return jobs


def run(
    names: list[str], programs: list[str] | None, repeats: int, venvs: Path, results: Path
) -> None:
    """Family by family: round after round, every program once a round."""
    # pip compiles what it installs, peers among them; our sources are run where they lie
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "src")], check=True)
    for family in dict.fromkeys(SETTINGS[name].family for name in names):
        members = [name for name in names if SETTINGS[name].family == family]
        jobs = jobs_of(members, programs)
        pythons, missing = interpreters({program for _, program in jobs}, venvs)
        records: list[Record] = []
        for repeat in range(repeats):
            for name, program in jobs:
                if program in missing:
                    continue
                record = run_one(name, program, pythons, repeat)
                records.append(record)
                print(described(record), flush=True)
            for name in members:
                write(name, records, missing, results)
        for name in members:
            check_headers(records, name)


def interpreters(programs: set[str], venvs: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The Python of each program, and why some have none."""
    pythons, missing = {}, {}
    for program in sorted(programs):
        venv = PROGRAMS[program].venv
        found = Path(sys.executable) if venv is None else python_of(venv, venvs)
        if isinstance(found, str):
            missing[program] = found
        else:
            pythons[program] = str(found)
    return pythons, missing


def described(record: Record) -> str:
    lead = f"{record['repeat']} {record['setting']} {record['program']}"
    if "error" in record:
        return f"{lead}: {record['error']}"
    if "steady_seconds" in record:
        speed = record["steady_env_steps"] / record["steady_seconds"]
        return f"{lead}: {speed:,.0f} env steps/s, {record['process_seconds']:.1f} s"
    return f"{lead}: {record['process_seconds']:.1f} s"


def write(name: str, records: list[Record], missing: dict[str, str], results: Path) -> None:
    """One file a setting, with the runs that are the unit of its ratios."""
    setting = SETTINGS[name]
    unit = setting.reference or name
    mine = [
        {k: v for k, v in r.items() if k != "header"}
        for r in records
        if r["setting"] == name or (r["setting"] == unit and r["program"] in ("sb3", "peak"))
    ]
    content = {
        "setting": name,
        "source": setting.source,
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "dressage": commit(),
        "command": f"python -m benchmarks.speed {' '.join(sys.argv[1:])}",
        "missing": {p: why for p, why in missing.items() if p in setting.programs},
        "runs": mine,
    }
    results.mkdir(parents=True, exist_ok=True)
    (results / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def check_headers(records: list[Record], name: str) -> None:
    """Both engines record the same metrics: the headers of their metrics.csv are equal."""
    headers = {
        r["program"]: r["header"]
        for r in records
        if r["setting"] == name and r["program"] in ("dressage-native", "dressage-torch")
        if "header" in r
    }
    if len(headers) == 2:
        native, torch = headers["dressage-native"], headers["dressage-torch"]
        assert native == torch, (
            f"{name}: metrics.csv has other columns with engine=native than with engine=torch: "
            f"only native {sorted(set(native) - set(torch))}, only torch "
            f"{sorted(set(torch) - set(native))}, or another order"
        )


def machine() -> str:
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [s for s in cpuinfo.read_text().splitlines() if s.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}"


def commit() -> str:
    """Of the working tree, with a mark if its sources were changed since."""
    git = ["git", "-C", str(ROOT)]
    try:
        told = [*git, "rev-parse", "--short", "HEAD"]
        head = subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip()
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src"]).returncode
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + (" with changes" if changed else "")


def shrink(iterations: int = 4, longest_rollout: int = 32) -> None:
    """For smoke runs: every setting with a budget of a few short iterations."""
    for name, setting in SETTINGS.items():
        n_steps = min(setting.n_steps, longest_rollout)
        rollout = setting.n_envs * n_steps
        hyper = setting.hyper
        if "learning_starts" in hyper:
            n_steps = rollout = 32  # an iteration is many rounds
            hyper = hyper | {"learning_starts": 16, "train_freq": min(hyper["train_freq"], 32)}
            hyper = hyper | {"gradient_steps": 1}
        elif "batch_size" in hyper:
            hyper = hyper | {"batch_size": min(hyper["batch_size"], rollout)}
        SETTINGS[name] = replace(
            setting,
            env_steps=iterations * rollout,
            n_steps=n_steps,
            hyper=hyper,
            eval_every=iterations * rollout // 2,
            fewer_env_steps=dict.fromkeys(setting.fewer_env_steps, 24 * rollout),
        )

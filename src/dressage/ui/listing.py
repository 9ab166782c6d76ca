"""Rows of `dressage runs`: read from the ends of files, so that hundreds of runs list at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from dressage.errors import ConfigError, RunError, did_you_mean
from dressage.runs.find import list_runs
from dressage.runs.group import Group
from dressage.runs.run import Run
from dressage.runs.table import last_row
from dressage.ui.progress.members import STATE_STYLES, mean_of
from dressage.ui.progress.track import EVALUATION, RETURN
from dressage.ui.tables import Column, table
from dressage.ui.text import count, number

STATUSES = ("running", "finished", "stopped", "halted", "failed", "crashed")
Row = dict[str, Any]


def list_rows(
    root: Path, *, env: str | None, algo: str | None, status: str | None, limit: int
) -> tuple[list[Row], int]:
    """The newest matching runs, oldest first, and how many more there are."""
    if status is not None and status not in STATUSES:
        raise ConfigError(
            f"--status {status} is none of {', '.join(STATUSES)}.{did_you_mean(status, STATUSES)}"
        )
    rows: list[Row] = []
    left_out = 0
    for run in reversed(list_runs(root)):
        wanted = (env, algo) == (None, None) or _matches(run, env, algo)
        if not wanted or (status is not None and run.status != status):
            continue
        if len(rows) < limit:
            rows.append(_row(run))
        else:
            left_out += 1
    return rows[::-1], left_out


def _config(run: Run | Group) -> dict[str, Any]:
    try:
        return run.config
    except RunError:  # damaged, or a group of which no member has begun
        return {}


def _matches(run: Run | Group, env: str | None, algo: str | None) -> bool:
    config = _config(run)
    return env in (None, config.get("env")) and algo in (None, config.get("algo"))


def _row(run: Run | Group) -> Row:
    config = _config(run)
    ends = [last_row(member.path / "metrics.csv") for member in run.members]
    return {
        "run_id": run.id,
        "path": str(run.path),
        "status": run.status,
        "env": config.get("env"),
        "algo": config.get("algo"),
        "seeds": [entry["seed"] for entry in run.listed]
        if isinstance(run, Group)
        else [config.get("seed")],
        "env_steps": sum(int(end.get("env_steps", 0)) for end in ends),
        "ep_rew_mean": mean_of([end.get(RETURN) for end in ends]),
        "eval_return_mean": mean_of(
            [_evaluated(member, end) for member, end in zip(run.members, ends, strict=True)]
        ),
    }


def _evaluated(run: Run, end: dict[str, float]) -> float | None:
    """The newest evaluation where the last row holds it, else the best one."""
    if EVALUATION in end:
        return end[EVALUATION]
    best = run.best
    return None if best is None else best["evaluation"].get(EVALUATION)


def listing_table(rows: list[Row], width: int) -> Table:
    columns = [
        Column("run"),
        Column("status"),
        Column("env steps", right=True, drop=1),
        Column("return", right=True, drop=2),
        Column("evaluation", right=True),
        Column("seeds", right=True, drop=3),
        Column("env", drop=4),
    ]
    cells = [
        [
            row["run_id"],
            Text(row["status"], STATE_STYLES.get(row["status"], "")),
            count(row["env_steps"]),
            number(row["ep_rew_mean"]),
            number(row["eval_return_mean"]),
            str(len(row["seeds"])),
            str(row["env"] or ""),
        ]
        for row in rows
    ]
    return table(columns, cells, width)

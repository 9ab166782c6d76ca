"""How training ended: the JSON object of `dressage train`, and the same in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from dressage.runs.group import Group
from dressage.runs.run import Run, is_run
from dressage.ui.progress.members import STATE_STYLES, mean_of
from dressage.ui.tables import Cell, Column, table
from dressage.ui.text import count, duration, number

STOPS = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM", "SIGHUP": "the terminal closing"}
UNWELL = ("failed", "crashed")


def outcome(run: Run | Group) -> dict[str, Any]:
    """`run_id`, `path`, `env_steps`, … as DESIGN.md lists them; `members` for a group."""
    return _group_outcome(run) if isinstance(run, Group) else _run_outcome(run)


def _run_outcome(run: Run) -> dict[str, Any]:
    known = run.summary()
    threshold, evaluated = run.spec.get("reward_threshold"), known["eval_return_mean"]
    best = run.best
    return {
        "run_id": run.id,
        "path": str(run.path),
        "status": known["status"],
        "reason": run.status_details().get("reason", ""),
        "seed": known["seed"],
        "env_steps": known["env_steps"] or 0,
        "env_steps_per_second": known["env_steps_per_second"],
        "wall_seconds": known["wall_seconds"],
        "ep_rew_mean": known["ep_rew_mean"],
        "eval_return_mean": evaluated,
        "threshold": threshold,
        "solved": None if threshold is None or evaluated is None else evaluated >= threshold,
        "best_checkpoint": best and best["env_steps"],
        "best_return_mean": best and best["evaluation"].get("val/roll/ep_rew_mean"),
    }


def _group_outcome(group: Group) -> dict[str, Any]:
    """The pooled view: totals of steps, means of returns, solved only if every seed is."""
    members = []
    for entry in group.listed:
        path = group.path / entry["path"]
        if is_run(path):
            members.append(_run_outcome(Run(path)))
        else:
            status = entry.get("status", "waiting")
            members.append({"seed": entry["seed"], "path": str(path), "status": status})
    seconds = [m["wall_seconds"] for m in members if m.get("wall_seconds")]
    solved = [m.get("solved") for m in members]
    env_steps = sum(m.get("env_steps", 0) for m in members)
    return {
        "run_id": group.id,
        "path": str(group.path),
        "status": group.status,
        "env_steps": env_steps,
        "env_steps_per_second": _total(members, "env_steps_per_second"),
        "wall_seconds": max(seconds, default=None),
        "ep_rew_mean": mean_of([m.get("ep_rew_mean") for m in members]),
        "eval_return_mean": mean_of([m.get("eval_return_mean") for m in members]),
        "threshold": next((m["threshold"] for m in members if m.get("threshold")), None),
        "solved": None if None in solved else all(solved),
        "members": members,
    }


def _total(members: Sequence[dict[str, Any]], name: str) -> float | None:
    known = [m[name] for m in members if m.get(name) is not None]
    return sum(known) if known else None


def failed_members(found: dict[str, Any]) -> str:
    """The sentence about members that failed; empty where none did."""
    members = found.get("members", ())
    failed = [m for m in members if m["status"] in UNWELL]
    if not failed:
        return ""
    named = "; ".join(f"seed {m['seed']}: {m.get('reason') or m['status']}" for m in failed)
    return f"{len(failed)} of {len(members)} seeds failed ({named})."


def print_outcome(console: Console, found: dict[str, Any], commands: Sequence[str]) -> None:
    """A verdict, the numbers behind it, and what to type next."""
    console.print()
    console.print(_verdict(found))
    if "members" in found:
        console.print(members_table(found, console.width))
    for label, value in _facts(found):
        line = Text.assemble((f"  {label:<11}", "dim"), value)
        console.print(line, soft_wrap=label == "run")
    for label, command in zip(["next", ""], commands, strict=False):
        line = Text.assemble((f"  {label:<11}", "dim"), (command, "cyan"))
        console.print(line, soft_wrap=True)


def _verdict(found: dict[str, Any]) -> Text:
    if "members" in found:
        return _group_verdict(found)
    if found["status"] != "finished":
        reason = found.get("reason")
        if reason in STOPS:
            return Text(f"Stopped by {STOPS[reason]}, with a checkpoint.", "bold yellow")
        if found["status"] == "halted":
            return Text(f"Halted by the guard. {reason}", "bold red")
        why = f" ({reason})" if reason else ""
        return Text(f"{found['status'].capitalize()}{why}.", "bold yellow")
    if found["eval_return_mean"] is None:
        return Text("Finished; it was not evaluated.", "bold")
    reached = number(found["eval_return_mean"])
    if found["threshold"] is None:
        return Text(f"Finished with an evaluation return of {reached}.", "bold")
    threshold = number(found["threshold"])
    if found["solved"]:
        return Text(f"Solved: evaluation return {reached}, threshold {threshold}.", "bold green")
    return Text(f"Not solved: evaluation return {reached}, threshold {threshold}.", "bold yellow")


def _group_verdict(found: dict[str, Any]) -> Text:
    members = found["members"]
    finished = sum(m["status"] == "finished" for m in members)
    sentence, whole = f"Finished {finished} of {len(members)} seeds", finished == len(members)
    if found["threshold"] is not None:
        solved = sum(bool(m.get("solved")) for m in members)
        sentence += f"; {solved} solved it (threshold {number(found['threshold'])})"
        whole = solved == len(members)
    return Text(f"{sentence}.", "bold green" if whole else "bold yellow")


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    speed, seconds = count(found["env_steps_per_second"]), duration(found["wall_seconds"])
    facts = [("env steps", f"{count(found['env_steps'])} in {seconds} ({speed} a second)")]
    if "members" not in found:
        facts.append(("training", f"return {number(found['ep_rew_mean'])} (last 100 episodes)"))
        if found["best_checkpoint"] is not None:
            best = number(found["best_return_mean"])
            facts.append(("best", f"return {best} at {count(found['best_checkpoint'])} env steps"))
    return [*facts, ("run", found["path"])]


def members_table(found: dict[str, Any], width: int) -> Any:
    """One row a member, and a pooled row."""
    rows: list[list[Cell]] = [
        [
            str(m["seed"]),
            Text(m["status"], STATE_STYLES.get(m["status"], "")),
            count(m.get("env_steps")),
            number(m.get("ep_rew_mean")),
            number(m.get("eval_return_mean")),
            {True: "yes", False: "no", None: ""}[m.get("solved")],
        ]
        for m in found["members"]
    ]
    solved = sum(bool(m.get("solved")) for m in found["members"])
    pooled: list[Cell] = ["all", f"{len(rows)} seeds", count(found["env_steps"])]
    pooled += [number(found["ep_rew_mean"]), number(found["eval_return_mean"])]
    pooled.append("" if found["threshold"] is None else f"{solved} of {len(rows)}")
    columns = [
        Column("seed"),
        Column("state", drop=2),
        Column("env steps", right=True, drop=1),
        Column("return", right=True),
        Column("evaluation", right=True),
        Column("solved"),
    ]
    return table(columns, rows, width, pooled=pooled)

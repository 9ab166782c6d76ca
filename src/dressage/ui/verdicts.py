"""What `dressage evaluate` shows: a table of the seeds of a group, and the facts of all of it."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from dressage.ui.tables import Column, table
from dressage.ui.text import count, number


def evaluation_facts(found: dict[str, Any]) -> list[Text]:
    members = found.get("members", [found])
    low, high = found["interval"]
    episodes = f"{members[0]['episodes']} episodes"
    if "members" in found:
        heading = f"{found['run_id']}: {len(members)} seeds, {episodes} each"
    else:
        heading = f"{found['run_id']} at {count(found['env_steps'])} env steps: {episodes}"
    facts = [
        ("return", f"{number(found['mean'])}, 95 % interval {number(low)} to {number(high)}"),
        ("middle", f"interquartile mean {number(found['iqm'])}, deviation {number(found['std'])}"),
    ]
    if "min" in found:
        facts.append(("range", f"{number(found['min'])} to {number(found['max'])}"))
        facts.append(("length", f"{number(found['length_mean'])} env steps an episode"))
    if found.get("success_rate") is not None:
        facts.append(("success", f"{found['success_rate']:.0%} of episodes"))
    lines = [Text(heading, "bold")]
    lines += [Text.assemble((f"  {label:<11}", "dim"), value) for label, value in facts]
    if found["threshold"] is not None:
        lines.append(_verdict(found, len(members)))
    lines += [Text(one["warning"], "yellow") for one in members if one.get("warning")]
    return lines


def _verdict(found: dict[str, Any], members: int) -> Text:
    threshold = number(found["threshold"])
    if "members" in found:
        solved, whole = (
            f"solved by {found['solved']} of {members} seeds",
            found["solved"] == members,
        )
    else:
        solved, whole = "solved" if found["solved"] else "not solved", bool(found["solved"])
    style = "green" if whole else "yellow"
    return Text.assemble(("  verdict    ", "dim"), (f"{solved} (threshold {threshold})", style))


def evaluation_table(found: dict[str, Any], width: int) -> Table:
    columns = [
        Column("seed"),
        Column("mean", right=True),
        Column("95 % interval", right=True),
        Column("IQM", right=True, drop=2),
        Column("lowest", right=True, drop=1),
        Column("highest", right=True, drop=3),
        Column("checkpoint", right=True, drop=4),
        Column("solved"),
    ]
    members = found["members"]
    rows = [_row(one, one["run_id"].rpartition("/")[2]) for one in members]
    pooled = _row(found, "all")
    if found["threshold"] is not None:
        pooled[-1] = f"{found['solved']} of {len(members)}"
    return table(columns, rows, width, pooled=pooled)


def _row(one: dict[str, Any], name: str) -> list[str]:
    low, high = one["interval"]
    figures = [number(one.get(key)) for key in ("iqm", "min", "max")]
    solved = "" if one["threshold"] is None else "yes" if one["solved"] else "no"
    interval = f"{number(low)} to {number(high)}"
    return [name, number(one["mean"]), interval, *figures, count(one.get("env_steps")), solved]

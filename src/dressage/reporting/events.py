"""What happened, and on what it ran."""

from __future__ import annotations

from typing import Any

from dressage.reporting.document import Block, Code, Fold, Paragraph, Table, Words
from dressage.reporting.numbers import UNKNOWN, clean, value_text, whole
from dressage.reporting.source import RunData

MOST = 100
QUIET = ("episodes", "checkpoint")  # bookkeeping
ENVELOPE = ("kind", "env_steps", "time", "format")


def event_blocks(data: RunData) -> list[Block]:
    return [*event_table(data), *system_blocks(data)]


def event_table(data: RunData) -> list[Block]:
    told = [event for event in data.events if event.get("kind") not in QUIET]
    blocks: list[Block] = []
    if told:
        rows = [_event_row(event) for event in told[:MOST]]
        blocks.append(Table(("Env steps", "Event", "What", "Time (UTC)"), rows, numeric=(0,)))
    else:
        blocks.append(Paragraph("No event was recorded."))
    if len(told) > MOST:
        blocks.append(Paragraph(f"{len(told) - MOST} further events are in events.jsonl."))
    return blocks


def _event_row(event: dict[str, Any]) -> list[Words]:
    steps = event.get("env_steps")
    return [
        whole(steps) if isinstance(steps, int) and not isinstance(steps, bool) else UNKNOWN,
        clean(event.get("kind", "unknown"), 60),
        _what(event),
        clean(event.get("time", ""), 40).replace("T", " ")[:19],
    ]


def _what(event: dict[str, Any]) -> str:
    if event.get("kind") == "resume":
        exact = "exactly" if event.get("exact") else "not exactly"
        parts = [f"resumed {exact}"]
        for key in ("changed", "reasons", "skipped"):
            if event.get(key):
                parts.append(f"{key}: {value_text(event[key])}")
        return clean("; ".join(parts))
    rest = {key: value for key, value in event.items() if key not in ENVELOPE}
    if len(rest) == 1:
        return value_text(next(iter(rest.values())))
    return clean("; ".join(f"{clean(key, 60)}: {value_text(value)}" for key, value in rest.items()))


def system_blocks(data: RunData) -> list[Block]:
    system = data.system
    if not data.ours:
        return []
    if not system:
        return [Paragraph("What it ran on is not known: system.json could not be read.")]
    cpu = (
        f"{clean(system.get('cpu', UNKNOWN), 120)}, {clean(system.get('cpu_count', '?'), 9)} cores"
    )
    rows: list[list[Words]] = [
        ["Python", f"{clean(system.get('python', UNKNOWN), 60)}"],
        ["Platform", clean(system.get("platform", UNKNOWN), 160)],
        ["Processor", cpu],
    ]
    if system.get("engine"):
        why = f" ({clean(system['engine_reason'])})" if system.get("engine_reason") else ""
        rows.append(["Updates computed by", clean(system["engine"], 60) + why])
    if system.get("backend"):
        rows.append(["Environments stepped", clean(system["backend"], 60)])
    if system.get("git"):
        rows.append(["Git commit", Code(clean(system["git"], 60))])
    packages = system.get("packages")
    if isinstance(packages, dict):
        named = ", ".join(f"{clean(k, 60)} {clean(v, 60)}" for k, v in list(packages.items())[:60])
        rows.append(["Packages", named])
    return [Fold("System and versions", Table(("", ""), rows))]

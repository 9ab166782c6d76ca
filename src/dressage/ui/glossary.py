"""What the words of a run mean: metrics from the dictionary, settings from the Config classes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.text import Text

from dressage.errors import ConfigError, RunError, did_you_mean
from dressage.runs.metrics import METRICS, describe

Entry = dict[str, Any]


def overview() -> list[Entry]:
    return [_metric(name) for name in METRICS]


def entries(word: str) -> list[Entry]:
    """Everything of that name: a metric by its whole name or its last part, and settings."""
    found = _metrics(word)
    settings = _settings()
    from dressage.core.config import ALIASES

    name = ALIASES.get(word, word)
    if name in settings:
        found.append(settings[name])
    if not found:
        hint = did_you_mean(word, [*METRICS, *(m.rpartition("/")[2] for m in METRICS), *settings])
        raise ConfigError(
            f"There is no metric or setting named '{word}'.{hint} `dressage explain` lists all "
            "metrics, `dressage config ENV` all settings."
        )
    return found


def _metrics(word: str) -> list[Entry]:
    try:
        return [_metric(word)]
    except RunError:
        return [_metric(name) for name in METRICS if name.rpartition("/")[2] == word]


def _metric(name: str) -> Entry:
    return {"kind": "metric", **asdict(describe(name))}


def _settings() -> dict[str, Entry]:
    """By name; a setting that several algorithms have is told once, with all of them."""
    from dressage.algos import ALGORITHMS, load_algorithm
    from dressage.core.config import RunConfig

    models = {"every run": RunConfig} | {n: load_algorithm(n).Config for n in ALGORITHMS}
    found: dict[str, Entry] = {}
    for owner, model in models.items():
        for name, field in model.model_fields.items():
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            entry = found.setdefault(
                name,
                {"kind": "setting", "name": name, "meaning": field.description, "defaults": {}},
            )
            entry["defaults"][owner] = default if _plain(default) else str(default)
    return found


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, list, tuple, dict))


def entry_text(entry: Entry) -> Group:
    lines = [Text.assemble((entry["name"], "bold"), (f"  {entry['kind']}", "dim"))]
    lines.append(Text(f"  {entry['meaning']}"))
    facts: list[tuple[str, str]] = []
    if entry["kind"] == "metric":
        facts = [
            ("unit", entry["unit"]),
            ("healthy", entry["healthy"]),
            ("interval", f"{entry['aggregate']} over the log interval"),
        ]
    else:
        facts = [(f"default, {owner}", str(value)) for owner, value in entry["defaults"].items()]
    lines += [Text.assemble((f"  {label}: ", "dim"), value) for label, value in facts]
    return Group(*lines)

"""What the words of a run and of its diagnosis mean: metrics from the dictionary, settings from the
Config classes, rules and causes from theirs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.text import Text

from dressage.errors import ConfigError, RunError, did_you_mean
from dressage.runs.metrics import METRICS, cited, describe

Entry = dict[str, Any]


def overview() -> list[Entry]:
    return [_metric(name) for name in METRICS]


def entries(word: str) -> list[Entry]:
    """Everything of that name: a metric by its whole name or its last part, settings, rules by id
    or name, causes; else what another library calls so."""
    found = _metrics(word) + _rules(word) + _causes(word)
    settings = _settings()
    from dressage.core.config import ALIASES

    name = ALIASES.get(word, word)
    if name in settings:
        found.append(settings[name])
    found = found or _named_elsewhere(word, settings)
    if not found:
        hint = did_you_mean(word, [*_all_words(), *settings])
        raise ConfigError(
            f"There is no metric, setting, rule or cause named '{word}'.{hint} `dressage explain` "
            "lists all metrics, `dressage config ENV` all settings."
        )
    return found


def _metrics(word: str) -> list[Entry]:
    try:
        return [_metric(word)]
    except RunError:
        return [_metric(name) for name in METRICS if name.rpartition("/")[2] == word]


def _metric(name: str) -> Entry:
    told = describe(name)
    return {"kind": "metric", **asdict(told), "sources": cited(told.healthy)}


def _named_elsewhere(word: str, settings: dict[str, Entry]) -> list[Entry]:
    """Our metrics and settings that another library calls so, each with who does."""
    from dressage.ui.other_names import metrics_named, settings_named

    found: dict[str, Entry] = {}
    for ours, says in metrics_named(word):
        entry = found.setdefault(ours, _metric(ours) | {"named_by": []})
        entry["named_by"].append(says)
    for ours, says in settings_named(word):
        if ours in settings:
            entry = found.setdefault(ours, settings[ours] | {"named_by": []})
            entry["named_by"].append(says)
    return list(found.values())


def _rules(word: str) -> list[Entry]:
    from dressage.diagnosis.pages import page, rule_named

    rule = rule_named(word)
    if rule is None:
        return []
    told = page(rule)
    return [
        {
            "kind": "rule",
            "name": f"{rule.id} {rule.name}",
            "meaning": told.title,
            "severity": rule.severity,
            "status": "measured" if told.measured else "preview",
            "on_labelled_runs": told.on_labelled_runs,
            "families": list(rule.families),
            "looks_at": told.looks_at,
            "sections": told.sections,
            "thresholds": {n: [t.value, t.source] for n, t in rule.thresholds.items()},
            "speaks_for": dict(told.speaks_for),
            "sources": told.sources,
        }
    ]


def _causes(word: str) -> list[Entry]:
    from dressage.diagnosis.causes import CAUSES
    from dressage.diagnosis.pages import page, rules_of

    if word not in CAUSES:
        return []
    cause = CAUSES[word]
    return [
        {
            "kind": "cause",
            "name": cause.id,
            "meaning": f"The run suffers from {cause.title}.",
            "place": cause.place,
            "families": list(cause.families),
            "rules": {rule.id: page(rule).title for rule, _ in rules_of(word)},
        }
    ]


def _all_words() -> list[str]:
    from dressage.diagnosis.causes import CAUSES
    from dressage.diagnosis.registry import all_rules

    rules = [word for id, rule in all_rules().items() for word in (id, rule.name)]
    return [*METRICS, *(m.rpartition("/")[2] for m in METRICS), *rules, *CAUSES]


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
    named = entry.get("named_by", ())
    lines += [Text.assemble(("  named ", "dim"), says) for says in named]
    facts: list[tuple[str, str]] = []
    if entry["kind"] == "metric":
        facts = [
            ("unit", entry["unit"]),
            ("healthy", entry["healthy"]),
            ("interval", f"{entry['aggregate']} over the log interval"),
        ]
    elif entry["kind"] == "rule":
        facts = list(entry["sections"].items())
        facts += [
            ("looks at", ", ".join(entry["looks_at"]) or "the returns and episodes"),
            ("algorithms", ", ".join(entry["families"])),
            ("labelled runs", entry["on_labelled_runs"]),
            ("speaks for", ", ".join(list(entry["speaks_for"])[:8])),
            ("severity", f"{entry['severity']}, {entry['status']}"),
        ]
    elif entry["kind"] == "cause":
        facts = [("where", entry["place"]), ("algorithms", ", ".join(entry["families"]))]
        facts += [(f"shows as {id}", title) for id, title in list(entry["rules"].items())[:10]]
    else:
        facts = [(f"default, {owner}", str(value)) for owner, value in entry["defaults"].items()]
    facts += [(f"[{mark}]", full) for mark, full in entry.get("sources", {}).items()]
    lines += [Text.assemble((f"  {label}: ", "dim"), value) for label, value in facts]
    return Group(*lines)

"""The reference pages, made from the code; mkdocs calls `on_files` (see `hooks` in mkdocs.yml).

`python docs/generate.py FOLDER` writes them as Markdown files, to look at.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import typer
import yaml

from dressage.algos import ALGORITHMS
from dressage.core.config import (
    ALIASES,
    NetworkSettings,
    OptimizerSettings,
    RunConfig,
    Settings,
    TorsoSettings,
)
from dressage.core.replay import ReplaySettings
from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.diagnose import shipped_rates
from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.pages import page, rules_of
from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.report import FORMAT
from dressage.diagnosis.report.schema import schema
from dressage.diagnosis.rule import FAMILIES, Rule
from dressage.envs.wrappers import WRAPPERS
from dressage.explore.bonus import BonusSettings
from dressage.presets import presets
from dressage.runs import metrics
from dressage.ui.cli.app import app

WIDTH = 100  # of the commands' help, in characters
SHARED = {  # groups of settings with a section of their own
    "networks": (NetworkSettings, TorsoSettings),
    "replay memory": (ReplaySettings,),
    "optimizer": (OptimizerSettings,),
    "exploration bonus": (BonusSettings,),
}
BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name, content in pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def pages() -> dict[str, str]:
    return {
        "algorithms": algorithms_page(),
        "settings": settings_page(),
        "presets": presets_page(),
        "metrics": metrics_page(),
        "wrappers": wrappers_page(),
        "rules": rules_page(),
        "causes": causes_page(),
        "diagnosis": diagnosis_page(),
        "commands": commands_page(),
    }


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# -- algorithms and settings ------------------------------------------------------------------


def algorithms_page() -> str:
    parts = [
        "# Algorithms",
        "Each is one module. Name it after the environment, `dressage train CartPole-v1:a2c`, or "
        "as a setting, `algo=a2c`. [Your own](../own/algorithm.md) works the same way.",
        table(
            ["name", "feed", "observations", "actions", "recurrent", "action masks", "status"],
            [[f"[{name}](#{name})", *_facts(name)] for name in ALGORITHMS],
        ),
    ]
    for name, path in ALGORITHMS.items():
        parts += _algorithm(name, importlib.import_module(path))
    return "\n\n".join(parts) + "\n"


def _facts(name: str) -> list[str]:
    needs = importlib.import_module(ALGORITHMS[name]).NEEDS
    yes = {True: "yes", False: "no"}
    status = "preview: no learning curve beside a reference yet" if needs.preview else "measured"
    observations = "Discrete" if needs.tabular else "any"
    actions = ", ".join(needs.actions)
    return [needs.feed, observations, actions, yes[needs.recurrent], yes[needs.masks], status]


def _algorithm(name: str, module: Any) -> list[str]:
    bases = module.Config.__mro__
    shared = {title: group for title, group in SHARED.items() if set(group) & set(bases)}
    elsewhere = {Settings, *(base for group in shared.values() for base in group)}
    mine = [base for base in bases if issubclass(base, Settings) and base not in elsewhere]
    own = [f for f in module.Config.model_fields if any(f in b.__annotations__ for b in mine)]
    others = [f"[{title}](settings.md#{title.replace(' ', '-')})" for title in shared]
    sometimes = module.NEEDS.metrics_at_times
    found = [
        f"## {name}",
        f"```text\n{inspect.getdoc(module)}\n```",
        f"### Settings of {name}",
        f"Beside these it has those of {', '.join(others)}{' and ' if others else ''}"
        "[every run](settings.md#every-run).",
        settings_table(module.Config, own),
        f"### Metrics of {name}",
        "In every run: " + ", ".join(f"`{m}`" for m in module.NEEDS.metrics) + ".",
    ]
    if sometimes:
        listed = ", ".join(f"`{m}`" for m in sometimes)
        found.append(f"Depending on settings and spaces: {listed}.")
    return found


def settings_page() -> str:
    names = ", ".join(f"`{short}` for `{name}`" for short, name in ALIASES.items())
    return "\n\n".join(
        [
            "# Settings",
            "One flat list for the command line (`key=value`), files (`--config`) and Python "
            "(`dressage.train(env, key=value)`). `dressage config ENV:ALGO` prints the values in "
            "force and where each came from. *Number or schedule* takes a number or a text such as "
            "`linear(3e-4, 0)`: see [schedules](../guides/schedules.md).",
            f"Other names for the same: {names}.",
            "## Every run",
            settings_table(RunConfig, list(RunConfig.model_fields)),
            "## Networks",
            settings_table(NetworkSettings, list(NetworkSettings.model_fields)),
            "## Replay memory",
            "Of algorithms whose feed is `replay`; some set other defaults.",
            settings_table(ReplaySettings, list(ReplaySettings.model_fields)),
            "## Optimizer",
            "An algorithm may set other defaults; its own table says so.",
            settings_table(OptimizerSettings, list(OptimizerSettings.model_fields)),
            "## Exploration bonus",
            "See [exploration](../guides/exploration.md).",
            settings_table(BonusSettings, list(BonusSettings.model_fields)),
        ]
    )


def settings_table(model: type[Settings], names: list[str]) -> str:
    schema = model.model_json_schema()["properties"]
    rows = []
    for name in names:
        field = model.model_fields[name]
        default = field.get_default(call_default_factory=True)
        shown = "(required)" if field.is_required() else f"`{_shown(default)}`"
        rows.append([f"`{name}`", shown, _kind(schema[name]), field.description or ""])
    return table(["setting", "default", "takes", "meaning"], rows)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


def _kind(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    names = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "true, false",
        "array": "list",
        "object": "mapping",
        "null": "none",
    }
    kind = names.get(schema.get("type", ""), "number or schedule")
    bounds = [f"{word} {schema[key]:g}" for key, word in BOUNDS.items() if _matters(schema, key)]
    return ", ".join([kind, *bounds])


def _matters(schema: dict[str, Any], key: str) -> bool:
    return key in schema and abs(schema[key]) < 2**62  # a seed's bound is that of an integer


def presets_page() -> str:
    parts = [
        "# Presets",
        "Settings that `dressage train ENV` uses unless told otherwise; your own overrides win. "
        "`dressage presets ENV` prints one.",
    ]
    for (env, algo), preset in sorted(presets().items()):
        parts += [f"## {env} with {algo}", f"```yaml\n{_yaml(preset.settings)}```"]
        if preset.earned:
            parts += ["Tried:", f"```yaml\n{_yaml(preset.earned)}```"]
        else:
            parts.append("No results are recorded for it yet.")
    return "\n\n".join(parts) + "\n"


def _yaml(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


# -- metrics, wrappers, commands ----------------------------------------------------------------


def metrics_page() -> str:
    groups = {
        "Counters": metrics.LEAD_COLUMNS,
        "Experience": ("train/roll/",),
        "Losses": ("train/loss/",),
        "Updates": ("train/metrics/",),
        "Settings in force and counts": ("train/hp/", "train/cnt/"),
        "Evaluation": ("val/",),
        "Speed": ("sys/",),
    }
    sources = (inspect.getdoc(metrics) or "").partition("\n\n")[2]
    parts = [
        "# Metrics",
        "The columns of [metrics.csv](../guides/run-directory.md#metricscsv). *Over an interval* "
        "says how the values within one log interval become one cell. A `*` stands for one column "
        "per network, setting or count. `dressage explain NAME` prints an entry.",
        f"```text\n{sources}\n```",
        _letters(),
    ]
    for title, prefixes in groups.items():
        found = [m for m in metrics.METRICS.values() if m.name.startswith(prefixes)]
        rows = [[f"`{m.name}`", m.unit, m.meaning, m.healthy, m.aggregate] for m in found]
        parts.append(f"## {title}")
        parts.append(table(["name", "unit", "meaning", "healthy", "over an interval"], rows))
    shown = {m for prefixes in groups.values() for m in metrics.METRICS if m.startswith(prefixes)}
    assert shown == set(metrics.METRICS), f"no place for {set(metrics.METRICS) - shown}"
    return "\n\n".join(parts) + "\n"


def _letters() -> str:
    """What the letters of sources stand for."""
    return "\n".join(f"- [{mark}] {full}" for mark, full in metrics.SOURCES.items())


def rules_page() -> str:
    rules = all_rules()
    parts = [
        "# Rules",
        "What `dressage diagnose` looks for, one symptom a rule. `dressage explain ID` prints one. "
        "A threshold marked *guess* has no source yet; a rule is *preview* until its rates on "
        "labelled runs are known. Letters in brackets are sources:",
        _letters(),
    ]
    for family in FAMILIES:
        mine = [rule for rule in rules.values() if rule.family == family]
        if not mine:
            continue
        parts.append(f"## {family.capitalize()}")
        rows = [[f"[{r.id}](#{r.id.lower()})", r.name, page(r).title, r.severity] for r in mine]
        parts.append(table(["id", "name", "symptom", "severity"], rows))
        for rule in mine:
            parts += _rule(rule)
    return "\n\n".join([*parts, *_gauges()]) + "\n"


def _gauges() -> list[str]:
    """Numbers without a threshold, and where labelled runs of causes lie unlike healthy ones."""
    rows = []
    for gauge, ranges in shipped_rates().gauges.items():
        logs = ranges.logs("unknown")
        apart = {cause: told - logs[HEALTHY] for cause, told in logs.items() if cause != HEALTHY}
        most = sorted(apart, key=lambda cause: -float(apart[cause].max()))[:3]
        bounds = ["-inf", *(f"{cut:.3g}" for cut in ranges.cuts), "inf"]
        places = [int(apart[cause].argmax()) for cause in most]
        unlike = [
            f"[{cause}](causes.md#{cause}) {bounds[at]} to {bounds[at + 1]}"
            for cause, at in zip(most, places, strict=True)
        ]
        cuts = ", ".join(f"{cut:.3g}" for cut in ranges.cuts)
        rows.append([f"`{gauge}`", cuts, ", ".join(unlike)])
    return [
        "## Gauges",
        "Numbers that have no threshold. Labelled runs have told in which range each lies, cause "
        "by cause (`src/dressage/diagnosis/gauges.py` says how each part of a metric is read). "
        "Last: the causes that put it most unlike a healthy run, and the range.",
        table(["gauge", "ranges meet at", "most unlike a healthy run"], rows),
    ]


def _rule(rule: Rule) -> list[str]:
    told = page(rule)
    looked = ", ".join(f"`{name}`" for name in told.looks_at) or "returns and episodes"
    causes = ", ".join(f"[{id}](causes.md#{id}) {rate:g}" for id, rate in told.speaks_for)
    sections = [f"**{name}.** {text}" for name, text in told.sections.items()]
    return [
        f"### {rule.id}",
        f"{told.title} (`{rule.name}`; {'measured' if told.measured else 'preview'})",
        *sections,
        f"**Looks at.** {looked}; {', '.join(rule.families)}.",
        f"**On labelled runs.** {told.on_labelled_runs}",
        f"**How often each cause is expected to show it.** {causes}.",
    ]


def causes_page() -> str:
    parts = [
        "# Causes",
        "What a diagnosis can name, where it lies, and the rules that it is expected to make fire.",
    ]
    for cause in CAUSES.values():
        shows = "; ".join(
            f"[{rule.id}](rules.md#{rule.id.lower()}) {page(rule).title}"
            for rule, _ in rules_of(cause.id)[:6]
        )
        parts += [
            f"## {cause.id}",
            f"The run suffers from {cause.title}. ({cause.place}; {', '.join(cause.families)})",
            f"Shows as: {shows or 'nothing that a log holds for certain.'}",
        ]
    return "\n\n".join(parts) + "\n"


def wrappers_page() -> str:
    rows = [[f"`{w.usage}`", w.meaning] for w in WRAPPERS.values()]
    return "\n\n".join(
        [
            "# Wrappers",
            "Named in `wrappers=`, the innermost first. After the colon come the wrapper's "
            "arguments. See [environments and wrappers](../guides/environments.md), and "
            "[a wrapper of your own](../own/wrapper.md).",
            table(["write", "meaning"], rows),
        ]
    )


def diagnosis_page() -> str:
    whole = schema()
    parts = [
        "# JSON of a diagnosis",
        "What `dressage diagnose --json` prints as its last line; for several settings at once "
        '`{"runs": [...]}` of these. Keys may be added, none is renamed or removed while `format` '
        f"is {FORMAT}. A number that is not known is `null`.",
        _keys(whole),
    ]
    for key in ("causes", "symptoms", "prescriptions"):
        parts += [f"## {key}", _keys(whole["properties"][key]["items"])]
    seeds = whole["properties"]["seeds"]["anyOf"][0]
    analyses = whole["properties"]["analyses"]["items"]
    parts += ["## seeds", "Of a set of runs.", _keys(seeds), "## analyses", _keys(analyses)]
    for key, inner in analyses["properties"].items():
        inner = inner.get("items", inner)
        if "properties" in inner:
            parts += [f"### {key}", _keys(inner)]
    text = json.dumps(whole, indent=1, ensure_ascii=False)
    parts += ["## The schema", f"```json\n{text}\n```"]
    return "\n\n".join(parts) + "\n"


def _keys(rule: dict[str, Any]) -> str:
    rows = [
        [f"`{key}`", _json_kind(inner), inner.get("description", "")]
        for key, inner in rule["properties"].items()
    ]
    return table(["key", "type", "meaning"], rows)


def _json_kind(rule: dict[str, Any]) -> str:
    if "enum" in rule:
        return " or ".join(f"`{word}`" for word in rule["enum"])
    if "const" in rule:
        return f"`{rule['const']}`"
    if "anyOf" in rule:
        return " or ".join(dict.fromkeys(_json_kind(one) for one in rule["anyOf"]))
    kind = rule.get("type", "any")
    if kind == "array":
        return f"list of {_json_kind(rule['items'])}"
    return kind if isinstance(kind, str) else " or ".join(kind)


def commands_page() -> str:
    root = typer.main.get_command(app)
    parts = ["# Commands", "What `--help` prints.", _help(root, ["dressage"], None)]
    return "\n\n".join(parts) + "\n"


def _help(command: Any, path: list[str], parent: Any) -> str:
    settings = {"resilient_parsing": True, "parent": parent, "max_content_width": WIDTH}
    context = command.make_context(path[-1], [], terminal_width=WIDTH, **settings)
    parts = [
        f"{'#' * (1 + len(path))} {' '.join(path)}",
        f"```text\n{command.get_help(context)}\n```",
    ]
    for name, sub in getattr(command, "commands", {}).items():
        parts.append(_help(sub, [*path, name], context))
    return "\n\n".join(parts)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in pages().items():
        (folder / f"{name}.md").write_text(content, encoding="utf-8")

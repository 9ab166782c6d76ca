"""What was I given? A run's id, @last, a group, a folder or a file of any library, or several.

The first mark that fits counts, from the most to the least telling. A folder that is no run itself
is looked through for runs below it. Links within what was given are never followed.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dressage.errors import ConfigError, DressageError, RunError, did_you_mean
from dressage.runs.algorithms import canonical_algorithm
from dressage.runs.find import LAST, find, runs_root, split_checkpoint
from dressage.runs.group import Group
from dressage.runs.metrics import describe
from dressage.runs.readers import (
    assemble,
    cleanrl,
    generic,
    gymnasium_solver,
    mlflow,
    own,
    rllib,
    saved_weights,
    sb3,
    tianshou,
    vocabulary,
    wandb,
)
from dressage.runs.readers.called_alike import tell_apart
from dressage.runs.readers.event_files import is_event_file, read_events
from dressage.runs.readers.nothing_known import say_what_is_needed, without_strangers
from dressage.runs.readers.safe import (
    is_file,
    open_file,
    read_json_file,
    read_yaml,
    subfolders,
    walk,
    zip_entries,
)
from dressage.runs.readers.sb3_zip import settings_in
from dressage.runs.readers.tables import LINE, read_csv, read_json_lines
from dressage.runs.run import Run
from dressage.runs.view import RunView, Series

RUNS = 500  # read at once
DEPTH = 4  # folders below the given one in which runs are looked for
JSON_LINES = (".jsonl", ".ndjson", ".json")
TABLES = (".csv", ".tsv", *JSON_LINES)
UNDERSTOOD = (
    "runs of dressage, Stable-Baselines3, CleanRL, RLlib, Tianshou, gymnasium-solver, W&B and "
    "MLflow, event files of TensorBoard, CSV and JSON lines, weights in safetensors"
)
Reader = Callable[[], RunView]


def read(
    path: str | Path | Sequence[str | Path],
    *,
    config: str | Path | Mapping[str, Any] | None = None,
    mapping: Mapping[str, str] | None = None,
    root: str | Path | None = None,
) -> list[RunView]:
    """The runs that `path` names, each as a view.

    `config`: settings that the log lacks, as a file (YAML, JSON, an SB3 zip) or a mapping; they
    count before those of the log. `mapping`: our name of a metric to the log's own. `root`: the
    folder of our own runs.
    """
    paths = [path] if isinstance(path, (str, Path)) else list(path)
    wanted = _checked(mapping or {})
    settings = _settings(config)
    views = _once([view for one in paths for view in _read_one(one, wanted, runs_root(root))])
    if not views:
        raise RunError("There is nothing to read: name a run, a folder or a file.")
    for view in views:
        view.id = view.id or view.path.resolve().name  # of `.` and what lies in it
        _rename(view, wanted)
        if settings:
            _check_algorithm(view, settings)
            _configure(view, settings)
    tell_apart(views)
    for view in views:
        say_what_is_needed(view)
        assemble.finish(view)
    return views


def _once(views: list[RunView]) -> list[RunView]:
    """A run that was named twice would count as two seeds that agree."""
    kept: dict[tuple[Path, str], RunView] = {}
    for view in views:
        first = kept.setdefault((view.path.resolve(), view.id), view)
        if first is not view:
            assemble.note(first, f"{view.path} was given more than once and counts once.")
    return list(kept.values())


def _checked(mapping: Mapping[str, str]) -> dict[str, str]:
    for ours in mapping:
        describe(ours)  # says what is nearest if it is no metric
    return dict(mapping)


def _read_one(name: str | Path, mapping: Mapping[str, str], root: Path) -> list[RunView]:
    path = Path(name)
    try:
        exists = path.exists()
    except (OSError, ValueError):
        exists = False
    if exists and path.is_file():
        return _read_file(path, mapping)
    if exists and not _is_ours(path) and path.name != LAST and not is_file(path / "group.json"):
        if not path.is_dir():
            raise RunError(f"{path} is neither a folder nor a regular file.")
        return _read_folder(path, mapping)
    try:
        found = find(split_checkpoint(str(name))[0] if not exists else name, root)
    except RunError as error:
        if exists or str(name) == LAST:
            raise
        raise RunError(f"{error} Nor is there a file or folder {path}.") from None
    if isinstance(found, Group):
        members = found.members
        if not members:
            raise RunError(f"No member of the group {found.id} has begun yet.")
        return [own.read(member) for member in members]
    return [own.read(found)]


def _is_ours(folder: Path) -> bool:
    """Our config.json holds its format and where values came from; gymnasium-solver's does not."""
    if not is_file(folder / "config.json"):
        return (folder / "config.json").is_symlink() and is_file(folder / "status.json")
    try:
        content = read_json_file(folder / "config.json")
    except DressageError:
        return is_file(folder / "status.json")  # damaged, but nobody else writes this file
    return isinstance(content, dict) and "format" in content and "values" in content


def _read_folder(folder: Path, mapping: Mapping[str, str]) -> list[RunView]:
    """A run, or the runs below."""
    views: list[RunView] = []
    todo = [(folder, 0)]
    unread: list[str] = []
    while todo:
        here, depth = todo.pop(0)
        try:
            found = _runs_in(here, mapping)
        except DressageError as error:
            if here == folder:
                raise
            unread.append(str(error))
            continue
        views += found
        if len(views) > RUNS:
            raise RunError(f"{folder} holds more than {RUNS} runs: name some of them.")
        if not found and depth < DEPTH:
            todo += [(child, depth + 1) for child in subfolders(here)]
    if not views:
        views = _weights_in(folder, unread)
    if not views:
        reason = f" {unread[0]}" if unread else ""
        raise RunError(
            f"There is no run in {folder} that can be read.{reason} Known are: {UNDERSTOOD}."
        )
    views = without_strangers(folder, views, mapping)
    saved_weights.join(folder, views, DEPTH)
    for view in views:
        assemble.note(view, *unread[:3])
    return views


def _weights_in(folder: Path, unread: list[str]) -> list[RunView]:
    """Where there is no log: a run for each folder of weights."""
    views: list[RunView] = []
    for home, files in saved_weights.by_folder(folder, DEPTH).items():
        try:
            views.append(saved_weights.read(home, files))
        except RunError as error:
            unread.append(str(error))
    return views


def _runs_in(folder: Path, mapping: Mapping[str, str]) -> list[RunView]:
    """The run that a folder is, or the tables in it; nothing if it is neither."""
    if _is_ours(folder):
        return [own.read(Run(folder))]
    files = list(walk(folder, depth=0))
    names = {file.name for file in files}
    if "meta.yaml" in names and (folder / "metrics").is_dir():
        return [mlflow.read(folder)]
    if _is_wandb(folder, names):
        return [wandb.read(folder, list(walk(folder, depth=3)), mapping)]
    if names & {"result.json", "params.json"}:
        return [rllib.read(folder, files)]
    if {"config.json", "metrics.csv"} <= names:
        return [gymnasium_solver.read(folder, list(walk(folder, depth=2)))]
    if "progress.csv" in names and rllib.looks_like(_csv_names(folder / "progress.csv")):
        return [rllib.read(folder, files)]
    if "progress.csv" in names or (
        sb3.JSON in names and sb3.looks_like(_json_names(folder / sb3.JSON))
    ):
        return [sb3.read(folder, [*files, *_beside(folder)])]
    if events := [file for file in files if is_event_file(file)]:
        return [_read_event_files(folder, [*files, *_beside(folder)], events, mapping)]
    if any(sb3.is_monitor(file) or file.suffix in (".zip", ".npz") for file in files):
        below = [file for file in walk(folder, depth=2) if is_event_file(file)]
        if len({file.parent for file in below}) > 1:
            return []  # several calls of learn(), each of which logged into a folder of its own
        return [sb3.read(folder, [*files, *below, *_beside(folder)])]
    # Settings beside tables are no tables.
    tables = [file for file in files if file.suffix in TABLES and "config" not in file.stem]
    return [view for file in tables if file.suffix != ".json" for view in _read_file(file, mapping)]


def _is_wandb(folder: Path, names: Iterable[str]) -> bool:
    inner = folder / "files"
    return (
        "wandb-summary.json" in names
        or is_file(inner / "wandb-summary.json")
        or is_file(inner / "wandb-metadata.json")
        or any(name.endswith(".wandb") for name in names)
    )


def _beside(folder: Path) -> list[Path]:
    """What SB3 and RL-Zoo put into folders below a run: settings, evaluations, models."""
    wanted = ("config.yml", "args.yml", "evaluations.npz")
    return [
        file
        for child in subfolders(folder)
        for file in walk(child, depth=1)
        if file.name in wanted or file.suffix == ".zip"
    ]


def _csv_names(file: Path) -> set[str]:
    with open_file(file) as stream:
        line = stream.readline(LINE).decode("utf-8-sig", "replace").strip("\r\n")
    try:
        return set(next(csv.reader([line]), []))
    except csv.Error:
        return set()


def _json_names(file: Path) -> set[str]:
    """Of the first row of JSON lines."""
    with open_file(file) as stream:
        line = stream.readline(LINE)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return set()
    return set(row) if isinstance(row, dict) else set()


def _read_event_files(
    path: Path, files: list[Path], events: list[Path], mapping: Mapping[str, str]
) -> RunView:
    found = read_events(events)
    tags = set(found.scalars)
    if "env_steps" not in mapping:
        if cleanrl.looks_like(tags) or "hyperparameters" in found.texts:
            return cleanrl.read(path, files, found)
        if sb3.looks_like(tags):
            return sb3.read(path, files, found)
        if tianshou.looks_like(tags):
            return tianshou.read(path, files, found)
    return generic.read_events_as(path, found, mapping)


def _read_file(file: Path, mapping: Mapping[str, str]) -> list[RunView]:
    """One file alone. The name of what was given may itself be a link: it was asked for."""
    file = file.resolve() if file.is_symlink() else file
    if is_event_file(file):
        return [_read_event_files(file, [file], [file], mapping)]
    if file.suffix in (".zip", ".npz") or sb3.is_monitor(file):
        return [sb3.read(file, [file])]
    if file.suffix == saved_weights.SUFFIX:
        return [saved_weights.read(file, [file])]
    if file.suffix == ".wandb":
        return [wandb.read(file, [file], mapping)]
    if file.suffix in (".csv", ".tsv", ".txt"):
        names = _csv_names(file)
        if "env_steps" not in mapping:
            if file.name == "progress.csv" and rllib.looks_like(names):
                return [rllib.read(file, [file])]
            if file.name == "progress.csv" and sb3.looks_like(names):
                return [sb3.read(file, [file])]
            if file.name == "metrics.csv" and gymnasium_solver.looks_like(names):
                return [gymnasium_solver.read(file, [file])]
        return generic.read_table(file, read_csv(file), mapping)
    if file.suffix in JSON_LINES:
        if "env_steps" not in mapping:
            if file.name == "result.json":
                return [rllib.read(file, [file])]
            if file.name == sb3.JSON and sb3.looks_like(_json_names(file)):
                return [sb3.read(file, [file])]
        table = read_json_lines(file, skip=("config",))
        if not table.rows:
            raise RunError(f"{file} holds no table: one JSON object a line is expected.")
        return generic.read_table(file, table, mapping)
    if file.suffix in (".yml", ".yaml"):
        raise RunError(f"{file} holds settings, no log: give the log, and this with --config.")
    raise RunError(f"{file} is of no kind that can be read. Known are: {UNDERSTOOD}.")


def _rename(view: RunView, mapping: Mapping[str, str]) -> None:
    """Series that a person says are this or that metric."""
    for ours, theirs in mapping.items():
        if ours == "env_steps":
            continue
        known = {own_name: name for name, own_name in view.own_names.items()}
        source = theirs if theirs in view.series else known.get(theirs)
        if source is None or source not in view.series:
            named = [*view.unknown, *known]
            raise RunError(f"{view.id} has no metric '{theirs}'.{did_you_mean(theirs, named)}")
        series = view.series.pop(source)
        view.series[ours] = Series(series.env_steps, series.values)
        view.own_names.pop(source, None)
        view.own_names[ours] = theirs
        view.unknown = [name for name in view.unknown if name not in (source, ours)]


def _settings(config: str | Path | Mapping[str, Any] | None) -> dict[str, Any]:
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    file = Path(config)
    file = file.resolve() if file.is_symlink() else file
    if file.suffix == ".zip":
        entries = zip_entries(file, ("data",))
        if "data" not in entries:
            raise RunError(f"{file} holds no settings: it is not a model of SB3.")
        from dressage.runs.files import parse_json

        content = parse_json(entries["data"], f"{file}: data")
        content = settings_in(content) if isinstance(content, dict) else content
    else:
        content = read_json_file(file) if file.suffix == ".json" else read_yaml(file)
    if not isinstance(content, dict):
        raise RunError(f"{file} holds no settings: names with values are expected.")
    if "values" in content and "format" in content:  # of a run of ours
        content = content["values"]
    return wandb.unwrapped(content)


def _check_algorithm(view: RunView, settings: Mapping[str, Any]) -> None:
    """Settings of another algorithm would be judged as those of the log."""
    blank = RunView(Path(), "", sb3.LIBRARY)
    told = canonical_algorithm(settings.get("algo", ""))
    if told is None and "policy_kwargs" in settings:  # a model of SB3
        told = sb3.algorithm(settings, set(), blank)
    logged = view.algo
    if told is None or logged is None or view.library == generic.LIBRARY:
        return  # of a table it is known from the file's name at best
    # SB3 stores DDPG as TD3. A folder's name may say one thing, and what is logged another.
    if told == logged or {told, logged} == {"td3", "ddpg"}:
        return
    if told == sb3.algorithm({}, {*view.own_names.values(), *view.unknown}, blank):
        return
    config_of, log_of = (name.replace("_", "-").upper() for name in (told, logged))
    raise ConfigError(
        f"The config is of {config_of} and the log of {log_of} ({view.id}): give the config of "
        "that run."
    )


def _configure(view: RunView, settings: Mapping[str, Any]) -> None:
    """Settings given beside the log, which count before its own."""
    before, own_before, env, algo = view.config, view.own_config, view.env, view.algo
    words = vocabulary.by_library(view.library) or vocabulary.guess(view.own_names.values())
    view.algo, view.env, view.config = None, None, {}
    vocabulary.configure(view, words, settings)
    view.config = before | view.config
    view.own_config = own_before | view.own_config
    view.env, view.algo = view.env or env, view.algo or algo
    view.budget = assemble.positive(view.config.get("env_steps"))

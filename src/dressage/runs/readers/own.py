"""Runs of our own: finished, crashed, or still being written."""

from __future__ import annotations

from dressage.errors import DressageError, RunError
from dressage.runs.algorithms import canonical_algorithm
from dressage.runs.readers import assemble
from dressage.runs.readers.names import Names
from dressage.runs.readers.safe import is_file, read_text
from dressage.runs.readers.tables import read_csv
from dressage.runs.run import Run
from dressage.runs.view import Episodes, RunView, State

LIBRARY = "dressage"
CLOCK = ("env_steps",)
NAMES = Names(())  # our names are the names
SETTINGS = ()
STATES: dict[str, State] = {
    "running": "running",
    "finished": "finished",
    "stopped": "stopped",
    "halted": "stopped",
    "failed": "crashed",
    "crashed": "crashed",
}


def read(run: Run) -> RunView:
    folder = run.path
    view = RunView(folder, run.id, LIBRARY)
    for name in ("config.json", "status.json", "spec.json", "events.jsonl", "episodes.csv"):
        if (folder / name).is_symlink():
            raise RunError(f"{folder / name} is a link, which a run never contains: not read.")
    try:
        view.config = dict(run.config)
    except DressageError as error:
        assemble.note(view, str(error))
    view.own_config = view.config
    algo = view.config.get("algo")
    view.algo = canonical_algorithm(algo) or assemble.text_of(algo)
    view.env = assemble.text_of(view.config.get("env"))
    details = run.status_details()
    view.state = STATES.get(str(details.get("state")), "unknown")
    if view.state == "crashed" and assemble.text_of(details.get("reason")):
        assemble.note(view, f"The run ended with: {details['reason']}")
    _add_spec(view, run)
    if is_file(folder / "metrics.csv"):
        table = read_csv(folder / "metrics.csv")
        assemble.add_table(view, table, assemble.clock_or_rows(view, table, CLOCK), NAMES, CLOCK)
    _add_episodes(view, run)
    view.events = run.events() if is_file(folder / "events.jsonl") else []
    if is_file(folder / "run.log"):
        try:
            assemble.add_log(view, read_text(folder / "run.log"))
        except DressageError as error:
            assemble.note(view, str(error))
    view.weights = [path for path in run.checkpoints().values() if not path.is_symlink()]
    return assemble.finish(view)


def _add_spec(view: RunView, run: Run) -> None:
    try:
        view.spec = run.spec
    except DressageError as error:
        assemble.note(view, str(error))
        return
    threshold = view.spec.get("reward_threshold")
    if isinstance(threshold, (int, float)) and not isinstance(threshold, bool):
        view.threshold = float(threshold)


def _add_episodes(view: RunView, run: Run) -> None:
    if not is_file(run.path / "episodes.csv"):
        return
    columns = run.episodes()
    if not {"env_steps", "return", "length"} <= columns.keys():
        return
    episodes = Episodes(
        columns["env_steps"], columns["return"], columns["length"], columns.get("ended")
    )
    assemble.add_episodes(view, episodes, "return", "length")

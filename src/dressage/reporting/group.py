"""The report of a group of seeds: every seed thin, their mean with an interval, and the members."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from dressage.math.summary import bootstrap_interval, interquartile_mean, student_t_quantile
from dressage.reporting.curve import threshold_level
from dressage.reporting.document import (
    Added,
    Block,
    Chart,
    Charts,
    Document,
    Floats,
    Paragraph,
    Section,
    Series,
    Table,
    Tile,
    Tiles,
    Words,
)
from dressage.reporting.episodes import episode_blocks
from dressage.reporting.events import event_table, system_blocks
from dressage.reporting.facts import first_at, no_threshold, solved, speed
from dressage.reporting.group_steps import group_steps
from dressage.reporting.numbers import UNKNOWN, clean, duration, interval, number, whole
from dressage.reporting.panels import (
    PANELS,
    Panel,
    key_table,
    measured,
    moves,
    own_panels,
    panel_chart,
)
from dressage.reporting.sections import next_blocks, source_blocks, table_blocks
from dressage.reporting.settings import settings_blocks
from dressage.reporting.source import EVALUATION, RETURN, RunData, read
from dressage.runs.group import Group

GRID = 150
MOST_THIN = 16  # seeds, beyond which only the learning curve shows each
MOST_NAMED = 3  # runs of no group that its name consists of
MOST_NOTES = 12


@dataclass(frozen=True)
class Gathered:
    """Runs that are shown as one: a group of seeds, or runs of one setting from anywhere."""

    id: str
    status: str
    members: list[RunData]
    missing: list[str] = field(default_factory=list)  # seeds that have not begun

    @property
    def count(self) -> int:
        return len(self.members) + len(self.missing)


def gather(group: Group) -> Gathered:
    members = group.members
    begun = {member.path.name for member in members}
    missing = [clean(entry["seed"], 40) for entry in group.listed if entry["path"] not in begun]
    return Gathered(clean(group.id, 200), group.status, [read(m) for m in members], missing)


def group_document(group: Gathered, added: Added | None = None) -> Document:
    members = group.members
    if not members:
        says = Paragraph("No member of this group has begun.")
        sections = [Section("summary", "Training run summary", [says])]
        return Document("Group of runs", group.id, group.status, sections)
    first = members[0]
    curve = group_curve(members)
    columns = _mean_columns(members)
    table, outside = key_table(columns)
    summary: list[Block] = [
        *(added.summary if added else ()),
        Tiles(_tiles(group)),
        curve,
        _member_table(group),
    ]
    events: list[Block] = []
    for data in members[:8]:
        told = [event for event in data.events if event.get("kind") not in ("begin", "end")]
        if told or data is first:
            events += [Paragraph(f"Seed {_seed(data)}:"), *event_table(data)]
    events += system_blocks(first)
    steps = group_steps(group, outside) if first.ours else []
    seeds = f"{len(members)} seed{'s' * (len(members) > 1)}"
    return Document(
        title=f"{first.task}, {seeds}",
        run_id=_short_name(group),
        status=group.status,
        sections=[
            Section("summary", "Training run summary", summary),
            Section("metrics", "Key metrics analysis", _metrics(members, columns, table, added)),
            *(added.sections if added else ()),
            Section("next", "Suggested next steps", next_blocks(steps, added)),
            Section("settings", "Hyperparameters", settings_blocks(first)),
            Section("episodes", "Episodes", episode_blocks(members)),
            Section("events", "Events and system", events),
        ],
        curve=curve,
        notes=_notes(members),
    )


def _short_name(group: Gathered) -> str:
    """Its id; runs that are no group have the list of theirs, of which the first few are enough."""
    ids = [data.id for data in group.members]
    left = len(ids) - MOST_NAMED
    if left < 2:
        return group.id
    return group.id.replace(", ".join(ids), f"{', '.join(ids[:MOST_NAMED])} and {left} more")


def _notes(members: list[RunData]) -> list[str]:
    told = [f"Seed {_seed(data)}: {note}" for data in members for note in data.notes]
    left = len(told) - MOST_NOTES
    return [*told[:MOST_NOTES], f"{left} more such notes were left out."] if left > 1 else told


def _seed(data: RunData) -> str:
    return clean(data.config.get("seed", data.name), 40)


def on_grid(members: list[RunData], name: str) -> tuple[Floats, Floats]:
    """A metric of all members at common env steps: [GRID], [members, GRID], nan outside a run."""
    tracks = []
    for data in members:
        x, y = data.series(name)
        known = np.isfinite(y)
        tracks.append((x[known], y[known]))
    begun = [x for x, _ in tracks if len(x)]
    if not begun:
        return np.empty(0), np.empty((len(members), 0))
    low, high = min(float(x[0]) for x in begun), max(float(x[-1]) for x in begun)
    grid = np.linspace(low, high, min(GRID, max(2, max(len(x) for x in begun))))
    rows = [
        np.interp(grid, x, y, left=np.nan, right=np.nan) if len(x) else np.full(len(grid), np.nan)
        for x, y in tracks
    ]
    return grid, np.array(rows)


def mean_series(grid: Floats, rows: Floats, name: str, color: int = 0) -> Series:
    """The mean over the seeds that reach a place, with Student's interval where there are two."""
    known = np.isfinite(rows)
    count = known.sum(axis=0)
    total = np.where(known, rows, 0.0).sum(axis=0)
    mean = np.divide(total, count, out=np.full(len(grid), np.nan), where=count > 0)
    squares = np.where(known, (rows - mean) ** 2, 0.0).sum(axis=0)
    half = np.full(len(grid), np.nan)
    for n in np.unique(count[count >= 2]).tolist():
        at = count == n
        half[at] = student_t_quantile(0.975, n - 1) * np.sqrt(squares[at] / (n - 1) / n)
    return Series(name, grid, mean, "line", color, mean - half, mean + half)


def group_curve(members: list[RunData]) -> Chart:
    series: list[Series] = []
    for data in members:
        x, y = data.series(RETURN)
        series.append(Series(f"seed {_seed(data)}", x, y, style="thin", color=0))
    grid, rows = on_grid(members, RETURN)
    series.append(mean_series(grid, rows, "training, mean over seeds, 95 % interval"))
    grid, rows = on_grid(members, EVALUATION)
    if len(grid):
        series.append(mean_series(grid, rows, "evaluation, mean over seeds, 95 % interval", 1))
    says = (
        "Undiscounted return. Thin lines are single seeds (their training mean); bands "
        "are Student's 95 % interval of the mean over seeds."
    )
    return Chart(
        title=f"Learning curve, {members[0].env}, {len(members)} seeds" if members else "No seeds",
        series=series,
        unit="return",
        caption=[says],
        robust=False,
        level=threshold_level(members[0]) if members else None,
        wide=True,
    )


def _tiles(group: Gathered) -> list[Tile]:
    members = group.members
    finals = np.array([float(e.mean[-1]) for m in members if len(e := m.evaluations())])
    tiles = []
    if len(finals):
        bounds = ""
        if len(finals) > 1:
            generator = np.random.default_rng(0)  # the same report for the same runs
            bounds = interval(*bootstrap_interval(finals, interquartile_mean, generator))
        detail = "of the last evaluations" + (f", 95 % {bounds}" if bounds else "")
        iqm = float(interquartile_mean(finals))
        tiles.append(Tile("Interquartile mean", number(iqm), detail))
        spread = f"worst {number(float(finals.min()))}, best {number(float(finals.max()))}"
        tiles.append(Tile("Mean over seeds", number(float(finals.mean())), spread))
    answers = [solved(data, data.evaluations()) for data in members]
    if members[0].threshold is None:
        tiles.append(Tile("Solved", UNKNOWN, no_threshold(members[0])))
    else:
        known = [answer for answer in answers if answer is not None]
        detail = f"threshold {number(members[0].threshold)}"
        tiles.append(Tile("Solved", f"{sum(known)} of {len(members)}", detail))
    steps = sum(data.last("env_steps") or 0.0 for data in members)
    each = members[0].budget
    tiles.append(Tile("Env steps", whole(steps), f"budget {whole(each)} a seed" if each else ""))
    ended = sum(data.state == "finished" for data in members)
    tiles.append(Tile("Finished", f"{ended} of {group.count}", group.status))
    return tiles


def _member_table(group: Gathered) -> Table:
    rows: list[list[Words]] = []
    for data in group.members:
        found = data.evaluations()
        reached = UNKNOWN
        if data.threshold is not None:
            at = first_at(found.env_steps, found.mean, data.threshold)
            reached = "not reached" if at is None else whole(at)
        bounds = interval(found.low[-1], found.high[-1]) if len(found) else ""
        rows.append(
            [
                _seed(data),
                data.state,
                whole(data.last("env_steps")),
                number(data.last(RETURN)),
                f"{number(float(found.mean[-1]))} {bounds}".strip() if len(found) else UNKNOWN,
                number(float(found.mean.max())) if len(found) else UNKNOWN,
                reached,
                duration(data.last("wall_seconds")),
                whole(speed(data)),
            ]
        )
    rows += [[seed, "not begun", *([UNKNOWN] * 7)] for seed in group.missing]
    header = (
        "Seed", "Status", "Env steps", "Training return", "Last evaluation, 95 %", "Best",
        "Env steps to threshold", "Wall time", "Env steps/s",
    )  # fmt: skip
    return Table(header, rows, numeric=(2, 3, 4, 5, 6, 7, 8))


def _mean_columns(members: list[RunData]) -> dict[str, Floats]:
    """The metrics of the group for the table: means over seeds on common env steps."""
    names = dict.fromkeys(name for data in members for name in data.metrics)
    columns = {}
    for name in names:
        grid, rows = on_grid(members, name)
        if len(grid):
            columns[name] = mean_series(grid, rows, name).y
    return columns


def _metrics(
    members: list[RunData], columns: dict[str, Floats], table: Table, added: Added | None
) -> list[Block]:
    if not columns:
        return [Paragraph("No metrics were recorded yet.")]
    headings: dict[str, list[Chart]] = {}
    for panel in [*PANELS, *own_panels(columns)]:
        names = measured(panel.names, columns)
        for name in names:
            if any(moves(data.metrics.get(name, np.empty(0))) for data in members):
                title = panel.title
                if len(names) > 1:
                    title += f": {name.rpartition('/')[2]}"
                single = Panel(panel.heading, title, panel.names, panel.log, panel.from_zero)
                chart = panel_chart(single, [name], _seed_lines(members, name, panel.from_zero))
                headings.setdefault(panel.heading, []).append(chart)
    charts: list[Block] = [Charts(heading, made) for heading, made in headings.items()]
    says = Paragraph("Each value is the mean over seeds at the same env steps.", quiet=True)
    more = added.metrics if added else ()
    return [says, *table_blocks(table), *more, *charts, *source_blocks(list(columns))]


def _seed_lines(members: list[RunData], name: str, from_zero: bool) -> list[Series]:
    grid, rows = on_grid(members, name)
    thin = [
        Series(f"seed {_seed(data)}", grid[known], row[known], style="thin", color=0)
        for data, row in zip(members, rows, strict=True)
        if len(members) <= MOST_THIN and (known := np.isfinite(row)).any()
    ]
    mean = mean_series(grid, rows, "mean over seeds, 95 %")
    if from_zero and mean.low is not None:  # what cannot be negative has no interval there
        mean = replace(mean, low=np.maximum(mean.low, 0.0))
    return [*thin, mean]

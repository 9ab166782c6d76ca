"""The report of a diagnosis: runs in, one document a setting out, in five sections.

1 Training run summary, 2 Key metrics analysis, 3 Diagnosed bottlenecks, 4 Optimization
recommendations, 5 Suggested next steps; settings, episodes and events follow. The description and
the forms (text, Markdown, JSON, a page) are those of every report: see `dressage/reporting`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dressage.diagnosis.analyses import Analyses, analyse
from dressage.diagnosis.diagnose import Diagnosis, diagnose_seeds
from dressage.diagnosis.probes.result import ProbeResult
from dressage.diagnosis.record import Verified
from dressage.diagnosis.report.bottlenecks import bottlenecks, headline
from dressage.diagnosis.report.key_metrics import analysis_blocks, phase_marks, seed_blocks
from dressage.diagnosis.report.next_actions import first_change, next_actions
from dressage.diagnosis.report.recommendations import recommendations
from dressage.reporting import Report
from dressage.reporting.document import Added, Document, Section
from dressage.reporting.group import Gathered, group_document
from dressage.reporting.sections import run_document
from dressage.reporting.source import OURS, bounded, from_view
from dressage.runs.group import Group, is_group
from dressage.runs.readers import assemble, generic, saved_weights
from dressage.runs.view import RunView, Series

Probe = Callable[[RunView], Sequence[ProbeResult]]
FORMAT = 1  # of the JSON
OWN_TO_A_RUN = ("seed", "seeds", "run_name", "name", "guard")  # settings that seeds may differ in


@dataclass(frozen=True)
class RunAnalyses:
    """What a report shows of one run, whether or not anything is wrong."""

    run: str  # id
    analyses: Analyses


@dataclass(kw_only=True)
class DiagnosisReport(Report):
    """A diagnosis with the document that tells it."""

    diagnosis: Diagnosis
    analyses: list[RunAnalyses]
    folder: Path | None  # of the run or group, where it is ours
    running: bool  # whether any of its runs is still being written

    def to_json(self) -> dict[str, Any]:
        """As the reference page on the JSON of a diagnosis says."""
        analyses = [{"run": one.run, **asdict(one.analyses)} for one in self.analyses]
        return {"format": FORMAT, **self.diagnosis.to_json(), "analyses": analyses}


def examine(
    views: Sequence[RunView], probe: Probe | None = None, verified: Sequence[Verified] = ()
) -> list[DiagnosisReport]:
    """One report for each setting among these runs; runs of one setting count as its seeds.

    `probe`: what is measured with the first run of each setting, beside its log. `verified`: fixes
    whose effects were measured.
    """
    settings: dict[str, list[RunView]] = {}
    for view in views:
        settings.setdefault(_setting(view), []).append(view)
    return [
        examine_set(runs, probe(runs[0]) if probe is not None else (), verified)
        for runs in settings.values()
    ]


def _setting(view: RunView) -> str:
    if view.library == OURS and is_group(view.path.parent):
        return str(view.path.parent)  # one setting, though a member may have trained on for longer
    if view.library == saved_weights.LIBRARY:
        return str(view.path)  # weights alone tell nothing of their setting
    config = {k: v for k, v in view.config.items() if k not in OWN_TO_A_RUN}
    # Of a log without settings, what it holds is all that tells whether another is of its kind.
    plain = view.library == generic.LIBRARY or not config
    columns = sorted(view.own_names.items()) if plain else []
    told = [view.library, view.algo, view.env, config, columns]
    return json.dumps(told, sort_keys=True, default=str, skipkeys=True)


def examine_set(
    views: Sequence[RunView],
    probes: Sequence[ProbeResult] = (),
    verified: Sequence[Verified] = (),
) -> DiagnosisReport:
    """Runs that are seeds of one setting, or a single run."""
    from dressage.diagnosis.checkpoints import not_looked_at  # slow to import, as its rules are

    views = [_bounded(view) for view in views]
    for view in views:
        assemble.note(view, *not_looked_at(view))
    name, folder = _name_and_folder(views)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing are not known: nan
        diagnosis = replace(diagnose_seeds(views, probes=probes, verified=verified), run=name)
        analyses = [analyse(view) for view in views]
    return DiagnosisReport(
        document=_document(views, name, diagnosis, analyses),
        diagnosis=diagnosis,
        analyses=[RunAnalyses(v.id, made) for v, made in zip(views, analyses, strict=True)],
        folder=folder,
        running=any(view.state == "running" for view in views),
    )


def _bounded(view: RunView) -> RunView:
    """Numbers so large that their squares overflow count as infinite, in all that follows."""
    series = {n: Series(one.env_steps, bounded(one.values)) for n, one in view.series.items()}
    episodes = view.episodes._replace(
        returns=bounded(view.episodes.returns), lengths=bounded(view.episodes.lengths)
    )
    return replace(view, series=series, episodes=episodes, notes=[*view.notes])


def _name_and_folder(views: Sequence[RunView]) -> tuple[str, Path | None]:
    first = views[0]
    ours = first.library == OURS
    if len(views) == 1:
        return first.id, first.path if ours else None
    parent = first.path.parent
    if ours and all(v.path.parent == parent for v in views) and is_group(parent):
        return parent.resolve().name, parent
    return f"{len(views)} runs: {', '.join(view.id for view in views)}", None


def _document(
    views: Sequence[RunView], name: str, diagnosis: Diagnosis, analyses: Sequence[Analyses]
) -> Document:
    data = [from_view(view) for view in views]
    together = analysis_blocks(analyses[0]) if len(views) == 1 else seed_blocks(views, analyses)
    added = Added(
        summary=[*headline(diagnosis), *first_change(diagnosis, data)],
        metrics=together,
        sections=[
            Section("bottlenecks", "Diagnosed bottlenecks", bottlenecks(diagnosis, views)),
            Section(
                "recommendations",
                "Optimization recommendations",
                recommendations(diagnosis, views[0]),
            ),
        ],
        steps=next_actions(diagnosis, views[0], data),
        marks=phase_marks(analyses[0]) if len(views) == 1 else (),
    )
    if len(views) == 1:
        return run_document(data[0], added)
    parent = views[0].path.parent
    if is_group(parent) and parent.resolve().name == name:
        group = Group(parent)
        begun = {view.path.name for view in views}
        missing = [str(entry["seed"]) for entry in group.listed if entry["path"] not in begun]
        return group_document(Gathered(name, group.status, data, missing), added)
    states = {view.state for view in views}
    status = states.pop() if len(states) == 1 else "mixed"
    return group_document(Gathered(name, status, data), added)

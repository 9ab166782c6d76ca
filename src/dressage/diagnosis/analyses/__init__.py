"""What a report shows of every run, whether or not anything is wrong: functions of its view."""

from __future__ import annotations

from dataclasses import dataclass

from dressage.diagnosis.analyses.gradients import Gradients, gradients
from dressage.diagnosis.analyses.losses import Losses, losses
from dressage.diagnosis.analyses.phases import Phase, phases
from dressage.diagnosis.analyses.reach import Reach, reach
from dressage.diagnosis.analyses.schedule import RateSchedule, rate_schedule
from dressage.diagnosis.analyses.throughput import Throughput, throughput
from dressage.diagnosis.look import early_spread, part, returns
from dressage.runs.view import RunView

__all__ = ["Analyses", "analyse"]


@dataclass(frozen=True)
class Analyses:
    phases: list[Phase]  # of the learning curve
    reach: Reach  # env steps to the threshold, beside a reference
    losses: Losses
    gradients: Gradients
    schedule: RateSchedule  # the learning rate, and what each part of it gained
    throughput: Throughput


def analyse(run: RunView) -> Analyses:
    curve = returns(run)
    found = phases(curve, 0.5 * early_spread(run)) if len(part(curve, 0.0, 0.2)) else []
    return Analyses(
        phases=found,
        reach=reach(run),
        losses=losses(run),
        gradients=gradients(run, found),
        schedule=rate_schedule(run),
        throughput=throughput(run),
    )

"""`--fail-on`: what asks for a change of which verdict."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from dressage.diagnosis.diagnose import Diagnosis, RankedCause
from dressage.diagnosis.prescriptions import Prescription
from dressage.diagnosis.report import DiagnosisReport, examine_set
from dressage.diagnosis.rule import Finding
from dressage.diagnosis.rule import Severity as Priority
from dressage.runs.view import RunView, Series
from dressage.ui.diagnosis import reaches

STEPS = np.linspace(1000, 60_000, 60)
RUN = RunView(
    Path("elsewhere"), "run", "sb3", "ppo", "CartPole-v1", {},
    series={"train/roll/ep_rew_mean": Series(STEPS, np.linspace(20, 300, 60))},
    budget=60_000, env_steps=60_000, state="finished",
)  # fmt: skip
NAN = Finding("CKP001", "56 weights are NaN.", {})


def asked(cause: str, priority: Priority) -> Prescription:
    return Prescription(cause, {}, "Do it.", "why", "30 %", "none", priority, "look")


def report(verdict: str, *changes: Prescription, **more: object) -> DiagnosisReport:
    made = examine_set([RUN])
    causes = [RankedCause(one.cause, 0.5, [], []) for one in changes]
    told = {**made.diagnosis.__dict__, "verdict": verdict, "causes": causes, "symptoms": []}
    made.diagnosis = Diagnosis(**{**told, "prescriptions": list(changes), **more})
    return made


LONGER = asked("budget-too-small", "medium")
SECOND = asked("lr-too-high", "high")


@pytest.mark.parametrize(
    ("verdict", "level", "fails"),
    [
        ("undertrained", "high", False),
        ("undertrained", "critical", False),
        ("undertrained", "medium", True),
        ("faulty", "high", True),
        ("faulty", "critical", False),
        ("healthy", "low", False),
        ("cannot_tell", "low", False),
    ],
)
def test_a_second_cause_of_a_run_without_a_fault_does_not_count(
    verdict: str, level: str, fails: bool
) -> None:
    assert reaches(report(verdict, LONGER, SECOND), level) is fails


@pytest.mark.parametrize("verdict", ["healthy", "undertrained", "cannot_tell", "faulty"])
def test_numbers_that_are_none_count_whatever_the_verdict(verdict: str) -> None:
    made = report(verdict, symptoms=[NAN])
    assert reaches(made, "critical")
    assert not reaches(dataclasses.replace(made, diagnosis=report(verdict).diagnosis), "critical")

"""OPT042."""

from __future__ import annotations

from dressage.diagnosis.rule import Finding, Rule
from dressage.runs.view import RunView


class RunBrokeOff(Rule):
    """The run ended with an error before its budget was used.

    Why it hurts
        What was planned was not trained.

    Evidence
        The state of the run, and the env steps it came to.

    Threshold and source
        Any run that crashed.

    Prescription
        Read the last lines of its log; look at the first row that is no number.

    Known false alarms
        Machines that were switched off, where the log says so.

    References
        SB3, VecCheckNan.
    """

    id = "OPT042"
    name = "run-broke-off"
    family = "optimisation"
    severity = "critical"
    elsewhere = 0.02
    expected = {
        "nan-input": 0.95,
        "lr-too-high": 0.05,
        "grad-clip-missing": 0.15,
        "q-divergence": 0.1,
        "optimizer-state-corrupted": 0.1,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        if run.state != "crashed":
            return None
        planned = f" of {run.budget:,.0f}" if run.budget else ""
        return self.found(
            f"The run broke off after {run.env_steps:,.0f} env steps{planned}.",
            env_steps=run.env_steps,
        )

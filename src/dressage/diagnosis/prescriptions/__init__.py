"""What to change, cause by cause: settings in our words, turned into the run's own.

A patch is built from the numbers of the run and checked before it is shown. Expected effects come
from the record of verified fixes, and are ranges marked `guess` where it has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from dressage.diagnosis.look import late_return
from dressage.diagnosis.prescriptions import optimisation, surroundings, values
from dressage.diagnosis.prescriptions.fix import Fix, Patch, same
from dressage.diagnosis.prescriptions.own_words import OURS_ALONE, own_words, tellable
from dressage.diagnosis.prescriptions.valid import valid
from dressage.diagnosis.record import Effect, Verified, expected_effect
from dressage.diagnosis.rule import Finding, Severity
from dressage.errors import ConfigError
from dressage.runs.view import RunView

MOST = 3  # changes asked for at first
CLEARLY_BETTER = 0.05  # share of what a preset earned, by which a run needs none
KEPT_FROM_CONVERGING = 0.5  # share of the return that a fault cost where its fix was measured
FIXES: Mapping[str, Fix] = {**optimisation.FIXES, **values.FIXES, **surroundings.FIXES}
TOGETHER = (
    frozenset({"train_freq", "gradient_steps"}),
    frozenset({"n_steps", "n_envs", "batch_size"}),
)
PRIORITIES: Mapping[Severity, str] = {
    "critical": "lets the run converge at all (guess)",
    "high": "over 30 % fewer env steps to the threshold (guess)",
    "medium": "10 to 30 % fewer env steps to the threshold (guess)",
    "low": "under 10 % (guess)",
}


@dataclass(frozen=True)
class Prescription:
    cause: str
    patch: Patch  # in the run's own words; empty where no setting mends it
    advice: str
    rationale: str
    expected_effect: str
    risk: str
    priority: Severity
    verify: str
    ours: Patch = field(default_factory=dict)  # the same patch in our words, as `verify` takes it


def prescribe(
    cause: str,
    run: RunView,
    findings: list[Finding],
    worst: Severity,
    verified: Sequence[Verified] = (),
) -> Prescription:
    """The change that a cause asks for in this run. `verified`: what fixes have done so far."""
    fix = FIXES[cause]
    ours: Patch = {}
    if fix.make is not None:
        try:
            ours = valid(run, fix.make(run))
        except (ConfigError, ArithmeticError, LookupError, TypeError, ValueError):
            # the config says too little, or something odd
            ours = {}
    ours, in_words = tellable(run, ours)
    effect = expected_effect(verified, cause, run.algo, run.env) if ours else None
    return Prescription(
        cause=cause,
        patch=own_words(run, ours),
        advice=f"{fix.advice} {in_words}".strip(),
        rationale=" ".join(finding.says for finding in findings[:2]),
        expected_effect=(fix.expects or PRIORITIES[worst]) if effect is None else effect.says,
        risk=fix.risk,
        priority=worst if effect is None else _priority(worst, effect),
        verify=f"train it again on several seeds{_watching(run, fix.watch)}",
        ours=ours,
    )


def _watching(run: RunView, metric: str) -> str:
    """What to look at in the next run, and how to have it there where this one has it not."""
    if not metric:
        return ""
    unseen = next((one.how for one in run.not_visible() if one.metric == metric), None)
    if unseen:
        return f", and watch {run.own_name(metric)} (this run does not have it: {unseen})"
    return f", and watch {run.own_name(metric)}" if run[metric] else ""


def _priority(worst: Severity, effect: Effect) -> Severity:
    """What was measured decides, but for what keeps a run from converging at all."""
    if worst == "critical" or effect.share_lost > KEPT_FROM_CONVERGING:
        return "critical"
    if effect.steps_ratio < 0.7:
        return "high"
    return "medium" if effect.steps_ratio < 0.9 else "low"


def tuned(run: RunView) -> Prescription | None:
    """The preset of this environment and algorithm, where one was earned and differs, unless the
    run does clearly better."""
    from dressage.presets import find_preset

    if not run.env or not run.algo:
        return None
    preset = find_preset(run.env, run.algo)
    if preset is None or not preset.earned:
        return None
    ours = {
        name: value
        for name, value in preset.settings.items()
        if name in run.config and not same(run.config[name], value)
    }
    for group in TOGETHER:  # one alone would be another setting: SB3's model does not say all
        if group & ours.keys():
            also = (group & preset.settings.keys()) - run.config.keys()
            ours |= {name: preset.settings[name] for name in sorted(also)}
    ours, _ = tellable(run, ours)
    if not ours:
        return None
    returns = [float(value) for value in preset.earned["returns"]]
    mean = sum(returns) / len(returns)
    if late_return(run) - mean > CLEARLY_BETTER * abs(mean):
        return None
    return Prescription(
        cause="preset",
        patch=own_words(run, ours),
        advice=f"Begin from the tuned preset for {run.env} and {run.algo}.",
        rationale=(
            f"With it {len(returns)} seeds ended at a return of {mean:.4g} "
            f"in the mean ({min(returns):.4g} to {max(returns):.4g})."
            f"{_not_compared(run, preset.settings.keys() - ours.keys())}"
        ),
        expected_effect=f"a return of about {mean:.4g} (measured)",
        risk="many settings at once: what was wrong stays unknown",
        priority="low",
        verify="train it again on several seeds",
        ours=ours,
    )


def _not_compared(run: RunView, settings: Set[str]) -> str:
    """Of a preset's settings, those that neither the run's log nor the patch tells."""
    hidden = sorted(settings - run.config.keys() - OURS_ALONE)
    if run.library == "dressage" or not hidden:
        return ""
    return f" The preset sets {', '.join(hidden)} too, which this log does not tell."

"""The return of random actions, beside the run's: is anything learned, or the opposite?"""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.look import median, returns
from dressage.diagnosis.probes.about import NOTHING_LEARNED, RANDOM
from dressage.diagnosis.probes.player import Played
from dressage.diagnosis.probes.result import ProbeResult, each
from dressage.math.summary import mean_interval
from dressage.runs.view import RunView

MARGIN = 0.5  # deviations of the random returns within which a run is no better than them (guess)
OTHER_SCALE = 5.0  # times the largest reward of random play, above which returns do not compare
WORSE = 1.0  # by which it is worse: a run may have had bad luck, too (guess)


def random_return(view: RunView, played: Played) -> ProbeResult:
    """Compares the median return of the run's last fifth with that of random play."""
    run = median(returns(view), 0.8, 1.0)
    if len(played.returns) < 2:
        steps = len(played.rewards)
        return ProbeResult(
            RANDOM.name,
            f"Random actions ended {len(played.returns)} episodes in {steps:,} env steps: too few "
            "to compare with.",
            {"episodes": len(played.returns), "env_steps": steps},
        )
    random = np.asarray(played.returns)
    mean, deviation = float(random.mean()), float(random.std(ddof=1))
    low, high = mean_interval(random)
    numbers: dict[str, float | str] = {
        "episodes": len(random),
        "mean": mean,
        "low": low,
        "high": high,
        "deviation": deviation,
    }
    said = f"Random actions get {mean:.4g} (95 % interval {low:.4g} to {high:.4g}, {len(random)} \
episodes)"
    if not math.isfinite(run):
        return ProbeResult(RANDOM.name, f"{said}; the run's own return is not known.", numbers)
    numbers["run"] = run
    each_step = abs(run) / median(view["train/roll/ep_len_mean"], 0.8, 1.0)
    largest = float(np.abs(played.rewards).max(initial=0.0))
    if each_step > OTHER_SCALE * largest > 0:
        return ProbeResult(
            RANDOM.name,
            f"{said}, the run {run:.4g}: that is {each_step:.3g} a step, and random play never got "
            f"more than {largest:.3g}. The run's reward is another one (a wrapper?), and the two "
            "do not compare.",
            numbers,
            each(3.0, "reward-scale-too-large"),
        )
    if run < low - WORSE * deviation:
        factors = each(8.0, "policy-loss-sign") | each(3.0, "td-target-wrong")
        factors |= each(2.0, "reward-sign-flipped", "no-exploration", "entropy-collapse")
        factors |= {HEALTHY: 0.05, "budget-too-small": 0.2}
        says = f"{said}, the run {run:.4g}: it is worse than chance, as if a sign were wrong."
    elif run <= high + MARGIN * deviation:
        factors = each(2.0, *NOTHING_LEARNED) | {HEALTHY: 0.1}
        below = " (below theirs, and within their spread)" if run < low else ""
        says = f"{said}, the run {run:.4g}{below}: nothing is learned yet."
    else:
        factors = each(0.4, *NOTHING_LEARNED) | each(0.15, "policy-loss-sign")
        says = f"{said}, the run {run:.4g}: it is better than chance."
    return ProbeResult(RANDOM.name, says, numbers, factors)

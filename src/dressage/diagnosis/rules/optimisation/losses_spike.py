"""OPT010."""

from __future__ import annotations

from dressage.diagnosis.look import done, largest_spike, members, value_loss
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class LossesSpike(Rule):
    """A loss or gradient leaps far above its neighbours.

    Why it hurts
        One such update can undo many good ones.

    Evidence
        The largest spike of gradient norm and value loss above the running median, in
        robust deviations.

    Threshold and source
        Above 8 robust deviations and 3 times the level [RD]; here 30 deviations and 20
        times, since losses of healthy runs leap by ten (guess).

    Prescription
        max_grad_norm 0.5, a lower learning rate, rewards on a scale near one, a look at the
        inputs.

    Known false alarms
        Tasks whose rewards are rare and large; values that have converged, whose loss leaps
        without harm: runs that are done are left alone.

    References
        rldoctor.
    """

    id = "OPT010"
    name = "losses-spike"
    family = "optimisation"
    severity = "medium"
    either = ("train/metrics/grad_norm/*", "train/loss/value", "train/loss/critic", "train/loss/td")
    thresholds = {"deviations": Threshold(30.0, "guess"), "times": Threshold(20.0, "guess")}
    expected = {
        "grad-clip-missing": 0.6,
        "lr-too-high": 0.35,
        "nan-input": 0.15,
        "reward-scale-too-large": 0.15,
        "optimizer-state-corrupted": 0.4,
        "q-divergence": 0.3,
        "batch-too-small": 0.3,
        "rollout-too-short": 0.3,
        "reward-noise": 0.15,
        "resume-lost-state": 0.2,
        "replay-corrupted": 0.2,
        "shape-broadcast": 0.05,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        looked = dict(members(run, "train/metrics/grad_norm/*"))
        looked.pop("alpha", None)
        name, loss = value_loss(run)
        found = {"loss": largest_spike(loss), **{n: largest_spike(s) for n, s in looked.items()}}
        worst, (deviations, times) = max(found.items(), key=lambda item: item[1][1])
        leaps = deviations > self.bound("deviations") and times > self.bound("times")
        if not leaps or done(run):
            return None
        return self.found(
            f"The largest leap of {name if worst == 'loss' else worst} is {times:.0f} times its "
            f"level, {deviations:.0f} robust deviations.",
            name,
            times=times,
            deviations=deviations,
        )

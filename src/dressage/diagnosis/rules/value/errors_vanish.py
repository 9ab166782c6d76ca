"""VAL015."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, done, median, part, value_loss
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ErrorsVanish(Rule):
    """There is nothing left to learn from, and nothing was learned.

    Why it hurts
        Predictions are right about a world in which nothing happens.

    Evidence
        A TD error, or value loss, that has fallen to almost nothing while the return has
        not risen.

    Threshold and source
        Below 1 % of its highest after the start and below 1e-3 (guess).

    Prescription
        More exploration, a denser reward, rewards near one.

    Known false alarms
        Runs that are solved.

    References
        Stable-Baselines3 issue 936.
    """

    id = "VAL015"
    name = "errors-vanish"
    family = "value"
    severity = "medium"
    either = (
        "train/metrics/td_error_mean",
        "train/loss/td",
        "train/loss/critic",
        "train/loss/value",
    )
    thresholds = {"share": Threshold(0.01, "guess"), "size": Threshold(0.001, "guess")}
    expected = {
        "sparse-reward": 0.7,
        "no-exploration": 0.5,
        "reward-uninformative": 0.4,
        "reward-scale-too-small": 0.6,
        "no-action-noise": 0.4,
        "target-updates-too-rarely": 0.2,
        "action-space-degenerate": 0.2,
        "action-ignored": 0.1,
        "obs-constant": 0.1,
        "gamma-too-low": 0.15,
        "td-target-wrong": 0.1,
        "entropy-collapse": 0.15,
        "epsilon-decays-too-fast": 0.2,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        error = run["train/metrics/td_error_mean"]
        name, loss = ("train/metrics/td_error_mean", error) if error else value_loss(run)
        late, known = median(loss, 0.7), part(loss)
        if len(known) < 2 * FEWEST:
            raise TooLittle
        if done(run):
            return None
        if not (late < self.bound("share") * float(known.max()) and late < self.bound("size")):
            return None
        return self.found(
            f"{run.own_name(name)} fell to {late:.2g}, and the return has not risen.",
            name,
            late=late,
        )

"""OPT044."""

from __future__ import annotations

from dressage.diagnosis.look import counts, episode_length, median, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class TargetsExceedAllThatIsPaid(Rule):
    """The values are trained towards more than an episode can pay.

    Why it hurts
        What comes after the end of an episode is counted as if it came before: ends that are
        to be avoided, and ends that are to be reached, look alike.

    Evidence
        The mean target of the values beside the steps of an episode times the size of a
        reward (its mean and its deviation together), in the second half.

    Threshold and source
        More than that (arithmetic: no sum of rewards is larger in the mean; 0.64 at most in
        our labelled runs, 2026-11-16, whose episodes end by themselves), or more than 30 % of
        it with targets that differ by less than 5 % from step to step (our labelled runs).

    Prescription
        Look at how ends of episodes are stored and where estimates stop.

    Known false alarms
        Episodes that are cut by a clock, whose values go on after it, are left out.

    References
        The causes terminal-not-stored and autoreset-leak.
    """

    id = "OPT044"
    name = "targets-exceed-all-that-is-paid"
    family = "optimisation"
    severity = "critical"
    families = ("on-policy",)
    needs = (
        "train/roll/return_mean",
        "train/roll/reward_mean",
        "train/roll/reward_std",
        "train/roll/ep_len_mean",
        "train/roll/truncated_share",
    )
    thresholds = {
        "share": Threshold(1.0, "arithmetic"),
        "same": Threshold(0.3, "our labelled runs, 2026-11-16"),
        "varies": Threshold(0.05, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.01
    expected = {
        "terminal-not-stored": 0.9,
        "autoreset-leak": 0.8,
        "bad-initialisation": 0.3,
        "gamma-too-high": 0.05,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        reward = size(run["train/roll/reward_mean"], 0.5)
        paid = episode_length(run) * (reward + median(run["train/roll/reward_std"], 0.5))
        target = size(run["train/roll/return_mean"], 0.5)
        if not median(run["train/roll/truncated_share"], 0.5) < 0.5:
            return None
        # Steps near an end have less before them than others: their targets must differ.
        few = counts(run).env_steps < 64  # neighbours, whose targets are alike
        same = not few and median(run["train/roll/return_std"], 0.5) < self.bound("varies") * target
        bound = self.bound("same" if same else "share")
        if not (paid > 0 and target > bound * paid):
            return None
        return self.found(
            f"The values are trained towards {target:.3g} in the mean; an episode pays at most "
            f"about {paid:.3g}.",
            "train/roll/return_mean",
            target=target,
            paid=paid,
        )

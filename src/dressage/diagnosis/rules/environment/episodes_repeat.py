"""ENV009."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EpisodesRepeat(Rule):
    """Episodes that end together are the same.

    Why it hurts
        Environments that all play one episode give the data of one.

    Evidence
        Episodes that end at the same env step: whether return and length are equal.

    Threshold and source
        Over half of such pairs equal while returns vary from one time to the next (guess).

    Prescription
        Give each environment a seed of its own; do not seed in reset().

    Known false alarms
        Deterministic tasks with a deterministic policy. Where every step pays the same nothing is
        said.

    References
        “Debugging RL, without the agonizing pain”: resets that cluster.
    """

    id = "ENV009"
    name = "episodes-repeat"
    family = "environment"
    severity = "medium"
    thresholds = {"share": Threshold(0.5, "guess")}
    elsewhere = 0.01
    expected = {
        "envs-share-seed": 0.7,
        "healthy": 0.005,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and len(run.episodes.returns) > 0

    def check(self, run: RunView) -> Finding | None:
        steps, earned, lengths = run.episodes.env_steps, run.episodes.returns, run.episodes.lengths
        if len(steps) < 8 * FEWEST:
            raise TooLittle
        if np.std(earned) < 1e-9:
            return None
        pay = earned / np.maximum(lengths, 1.0)
        if np.std(pay) < 0.01 * abs(np.mean(pay)):
            return None  # each step pays the same: who starts and ends together earns the same
        values, often = np.unique(earned, return_counts=True)
        usual = values[often.argmax()]  # such as the most there is to earn, which all may reach
        together = np.flatnonzero((np.diff(steps) == 0) & (earned[:-1] != usual))
        if len(together) < 2 * FEWEST:
            raise TooLittle
        equal = (earned[together] == earned[together + 1]) & (
            lengths[together] == lengths[together + 1]
        )
        apart = np.flatnonzero(np.diff(steps) > 0)
        chance = float((earned[apart] == earned[apart + 1]).mean()) if len(apart) else 0.0
        share = float(equal.mean())
        if not share > max(self.bound("share"), 2 * chance):
            return None
        return self.found(
            f"{share:.0%} of the episodes that end together are the same; of others {chance:.0%}.",
            "train/roll/ep_rew_mean",
            share=share,
        )

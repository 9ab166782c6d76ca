"""ENV005."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, learned, part, returns, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView

FEW_OUTCOMES = 4  # such as won, drawn and lost: neighbours are often equal by chance


class ReturnsDoNotVary(Rule):
    """All episodes earn exactly the same.

    Why it hurts
        Where every outcome is equal there is nothing to prefer.

    Evidence
        The deviation of single episodes’ returns over the run.

    Threshold and source
        None at all in over 20 % of the run [RX], unless solved; where single episodes are logged,
        in over half of them, or, where they have but a few outcomes, in nine tenths.

    Prescription
        A denser reward, more exploration, a longer time limit.

    Known false alarms
        Tasks that are solved perfectly.

    References
        RLExplorer.
    """

    id = "ENV005"
    name = "returns-do-not-vary"
    family = "environment"
    severity = "high"
    either = ("train/roll/ep_rew_std", "train/roll/ep_rew_mean")
    thresholds = {"share": Threshold(0.2, "RX")}
    expected = {
        "sparse-reward": 0.9,
        "reward-uninformative": 0.5,
        "episode-limit-too-short": 0.6,
        "no-exploration": 0.2,
        "envs-share-seed": 0.2,
        "gamma-too-low": 0.1,
        "env-not-reset": 0.3,
        "action-ignored": 0.2,
        "epsilon-decays-too-fast": 0.2,
        "obs-constant": 0.15,
        "action-space-degenerate": 0.2,
        "entropy-collapse": 0.15,
        "nan-input": 0.05,
        "no-action-noise": 0.1,
        "reward-hacking": 0.1,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        single = run.episodes.returns[np.isfinite(run.episodes.returns)]
        spread = part(run["train/roll/ep_rew_std"], 0.02)
        if len(single) >= 4 * FEWEST:
            same = np.abs(np.diff(single)) < 1e-9
            share = float(same.mean())
        elif len(spread) >= 2 * FEWEST:
            share = float((spread < 1e-9).mean())
        else:
            curve = part(returns(run))
            if len(curve) < 4 * FEWEST:
                raise TooLittle
            share = float((np.abs(np.diff(curve)) < 1e-9).mean())
        limit = self.bound("share")
        if len(single) >= 4 * FEWEST:
            limit = 0.9 if len(np.unique(np.round(single, 6))) <= FEW_OUTCOMES else 0.5
        if not share > limit or learned(run) or solved(run):
            return None
        return self.found(
            f"Neighbouring episodes earn exactly the same in {share:.0%} of the run.",
            "train/roll/ep_rew_mean",
            share=share,
        )

"""ENV001."""

from __future__ import annotations

from dressage.diagnosis.look import median, returns, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class RewardsTooLarge(Rule):
    """Rewards are far above one.

    Why it hurts
        Values and their gradients grow with the reward, and most defaults take it to be near one.

    Evidence
        Mean size of the reward a step and its deviation; the return over the length of an episode
        where those are not logged.

    Threshold and source
        A deviation above 30 (our labelled runs, 2026-11-16: up to 13 where a task pays 100 at its
        end; RLExplorer warns from 10).

    Prescription
        normalize_reward=true, or divide the reward by its deviation.

    Known false alarms
        Algorithms that scale the reward themselves.

    References
        RLExplorer; “Debugging RL, without the agonizing pain”.
    """

    id = "ENV001"
    name = "rewards-too-large"
    family = "environment"
    severity = "high"
    either = ("train/roll/reward_std", "train/roll/ep_len_mean")
    thresholds = {"reward_std": Threshold(30.0, "our labelled runs, 2026-11-16")}
    elsewhere = 0.03
    expected = {
        "reward-scale-too-large": 0.9,
        "critic-dominates": 0.6,
        "reward-scale-vs-alpha": 0.6,
        "grad-clip-missing": 0.5,
        "healthy": 0.02,
        "advantage-normalisation": 0.35,
        "gamma-too-high": 0.02,
        "value-clip-too-tight": 0.2,
    }

    def check(self, run: RunView) -> Finding | None:
        spread = max(size(run["train/roll/reward_std"]), size(run["train/roll/reward_mean"]))
        length = median(run["train/roll/ep_len_mean"])
        if not run["train/roll/reward_std"] and length > 0:
            spread = size(returns(run)) / length
        if not spread > self.thresholds["reward_std"].value:
            return None
        return self.found(
            f"The reward a step is about {spread:.3g} in size; about 1 is what settings are "
            "made for.",
            "train/roll/reward_std",
            reward_std=spread,
        )

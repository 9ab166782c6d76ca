"""EXP030."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import SINGLE_STEP, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class NoiseHidesWhatIsKnown(Rule):
    """The policy earns far more without its randomness, and stays as random as it was.

    Why it hurts
        It has learned which choice is best and is kept from making it: what it collects is
        that of a random policy.

    Evidence
        Late evaluations above the late return of training, in deviations of single episodes of
        training; the entropy beside its highest; updates that do move the policy.

    Threshold and source
        0.6 deviations at an entropy above 88 % of its highest and a KL above 3e-4, or 1e-6
        where a rollout gets one step (our labelled runs, 2026-11-16: entropies of healthy runs
        end below 80 %).

    Prescription
        Divide ent_coef by ten; let it fall to zero.

    Known false alarms
        Runs that have only begun; evaluations of a lucky first policy, which do not move.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "EXP030"
    name = "noise-hides-what-is-known"
    family = "exploration"
    severity = "high"
    families = ("on-policy",)
    needs = (
        "train/metrics/entropy",
        "train/metrics/kl_divergence",
        "train/roll/ep_rew_mean",
        "train/roll/ep_rew_std",
        "val/roll/ep_rew_mean",
    )
    thresholds = {
        "deviations": Threshold(0.6, "our labelled runs, 2026-11-16"),
        "share": Threshold(0.88, "our labelled runs, 2026-11-16"),
        "kl": Threshold(3e-4, "our labelled runs, 2026-11-16"),
        "single": Threshold(1e-6, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.02
    expected = {
        "entropy-bonus-too-high": 0.85,
        "reward-scale-too-small": 0.5,
        "critic-dominates": 0.3,
        "budget-too-small": 0.2,
        "rollout-too-long": 0.3,
        "network-too-small": 0.1,
        "weight-decay-too-strong": 0.1,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        entropy, played = part(run["train/metrics/entropy"]), part(run["val/roll/ep_rew_mean"], 0.5)
        if not len(entropy) or not len(played) or not entropy.max() > 0:
            return None
        share = median(run["train/metrics/entropy"], 0.6) / float(entropy.max())
        kl = median(run["train/metrics/kl_divergence"], 0.1)
        least = self.bound("single" if run.algo in SINGLE_STEP else "kl")
        if not (share > self.bound("share") and kl > least) or run["train/metrics/action_std"]:
            return None
        trained, spread = (median(run[f"train/roll/ep_rew_{of}"], 0.7) for of in ("mean", "std"))
        above = float(np.median(played)) - trained
        if not (spread > 0 and above > self.bound("deviations") * spread):
            return None
        return self.found(
            f"Evaluations earn {np.median(played):.4g} and training {trained:.4g}, at "
            f"{share:.0%} of the highest entropy.",
            "val/roll/ep_rew_mean",
            deviations=above / spread,
            share=share,
        )

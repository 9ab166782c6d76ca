"""ENV008."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, done, median, part, returns
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EpisodesAlwaysHitTheLimit(Rule):
    """Every episode runs into the time limit and earns the same.

    Why it hurts
        If the goal cannot be reached in time, or is never found, the clock is all that ends
        an episode, and all are worth the same.

    Evidence
        The share of truncated episodes, their lengths, and the spread of their returns.

    Threshold and source
        Over 95 % truncated at one length throughout, with returns that differ by less than
        5 % of their size (guess; RLExplorer looks at length and reward).

    Prescription
        A longer limit; a denser reward; more exploration.

    Known false alarms
        Tasks without an end, whose return rises all the same, or varies with where an
        episode begins.

    References
        RLExplorer.
    """

    id = "ENV008"
    name = "episodes-always-hit-the-limit"
    family = "environment"
    severity = "medium"
    needs = ("train/roll/ep_len_mean",)
    thresholds = {"share": Threshold(0.95, "guess"), "spread": Threshold(0.05, "guess")}
    elsewhere = 0.15
    expected = {
        "episode-limit-too-short": 0.85,
        "sparse-reward": 0.8,
        "truncation-as-termination": 0.2,
        "gamma-too-low": 0.15,
        "action-ignored": 0.25,
        "lr-too-low": 0.25,
        "reward-uninformative": 0.3,
        "lr-too-high": 0.25,
        "entropy-bonus-too-high": 0.2,
        "policy-loss-sign": 0.25,
        "td-target-wrong": 0.25,
        "action-space-degenerate": 0.5,
        "action-range-unnormalised": 0.5,
        "action-saturation": 0.4,
        "actor-saturation": 0.4,
        "no-action-noise": 0.4,
        "sac-alpha-too-high": 0.4,
        "sac-alpha-too-low": 0.3,
        "q-divergence": 0.3,
        "updates-too-few": 0.2,
        "updates-starved": 0.25,
        "obs-stale": 0.2,
        "obs-constant": 0.25,
        "epsilon-decays-too-fast": 0.4,
        "no-exploration": 0.3,
        "dead-policy-gradient": 0.3,
        "optimizer-choice": 0.3,
        "optimizer-eps": 0.25,
        "reward-sign-flipped": 0.2,
        "action-noise-too-large": 0.3,
        "sac-alpha-explodes": 0.3,
        "target-tau-extreme": 0.3,
        "reward-scale-vs-alpha": 0.3,
        "critic-too-weak": 0.25,
        "value-clip-too-tight": 0.25,
        "time-limit-hidden": 0.3,
        "replay-corrupted": 0.3,
        "action-std-explosion": 0.3,
        "discount-misapplied": 0.2,
        "reward-scale-too-small": 0.25,
        "reward-scale-too-large": 0.3,
        "action-delay": 0.25,
        "learning-never-starts": 0.3,
        "returns-misaligned": 0.25,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        cut = run["train/roll/truncated_share"]
        lengths = part(run["train/roll/ep_len_mean"], 0.02)
        if len(lengths) < 2 * FEWEST:
            raise TooLittle
        if done(run):
            return None
        same = float(np.ptp(lengths)) < 1e-6 and lengths[0] > 1
        if not same or (cut and median(cut) < self.bound("share")):
            return None
        apart = run.episodes.returns[np.isfinite(run.episodes.returns)]
        apart = apart[-max(4 * FEWEST, len(apart) // 3) :]
        earned = apart if len(apart) >= 2 * FEWEST else part(returns(run), 0.5)
        if not len(earned) or np.std(earned) > self.bound("spread") * np.abs(earned).max():
            return None
        return self.found(
            f"Every episode has {lengths[0]:.0f} steps, and all earn about "
            f"{float(np.median(earned)):.4g}.",
            "train/roll/ep_len_mean",
            length=float(lengths[0]),
        )

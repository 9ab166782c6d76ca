"""Fixes for learning from a memory: action values, targets, exploration, temperatures."""

from __future__ import annotations

from dressage.diagnosis.prescriptions.fix import (
    Fix,
    Patch,
    budget,
    number,
    rate,
    sets,
    tidy,
    usual_rate,
    whole,
)
from dressage.runs.view import RunView

Q = "train/metrics/q_mean"


def starts(run: RunView) -> Patch:
    """2 % of the budget, at least 100 and at most 10,000 env steps."""
    return {"learning_starts": int(min(10_000, max(100, 0.02 * budget(run))))}


def explore(run: RunView) -> Patch:
    return {"epsilon": "linear(1, 0.05, until=0.2)"}


def target_interval(run: RunView) -> Patch:
    """About a hundredth of the budget, between 100 and 10,000 env steps."""
    return {"target_update_interval": int(min(10_000, max(100, tidy(budget(run) / 100))))}


def memory(run: RunView) -> Patch:
    """As much as the run collects, at least 10,000 and at most a million."""
    return {"buffer_size": int(min(1_000_000, max(10_000, budget(run))))}


def lower_rate(run: RunView) -> Patch:
    patch: Patch = {"learning_rate": min(usual_rate(run), tidy(rate(run) / 3))}
    if run.family == "value-based":
        patch["double"] = True
    return patch


def update_each_step(run: RunView) -> Patch:
    n_envs = whole(run, "n_envs", 1)
    return {"train_freq": 1, "gradient_steps": n_envs if n_envs > 1 else 1}


def fewer_updates(run: RunView) -> Patch:
    return {"train_freq": max(1, whole(run, "train_freq", 1)), "gradient_steps": 1}


def quieter(run: RunView) -> Patch:
    return {"noise_std": min(0.1, number(run, "noise_std", 1.0) / 4)}


FIXES: dict[str, Fix] = {
    "learning-never-starts": Fix("Begin to learn early.", make=starts),
    "learning-starts-misplaced": Fix(
        "Begin to learn early, on a few batches of data.", make=starts
    ),
    "buffer-too-small": Fix("Keep more transitions.", "memory", memory, Q),
    "no-exploration": Fix(
        "Begin with random actions, and let them fade.",
        "returns while training lie below the policy's",
        explore,
        "train/hp/epsilon",
    ),
    "epsilon-decays-too-fast": Fix(
        "Explore for a fifth of the run.", "a slower start", explore, "train/hp/epsilon"
    ),
    "final-epsilon-too-high": Fix(
        "Let exploration fade to 0.05.", "less exploration late", explore, "train/hp/epsilon"
    ),
    "target-updates-too-often": Fix(
        "Move the target network more rarely.", "slower learning", target_interval, Q
    ),
    "target-updates-too-rarely": Fix(
        "Move the target network more often.", "values that feed on themselves", target_interval, Q
    ),
    "q-divergence": Fix(
        "Lower the learning rate, and let the network choose what the target values.",
        "slower learning",
        lower_rate,
        "train/metrics/q_max",
    ),
    "updates-too-few": Fix(
        "Make one update for each env step.",
        "time",
        update_each_step,
        "train/metrics/update_to_data",
    ),
    "updates-starved": Fix(
        "Update after each env step instead of after long stretches.",
        "time",
        update_each_step,
        "train/metrics/update_to_data",
    ),
    "updates-too-many": Fix(
        "Make fewer updates for each env step.",
        "slower learning where data is dear",
        fewer_updates,
        "train/metrics/dormant_share/critic",
    ),
    "batch-reused": Fix(
        "Draw a batch for each gradient step: the sampler must not keep the last one.",
        watch="train/metrics/td_error_mean",
    ),
    "replay-corrupted": Fix(
        "Store a transition, read it back and compare: observation, action, reward, next "
        "observation and end must belong to one step.",
        watch="train/metrics/q_gap",
    ),
    "terminal-not-stored": Fix(
        "Store `terminated` with each transition, and multiply the bootstrap by its opposite.",
        watch="train/metrics/q_max",
    ),
    "discount-misapplied": Fix(
        "Check the target: r + gamma (1 - terminated) max Q, with gamma once (gamma^n for n-step).",
        watch="train/metrics/q_gap",
    ),
    "td-target-wrong": Fix(
        "Check the target term by term: its sign, whose network gives the value, the maximum over "
        "actions or the minimum over critics, the sign of the entropy.",
        watch="train/metrics/q_gap",
    ),
    "no-action-noise": Fix(
        "Add noise to the actions.",
        "returns while training lie below the policy's",
        sets(action_noise="normal", noise_std=0.1),
        "train/hp/noise_std",
    ),
    "action-noise-too-large": Fix(
        "Use smaller noise.", "less exploration", quieter, "train/hp/noise_std"
    ),
    "actor-saturation": Fix(
        "Lower the learning rate and normalise observations: the actor's outputs are beyond where "
        "tanh still has a slope.",
        "slower learning",
        lambda run: {"learning_rate": min(3e-4, tidy(rate(run) / 3)), "normalize_obs": True},
        "train/roll/action_saturation",
    ),
    "sac-alpha-too-high": Fix(
        "Let the temperature be learned.", make=sets(ent_coef="auto"), watch="train/metrics/alpha"
    ),
    "sac-alpha-too-low": Fix(
        "Let the temperature be learned.", make=sets(ent_coef="auto"), watch="train/metrics/alpha"
    ),
    "sac-alpha-explodes": Fix(
        "Aim at the usual entropy, minus the number of action dimensions.",
        make=sets(target_entropy="auto"),
        watch="train/metrics/alpha",
    ),
    "reward-scale-vs-alpha": Fix(
        "Let the temperature be learned: a fixed one stands for a scale of rewards.",
        make=sets(ent_coef="auto"),
        watch="train/metrics/alpha",
    ),
    "target-tau-extreme": Fix(
        "Let the targets follow at 0.005.", make=sets(tau=0.005), watch="train/metrics/target_drift"
    ),
    "td3-smoothing-off": Fix(
        "Delay the policy by two updates, and smooth the target's actions.",
        make=sets(policy_delay=2, target_policy_noise=0.2),
        watch="train/metrics/q_gap",
    ),
    "catastrophic-forgetting": Fix(
        "Keep older transitions, and lower the learning rate late in the run.",
        "memory",
        lambda run: (
            memory(run) | {"learning_rate": f"linear({rate(run):g}, 0)"}
            if run.family != "on-policy"
            else {"learning_rate": f"linear({rate(run):g}, 0)"}
        ),
        "train/roll/ep_rew_mean",
    ),
    "offline-overestimation": Fix(
        "Use a method made for fixed data (CQL, IQL, TD3+BC): it keeps to actions that the data "
        "shows.",
    ),
    "cql-weight-misplaced": Fix(
        "Change the conservative weight by a factor of three towards the gap: up where values lie "
        "above the returns in the data, down where the policy only imitates.",
    ),
}

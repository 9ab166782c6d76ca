"""The metric dictionary: one spelling for each metric, with unit, meaning and healthy range.

The writer, the charts, the diagnosis and the generated page read this. A name with `*` stands for
a family (`train/metrics/grad_norm/*` has one column per network). Where a healthy range has a
source, it is named in brackets with the letters of `SOURCES`; a range marked "guess" has
none yet.
"""

# ruff: noqa: E501 (one metric a line is easier to read and to search than wrapped ones)
from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from dressage.errors import RunError, did_you_mean

Aggregate = Literal["mean", "last", "max", "min", "sum"]
NO_RANGE = "no general range"
SOURCES = {
    "AJ": "Andy Jones, “Debugging RL, without the agonizing pain”",
    "37": "“The 37 implementation details of PPO”",
    "GS": "gymnasium-solver's alerts",
    "RD": "rldoctor",
    "RX": "RLExplorer (arXiv 2410.04322)",
    "DN": "Sokar et al., “The dormant neuron phenomenon” (arXiv 2302.12902)",
    "KA": "Karpathy, CS231n, “Neural networks part 3”",
    "PPO": "arXiv 1707.06347",
    "ML": "ml-agents' documentation",
    "RW": "rlwatch",
}
BEFORE_OURS = "dressage/"  # our names in the logs of other libraries, as dressage.sb3 writes them
LEAD_COLUMNS = ("env_steps", "updates", "episodes", "wall_seconds")


@dataclass(frozen=True)
class Metric:
    name: str
    unit: str
    meaning: str
    healthy: str
    aggregate: Aggregate  # how the values within one log interval become one cell


_TABLE: list[tuple[str, str, Aggregate, str, str]] = [
    # name, unit, aggregate over the log interval, meaning, healthy range
    ("env_steps", "env steps", "last", "Steps taken in all environments together since the start.", NO_RANGE),
    ("updates", "updates", "last", "Gradient steps taken since the start.", NO_RANGE),
    ("episodes", "episodes", "last", "Episodes ended since the start.", NO_RANGE),
    ("wall_seconds", "seconds", "last", "Time spent training since the start, over all resumes.", NO_RANGE),
    # What the environments gave.
    ("train/roll/ep_rew_mean", "return", "last", "Mean undiscounted return of the last 100 training episodes.", "rises towards the environment's threshold"),
    ("train/roll/ep_rew_best", "return", "last", "Highest ep_rew_mean so far.", "no large drop of ep_rew_mean below it"),
    ("train/roll/ep_rew_std", "return", "last", "Standard deviation of the return over the last 100 training episodes.", "above zero until solved; none for over 20 % of a run means the reward says nothing [RX]"),
    ("train/roll/ep_len_mean", "env steps", "last", "Mean length of the last 100 training episodes.", NO_RANGE),
    ("train/roll/episodes", "episodes", "sum", "Episodes that ended in this interval.", "above zero; otherwise the log interval or the episodes are too long"),
    ("train/roll/truncated_share", "share", "mean", "Share of the interval's episodes that the clock ended rather than the task.", NO_RANGE),
    ("train/roll/success_rate", "share", "mean", "Share of the interval's episodes that the environment called a success.", "rises towards 1"),
    ("train/roll/obs_mean", "observation", "mean", "Mean of all observation entries as the network sees them.", "near 0 after normalisation"),
    ("train/roll/obs_std", "observation", "mean", "Standard deviation of all observation entries as the network sees them.", "about 1; below 1e-3 the observation is constant [RX]"),
    ("train/roll/obs_abs_max", "observation", "max", "Largest absolute observation entry as the network sees it.", "at most 10 [RX]"),
    ("train/roll/obs_constant_share", "share", "mean", "Share of the observation's numbers that never change, in a few hundred steps.", "0; padding and what is seldom seen are constant too"),
    ("train/roll/obs_scale_ratio", "ratio", "mean", "Largest over smallest deviation among the observation's numbers that change.", "below 1,000 (guess)"),
    ("train/roll/reward_mean", "reward", "mean", "Mean reward a step as the learner sees it.", NO_RANGE),
    ("train/roll/reward_std", "reward", "mean", "Standard deviation of the reward a step as the learner sees it.", "above zero, at most about 10 [RX]"),
    ("train/roll/raw_reward_mean", "reward", "mean", "Mean reward a step before it is normalised, where it is (Recorder of dressage.sb3).", NO_RANGE),
    ("train/roll/raw_reward_std", "reward", "mean", "Standard deviation of the reward a step before it is normalised, where it is.", NO_RANGE),
    ("train/roll/intrinsic_mean", "reward", "mean", "Mean exploration bonus a step, normalised, before bonus_coef.", "falls as the task becomes familiar"),
    ("train/roll/extrinsic_mean", "reward", "mean", "Mean reward a step of the task itself, where an exploration bonus is added to it.", NO_RANGE),
    ("train/roll/adv_mean", "return", "mean", "Mean advantage before normalisation.", "near zero beside adv_std"),
    ("train/roll/adv_std", "return", "mean", "Standard deviation of the advantage before normalisation.", "above 1e-3, at most 10 [AJ]"),
    ("train/roll/return_mean", "return", "mean", "Mean target of the value function.", "within ±10 after scaling the reward [AJ]"),
    ("train/roll/return_std", "return", "mean", "Standard deviation of the value function's targets.", "at most about 10 [AJ]"),
    ("train/roll/counted_share", "share", "mean", "Share of the rollout that REINFORCE without a baseline learns from: the steps of episodes that ended in it.", "above 0.5 (guess); longer rollouts raise it"),
    ("train/roll/value_mean", "return", "mean", "Mean prediction of the value function while collecting.", "close to return_mean"),
    ("train/roll/action_mean", "action", "mean", "Mean of the continuous action entries before clipping.", "within the bounds"),
    ("train/roll/action_std", "action", "mean", "Standard deviation of the continuous actions taken.", NO_RANGE),
    ("train/roll/action_saturation", "share", "mean", "Share of continuous action entries at or beyond a bound.", "below 0.5 (guess)"),
    ("train/roll/action_share_max", "share", "mean", "Largest share of one discrete action among those taken.", "below 0.8 while learning [RX]"),
    ("train/roll/action_entropy", "nats", "mean", "Entropy of the distribution of discrete actions taken.", "starts near ln n, falls while the return rises"),
    ("train/roll/action_effect", "share", "mean", "Of what the state leaves open of the next observation, the share that the action explains, in the entry where it is most (least squares, six times a run).", "0.8 to 1 in simulations; below 0.3 actions hardly act (our labelled runs, 2026-11-17)"),
    ("train/roll/action_effect_late", "share", "mean", "The share that an action 1 to 16 steps ago explains beside the newest one.", "below 0.2; near 1 actions act late, or observations come late (our labelled runs, 2026-11-17)"),
    ("train/roll/history_gain", "share", "mean", "Of the change of the observation, the share that the observation before explains beside state and action.", "below 0.3; more means that the state is not all in the observation (our labelled runs, 2026-11-17)"),
    ("train/roll/reward_explained", "share", "mean", "Of the reward of a step, the share that its observations and action explain.", "above 0.3 where every step pays (our labelled runs, 2026-11-17)"),
    ("train/roll/reward_late", "share", "mean", "How much more a step explains of the reward 1 to 40 steps later than of its own, as shares of their variance, at the step where that is most.", "at most 0.1; above 0.15 rewards are paid late (guess)"),
    # Losses.
    ("train/loss/policy", "loss", "mean", "Loss of the policy, without the entropy bonus.", NO_RANGE),
    ("train/loss/value", "loss", "mean", "Loss of the value function, without its coefficient.", "falls; above 1e3 the reward is too large (guess)"),
    ("train/loss/entropy", "loss", "mean", "Minus the entropy, times its coefficient as in the loss.", NO_RANGE),
    ("train/loss/td", "loss", "mean", "Temporal-difference loss of the action values.", NO_RANGE),
    ("train/loss/critic", "loss", "mean", "Loss of the critics together.", NO_RANGE),
    ("train/loss/actor", "loss", "mean", "Loss of the actor.", NO_RANGE),
    ("train/loss/alpha", "loss", "mean", "Loss of the entropy temperature.", NO_RANGE),
    ("train/loss/bonus", "loss", "mean", "Loss of the exploration bonus: the mean surprise before it is normalised.", "falls as the task becomes familiar"),
    ("train/loss/bonus_inverse", "loss", "mean", "Loss of telling actions from features, by which curiosity (icm) learns these.", "falls"),
    ("train/loss/total", "loss", "mean", "What the optimizer minimised.", "finite"),
    # Health of the updates.
    ("train/metrics/entropy", "nats", "mean", "Mean entropy of the policy.", "falls slowly; below 10 % of its start without progress it has collapsed [RD]"),
    ("train/metrics/kl_divergence", "nats", "mean", "KL divergence from the collecting to the updated policy (k3 estimator).", "0.001 to 0.02 [37, GS]; above 0.05 updates are too large [GS]"),
    ("train/metrics/clip_fraction", "share", "mean", "Share of samples whose probability ratio was clipped.", "0.05 to 0.2 [GS, RD]; above 0.5 updates are too large [GS]"),
    ("train/metrics/value_clip_fraction", "share", "mean", "Share of samples whose value prediction was clipped.", "below 0.3 (guess)"),
    ("train/metrics/ratio_max", "ratio", "max", "Largest probability ratio between the updated and the collecting policy.", "below 3 (guess); exactly 1 in the first minibatch of an iteration"),
    ("train/metrics/explained_variance", "share", "mean", "1 - Var(target - prediction) / Var(target) of the value function.", "above 0.5 late in the run; at or below 0 the value function is no use [GS]"),
    ("train/metrics/action_std", "action", "mean", "Mean standard deviation of the Gaussian policy.", "falls; more than twice its start and rising is an explosion (guess)"),
    ("train/metrics/steps_kept", "share", "mean", "Share of the collected steps that are learned from as they came: observation, action, reward and successor.", "1 (by construction)"),
    ("train/metrics/ends_kept", "share", "mean", "Of steps that end an episode, the share that are learned from as such, and as the same kind of end.", "1 (by construction)"),
    ("train/metrics/advantages_fit", "correlation", "mean", "Correlation of the advantages that are learned from with returns less values.", "1 (by construction); -1 means a wrong sign"),
    ("train/metrics/returns_error", "ratio", "mean", "How far a return is from its reward and the discounted next row's, beside the size of rewards.", "0 (by construction)"),
    ("train/metrics/q_mean", "return", "mean", "Mean predicted action value.", "below the largest reward over (1 - gamma)"),
    ("train/metrics/q_max", "return", "max", "Largest predicted action value.", "below the largest reward over (1 - gamma)"),
    ("train/metrics/q_gap", "return", "last", "Mean predicted action value less the discounted return that followed, on recent steps: overestimation where above zero. Of steps whose return is known to 95 %: with gamma 0.99 no cell where the clock ends episodes within 300 steps.", "near zero beside q_mean; a steady rise is overestimation (van Hasselt et al. 2016)"),
    ("train/metrics/td_error_mean", "return", "mean", "Mean absolute TD error of the sampled transitions.", "falls, or follows the scale of the return"),
    ("train/metrics/td_error_max", "return", "max", "Largest absolute TD error of the sampled transitions.", NO_RANGE),
    ("train/metrics/td_error_p50", "return", "last", "Median absolute TD error of the transitions of one batch per interval, each the mean over critics or choices.", "falls with td_error_mean; far below it, few transitions make the error"),
    ("train/metrics/td_error_p90", "return", "last", "90 % quantile of the absolute TD errors whose median is td_error_p50.", NO_RANGE),
    ("train/metrics/visited_share", "share", "last", "Share of a table's entries (a state and a choice) that were ever tried.", "rises while exploring; entries that cannot be reached stay out"),
    ("train/metrics/target_drift", "return", "last", "Mean absolute difference between the network's action values and its target's, from one batch per interval.", "small beside q_mean; zero means that the target is the network"),
    ("train/metrics/clipped_atoms", "share", "mean", "Probability that C51's targets have beyond v_min and v_max, where it counts as these.", "below 0.01 (guess); above it widen v_min and v_max"),
    ("train/metrics/critic_disagreement", "return", "mean", "Mean absolute difference between the critics of an ensemble.", "small beside q_mean"),
    ("train/metrics/buffer_fill", "share", "last", "Share of the replay memory that is filled.", "rises to 1"),
    ("train/metrics/buffer_age", "env steps", "last", "Mean age of the transitions in the last batch.", "about half of what the memory holds when sampled uniformly"),
    ("train/metrics/buffer_coverage", "share", "last", "How much of the replay memory differs: distinct cells among 512 transitions spread evenly over it (all, while it holds fewer), over their number. A cell is the signs of 64 fixed projections of the observation, whose numbers are standardised over these transitions. Of vectors: no value where all observations are images.", "0.2 to 0.75 for random and scripted policies in five small control tasks (20,000 transitions, 1,024 of them looked at, 2026-11-18); below 0.05 it repeats few states (guess), as tasks of few states always do"),
    ("train/metrics/priority_spread", "ratio", "last", "Largest priority over the mean priority.", NO_RANGE),
    ("train/metrics/update_to_data", "ratio", "last", "Gradient steps for each env step.", "0.25 to 1 for most; above 4 needs layer norm, resets or ensembles (guess)"),
    ("train/metrics/alpha", "1", "mean", "Entropy temperature in force.", NO_RANGE),
    ("train/metrics/target_entropy", "nats", "last", "Entropy that the temperature moves the policy towards.", NO_RANGE),
    ("train/metrics/parameter_noise_scale", "1", "mean", "Deviation of the noise on the weights that act.", NO_RANGE),
    ("train/metrics/parameter_noise_distance", "action", "mean", "How far noise on weights moved the actions (root mean square).", "near parameter_noise, which the scale is adapted to"),
    ("train/metrics/epochs_done", "epochs", "mean", "Passes over the rollout before the KL limit stopped them.", "n_epochs, or a little less"),
    ("train/metrics/skipped_updates", "updates", "sum", "Updates not applied because a gradient was not finite.", "0"),
    ("train/metrics/grad_clipped", "share", "mean", "Share of updates whose gradient was clipped.", "below 0.5 (guess)"),
    ("train/metrics/grad_norm/*", "norm", "mean", "Norm of the gradient of network *, before clipping.", "steady; a spike beyond 8 robust standard deviations and three times the median is a fault [RD]"),
    ("train/metrics/update_to_weight/*", "ratio", "last", "Norm of the last update of network * over the norm of its weights, from one minibatch per interval.", "about 1e-3 [KA]; above 1e-2 or below 1e-5 look at the learning rate (guess)"),
    ("train/metrics/weight_norm/*", "norm", "last", "Norm of the weights of network *.", "grows slowly or not at all"),
    ("train/metrics/dormant_share/*", "share", "last", "Share of hidden units of network * with a normalised activation below 0.025, from one minibatch per interval.", "below 0.2 and not growing (guess; definition [DN])"),
    ("train/metrics/layers_moved/*", "share", "mean", "Share of the weight arrays of network * (of each layer its weight, its bias) that an iteration's updates change in any number, six times a run.", "1 (by construction)"),
    # Settings in force, counts.
    ("train/hp/lr", "1", "last", "Learning rate of the policy in force.", "1e-5 to 1e-3 for Adam [ML]"),
    ("train/hp/value_lr", "1", "last", "Learning rate of the value function in force.", "the policy's, or up to five times it"),
    ("train/hp/clip_range", "ratio", "last", "Clip range of the probability ratio in force.", "0.1 to 0.3 [PPO]"),
    ("train/hp/clip_range_vf", "return", "last", "Clip range of the value prediction in force.", "at least the scale of the values, or none"),
    ("train/hp/ent_coef", "1", "last", "Weight of the entropy bonus in force.", "0 to 0.02"),
    ("train/hp/epsilon", "share", "last", "Share of random actions in force once learning_starts is passed; all are random before.", "1 at the start, 0.01 to 0.1 at the end"),
    ("train/hp/bonus_coef", "ratio", "last", "Weight of the exploration bonus in force.", "the bonus small beside the return of the task (guess)"),
    ("train/hp/noise_std", "action", "last", "Deviation of the noise on actions in force, actions being in [-1, 1].", "0.05 to 0.3"),
    ("train/hp/*", "as configured", "last", "The setting * in force.", NO_RANGE),
    ("train/cnt/iterations", "iterations", "last", "Rounds of collecting and updating since the start.", "at least 20 in a run (guess)"),
    ("train/cnt/*", "count", "last", "Number of * since the start.", NO_RANGE),
    # Held-out evaluation.
    ("val/roll/ep_rew_mean", "return", "last", "Mean return of the evaluation episodes (deterministic policy).", "rises towards the environment's threshold"),
    ("val/roll/ep_rew_std", "return", "last", "Standard deviation of the return of the evaluation episodes.", NO_RANGE),
    ("val/roll/ep_rew_min", "return", "last", "Lowest return of the evaluation episodes.", NO_RANGE),
    ("val/roll/ep_rew_max", "return", "last", "Highest return of the evaluation episodes.", NO_RANGE),
    ("val/roll/ep_len_mean", "env steps", "last", "Mean length of the evaluation episodes.", NO_RANGE),
    ("val/roll/episodes", "episodes", "last", "Number of evaluation episodes.", "at least 10"),
    ("val/roll/success_rate", "share", "last", "Share of evaluation episodes that the environment called a success.", "rises towards 1"),
    # Speed; exempt from exact resume.
    ("sys/env_steps_per_second", "env steps/s", "mean", "Speed of the whole loop in this interval.", "steady"),
    ("sys/cpu_share", "cores", "mean", "CPU time of the process over the time of the interval, in cores; workers of environments are processes of their own.", "about 1 or more; less means that it waits, for workers, a disk, or a machine with other work"),
    ("sys/workers_busy", "processes", "mean", "Worker processes of environments that are in a step or a reset, on average over the time they are waited for (backend=process).", "above 1; below, a single process would be as fast"),
    ("sys/time/collect", "seconds", "sum", "Time in this interval for stepping environments and choosing actions.", NO_RANGE),
    ("sys/time/prepare", "seconds", "sum", "Time in this interval for advantages and targets.", NO_RANGE),
    ("sys/time/update", "seconds", "sum", "Time in this interval for gradient steps.", NO_RANGE),
    ("sys/time/evaluate", "seconds", "sum", "Time in this interval for evaluation episodes.", NO_RANGE),
    ("sys/time/checkpoint", "seconds", "sum", "Time in this interval for checkpoints.", NO_RANGE),
    ("sys/time/record", "seconds", "sum", "Time in this interval for metrics and logs.", "below 10 % of the interval (guess)"),
    ("sys/memory_mb", "megabytes", "last", "Largest memory in use by the process so far.", "steady; steady growth is a leak"),
]  # fmt: skip

METRICS: dict[str, Metric] = {
    name: Metric(name, unit, meaning, healthy, aggregate)
    for name, unit, aggregate, meaning, healthy in _TABLE
}


def describe(name: str) -> Metric:
    """What a metric means; a member of a family is described with its own name."""
    if name in METRICS:
        return METRICS[name]
    for pattern, metric in METRICS.items():
        if "*" in pattern and fnmatch.fnmatchcase(name, pattern):
            part = name.removeprefix(pattern.partition("*")[0])
            return replace(metric, name=name, meaning=metric.meaning.replace("*", part))
    near = did_you_mean(name, list(METRICS))
    if not near:  # the last word alone is what people type
        ends = [known for known in METRICS if known.rpartition("/")[2] == name.rpartition("/")[2]]
        near = f" Did you mean '{ends[0]}'?" if ends else ""
    raise RunError(f"There is no metric named '{name}'.{near}")


def cited(text: str) -> dict[str, str]:
    """What the letters in brackets of a text stand for."""
    groups = re.findall(r"\[([^\]]+)\]", text)
    marks = {mark.strip() for group in groups for mark in group.split(",")}
    return {mark: full for mark, full in SOURCES.items() if mark in marks}


_ORDER = {name: i for i, name in enumerate(METRICS)}


def place(name: str) -> tuple[int, str]:
    """Sorts names as the dictionary has them, members of a family and names of one's own by
    themselves: a header does not depend on who computed the metrics, or in which order."""
    if name in _ORDER:
        return _ORDER[name], name
    return _ORDER.get(name.rpartition("/")[0] + "/*", len(_ORDER)), name


def is_exact(name: str) -> bool:
    """Whether a resumed run must repeat this column to the last bit; times and speed need not."""
    return name != "wall_seconds" and not name.startswith("sys/")


@cache
def aggregate_of(name: str) -> Aggregate:
    """How several values of a metric become one; a user's own metric is averaged."""
    try:
        return describe(name).aggregate
    except RunError:
        return "mean"

"""What a diagnosis looks at, family by family, and how to make it visible where a log lacks it."""

# ruff: noqa: E501 (one metric a line is easier to read and to search than wrapped ones)
from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

ON, VALUE, ACTOR, OFFLINE, IMITATION = (
    "on-policy", "value-based", "actor-critic", "offline", "imitation",
)  # fmt: skip
ALL = (ON, VALUE, ACTOR, OFFLINE, IMITATION, "multi-agent", "model-based", "evolution", "unknown")
OFF = (VALUE, ACTOR, OFFLINE)
LEARNERS = (ON, VALUE, ACTOR, OFFLINE)


class Use(NamedTuple):
    metric: str  # a name of runs/metrics.py
    families: tuple[str, ...]
    advice: str  # what to log, or which probe shows it, whatever the library
    advices: Mapping[str, str] = {}  # the same by library
    setting: str = ""  # of the config, that tells it as well

    @property
    def for_all(self) -> bool:
        return self.families is ALL

    def how(self, library: str, recorded: bool = False) -> str:
        """`recorded`: by the Recorder already, which has had nothing to say of this one."""
        if recorded and self.advices is RECORD:
            return self.advice
        return self.advices.get(library, self.advice)

    def known_from(self, config: Mapping[str, Any]) -> bool:
        return bool(self.setting) and config.get(self.setting) is not None


MONITOR = {"sb3": "wrap the environment in Monitor, or make it with make_vec_env"}
EVALUATE = {
    "sb3": "add EvalCallback(eval_env, log_path=…) to learn()",
    "dressage": "set eval_every above 0",
}
RECORD = {"sb3": "add callback=dressage.sb3.Recorder() to learn()"}
PROBE = "dressage diagnose --probe --env ID"

USES: tuple[Use, ...] = (
    Use("train/roll/ep_rew_mean", ALL, "log the mean return of the last episodes", MONITOR),
    Use("train/roll/ep_len_mean", ALL, "log the mean length of the last episodes", MONITOR),
    Use("val/roll/ep_rew_mean", ALL, "evaluate the deterministic policy on an environment of its own", EVALUATE),
    Use("train/hp/lr", LEARNERS, "log the optimizer's learning rate at each update", setting="learning_rate"),
    Use("sys/env_steps_per_second", LEARNERS, "log env steps per second"),
    Use("train/roll/truncated_share", LEARNERS, f"log how many episodes the time limit ended; or {PROBE}", RECORD),
    Use("train/roll/obs_std", LEARNERS, f"log mean, deviation and largest size of the observations; or {PROBE}", RECORD),
    Use("train/roll/reward_std", LEARNERS, f"log mean and deviation of the reward a step; or {PROBE}", RECORD),
    Use("train/metrics/grad_norm/*", LEARNERS, "log what clip_grad_norm_ returns, the norm before clipping", RECORD),
    Use("train/metrics/update_to_weight/*", LEARNERS, "log the norm of an update over the norm of the weights", RECORD),
    Use("train/metrics/dormant_share/*", LEARNERS, "log the share of hidden units that stay at zero; or give the folder of the weights", RECORD),
    Use("train/metrics/kl_divergence", (ON,), "log the mean of (ratio - 1) - log ratio over an update", RECORD),
    Use("train/metrics/clip_fraction", (ON,), "log the share of probability ratios beyond clip_range"),
    Use("train/metrics/entropy", (ON,), "log the mean entropy of the policy"),
    Use("train/metrics/explained_variance", (ON,), "log 1 - Var(return - value) / Var(return) of each rollout"),
    Use("train/loss/policy", (ON,), "log the loss of the policy alone"),
    Use("train/loss/value", (ON,), "log the loss of the value function alone"),
    Use("train/roll/adv_std", (ON,), "log mean and deviation of the advantage before it is normalised", RECORD),
    Use("train/roll/return_std", (ON,), "log mean and deviation of the value function's targets", RECORD),
    Use("train/hp/clip_range", (ON,), "log the clip range in force", setting="clip_range"),
    Use("train/loss/td", (VALUE,), "log the loss of the action values"),
    Use("train/hp/epsilon", (VALUE,), "log the share of random actions in force", setting="epsilon"),
    Use("train/roll/action_share_max", (ON, VALUE), f"log how often each action is taken; or {PROBE}", RECORD),
    Use("train/roll/action_effect", LEARNERS, f"log what the action explains of the next observation beside the state; or {PROBE}", RECORD),
    Use("train/loss/critic", (ACTOR, OFFLINE), "log the loss of the critics"),
    Use("train/loss/actor", (ACTOR, OFFLINE), "log the loss of the actor"),
    Use("train/roll/action_saturation", (ACTOR,), f"log the share of actions at a bound; or {PROBE}", RECORD),
    Use("train/metrics/q_mean", OFF, "log the mean predicted action value of a batch", RECORD),
    Use("train/metrics/q_gap", OFF, "log predicted action values less the discounted returns that followed", RECORD),
    Use("train/metrics/td_error_mean", OFF, "log the mean absolute TD error of a batch", RECORD),
    Use("train/metrics/target_drift", (VALUE, ACTOR), "log how far the network's values are from its target's", RECORD),
    Use("train/metrics/update_to_data", (VALUE, ACTOR), "log gradient steps beside env steps", RECORD, setting="gradient_steps"),
    Use("train/metrics/buffer_fill", (VALUE, ACTOR), "log how full the replay memory is", RECORD, setting="buffer_size"),
)  # fmt: skip


def first_of(metric: str, names: Iterable[str]) -> str | None:
    """The first of some names that is this metric, or a member of the family it stands for."""
    if "*" not in metric:
        return metric if metric in names else None
    return next((name for name in names if fnmatch.fnmatchcase(name, metric)), None)

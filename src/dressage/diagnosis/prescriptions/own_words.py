"""A patch as the run's own library spells it: its names, its values, and nothing that it lacks."""

from __future__ import annotations

from typing import Any

from dressage.diagnosis.prescriptions.fix import Patch
from dressage.errors import ConfigError
from dressage.math.schedules import at, parse_schedule, schedule_in
from dressage.runs.view import RunView

# Settings that no other library has a word for: what they do is told in the advice alone.
OURS_ALONE = {
    "value_learning_rate", "threads", "backend", "engine", "bonus", "bonus_coef", "recurrent",
    "eval_every", "eval_episodes", "scale_actions", "share_features",
}  # fmt: skip
ACTIVATIONS = {"tanh": "nn.Tanh", "relu": "nn.ReLU", "gelu": "nn.GELU", "sigmoid": "nn.Sigmoid"}
OPTIMIZERS = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD", "rmsprop": "RMSprop"}
OF_POLICY = ("net_arch", "log_std_init", "ortho_init", "n_critics", "n_quantiles")
OF_OPTIMIZER = {"optimizer_eps": "eps", "weight_decay": "weight_decay", "rmsprop_alpha": "alpha"}


def own_words(run: RunView, patch: Patch) -> Patch:
    """`patch` in the words of the library that wrote the run; empty if it knows none of it."""
    if run.library == "dressage":
        return patch
    known = {name: value for name, value in patch.items() if name not in OURS_ALONE}
    if run.library == "sb3":
        return _sb3(run, known)
    return {run.own_setting(name): _number(value) for name, value in known.items()}


def _sb3(run: RunView, patch: Patch) -> Patch:
    """Arguments of the algorithm, of `learn` and of `VecNormalize`, as in a script; what RL-Zoo's
    file calls otherwise, as there."""
    zoo = "n_timesteps" in run.own_config
    made: dict[str, Any] = {}
    policy: dict[str, Any] = {}
    normalize: dict[str, Any] = {}
    for name, value in patch.items():
        if name == "env_steps":
            made["n_timesteps" if zoo else "total_timesteps"] = value
        elif name == "epsilon":
            made |= _epsilon(value)
        elif name == "noise_std":
            made["action_noise"] = f"NormalActionNoise(mean=0, sigma={value:g})"
        elif name == "normalize_advantage":
            made[name] = value not in ("off", False)
        elif name in ("normalize_obs", "normalize_reward"):
            normalize[name.replace("normalize", "norm")] = value
        elif name == "activation":
            policy["activation_fn"] = ACTIVATIONS.get(str(value), value)
        elif name == "optimizer":
            policy["optimizer_class"] = f"torch.optim.{OPTIMIZERS.get(str(value), value)}"
        elif name in OF_OPTIMIZER:
            policy.setdefault("optimizer_kwargs", {})[OF_OPTIMIZER[name]] = value
        elif name in OF_POLICY:
            policy[name] = value
        else:
            own = run.own_setting(name)
            made["learning_rate" if own == "lr_schedule" else own] = _scheduled(value, zoo)
    if normalize:
        made["normalize" if zoo else "VecNormalize"] = normalize
    return made | ({"policy_kwargs": policy} if policy else {})


def _epsilon(value: Any) -> Patch:
    """SB3 explores along a line from a first to a last epsilon, over a share of the budget."""
    schedule = schedule_in(value)
    if schedule is None:
        return {"exploration_final_eps": value}
    last = schedule.start if schedule.end is None else schedule.end
    return {
        "exploration_initial_eps": schedule.start,
        "exploration_final_eps": last,
        "exploration_fraction": schedule.until,
    }


def _scheduled(value: Any, zoo: bool) -> Any:
    """A line as SB3's LinearSchedule, or RL-Zoo's `lin_`; the first value of any other schedule."""
    schedule = schedule_in(value)
    if schedule is None or schedule.kind != "linear" or schedule.end is None:
        return _number(value)
    if zoo and schedule.end == 0.0 and schedule.until == 1.0:
        return f"lin_{schedule.start:g}"
    return f"LinearSchedule({schedule.start:g}, {schedule.end:g}, {schedule.until:g})"


def _number(value: Any) -> Any:
    """The first value of a schedule, and a number that is written as text; else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return float(at(parse_schedule(value), 0.0))
    except ConfigError:
        return value

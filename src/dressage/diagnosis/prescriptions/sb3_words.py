"""A patch for a run of Stable-Baselines3, as Python that can be pasted: arguments of that
algorithm's constructor, of `learn` and of `make_vec_env`; as RL-Zoo's file spells it where the run
has one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dressage.diagnosis.prescriptions.fix import Patch, epsilon_line, number, number_in
from dressage.math.schedules import schedule_in
from dressage.runs.readers.sb3_arguments import (
    ACTIVATIONS,
    ARGUMENTS,
    CLASSES,
    OF_OPTIMIZER,
    OF_POLICY,
    OPTIMIZER_LACKS,
    OPTIMIZERS,
    POLICY_ARGUMENTS,
)
from dressage.runs.view import RunView

NORMALIZE = ("normalize_obs", "normalize_reward")
OUTSIDE = ("env_steps", "n_envs", *NORMALIZE)  # of `learn`, `make_vec_env` and `VecNormalize`
# What is said of a change that SB3 has no argument for.
IN_WORDS = {
    "max_grad_norm": "SB3's {} has no argument for it: only a train() of your own can.",
    "double": "SB3's {} has no argument for the latter.",
    "recurrent": "With SB3, a memory is sb3_contrib's RecurrentPPO.",
    "value_learning_rate": "SB3's {} has one optimizer for both, and no argument for this.",
}


def sb3_tellable(run: RunView, patch: Patch) -> tuple[Patch, str]:
    """What of a patch SB3's algorithm can be told, and a sentence about the rest."""
    told = {name: value for name, value in patch.items() if _has(run, name, patch)}
    algo = CLASSES.get(run.algo or "", run.algo or "algorithm")
    rest = [IN_WORDS[name].format(algo) for name in patch if name in IN_WORDS and name not in told]
    return told, " ".join(rest)


def _has(run: RunView, name: str, patch: Patch) -> bool:
    if name == "action_noise":  # goes with its deviation
        return False
    if patch[name] is None and name not in run.config:  # SB3's default, and what the run had
        return False
    if name in OUTSIDE:
        return True
    if name in OF_OPTIMIZER:
        word = str(patch.get("optimizer", run.config.get("optimizer")))
        return OF_OPTIMIZER[name] not in OPTIMIZER_LACKS.get(word, ())
    if name in OF_POLICY:
        return OF_POLICY[name] in _of(run.algo, POLICY_ARGUMENTS)
    return _argument(run, name) in _of(run.algo, ARGUMENTS)


def _of(algo: str | None, table: Mapping[str, tuple[str, ...]]) -> set[str]:
    """What an algorithm takes; of an unknown one, what any of them does."""
    tables = [table[algo]] if algo and algo in table else table.values()
    return {name for names in tables for name in names}


def sb3_words(run: RunView, patch: Patch) -> Patch:
    zoo = "n_timesteps" in run.own_config
    made: dict[str, Any] = {}
    policy: dict[str, Any] = {}
    for name, value in patch.items():
        if name == "env_steps":
            made["n_timesteps" if zoo else "total_timesteps"] = value
        elif name == "epsilon":
            made |= _epsilon(value)
        elif name == "noise_std":
            made |= _noise(run, value, zoo)
        elif name == "normalize_advantage":
            made[name] = value not in ("off", False)
        elif name in OF_OPTIMIZER:
            policy.setdefault("optimizer_kwargs", {})[OF_OPTIMIZER[name]] = value
        elif name in OF_POLICY:
            policy[OF_POLICY[name]] = _of_policy(run, name, value)
        elif name not in NORMALIZE:
            made[_argument(run, name)] = _scheduled(value, zoo)
    if patch.keys() & set(NORMALIZE):
        made |= _normalize(run, patch, zoo)
    if policy.keys() == {"optimizer_kwargs"} and run.algo == "a2c":
        # without a class beside them, A2C puts its own in their place
        policy["optimizer_class"] = _optimizer(run.config.get("optimizer", "rmsprop"))
    return made | ({"policy_kwargs": _python(policy)} if policy else {})


def _argument(run: RunView, name: str) -> str:
    """Its name among the arguments of the constructor; `normalize_*` and such have none."""
    if name in ("epsilon", "noise_std"):
        return {"epsilon": "exploration_final_eps", "noise_std": "action_noise"}[name]
    if name == "n_step":
        return "n_steps"
    own = run.own_setting(name)
    return "learning_rate" if own == "lr_schedule" else own


def _epsilon(value: Any) -> Patch:
    """SB3 explores along a line from a first to a last epsilon, over a share of the budget."""
    if schedule_in(value) is None:
        return {"exploration_final_eps": value}
    line = epsilon_line(value)
    return {
        "exploration_initial_eps": line.first,
        "exploration_final_eps": line.last,
        "exploration_fraction": line.until,
    }


def _noise(run: RunView, sigma: Any, zoo: bool) -> Patch:
    sigma = number_in(sigma)
    if zoo:
        return {"noise_type": "normal", "noise_std": sigma}
    shape = re.search(r"\((\d+),\)", str(run.spec.get("action_space", "")))
    size = shape[1] if shape else "env.action_space.shape"
    text = f"NormalActionNoise(mean=np.zeros({size}), sigma={sigma:g} * np.ones({size}))"
    return {"action_noise": text if sigma else None}


def _normalize(run: RunView, patch: Patch, zoo: bool) -> Patch:
    """Both parts are told: SB3 normalises observations and rewards unless it is told not to."""
    told = {name: bool(patch.get(name, run.config.get(name, False))) for name in NORMALIZE}
    words = {name.replace("normalize", "norm"): value for name, value in told.items()}
    if zoo:
        return {"normalize": _python(words)}
    gamma = patch.get("gamma", number(run, "gamma", 0.99))
    if words["norm_reward"] and gamma != 0.99:  # by which it adds rewards up to returns
        words["gamma"] = gamma
    return {"env": f"VecNormalize(env, {_python(words).removeprefix('dict(')}"}


def _of_policy(run: RunView, name: str, value: Any) -> Any:
    if name == "activation":
        return f"torch.nn.{ACTIVATIONS.get(str(value), value)}"
    if name == "optimizer":
        return _optimizer(value)
    if name == "net_arch" and isinstance(value, Mapping):
        critic = "vf" if run.family == "on-policy" else "qf"
        return {{"policy": "pi", "value": critic}.get(part, part): v for part, v in value.items()}
    return value


def _optimizer(word: Any) -> str:
    name = OPTIMIZERS.get(str(word), str(word))
    return name if name == OPTIMIZERS["rmsprop_tf"] else f"torch.optim.{name}"


def _python(value: Any) -> str:
    """As it is written in a script; a text is the name of a class."""
    if isinstance(value, Mapping):
        return f"dict({', '.join(f'{key}={_python(item)}' for key, item in value.items())})"
    return value if isinstance(value, str) else repr(value)


def _scheduled(value: Any, zoo: bool) -> Any:
    """A line as SB3's LinearSchedule, or RL-Zoo's `lin_`; the first value of any other schedule."""
    schedule = schedule_in(value)
    if schedule is None or schedule.kind != "linear" or schedule.end is None:
        return number_in(value)
    if not zoo:
        return f"LinearSchedule({schedule.start:g}, {schedule.end:g}, {schedule.until:g})"
    to_zero = schedule.end == 0.0 and schedule.until == 1.0
    return f"lin_{schedule.start:g}" if to_zero else schedule.start

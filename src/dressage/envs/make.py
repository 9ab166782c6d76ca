"""Making one environment: a Gymnasium id, `module:Class`, `module:function`, or a callable.

The environment never resets itself (the Collector does, with one seed an episode) and carries no
PassiveEnvChecker (it doubles the cost of a cheap step; our codecs check shapes themselves).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from dressage.envs.box2d import with_fresh_world
from dressage.envs.no_velocity import register_no_velocity
from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.envs.wrappers import WrapperSpec, apply_wrappers, env_kwargs_for, layers
from dressage.errors import EnvError, did_you_mean

# What brings a family: (module that registers its ids, our pip extra).
FAMILIES = {
    "ALE/": ("ale_py", "atari"),
    "MiniGrid": ("minigrid", "minigrid"),
    "BabyAI": ("minigrid", "minigrid"),
}
EXTRA_OF_ENTRY_POINT = {
    "box2d": "box2d",
    "mujoco": "mujoco",
    "ale_py": "atari",
    "minigrid": "minigrid",
}


@dataclass(frozen=True)
class EnvRecipe:
    """All it takes to make an environment, here or in a worker process: `recipe()` makes one."""

    env: str | Callable[..., Any]
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    wrappers: Sequence[WrapperSpec] = ()
    max_episode_steps: int | None = None
    trust: bool = True  # may `module:name` be imported?
    vector: str | Callable[[int], Any] | None = None  # num_envs -> VectorEnv, for VectorBatch

    def __call__(self, render_mode: str | None = None) -> Any:
        return make_env(
            self.env,
            env_kwargs=self.env_kwargs,
            wrappers=self.wrappers,
            render_mode=render_mode,
            trust=self.trust,
            max_episode_steps=self.max_episode_steps,
        )


def _see_own_modules() -> str:
    """Puts the working directory on the path, as `python -m` does; returns it."""
    here = os.getcwd()
    if "" not in sys.path and here not in sys.path:
        sys.path.insert(0, here)
    return here


def is_module(name: str) -> bool:
    """Whether a module of that name can be found; nothing is imported."""
    _see_own_modules()
    return name.isidentifier() and importlib.util.find_spec(name) is not None


def import_named(name: str, *, trust: bool = True, what: str = "environment") -> Any:
    """The object that `module:attribute` names. The only place in envs/ that imports user code."""
    module_name, _, attribute = name.partition(":")
    if not trust:
        raise EnvError(
            f"The {what} '{name}' is code from outside dressage, named by a file: it is imported "
            "only if you name it yourself or pass --trust."
        )
    here = _see_own_modules()
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise EnvError(
                f"The {what} '{name}' needs the module '{error.name}', which is not found from "
                f"{here}: check the spelling, or run from the project's folder."
            ) from None
        raise EnvError(f"Importing '{module_name}' for the {what} '{name}': {error}.") from error
    except Exception as error:
        raise EnvError(
            f"Importing '{module_name}' for the {what} '{name}' failed with "
            f"{type(error).__name__}: {error}."
        ) from error
    for part in attribute.split(".") if attribute else ():
        if not hasattr(found, part):
            public = [n for n in vars(found) if not n.startswith("_")]
            raise EnvError(
                f"The module '{module_name}' has no '{part}'.{did_you_mean(part, public)}"
            )
        found = getattr(found, part)
    return found


def make_env(
    env: str | Callable[..., Any],
    *,
    env_kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[WrapperSpec] = (),
    render_mode: str | None = None,
    trust: bool = True,
    max_episode_steps: int | None = None,
) -> Any:
    """A wrapped `gymnasium.Env`."""
    kwargs = dict(env_kwargs or {})
    if render_mode is not None:
        kwargs["render_mode"] = render_mode
    if isinstance(env, str) and not _names_an_object(env):
        limit = kwargs.pop("max_episode_steps", None)  # gym.make's own, not the environment's
        limit = limit if max_episode_steps is None else max_episode_steps
        made = _make_registered(env, kwargs, env_kwargs_for(wrappers), trust, limit)
    else:
        factory = import_named(env, trust=trust) if isinstance(env, str) else env
        made = _make_called(env, factory, kwargs)
        if max_episode_steps is not None:
            made = gym.wrappers.TimeLimit(made, max_episode_steps)
    made = with_fresh_world(made)
    return apply_wrappers(
        made, wrappers, lambda name: import_named(name, trust=trust, what="wrapper")
    )


def _names_an_object(env: str) -> bool:
    """`module:Class` and not Gymnasium's own `module:Id-v0`."""
    module, colon, attribute = env.partition(":")
    return bool(colon) and all(
        p.isidentifier() for p in [*module.split("."), *attribute.split(".")]
    )


def _make_called(env: str | Callable[..., Any], factory: Any, kwargs: dict[str, Any]) -> Any:
    name = env if isinstance(env, str) else getattr(env, "__name__", repr(env))
    if not callable(factory):
        raise EnvError(
            f"'{name}' is a {type(factory).__name__}, expected a class or function that makes a "
            "gymnasium.Env."
        )
    try:
        made = factory(**kwargs)
    except EnvError:
        raise
    except TypeError as error:
        given = ", ".join(kwargs) or "none"
        raise EnvError(f"Making '{name}' (keyword arguments: {given}) failed: {error}.") from error
    except Exception as error:
        raise EnvError(f"Making '{name}' failed with {type(error).__name__}: {error}.") from error
    if isinstance(made, gym.Env):
        return made
    if isinstance(made, gym.vector.VectorEnv):
        advice = "give a function that makes a single one, and the vector form as vector="
    elif type(made).__module__.startswith("gym.") or hasattr(made, "seed"):
        advice = "it looks like an environment of the old gym: move it to gymnasium, or use shimmy"
    else:
        advice = "derive it from gymnasium.Env"
    raise EnvError(f"'{name}' made a {type(made).__name__}, expected a gymnasium.Env: {advice}.")


def _make_registered(
    env_id: str,
    kwargs: dict[str, Any],
    wanted: Mapping[str, Any],  # by the wrappers, where the environment has such a setting
    trust: bool,
    max_episode_steps: int | None,
) -> Any:
    module, colon, plain = env_id.partition(":")
    if colon:
        import_named(module, trust=trust)
    else:
        plain = env_id
    for prefix, (family, extra) in FAMILIES.items():
        if plain.startswith(prefix):
            _import_family(family, extra, env_id)
    if plain not in gym.registry:
        register_no_velocity()
        for family in dict.fromkeys(family for family, _ in FAMILIES.values()):
            _import_family(family)
    spec = gym.registry.get(plain)
    settings = spec.kwargs if spec is not None else {}
    kwargs = {**{k: v for k, v in wanted.items() if k in settings}, **kwargs}
    entry_point = str(spec.entry_point) if spec is not None else ""
    with warnings.catch_warnings(), _quiet_mujoco("mujoco" in entry_point):
        # "out of date", "latest versioned", Box precision: spec.json records the version in use.
        warnings.simplefilter("ignore")
        try:
            return gym.make(
                plain, max_episode_steps=max_episode_steps, disable_env_checker=True, **kwargs
            )
        except gym.error.UnregisteredEnv:
            near = did_you_mean(plain, list(gym.registry))
            raise EnvError(
                f"There is no environment '{env_id}'.{near} Your own are named module:Class or "
                "module:function."
            ) from None
        except (gym.error.DependencyNotInstalled, ModuleNotFoundError) as error:
            raise _missing_extra(plain, error) from error
        except Exception as error:
            raise EnvError(
                f"Making '{env_id}' failed with {type(error).__name__}: {error}."
            ) from error


@contextmanager
def _quiet_mujoco(active: bool) -> Iterator[None]:
    """MuJoCo 4 complains about Gymnasium's own models, on stderr and in a file in the folder."""
    try:
        mujoco = importlib.import_module("mujoco") if active else None
    except ImportError:  # gym.make says what is missing
        mujoco = None
    if mujoco is None or not hasattr(mujoco, "set_mju_user_warning"):
        yield
        return
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def _import_family(module: str, extra: str = "", env_id: str = "") -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            imported = importlib.import_module(module)
            if module == "ale_py":  # else a banner on stderr for every environment
                imported.ALEInterface.setLoggerMode(imported.LoggerMode.Error)
    except ModuleNotFoundError:
        if extra:
            raise EnvError(
                f"'{env_id}' needs {module}, which is not installed: "
                f"pip install 'dressage[{extra}]'"
            ) from None


def _missing_extra(env_id: str, error: Exception) -> EnvError:
    spec = gym.registry.get(env_id)
    entry_point = str(spec.entry_point) if spec is not None else ""
    for part, extra in EXTRA_OF_ENTRY_POINT.items():
        if part in entry_point:
            return EnvError(
                f"'{env_id}' needs a package that is not installed ({error}): "
                f"pip install 'dressage[{extra}]'"
            )
    return EnvError(f"'{env_id}' needs a package that is not installed: {error}.")


def time_limit(env: Any) -> int | None:
    """env steps after which an episode is truncated, as far as the wrappers or the spec tell."""
    limits = [w._max_episode_steps for w in layers(env) if isinstance(w, gym.wrappers.TimeLimit)]
    if limits:
        return int(min(limits))
    spec = env.unwrapped.spec
    return int(spec.max_episode_steps) if spec is not None and spec.max_episode_steps else None


def env_spec_info(env: Any, scale_actions: bool = True) -> dict[str, Any]:
    """What spec.json says about an environment; JSON as it stands."""
    spec = env.unwrapped.spec
    reward_range = getattr(env.unwrapped, "reward_range", None)
    chain = layers(env)
    return {
        "id": spec.id if spec is not None else f"{_module(env)}:{type(env.unwrapped).__name__}",
        "version": spec.version if spec is not None else None,
        "package": _package_version(env),
        "observation_space": repr(env.observation_space),
        "action_space": repr(env.action_space),
        "observation": ObsCodec.from_space(env.observation_space).to_json(),
        "action": ActionCodec.from_space(env.action_space, scale_actions).to_json(),
        "time_limit": time_limit(env),
        "reward_threshold": float(spec.reward_threshold)
        if spec is not None and spec.reward_threshold is not None
        else None,
        "reward_range": [str(float(x)) for x in reward_range] if reward_range else None,
        "nondeterministic": bool(spec.nondeterministic) if spec is not None else False,
        "wrappers": [type(layer).__name__ for layer in chain[:-1]],
    }


def _module(env: Any) -> str:
    return type(env.unwrapped).__module__


def _package_version(env: Any) -> str:
    """Name and version of the package that holds the environment's class, if it is installed."""
    from importlib.metadata import PackageNotFoundError, version

    top = _module(env).partition(".")[0]
    try:
        return f"{top} {version(top)}"
    except PackageNotFoundError:
        return top

"""The settings of a run: one schema for files, flags and calls.

`RunConfig` holds what every run has. An algorithm's `Config` inherits the field groups below that
it uses and adds its own; both are flat, so that a user types `lr=3e-4` and never a path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    field_validator,
)

from dressage.errors import ConfigError
from dressage.math.schedules import Schedule, at, parse_schedule

Auto = Literal["auto"]
Count = Annotated[int, Field(ge=1)]
Activation = Literal["tanh", "relu", "gelu", "elu", "silu"]
Optimizer = Literal["adam", "adamw", "sgd", "rmsprop", "rmsprop_tf", "lamb", "shampoo"]


def _write_schedule(value: float | Schedule) -> float | str:
    return str(value) if isinstance(value, Schedule) else value


def _read_schedule(value: Any) -> float | Schedule:
    try:
        return parse_schedule(value)
    except ConfigError as error:
        raise ValueError(str(error)) from None  # pydantic adds which setting it is


def _read_bound(value: Any) -> float | Schedule:
    """As a schedule; infinity is no bound."""
    return math.inf if str(value).strip().lower() in ("inf", "infinity") else _read_schedule(value)


def _always(holds: Callable[[float], bool], expected: str) -> AfterValidator:
    """What must be true of a number, and of a schedule everywhere on its way."""

    def check(value: float | Schedule) -> float | Schedule:
        scheduled = isinstance(value, Schedule)
        for progress in [i / 100 for i in range(101)] if scheduled else [0.0]:
            if not holds(number := at(value, progress)):
                when = f" at {progress:.0%} of the run" if scheduled else ""
                raise ValueError(f"is {number:g}{when}, expected {expected}")
        return value

    return AfterValidator(check)


def _keeps_a_buffer(value: float | Schedule) -> float | Schedule:
    """PyTorch's RMSprop makes the buffer at its first step, if there is momentum then."""
    if isinstance(value, Schedule) and value(0.0) == 0:
        raise ValueError("begins at 0, expected a schedule that begins above 0")
    return value


# A number, or a schedule such as `linear(3e-4, 0, warmup=0.05)` over the run's progress.
_Read = BeforeValidator(_read_schedule)
_Write = PlainSerializer(_write_schedule)
Schedulable = Annotated[Any, _Read, _Write]  # float | Schedule
SchedulableRate = Annotated[Any, _Read, _always(lambda x: x >= 0, "at least 0"), _Write]
SchedulablePositive = Annotated[Any, _Read, _always(lambda x: x > 0, "above 0"), _Write]
SchedulableBound = Annotated[
    Any, BeforeValidator(_read_bound), _always(lambda x: x > 0, "above 0"), _Write
]
SchedulableShare = Annotated[Any, _Read, _always(lambda x: 0 <= x <= 1, "from 0 to 1"), _Write]
SchedulableDecay = Annotated[
    Any, _Read, _always(lambda x: 0 < x < 1, "above 0 and below 1"), _Write
]
SchedulableMomentum = Annotated[
    Any,
    _Read,
    _always(lambda x: 0 <= x < 1, "at least 0 and below 1"),
    AfterValidator(_keeps_a_buffer),
    _Write,
]


def true_means(way: str) -> BeforeValidator:
    """For a choice of ways: true is this one, false is off (SB3 has a switch; YAML reads `off` so).

    `normalize_advantage: Annotated[Literal["batch", "off"], true_means("batch")]`
    """
    return BeforeValidator(
        lambda value: (way if value else "off") if isinstance(value, bool) else value
    )


class Settings(BaseModel):
    """Frozen, and without unknown fields."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, defer_build=True
    )  # most classes here are only inherited from: a schema is built when it is used

    def schedules(self) -> dict[str, Schedule]:
        """The settings that change over a run."""
        return {name: value for name, value in self.__dict__.items() if isinstance(value, Schedule)}

    def at(self, progress: float, schedules: Mapping[str, Schedule] | None = None) -> Self:
        """The settings in force: each schedule replaced by its value at `progress` in [0, 1].

        `schedules`: those of `schedules()`, from who asks often and so looks for them only once.
        """
        found = self.schedules() if schedules is None else schedules
        if not found:
            return self
        values = {name: schedule(progress) for name, schedule in found.items()}
        # model_copy does the same in ten times the time, and this runs once an iteration
        now = type(self).__new__(type(self))
        object.__setattr__(now, "__dict__", self.__dict__ | values)
        for name in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
            object.__setattr__(now, name, getattr(self, name))
        return now


def _names(text: str) -> list[str]:
    """`a,b:1,2,k=3` as `a` and `b:1,2,k=3`: a number or `key=` goes on with the name before it."""
    found: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if found and ":" in found[-1] and (part[0] in "-+.0123456789" or "=" in part):
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


class RunConfig(Settings):
    """What every run has, whatever the algorithm."""

    env: str = Field(description="Gymnasium id, `module:Class` or `module:function`")
    algo: str = Field("ppo", description="name of an algorithm, or `package.module` of your own")
    env_steps: int = Field(
        100_000, ge=1, description="budget: environment steps over all environments"
    )
    seed: int = Field(0, ge=0, lt=2**63, description="seed of the run; every draw derives from it")
    seeds: int = Field(1, ge=1, le=1000, description="how many seeds to train: seed, seed+1, …")
    n_envs: Count | Auto = Field(
        "auto", description="environments side by side; auto: 8, or 1 with a replay memory"
    )
    engine: Literal["auto", "native", "torch"] = Field(
        "auto", description="what computes the updates; auto: native where it can"
    )
    device: str = Field("auto", description="auto, cpu, cuda, cuda:1, mps")
    threads: Count | Auto = Field(
        "auto", description="of an update; auto: whatever is fast and changes no result"
    )
    precision: Literal["fp32", "bf16", "fp16"] = Field("fp32", description="of losses and networks")
    compile: bool = Field(False, description="torch.compile the losses")
    env_kwargs: dict[str, Any] = Field(default_factory=dict, description="given to the environment")
    wrappers: list[str | dict[str, Any]] = Field(
        default_factory=list, description="wrappers by name, innermost first"
    )
    vector: str | None = Field(
        None, description="`module:function` that makes a VectorEnv for a number of environments"
    )
    backend: Literal["auto", "native", "inline", "process", "vector"] = Field(
        "auto", description="how environments are stepped; auto measures"
    )
    normalize_obs: bool = Field(False, description="observations by running mean and deviation")
    normalize_reward: bool = Field(False, description="rewards by the deviation of the return")
    clip_obs: float = Field(10.0, gt=0, description="bound of a normalised observation")
    clip_reward: float = Field(10.0, gt=0, description="bound of a normalised reward")
    scale_actions: bool = Field(True, description="bounded actions are [-1, 1] to the policy")
    net: str | None = Field(
        None, description="`module:function` that makes the encoder of your own"
    )
    callbacks: list[str] = Field(default_factory=list, description="`module:Class` of your own")
    trackers: list[str] = Field(
        default_factory=list,
        description="tensorboard, wandb, mlflow, trackio beside the run folder",
    )
    log_every: Count | Auto = Field(
        "auto", description="env steps; auto: an iteration or budget/1000"
    )
    checkpoint_every: Count | Auto = Field(
        "auto", description="env steps; auto: a tenth of the budget, and 10 seconds"
    )
    keep_checkpoints: int = Field(2, ge=1, description="newest checkpoints kept beside the best")
    eval_every: Annotated[int, Field(ge=0)] | Auto = Field(
        "auto", description="env steps; auto: a tenth of the budget; 0: never"
    )
    eval_episodes: int = Field(10, ge=1, description="episodes of an evaluation during training")
    final_eval_episodes: int = Field(20, ge=0, description="episodes of the evaluation at the end")
    guard: Annotated[Literal["warn", "stop", "off"], true_means("warn")] = Field(
        "warn", description="a run that cannot recover: say so, end it, or do not look"
    )
    stop_at_return: float | None = Field(
        None, description="ends the run when an evaluation reaches it"
    )

    @field_validator("wrappers", "callbacks", "trackers", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return _names(value) if isinstance(value, str) else value


class TorsoSettings(Settings):
    """What every network has between an observation and its heads; widths come apart."""

    GROUP: ClassVar[str] = "network"

    activation: Activation = Field("tanh", description="of hidden layers")
    layer_norm: bool = Field(False, description="layer norm before each hidden activation")
    ortho_init: bool = Field(True, description="orthogonal weights, gains sqrt(2), 0.01 and 1")
    recurrent: Literal["none", "gru", "lstm"] = Field(
        "none", description="a recurrent cell, if any"
    )
    hidden_size: int = Field(64, ge=1, description="units of the recurrent cell")


class NetworkSettings(TorsoSettings):
    """Networks of an actor and a critic."""

    net_arch: list[Count] | dict[str, list[Count]] = Field(
        [64, 64], description="hidden widths; or {policy: [...], value: [...]}"
    )
    share_features: bool = Field(False, description="one trunk for policy and value")
    value_learning_rate: SchedulableRate | None = Field(
        None, description="of the value network; none: the same"
    )
    log_std_init: float = Field(0.0, description="log of the first action deviation")
    squash: bool = Field(False, description="tanh-squashed Gaussian instead of a clipped one")
    use_sde: bool = Field(False, description="state-dependent exploration (gSDE)")
    sde_sample_freq: int = Field(
        -1, description="steps between its noise matrices; -1: an iteration"
    )

    @field_validator("net_arch", mode="after")
    @classmethod
    def _known_parts(cls, value: Any) -> Any:
        if isinstance(value, dict):
            value = {{"pi": "policy", "vf": "value"}.get(key, key): v for key, v in value.items()}
            if set(value) != {"policy", "value"}:
                raise ValueError(f"has the parts {sorted(value)}, expected policy and value")
        return value


class OptimizerSettings(Settings):
    """The optimizer of a learner's networks."""

    GROUP: ClassVar[str] = "optimizer"

    learning_rate: SchedulableRate = Field(3e-4, description="step size (alias lr)")
    optimizer: Optimizer = Field("adam", description="rmsprop_tf puts epsilon inside the root")
    optimizer_eps: SchedulablePositive = Field(1e-5, description="epsilon of the optimizer")
    weight_decay: SchedulableRate = Field(0.0, description="of the optimizer")
    momentum: SchedulableMomentum = Field(0.0, description="of SGD and RMSprop")
    betas: tuple[float, float] = Field((0.9, 0.999), description="of Adam, AdamW and LAMB")
    rmsprop_alpha: SchedulableDecay = Field(0.99, description="smoothing of RMSprop")
    max_grad_norm: SchedulableBound = Field(0.5, description="gradients are clipped to this norm")


ALIASES = {
    "lr": "learning_rate",
    "value_lr": "value_learning_rate",
    "steps": "env_steps",
    "total_timesteps": "env_steps",
}

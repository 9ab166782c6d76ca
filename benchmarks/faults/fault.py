"""What a fault is: a cause of the vocabulary, the settings it is put into, and three severities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.faults.injection import Levels

# What is compared with the clean twin: the environment's own return at the end of training; that of
# the last evaluation; that of the last policy in the clean environment; the logged return; the
# speed; or, of crashes, nothing.
Measure = Literal["final", "val", "played", "logged", "speed", "crash"]


@dataclass(frozen=True)
class Fault:
    name: str
    cause: str
    settings: tuple[str, ...]
    levels: Levels
    measure: Measure = "final"


# Acrobot is quick only in C, so what wraps it or patches its collecting goes to other tasks.
PPO = ("cartpole-ppo", "acrobot-ppo", "pendulum-ppo", "pointmass-ppo")
WRAPPED_PPO = ("cartpole-ppo", "pointmass-ppo", "pendulum-ppo", "pointmass-choices-ppo")
CHOICES = ("cartpole-ppo", "acrobot-ppo", "cartpole-a2c", "acrobot-a2c")
WRAPPED_CHOICES = ("cartpole-ppo", "pointmass-choices-ppo", "cartpole-dqn", "pointmass-dqn")
GAUSSIAN = ("pendulum-ppo", "pointmass-ppo", "pointmass-a2c")
ON = ("cartpole-ppo", "acrobot-ppo", "pendulum-ppo", "pointmass-a2c", "cartpole-a2c")
WRAPPED_ON = ("cartpole-ppo", "pointmass-a2c", "cartpole-a2c", "pointmass-choices-ppo")
VALUES = ("cartpole-dqn", "pointmass-dqn", "acrobot-dqn")
EXPLORING = ("corridor-dqn", "acrobot-dqn", "cartpole-dqn")
ACTOR = ("pendulum-sac", "pointmass-sac", "pendulum-td3", "pointmass-td3")
SAC = ("pendulum-sac", "pointmass-sac")
DETERMINISTIC = ("pendulum-ddpg", "pointmass-td3", "pendulum-td3")
OFF = ("cartpole-dqn", "pointmass-sac", "pendulum-sac", "pointmass-dqn")
ANY = ("cartpole-ppo", "pointmass-ppo", "cartpole-dqn", "pointmass-sac", "pendulum-sac")
CONTINUOUS = ("pendulum-ppo", "pointmass-ppo", "pendulum-sac", "pointmass-sac")
# Settings that a fault of the one is put into as well: rates that are counted on a single
# environment say little of the next, and so do figures that are measured on one.
ALIKE = {
    "cartpole-ppo": ("descent-ppo", "grid-ppo", "swing-ppo", "catch-ppo"),
    "acrobot-ppo": ("grid-ppo", "descent-ppo", "swing-ppo", "guess-ppo", "lane-choices-ppo"),
    "pointmass-choices-ppo": ("grid-ppo", "catch-ppo", "guess-ppo", "lane-choices-ppo"),
    "pointmass-ppo": ("follow-ppo", "balance-ppo", "tanks-ppo", "lane-ppo"),
    "pointmass-a2c": ("follow-a2c", "balance-a2c", "tanks-a2c", "lane-a2c"),
    "acrobot-a2c": ("grid-a2c", "swing-a2c"),
    "cartpole-dqn": ("grid-dqn", "swing-dqn"),
    "acrobot-dqn": ("descent-dqn", "swing-dqn"),
    "pointmass-dqn": ("descent-dqn", "balance-dqn", "catch-dqn", "tanks-dqn", "lane-dqn"),
    "pointmass-sac": ("follow-sac", "balance-sac", "tanks-sac", "lane-sac"),
    "pointmass-td3": ("follow-td3", "guess-td3", "lane-td3"),
}


def fault(
    cause: str,
    settings: tuple[str, ...],
    three: Levels,
    of: str = "",
    measure: Measure = "final",
    widened: bool = True,
) -> Fault:
    """`widened`: its numbers fit any environment, so it goes into settings that are alike too."""
    alike = [other for name in settings for other in ALIKE.get(name, ())] if widened else []
    everywhere = tuple(dict.fromkeys((*settings, *alike)))
    return Fault(f"{cause}.{of}" if of else cause, cause, everywhere, three, measure)

"""Variations that look unusual and do no harm: a diagnosis must stay quiet.

Some are textbook faults that do not hurt where they are put here (no gradient clipping, no
normalisation of advantages on CartPole); others are ordinary choices of another hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.faults.injection import Injection, times


@dataclass(frozen=True)
class Variation:
    name: str
    settings: tuple[str, ...]
    injection: Injection


OWN = (
    "descent-ppo",
    "grid-ppo",
    "follow-ppo",
    "balance-ppo",
    "catch-ppo",
    "swing-ppo",
    "guess-ppo",
)
PPO = ("cartpole-ppo", "acrobot-ppo", "pendulum-ppo", "pointmass-ppo", *OWN)
WRAPPED = ("cartpole-ppo", "pendulum-ppo", "pointmass-ppo", "pointmass-choices-ppo", *OWN)
A2C = ("cartpole-a2c", "pointmass-a2c", "follow-a2c", "grid-a2c", "balance-a2c", "swing-a2c")
ON = (*PPO, *A2C)
VALUES = (
    "cartpole-dqn",
    "pointmass-dqn",
    "grid-dqn",
    "descent-dqn",
    "balance-dqn",
    "catch-dqn",
    "swing-dqn",
)
ACTOR = (
    "pendulum-sac",
    "pointmass-sac",
    "pendulum-ddpg",
    "pointmass-td3",
    "follow-sac",
    "balance-sac",
    "guess-td3",
)
OFF = (*VALUES, *ACTOR)
AFRESH = ("guess-dqn", "offers-dqn", "offers-qr")


def settings(name: str, where: tuple[str, ...], **config: object) -> Variation:
    plain = {key: v[0] if isinstance(v, tuple) else v for key, v in config.items()}
    return Variation(name, where, Injection(plain))


def wrapped(name: str, where: tuple[str, ...], wrapper: str, **kwargs: object) -> Variation:
    return Variation(name, where, Injection(wrappers=((wrapper, kwargs),)))


VARIATIONS = {
    one.name: one
    for one in (
        settings("no-gradient-clipping", ON, max_grad_norm="inf"),
        settings("small-entropy-bonus", ON, ent_coef=0.002),
        settings("advantages-as-they-are", ("cartpole-ppo",), normalize_advantage="off"),
        settings("lower-rate", ON, learning_rate=times("learning_rate", 0.6)),
        settings("higher-rate", OFF, learning_rate=times("learning_rate", 1.5)),
        settings("wider-network", (*ON, *OFF), net_arch=[96, 96]),
        settings("one-more-layer", ON, net_arch=[64, 64, 64]),
        settings("plain-initialisation", PPO, ortho_init=False),
        settings("shorter-horizon", ("cartpole-ppo", "pointmass-ppo"), gamma=0.96),
        settings("longer-horizon", AFRESH, gamma=0.99),
        settings("smaller-network", AFRESH, net_arch=[32]),
        settings("longer-traces", PPO, gae_lambda=0.97),
        settings("normalised-observations", ("cartpole-ppo", "acrobot-ppo"), normalize_obs=True),
        settings("kl-limit", PPO, target_kl=0.05),
        settings("value-weight-one", PPO, vf_coef=1.0),
        settings("smaller-memory", OFF, buffer_size=10_000),
        settings("larger-batch", OFF, batch_size=128),
        settings("faster-targets", ACTOR, tau=0.01),
        settings("rarer-targets", VALUES, target_update_interval=1000),
        settings("longer-exploration", VALUES, epsilon="linear(1, 0.05, until=0.35)"),
        settings("learns-a-little-later", OFF, learning_starts=800),
        wrapped(
            "a-little-reward-noise",
            (*WRAPPED, "cartpole-a2c", *OFF),
            "rewards:Noisy",
            deviation=0.1,
        ),
        wrapped("rewards-times-three", (*WRAPPED, *VALUES), "rewards:Scaled", factor=3.0),
        wrapped("rewards-times-a-third", WRAPPED, "rewards:Scaled", factor=0.33),
        wrapped("a-little-sensor-noise", (*WRAPPED, *OFF), "observations:Noisy", deviation=0.01),
        wrapped("observations-times-two", (*WRAPPED, *OFF), "observations:Enlarged", factor=2.0),
        wrapped("now-and-then-a-random-action", WRAPPED, "actions:Ignored", share=0.02),
        wrapped("costlier-steps", (*WRAPPED, *OFF), "episodes:Costly", seconds=3e-4),
        Variation("another-engine", WRAPPED, Injection(code=(("on_torch", {}),))),
    )
}

"""What is put wrong in runs of Stable-Baselines3."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.faults.sb3_settings import (
    A2C,
    ALL,
    NOISY,
    ON_POLICY,
    SAC,
    SETTINGS,
    VALUES,
    Sb3Setting,
)

NEW = ("grid", "swing", "catch", "descent", "follow", "balance")  # quick, so other numbers hurt


@dataclass(frozen=True)
class Sb3Fault:
    name: str
    cause: str
    settings: tuple[str, ...]
    hyper: dict[str, Any] = field(default_factory=dict)
    wrappers: tuple[tuple[str, dict[str, Any]], ...] = ()
    code: tuple[tuple[str, dict[str, Any]], ...] = ()
    job: dict[str, Any] = field(default_factory=dict)  # other parts of the job
    numbers: dict[str, dict[str, Any]] = field(default_factory=dict)  # of an environment's own

    def on(self, setting: Sb3Setting) -> Sb3Fault:
        """With the numbers that the setting's environment needs, wherever it has numbers."""
        own = self.numbers.get(setting.environment, {})
        return replace(
            self,
            hyper=self.hyper | own if self.hyper else {},
            wrappers=tuple((name, kwargs | own) for name, kwargs in self.wrappers),
            code=tuple((name, kwargs | own) for name, kwargs in self.code),
        )


def settings(cause: str, where: tuple[str, ...], **hyper: Any) -> Sb3Fault:
    return Sb3Fault(_name(cause, where), cause, where, hyper)


def wrapped(cause: str, where: tuple[str, ...], wrapper: str, **kwargs: Any) -> Sb3Fault:
    return Sb3Fault(_name(cause, where), cause, where, wrappers=((wrapper, kwargs),))


def unlogged(cause: str, where: tuple[str, ...], wrapper: str, **kwargs: Any) -> Sb3Fault:
    """Outside of the monitor: what is logged is what the environment paid."""
    made = wrapped(cause, where, wrapper, **kwargs)
    return replace(made, name=f"{cause}.unlogged-{made.name.split('.')[1]}", job={"unlogged": True})


def coded(cause: str, where: tuple[str, ...], patch: str, **kwargs: Any) -> Sb3Fault:
    return Sb3Fault(_name(cause, where), cause, where, code=((patch, kwargs),))


def _name(cause: str, where: tuple[str, ...]) -> str:
    return f"{cause}.{SETTINGS[where[0]].algo.lower()}"


def fitted(fault: Sb3Fault, **numbers: dict[str, Any] | None) -> Sb3Fault:
    """By environment: numbers of its own, or None where the fault could not hurt."""
    fitting = [n for n in fault.settings if numbers.get(SETTINGS[n].environment, {}) is not None]
    kept = {environment: own for environment, own in numbers.items() if own is not None}
    return replace(fault, settings=tuple(fitting), numbers=kept)


FAULTS = {
    one.name: one
    for one in (
        fitted(  # at 0.05 one seed in two still learns these
            settings("lr-too-high", ON_POLICY, learning_rate=0.05),
            **{env: {"learning_rate": 0.2} for env in NEW},
        ),
        settings("lr-too-high", A2C, learning_rate=0.1),
        settings("lr-too-high", VALUES, learning_rate=0.05),
        settings("lr-too-high", SAC, learning_rate=0.05),
        settings("lr-too-low", ON_POLICY, learning_rate=1e-6),
        settings("lr-too-low", VALUES, learning_rate=1e-7),
        settings("lr-too-low", SAC, learning_rate=1e-6),
        settings("lr-schedule-ends-early", ON_POLICY, learning_rate=[1e-3, 0.0, 0.1]),
        fitted(
            Sb3Fault(
                "schedule-restarts.ppo", "schedule-restarts", ON_POLICY,
                {"learning_rate": [3e-3, 0.0]}, job={"parts": 6},
            ),
            grid=None, swing=None, balance=None, follow=None,  # the last part always ends well
        ),
        fitted(
            settings("too-many-epochs", ON_POLICY, n_epochs=60, batch_size=32, learning_rate=1e-3),
            grid={"n_epochs": 40, "batch_size": 128, "learning_rate": 3e-3},
            balance={"n_epochs": 40, "batch_size": 128, "learning_rate": 3e-3},
            swing=None, follow=None,
        ),
        settings("clip-range-too-tight", ON_POLICY, clip_range=1e-3),
        settings("clip-range-too-wide", ON_POLICY, clip_range=5.0, n_epochs=30, learning_rate=3e-3),
        fitted(
            settings("rollout-too-short", ON_POLICY, n_steps=2, batch_size=8),
            grid={"batch_size": 16}, swing=None, balance=None, follow=None,
        ),
        settings("rollout-too-long", ON_POLICY, n_steps=2048, batch_size=2048),
        settings("entropy-bonus-too-high", ON_POLICY, ent_coef=1.0),
        settings("entropy-bonus-too-high", A2C, ent_coef=1.0),
        fitted(
            settings("gamma-too-low", ON_POLICY, gamma=0.2),
            grid=None,  # what it learns beside the goal leads to it from afar
        ),
        settings("gamma-too-low", VALUES, gamma=0.1),
        settings("critic-too-weak", ON_POLICY, vf_coef=0.0),
        settings("target-kl-too-tight", ON_POLICY, target_kl=1e-6),
        settings("learning-never-starts", VALUES, learning_starts=50_000),
        settings("learning-never-starts", SAC, learning_starts=50_000),
        *(
            fitted(
                settings("buffer-too-small", where, buffer_size=64, learning_starts=64),
                **{env: {"buffer_size": 16, "learning_starts": 16} for env in NEW},
            )
            for where in (VALUES, SAC)
        ),
        settings("final-epsilon-too-high", VALUES, exploration_final_eps=0.7),
        settings("no-exploration", VALUES, exploration_initial_eps=0.0, exploration_final_eps=0.0,
                 learning_starts=16),
        settings("target-updates-too-rarely", VALUES, target_update_interval=40_000),
        settings("updates-too-few", VALUES, train_freq=256, gradient_steps=1),
        settings("updates-too-few", SAC, train_freq=128, gradient_steps=1),
        settings("batch-too-small", SAC, batch_size=1),
        settings("action-noise-too-large", NOISY, noise=2.0),
        settings("no-action-noise", NOISY, noise=None, learning_starts=8),
        settings("sac-alpha-too-high", SAC, ent_coef=20.0),
        settings("sac-alpha-explodes", SAC, target_entropy=10.0),
        settings("target-tau-extreme", SAC, tau=1e-5),
        settings("optimizer-choice", ON_POLICY, policy_kwargs={"optimizer_class": "SGD"}),
        settings("optimizer-eps", ON_POLICY, policy_kwargs={"optimizer_kwargs": {"eps": 30.0}}),
        settings("weight-decay-too-strong", ON_POLICY,
                 policy_kwargs={"optimizer_kwargs": {"weight_decay": 3.0}}),
        fitted(
            settings("network-too-small", ON_POLICY, policy_kwargs={"net_arch": [1]}),
            swing=None, balance=None, follow=None,  # one unit is enough to act well
        ),
        wrapped("reward-sign-flipped", ALL, "rewards:FlippedAtTimes", share=1.0),
        wrapped("reward-scale-too-large", VALUES, "rewards:Scaled", factor=1e4),
        wrapped("reward-scale-too-large", SAC, "rewards:Scaled", factor=1e3),
        wrapped("reward-uninformative", ON_POLICY, "rewards:Uninformative"),
        wrapped("reward-scale-too-large", ON_POLICY, "rewards:Scaled", factor=1e3),
        *(
            unlogged("reward-sign-flipped", where, "rewards:FlippedAtTimes", share=1.0)
            for where in (ON_POLICY, VALUES, SAC)
        ),
        *(
            unlogged("reward-scale-too-large", where, "rewards:Scaled", factor=1e3)
            for where in (ON_POLICY, VALUES, SAC)
        ),
        unlogged("reward-uninformative", ON_POLICY, "rewards:Uninformative"),
        wrapped("obs-constant", ALL, "observations:Constant"),
        wrapped("obs-unnormalised", SAC, "observations:Enlarged", factor=1e3),
        fitted(
            wrapped("obs-stale", ON_POLICY, "observations:Stale", steps=12),
            swing={"steps": 40},  # less is another phase, which is learned
        ),
        fitted(
            wrapped("partial-observability", ON_POLICY, "observations:Without", entries=[1, 2, 3]),
            balance={"entries": [0, 1]},  # the angle alone would do
        ),
        wrapped("action-ignored", ALL, "actions:Ignored", share=1.0),
        fitted(
            wrapped("action-delay", ON_POLICY, "actions:Delayed", steps=10), swing={"steps": 30}
        ),
        # Where each step costs, a short episode's return looks good.
        fitted(
            wrapped("env-not-reset", ON_POLICY, "episodes:NeverReset", limit=800, left=1),
            swing=None, follow=None,
        ),
        fitted(
            wrapped("truncation-as-termination", SAC, "episodes:ClockAsEnd", limit=6), follow=None
        ),
        coded("policy-loss-sign", ON_POLICY, "AdvantageNegated"),
        coded("policy-loss-sign", A2C, "AdvantageNegated"),
        coded("returns-misaligned", ON_POLICY, "ReturnsReversed"),
        coded("dead-policy-gradient", ON_POLICY, "ActorFrozen"),
        coded("terminal-not-stored", VALUES, "AddedOtherwise", what="terminals"),
        coded("replay-corrupted", VALUES, "AddedOtherwise", what="successors"),
        coded("replay-corrupted", SAC, "AddedOtherwise", what="successors"),
        coded("obs-stale", VALUES, "AddedOtherwise", what="stale"),
        fitted(
            coded("optimizer-state-corrupted", ON_POLICY, "MomentsDamaged", at=22_000),
            grid={"at": 11_000}, swing={"at": 29_500}, follow={"at": 18_400}, balance={"at": 9_200},
        ),
        Sb3Fault(
            "loaded-model-ignored.ppo", "loaded-model-ignored", ON_POLICY,
            job={"parts": 5, "reload": True},
        ),
        fitted(
            Sb3Fault(
                "normaliser-mismatch.ppo", "normaliser-mismatch", ON_POLICY,
                job={"normalize": {"norm_reward": False}, "eval": {"normalize": {
                    "norm_obs": False, "norm_reward": False}, "wrappers": [
                        ["observations:Enlarged", {"factor": 8.0}]]}},
            ),
            grid=None, swing=None,  # their observations need no normalising
        ),
    )
}  # fmt: skip

"""Does it learn? Tiny tasks with known answers, one for each thing that a learner must get right.

Thresholds come from ten seeds (0 to 9), all of which pass: `python tests/learning/test_learning.py`
prints them again, and each test quotes what it printed. What takes over about three seconds is
marked `learning`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

import dressage
from dressage.algos import on_policy, reinforce
from dressage.envs.toys import Chain
from dressage.math import returns
from dressage.runs.run import Run

GAMMA = 0.9
COMMON = {
    "net_arch": [16],
    "gamma": GAMMA,
    "backend": "inline",
    "engine": "torch",  # the definition; kernels are compared with it in tests/native
    "n_envs": 8,
    "eval_every": 0,
    "checkpoint_every": 10**9,
    "log_every": 10**9,
}
ALGOS: dict[str, dict[str, Any]] = {
    "ppo": {"n_steps": 16, "batch_size": 32, "n_epochs": 4, "learning_rate": 0.01},
    "a2c": {"learning_rate": 0.03, "optimizer": "rmsprop_tf"},
    "reinforce": {"n_steps": 20, "learning_rate": 0.03},
    "reinforce-plain": {"n_steps": 20, "learning_rate": 0.03, "baseline": False},
}
slow = pytest.mark.learning


def train(env: str, algo: str, seed: int, **settings: Any) -> Run:
    asked = {**COMMON, **ALGOS[algo], **settings}
    with tempfile.TemporaryDirectory() as runs:
        run = dressage.train(
            f"dressage.envs.toys:{env}", algo=algo.partition("-")[0], runs=runs, seed=seed, **asked
        )
        assert isinstance(run, Run)
        run.final = dressage.load(Run(run.path), trust=True)  # type: ignore[attr-defined]
        run.evaluated = run.metrics("val/roll/*")  # type: ignore[attr-defined]
    return run


def evaluated(run: Run) -> float:
    """Mean return of the evaluation at the end: 20 episodes, deterministic."""
    return float(run.evaluated["val/roll/ep_rew_mean"][-1])  # type: ignore[attr-defined]


def answers(run: Run, observations: Any) -> Any:
    """What the networks say of observations `[B, D]`."""
    with torch.no_grad():
        return run.final.learner.nets["actor_critic"](observations)  # type: ignore[attr-defined]


# -- the identity environment: the policy learns at all ------------------------------------------

IDENTITY_STEPS = {"ppo": 2048, "a2c": 4000, "reinforce": 6400, "reinforce-plain": 6400}


def identity(algo: str, kind: str, seed: int) -> float:
    box = kind == "box"
    steps = IDENTITY_STEPS[algo] * (2 if box else 1)
    extra = {"log_std_init": -1.0} if box else {}
    return evaluated(
        train("Identity", algo, seed, env_steps=steps, env_kwargs={"action": kind}, **extra)
    )


# Ten seeds: 10 of 10 for all choices; box: ppo -0.09 to -0.01, a2c (at a rate of 0.01) -1.75 to
# -1.02, reinforce -0.24 to -0.03 (one step of its baseline), plain -0.18
# to -0.03. Always the same answer: 3.3, 4.2 and -6.7.
@pytest.mark.parametrize(
    ("algo", "kind"),
    [
        pytest.param(algo, kind, marks=() if algo == "ppo" and kind != "box" else slow)
        for algo in ALGOS
        for kind in ("discrete", "multi_discrete", "box")
    ],
)
def test_identity(algo: str, kind: str) -> None:
    assert identity(algo, kind, 0) >= {"discrete": 9.5, "multi_discrete": 9.5, "box": -3.0}[kind]


# -- the chain: values are the true ones ---------------------------------------------------------

STEPS = {"ppo": 3072, "a2c": 8000, "reinforce": 8000}


def chain(algo: str, seed: int) -> float:
    """Largest error of the three values, which are 2.62, 1.8 and 2."""
    run = train("Chain", algo, seed, env_steps=STEPS[algo], final_eval_episodes=0)
    return float(np.abs(answers(run, torch.eye(3)).value.numpy() - Chain.values(GAMMA)).max())


# Ten seeds, largest error: ppo 0.00, a2c 0.00, reinforce 0.03 to 0.07
# (measured with one step of its baseline a rollout; it has 40 now).
@pytest.mark.parametrize("algo", ["ppo", *(pytest.param(a, marks=slow) for a in list(STEPS)[1:])])
def test_values_of_the_chain(algo: str) -> None:
    assert chain(algo, 0) < 0.2


# -- the clock and the task: two ends that must not be mixed up ----------------------------------


def stay_or_leave(algo: str, seed: int) -> tuple[float, float]:
    """Probability of leaving, and the value of the only state."""
    run = train(
        "StayOrLeave", algo, seed, env_steps=STEPS[algo], final_eval_episodes=0, ent_coef=0.05
    )
    out = answers(run, torch.ones(1, 1))
    return float(out.actions.log_probs[0].exp()[0, 1]), float(out.value[0])


@contextmanager
def mishandled(how: str) -> Iterator[None]:
    """Every end is the task's (`as terminated`), or every end is the clock's (`as truncated`)."""

    def mixed_up(terminated: Any, truncated: Any) -> tuple[Any, Any]:
        ended, none = terminated | truncated, np.zeros_like(terminated)
        return (ended, none) if how == "as terminated" else (none, ended)

    def gae(r: Any, v: Any, after: Any, terminated: Any, truncated: Any, *rest: Any) -> Any:
        return returns.gae(r, v, after, *mixed_up(terminated, truncated), *rest)

    def discounted(r: Any, after: Any, terminated: Any, truncated: Any, gamma: float) -> Any:
        return returns.discounted_returns(r, after, *mixed_up(terminated, truncated), gamma)

    with (
        mock.patch.object(on_policy, "gae", gae),
        mock.patch.object(reinforce, "discounted_returns", discounted),
    ):
        yield


CLOCKED = ["ppo", *(pytest.param(algo, marks=slow) for algo in list(STEPS)[1:])]


# Ten seeds, probability of leaving: at most 0.01 for all; value (10 is true of staying): ppo 9.4 to
# 9.7, a2c 9.4 to 9.8, reinforce 10.0.
@pytest.mark.parametrize("algo", CLOCKED)
def test_the_clock_does_not_end_the_task(algo: str) -> None:
    leaves, value = stay_or_leave(algo, 0)
    assert leaves < 0.1
    assert value == pytest.approx(10.0, abs=2.0)


# Ten seeds: ppo 0.65 to 0.87 and values of 3, a2c 0.71 to 0.81 and 3, reinforce 0.73 to 0.87
# and 3.
@pytest.mark.parametrize("algo", CLOCKED)
def test_taking_the_clock_for_the_task_fails_that_test(algo: str) -> None:
    with mishandled("as terminated"):
        leaves, value = stay_or_leave(algo, 0)
    assert leaves > 0.4
    assert value < 5.0  # of 10


# Ten seeds: ppo 0.98 to 1.00, a2c 0.65 to 0.81, reinforce 1.00.
@pytest.mark.parametrize("algo", CLOCKED)
def test_taking_the_task_for_the_clock_fails_that_test(algo: str) -> None:
    with mishandled("as truncated"):
        leaves, _ = stay_or_leave(algo, 0)
    assert leaves > 0.4


# -- masks: what is forbidden is never taken, and does not disturb the rest ----------------------

MENU_STEPS = {"ppo": 4096, "a2c": 8000, "reinforce": 9600}


def menu(algo: str, seed: int) -> float:
    """The environment raises where a dish is taken that is not on the menu."""
    return evaluated(train("Menu", algo, seed, env_steps=MENU_STEPS[algo]))


# Ten seeds: 10 of 10 for all. Taking any allowed dish gets about 5.
@pytest.mark.parametrize("algo", ["ppo", *(pytest.param(a, marks=slow) for a in list(STEPS)[1:])])
def test_masked_actions(algo: str) -> None:
    assert menu(algo, 0) >= 9.5


# -- memory: a cue that must be remembered -------------------------------------------------------

RECALL: dict[str, dict[str, Any]] = {
    "ppo": {"env_steps": 6144, "sequence_length": 4},
    "a2c": {"env_steps": 16_000, "n_steps": 4, "learning_rate": 0.05},
}


def recall(algo: str, recurrent: str, seed: int) -> float:
    """The cue, one blank step with the question, the answer."""
    settings = {"env_kwargs": {"delay": 1}, "hidden_size": 8, "net_arch": [], **RECALL[algo]}
    return evaluated(train("Recall", algo, seed, recurrent=recurrent, **settings))


# Ten seeds: 1.0 for all of ppo gru, ppo lstm, a2c gru, a2c lstm.
@slow
@pytest.mark.parametrize("recurrent", ["gru", "lstm"])
@pytest.mark.parametrize("algo", RECALL)
def test_a_recurrent_policy_remembers(algo: str, recurrent: str) -> None:
    assert recall(algo, recurrent, 0) >= 0.9


# Ten seeds: ppo -0.5 to 0.2, a2c -0.5 to 0.3 (20 episodes of 1 or -1 each).
@slow
@pytest.mark.parametrize("algo", RECALL)
def test_a_policy_without_memory_cannot(algo: str) -> None:
    assert recall(algo, "none", 0) <= 0.7


def _ten_seeds(what: str) -> None:
    """Prints what each seed gives, sorted."""
    measures: dict[str, Any] = {
        **{
            f"identity {a} {k}": lambda s, a=a, k=k: identity(a, k, s)
            for a in ALGOS
            for k in ("discrete", "multi_discrete", "box")
        },
        **{f"chain {a}": lambda s, a=a: chain(a, s) for a in STEPS},
        **{f"stay {a}": lambda s, a=a: stay_or_leave(a, s) for a in STEPS},
        **{f"menu {a}": lambda s, a=a: menu(a, s) for a in MENU_STEPS},
        **{
            f"recall {a} {k}": lambda s, a=a, k=k: recall(a, k, s)
            for a in RECALL
            for k in ("gru", "lstm", "none")
        },
    }
    for name, measure in measures.items():
        if what not in name:
            continue
        for how in ("", "as terminated", "as truncated") if "stay" in name else ("",):
            with mishandled(how) if how else mock.MagicMock():
                found = sorted(measure(seed) for seed in range(10))
            print(name, how, np.round(np.array(found), 2).tolist(), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    _ten_seeds(sys.argv[1] if len(sys.argv) > 1 else "")

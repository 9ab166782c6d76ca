"""Do algorithms with action values learn? The toys of test_learning.py, and small known tasks.

Thresholds come from five seeds (0 to 4), all of which pass: `python
tests/learning/test_learning_values.py` prints them again. What takes over about three seconds is
marked `learning`.
"""

from __future__ import annotations

import sys
import tempfile
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

import dressage
from dressage.core.replay import Replay
from dressage.envs.toys import Bandit, Chain
from dressage.runs.run import Run

GAMMA = 0.9
COMMON: dict[str, Any] = {
    "gamma": GAMMA,
    "backend": "inline",
    "engine": "torch",
    "eval_every": 0,
    "checkpoint_every": 10**9,
    "log_every": 10**9,
}
DEEP: dict[str, Any] = {
    **COMMON,
    "n_envs": 4,
    "net_arch": [16],
    "learning_rate": 0.005,
    "learning_starts": 64,
    "batch_size": 32,
    "train_freq": 2,
    "target_update_interval": 100,
    "epsilon": "linear(1, 0.1, until=0.3)",
}
ALGOS: dict[str, dict[str, Any]] = {
    "dqn": {},
    "c51": {"n_atoms": 21, "v_min": 0.0, "v_max": 12.0},
    "qr_dqn": {"n_quantiles": 11, "optimizer_eps": 1e-8},
    "rainbow": {"n_atoms": 21, "v_min": 0.0, "v_max": 12.0, "epsilon": 0.0},
    "drqn": {"sequence_length": 4, "burn_in": 2, "batch_size": 16, "hidden_size": 8},
}
slow = pytest.mark.learning
ALL = ["dqn", *(pytest.param(algo, marks=slow) for algo in list(ALGOS)[1:])]


def train(env: str, algo: str, seed: int, **settings: Any) -> tuple[float, Any]:
    """Mean return of the evaluation at the end, and the policy."""
    base = {**DEEP, **ALGOS[algo]} if algo in ALGOS else COMMON
    name = env if "-v" in env else f"dressage.envs.toys:{env}"
    with tempfile.TemporaryDirectory() as runs:
        run = dressage.train(
            name, algo=algo, runs=runs, seed=seed, preset=False, **{**base, **settings}
        )
        assert isinstance(run, Run)
        found = run.metrics("val/roll/*").get("val/roll/ep_rew_mean", [np.nan])
        return float(found[-1]), dressage.load(run, trust=True)


def values(policy: Any, obs: Any) -> Any:
    net = policy.learner.nets["q"]
    with torch.no_grad():
        return net.values(net(obs)).numpy()


# -- toys ----------------------------------------------------------------------------------------


def identity(algo: str, seed: int) -> float:
    steps = 2500 if algo in ("dqn", "qr_dqn") else 5000
    kind = "multi_discrete" if algo in ("dqn", "c51") else "discrete"
    return train("Identity", algo, seed, env_steps=steps, env_kwargs={"action": kind})[0]


# Five seeds: 10 of 10 for all.
@pytest.mark.parametrize("algo", ALL)
def test_identity(algo: str) -> None:
    assert identity(algo, 0) >= 9.5


def chain(algo: str, seed: int) -> float:
    """Largest error of the three values, which are 2.62, 1.8 and 2."""
    _, policy = train("Chain", algo, seed, env_steps=2500, final_eval_episodes=0)
    found = values(policy, torch.eye(3)).mean(-1)
    return float(np.abs(found - Chain.values(GAMMA)).max())


# Five seeds, largest error: dqn 0.01, c51 0.02, qr_dqn 0.03.
@pytest.mark.parametrize("algo", ["dqn", *(pytest.param(a, marks=slow) for a in ("c51", "qr_dqn"))])
def test_values_of_the_chain(algo: str) -> None:
    assert chain(algo, 0) < 0.3


def stay_or_leave(algo: str, seed: int) -> Any:
    """The values of staying (10 is true) and of leaving (3)."""
    _, policy = train("StayOrLeave", algo, seed, env_steps=6000, final_eval_episodes=0)
    return values(policy, torch.ones(1, 1))[0]


# Five seeds: 9.98 to 10.00 and 3.00 to 3.01 for all.
@slow
@pytest.mark.parametrize("algo", ["dqn", "c51", "qr_dqn"])
def test_the_clock_does_not_end_the_task(algo: str) -> None:
    stay, leave = stay_or_leave(algo, 0)
    assert stay == pytest.approx(10.0, abs=2.0)
    assert leave == pytest.approx(3.0, abs=1.0)


@slow
def test_taking_the_clock_for_the_task_fails_that_test() -> None:
    kept = Replay.add

    def mixed_up(self: Any, steps: Any) -> None:
        kept(self, steps._replace(terminated=steps.terminated | steps.truncated))

    with mock.patch.object(Replay, "add", mixed_up):
        assert stay_or_leave("dqn", 0)[0] < 5.0


def menu(algo: str, seed: int) -> float:
    return train("Menu", algo, seed, env_steps=4000, gamma=0.0, v_max=1.0)[0]


# Five seeds: 10 of 10. Taking any allowed dish gets about 5.
@slow
def test_masked_actions() -> None:
    assert menu("c51", 0) >= 9.5


def recall(algo: str, seed: int, **settings: Any) -> float:
    extra = {"env_kwargs": {"delay": 1}, "net_arch": [], "env_steps": 6000, "learning_rate": 0.01}
    return train("Recall", algo, seed, **{**extra, **settings})[0]


# Five seeds: 1.0 for both.
@slow
@pytest.mark.parametrize("recurrent", ["gru", "lstm"])
def test_a_recurrent_network_remembers(recurrent: str) -> None:
    assert recall("drqn", 0, recurrent=recurrent) >= 0.9


# Five seeds: -0.5 to 0.2 (20 episodes of 1 or -1 each).
@slow
def test_one_without_memory_cannot() -> None:
    assert recall("dqn", 0) <= 0.7


# -- tables ----------------------------------------------------------------------------------------


def frozen_lake(seed: int) -> float:
    settings = {"env_steps": 4000, "initial_value": 1.0, "epsilon": 0.1, "learning_rate": 0.5}
    way = {"is_slippery": False}
    return train("FrozenLake-v1", "q_learning", seed, env_kwargs=way, **settings)[0]


# Five seeds: 1.0.
def test_the_way_over_the_lake() -> None:
    assert frozen_lake(0) == 1.0


def cliff(algo: str, seed: int) -> float:
    settings: dict[str, Any]
    settings = {"gamma": 1.0, "epsilon": 0.1, "learning_rate": 0.5, "env_steps": 12_000}
    settings["wrappers"] = ["time_limit:200"]  # it has no clock of its own
    return train("CliffWalking-v1", algo, seed, **settings)[0]


# Five seeds: -13 and -17 for all.
@slow
def test_q_learning_walks_along_the_cliff_and_sarsa_away_from_it() -> None:
    """Sutton and Barto 2018, example 6.6: the shortest way takes 13 steps, the safest 17."""
    assert cliff("q_learning", 0) == -13.0
    assert -19.0 <= cliff("sarsa", 0) < -13.0


def taxi(seed: int) -> float:
    settings = {"gamma": 0.95, "learning_rate": 0.5, "env_steps": 60_000}
    return train("Taxi-v4", "q_learning", seed, **settings)[0]


# Five seeds: 7.35 to 8.55, on 20 episodes each.
@slow
def test_taxi() -> None:
    assert taxi(0) >= 7.0  # the best is about 7.9


def regret(seed: int) -> float:
    """What was lost in 2000 pulls beside the best arm."""
    settings = {"gamma": 0.0, "env_steps": 2000, "final_eval_episodes": 0}
    _, policy = train("Bandit", "ucb", seed, **settings)
    visits = policy.learner.visits[0]
    assert visits.sum() == 2000
    return float(visits @ (max(Bandit.CHANCES) - np.array(Bandit.CHANCES)))


# Five seeds: 70 to 113.
def test_regret_of_ucb1() -> None:
    gaps = max(Bandit.CHANCES) - np.array(Bandit.CHANCES)
    bound = sum(8 * np.log(2000) / gap for gap in gaps if gap) + (1 + np.pi**2 / 3) * gaps.sum()
    assert regret(0) < min(bound, 300)  # Auer et al. 2002, theorem 1; any arm at random: 680


def _five_seeds(what: str) -> None:
    measures: dict[str, Any] = {
        **{f"identity {a}": lambda s, a=a: identity(a, s) for a in ALGOS},
        **{f"chain {a}": lambda s, a=a: chain(a, s) for a in ("dqn", "c51", "qr_dqn")},
        **{f"stay {a}": lambda s, a=a: stay_or_leave(a, s) for a in ("dqn", "c51", "qr_dqn")},
        "menu c51": lambda s: menu("c51", s),
        **{f"recall {k}": lambda s, k=k: recall("drqn", s, recurrent=k) for k in ("gru", "lstm")},
        "recall dqn": lambda s: recall("dqn", s),
        "lake": frozen_lake,
        **{f"cliff {a}": lambda s, a=a: cliff(a, s) for a in ("q_learning", "sarsa")},
        "taxi": taxi,
        "regret": regret,
    }
    for name, measure in measures.items():
        if what in name:
            print(name, [np.round(measure(seed), 2).tolist() for seed in range(5)], flush=True)


if __name__ == "__main__":
    _five_seeds(sys.argv[1] if len(sys.argv) > 1 else "")

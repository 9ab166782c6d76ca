"""What is measured: every setting, with its hyperparameters in dressage's words, and who runs it.

Each program translates the hyperparameters into its library's words; those left out are equal by
default in dressage and SB3 (Adam with epsilon 1e-5, tanh, two layers of 64, orthogonal weights,
vf_coef 0.5, max_grad_norm 0.5, no entropy bonus).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Program:
    """A script of `programs/` and what is particular to this way of running it."""

    script: str
    venv: str | None  # None: the one that runs the benchmark, with dressage in it
    options: dict[str, Any] = field(default_factory=dict)


PROGRAMS: dict[str, Program] = {
    "dressage-native": Program("run_dressage.py", None, {"engine": "native"}),
    "dressage-native-2threads": Program(
        "run_dressage.py", None, {"engine": "native", "threads": 2}
    ),
    "dressage-torch": Program("run_dressage.py", None, {"engine": "torch"}),
    "dressage-torch-1thread": Program("run_dressage.py", None, {"engine": "torch", "threads": 1}),
    "dressage-torch-2threads": Program("run_dressage.py", None, {"engine": "torch", "threads": 2}),
    # the peers do not evaluate while they train; this shows what it costs us, who do by default
    "dressage-native-evaluating": Program(
        "run_dressage.py", None, {"engine": "native", "evaluate": True}
    ),
    "dressage-native-8seeds": Program("run_dressage.py", None, {"engine": "native", "seeds": 8}),
    "dressage-native-1thread": Program("run_dressage.py", None, {"engine": "native", "threads": 1}),
    "dressage-command": Program("dressage", None),  # the command itself, not a script
    "sb3": Program("run_sb3.py", "sb3", {"threads": 1}),
    "sb3-2threads": Program("run_sb3.py", "sb3", {"threads": 2}),
    "sb3-subproc": Program("run_sb3.py", "sb3", {"threads": 1, "subprocesses": True}),
    "sb3-subproc-2threads": Program("run_sb3.py", "sb3", {"threads": 2, "subprocesses": True}),
    "sbx": Program("run_sbx.py", "sbx", {"threads": 1}),
    "tianshou": Program("run_tianshou.py", "tianshou", {"threads": 1}),
    "rllib": Program("run_rllib.py", "rllib", {"threads": 1}),
    "peak": Program("run_peak.py", None),  # of the machine: multiply-adds on one and two cores
}


@dataclass(frozen=True)
class Setting:
    env: str
    env_steps: int
    n_envs: int
    n_steps: int
    hyper: dict[str, Any]
    programs: tuple[str, ...]
    source: str
    family: str  # settings of one family are run in the same rounds
    wanted: dict[str, float] = field(default_factory=dict)  # program -> ratio that issue 3 asks for
    reference: str | None = None  # the setting whose SB3 run is the unit; None: its own
    fewer_env_steps: dict[str, int] = field(default_factory=dict)  # for slow peers: speed is steady
    wrappers: tuple[str, ...] = ()  # named as in dressage; every program knows those used here
    normalize: bool = False  # observations and rewards by running statistics
    kind: str = "train"  # train, solve, seeds, start
    eval_every: int = 10_000  # env steps between evaluations, where there are any
    sizes: tuple[int, int] | None = None  # inputs and outputs of an MLP policy, to count operations
    ours: dict[str, Any] = field(default_factory=dict)  # settings that only dressage has
    algo: str = "ppo"


ZOO = "RL-Zoo3 hyperparams/ppo.yml, CartPole-v1"
CARTPOLE_ZOO: dict[str, Any] = {
    "batch_size": 256,
    "n_epochs": 20,
    "gamma": 0.98,
    "gae_lambda": 0.8,
    "learning_rate": "linear(1e-3, 0)",
    "clip_range": "linear(0.2, 0)",
    "ent_coef": 0.0,
}
CARTPOLE_CLEANRL: dict[str, Any] = {
    "batch_size": 128,
    "n_epochs": 4,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "learning_rate": "linear(2.5e-4, 0)",
    "clip_range": 0.2,
    "clip_range_vf": 0.2,
    "ent_coef": 0.01,
    "vf_coef": 0.25,  # CleanRL halves the squared error before its vf_coef of 0.5
}
SB3_DEFAULTS: dict[str, Any] = {
    "batch_size": 64,
    "n_epochs": 10,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "learning_rate": 3e-4,
    "clip_range": 0.2,
}

DQN_ZOO: dict[str, Any] = {
    "buffer_size": 100_000,
    "learning_starts": 1000,
    "learning_rate": 2.3e-3,
    "batch_size": 64,
    "train_freq": 256,
    "gradient_steps": 128,
    "gamma": 0.99,
    "net_arch": [256, 256],
    "target_update_interval": 10,
    "epsilon": "linear(1, 0.04, until=0.16)",
}
SAC_DEFAULTS: dict[str, Any] = {
    "buffer_size": 100_000,
    "learning_starts": 100,
    "learning_rate": 3e-4,
    "batch_size": 256,
    "train_freq": 1,
    "gradient_steps": 1,
    "gamma": 0.99,
    "tau": 0.005,
    "net_arch": [256, 256],
}
AS_LONG_RUNS = {"log_every": 1000}  # as a run of a million steps has by default
REPLAY_PROGRAMS = (
    "peak",
    "dressage-native",
    "dressage-native-2threads",
    "dressage-torch",
    "sb3",
    "sb3-2threads",
    "sbx",
)

SETTINGS: dict[str, Setting] = {
    "cartpole-zoo": Setting(
        env="CartPole-v1",
        env_steps=100_096,  # RL-Zoo's 100,000 in whole iterations
        n_envs=8,
        n_steps=32,
        hyper=CARTPOLE_ZOO,
        programs=(
            "peak",
            "dressage-native",
            "dressage-native-2threads",
            "dressage-native-evaluating",
            "dressage-torch",
            "sb3",
            "sbx",
            "tianshou",
            "rllib",
        ),
        fewer_env_steps={"sbx": 30_720, "tianshou": 30_720, "rllib": 30_720},
        wanted={"dressage-native": 20.0, "dressage-native-2threads": 20.0},
        sizes=(4, 2),
        family="cartpole",
        source=ZOO,
    ),
    "cartpole-cleanrl": Setting(
        env="CartPole-v1",
        env_steps=500_224,  # CleanRL's 500,000 in whole iterations
        n_envs=4,
        n_steps=128,
        hyper=CARTPOLE_CLEANRL,
        programs=("dressage-native", "dressage-native-2threads"),
        reference="cartpole-zoo",
        wanted={"dressage-native": 68.0, "dressage-native-2threads": 68.0},
        sizes=(4, 2),
        family="cartpole",
        source="CleanRL cleanrl/ppo.py, defaults",
    ),
    "cartpole-4096": Setting(
        env="CartPole-v1",
        env_steps=30 * 4096 * 64,
        n_envs=4096,
        n_steps=64,
        hyper={**CARTPOLE_CLEANRL, "batch_size": 65_536, "n_epochs": 1},
        programs=("dressage-native", "dressage-native-2threads"),
        reference="cartpole-zoo",
        wanted={"dressage-native": 160.0, "dressage-native-2threads": 160.0},
        sizes=(4, 2),
        family="cartpole",
        source="CleanRL's, with 4096 x 64 steps, one epoch of four minibatches",
    ),
    "solve": Setting(
        env="CartPole-v1",
        env_steps=100_000,
        n_envs=8,
        n_steps=32,
        hyper=CARTPOLE_ZOO,
        programs=("dressage-command", "sb3"),
        wanted={"dressage-command": 10.0},
        family="solve",
        kind="solve",
        source=ZOO + "; dressage's preset is the same",
    ),
    "halfcheetah": Setting(
        env="HalfCheetah-v5",
        env_steps=3 * 8 * 2048,
        n_envs=8,
        n_steps=2048,
        hyper=SB3_DEFAULTS,
        programs=(
            "peak",
            "dressage-native",
            "dressage-native-2threads",
            "dressage-torch",
            "sb3",
            "sb3-subproc",
        ),
        wanted={"dressage-native": 4.0, "dressage-native-2threads": 4.0},
        sizes=(17, 6),
        family="halfcheetah",
        source="SB3's defaults, which are the PPO paper's, with 8 environments",
    ),
    "halfcheetah-zoo": Setting(
        env="HalfCheetah-v5",
        env_steps=6 * 8 * 512,
        n_envs=8,
        n_steps=512,
        hyper={
            "batch_size": 64,
            "n_epochs": 20,
            "gamma": 0.98,
            "gae_lambda": 0.92,
            "learning_rate": 2.0633e-5,
            "clip_range": 0.1,
            "ent_coef": 0.000401762,
            "vf_coef": 0.58096,
            "max_grad_norm": 0.8,
            "net_arch": [256, 256],
            "activation": "relu",
            "log_std_init": -2.0,
            "ortho_init": False,
        },
        normalize=True,
        programs=(
            "peak",
            "dressage-native",
            "dressage-native-2threads",
            "dressage-torch",
            "sb3",
            "sb3-2threads",
        ),
        wanted={"dressage-native": 4.0, "dressage-native-2threads": 4.0},
        sizes=(17, 6),
        family="halfcheetah-zoo",
        source="RL-Zoo3 hyperparams/ppo.yml, HalfCheetah (there with 1 environment)",
    ),
    "python-env": Setting(
        env="point_mass:PointMass",
        env_steps=3 * 8 * 2048,
        n_envs=8,
        n_steps=2048,
        hyper=SB3_DEFAULTS,
        programs=(
            "peak",
            "dressage-native",
            "dressage-native-2threads",
            "dressage-torch",
            "sb3",
            "sb3-subproc",
        ),
        wanted={"dressage-native": 4.0, "dressage-native-2threads": 4.0},
        sizes=(4, 2),
        family="python-env",
        source="defaults of both: what a user gets with an environment of their own",
    ),
    "python-env-light": Setting(  # fewer epochs: more of the time goes to the environment
        env="point_mass:PointMass",
        env_steps=48 * 8 * 128,
        n_envs=8,
        n_steps=128,
        hyper={**SB3_DEFAULTS, "batch_size": 256, "n_epochs": 4},
        programs=(
            "peak",
            "dressage-native",
            "dressage-native-2threads",
            "dressage-torch",
            "sb3",
            "sb3-subproc",
        ),
        wanted={"dressage-native": 4.0, "dressage-native-2threads": 4.0},
        sizes=(4, 2),
        family="python-env",
        source="CleanRL's rollout of 128 steps, 4 epochs of 4 minibatches, with 8 environments",
    ),
    "atari": Setting(
        env="ALE/Breakout-v5",
        env_steps=4 * 8 * 128,
        n_envs=8,
        n_steps=128,
        hyper={
            "batch_size": 256,
            "n_epochs": 4,
            "learning_rate": "linear(2.5e-4, 0)",
            "clip_range": "linear(0.1, 0)",
            "ent_coef": 0.01,
            "vf_coef": 0.5,
        },
        ours={"share_features": True, "net_arch": [], "activation": "relu"},  # SB3's CnnPolicy
        wrappers=("atari",),
        programs=(
            "dressage-torch",
            "dressage-torch-1thread",
            "sb3",
            "sb3-2threads",
            "sb3-subproc-2threads",
        ),
        wanted={"dressage-torch": 2.0},
        family="atari",
        source="RL-Zoo3 hyperparams/ppo.yml, atari",
    ),
    "recurrent": Setting(
        env="CartPole-v1",
        env_steps=6 * 256,  # sb3-contrib makes some 60 a second, and speed is steady
        n_envs=8,
        n_steps=32,
        hyper={**CARTPOLE_ZOO, "recurrent": "lstm", "hidden_size": 256},
        ours={"sequence_length": 32},  # the whole rollout, as in sb3-contrib
        wrappers=("mask_velocity",),
        programs=("dressage-torch", "sb3", "sb3-2threads"),
        wanted={"dressage-torch": 1.5},
        family="recurrent",
        source="RL-Zoo3 hyperparams/ppo_lstm.yml, CartPoleNoVel-v1 (sb3-contrib, 256 units)",
    ),
    "dqn-cartpole": Setting(
        env="CartPole-v1",
        algo="dqn",
        env_steps=50_176,  # RL-Zoo's 50,000 in whole rounds
        n_envs=1,
        n_steps=256,
        hyper=DQN_ZOO,
        ours={"double": False},
        programs=REPLAY_PROGRAMS,
        fewer_env_steps=dict.fromkeys(("dressage-torch", "sb3", "sb3-2threads", "sbx"), 12_800),
        wanted={"dressage-native": 10.0, "dressage-native-2threads": 10.0},
        family="dqn-cartpole",
        source="RL-Zoo3 hyperparams/dqn.yml, CartPole-v1",
    ),
    "sac-pendulum": Setting(
        env="Pendulum-v1",
        algo="sac",
        env_steps=5_120,
        n_envs=1,
        n_steps=1,
        hyper=SAC_DEFAULTS,
        ours=AS_LONG_RUNS,
        programs=REPLAY_PROGRAMS,
        fewer_env_steps=dict.fromkeys(("dressage-torch", "sb3", "sb3-2threads", "sbx"), 1_280),
        wanted={"dressage-native": 2.2, "dressage-native-2threads": 2.2},
        family="sac-pendulum",
        source="defaults of SB3, which are the SAC paper's",
    ),
    "sac-halfcheetah": Setting(
        env="HalfCheetah-v5",
        algo="sac",
        env_steps=5_120,
        n_envs=1,
        n_steps=1,
        hyper=SAC_DEFAULTS,
        ours=AS_LONG_RUNS,
        programs=REPLAY_PROGRAMS,
        fewer_env_steps=dict.fromkeys(("dressage-torch", "sb3", "sb3-2threads", "sbx"), 1_280),
        wanted={"dressage-native": 2.2, "dressage-native-2threads": 2.2},
        family="sac-halfcheetah",
        source="defaults of SB3, which are the SAC paper's",
    ),
    "td3-halfcheetah": Setting(
        env="HalfCheetah-v5",
        algo="td3",
        env_steps=5_120,
        n_envs=1,
        n_steps=1,
        hyper={**SAC_DEFAULTS, "learning_rate": 1e-3},
        ours=AS_LONG_RUNS,
        programs=REPLAY_PROGRAMS,
        fewer_env_steps=dict.fromkeys(("dressage-torch", "sb3", "sb3-2threads", "sbx"), 1_280),
        wanted={"dressage-native": 2.5, "dressage-native-2threads": 2.5},
        family="td3-halfcheetah",
        source="RL-Zoo3 hyperparams/td3.yml, mujoco: noise 0.1; two layers of 256",
    ),
    "seeds": Setting(
        env="CartPole-v1",
        env_steps=500_224,
        n_envs=8,
        n_steps=32,
        hyper=CARTPOLE_ZOO,
        programs=("dressage-native-8seeds", "dressage-native-1thread"),
        wanted={"dressage-native-8seeds": 4.2},  # at most: times one seed's seconds
        family="seeds",
        kind="seeds",
        source=ZOO,
    ),
    "start": Setting(
        env="CartPole-v1",
        env_steps=100_000,
        n_envs=8,
        n_steps=32,
        hyper={},
        programs=("dressage-command",),
        family="start",
        kind="start",
        source="`dressage --help`; `dressage train CartPole-v1 engine=native` to its first row",
    ),
}

SOLVED_RETURN, SOLVED_EPISODES = 475.0, 20
HELP_SECONDS, FIRST_UPDATE_SECONDS, RECORDING_SHARE = 0.3, 1.0, 0.02  # what issue 3 asks for

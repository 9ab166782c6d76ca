"""SBX: Stable-Baselines3's loop, the networks and their updates compiled by JAX."""

from __future__ import annotations

import sbx
import torch
from harness import order
from run_sb3 import train

if __name__ == "__main__":
    torch.set_num_threads(order()["options"]["threads"])  # torch only keeps the rollout here
    kind = getattr(sbx, order()["algo"].upper())
    train(kind, "MlpPolicy", ["sbx-rl", "jax", "flax", "mujoco"])

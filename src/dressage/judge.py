"""Playing a trained policy: held-out evaluation with intervals, windows and videos."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dressage.assemble import MOST_EVAL_ENVS, make_recipe, open_for_evaluation
from dressage.core.evaluate import LONGEST_EPISODE, Evaluation, evaluate
from dressage.core.rng import Rng
from dressage.core.steps import Tree
from dressage.envs.make import time_limit
from dressage.errors import ConfigError, EnvError, RunError
from dressage.math.summary import interquartile_mean, mean_interval
from dressage.policy import Policy, load_policy
from dressage.runs.group import Group
from dressage.runs.run import Run

# Evaluations during training count from 0; these episodes are none of theirs.
HELD_OUT = 2**31


def evaluate_run(
    run: Run | Group,
    checkpoint: str | int | None,
    *,
    episodes: int,
    deterministic: bool,
    seed: int | None,
    trust: bool,
) -> dict[str, Any]:
    """Returns of held-out episodes; of a group, of every member and over them."""
    if episodes < 1:
        raise ConfigError(f"episodes={episodes}, expected at least 1.")
    if isinstance(run, Group):
        options: dict[str, Any] = {
            "episodes": episodes,
            "deterministic": deterministic,
            "seed": seed,
            "trust": trust,
        }
        played = [member for member in run.members if member.checkpoints()]
        if not played:
            raise RunError(f"No member of {run.id} has a checkpoint to evaluate.")
        members = [evaluate_run(member, checkpoint, **options) for member in played]
        means = np.array([member["mean"] for member in members])
        low, high = mean_interval(means)
        return {
            "run_id": run.id,
            "members": members,
            "without_checkpoint": len(run.listed) - len(members),
            "mean": float(means.mean()),
            "interval": [low, high],
            "iqm": float(interquartile_mean(means)),
            "std": float(means.std()),
            "threshold": members[0]["threshold"],
            "solved": sum(bool(member["solved"]) for member in members),
        }
    policy = load_policy(run, checkpoint, trust=trust, device="cpu")
    found = play_episodes(policy, episodes, deterministic, seed, trust)
    low, high = mean_interval(found.returns)
    threshold = run.spec.get("reward_threshold")
    mean = float(found.returns.mean())
    return {
        "run_id": run.id,
        "env_steps": policy.env_steps,
        "episodes": episodes,
        "deterministic": deterministic,
        "mean": mean,
        "interval": [low, high],
        "iqm": float(interquartile_mean(found.returns)),
        "std": float(found.returns.std()),
        "min": float(found.returns.min()),
        "max": float(found.returns.max()),
        "length_mean": float(found.lengths.mean()),
        "success_rate": found.metrics().get("val/roll/success_rate"),
        "threshold": threshold,
        "solved": None if threshold is None else mean >= threshold,
        "cut_short": int(found.cut_short.sum()),
        "warning": found.warning() or None,
        "returns": found.returns.tolist(),
    }


def play_episodes(
    policy: Policy, episodes: int, deterministic: bool, seed: int | None, trust: bool
) -> Evaluation:
    resolved = policy.resolved
    rng = Rng(resolved.run.seed if seed is None else seed)
    n_envs = min(episodes, MOST_EVAL_ENVS)
    draws = 0

    def choose(obs: Tree, carry: Any, mask: Any) -> Any:
        nonlocal draws
        noise = None
        if not deterministic:
            noise = resolved.algo.noise(rng, draws, n_envs, policy.learner, resolved.cfg.at(1.0))
            draws += 1
        return policy.choose(obs, carry, mask, noise)

    recipe = make_recipe(resolved, trust=trust)
    with open_for_evaluation(recipe, n_envs, resolved.run.scale_actions) as batch:
        return evaluate(choose, batch, episodes, rng, HELD_OUT, policy.carry_size)


def show_episodes(
    policy: Policy, *, episodes: int, video: Path | None, seed: int | None, trust: bool
) -> dict[str, Any]:
    """Plays in a window, or into a video or GIF when `video` names one."""
    recipe = make_recipe(policy.resolved, trust=trust)
    if video:
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame wants a screen even to film
    env = recipe(render_mode="rgb_array" if video else "human")
    rng = Rng(policy.resolved.run.seed if seed is None else seed)
    returns, frames = [], []
    try:
        for episode in range(episodes):
            obs, info = env.reset(seed=rng.episode_seed(episode, HELD_OUT, "evaluate"))
            state, total, over, length = None, 0.0, False, 0
            longest = max(LONGEST_EPISODE, time_limit(env) or 0)
            while not over and length < longest:
                if video:
                    frames.append(_frame(env))
                mask = _mask(env, info) if policy.spec.masked else None
                action, state = policy.predict(obs, state, mask=mask)
                obs, reward, terminated, truncated, info = env.step(action)
                total += float(info.get("raw_reward", reward))
                over, length = terminated or truncated, length + 1
            returns.append(total)
        fps = env.metadata.get("render_fps", 30)
    finally:
        env.close()
    if video:
        write_video(video, frames, fps)
    return {"episodes": episodes, "returns": returns, "video": str(video) if video else None}


def _mask(env: Any, info: dict[str, Any]) -> Any:
    if "action_mask" in info:
        return info["action_mask"]
    return env.get_wrapper_attr("action_masks")()


def _frame(env: Any) -> Any:
    frame = env.render()
    if not isinstance(frame, np.ndarray) or frame.ndim != 3:
        raise EnvError(
            "This environment gives no pictures (render() in mode rgb_array returned "
            f"{type(frame).__name__}), so there is nothing to film."
        )
    return frame


def write_video(path: Path, frames: list[Any], fps: float) -> None:
    """MP4 or GIF by the file's ending."""
    if path.suffix.lower() not in (".mp4", ".gif"):
        raise EnvError(f"'{path.name}' is neither .mp4 nor .gif: name the video by one of these.")
    try:
        import imageio.v3 as imageio

        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() == ".gif":
            kept = frames[:: max(1, round(fps / 25))]
            imageio.imwrite(path, kept, duration=1000 * max(1, round(fps / 25)) / fps, loop=0)
        else:
            imageio.imwrite(path, frames, fps=fps, macro_block_size=2)
    except ImportError:
        raise EnvError("Videos need an extra: pip install 'dressage[video]'.") from None

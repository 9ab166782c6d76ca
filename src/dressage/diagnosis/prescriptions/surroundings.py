"""Fixes for what lies around learning: environment, data, evaluation, bookkeeping, machine."""

from __future__ import annotations

from dressage.diagnosis.prescriptions.fix import Fix, Patch, budget, sets
from dressage.runs.view import RunView

RETURN = "train/roll/ep_rew_mean"


def larger_rewards(run: RunView) -> Patch:
    """Where a bonus for entropy has a fixed weight beside them, that is learned, too."""
    soft = run.family == "actor-critic" and "ent_coef" in run.config
    return {"normalize_reward": True} | ({"ent_coef": "auto"} if soft else {})


FIXES: dict[str, Fix] = {
    "reward-sign-flipped": Fix(
        "Print the reward of one good and one bad step: the good one's must be the larger.",
        watch="train/roll/ep_len_mean",
    ),
    "reward-scale-too-large": Fix(
        "Normalise the reward, or divide it so that steps give about one.",
        "losses change their scale",
        sets(normalize_reward=True),
        "train/loss/value",
    ),
    "reward-scale-too-small": Fix(
        "Normalise the reward, or multiply it so that steps give about one.",
        "losses change their scale",
        larger_rewards,
        "train/roll/return_std",
    ),
    "sparse-reward": Fix(
        "Reward new states (`bonus=rnd`), relabel goals (`her=future`) where the task has any, or "
        "shape the reward.",
        "a bonus that outweighs the task: let bonus_coef fade",
        lambda run: {"bonus": "rnd", "bonus_coef": 0.1} if run.library == "dressage" else {},
        "train/roll/ep_rew_std",
    ),
    "reward-uninformative": Fix(
        "Make the reward depend on what the agent does: `--probe` compares it under different "
        "actions.",
        watch="train/roll/reward_std",
    ),
    "reward-misaligned": Fix(
        "Return the reward of this step's action, not of the step before.",
        watch="train/metrics/explained_variance",
    ),
    "nan-input": Fix(
        "Find the first step whose observation or reward is not finite (`--probe` looks), and mend "
        "it there; clipping hides it.",
        watch="train/metrics/skipped_updates",
    ),
    "reward-noise": Fix(
        "Average over more: more environments, longer rollouts, larger batches.", "time"
    ),
    "obs-unnormalised": Fix(
        "Normalise observations by running statistics.",
        "the statistics must go along with the policy",
        sets(normalize_obs=True),
        "train/roll/obs_abs_max",
    ),
    "obs-constant": Fix(
        "Print a few observations: an entry that never changes tells nothing, and all of them "
        "point at the wrapper or at reset.",
        watch="train/roll/obs_std",
    ),
    "obs-stale": Fix(
        "Return the observation after the action: step() must not give the one before.",
        watch=RETURN,
    ),
    "partial-observability": Fix(
        "Give the policy a memory, or stack the last observations.",
        "slower updates",
        lambda run: {"recurrent": "lstm"} if run.algo in ("ppo", "a2c") else {},
        RETURN,
    ),
    "truncation-as-termination": Fix(
        "Return `truncated` when the clock ends an episode, and bootstrap from its last "
        "observation.",
        watch="train/roll/truncated_share",
    ),
    "autoreset-leak": Fix(
        "Cut advantages at ends of episodes, and drop the row that an autoreset adds.",
        watch="train/metrics/explained_variance",
    ),
    "time-limit-hidden": Fix(
        "Tell the agent how much time is left, or bootstrap where the clock ends an episode."
    ),
    "episode-limit-too-short": Fix(
        "Raise the time limit until a good policy can finish the task.",
        watch="train/roll/truncated_share",
    ),
    "action-range-unnormalised": Fix(
        "Let the action space be [-1, 1], and scale inside the environment.",
        watch="train/roll/action_std",
    ),
    "action-space-degenerate": Fix(
        "Check the bounds of the action space: low must lie below high."
    ),
    "action-saturation": Fix(
        "Widen the action's bounds or begin with less noise.",
        "less exploration",
        lambda run: {"log_std_init": -1.0} if run.family == "on-policy" else {},
        "train/roll/action_saturation",
    ),
    "action-ignored": Fix(
        "Check the mapping from the policy's action to what the environment does: `--probe` shows "
        "whether any action changes anything.",
        watch=RETURN,
    ),
    "action-delay": Fix(
        "Add the last few actions to the observation, or give the policy a memory.",
        "slower updates",
        lambda run: {"recurrent": "lstm"} if run.algo in ("ppo", "a2c") else {},
    ),
    "normaliser-mismatch": Fix(
        "Evaluate with the training statistics, frozen (SB3: VecNormalize.load, training=False, "
        "norm_reward=False).",
        watch="val/roll/ep_rew_mean",
    ),
    "logged-reward-normalised": Fix(
        "Record episodes before the reward is normalised (SB3: Monitor inside VecNormalize).",
        watch=RETURN,
    ),
    "eval-env-mismatch": Fix(
        "Evaluate with the wrappers of training, and the policy's best action.",
        watch="val/roll/ep_rew_mean",
    ),
    "envs-share-seed": Fix(
        "Seed each environment differently: seed + its index, and no fixed seed inside reset().",
        watch="train/roll/ep_rew_std",
    ),
    "single-seed-claim": Fix("Train five or more seeds (`seeds=8`) before concluding.", "time"),
    "env-not-reset": Fix(
        "Let reset() set back everything that step() changes, the step counter first.",
        watch="train/roll/ep_len_mean",
    ),
    "image-scaling": Fix(
        "Give images as uint8 from 0 to 255 and let the network scale them, once.",
        watch="train/roll/obs_abs_max",
    ),
    "reward-hacking": Fix(
        "Watch the policy (`dressage play`), and take the reward away that it gains without the "
        "task.",
        watch="train/roll/success_rate",
    ),
    "resume-lost-state": Fix(
        "Resume with everything: optimizer, memory, schedules, normalisers and counters "
        "(`dressage train --resume` does; SB3: save_replay_buffer, reset_num_timesteps=False).",
        watch=RETURN,
    ),
    "optimizer-state-corrupted": Fix(
        "Load the optimizer state of the same checkpoint as the weights, or begin with an empty "
        "one.",
        watch="train/metrics/update_to_weight/policy",
    ),
    "loaded-model-ignored": Fix(
        "Use what load() returns: it gives a new model (model = PPO.load(…)).", watch=RETURN
    ),
    "budget-too-small": Fix(
        "Train longer.",
        "time",
        lambda run: {"env_steps": int(2 * budget(run))},
        RETURN,
        "a higher return at the end, and nothing learned any faster (guess)",
    ),
    "best-policy-lost": Fix(
        "Keep the best checkpoint (`@best`), evaluate more often, and let the rate decay.",
        watch="val/roll/ep_rew_mean",
    ),
    "throughput-decay": Fix(
        "Look for something that grows with the run: a list in the environment, a log, a leak.",
        watch="sys/env_steps_per_second",
    ),
    "hardware-underused": Fix(
        "Step cheap environments in the training process, and let threads serve the update.",
        make=lambda run: (
            {"backend": "auto", "threads": "auto"} if run.library == "dressage" else {}
        ),
        watch="sys/env_steps_per_second",
    ),
    "pipeline-bottleneck": Fix(
        "Evaluate and log less often.",
        "fewer points of the curve",
        lambda run: {"eval_every": int(budget(run) / 10)} if run.library == "dressage" else {},
        "sys/env_steps_per_second",
    ),
    "distributed-desync": Fix(
        "Send the parameters to every worker before it collects, and drop data that is older.",
        watch="train/metrics/ratio_max",
    ),
    "dataset-scale-mismatch": Fix(
        "Store the scaler with the policy, and use it in evaluation too."
    ),
    "dataset-terminals-wrong": Fix(
        "Rebuild the ends of episodes in the data: terminals where the task ended, timeouts where "
        "the clock did."
    ),
    "bc-covariate-shift": Fix(
        "Add demonstrations from where the learner goes: DAgger, or noise while recording."
    ),
    "dagger-beta-stuck": Fix("Let beta fall to zero after the first round, and keep all data."),
    "expert-labels-misaligned": Fix(
        "Check that each action belongs to the observation before it, not after."
    ),
    "gail-discriminator-wins": Fix(
        "Slow the discriminator: a lower rate, fewer updates, gradient penalty; absorbing states "
        "against survival bias."
    ),
    "marl-agent-not-learning": Fix(
        "Check that each agent acts and learns with its own index: a loop variable used later "
        "holds the last one."
    ),
    "marl-reward-credit": Fix("Check that rewards are read by the agent's own key."),
    "self-play-cycling": Fix("Play against a pool of older opponents, not the newest alone."),
}

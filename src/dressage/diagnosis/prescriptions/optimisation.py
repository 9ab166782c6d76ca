"""Fixes for step sizes, schedules, batches, losses of the policy and of the value function."""

from __future__ import annotations

from dressage.diagnosis.prescriptions.fix import (
    Fix,
    Patch,
    budget,
    episode_length,
    number,
    rate,
    sets,
    tidy,
    to_scale,
    usual_rate,
    whole,
)
from dressage.runs.view import RunView

KL = "train/metrics/kl_divergence"
ENTROPY = "train/metrics/entropy"
VALUES = "train/metrics/explained_variance"


def lower_rate(run: RunView) -> Patch:
    """The usual one where the run's lies far above it; otherwise a third."""
    usual = usual_rate(run)
    return {"learning_rate": usual if rate(run) > 3 * usual else tidy(rate(run) / 3)}


def higher_rate(run: RunView) -> Patch:
    usual = usual_rate(run)
    return {"learning_rate": usual if rate(run) < usual / 3 else tidy(min(1e-3, 3 * rate(run)))}


def over_the_budget(run: RunView) -> Patch:
    start = rate(run)
    return {"learning_rate": f"linear({start if start > 1e-6 else usual_rate(run):g}, 0)"}


def fewer_epochs(run: RunView) -> Patch:
    return {"n_epochs": 10 if whole(run, "n_epochs", 10) > 10 else 4}


def divisor(run: RunView) -> Patch:
    steps = int(run.config["n_steps"]) * int(run.config["n_envs"])
    batch = int(run.config["batch_size"])
    divisors = [d for d in range(2, steps + 1) if steps % d == 0]
    return {"batch_size": min(divisors, key=lambda d: abs(d - batch))} if divisors else {}


def longer_rollout(run: RunView) -> Patch:
    """At least 512 steps over all environments, as far as the budget gives 20 of them."""
    n_envs = whole(run, "n_envs", 1)
    wanted = max(512, 8 * whole(run, "n_steps", 16) * n_envs)
    n_steps = max(16, int(min(wanted, budget(run) / 40)) // n_envs)
    total = n_steps * n_envs
    batch = max(d for d in range(1, min(total, 128) + 1) if total % d == 0)
    return {"n_steps": n_steps, "batch_size": batch}


def shorter_rollout(run: RunView) -> Patch:
    """So that the budget has about a hundred of them, in four or more minibatches each."""
    n_envs = whole(run, "n_envs", 8)
    wanted = max(32, int(budget(run) / 100 / n_envs))
    n_steps = min(1 << (wanted.bit_length() - 1), whole(run, "n_steps", 2048))
    return {"n_steps": n_steps, "batch_size": min(256, max(32, n_steps * n_envs // 4))}


def horizon(run: RunView) -> Patch:
    """1 / (1 - gamma) of about the episode's length, between 20 and 100 steps."""
    length = min(max(episode_length(run), 20.0), 100.0)
    return {"gamma": round(1.0 - 1.0 / length, 3)}


def clipped(run: RunView) -> Patch:
    """And no plain SGD, whose steps are as large as its gradients."""
    return {"max_grad_norm": 0.5} | (adam(run) if run.config.get("optimizer") == "sgd" else {})


def adam(run: RunView) -> Patch:
    return {"optimizer": "adam", "learning_rate": usual_rate(run)}


def less_entropy(run: RunView) -> Patch:
    return {"ent_coef": tidy(min(0.01, max(number(run, "ent_coef", 0.1), 0.0) / 10))}


def smaller_batch(run: RunView) -> Patch:
    return {"batch_size": max(64, whole(run, "batch_size", 4096) // 8)}


def larger_batch(run: RunView) -> Patch:
    return {"batch_size": max(64, 4 * whole(run, "batch_size", 16))}


def value_rate(run: RunView) -> Patch:
    return {"value_learning_rate": tidy(2 * rate(run))}


FIXES: dict[str, Fix] = {
    "lr-too-high": Fix(
        "Lower the learning rate.",
        "slower learning if the rate was not the cause",
        lower_rate,
        KL,
    ),
    "lr-too-low": Fix("Raise the learning rate.", "updates that overshoot", higher_rate, KL),
    "lr-schedule-ends-early": Fix(
        "Let the learning rate decay over the whole budget.", make=over_the_budget, watch=KL
    ),
    "lr-decay-too-little": Fix(
        "Let the learning rate decay to zero by the end.",
        "learning that ends before the task is learned, if the budget is short",
        over_the_budget,
    ),
    "schedule-restarts": Fix(
        "Train in one call; where it must be several, let the schedule know how far the run is "
        "(SB3: reset_num_timesteps=False and a schedule of your own).",
        watch="train/hp/lr",
    ),
    "too-many-epochs": Fix(
        "Make fewer passes over each rollout.",
        "fewer updates: slower where data was the limit",
        fewer_epochs,
        KL,
    ),
    "clip-range-too-wide": Fix("Use the usual clip range.", make=sets(clip_range=0.2), watch=KL),
    "clip-range-too-tight": Fix(
        "Use the usual clip range.", make=sets(clip_range=0.2), watch="train/metrics/clip_fraction"
    ),
    "target-kl-too-tight": Fix(
        "Let an iteration move the policy further before it stops.",
        "larger updates",
        sets(target_kl=0.02),
        "train/metrics/epochs_done",
    ),
    "batch-not-dividing-rollout": Fix("Use a batch size that divides the rollout.", make=divisor),
    "batch-too-small": Fix("Use larger batches.", "fewer updates an env step", larger_batch),
    "batch-too-large": Fix(
        "Use smaller batches: halve them until the gradient noise scale (`--probe` measures it).",
        "noisier updates: lower the rate by the square root of the ratio",
        smaller_batch,
    ),
    "rollout-too-short": Fix(
        "Collect more between updates.", "fewer updates", longer_rollout, VALUES
    ),
    "rollout-too-long": Fix("Collect less between updates.", "noisier advantages", shorter_rollout),
    "entropy-collapse": Fix(
        "Reward entropy, and lower the learning rate if the entropy still falls at once.",
        "a policy that stays too random: lower it once the return rises",
        sets(ent_coef=0.01),
        ENTROPY,
    ),
    "entropy-bonus-too-high": Fix(
        "Lower the entropy bonus.", "an early collapse of the entropy", less_entropy, ENTROPY
    ),
    "action-std-explosion": Fix(
        "Take the entropy bonus away, and begin with smaller noise.",
        "too little exploration",
        sets(ent_coef=0.0, log_std_init=-0.5),
        "train/metrics/action_std",
    ),
    "advantage-normalisation": Fix(
        "Normalise advantages in each minibatch.",
        "near the optimum tiny advantages are blown up: a target_kl of 0.02 limits that",
        to_scale(
            lambda run: {"normalize_advantage": "minibatch" if run.algo == "ppo" else "batch"}
        ),
        KL,
    ),
    "gae-lambda-extreme": Fix("Use 0.95.", make=sets(gae_lambda=0.95), watch=VALUES),
    "gamma-too-low": Fix(
        "Look as far ahead as an episode is long.", "larger values to learn", horizon, VALUES
    ),
    "gamma-too-high": Fix(
        "Discount more: values of long horizons are large, noisy and slow to learn.",
        "short sight, where rewards come late",
        to_scale(horizon),
        "train/loss/value",
    ),
    "critic-too-weak": Fix("Let the value function learn.", make=sets(vf_coef=0.5), watch=VALUES),
    "critic-dominates": Fix(
        "Give the value function a network of its own, and its loss the usual weight.",
        "a few more weights to learn",
        sets(share_features=False, vf_coef=0.5),
        KL,
    ),
    "value-clip-too-tight": Fix(
        "Do not clip the value function.", make=sets(clip_range_vf=None), watch=VALUES
    ),
    "value-lr-mismatch": Fix(
        "Give the value function a learning rate of its own.",
        "values that oscillate",
        value_rate,
        VALUES,
    ),
    "grad-clip-missing": Fix(
        "Clip gradients.",
        "slower learning where gradients are large for a reason",
        to_scale(clipped),
        "train/metrics/grad_norm/policy",
    ),
    "grad-clip-too-tight": Fix(
        "Clip gradients less.",
        "spikes come through",
        sets(max_grad_norm=0.5),
        "train/metrics/grad_clipped",
    ),
    "optimizer-eps": Fix("Use the usual epsilon.", make=sets(optimizer_eps=1e-5), watch=KL),
    "optimizer-choice": Fix(
        "Use Adam at its usual rate.",
        make=adam,
        watch=KL,
    ),
    "weight-decay-too-strong": Fix(
        "Take the weight decay away.",
        make=sets(weight_decay=0.0),
        watch="train/metrics/weight_norm/policy",
    ),
    "network-too-small": Fix(
        "Use two layers of 64 or more units.", "more to learn", sets(net_arch=[64, 64]), VALUES
    ),
    "network-too-deep": Fix(
        "Use two layers, with tanh (on-policy) or ReLU (off-policy).",
        "none known",
        lambda run: {
            "net_arch": [64, 64],
            "activation": "tanh" if run.family == "on-policy" else "relu",
        },
        VALUES,
    ),
    "activation-choice": Fix(
        "Use tanh for small on-policy networks, ReLU off-policy.",
        make=lambda run: {"activation": "tanh" if run.family == "on-policy" else "relu"},
    ),
    "dead-policy-gradient": Fix(
        "Check the policy's loss: old log-probabilities must be those stored while collecting, and "
        "every parameter of the actor must require a gradient and be in the optimizer.",
        watch="train/metrics/grad_norm/policy",
    ),
    "policy-loss-sign": Fix(
        "Check the sign of the policy's loss: what the optimizer minimises must be minus "
        "probability times advantage.",
        watch="train/roll/ep_rew_mean",
    ),
    "returns-misaligned": Fix(
        "Check the loop that computes advantages: it runs backwards, row t uses the value of row "
        "t + 1, and ends of episodes cut it.",
        watch=VALUES,
    ),
    "shape-broadcast": Fix(
        "Assert the shapes in the loss: a [B] against a [B, 1] becomes [B, B] silently.",
    ),
    "bad-initialisation": Fix(
        "Begin with orthogonal weights, a hundred times smaller in the last layer of a policy.",
        make=sets(ortho_init=True),
        watch=ENTROPY,
    ),
    "features-frozen": Fix(
        "Check that the feature extractor's parameters require gradients and are in the optimizer.",
        watch="train/metrics/update_to_weight/policy",
    ),
    "output-activation": Fix(
        "Take the activation off the last layer: values and logits may be negative.", watch=VALUES
    ),
}

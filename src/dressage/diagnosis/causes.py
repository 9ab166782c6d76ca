"""The causes that a diagnosis can name: one spelling for each, never changed.

Families are those of `runs/algorithms.py`; `place` says where the fault lies, which decides what a
prescription can be: a changed setting, or a sentence about code or environment.
"""

# ruff: noqa: E501 (one cause a line is easier to read and to search than wrapped ones)
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dressage.errors import RunError, did_you_mean

Place = Literal["settings", "code", "environment", "evaluation", "bookkeeping", "machine", "data"]
ON, VALUE, ACTOR = "on-policy", "value-based", "actor-critic"
OFF = (VALUE, ACTOR)
ANY = (ON, VALUE, ACTOR)


@dataclass(frozen=True)
class Cause:
    id: str
    title: str  # what is wrong, as the end of "The run suffers from …"
    families: tuple[str, ...]
    place: Place


_TABLE: list[tuple[str, str, tuple[str, ...], Place]] = [
    # Optimisation on-policy.
    ("lr-too-high", "a learning rate that is too high", ANY, "settings"),
    ("lr-too-low", "a learning rate that is too low", ANY, "settings"),
    ("lr-schedule-ends-early", "a learning rate schedule that ends before the run", ANY, "settings"),
    ("schedule-restarts", "a schedule that begins anew in mid-run", ANY, "code"),
    ("too-many-epochs", "too many passes over each rollout", (ON,), "settings"),
    ("clip-range-too-wide", "a clip range that is too wide", (ON,), "settings"),
    ("clip-range-too-tight", "a clip range that is too tight", (ON,), "settings"),
    ("batch-not-dividing-rollout", "minibatches that do not divide the rollout", (ON,), "settings"),
    ("rollout-too-short", "rollouts that are too short", (ON,), "settings"),
    ("rollout-too-long", "rollouts that are too long: too few updates", (ON,), "settings"),
    ("entropy-collapse", "a policy that became certain before it was good", (ON,), "settings"),
    ("entropy-bonus-too-high", "an entropy bonus that outweighs the reward", (ON,), "settings"),
    ("action-std-explosion", "an action deviation that grows without bound", (ON,), "settings"),
    ("advantage-normalisation", "advantages whose scale harms the updates", (ON,), "settings"),
    ("gae-lambda-extreme", "an extreme gae_lambda", (ON,), "settings"),
    ("gamma-too-low", "a discount that makes the agent short-sighted", ANY, "settings"),
    ("gamma-too-high", "a discount that is too close to one", ANY, "settings"),
    ("critic-too-weak", "a value function that does not learn", (ON,), "settings"),
    ("critic-dominates", "a value loss that drowns the policy in a shared network", (ON,), "settings"),
    ("value-clip-too-tight", "a value clipping that is tighter than the returns' scale", (ON,), "settings"),
    ("grad-clip-missing", "large gradients without clipping", ANY, "settings"),
    ("grad-clip-too-tight", "gradient clipping that leaves nothing over", ANY, "settings"),
    ("target-kl-too-tight", "a KL limit that stops updates at once", (ON,), "settings"),
    ("dead-policy-gradient", "a policy that gets no gradient", (ON,), "code"),
    ("policy-loss-sign", "a policy loss of the wrong sign", (ON, ACTOR), "code"),
    ("returns-misaligned", "returns that belong to other steps", (ON,), "code"),
    ("shape-broadcast", "a silent broadcast of shapes in the loss", ANY, "code"),
    # Environment and data.
    ("reward-sign-flipped", "a reward of the wrong sign", ANY, "environment"),
    ("reward-scale-too-large", "rewards that are too large", ANY, "environment"),
    ("reward-scale-too-small", "rewards that are too small", ANY, "environment"),
    ("sparse-reward", "a reward that is hardly ever met", ANY, "environment"),
    ("reward-uninformative", "a reward that does not depend on what is done", ANY, "environment"),
    ("reward-misaligned", "a reward that comes a step late", ANY, "environment"),
    ("nan-input", "observations or rewards that are not numbers", ANY, "environment"),
    ("reward-noise", "a noisy reward", ANY, "environment"),
    ("obs-unnormalised", "observations of very different scales", ANY, "environment"),
    ("obs-constant", "observations that say nothing", ANY, "environment"),
    ("obs-stale", "observations of the step before", ANY, "code"),
    ("partial-observability", "observations that lack what the task depends on", ANY, "environment"),
    ("replay-corrupted", "transitions mangled in memory", OFF, "code"),
    ("truncation-as-termination", "time limits treated as the end of the task", ANY, "code"),
    ("terminal-not-stored", "ends of the task that are not stored", ANY, "code"),
    ("autoreset-leak", "advantages that leak from one episode into the next", ANY, "code"),
    ("time-limit-hidden", "a time limit that the agent is not told of", ANY, "environment"),
    ("episode-limit-too-short", "episodes that are too short to succeed", ANY, "environment"),
    ("action-range-unnormalised", "actions on a scale far from one", ANY, "environment"),
    ("action-space-degenerate", "an action space without room", ANY, "environment"),
    ("action-saturation", "actions that are mostly at their bounds", ANY, "environment"),
    ("action-ignored", "actions that do not do what they say", ANY, "environment"),
    ("action-delay", "actions that take effect late", ANY, "environment"),
    ("normaliser-mismatch", "an evaluation with other normalisers than training", ANY, "evaluation"),
    ("logged-reward-normalised", "a logged return that is not the environment's", ANY, "bookkeeping"),
    ("eval-env-mismatch", "an evaluation on another environment", ANY, "evaluation"),
    ("envs-share-seed", "environments that all play the same episodes", ANY, "environment"),
    ("single-seed-claim", "a conclusion from one seed", ANY, "evaluation"),
    ("env-not-reset", "an environment that keeps state over resets", ANY, "environment"),
    ("image-scaling", "images that are scaled twice or not at all", ANY, "environment"),
    ("reward-hacking", "a reward that is gained without the task being solved", ANY, "environment"),
    # Value-based and off-policy.
    ("learning-never-starts", "learning that begins after the budget ends", OFF, "settings"),
    ("learning-starts-misplaced", "learning that begins too late or too early", OFF, "settings"),
    ("buffer-too-small", "a replay memory that is too small", OFF, "settings"),
    ("no-exploration", "no exploration", (VALUE,), "settings"),
    ("epsilon-decays-too-fast", "exploration that ends too soon", (VALUE,), "settings"),
    ("final-epsilon-too-high", "exploration that never ends", (VALUE,), "settings"),
    ("target-updates-too-often", "a target network that is no slower than the network", (VALUE,), "settings"),
    ("target-updates-too-rarely", "a target network that is moved too rarely", (VALUE,), "settings"),
    ("q-divergence", "action values that diverge", OFF, "settings"),
    ("updates-too-few", "too few updates for the data", OFF, "settings"),
    ("updates-too-many", "too many updates for the data", OFF, "settings"),
    ("batch-reused", "the same batch in every gradient step", OFF, "code"),
    ("batch-too-small", "batches that are too small", ANY, "settings"),
    ("resume-lost-state", "a resume that lost part of the state", ANY, "bookkeeping"),
    ("discount-misapplied", "a discount missing or counted twice in the target", OFF, "code"),
    ("td-target-wrong", "a TD target that is computed wrongly", OFF, "code"),
    # Continuous actor-critic.
    ("no-action-noise", "no action noise", (ACTOR,), "settings"),
    ("action-noise-too-large", "action noise that is too large", (ACTOR,), "settings"),
    ("actor-saturation", "an actor stuck at its bounds", (ACTOR,), "settings"),
    ("sac-alpha-too-high", "an entropy temperature that is too high", (ACTOR,), "settings"),
    ("sac-alpha-too-low", "an entropy temperature that is too low", (ACTOR,), "settings"),
    ("sac-alpha-explodes", "an entropy temperature that grows without bound", (ACTOR,), "settings"),
    ("target-tau-extreme", "targets that follow far too fast or too slowly", (ACTOR,), "settings"),
    ("td3-smoothing-off", "TD3 without its delay or smoothing", (ACTOR,), "settings"),
    ("reward-scale-vs-alpha", "a fixed temperature that does not fit the reward's scale", (ACTOR,), "settings"),
    ("updates-starved", "updates that wait for episodes to end", (ACTOR,), "settings"),
    # Offline, imitation, several agents.
    ("offline-overestimation", "action values of actions that the data never shows", ("offline",), "settings"),
    ("cql-weight-misplaced", "a conservative weight that is too low or too high", ("offline",), "settings"),
    ("dataset-scale-mismatch", "data on another scale than the environment", ("offline", "imitation"), "data"),
    ("dataset-terminals-wrong", "ends of episodes that are wrong in the data", ("offline",), "data"),
    ("bc-covariate-shift", "an imitation that fails where the expert never was", ("imitation",), "settings"),
    ("dagger-beta-stuck", "an expert that keeps the wheel", ("imitation",), "settings"),
    ("expert-labels-misaligned", "expert actions that belong to other observations", ("imitation",), "data"),
    ("gail-discriminator-wins", "a discriminator that is always right", ("imitation",), "settings"),
    ("marl-agent-not-learning", "an agent among several that does not learn", ("multi-agent",), "code"),
    ("marl-reward-credit", "rewards given to the wrong agent", ("multi-agent",), "code"),
    ("self-play-cycling", "self-play that goes in circles", ("multi-agent",), "settings"),
    # Optimiser, network, bookkeeping.
    ("optimizer-eps", "an optimizer's epsilon that is far off", ANY, "settings"),
    ("optimizer-choice", "an optimizer that does not fit its learning rate", ANY, "settings"),
    ("weight-decay-too-strong", "weight decay that is too strong", ANY, "settings"),
    ("optimizer-state-corrupted", "an optimizer whose state is damaged", ANY, "bookkeeping"),
    ("loaded-model-ignored", "a loaded model that is not the one trained", ANY, "code"),
    ("network-too-small", "a network that is too small", ANY, "settings"),
    ("network-too-deep", "a network that is too deep for its activations", ANY, "settings"),
    ("bad-initialisation", "first weights that are far too large", ANY, "code"),
    ("features-frozen", "a feature extractor that does not learn", ANY, "code"),
    ("output-activation", "an activation on the output", ANY, "code"),
    ("activation-choice", "an activation that does not suit the algorithm", ANY, "settings"),
    ("budget-too-small", "a budget that is too small", ANY, "settings"),
    ("best-policy-lost", "a best policy that was not kept", ANY, "bookkeeping"),
    ("throughput-decay", "a speed that falls as the run goes on", ANY, "machine"),
    # Also in the vocabulary.
    ("batch-too-large", "batches far above the gradient's noise scale", ANY, "settings"),
    ("lr-decay-too-little", "a learning rate that stays high when the policy is nearly right", ANY, "settings"),
    ("value-lr-mismatch", "a value function that learns much slower or faster than the policy", (ON, ACTOR), "settings"),
    ("catastrophic-forgetting", "a skill that was learned and lost", ANY, "settings"),
    ("hardware-underused", "cores or environments that wait for one another", ANY, "machine"),
    ("pipeline-bottleneck", "time lost between collecting and updating", ANY, "machine"),
    ("distributed-desync", "workers that hold different parameters", ANY, "machine"),
]  # fmt: skip

CAUSES: dict[str, Cause] = {
    id: Cause(id, title, families, place) for id, title, families, place in _TABLE
}


def cause(id: str) -> Cause:
    if id not in CAUSES:
        raise RunError(f"There is no cause named '{id}'.{did_you_mean(id, list(CAUSES))}")
    return CAUSES[id]

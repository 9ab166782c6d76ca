"""Which answers count as right for a fault, beside its own cause; fixed before anything is scored.

An equivalent is accepted where a careful person who sees the same log and has no access to the code
could not tell the two apart, or where one is the mechanism by which the other does its harm. Each
set has its reason. Equivalence holds in both directions within a set.
"""

from __future__ import annotations

EQUIVALENT: list[tuple[frozenset[str], str]] = [
    (
        frozenset({"lr-too-low", "optimizer-eps", "optimizer-choice", "grad-clip-too-tight"}),
        "all make every step of the optimizer tiny; without the config nothing tells them apart",
    ),
    (
        frozenset({"clip-range-too-tight", "target-kl-too-tight", "lr-too-low"}),
        "all bound the change of the policy in an update to next to nothing",
    ),
    (
        frozenset({"lr-too-high", "too-many-epochs", "clip-range-too-wide"}),
        "all let one rollout move the policy too far: the KL divergence is the symptom of each",
    ),
    (
        frozenset({"lr-too-high", "lr-decay-too-little"}),
        "a rate that is too high at the end is a rate that is too high",
    ),
    (
        frozenset({"lr-too-high", "q-divergence", "target-updates-too-often"}),
        "values that chase their own target diverge, whatever sets the pace",
    ),
    (
        frozenset({"q-divergence", "terminal-not-stored", "gamma-too-high"}),
        "values without an end or a discount grow without bound",
    ),
    (
        frozenset({"discount-misapplied", "gamma-too-low", "gamma-too-high"}),
        "a discount that the code misapplies is a discount of another size",
    ),
    (
        frozenset({"discount-misapplied", "td-target-wrong", "replay-corrupted"}),
        "all give the values wrong targets from healthy rewards; only the code tells which part",
    ),
    (
        frozenset({"obs-stale", "replay-corrupted"}),
        "a memory that keeps the wrong successors",
    ),
    (
        frozenset({"td-target-wrong", "shape-broadcast"}),
        "a broadcast target is a wrong target",
    ),
    (
        frozenset({"dead-policy-gradient", "features-frozen"}),
        "parameters that get no gradient, of the head or of what is before it",
    ),
    (
        frozenset({"shape-broadcast", "dead-policy-gradient"}),
        "advantages broadcast to their mean leave the policy without a gradient",
    ),
    (
        frozenset({"shape-broadcast", "critic-too-weak", "returns-misaligned"}),
        "a value function whose targets are not its states' learns nothing",
    ),
    (
        frozenset({"critic-too-weak", "value-lr-mismatch", "value-clip-too-tight"}),
        "the value function learns too slowly, by its weight, its rate or its clipping",
    ),
    (
        frozenset({"critic-dominates", "reward-scale-too-large"}),
        "large rewards are how a value loss drowns the policy in a shared network",
    ),
    (
        frozenset({"reward-scale-too-large", "grad-clip-missing", "advantage-normalisation"}),
        "each of the latter only harms because the rewards are large",
    ),
    (
        frozenset({"reward-scale-too-small", "entropy-bonus-too-high"}),
        "a bonus is too high beside a reward that is too small: the ratio is all there is",
    ),
    (
        frozenset({"reward-scale-vs-alpha", "sac-alpha-too-high", "sac-alpha-too-low"}),
        "a fixed temperature fits or does not fit the reward's scale: the ratio is all there is",
    ),
    (
        frozenset({"reward-scale-too-small", "sac-alpha-too-high", "reward-scale-vs-alpha"}),
        "the same ratio, seen from the reward",
    ),
    (
        frozenset({"obs-constant", "partial-observability"}),
        "an observation that lacks some entries, and one that lacks nearly all",
    ),
    (
        frozenset({"obs-stale", "action-delay"}),
        "a delay between seeing and acting is the same loop, cut at another place",
    ),
    (
        frozenset({"action-ignored", "reward-uninformative"}),
        "in both, nothing that is done changes what is paid",
    ),
    (
        frozenset({"reward-misaligned", "sparse-reward"}),
        "rewards that come late are rewards that are not there when they are earned",
    ),
    (
        frozenset({"truncation-as-termination", "time-limit-hidden", "episode-limit-too-short"}),
        "a clock that the value function does not know of",
    ),
    (
        frozenset({"env-not-reset", "episode-limit-too-short"}),
        "a counter that is not reset ends episodes as a limit does",
    ),
    (
        frozenset({"action-space-degenerate", "action-range-unnormalised"}),
        "bounds that do not fit what the environment needs",
    ),
    (
        frozenset({"action-saturation", "action-std-explosion"}),
        "a deviation beyond the bounds saturates the actions",
    ),
    (
        frozenset({"actor-saturation", "obs-unnormalised"}),
        "large observations are how an actor gets stuck at its bounds",
    ),
    (
        frozenset({"learning-never-starts", "learning-starts-misplaced"}),
        "a start beyond the budget is the extreme of a late start",
    ),
    (
        frozenset({"updates-too-few", "updates-starved"}),
        "too few updates for the data, however that came about",
    ),
    (
        frozenset({"rollout-too-long", "batch-too-large", "updates-too-few"}),
        "few updates for many steps",
    ),
    (
        frozenset({"target-updates-too-rarely", "target-tau-extreme"}),
        "a target that hardly moves, by its interval or by its share",
    ),
    (
        frozenset({"target-updates-too-often", "target-tau-extreme"}),
        "a target that is no slower than the network",
    ),
    (
        frozenset({"no-exploration", "epsilon-decays-too-fast"}),
        "exploration that ends at once, and that never was",
    ),
    (
        frozenset({"no-action-noise", "sac-alpha-too-low", "entropy-collapse"}),
        "the policy tries nothing but what it prefers",
    ),
    (
        frozenset({"resume-lost-state", "schedule-restarts", "loaded-model-ignored"}),
        "a part of the run begins anew in its middle",
    ),
    (
        frozenset({"optimizer-state-corrupted", "resume-lost-state", "loaded-model-ignored"}),
        "what a checkpoint held is not what the run goes on with",
    ),
    (
        frozenset({"buffer-too-small", "catastrophic-forgetting", "batch-reused"}),
        "learning from too few transitions, and forgetting the others",
    ),
    (
        frozenset({"network-too-deep", "activation-choice"}),
        "depth harms by the activations it multiplies",
    ),
    (
        frozenset({"bad-initialisation", "entropy-collapse"}),
        "first weights that are too large make the policy certain before it has seen anything",
    ),
    (
        frozenset({"eval-env-mismatch", "normaliser-mismatch"}),
        "evaluation plays another game than training",
    ),
    (
        frozenset({"reward-hacking", "reward-sign-flipped"}),
        "what is logged rises while the task is not done",
    ),
    (
        frozenset({"autoreset-leak", "terminal-not-stored"}),
        "ends of episodes that the estimates do not see",
    ),
    (
        frozenset({"best-policy-lost", "catastrophic-forgetting"}),
        "the best policy was there and is not any more",
    ),
    (
        frozenset({"hardware-underused", "pipeline-bottleneck"}),
        "time that neither steps environments nor updates",
    ),
]


# Beside these, of variants whose log hides what would tell: whoever learns to earn less by the log
# has a reward or a loss of the wrong sign.
OF_VARIANT = {"reward-sign-flipped.unlogged": frozenset({"policy-loss-sign"})}


def accepted(cause: str, variant: str = "") -> frozenset[str]:
    """The causes that count as a right answer for a run with this one."""
    sets = [causes for causes, _ in EQUIVALENT if cause in causes]
    sets += [causes for start, causes in OF_VARIANT.items() if variant.startswith(start)]
    return frozenset({cause}).union(*sets)

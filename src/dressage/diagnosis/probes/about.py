"""What each probe asks, and which causes it can speak for or against: known without running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class About(NamedTuple):
    name: str
    asks: str
    seconds: float  # its time limit
    causes: frozenset[str]
    trains: bool = False  # needs the run's own algorithm


# A run at the return of chance has learned nothing, whatever the reason.
NOTHING_LEARNED = (
    "action-ignored", "dead-policy-gradient", "lr-too-low", "learning-never-starts",
    "no-exploration", "obs-constant", "obs-stale", "returns-misaligned", "reward-uninformative",
    "sparse-reward", "target-kl-too-tight", "td-target-wrong",
)  # fmt: skip
SIGNS = ("policy-loss-sign", "reward-sign-flipped")
# Faults of code that a probe environment shows, by the part it tries.
VALUE_CODE = ("critic-too-weak", "output-activation", "shape-broadcast", "td-target-wrong")
SEEING_CODE = ("features-frozen", "obs-stale", "replay-corrupted", "shape-broadcast")
DISCOUNT_CODE = (
    "autoreset-leak", "discount-misapplied", "returns-misaligned", "td-target-wrong",
    "terminal-not-stored",
)  # fmt: skip
POLICY_CODE = ("dead-policy-gradient", "policy-loss-sign")
TOGETHER_CODE = ("batch-reused", "obs-stale", "replay-corrupted")
STEP_SIZE = ("grad-clip-too-tight", "lr-too-low", "optimizer-choice", "optimizer-eps")

RANDOM = About(
    "random policy",
    "is the run any better than chance?",
    2.0,
    frozenset((*NOTHING_LEARNED, *SIGNS)),
)
ACTIONS = About(
    "effect of actions",
    "does the action change anything, and when?",
    3.0,
    frozenset(("action-ignored", "action-delay", "action-space-degenerate")),
)
STATISTICS = About(
    "observations and rewards",
    "what does the environment give under the random policy?",
    2.0,
    frozenset(
        (
            "nan-input", "obs-constant", "obs-unnormalised", "image-scaling",
            "reward-scale-too-large", "reward-scale-too-small", "sparse-reward",
            "reward-uninformative", "episode-limit-too-short", "truncation-as-termination",
            "env-not-reset", "envs-share-seed", "action-range-unnormalised",
            "action-saturation", "action-std-explosion",
        )
    ),
)  # fmt: skip
SAME_SEED = About(
    "same seed twice",
    "is an episode a function of its seed and actions, and training of its seed?",
    4.0,
    frozenset(("env-not-reset", "single-seed-claim")),
)
ENVIRONMENTS = About(
    "probe environments",
    "which parts of the algorithm work on tasks of one or two steps?",
    11.0,
    frozenset(
        (
            *VALUE_CODE, *SEEING_CODE, *DISCOUNT_CODE, *POLICY_CODE, *TOGETHER_CODE, *STEP_SIZE,
            "lr-too-high",
        )
    ),
    trains=True,
)  # fmt: skip
OVERFIT = About(
    "overfit one batch",
    "can the value network fit a single batch?",
    4.0,
    frozenset((*STEP_SIZE, *VALUE_CODE, "features-frozen", "network-too-small", "lr-too-high")),
    trains=True,
)
NOISE = About(
    "gradient noise scale",
    "does the batch size suit the noise of the gradient?",
    4.0,
    frozenset(("batch-too-large", "batch-too-small")),
    trains=True,
)
ALL = (RANDOM, ACTIONS, STATISTICS, SAME_SEED, ENVIRONMENTS, OVERFIT, NOISE)


def separating_probes(causes: Sequence[str]) -> list[About]:
    """Those that speak of one of two causes and not of the other."""
    a, b = causes
    return [probe for probe in ALL if (a in probe.causes) != (b in probe.causes)]

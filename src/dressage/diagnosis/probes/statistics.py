"""What the environment gives under the random policy: observations, rewards, ends, resets."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.probes.about import STATISTICS
from dressage.diagnosis.probes.player import Played, Player, Seen, flat
from dressage.diagnosis.probes.result import ProbeResult
from dressage.diagnosis.probes.subject import Subject
from dressage.envs.make import EnvRecipe

Says = list[str]
Numbers = dict[str, float | str]
Factors = dict[str, float]

CONSTANT = 1e-3  # deviation below which a feature counts as constant (RLExplorer)
LARGE_OBS = 10.0  # beyond which an observation is out of scale (RLExplorer)
SCALES_APART = 1e3  # between the largest and the smallest deviation (guess)
LARGE_REWARD = 10.0  # mean size of a reward (RLExplorer)
SMALL_REWARD = 0.01  # likewise (FAULTS: with an entropy bonus)
MOSTLY_ZERO = 0.99  # share of zero rewards that is called sparse (guess)
IMPOSSIBLE = 0.01  # of causes that the spaces leave no room for
CONTINUOUS = ("action-range-unnormalised", "action-saturation", "action-std-explosion")
SEEDS = (0, 1, 2, 3, 4)
SAME_STEPS = 8  # env steps of which episodes with other seeds are compared


def statistics(subject: Subject, played: Played) -> ProbeResult:
    says: Says = []
    numbers: Numbers = {"env_steps": len(played.rewards), "episodes": len(played.returns)}
    factors: Factors = {}
    for look in (_finite, _observations, _rewards, _ends, _actions):
        look(subject, played, says, numbers, factors)
    _resets(subject.recipe, played, says, numbers, factors)
    return ProbeResult(STATISTICS.name, " ".join(says), numbers, factors)


def _finite(_: Subject, played: Played, says: Says, numbers: Numbers, factors: Factors) -> None:
    rewards = np.asarray(played.rewards)
    bad = played.features.not_finite + int((~np.isfinite(rewards)).sum())
    numbers["not_finite"] = bad
    if bad:
        says.append(f"{bad} observations or rewards are NaN or infinite.")
        factors |= {"nan-input": 300.0, HEALTHY: 0.05}
    else:
        factors["nan-input"] = 0.2


def _observations(
    subject: Subject, played: Played, says: Says, numbers: Numbers, factors: Factors
) -> None:
    features = played.features
    if not features.count or not features.mean.size:
        return
    std, size = features.std, features.mean.size
    constant = int((std < CONSTANT).sum())
    numbers |= {"features": size, "constant_features": constant}
    if features.out_of_space:
        numbers["out_of_space"] = features.out_of_space
        says.append(f"{features.out_of_space} observations lie outside the declared space.")
    if constant == size:
        says.append(f"All {size} numbers of the observation are constant.")
        factors |= {"obs-constant": 100.0, HEALTHY: 0.2}
    else:
        if constant:
            says.append(f"{constant} of {size} numbers of the observation are constant.")
        else:
            says.append(f"All {size} numbers of the observation vary.")
        # borders of pictures and unused codes are constant in healthy tasks
        often = _coded(played) or bool((played.kinds != "number").any())
        factors["obs-constant"] = 1.5 if constant and not often else 0.2
    if played.kinds.shape != std.shape:  # the declared space is another one
        return
    pictures, plain = played.kinds == "image", played.kinds == "number"
    if not pictures.any():
        factors["image-scaling"] = IMPOSSIBLE
    else:
        if features.high[pictures].max() <= 1.0:
            says.append("The pictures are declared as 0 to 255 and hold 0 to 1.")
            factors |= {"image-scaling": 50.0, HEALTHY: 0.3}
        else:
            factors["image-scaling"] = 0.2
    if not plain.any():
        return
    largest = float(np.abs([features.low[plain], features.high[plain]]).max())
    moving = std[plain & (std >= CONSTANT)]
    apart = float(moving.max() / moving.min()) if moving.size else 1.0
    numbers |= {"largest_observation": largest, "scales_apart": apart}
    if (largest > LARGE_OBS or apart > SCALES_APART) and not subject.setting("normalize_obs"):
        says.append(
            f"Observations reach {largest:.3g}, their deviations lie a factor of {apart:.3g} apart,"
            " and they are not normalised."
        )
        factors["obs-unnormalised"] = 4.0 if largest > 10 * LARGE_OBS else 2.0
    else:
        factors["obs-unnormalised"] = 0.2


def _coded(played: Played) -> bool:
    """Whether observations are whole numbers, as codes and grids are."""
    parts = (played.features.low, played.features.high)
    return all(bool((part == np.round(part)).all()) for part in parts)


def _rewards(
    subject: Subject, played: Played, says: Says, numbers: Numbers, factors: Factors
) -> None:
    rewards = np.asarray(played.rewards)
    rewards = rewards[np.isfinite(rewards)]
    if not rewards.size:
        return
    size, deviation = float(np.abs(rewards).mean()), float(rewards.std())
    zero = float((rewards == 0.0).mean())
    largest = float(np.abs(rewards).max())
    numbers |= {"reward_size": size, "reward_deviation": deviation, "zero_rewards": zero}
    scaled = bool(subject.setting("normalize_reward"))
    if size > LARGE_REWARD and not scaled:
        says.append(f"Rewards have a mean size of {size:.3g}, and are not normalised.")
        factors["reward-scale-too-large"] = 4.0 if size > 10 * LARGE_REWARD else 1.5
    else:
        factors["reward-scale-too-large"] = 0.2
    if 0.0 < largest < SMALL_REWARD and not scaled:
        says.append(f"No reward is larger than {largest:.2g}.")
        factors["reward-scale-too-small"] = 6.0
    else:
        factors["reward-scale-too-small"] = 0.3
    alike = len(played.returns) >= 5 and float(np.ptp(played.returns)) == 0.0
    if zero >= MOSTLY_ZERO:
        says.append(f"{zero:.1%} of the rewards are zero.")
        factors["sparse-reward"] = 5.0
    elif alike:
        says.append(f"All {len(played.returns)} random episodes have the same return.")
        factors |= {"sparse-reward": 3.0, "reward-uninformative": 3.0}
    else:
        factors |= {"sparse-reward": 0.3}
        says.append(f"Rewards have a mean size of {size:.3g} and a deviation of {deviation:.3g}.")


def _ends(_: Subject, played: Played, says: Says, numbers: Numbers, factors: Factors) -> None:
    lengths = np.asarray(played.lengths)
    if lengths.size < 2:
        if not lengths.size:
            says.append(f"No random episode ended within {played.unfinished:,} env steps.")
            numbers["unfinished"] = played.unfinished
        return
    by_task = float(np.mean(played.terminated))
    numbers |= {
        "length_mean": float(lengths.mean()),
        "length_min": int(lengths.min()),
        "length_max": int(lengths.max()),
        "ended_by_task": by_task,
        "time_limit": played.limit or "none",
    }
    says.append(
        f"Episodes have {lengths.mean():.4g} steps ({lengths.min()} to {lengths.max()}), "
        f"{by_task:.0%} end by the task."
    )
    constant = int(np.ptp(lengths)) == 0
    if constant and by_task == 1.0 and lengths[0] >= 10 and played.limit is None:
        says.append("All end by the task after the same number of steps, as a clock would.")
        factors["truncation-as-termination"] = 5.0
    elif by_task < 1.0:
        factors["truncation-as-termination"] = 0.5
    if constant and by_task == 0.0 and lengths[0] <= 50:
        says.append(f"None comes to an end before the time limit of {lengths[0]}.")
        factors["episode-limit-too-short"] = 3.0
    else:
        factors["episode-limit-too-short"] = 0.5
    if lengths.size >= 4 and lengths[0] > 1 and (lengths[1:] == 1).all():
        says.append("Every episode after the first ends at once.")
        factors |= {"env-not-reset": 50.0, HEALTHY: 0.1}


def _actions(
    subject: Subject, played: Played, says: Says, numbers: Numbers, factors: Factors
) -> None:
    codec = played.action_codec
    if codec is None or not codec.continuous:
        factors |= dict.fromkeys(CONTINUOUS, IMPOSSIBLE)
        return
    ends = np.concatenate((codec.env_low, codec.env_high))
    widest = float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0))
    numbers["action_bound"] = widest
    ours = subject.view.library == "dressage"
    if widest > 10.0 and not (ours and subject.setting("scale_actions", True)):
        says.append(f"Actions reach {widest:.3g}, far from one.")
        factors["action-range-unnormalised"] = 5.0
    else:
        factors["action-range-unnormalised"] = 0.3


def _resets(
    recipe: EnvRecipe, played: Played, says: Says, numbers: Numbers, factors: Factors
) -> None:
    """Do other seeds give other episodes? Where they do not, the environment may be one without
    chance, unless its reset seeds numpy's global generator each time."""
    episodes = [_few_steps(recipe, seed) for seed in SEEDS]
    first = episodes[0]
    alike = all(_same_steps(first, other) for other in episodes[1:])
    numbers["seeds_alike"] = str(alike).lower()
    if not alike:
        factors["envs-share-seed"] = 0.1
        return
    if _seeds_numpy(recipe):
        says.append("Every seed gives the same episode, and reset() seeds numpy's generator anew.")
        factors |= {"envs-share-seed": 100.0, HEALTHY: 0.3}
    elif _coded(played):
        says.append("Every seed gives the same episode, as in a task without chance.")
        factors["envs-share-seed"] = 1.2
    else:
        says.append("Every seed gives the same episode: reset() does not use its seed.")
        factors |= {"envs-share-seed": 6.0, HEALTHY: 0.7}


def _few_steps(recipe: EnvRecipe, seed: int) -> list[Seen]:
    rng = np.random.default_rng(0)  # the same actions whatever the seed
    with Player(recipe) as player:
        seen = [Seen(player.reset(seed), 0.0, False, False)]
        while len(seen) <= SAME_STEPS and not seen[-1].over:
            seen.append(player.step(player.random_action(rng)))
    return seen


def _same_steps(a: list[Seen], b: list[Seen]) -> bool:
    return len(a) == len(b) and all(x.same(y) for x, y in zip(a, b, strict=True))


def _seeds_numpy(recipe: EnvRecipe) -> bool:
    """Whether a reset leaves numpy's global generator in one state whatever it was before."""
    kept = np.random.get_state()  # noqa: NPY002 (this is what is looked at)
    states = []
    try:
        with Player(recipe) as player:
            for before in (1, 2):
                np.random.seed(before)  # noqa: NPY002
                flat(player.reset(before))
                states.append(np.random.random())  # noqa: NPY002
    finally:
        np.random.set_state(kept)  # noqa: NPY002
    return bool(states[0] == states[1])

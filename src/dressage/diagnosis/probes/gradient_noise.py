"""The gradient noise scale at the run's newest checkpoint, beside its batch size.

Nothing is learned meanwhile: the learning rate is zero and gradients are not clipped, so that every
update of the algorithm shows the gradient of one batch at the same parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from dressage.diagnosis.probes.about import NOISE
from dressage.diagnosis.probes.practice import recorded_gradients
from dressage.diagnosis.probes.result import ProbeResult
from dressage.diagnosis.probes.settings import known, short
from dressage.diagnosis.probes.subject import Deadline, Subject
from dressage.errors import ConfigError
from dressage.math.noise_scale import NoiseScale, noise_scale

ENOUGH = 48  # batches
LEAST = 4
TOO_LARGE = 4.0  # times the noise scale (FAULTS: guess)
TOO_SMALL = 1 / 64  # of the noise scale, and below SMALL_BATCH rows (guess)
SMALL_BATCH = 32
VAGUE = 100.0  # between the ends of an interval that says nothing
PREFERRED = ("policy", "actor", "q", "critic", "value")  # the part that is told of
# Of a policy that learns from rollouts: there a batch costs data. With a replay memory it does not,
# and while values are far off all rows agree about it (DQN on CartPole after 1,500 steps: 1 row).
ADVISED = "policy"


def measure_noise(subject: Subject, seconds: float = NOISE.seconds) -> dict[str, NoiseScale]:
    """The noise scale of each part of the networks, from as many batches as the time allows;
    nothing where too few gradients were seen."""
    assert subject.practise is not None
    still = {
        "learning_rate": 0.0,
        "value_learning_rate": None,
        "weight_decay": 0.0,
        "max_grad_norm": 1e9,
        "n_epochs": 1,
        "target_kl": None,
        "baseline_steps": 1,
        "policy_delay": 1,
        "train_freq": 1,
        "prioritized": False,
        "gradient_steps": 1,
    }
    changed = short(subject, rows=2048) | known(subject, still)
    by_part: dict[str, list[Any]] = {}
    with subject.practise(subject.recipe, changed, "torch", subject.has_checkpoint) as practice:
        rows = _rows(subject, practice.rollout_length * practice.collector.n_envs)
        if not hasattr(practice.learner, "step"):
            raise ConfigError("A table has no gradient.")
        practice.cfg_now = practice.cfg.at(1.0)
        if practice.replays:  # what batches are drawn from; the run's own memory is not read
            practice.add(practice.collect(max(4 * rows, 1000) // practice.collector.n_envs + 1))
        with recorded_gradients(practice.learner) as seen:
            deadline = Deadline.within(seconds)  # loading torch may have taken longer than that
            while _count(by_part) < ENOUGH and not deadline.over():
                practice.add(practice.collect(practice.rollout_length))
                practice.update()
                for gradients in seen:
                    for part, gradient in gradients.items():
                        by_part.setdefault(part, []).append(gradient)
                seen.clear()
    return {part: noise_scale(made, rows) for part, made in by_part.items() if len(made) >= LEAST}


def _count(by_part: dict[str, list[Any]]) -> int:
    return min(map(len, by_part.values()), default=0)


def _rows(subject: Subject, rollout: int) -> int:
    """Rows of a batch; an algorithm without batches learns from the rollout whole."""
    return int(subject.setting("batch_size") or rollout)


def gradient_noise(subject: Subject, deadline: Deadline) -> ProbeResult:
    found = measure_noise(subject)
    part = next(_in_order(found), None)
    if part is None:
        return ProbeResult(NOISE.name, "Too few gradients were seen in time.", state="cut short")
    scale = found[part]
    numbers: dict[str, float | str] = {"part": part, "batch_size": scale.rows}
    for name, one in found.items():
        numbers[f"noise_scale_{name}"] = one.value if math.isfinite(one.value) else "beyond"
    where = "at the newest checkpoint" if subject.has_checkpoint else "with untrained networks"
    if not math.isfinite(scale.value):
        says = (
            f"The gradient of the {part} is lost in noise {where}: its noise scale is beyond "
            f"{scale.low:,.0f} rows, the batch has {scale.rows}."
        )
        return ProbeResult(NOISE.name, says, numbers, {"batch-too-large": 0.3})
    numbers |= {"low": scale.low, "high": scale.high if math.isfinite(scale.high) else "beyond"}
    said = (
        f"The noise scale of the {part}'s gradient is {_in_words(scale.value)} rows {where} (95 % "
        f"interval {_in_words(scale.low)} to {_in_words(scale.high)}), the batch has {scale.rows}"
    )
    if part != ADVISED:
        says = f"{said}; where batches come from a replay memory they cost no data."
        return ProbeResult(NOISE.name, says, numbers)
    if scale.high > VAGUE * scale.low:
        return ProbeResult(NOISE.name, f"{said}: too uncertain to judge by.", numbers)
    if scale.rows > TOO_LARGE * scale.high:
        advice = suggested_batch(scale)
        numbers["suggested_batch"] = advice
        says = f"{said}: smaller batches, about {advice}, would learn as much from less data."
        return ProbeResult(
            NOISE.name, says, numbers, {"batch-too-large": 5.0, "batch-too-small": 0.2}
        )
    if scale.rows < min(TOO_SMALL * scale.low, SMALL_BATCH):
        advice = suggested_batch(scale)
        numbers["suggested_batch"] = advice
        says = f"{said}: its steps are almost all noise; try {advice}."
        return ProbeResult(
            NOISE.name, says, numbers, {"batch-too-small": 3.0, "batch-too-large": 0.2}
        )
    return ProbeResult(
        NOISE.name, f"{said}: it suits.", numbers, {"batch-too-small": 0.5, "batch-too-large": 0.3}
    )


def _in_words(rows: float) -> str:
    if not math.isfinite(rows):
        return "beyond measure"
    return f"{rows:,.0f}" if rows >= 1.0 else "less than 1"


def suggested_batch(scale: NoiseScale, most: int = 4096) -> int:
    """The power of two nearest to the noise scale, the best trade of steps for data (McCandlish et
    al. 2018, section 2.3), within what is usual."""
    value = min(max(scale.value, 16.0), float(most))
    return int(2 ** round(math.log2(value)))


def _in_order(found: dict[str, NoiseScale]) -> Iterator[str]:
    yield from (part for part in PREFERRED if part in found)
    yield from found

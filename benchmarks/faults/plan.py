"""Which runs there are to be, and in which order: a thin whole first."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.faults import settings_usual
from benchmarks.faults.benign import VARIATIONS
from benchmarks.faults.fault import Fault
from benchmarks.faults.faults import FAULTS
from benchmarks.faults.injection import CLEAN
from benchmarks.faults.injections.code import TORCH
from benchmarks.faults.settings import SETTINGS
from benchmarks.faults.train import Job

SEEDS, FEWER_SEEDS = 5, 2  # of a fault: on its first settings of each split, on further ones
HEALTHY = {"train": 14, "test": 16}  # clean seeds a setting
COSTLY = {"lunarlander-ppo": 4, "cartpole-qr": 6, "cartpole-c51": 6}  # clean seeds of slow ones
USUAL_SEEDS = 2  # of settings that have healthy runs alone
BENIGN_SEEDS = 2


def jobs() -> Iterator[Job]:
    """Each job once, in the order in which they are made."""
    seen: set[str] = set()
    for job in _in_order():
        if job.key not in seen:
            seen.add(job.key)
            yield job


def _in_order() -> Iterator[Job]:
    faults = sorted(FAULTS.values(), key=_slow)
    # every environment of the training split once: rates are to hold on one that was left out
    for name in SETTINGS:
        yield from (clean(name, seed) for seed in range(2))
    yield from _of_training(faults, 2)
    for seed in range(BENIGN_SEEDS):
        yield from benign(seed)
    for name in SETTINGS:
        yield from (clean(name, seed) for seed in range(min(5, healthy_seeds(name))))
    for severity in (2, 3, 1):
        for fault in faults:
            for setting in first_settings(fault):
                yield from (faulty(fault, setting, severity, seed) for seed in range(2))
    for name in SETTINGS:
        yield from (clean(name, seed) for seed in range(healthy_seeds(name)))
    for seed in range(2, SEEDS):
        for fault in faults:
            for setting in first_settings(fault):
                yield from (faulty(fault, setting, severity, seed) for severity in (2, 3, 1))
    for severity in (3, 1):
        yield from _of_training(faults, severity)
    for seed in range(FEWER_SEEDS):
        for fault in faults:
            for setting in fault.settings:
                yield from (faulty(fault, setting, severity, seed) for severity in (2, 3, 1))


def _of_training(faults: list[Fault], severity: int) -> Iterator[Job]:
    for fault in faults:
        for setting in fault.settings:
            if SETTINGS[setting].split == "train":
                yield from (faulty(fault, setting, severity, seed) for seed in range(2))


def _slow(fault: Fault) -> bool:
    """Whether its updates are made by torch, which takes ten times as long."""
    return any(name in TORCH for name, _ in fault.levels[0].code)


def first_settings(fault: Fault) -> list[str]:
    """The first training setting and the first test setting."""
    of = {SETTINGS[name].split: name for name in reversed(fault.settings)}
    return [of[split] for split in ("train", "test") if split in of]


def healthy_seeds(setting: str) -> int:
    if SETTINGS[setting] in settings_usual.SETTINGS:
        return USUAL_SEEDS
    return COSTLY.get(setting, HEALTHY[SETTINGS[setting].split])


def clean(setting: str, seed: int) -> Job:
    return Job(setting, "clean", "clean", None, 0, seed, CLEAN)


def faulty(fault: Fault, setting: str, severity: int, seed: int) -> Job:
    injection = fault.levels[severity - 1]
    return Job(setting, fault.name, "fault", fault.cause, severity, seed, injection)


def benign(seed: int) -> Iterator[Job]:
    for one in VARIATIONS.values():
        for setting in one.settings:
            yield Job(setting, one.name, "benign", None, 0, seed, one.injection)

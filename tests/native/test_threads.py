"""threads=auto follows what is fast, also when that changes."""

from __future__ import annotations

import pytest

from dressage.native.threads import AGAIN_AFTER, TRIES, Threads, cores


def drive(threads: Threads, seconds: dict[int, float], updates: int) -> list[int]:
    used = []
    for _ in range(updates):
        used.append(threads.now)
        threads.took(seconds[threads.now])
    return used


@pytest.mark.parametrize(("seconds", "best"), [({1: 1.0, 2: 0.6}, 2), ({1: 1.0, 2: 1.4}, 1)])
def test_the_faster_number_is_used_for_most_updates(seconds: dict[int, float], best: int) -> None:
    with cores(2):
        used = drive(Threads("auto"), seconds, 1000)
    assert used.count(best) > 0.95 * len(used)
    assert set(used) == {1, 2}, "the other is tried again"


def test_it_notices_when_the_machine_becomes_busy() -> None:
    with cores(2):
        threads = Threads("auto")
    drive(threads, {1: 1.0, 2: 0.6}, 500)
    drive(threads, {1: 1.0, 2: 5.0}, AGAIN_AFTER + 2 * TRIES)
    used = drive(threads, {1: 1.0, 2: 5.0}, 500)
    assert used.count(1) > 0.95 * len(used)


def test_what_is_asked_for_is_used() -> None:
    assert set(drive(Threads(3), {3: 1.0}, 50)) == {3}
    with cores(1):
        assert set(drive(Threads("auto"), {1: 1.0}, 50)) == {1}

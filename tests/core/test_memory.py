"""Rollouts: every step once an epoch, sequences whole, shuffles that go on after a resume."""

from __future__ import annotations

import numpy as np

from dressage.core.memory import Rollout
from dressage.core.rng import Rng
from dressage.core.steps import Steps


def steps(length: int = 8, n: int = 3) -> Steps:
    """Each number says its place: t * 100 + env."""
    place = (100 * np.arange(length)[:, None] + np.arange(n)).astype(np.float32)
    flags = np.zeros((length, n), bool)
    obs = {"vector": place[..., None], "image": place[..., None, None, None].astype(np.uint8)}
    carry = np.stack((place, place), axis=-1)
    return Steps(obs, place[..., None], place, flags, flags, obs, {"carry": carry, "first": flags})


def test_every_step_comes_once_an_epoch_and_rows_stay_together() -> None:
    memory = Rollout(batch_size=6, n_epochs=3)
    memory.add(steps())
    batches = list(memory.batches(Rng(0)))
    assert len(batches) == 3 * memory.batches_per_epoch == 12
    for epoch in range(3):
        seen = np.concatenate([b.action[:, 0] for b in batches[4 * epoch : 4 * epoch + 4]])
        assert sorted(seen) == sorted(steps().reward.ravel())
    orders = [np.concatenate([b.action[:, 0] for b in batches[i : i + 4]]) for i in (0, 4, 8)]
    assert not np.array_equal(orders[0], orders[1])
    for b in batches:
        place = b.action[:, 0]
        assert place.shape == (6,)
        assert np.array_equal(b.obs["vector"][:, 0], place)
        assert np.array_equal(b.extras["carry"][:, 0], place)
        assert (b.reward, b.terminated, b.truncated, b.next_obs) == (None,) * 4
        assert b.obs["image"].dtype == np.uint8


def test_sequences_are_consecutive_steps_of_one_environment() -> None:
    memory = Rollout(batch_size=8, n_epochs=2, sequence_length=4)
    memory.add(steps())
    batches = list(memory.batches(Rng(0)))
    assert len(batches) == 6
    for b in batches:
        place = b.action[..., 0]
        assert place.shape == (4, 2)
        assert np.all(np.diff(place, axis=0) == 100.0)  # one step later, the same environment
        assert set(place[0] // 100) <= {0.0, 4.0}  # pieces begin where the rollout was cut
        assert np.array_equal(b.extras["carry"][0, :, 0], place[0])
        assert (b.reward, b.terminated, b.truncated, b.next_obs) == (None,) * 4
    first = np.concatenate([b.action.ravel() for b in batches[:3]])
    assert sorted(first) == sorted(steps().reward.ravel())


def test_a_rollout_whole() -> None:
    memory = Rollout(batch_size=None)
    memory.add(steps())
    (batch,) = memory.batches(Rng(0))
    assert batch.reward.shape == (8, 3)
    assert memory.batches_per_epoch == 1
    assert memory.state() == {}
    memory.load({}, {})


def test_shuffles_go_on_after_a_resume() -> None:
    one, two = Rollout(6, 2), Rollout(6, 2)
    one.add(steps())
    list(one.batches(Rng(0)))
    two.load(one.state(), {})
    two.add(steps())
    for a, b in zip(one.batches(Rng(0)), two.batches(Rng(0)), strict=True):
        assert np.array_equal(a.action, b.action)

"""The replay memory: what it holds, what it draws, and how it comes back."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dressage.core.replay import Replay, ReplaySettings
from dressage.core.replay.frames import channels_of_a_frame
from dressage.core.replay.priorities import Priorities
from dressage.core.replay.returns import backward_sums
from dressage.core.rng import Rng
from dressage.core.steps import Steps
from dressage.errors import RunError, TrainingError
from dressage.runs.checkpoint import (
    latest_checkpoint,
    load_checkpoint,
    prune,
    save_checkpoint,
)

N = 2
RNG = Rng(3)


class Collector:
    """As much of a collector as a memory looks at."""

    n_envs, obs_normalizer, reward_normalizer = N, None, None

    def keep_raw(self) -> None: ...


def settings(**given: Any) -> ReplaySettings:
    return ReplaySettings(**{"buffer_size": 40, "batch_size": 64, **given})


def replay(folder: Path, **given: Any) -> Replay:
    memory = Replay(settings(**given))
    memory.attach(Collector(), folder)  # type: ignore[arg-type]
    return memory


def steps(begin: int, length: int, ends: int = 7, images: bool = False) -> Steps:
    """Rows whose numbers tell where they come from; every `ends`-th ends an episode."""
    row = np.arange(begin, begin + length, dtype=np.float32)[:, None].repeat(N, 1)
    row[:, 1] += 1000
    last = (np.arange(begin, begin + length) % ends == ends - 1)[:, None].repeat(N, 1)
    truncated = last & (np.arange(begin, begin + length) % (2 * ends) == ends - 1)[:, None]
    obs: Any = row[..., None]
    following: Any = obs + 0.5
    if images:
        obs, following = stacks(begin, length, ends)
    return Steps(obs, row[..., None], row * 0.1, last & ~truncated, truncated, following, {})


def stacks(begin: int, length: int, ends: int) -> tuple[Any, Any]:
    """Stacks of three frames, as a wrapper gives them: full of the first frame after a reset."""

    def frame(row: int, env: int) -> Any:
        seed = 7919 * (row + 1) + env
        return np.random.default_rng(seed).integers(0, 256, (5, 4), np.uint8)

    def stack(row: int, env: int, first: int) -> Any:
        return np.stack([frame(max(row - k, first), env) for k in (2, 1, 0)])

    here, there = np.empty((2, length, N, 3, 5, 4), np.uint8)
    for t in range(length):
        row = begin + t
        first = row - row % ends  # the episode's first row
        for env in range(N):
            here[t, env], there[t, env] = stack(row, env, first), stack(row + 1, env, first)
    return here, there


def test_it_holds_the_newest(tmp_path: Path) -> None:
    memory = replay(tmp_path, buffer_size=10 * N)
    for begin in range(0, 23, 4):
        memory.add(steps(begin, 4))
    assert (memory.ring.low, memory.ring.high, len(memory)) == (14, 24, 20)
    (batch,) = memory.batches(RNG, 1, settings(gamma=0.9))
    rows = batch.obs[:, 0] % 1000
    assert set(rows.astype(int)) <= set(range(14, 24))
    assert np.array_equal(batch.action[:, 0], batch.obs[:, 0])
    assert np.allclose(batch.next_obs, batch.obs + 0.5)
    assert np.allclose(batch.reward, 0.1 * batch.obs[:, 0])


def test_every_transition_is_drawn_equally_often(tmp_path: Path) -> None:
    memory = replay(tmp_path, buffer_size=10 * N, batch_size=1000)
    memory.add(steps(0, 13))
    drawn = np.concatenate([b.obs[:, 0] for b in memory.batches(RNG, 20, settings())])
    values, counts = np.unique(drawn, return_counts=True)
    assert len(values) == 20
    assert counts.min() > 1000 - 4 * np.sqrt(1000) and counts.max() < 1000 + 4 * np.sqrt(1000)


@pytest.mark.parametrize("n_step", [1, 2, 5])
def test_several_steps_against_a_loop(tmp_path: Path, n_step: int) -> None:
    memory = replay(tmp_path, buffer_size=30 * N, n_step=n_step, batch_size=200)
    memory.add(steps(0, 45))
    all_steps, gamma = steps(0, 45), 0.9
    (batch,) = memory.batches(RNG, 1, settings(gamma=gamma))
    for i in range(200):
        env, row = divmod(int(batch.obs[i, 0]), 1000)
        total, k = 0.0, 0
        while True:
            total += gamma**k * float(all_steps.reward[row + k, env])
            ended = bool(all_steps.terminated[row + k, env] | all_steps.truncated[row + k, env])
            k += 1
            if ended or k == n_step or row + k == 45:
                break
        last = row + k - 1
        discount = 0.0 if all_steps.terminated[last, env] else gamma**k
        assert batch.reward[i] == pytest.approx(total, rel=1e-5)
        assert batch.extras["discount"][i] == pytest.approx(discount, rel=1e-6)
        assert batch.next_obs[i, 0] == all_steps.next_obs[last, env, 0]


def test_priorities_are_drawn_in_proportion() -> None:
    tree = Priorities(1000)
    values = np.random.default_rng(0).random(1000) ** 3
    tree.set(np.arange(1000), values)
    tree.set(np.array([5, 5, 9]), [9.0, 0.0, 3.0])  # the last counts
    values[[5, 9]] = 0.0, 3.0
    assert tree.total == pytest.approx(values.sum())
    drawn = tree.draw(RNG.uniform("test", 200_000))
    share = np.bincount(drawn, minlength=1000) / 200_000
    assert share[5] == 0
    assert np.abs(share - values / values.sum()).max() < 1e-4  # one draw from each equal part


def test_feedback_changes_what_is_drawn(tmp_path: Path) -> None:
    memory = replay(tmp_path, prioritized=True, buffer_size=20 * N)
    memory.add(steps(0, 20))
    cfg = settings(priority_alpha=1.0, priority_beta=1.0)
    (batch,) = memory.batches(RNG, 1, cfg)
    assert np.all(batch.extras["weight"] == 1.0)  # nothing is known yet
    everything = np.arange(20 * N)
    memory.feedback(everything, np.where(everything == 7, 10.0, 0.1).astype(np.float32), cfg)
    (batch,) = memory.batches(RNG, 1, cfg)
    often = batch.extras["place"] == 7
    assert 0.6 < often.mean() < 0.8  # 10 of 13.9
    assert np.allclose(batch.extras["weight"][often], 0.01, rtol=1e-3)  # which weights correct
    assert np.allclose(batch.extras["weight"][~often], 1.0)


def test_frames_are_stored_once(tmp_path: Path) -> None:
    memory = replay(tmp_path, buffer_size=30 * N)
    seen_obs, seen_next = [], []
    for begin in range(0, 50, 5):
        given = steps(begin, 5, images=True)
        seen_obs.append(given.obs)
        seen_next.append(given.next_obs)
        memory.add(given)
    obs, following = np.concatenate(seen_obs), np.concatenate(seen_next)
    ring = memory.ring
    rows, envs = np.arange(ring.low, 50)[:, None], np.arange(N)[None]
    assert np.array_equal(ring.take("obs", rows, envs), obs[ring.low :])
    assert np.array_equal(ring.take("next_obs", rows, envs), following[ring.low :])
    assert ring.low == 20
    frames = ring.frames[""]
    episodes = 50 // 7 + 1
    assert frames.next <= N * (50 + 2 * episodes)  # not 6 for each transition
    assert frames.pool.nbytes < 1.1 * (30 * N + 64) * 20


@pytest.mark.parametrize("stacked", [1, 4])
def test_frames_in_colours_are_kept_as_long_as_others(tmp_path: Path, stacked: int) -> None:
    """One image has three channels, and a stack moves on by three."""
    memory = replay(tmp_path, buffer_size=60 * N)
    images = np.random.default_rng(0).integers(0, 256, (90 + stacked, N, 3, 5, 4), np.uint8)
    shown = np.concatenate([images[k : k + 90 + 1] for k in range(stacked)], axis=2)
    for t in range(90):
        memory.add(steps(t, 1, 1000)._replace(obs=shown[t : t + 1], next_obs=shown[t + 1 : t + 2]))
    save(memory, tmp_path, 90)
    for ring in memory.ring, loaded(tmp_path, buffer_size=60 * N).ring:
        assert (ring.low, ring.high) == (30, 90)
        rows, envs = np.arange(30, 90)[:, None], np.arange(N)[None]
        assert np.array_equal(ring.take("obs", rows, envs), shown[30:90])
        assert np.array_equal(ring.take("next_obs", rows, envs), shown[31:91])
        assert ring.frames[""].pool.nbytes < 1.1 * (60 * N + 64) * 60


@pytest.mark.parametrize(("channels", "depth"), [(1, 1), (4, 1), (3, 3), (12, 3)])
def test_images_that_stand_still_have_the_usual_channels(channels: int, depth: int) -> None:
    still = np.zeros((1, 1, channels, 5, 4), np.uint8)
    assert channels_of_a_frame(still, still) == depth


def test_frames_that_need_more_room_shorten_the_memory(tmp_path: Path) -> None:
    """Stacks that share nothing: what is drawn is right all the same."""
    memory = replay(tmp_path, buffer_size=60 * N, prioritized=True)
    noise = np.random.default_rng(0).integers(0, 256, (2, 90, N, 3, 5, 4), np.uint8)
    memory.add(steps(0, 90)._replace(obs=noise[0], next_obs=noise[1]))
    ring = memory.ring
    assert 30 < ring.low < 90
    rows, envs = np.arange(ring.low, 90)[:, None], np.arange(N)[None]
    assert np.array_equal(ring.take("obs", rows, envs), noise[0][ring.low :])
    assert np.array_equal(ring.take("next_obs", rows, envs), noise[1][ring.low :])
    for batch in memory.batches(RNG, 20, settings().at(0.5)):
        assert ring.row_of(batch.extras["place"])[0].min() >= ring.low


# -- saving --------------------------------------------------------------------------------------


def save(memory: Replay, folder: Path, env_steps: int) -> None:
    segments = memory.seal()
    save_checkpoint(folder, env_steps, {"memory": memory.state()}, {}, {}, True, segments)


def loaded(folder: Path, **given: Any) -> Replay:
    path = latest_checkpoint(folder).path
    assert path is not None
    saved = load_checkpoint(path)
    memory = replay(folder, **given)
    memory.load(saved.parts["memory"], saved.segments)
    return memory


@pytest.mark.parametrize("images", [False, True])
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_what_is_saved_comes_back_and_goes_on(tmp_path: Path, images: bool, where: str) -> None:
    given: Any = {"buffer_size": 40 * N, "prioritized": True, "n_step": 3, "buffer_on": where}
    whole = replay(tmp_path, **given)
    cfg = settings().at(0.5)
    for begin in range(0, 70, 10):
        whole.add(steps(begin, 10, images=images))
        for batch in whole.batches(RNG, 2, cfg):
            whole.feedback(batch.extras["place"], batch.reward, cfg)
        if begin in (20, 50):
            save(whole, tmp_path, begin)
            assert whole.sealed
        if begin == 50:
            again = loaded(tmp_path, **given)
    again.add(steps(60, 10, images=images))
    for batch in again.batches(RNG, 2, cfg):
        again.feedback(batch.extras["place"], batch.reward, cfg)
    one, two = whole.state(), again.state()
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].tobytes() == two[name].tobytes(), name
    for a, b in zip(whole.batches(RNG, 3, cfg), again.batches(RNG, 3, cfg), strict=True):
        assert np.array_equal(a.obs, b.obs) and np.array_equal(a.next_obs, b.next_obs)


def test_what_is_on_disk_depends_on_the_rows_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = (
        replay(tmp_path / "a", buffer_size=40 * N),
        replay(tmp_path / "b", buffer_size=40 * N),
    )
    for begin in range(0, 90, 10):
        one.add(steps(begin, 10))
        two.add(steps(begin, 10))
        if begin in (10, 30, 40):
            one.seal()  # as a stop and a resume would
    assert one.seal() == two.seal()
    assert {n: a.tobytes() for n, a in one.state().items()} == {
        n: a.tobytes() for n, a in two.state().items()
    }


def test_a_checkpoint_writes_only_what_is_new(tmp_path: Path) -> None:
    memory = replay(tmp_path, buffer_size=20_000)
    memory.add(steps(0, 8000))
    save(memory, tmp_path, 1)
    times = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "replay").iterdir()}
    assert len(times) >= 6
    memory.add(steps(8000, 200))
    save(memory, tmp_path, 2)
    later = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "replay").iterdir()}
    assert times == {name: later[name] for name in times}
    written = (tmp_path / "checkpoints" / "2" / "memory.safetensors").stat().st_size
    assert written < sum(a.nbytes for a in memory.ring.columns.values()) / 3


def test_segments_go_when_no_checkpoint_needs_them(tmp_path: Path) -> None:
    memory = replay(tmp_path, buffer_size=80 * N)
    kept = []
    for number, begin in enumerate(range(0, 400, 40)):
        memory.add(steps(begin, 40))
        save(memory, tmp_path, number)
        prune(tmp_path, keep_last=2)
        kept.append(sorted(p.name for p in (tmp_path / "replay").iterdir()))
        for path in sorted((tmp_path / "checkpoints").iterdir())[-2:]:
            for name in load_checkpoint(path).segments:
                assert name in kept[-1]
    assert len(kept[-1]) == len(kept[-2]) < 16


@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_segment_is_named_and_the_checkpoint_before_serves(
    tmp_path: Path, damage: str
) -> None:
    memory = replay(tmp_path, buffer_size=100 * N)
    memory.add(steps(0, 60))
    save(memory, tmp_path, 1)
    memory.add(steps(60, 40))
    save(memory, tmp_path, 2)
    newest = max((tmp_path / "replay").iterdir(), key=lambda p: int(p.name.partition("-")[0]))
    content = newest.read_bytes()
    if damage == "cut":
        newest.write_bytes(content[:-10])
    elif damage == "changed":
        newest.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    else:
        newest.unlink()
    found = latest_checkpoint(tmp_path)
    assert found.path is not None and found.path.name == "1"
    assert newest.name in found.skipped[0]
    assert loaded(tmp_path, buffer_size=100 * N).ring.high == 60


def test_a_memory_with_rows_missing_is_refused(tmp_path: Path) -> None:
    memory = replay(tmp_path, buffer_size=100 * N)
    memory.add(steps(0, 60))
    segments = memory.seal()
    segments.pop(next(iter(segments)))
    with pytest.raises(RunError, match="replay memory has rows"):
        replay(tmp_path, buffer_size=100 * N).load(memory.state(), segments)


def test_more_than_memory_holds_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dressage.core.replay.room.available_memory", lambda: 1000)
    with pytest.raises(TrainingError, match=r"buffer_size=40 needs .* lower buffer_size"):
        replay(tmp_path, buffer_on="memory").add(steps(0, 1))
    replay(tmp_path, buffer_on="auto").add(steps(0, 1))  # goes to disk
    for given in ({"prioritized": True}, {"her": "future"}):  # what is kept in memory all the same
        with pytest.raises(TrainingError, match=r"of buffer_size=400 needs .* lower buffer_size"):
            replay(tmp_path, buffer_on="disk", buffer_size=400, **given)
    full = SimpleNamespace(free=10)
    monkeypatch.setattr("dressage.core.replay.room.shutil.disk_usage", lambda _: full)
    with pytest.raises(TrainingError, match="on the disk of"):
        replay(tmp_path, buffer_on="auto").add(steps(0, 1))


@pytest.mark.parametrize("length", [1, 63, 64, 65, 300])
def test_backward_sums_against_a_loop(length: int) -> None:
    generator = np.random.default_rng(length)
    x, factor = generator.random((2, length, 3), np.float32)
    last = np.array([1.0, -2.0, 0.0], np.float32)
    expected, after = np.empty_like(x), last
    for t in reversed(range(length)):
        after = expected[t] = x[t] + factor[t] * after
    assert np.allclose(backward_sums(x, factor, last), expected, rtol=1e-5)


def test_returns_that_followed(tmp_path: Path) -> None:
    memory = replay(tmp_path, buffer_size=100 * N)
    memory.add(steps(0, 30))
    found = memory.recent_returns(0.9, 1000)
    assert found is not None
    obs, _, returns = found
    given = steps(0, 30)
    for x, value in zip(obs[:, 0], returns, strict=True):
        env, row = divmod(int(x), 1000)
        end = row
        while not given.terminated[end, env]:
            assert not given.truncated[end, env]
            end += 1
        expected = sum(0.9 ** (k - row) * given.reward[k, env] for k in range(row, end + 1))
        assert value == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize("images", [False, True])
@pytest.mark.parametrize("rows", [12, 30, 50])
def test_it_goes_on_with_another_size(tmp_path: Path, rows: int, images: bool) -> None:
    """What there is room for stays, with its priorities."""
    given: Any = {"prioritized": True, "batch_size": 256}
    whole = replay(tmp_path, buffer_size=30 * N, **given)
    whole.add(steps(0, 45, images=images))
    assert whole.priorities is not None
    places = whole.ring.place(np.arange(15, 45)[:, None], np.arange(N)[None]).reshape(-1)
    whole.priorities.set(places, np.arange(1.0, 30 * N + 1))
    save(whole, tmp_path, 45)
    memory = loaded(tmp_path, buffer_size=rows * N, **given)
    assert memory.priorities is not None
    low = max(15, 45 - rows)
    assert (memory.ring.low, memory.ring.high) == (low, 45)
    held, envs = np.arange(low, 45)[:, None], np.arange(N)[None]
    for name in ("obs", "next_obs", "reward"):
        assert np.array_equal(memory.ring.take(name, held, envs), whole.ring.take(name, held, envs))
    leaves = memory.priorities.leaves[memory.ring.place(held, envs).reshape(-1)]
    assert np.array_equal(leaves, np.arange((low - 15) * N + 1.0, 30 * N + 1))
    assert memory.priorities.total == pytest.approx(leaves.sum())
    (batch,) = memory.batches(RNG, 1, settings().at(0.5))
    assert memory.ring.row_of(batch.extras["place"])[0].min() >= low


def test_priorities_may_be_new_to_a_run(tmp_path: Path) -> None:
    plain = replay(tmp_path, buffer_size=30 * N)
    plain.add(steps(0, 20))
    save(plain, tmp_path, 20)
    memory = loaded(tmp_path, buffer_size=30 * N, prioritized=True)
    (batch,) = memory.batches(RNG, 1, settings().at(0.5))
    assert np.all(batch.extras["weight"] == 1.0)
    assert memory.priorities is not None and memory.priorities.total == 20 * N

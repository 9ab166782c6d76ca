"""The display: what it shows, that it fits, and that it costs next to nothing."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dressage.core.hooks import MemberState, Moment
from dressage.reporting.braille import draw, frame_of
from dressage.runs.find import find
from dressage.ui.progress import progress_for
from dressage.ui.progress.live import LiveProgress, run_view
from dressage.ui.progress.members import GroupTrack, members_view
from dressage.ui.progress.plain import PlainProgress
from dressage.ui.progress.track import EVALUATION, RETURN, Speed, Track
from dressage.ui.text import count, duration, number, one_line_json, short_count


def moment(path: Path, env_steps: int, budget: int = 1000, **metrics: float) -> Moment:
    names = {"ret": RETURN, "evaluated": EVALUATION}
    nothing: Any = lambda *args: None  # noqa: E731
    return Moment(
        env_steps=env_steps,
        budget=budget,
        updates=0,
        episodes=0,
        wall_seconds=env_steps / 100,
        metrics={names[key]: value for key, value in metrics.items()},
        path=path,
        log=nothing,
        stop=nothing,
        checkpoint=nothing,
    )


def console(width: int = 80, height: int = 24, terminal: bool = False) -> Console:
    return Console(
        file=io.StringIO(), width=width, height=height, force_terminal=terminal, no_color=True
    )


def text_of(of: Console) -> str:
    assert isinstance(of.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", of.file.getvalue())


def play(display: LiveProgress | PlainProgress, path: Path) -> None:
    display.open("preparing")
    display.on_checkpoint(moment(path, 0))
    display.on_start(moment(path, 0))
    for env_steps in range(10, 1001, 10):
        display.on_iteration(moment(path, env_steps))
        if env_steps % 100 == 0:
            display.on_evaluation(moment(path, env_steps, evaluated=env_steps / 2))
        display.on_row(moment(path, env_steps, ret=env_steps / 4))
    display.on_end(moment(path, 1000))
    display.close()


def test_plain_log_has_a_line_a_tenth(trained: Path) -> None:
    target = console()
    play(PlainProgress(target), find("@last", trained).path)
    lines = text_of(target).splitlines()
    assert len(lines) == 11
    assert "CartPole-v1 with ppo, seed 0" in lines[0]
    assert lines[1].startswith(" 10 %  100 env steps  return 25  evaluation 50")
    assert lines[-1].startswith("100 %  1,000 env steps")


def test_live_display_ends_with_the_whole_picture(trained: Path) -> None:
    target = console(terminal=True)
    play(LiveProgress(target), find("@last", trained).path)
    shown = text_of(target)
    for piece in ("100 %", "return 250", "evaluation 500 (solved at 475)", "threshold", "⣀"):
        assert piece in shown


def test_redraws_are_few(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, drawn = console(terminal=True), []
    display = LiveProgress(target)
    monkeypatch.setattr(display, "_show", lambda picture: drawn.append(picture))
    monkeypatch.setattr("dressage.ui.progress.live.time.monotonic", lambda: 5.0)
    display._next_refresh = 9.0
    display.track.budget = 1000
    for env_steps in range(1000):
        display.on_iteration(moment(trained, env_steps))
    assert drawn == []


def test_a_resumed_run_brings_its_curve(trained: Path) -> None:
    track = Track()
    track.start(moment(find("@last", trained).path, 512))
    assert track.curve
    assert track.evaluations
    assert track.event == "resumed at 512 env steps"


@pytest.mark.parametrize("width", [60, 80, 100])
def test_pictures_fit(width: int) -> None:
    track = Track("ALE/MontezumaRevenge-v5", "reinforce", 123, 475.0, "runs/" + "x" * 80, 10**8)
    track.budget, track.event = 10**9, "e" * 200
    track.curve = [(i * 1e6, math.sin(i / 10) * 1e5) for i in range(100)]
    target = console(width, 20)
    target.print(run_view(track, width, 20))
    group = GroupTrack()
    states = ("finished", "running", "failed", "waiting")
    members = [
        MemberState(seed, states[seed % 4], seed, 40, {RETURN: 1e5}, Path("absent"))
        for seed in range(40)
    ]
    group.see(members)
    target.print(members_view(group, width, 20))
    lines = text_of(target).splitlines()
    assert max(map(len, lines)) <= width
    assert "more" in lines[-1]
    assert len(lines) < 2 * 20


def test_a_group_keeps_its_newest_evaluations() -> None:
    group = GroupTrack()
    running = MemberState(0, "running", 10, 20, {RETURN: 1.0, EVALUATION: 4.0}, Path("absent"))
    ended = MemberState(0, "failed", 20, 20, {RETURN: 3.0}, Path("absent"))
    assert group.see([running]) == []
    assert group.see([ended]) == [ended]
    assert (group.mean(RETURN), group.mean(EVALUATION)) == (3.0, 4.0)


def test_group_in_a_plain_log() -> None:
    target = console()
    display = PlainProgress(target)
    for env_steps, status in ((0, "running"), (10, "running"), (20, "finished")):
        display.on_group([MemberState(7, status, env_steps, 20, {RETURN: 1.0}, Path("absent"))])
    lines = text_of(target).splitlines()
    assert lines[0].startswith("Training seeds 7 to 7")
    assert "seed 7 finished" in "".join(lines)
    assert lines[-1].startswith("100 %")


def test_the_display_suits_the_console(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(progress_for(console()), PlainProgress)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert isinstance(progress_for(console(terminal=True)), LiveProgress)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress_for(console(terminal=True)), PlainProgress)


def test_speed_is_of_the_last_half_minute() -> None:
    now = [0.0]
    speed = Speed(clock=lambda: now[0])
    assert speed.rate() is None
    for second in range(100):
        now[0] = float(second)
        speed.add(second * second)
    assert speed.rate() == pytest.approx(99 + 69, abs=2)


def test_plot_draws_points_where_they_are() -> None:
    rising = [(float(i), float(i)) for i in range(101)]
    frame = frame_of([rising], 100.0, 10, 4)
    assert frame is not None
    rows = ["".join(c for c, _ in row) for row in draw(frame, rising, [(0.0, 100.0)], level=0.0)]
    assert rows[0][0] == "•"
    assert rows[0][-1] not in " ┈"
    assert rows[-1].endswith("┈")
    assert frame_of([[(0.0, math.nan)]], 1.0, 10, 4) is None
    flat = frame_of([[(0.0, 5.0)]], 1.0, 10, 4)
    assert flat is not None
    assert draw(flat, [(0.0, 5.0)])


def test_numbers_read_well() -> None:
    values = (None, math.nan, 0.0, 500.0, 473.25, -12.345, 0.00012, 12345.6, 1e9, 0.25)
    texts = ["–", "–", "0", "500", "473.2", "-12.35", "0.00012", "12,346", "1e+09", "0.25"]
    assert [number(value) for value in values] == texts
    assert [count(1e5), short_count(2.5e6), short_count(999)] == ["100,000", "2.5M", "999"]
    assert [duration(s) for s in (7, 750, 11100, 2 * 86400 + 3 * 3600)] == [
        "0:07",
        "12:30",
        "3:05:00",
        "2 d 03:00",
    ]
    assert one_line_json({"a": math.nan, "b": [math.inf, 1], "p": Path("x")}) == (
        '{"a": null, "b": [null, 1], "p": "x"}'
    )


def test_what_is_said_of_a_run_stands_beside_its_progress(tmp_path: Path) -> None:
    track = Track(env="E", algo="ppo", seed=0, budget=100)
    said = "likely a learning rate that is too low (lr-too-low, 70%)"
    track.see(dataclasses.replace(moment(tmp_path, 10), said=said))
    shown = console(100, 30, terminal=True)
    shown.print(run_view(track, 100, 30))
    assert said in text_of(shown)
    plain = PlainProgress(console(200))
    plain.track.budget = 100
    plain.on_row(dataclasses.replace(moment(tmp_path, 100, 100, ret=1.0), said=said))
    assert said in text_of(plain.console)


def test_what_is_said_of_most_seeds_is_shown(tmp_path: Path) -> None:
    track = GroupTrack()
    words = ["a", "b", "b", ""]
    track.see(
        [
            MemberState(seed, "running", 1, 40, {}, Path("absent"), said)
            for seed, said in enumerate(words)
        ]
    )
    shown = console(100, 30, terminal=True)
    shown.print(members_view(track, 100, 30))
    assert "2 of 4 seeds: b" in text_of(shown)


def test_what_was_said_last_is_read_from_the_end_of_the_events(tmp_path: Path) -> None:
    from dressage.runs.table import last_events
    from dressage.seeds import _said

    events = [{"kind": "begin"}, {"kind": "finding", "says": "old"}, {"kind": "checkpoint"}]
    lines = [json.dumps(event) for event in events]
    (tmp_path / "events.jsonl").write_text("\n".join([*lines, '{"kind": "guard", "rea']))
    assert _said(tmp_path) == "old"
    (tmp_path / "events.jsonl").write_text("x" * 9000 + "\n" + json.dumps(events[1]) + "\n")
    assert last_events(tmp_path / "events.jsonl") == [events[1]]
    assert last_events(tmp_path / "absent") == []

"""Run directories for reports, made without training, and a strict reader of the page."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from dressage.runs.group import Group, write_group
from dressage.runs.run import Run
from dressage.runs.writer import RunWriter

METRICS = (
    "train/roll/ep_rew_mean", "train/roll/ep_len_mean", "train/metrics/kl_divergence",
    "train/metrics/clip_fraction", "train/metrics/entropy", "train/metrics/explained_variance",
    "train/loss/policy", "train/loss/value", "train/metrics/grad_norm/policy",
    "train/metrics/grad_norm/value", "train/metrics/grad_clipped",
)  # fmt: skip
VOID = {"meta", "br", "img", "link", "input", "hr"}


def make_run(
    path: Path,
    rows: int = 40,
    *,
    seed: int = 0,
    config: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    state: str | None = "finished",
    reason: str = "",
    more: dict[str, Any] | None = None,
    extra: int = 0,
    evaluations: bool = True,
    events: tuple[tuple[str, dict[str, Any]], ...] = (),
    top: float = 300.0,
) -> Run:
    """A run whose return rises to `top`; `more` overrides cells, `extra` adds metrics."""
    rng = np.random.default_rng(seed)
    settings = {
        "env": "CartPole-v1",
        "algo": "ppo",
        "seed": seed,
        "env_steps": 100 * max(rows, 1),
        "learning_rate": "linear(0.001, 0)",
        "gamma": 0.98,
    }
    sources = dict.fromkeys(settings, "override") | {"gamma": "default"}
    writer = RunWriter(
        path,
        config=settings | (config or {}),
        sources=sources,
        spec={"id": "CartPole-v1", "reward_threshold": 250.0, **(spec or {})},
        system={"python": "3.11", "cpu": "a cpu", "cpu_count": 2, "packages": {"numpy": "2.0"}},
    )
    with writer:
        for index in range(1, rows + 1):
            share = index / rows
            row: dict[str, Any] = {
                "env_steps": 100 * index,
                "updates": 10 * index,
                "episodes": 3 * index,
                "wall_seconds": 0.25 * index,
            }
            row |= {name: float(abs(rng.normal(0.1, 0.02))) for name in METRICS}
            row["train/roll/ep_rew_mean"] = top * share + float(rng.normal())
            row["train/hp/lr"] = 0.001 * (1 - share)
            row["train/hp/clip_range"] = 0.2
            row |= {"sys/time/collect": 0.1, "sys/time/update": 0.12}
            row |= {f"own/metric_{i}": float(rng.normal(share)) for i in range(extra)}
            if evaluations and index % 10 == 0:
                row["val/roll/ep_rew_mean"] = top * share
                row |= {"val/roll/ep_rew_std": 5.0, "val/roll/episodes": 10}
            for name, value in (more or {}).items():
                row[name] = value(index) if callable(value) else value
            writer.metrics_row(row)
            writer.episodes_rows(
                (
                    100 * index - 10 * i,
                    float(top * share + rng.normal(0, 5)),
                    20 + index,
                    "truncated" if index % 4 == 0 else "terminated",
                    None,
                    i,
                )
                for i in (2, 1, 0)
            )
        for kind, data in events:
            writer.event(kind, 100 * rows, **data)
        if state is not None:
            writer.status(state, reason)
    return Run(path)


def make_group(path: Path, seeds: int = 3, rows: int = 30) -> Group:
    for seed in range(seeds):
        make_run(path / str(seed), rows - seed, seed=seed)
    return write_group(path, [{"seed": s, "path": str(s)} for s in range(seeds)])


class Page(HTMLParser):
    """Checks that tags match, and gathers what could load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: dict[str, int] = {}
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without a start"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)


def check_page(text: str) -> Page:
    """Sound, self-contained, and without a script or handler that is not ours."""
    page = Page(text)
    assert page.tags["script"] == 2
    assert not {"iframe", "object", "embed", "img", "link", "base", "form"} & set(page.tags)
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in ("href", "src", "xlink:href"):
            assert value.startswith("#"), (tag, name, value)
        assert "url(" not in value.lower()
    assert "NaN" not in "".join(v for t, n, v in page.attributes if n in ("d", "points", "style"))
    return page


def not_a_number(index: int) -> float:
    return math.nan if index % 2 else math.inf

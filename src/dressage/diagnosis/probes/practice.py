"""An algorithm at work on an environment, without a run directory: for probes that train a little.

The same nouns in the same order as the Trainer: collect, prepare, add, update.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dressage.core.collector import Acted, Collector
from dressage.core.rng import Rng
from dressage.core.steps import Steps, Tree
from dressage.core.summaries import combined

Metrics = dict[str, float]


class Practice:
    def __init__(self, algo: Any, cfg: Any, learner: Any, collector: Collector, rng: Rng) -> None:
        self.algo, self.cfg, self.learner = algo, cfg, learner
        self.collector, self.rng = collector, rng
        self.cfg_now = cfg.at(0.0)
        self._folder = TemporaryDirectory(prefix="dressage-probe-")
        self.memory = algo.memory(cfg)
        self.memory.attach(collector, Path(self._folder.name))
        self.rounds = 0

    def __enter__(self) -> Practice:
        return self

    def __exit__(self, *_: object) -> None:
        self.collector.batch.close()
        self._folder.cleanup()

    @property
    def rollout_length(self) -> int:
        return int(self.algo.rollout_length(self.cfg))

    @property
    def replays(self) -> bool:
        return bool(self.algo.NEEDS.feed == "replay")

    def collect(self, length: int) -> Steps:
        return self.collector.collect(self._act, length)

    def add(self, steps: Steps) -> Steps:
        """Prepares steps and puts them into the memory."""
        steps, _ = self.algo.prepare(self.learner, steps, self.cfg_now)
        self.memory.add(steps)
        return steps

    def update(self) -> list[Any]:
        """The updates that are due now; their metrics, unread."""
        layers_seed = int(self.rng.raw("layers", 1, self.rounds)[0] >> 1)
        self.rounds += 1
        with self.learner.training(layers_seed):
            made = self.algo.update(self.learner, self.memory, self.rng, self.cfg_now)
        return made if isinstance(made, list) else [made]

    def iterate(self, progress: float, rounds: int = 1) -> tuple[Steps, Metrics]:
        """Rounds of collecting and updating; the last steps, and the metrics of all updates."""
        self.cfg_now = self.cfg.at(progress)
        made: list[Any] = []
        for _ in range(rounds):
            steps = self.add(self.collect(self.rollout_length))
            made += self.update()
        return steps, combined([one for one in made if one])

    def best_actions(self, obs: Tree, rows: int) -> Any:
        """What the policy does without noise where `obs [rows, …]` is seen: `[rows, A]`."""
        size, carry = self.algo.carry_size(self.learner), None
        if size:
            import numpy as np

            carry = np.zeros((rows, size), np.float32)
        return self.algo.act(self.learner, obs, carry, None, None).action

    def _act(self, obs: Tree, carry: Any, mask: Any, index: int) -> Acted:
        noise = self.algo.noise(self.rng, index, self.collector.n_envs, self.learner, self.cfg_now)
        acted: Acted = self.algo.act(self.learner, obs, carry, mask, noise)
        return acted


@contextmanager
def recorded_gradients(learner: Any) -> Iterator[list[dict[str, Any]]]:
    """The gradient of every `Learner.step` within, by chunk of its group, as flat arrays."""
    seen: list[dict[str, Any]] = []
    plain = learner.step

    def step(group: str, loss: Any, *args: Any) -> Any:
        metrics = plain(group, loss, *args)
        parts = learner.groups[group].gradients
        seen.append({name: part.detach().cpu().numpy().copy() for name, part in parts.items()})
        return metrics

    learner.step = step
    try:
        yield seen
    finally:
        del learner.step

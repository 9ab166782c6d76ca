"""Says when an episode without an end in sight makes a run's memory and checkpoints grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dressage.core.hooks import Hook, Moment
from dressage.runs.run import Run

if TYPE_CHECKING:
    from dressage.core.trainer import Trainer

MUCH = 64_000_000  # bytes of actions; a guess: a run without a time limit gets there, no other does
KIND = "long_episode"


class LongEpisodes(Hook):
    """Once a run: its events tell whether it was said before a resume."""

    def __init__(self, trainer: Trainer) -> None:
        self.collector, self.writer = trainer.collector, trainer.writer
        self.said = False

    def on_row(self, moment: Moment) -> None:
        if self.said or (size := self.collector.trace_bytes) <= MUCH:
            return
        self.said = True
        if Run(moment.path).events(KIND):
            return
        env_index = int(self.collector.episode_length.argmax())
        sentence = (
            f"The episode of environment {env_index} goes on after "
            f"{self.collector.episode_length[env_index]:,} env steps, and the actions since its "
            f"start, which a resume replays, take {size / 1e6:,.0f} MB of memory and of each "
            "checkpoint: give the environment a time limit (wrappers=time_limit:1000)."
        )
        self.writer.event(KIND, moment.env_steps, reason=sentence)
        self.writer.log(sentence)


def watch_long_episodes(trainer: Trainer) -> None:
    """Adds the hook where the budget allows for so long an episode: other runs need not call it."""
    action_bytes = 4 * trainer.collector.batch.action_codec.size
    if trainer.cfg_run.env_steps * action_bytes > MUCH:
        trainer.hooks.append(LongEpisodes(trainer))

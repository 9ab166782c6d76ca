"""For users of Stable-Baselines3: `model.learn(100_000, callback=Recorder())` records what its log
lacks, so that `dressage diagnose` can see it.

    recorder.py    the callback: when what is measured, and the row that it ends up in
    rollouts.py    what is measured of on-policy algorithms
    memory.py      and of those with a replay memory
    experience.py  what rollouts and replay memories hold, in our form
    values.py      action values of one batch, and what really followed
    updates.py     hooks on optimizers: gradients before clipping, weights, units that sleep
    networks.py    which optimizer steps which network
    phases.py      where the time goes
    settings.py    what the model was made with, as plain JSON
"""

from __future__ import annotations

from dressage.errors import DressageError

try:
    from dressage.sb3.recorder import Recorder
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "stable_baselines3":
        raise
    raise DressageError(
        "dressage.sb3 needs Stable-Baselines3, which is not installed: pip install 'dressage[sb3]'"
    ) from None

__all__ = ["Recorder"]

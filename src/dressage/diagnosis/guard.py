"""What a run cannot recover from, told from its rows as they come: cheap, and always the same.

Three things count. Losses that are no numbers, or every update dropped, for some rows in a row. A
network whose gradient is zero for a part of the budget although returns differ: nothing reaches it
any more. A learning rate that has come to nothing, and whose schedule will not raise it again, with
a part of the budget left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dressage.errors import ConfigError
from dressage.math.schedules import Schedule, parse_schedule

LOST_ROWS = 3  # in a row without a finite loss or an update
ZERO = 1e-12  # a gradient norm below it is none
NOTHING = 1e-4  # share of its largest value below which a learning rate is as good as zero
PART = 0.05  # of the budget for which a gradient or a rate stays at zero
FEWEST_ROWS = 20  # that a gradient has been zero for
LEFT = 0.1  # of the budget: a rate that reaches zero later is how schedules end
LOSSES, NORMS = "train/loss/", "train/metrics/grad_norm/"
RATE, SPREAD = "train/hp/lr", "train/roll/ep_rew_std"
SKIPPED = "train/metrics/skipped_updates"
LOOKAHEAD = 50  # places of the schedule that is still to come


@dataclass
class Zero:
    """Since when a gradient has been zero."""

    env_steps: int
    rows: int = 0


@dataclass
class Guard:
    """Sees every row of a run; its counters are plain values that a checkpoint can hold."""

    budget: int
    learning_rate: Any = None  # as configured
    lost_rows: int = 0
    updates: float = 0.0
    zero: dict[str, Zero] = field(default_factory=dict)  # by network
    largest_rate: float = 0.0
    over_since: int | None = None  # env steps at which the rate came to nothing

    def __post_init__(self) -> None:
        self._seen: set[str] = set()  # names of metrics
        self._losses: list[str] = []
        self._norms: dict[str, str] = {}  # network by name

    def see(self, row: Mapping[str, float]) -> str:
        """Why the run cannot recover, in a sentence; nothing while it can."""
        env_steps = int(row["env_steps"])
        if not self._seen.issuperset(row):
            self._remember([name for name in row if name not in self._seen])
        return (
            self._not_finite(row, env_steps)
            or self._gradient(row, env_steps)
            or self._schedule(row, env_steps)
        )

    def _remember(self, new: list[str]) -> None:
        self._seen.update(new)
        self._losses += [name for name in new if name.startswith(LOSSES)]
        self._norms |= {name: name.removeprefix(NORMS) for name in new if name.startswith(NORMS)}

    def _not_finite(self, row: Mapping[str, float], env_steps: int) -> str:
        before, self.updates = self.updates, row.get("updates", 0.0)
        dropped = 0 < self.updates - before <= row.get(SKIPPED, 0.0)
        lost = [name for name in self._losses if not math.isfinite(row.get(name, 0.0))]
        self.lost_rows = self.lost_rows + 1 if lost or dropped else 0
        if self.lost_rows < LOST_ROWS:
            return ""
        what = f"{lost[0]} is not a finite number" if lost else "every update was dropped"
        return (
            f"In {self.lost_rows} rows in a row {what} (at {env_steps:,} env steps): look for NaN "
            "in observations and rewards, or lower the learning rate."
        )

    def _gradient(self, row: Mapping[str, float], env_steps: int) -> str:
        told = row.get(SPREAD, 0.0) > 0  # without it nothing could be learned yet
        for name, network in self._norms.items():
            if (norm := row.get(name)) is None:
                continue
            if not (told and abs(norm) <= ZERO):  # nan, too, is no zero
                self.zero.pop(network, None)
                continue
            since = self.zero.setdefault(network, Zero(env_steps))
            since.rows += 1
            long = env_steps - since.env_steps >= PART * self.budget
            if since.rows >= FEWEST_ROWS and long:
                return (
                    f"The gradient of the network '{network}' has been zero since "
                    f"{since.env_steps:,} env steps although returns differ: it cannot learn any "
                    "more. Look for a loss cut off from it, dead units or a saturated policy."
                )
        return ""

    def _schedule(self, row: Mapping[str, float], env_steps: int) -> str:
        rate = row.get(RATE)
        if rate is None or not math.isfinite(rate):
            return ""
        self.largest_rate = max(self.largest_rate, rate)
        if rate > NOTHING * self.largest_rate or self.largest_rate <= 0:
            self.over_since = None
            return ""
        if self.over_since is None:
            self.over_since = env_steps
        early = self.over_since <= (1.0 - LEFT) * self.budget
        long = env_steps - self.over_since >= PART * self.budget
        if not (early and long) or self._rises_again(env_steps):
            return ""
        return (
            f"The learning rate has been zero since {self.over_since:,} of {self.budget:,} env "
            "steps, and its schedule does not raise it again: nothing more is learned. Let it "
            "decay over the whole budget."
        )

    def _rises_again(self, env_steps: int) -> bool:
        try:
            planned = parse_schedule(self.learning_rate)
        except (ConfigError, TypeError, ValueError):
            return False
        if not isinstance(planned, Schedule):
            return False
        now = min(1.0, env_steps / self.budget)
        places = [now + (1.0 - now) * i / LOOKAHEAD for i in range(LOOKAHEAD + 1)]
        return max(planned(place) for place in places) > NOTHING * self.largest_rate

    def state(self) -> dict[str, Any]:
        """Its counters as plain values."""
        values = asdict(self)
        return {k: v for k, v in values.items() if k not in ("budget", "learning_rate")}

    def load(self, state: Mapping[str, Any]) -> None:
        self.lost_rows, self.updates = int(state["lost_rows"]), float(state["updates"])
        self.zero = {name: Zero(**since) for name, since in state["zero"].items()}
        self.largest_rate, self.over_since = float(state["largest_rate"]), state["over_since"]

"""What a person could do next with a group."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from dressage.reporting.document import Code, Words
from dressage.reporting.facts import solved
from dressage.reporting.next_steps import outside_words
from dressage.reporting.trends import rises_at_the_end

if TYPE_CHECKING:
    from dressage.reporting.group import Gathered

FEW = 5


def group_steps(group: Gathered, outside: list[str]) -> list[Words]:
    steps: list[Words] = []
    name, members = group.id, group.members
    open_ = [data for data in members if data.state in ("stopped", "halted", "crashed", "failed")]
    if open_ or group.missing:
        count = len(open_) + len(group.missing)
        resume = Code(f"dressage train --resume {quote(name)}")
        steps.append(
            (f"{count} of {group.count} seeds did not finish. They go on with ", resume, ".")
        )
    rising = [
        data
        for data in members
        if data.episodes
        and not solved(data, data.evaluations())
        and rises_at_the_end(data.episodes["env_steps"], data.episodes["return"])
    ]
    if rising:
        steps.append(
            f"Episode returns were still rising at the end in {len(rising)} of {len(members)} "
            "seeds (Mann–Kendall, p < 0.01, last 30 % of the env steps): where nothing else is "
            "wrong, a larger budget is the first thing to try. How much it would gain, this does "
            "not say."
        )
    if not any(len(data.evaluations()) for data in members):
        evaluate = Code(f"dressage evaluate {quote(name)}")
        steps.append(("No evaluation was recorded: ", evaluate, " plays the last policies."))
    if outside:
        steps.append(outside_words(outside))
    if len(members) < FEW:
        steps.append(
            f"{len(members)} seeds give a wide interval; five or more are usual, and comparing two "
            "groups needs about eight a side."
        )
    return steps

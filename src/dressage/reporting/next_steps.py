"""What a person could do next. Only what the numbers of this run say by themselves; no
cause is named, since nothing here looks for one."""

from __future__ import annotations

from shlex import quote

from dressage.reporting.again import train_again
from dressage.reporting.document import Code, Words
from dressage.reporting.facts import solved
from dressage.reporting.numbers import number, percent, whole
from dressage.reporting.source import RETURN, Evaluations, RunData
from dressage.reporting.trends import rises_at_the_end


def next_steps(data: RunData, evaluations: Evaluations, outside: list[str]) -> list[Words]:
    steps: list[Words] = []
    if unfinished := _unfinished(data):
        steps.append(unfinished)
    if not data.rows:
        steps.append("Nothing was logged yet: the first row comes after one iteration.")
        return steps
    if data.last(RETURN) is None:
        steps.append(
            "No episode ended within the run, so there is no return: give it more env steps, or "
            "set a time limit in the environment."
        )
    steps += _budget(data, evaluations)
    if not len(evaluations):
        steps.append(
            (
                "No evaluation was recorded, and training returns include exploration: ",
                Code(f"dressage evaluate {quote(data.id)}"),
                " plays the last policy, and ",
                Code("eval_every=10000"),
                " evaluates during the next run.",
            )
        )
    else:
        steps += _best_against_last(data, evaluations)
    if outside:
        steps.append(outside_words(outside))
    if "/" not in data.id:
        steps.append(
            (
                "One seed says little about an algorithm: ",
                Code(train_again(data, {"seeds": 5})),
                " trains a group, whose report has an interval over seeds.",
            )
        )
    return steps


def outside_words(names: list[str]) -> Words:
    listed: list[str] = []
    for name in names[:8]:
        listed += [", ", Code(name)]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (
        "At the end, these lie outside the range that the metric dictionary gives, which is a "
        "place to look and not a verdict: ",
        *listed[1:],
        f"{more}. ",
        Code(f"dressage explain {names[0]}"),
        " tells what it means.",
    )


def _unfinished(data: RunData) -> Words:
    resume = Code(f"dressage train --resume {quote(data.id)}")
    match data.state:
        case "stopped":
            return ("The run was stopped before its budget was used. It goes on with ", resume, ".")
        case "crashed":
            return (
                "The run ended without saying so (killed, or the machine went down). It goes on "
                "from its last checkpoint with ",
                resume,
                ".",
            )
        case "failed":
            return (
                "The run failed: the reason stands in section 1 and in ",
                Code("run.log"),
                ". Once that is mended it goes on with ",
                resume,
                ".",
            )
        case "halted":
            return (
                "The guard ended the run because it could not recover: the reason stands in "
                "section 1. A new run with the cause mended is better than this one; it goes on "
                "all the same with ",
                Code(f"{resume} guard=off"),
                ".",
            )
        case "running":
            return "The run is still going on: this is its state at the last logged row."
    return ""


def _budget(data: RunData, evaluations: Evaluations) -> list[Words]:
    if data.state in ("running", "failed") or not data.episodes:
        return []
    if solved(data, evaluations):
        return []
    rising = rises_at_the_end(data.episodes["env_steps"], data.episodes["return"])
    if rising is None:
        return []
    gain, p = rising
    level = "p < 0.001" if p < 0.001 else f"p = {number(p, 2)}"
    words: tuple[str, ...] = (
        f"Episode returns were still rising at the end: {number(gain, 3)} over the last "
        f"{percent(0.3)} of the env steps (Theil–Sen; Mann–Kendall {level}). Where nothing else "
        "is wrong, a larger budget is the first thing to try",
    )
    if data.budget:
        doubled = Code(train_again(data, {"env_steps": 2 * int(data.budget)}))
        words += (": ", doubled)
    return [(*words, ". How much it would gain, this does not say.")]


def _best_against_last(data: RunData, evaluations: Evaluations) -> list[Words]:
    best = int(evaluations.mean.argmax())
    if best == len(evaluations) - 1 or not evaluations.low[best] > evaluations.high[-1]:
        return []
    return [
        (
            f"The evaluation at {whole(evaluations.env_steps[best])} env steps "
            f"({number(evaluations.mean[best])}) lies clearly above the last one "
            f"({number(evaluations.mean[-1])}): ",
            Code(f"{data.id}@best"),
            " names that policy. The best of several evaluations flatters, so evaluate it anew: ",
            Code(f"dressage evaluate {quote(data.id + '@best')}"),
            ".",
        )
    ]

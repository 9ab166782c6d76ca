"""How rules look at a series: parts of the run, medians, trends; robust, and pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from dressage.errors import ConfigError
from dressage.math.schedules import at, parse_schedule
from dressage.math.summary import mann_kendall, moving_median, robust_deviation, theil_sen_slope
from dressage.runs.table import Array
from dressage.runs.view import Episodes, RunView, Series

FEWEST = 5  # measured cells below which nothing is said
NEAREST = 3  # rows that stand for the first or last part of a log too short to have more there
FEW_ROWS = 50  # below which a log has surely not been thinned
FIRST_EPISODES = 20  # of all environments together: before the first updates have changed much
FIRST_SHARE = 0.03  # of the run, in which those are
FEW_EPISODES = 200  # of a run: below, a mean over the last hundred trails by half of the run
FEW_MEANS = 40  # rows of a log, below which parts of it have too few
MOST_ROWS = 2000  # of a series that rules look at; longer ones are thinned once
AGENT = re.compile(r"(agent|policy|player|team)[_ -]?\w+", re.IGNORECASE)
RETURN = re.compile(r"(return|reward|score)", re.IGNORECASE)
# Actions to choose from in well-known tasks, for logs that do not say.
CHOICES = {
    "CartPole": 2, "MountainCar": 3, "Acrobot": 3, "LunarLander": 4, "FrozenLake": 4,
    "CliffWalking": 4, "Taxi": 6, "Blackjack": 2,
}  # fmt: skip
OF_A_MEAN = 100  # episodes, over which logged returns are means
SURE = 4.0  # standard errors of such a mean: a gain that is no chance
NEARLY_ALL = 0.9  # of what is between the first episodes and the best one (guess)
HALF_WAY = 0.5  # from where a run began to its threshold: enough to speak of learning (guess)
SINGLE_STEP = ("a2c", "a3c", "reinforce")  # one update a rollout: each moves the policy little
VALUE_LOSSES = ("train/loss/value", "train/loss/critic", "train/loss/td")


P = ParamSpec("P")
T = TypeVar("T")


def once(look: Callable[Concatenate[RunView, P], T]) -> Callable[Concatenate[RunView, P], T]:
    """Worked out once for each run: dozens of rules ask the same of it."""

    @wraps(look)
    def known(run: RunView, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = look.__name__, args, *kwargs.items()
        if key not in run.worked_out:
            run.worked_out[key] = look(run, *args, **kwargs)
        found: T = run.worked_out[key]
        return found

    return known


def middle(values: Array) -> float:
    """The median of finite values: what np.median says, in a tenth of its time for so few."""
    ordered = np.sort(values)
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)


def part(series: Series, begin: float = 0.0, end: float = 1.0) -> Array:
    """The finite values measured between two shares of the run, by env steps.

    A short log has few rows in a fifth of the run, or none: its first or last part is then its
    first or last `NEAREST` rows. SB3's PPO writes 15 rows in 30,000 env steps.
    """
    if not series:
        return np.empty(0)
    first, last = series.env_steps[0], series.env_steps[-1]
    at = (series.env_steps - first) / max(last - first, 1.0)
    finite = np.isfinite(series.values)
    inside: Array = series.values[(at >= begin) & (at <= end) & finite]
    if len(inside) >= NEAREST or (begin > 0.0 and end < 1.0):
        return inside
    known: Array = series.values[finite]
    if len(known) < 2 * FEWEST:
        return inside
    return known[:NEAREST] if begin == 0.0 else known[-NEAREST:]


def median(series: Series, begin: float = 0.0, end: float = 1.0) -> float:
    """NaN where fewer than `FEWEST` values are known; fewer than `NEAREST` in parts of longer
    logs."""
    values = part(series, begin, end)
    enough = FEWEST if len(series.values) < 2 * FEWEST else NEAREST
    return middle(values) if len(values) >= enough else math.nan


def share_above(series: Series, bound: float, begin: float = 0.0, end: float = 1.0) -> float:
    """Share of the values above a bound; NaN where too few are known."""
    values = part(series, begin, end)
    return float((values > bound).mean()) if len(values) >= FEWEST else math.nan


def rises(series: Series, begin: float = 0.0, end: float = 1.0, p: float = 0.01) -> bool:
    """Whether a part of the run has a rising trend (Mann-Kendall)."""
    values = thinned(part(series, begin, end))
    if len(values) < FEWEST:
        return False
    test = mann_kendall(values)
    return test.z > 0 and test.p < p


def slope(series: Series, begin: float = 0.0, end: float = 1.0) -> float:
    """Change over the whole part, by Theil and Sen's slope."""
    values = thinned(part(series, begin, end))
    return theil_sen_slope(values) * (len(values) - 1) if len(values) >= FEWEST else math.nan


def thinned(values: Array, most: int = 200) -> Array:
    """Neighbours share episodes, and tests of trend take values to be independent: means of blocks
    are nearer to that, and cheaper."""
    if len(values) <= most:
        return values
    edges = np.linspace(0, len(values), most + 1).astype(np.int64)
    means: Array = np.add.reduceat(values, edges[:-1]) / np.diff(edges)
    return means


@once
def returns(run: RunView) -> Series:
    """The run's return over time: of training, or of evaluations where that is all there is.

    What is logged is a mean over the last hundred episodes; a run of few episodes is all in that,
    so there means over a tenth of them are taken instead, and where few means were logged."""
    training = run["train/roll/ep_rew_mean"]
    if not training:
        return run["val/roll/ep_rew_mean"]
    finite = np.isfinite(run.episodes.returns)
    single, ended = run.episodes.returns[finite], run.episodes.env_steps[finite]
    if len(single) < 4 * FEWEST:
        return training
    count = run.env_steps / max(float(np.nanmean(run.episodes.lengths)), 1.0)
    short = len(training.values) < FEW_MEANS
    if max(len(single), count) >= FEW_EPISODES and not short:
        return training
    at = np.linspace(ended[0], ended[-1], FEW_MEANS) if short else training.env_steps
    window, sums = max(FEWEST, len(single) // 10), np.concatenate(([0.0], np.cumsum(single)))
    last = np.maximum(np.searchsorted(ended, at, side="right"), 1)
    first = np.maximum(last - window, 0)
    return Series(at, (sums[last] - sums[first]) / (last - first))


@once
def beginning(run: RunView) -> float:
    """The return before anything was learned: of the first episodes or of the first rows, whichever
    is lower. A task that is learned in a twentieth of the run has no trace of its start but the
    episodes; where few of those are known, chance may have been kind to them."""
    at_once = run.episodes.env_steps[:FIRST_EPISODES] < FIRST_SHARE * run.env_steps
    first = run.episodes.returns[:FIRST_EPISODES][at_once]
    known = first[np.isfinite(first)]
    rows = start(returns(run))
    return float(np.fmin(np.mean(known), rows)) if len(known) >= FEWEST else rows


@once
def early_spread(run: RunView) -> float:
    """Deviation of single episodes' returns in the first fifth of the run; where those are not
    known, twice that of the logged means."""
    deviation = part(run["train/roll/ep_rew_std"], 0.0, 0.2)
    if len(deviation):
        return float(np.median(deviation))
    if len(run.episodes.returns) >= 4 * FEWEST:
        first = run.episodes.returns[: max(FEWEST, len(run.episodes.returns) // 5)]
        return float(np.std(first[np.isfinite(first)]))
    return 2.0 * float(np.std(part(returns(run), 0.0, 0.2)))


@once
def learned(run: RunView) -> bool:
    """Whether the return ended clearly above where it began, and near its best."""
    series = returns(run)
    values = part(series)
    early, late = median(series, 0.0, 0.15), median(series, 0.8, 1.0)
    if math.isnan(early) or math.isnan(late):
        return False
    spread, rise = early_spread(run), late - early
    if rise > spread and rise > 0.5 * (float(values.max()) - early) and rises(series):
        return True
    before = beginning(run)  # learned at once, and kept since
    # The spread of the very first episodes, where no other is logged, is mostly that of chance.
    enough = 2.0 if run["train/roll/ep_rew_std"] else 1.0
    above = late - before
    if above > enough * spread and above > 0.8 * (float(values.max()) - before):
        return True
    return at_the_top(run)


@once
def at_the_top(run: RunView) -> bool:
    """Whether episodes came to earn nearly all that any ever earned. Where a return is one of few
    values, single episodes spread as far as there is to rise, and only their means tell."""
    single = run.episodes.returns[np.isfinite(run.episodes.returns)]
    if len(single) < 4 * FEWEST:
        return False
    before = beginning(run)
    gain = median(returns(run), 0.8) - before
    episodes = run.env_steps / max(float(np.nanmean(run.episodes.lengths)), 1.0)
    error = early_spread(run) / math.sqrt(min(OF_A_MEAN, max(episodes / 10, 1.0)))
    return gain > SURE * error and gain > NEARLY_ALL * (float(single.max()) - before)


def falls(series: Series, begin: float = 0.0, end: float = 1.0, p: float = 0.01) -> bool:
    """Whether a part of the run has a falling trend (Mann-Kendall)."""
    return rises(Series(series.env_steps, -series.values), begin, end, p)


@once
def rewards_beside_logged(run: RunView) -> tuple[Array, Array]:
    """The mean reward a step that the learner sees, and the one that logged returns tell, at the
    same env steps; none of short logs."""
    seen, total = run["train/roll/reward_mean"], run["train/roll/ep_rew_mean"]
    length = run["train/roll/ep_len_mean"]
    if not (seen and total and length):
        return np.empty(0), np.empty(0)
    at = seen.env_steps[seen.env_steps >= total.env_steps[0]]
    if len(at) < FEWEST:
        return np.empty(0), np.empty(0)
    returns = np.interp(at, total.env_steps, total.values)
    lengths = np.maximum(np.interp(at, length.env_steps, length.values), 1.0)
    return seen.values[-len(at) :], returns / lengths


def opposite_rewards(run: RunView) -> float:
    """The share of rows in which these have other signs; NaN of short logs."""
    learned, logged = rewards_beside_logged(run)
    return float((learned * logged < 0.0).mean()) if len(learned) else math.nan


def start(series: Series) -> float:
    """The median of the first three finite values, of short logs the first, since the third may be
    far from the start; NaN of none."""
    values = series.values[np.isfinite(series.values)]
    first = values[: NEAREST if len(values) >= FEW_MEANS else 1]
    return float(np.median(first)) if len(first) else math.nan


def end(series: Series) -> float:
    """The median of the last three finite values; NaN of none."""
    values = series.values[np.isfinite(series.values)][-3:]
    return float(np.median(values)) if len(values) else math.nan


def size(series: Series, begin: float = 0.0, end: float = 1.0) -> float:
    """Median of the absolute values."""
    return median(Series(series.env_steps, np.abs(series.values)), begin, end)


def growth(series: Series, early: tuple[float, float], late: tuple[float, float]) -> float:
    """How many times the size of a series grew from one part of the run to another."""
    before, after = size(series, *early), size(series, *late)
    return after / before if before > 0 else math.nan


def largest_spike(series: Series, begin: float = 0.1) -> tuple[float, float]:
    """The largest value after `begin`, in robust deviations above the median of its neighbours, and
    as a multiple of it. A trend is no spike."""
    values = part(series, begin)
    if len(values) < 4 * FEWEST:
        return 0.0, 0.0
    window = min(21, len(values) // 2 * 2 - 1)
    around = moving_median(np.pad(values, window // 2, mode="reflect"), window)
    above = values - around
    at_most = int(above.argmax())
    spread = max(robust_deviation(above), 1e-3 * float(np.median(np.abs(values))), 1e-12)
    # A loss that has converged to nearly nothing leaps without harm: its usual level counts too.
    base = max(abs(float(around[at_most])), float(np.quantile(np.abs(part(series)), 0.75)), 1e-12)
    return float(above[at_most]) / spread, float(values[at_most]) / base


def members(run: RunView, family: str) -> dict[str, Series]:
    """The series of a family such as `train/metrics/grad_norm/*`, by network."""
    before = family.rstrip("*")
    return {
        name.removeprefix(before): series
        for name, series in run.series.items()
        if name.startswith(before) and series
    }


def deviation_grew(run: RunView) -> bool:
    """Whether the deviation of a Gaussian policy ends at more than twice its start."""
    deviation = run["train/metrics/action_std"]
    return end(deviation) > 2.0 * start(deviation)


def bodies(run: RunView, family: str) -> dict[str, Series]:
    """The series of a family by network, without a temperature and without heads on shared layers:
    those begin at nearly nothing, so that any step is large beside them."""
    nets = {net: series for net, series in members(run, family).items() if net != "alpha"}
    whole = start(run["train/metrics/weight_norm/shared"])
    if math.isnan(whole):
        return nets
    return {
        net: series
        for net, series in nets.items()
        if not start(run[f"train/metrics/weight_norm/{net}"]) < 0.2 * whole
    }


def value_loss(run: RunView) -> tuple[str, Series]:
    """The loss of what predicts returns, whatever the algorithm calls it."""
    name = next((name for name in VALUE_LOSSES if run[name]), VALUE_LOSSES[0])
    return name, run[name]


def in_force(run: RunView, setting: str, metric: str = "", place: float = 0.0) -> float:
    """A setting as it was in force at a place of the run (0 to 1): as logged, else as configured.
    NaN where it is not known or no number."""
    logged = run[metric]
    if logged:
        return start(logged) if place == 0.0 else end(logged)
    try:
        return float(at(parse_schedule(run.config[setting]), place))
    except (ConfigError, KeyError, TypeError, ValueError, OverflowError):
        return math.nan


def number(run: RunView, setting: str) -> float:
    """A plain number of the config; NaN where there is none."""
    return in_force(run, setting)


@once
def like(run: RunView, *words: str) -> Series:
    """The first series whose name is one of these, or ends in one after a slash, whoever wrote it:
    for logs of libraries whose names are not ours."""
    for word in words:
        for name, series in run.series.items():
            if series and (name == word or name.lower().endswith("/" + word)):
                return series
    return Series(np.empty(0), np.empty(0))


def of_agents(run: RunView) -> dict[str, Series]:
    """The returns of single agents among several, by the name of the series."""
    return {
        name: series
        for name, series in run.series.items()
        if AGENT.search(name) and RETURN.search(name) and len(series.values) >= 4 * FEWEST
    }


def choices(run: RunView) -> int | None:
    """How many actions there are to choose from, where that is known and there is one choice."""
    action = run.spec.get("action")
    if isinstance(action, dict):
        leaves = action.get("leaves") or []
        sizes = [n for leaf in leaves if isinstance(leaf, dict) for n in leaf.get("categories", [])]
        if len(sizes) == 1 and isinstance(sizes[0], int):
            return sizes[0]
    found = re.search(r"Discrete\((\d+)", str(run.spec.get("action_space", "")))
    return int(found[1]) if found else CHOICES.get(task(run))


def task(run: RunView) -> str:
    """The name of the environment without its version."""
    return re.sub(r"-v\d+$", "", run.env or "")


def bounds(run: RunView) -> tuple[Array, Array] | None:
    """Lowest and highest continuous action, where the log says."""
    action = run.spec.get("action")
    if not isinstance(action, dict):
        return None
    leaves = [leaf for leaf in action.get("leaves") or [] if isinstance(leaf, dict)]
    low = [x for leaf in leaves for x in np.ravel(leaf.get("low") or [])]
    high = [x for leaf in leaves for x in np.ravel(leaf.get("high") or [])]
    try:
        lowest, highest = np.asarray(low, float), np.asarray(high, float)
    except (TypeError, ValueError):
        return None
    return (lowest, highest) if len(low) and len(low) == len(high) else None


@once
def layers(run: RunView) -> list[list[float]]:
    """Units of the hidden layers, a list for each network that the config tells of."""
    arch = run.config.get("net_arch")
    groups = arch.values() if isinstance(arch, dict) else [arch]
    lists = [group for group in groups if isinstance(group, (list, tuple))]
    return [[n for n in group if isinstance(n, (int, float))] for group in lists]


class Counts(NamedTuple):
    """What one round of collecting and updating consists of; NaN where it cannot be told."""

    env_steps: float
    updates: float
    epochs: float
    batch: float


@once
def counts(run: RunView) -> Counts:
    """From the counters of the log, else from the config."""
    rounds, rows, steps = run["train/cnt/iterations"], run["train/loss/policy"], math.nan
    if len(rounds.values) >= 2 and rounds.values[-1] > rounds.values[0]:
        steps = float(np.ptp(rounds.env_steps)) / float(rounds.values[-1] - rounds.values[0])
    else:
        steps = number(run, "n_steps") * number(run, "n_envs")
    if math.isnan(steps) and 2 <= len(rows.values) < FEW_ROWS:
        steps = float(np.median(np.diff(rows.env_steps)))  # one row a round, as most libraries log
    done, epochs = run["updates"], median(run["train/metrics/epochs_done"])
    if math.isnan(epochs):
        passes = run["train/cnt/epochs"]
        if len(passes.values) >= 2 and len(rounds.values) >= 2:
            epochs = float(np.ptp(passes.values)) / max(float(np.ptp(rounds.values)), 1.0)
        else:
            epochs = number(run, "n_epochs")
    pace = math.nan  # updates for each env step
    if len(done.values) >= 2 and np.ptp(done.env_steps) > 0:
        pace = float(np.ptp(done.values)) / float(np.ptp(done.env_steps))
    batch = number(run, "batch_size")
    if math.isnan(batch) and pace > 0 and epochs > 0:
        batch = epochs / pace
    return Counts(steps, pace * steps, epochs, batch)


def horizon(run: RunView, begin: float = 0.5) -> float:
    """How many mean rewards the predicted values are worth, late in the run: the sum of the
    discounts that the agent counts with. NaN where rewards are too uneven to say."""
    reward, spread = (
        median(run["train/roll/reward_mean"], begin),
        median(run["train/roll/reward_std"], begin),
    )
    predicted = run["train/metrics/q_mean"] or run["train/roll/value_mean"]
    if not abs(reward) > 0.2 * max(spread, 1e-9):
        return math.nan
    return median(predicted, begin) / reward


def episode_length(run: RunView, begin: float = 0.5) -> float:
    """The longest that episodes are on average after `begin`, in training or evaluation."""
    lengths = [
        median(run["train/roll/ep_len_mean"], begin),
        end(run["val/roll/ep_len_mean"]) if run["val/roll/ep_len_mean"] else math.nan,
    ]
    known = [length for length in lengths if not math.isnan(length)]
    return max(known) if known else math.nan


def solved(run: RunView) -> bool:
    """Whether the late return is at the environment's threshold."""
    return run.threshold is not None and late_return(run) >= run.threshold


def late_episodes(run: RunView, begin: float) -> Array:
    """What single episodes returned that ended after `begin`, as far as that is known."""
    single = run.episodes.returns[run.episodes.env_steps > begin * run.env_steps]
    return single[np.isfinite(single)]


@once
def late_return(run: RunView, evaluated: bool = True) -> float:
    """What the policy earns at the end: the highest of the late logged returns, the last single
    episodes and (`evaluated`) the last evaluations, since means over many episodes trail."""
    single = late_episodes(run, 0.9)
    levels = [
        median(returns(run), 0.85),
        end(returns(run)),
        float(np.median(single)) if len(single) >= FEWEST else math.nan,
        end(run["val/roll/ep_rew_mean"]) if evaluated else math.nan,
    ]
    known = [level for level in levels if not math.isnan(level)]
    return max(known) if known else math.nan


@once
def done(run: RunView) -> bool:
    """Whether there is nothing to find: solved; or learned, and, where a threshold is known, well
    on the way to it or still rising."""
    if solved(run) or not learned(run):
        return solved(run)
    before = beginning(run)
    way = math.nan if run.threshold is None else HALF_WAY * (run.threshold - before)
    return not late_return(run) - before < way or rises(returns(run), 0.6)


def thin(run: RunView) -> RunView:
    """The same run with at most about `MOST_ROWS` rows a series, so that a million cost no more
    than a few thousand. Every n-th row stays, the last, and the first that is no number."""
    longest = max((len(s.values) for s in run.series.values()), default=0)
    episodes = run.episodes
    if longest <= MOST_ROWS and len(episodes.returns) <= 5 * MOST_ROWS:
        return run
    series = {name: Series(*_thin(s.env_steps, s.values)) for name, s in run.series.items()}
    if len(episodes.returns) > 5 * MOST_ROWS:
        # Neighbours in full at either end: what two episodes in a row share must stay visible.
        n = 5 * MOST_ROWS // 2
        kept = np.r_[0:n, len(episodes.returns) - n : len(episodes.returns)]
        ended = None if episodes.ended is None else episodes.ended[kept]
        episodes = Episodes(
            episodes.env_steps[kept], episodes.returns[kept], episodes.lengths[kept], ended
        )
    return replace(run, series=series, episodes=episodes)


def _thin(env_steps: Array, values: Array) -> tuple[Array, Array]:
    if len(values) <= MOST_ROWS:
        return env_steps, values
    kept = np.arange(0, len(values), -(-len(values) // MOST_ROWS))
    odd = np.flatnonzero(~np.isfinite(values))[:1]
    kept = np.unique(np.concatenate((kept, odd, [len(values) - 1])))
    return env_steps[kept], values[kept]


@once
def worst_at_first(run: RunView) -> float:
    """What one in ten of the first episodes earned at most; NaN where single ones are not known."""
    first = run.episodes.returns[:FIRST_EPISODES]
    known = first[np.isfinite(first)]
    return float(np.quantile(known, 0.1)) if len(known) >= 2 * FEWEST else math.nan


@once
def law_of_returns_moved(run: RunView) -> tuple[float, bool]:
    """Kolmogorov and Smirnov's distance between the returns of the first and the last fifth of the
    episodes that are known, and whether they moved up. NaN where too few are known."""
    known = run.episodes.returns[np.isfinite(run.episodes.returns)]
    if len(known) < 4 * FEWEST:
        return math.nan, False
    n = max(FEWEST, len(known) // 5)
    first, last = np.sort(known[:n]), np.sort(known[-n:])
    at = np.concatenate((first, last))
    below = [np.searchsorted(part, at, side="right") / n for part in (first, last)]
    return float(np.abs(below[0] - below[1]).max()), float(np.mean(last)) > float(np.mean(first))


def reward_a_step(run: RunView) -> float:
    """The mean size of what a step of an episode earns or costs, by the log; NaN where episodes are
    not known."""
    known = np.isfinite(run.episodes.returns) & (run.episodes.lengths > 0)
    if known.sum() < 2 * FEWEST:
        return math.nan
    return float(np.mean(np.abs(run.episodes.returns[known]) / run.episodes.lengths[known]))


def size_of_returns(run: RunView) -> float:
    """What a late episode earns or costs, by the log: its length times `reward_a_step`."""
    lengths = run.episodes.lengths[np.isfinite(run.episodes.returns)]
    late = lengths[-max(FEWEST, len(lengths) // 5) :]
    return float(np.mean(late)) * reward_a_step(run) if len(late) else math.nan


def predicted(run: RunView) -> Series:
    """What the critic predicts: as logged, else minus the actor's loss, which is the mean value of
    its own actions for TD3 and DDPG, and for SAC that and the bonus for their entropy."""
    loss = run["train/loss/actor"]
    return run["train/metrics/q_mean"] or Series(loss.env_steps, -loss.values)

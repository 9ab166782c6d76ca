"""The public functions: what each command does, as one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dressage.errors import ConfigError, DressageError, RunError
from dressage.runs.find import find, find_checkpoint, new_run_id, runs_root
from dressage.runs.group import Group
from dressage.runs.run import Run

WATCH = "dressage.diagnosis.watch:hooks_for"  # for the members of a group, in their own processes

if TYPE_CHECKING:
    from dressage.core.hooks import Hook
    from dressage.diagnosis.report import DiagnosisReport
    from dressage.policy import Policy
    from dressage.presets.resolve import Resolved
    from dressage.prove.batch_report import BatchReport
    from dressage.prove.optimize_report import OptimizeReport
    from dressage.prove.regress import Regression
    from dressage.prove.report import ComparisonReport
    from dressage.prove.sensitivity_report import SensitivityReport
    from dressage.prove.tune_report import TuneReport
    from dressage.prove.verify import Goal, Verification
    from dressage.reporting import Report


def train(
    env: Any = None,
    *,
    algo: str | None = None,
    config: str | Path | None = None,
    resume: str | Path | Run | None = None,
    runs: str | Path | None = None,
    hooks: Sequence[Hook] = (),
    trust: bool = False,
    preset: bool = True,
    **overrides: Any,
) -> Run | Group:
    """Trains an agent and returns its run (a group where `seeds` is over one).

    `env`: a Gymnasium id, `module:Class`, `module:function`, or a callable; `ENV:ALGO` works too.
    `config`: a file of settings. `overrides`: any setting by name, `lr=3e-4`. `preset=False` leaves
    out the tuned settings of this environment.
    `resume`: a run to go on with, from its last checkpoint; `trust` lets it import its own code.
    """
    from dressage.presets.resolve import read_config_file, resolve
    from dressage.seeds import train_group
    from dressage.training import train_new, train_resumed

    root = runs_root(runs)
    if resume is not None:
        run = resume if isinstance(resume, Run | Group) else find(resume, root)
        asked = read_config_file(Path(config)) if config else {}
        asked |= overrides
        for key, value in (("env", env), ("algo", algo)):
            if isinstance(value, str):
                asked[key] = value
        made = None if isinstance(env, str) else env
        if isinstance(run, Group):
            options: dict[str, Any] = {"hooks": hooks, "member_hooks": WATCH}
        else:
            options = {"hooks": [*hooks, *_watching(run.config | asked)]}
        return train_resumed(run, asked, env=made, trust=trust, **options)
    made, name = (None, env) if env is None or isinstance(env, str) else (env, callable_name(env))
    file = read_config_file(Path(config)) if config else None
    resolved = resolve(name, algo, overrides, file, use_preset=preset)
    if resolved.run.seeds > 1:
        return train_group(resolved, root, hooks=hooks, member_hooks=WATCH)
    path = root / new_run_id(resolved.run.env, resolved.run.algo, resolved.run.seed, root)
    return train_new(resolved, path, env=made, hooks=[*hooks, *_watching(resolved.values())])


def _watching(config: Mapping[str, Any]) -> list[Hook]:
    """Diagnosis while it trains, as the setting `guard` asks: training itself knows none of it."""
    from dressage.diagnosis.watch import hooks_for

    return hooks_for(config)


def callable_name(env: Any) -> str:
    """`module:name` of a class or function that makes environments."""
    if not callable(env):
        raise ConfigError(
            f"env is a {type(env).__name__}, expected an id such as 'CartPole-v1' or a function "
            "that makes the environment: several copies are needed, and one for evaluations."
        )
    kind = env if hasattr(env, "__qualname__") else type(env)
    return f"{kind.__module__}:{kind.__qualname__}"


def load(
    run: str | Path | Run,
    *,
    runs: str | Path | None = None,
    trust: bool = False,
    device: str = "cpu",
) -> Policy:
    """The policy of `RUN`, `RUN@best`, `RUN@last` or `RUN@<env_steps>`, ready to `predict`."""
    from dressage.policy import load_policy

    found, checkpoint = _named(run, runs)
    if isinstance(found, Group):
        raise RunError(
            f"{found.id} is a group of {len(found.members)} runs: name one of them, such as "
            f"{found.id}/{found.listed[0]['seed']}."
        )
    return load_policy(found, checkpoint, trust=trust, device=device)


def evaluate(
    run: str | Path | Run | Group,
    *,
    episodes: int = 20,
    deterministic: bool = True,
    seed: int | None = None,
    runs: str | Path | None = None,
    trust: bool = False,
) -> dict[str, Any]:
    """Plays held-out episodes with a trained policy: mean return, its 95 % interval, all returns.

    For a group the interval is over the members' means: seeds vary more than episodes.
    """
    from dressage.judge import evaluate_run

    found, checkpoint = _named(run, runs)
    return evaluate_run(
        found, checkpoint, episodes=episodes, deterministic=deterministic, seed=seed, trust=trust
    )


def play(
    run: str | Path | Run | Group,
    *,
    episodes: int = 1,
    video: str | Path | None = None,
    seed: int | None = None,
    runs: str | Path | None = None,
    trust: bool = False,
) -> dict[str, Any]:
    """Shows the policy (of a group, its best member's) in a window, or films it (.mp4, .gif)."""
    from dressage.judge import show_episodes
    from dressage.policy import load_policy

    found, checkpoint = _named(run, runs)
    if isinstance(found, Group):
        found = found.best_member()
    policy = load_policy(found, checkpoint, trust=trust, device="cpu")
    where = Path(video) if video else None
    return show_episodes(policy, episodes=episodes, video=where, seed=seed, trust=trust)


def report(
    run: str | Path | Run | Group, *, html: str | Path | None = None, runs: str | Path | None = None
) -> Report:
    """Describes and diagnoses a run of ours: writes report.md beside it, and one self-contained
    HTML page where `html` says so."""
    from dressage.diagnosis import record
    from dressage.diagnosis.report import examine_set
    from dressage.reporting import report as describe
    from dressage.reporting.source import view_of

    found = _named(run, runs)[0]
    if not found.members:  # a group that has not begun
        return describe(found, html=html)
    views = [view_of(member) for member in found.members]
    made = examine_set(views, verified=record.known(runs_root(runs)))
    made.write(found.path)
    if html is not None:
        made.write_html(html)
    return made


def diagnose(
    *runs_or_paths: str | Path | Run | Group,
    config: str | Path | None = None,
    mapping: Sequence[str] | None = None,
    html: str | Path | None = None,
    markdown: str | Path | None = None,
    probe: bool = False,
    env: str | None = None,
    trust: bool = False,
    say: Callable[[str], None] = lambda line: None,
    runs: str | Path | None = None,
) -> list[DiagnosisReport]:
    """What holds runs back, by the symptoms that their logs show; one report a setting, whose runs
    count as its seeds.

    Takes runs of ours by name or path, and folders and files of other libraries. `config`: a file
    with the settings that a log lacks. `mapping`: `ours=theirs` for the columns of a table. `html`,
    `markdown`: files to write. `probe` also runs the environment and the algorithm for half a
    minute, and ranks causes by that too; `env`: the environment of another library's run, `trust`
    lets a run of ours import the code of your own that it names, `say` is told what goes on.
    Runs of ours get their report.md as well; into the folders of other libraries nothing is ever
    written.
    """
    from dressage.diagnosis import record
    from dressage.diagnosis.report import examine
    from dressage.runs.readers import read

    if env is not None and not probe:
        raise ConfigError("--env names the environment to probe: it goes with --probe.")
    root, pairs = runs_root(runs), _pairs(mapping)
    paths = [one.path if isinstance(one, Run | Group) else one for one in runs_or_paths]
    views = read(paths, config=config, mapping=pairs, root=root)
    prober = None
    if probe:
        from dressage.probing import probe as run_probes

        prober = partial(run_probes, env=env, trust=trust, say=say)
    made = examine(views, prober, record.known(root))
    for place, one in enumerate(made):
        if one.folder is not None:
            one.write(one.folder)
        if html is not None:
            one.write_html(_numbered(html, place))
        if markdown is not None:
            one.write_markdown(_numbered(markdown, place))
    return made


def compare(
    *sides: str | Path | Run | Group,
    threshold: float | None = None,
    html: str | Path | None = None,
    markdown: str | Path | None = None,
    runs: str | Path | None = None,
) -> ComparisonReport:
    """How runs differ: settings, results with intervals and tests, and where their curves part.

    Each side is a run, a group of seeds, or a folder of another library; as text also `NAME=SIDE`,
    and several runs of one side joined by commas. The first is what the others are held against.
    `threshold`: the return that counts as solved, where it is not the environment's.
    """
    from dressage.prove.comparison import Side
    from dressage.prove.comparison import compare as compared
    from dressage.prove.report import comparison_report
    from dressage.runs.readers import read

    root = runs_root(runs)
    given: list[Side] = []
    for side in sides:
        name, places = _side(side)
        views = [view for place in places for view in read(place, root=root)]
        given.append(
            Side(name or (views[0].id if len(views) == 1 else Path(places[0]).name), views)
        )
    named = [one.name for one in given]
    given = [
        Side(f"{one.name} ({i + 1})", one.runs) if named.count(one.name) > 1 else one
        for i, one in enumerate(given)
    ]
    made = comparison_report(compared(given, threshold), given)
    if html is not None:
        made.write_html(html)
    if markdown is not None:
        made.write_markdown(markdown)
    return made


def _side(side: str | Path | Run | Group) -> tuple[str, list[str | Path]]:
    """`NAME=A,B` as its name and its places; a path that exists is taken as it is."""
    if isinstance(side, Run | Group):
        return side.path.name, [side.path]
    if isinstance(side, Path) or Path(side).exists():
        return "", [side]
    name, equals, places = side.rpartition("=")
    return name if equals else "", [place.strip() for place in places.split(",") if place.strip()]


def verify(
    run: str | Path | Run,
    patch: Mapping[str, Any],
    *,
    goal: str = "frames",
    threshold: float | None = None,
    seeds: int = 24,
    cause: str | None = None,
    say: Callable[[str], None] = lambda line: None,
    runs: str | Path | None = None,
) -> Verification:
    """Whether a change helps: seeds with and without it, 8, 12, 16 or 24 a side, and a verdict.

    `goal`: frames (env steps to the threshold), return (at the end) or wall (seconds). The looks
    are planned and share one alpha of 5 %, so that peeking does not cheat; `seeds` is the last of
    them to be taken, and a later call may go on. The verdict joins the record of verified fixes in
    the folder of runs.
    """
    from dressage.proving import verify_run
    from dressage.runs.readers import read

    root = runs_root(runs)
    view = read(run.path if isinstance(run, Run) else run, root=root)[0]
    return verify_run(
        view,
        patch,
        root,
        goal=_goal(goal),
        threshold=threshold,
        seeds=seeds,
        cause=cause,
        train=train,
        say=say,
    )


def optimize(
    run: str | Path | Run,
    *,
    minutes: float = 10.0,
    goal: str = "frames",
    threshold: float | None = None,
    seeds: int = 24,
    html: str | Path | None = None,
    markdown: str | Path | None = None,
    say: Callable[[str], None] = lambda line: None,
    runs: str | Path | None = None,
) -> OptimizeReport:
    """Tries what `diagnose` prescribes, singly and together, proves the best on fresh seeds, at
    most `seeds` a side, and goes on while a bottleneck and time are left. Its folder holds a config
    file and the report.

    Called again after an interruption, it goes on with the seeds that are done.
    """
    from dressage.proving import optimize_run
    from dressage.runs.readers import read

    root = runs_root(runs)
    view = read(run.path if isinstance(run, Run) else run, root=root)[0]
    made = optimize_run(
        view,
        root,
        minutes=minutes,
        goal=_goal(goal),
        threshold=threshold,
        seeds=seeds,
        train=train,
        say=say,
    )
    if html is not None:
        made.write_html(html)
    if markdown is not None:
        made.write_markdown(markdown)
    return made


def tune(
    env: str | None = None,
    *,
    algo: str | None = None,
    start: str | Path | Run | Group | None = None,
    trials: int | None = None,
    minutes: float | None = None,
    seeds: int = 2,
    goal: str = "frames",
    threshold: float | None = None,
    storage: str | None = None,
    html: str | Path | None = None,
    markdown: str | Path | None = None,
    say: Callable[[str], None] = lambda line: None,
    runs: str | Path | None = None,
    **fixed: Any,
) -> TuneReport:
    """Searches for better settings with Optuna, races the best trials against the start on fresh
    seeds, and proves the winner on others. Its folder holds a preset file and the report.

    `start`: a run to start from, and from what its diagnosis prescribes. `fixed`: settings that are
    kept as they are. `storage`: an address that Optuna knows; by default an SQLite file. Called
    again with the same arguments it goes on where it was.
    """
    from dressage.runs.readers import read
    from dressage.tuning import tune_settings

    root = runs_root(runs)
    place = start.path if isinstance(start, Run | Group) else start
    made = tune_settings(
        env,
        algo,
        fixed,
        [] if place is None else read(place, root=root),
        root,
        trials=trials,
        minutes=minutes,
        seeds=seeds,
        goal=_goal(goal),
        threshold=threshold,
        storage=storage,
        train=train,
        say=say,
    )
    if html is not None:
        made.write_html(html)
    if markdown is not None:
        made.write_markdown(markdown)
    return made


def sensitivity(
    run: str | Path | Run | Group,
    settings: Sequence[str] | None = None,
    *,
    seeds: int = 8,
    minutes: float | None = None,
    html: str | Path | None = None,
    markdown: str | Path | None = None,
    say: Callable[[str], None] = lambda line: None,
    runs: str | Path | None = None,
) -> SensitivityReport:
    """Which settings matter for a run: each number is halved and doubled, on the same seeds as the
    run's own value, with intervals of its effect and a test that is corrected for all of them.

    Called again after an interruption, it goes on with the seeds that are done.
    """
    from dressage.runs.readers import read
    from dressage.sensing import sense_run

    root = runs_root(runs)
    made = sense_run(
        read(run.path if isinstance(run, Run | Group) else run, root=root)[0],
        root,
        seeds=seeds,
        minutes=minutes,
        only=None if settings is None else list(settings),
        train=train,
        say=say,
    )
    if html is not None:
        made.write_html(html)
    if markdown is not None:
        made.write_markdown(markdown)
    return made


def batch_advice(
    run: str | Path | Run | Group,
    *,
    html: str | Path | None = None,
    markdown: str | Path | None = None,
    trust: bool = False,
    say: Callable[[str], None] = lambda line: None,
    runs: str | Path | None = None,
) -> BatchReport:
    """Whether another batch size would suit a run: the gradient noise scale over training, the
    learning rate that goes with each candidate, and its env steps a second on this machine."""
    from dressage.runs.readers import read
    from dressage.sensing import advise_batch

    root = runs_root(runs)
    view = read(run.path if isinstance(run, Run | Group) else run, root=root)[0]
    made = advise_batch(view, root, trust=trust, train=train, say=say)
    if html is not None:
        made.write_html(html)
    if markdown is not None:
        made.write_markdown(markdown)
    return made


def regress(
    baseline: str | Path,
    *,
    write: str | Path | None = None,
    seeds: int = 8,
    alpha: float | None = None,
    runs: str | Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Regression:
    """Whether named settings converge significantly worse than a stored baseline.

    `write`: a YAML file of settings, `name: {env: …, algo: …, key: value}`, from which the baseline
    is made first. Seeds are trained anew at each call, in a new folder below `runs`; one that is
    removed afterwards where `runs` is not given.
    """
    import tempfile
    from contextlib import ExitStack

    from dressage.proving import regress_settings

    with ExitStack() as stack:
        if runs is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
        else:
            Path(runs).mkdir(parents=True, exist_ok=True)
            folder = tempfile.mkdtemp(prefix="regress-", dir=runs)
        return regress_settings(
            Path(baseline),
            Path(folder),
            write=None if write is None else Path(write),
            seeds=seeds,
            alpha=alpha,
            train=train,
            say=say,
        )


def _goal(word: str) -> Goal:
    from dressage.prove.verify import GOALS

    for goal in GOALS:
        if goal == word:
            return goal
    raise ConfigError(f"goal is '{word}', expected {', '.join(GOALS)}.")


def _numbered(path: str | Path, place: int) -> Path:
    """page.html, page-2.html, page-3.html: a file for each setting."""
    path = Path(path)
    return path if not place else path.with_name(f"{path.stem}-{place + 1}{path.suffix}")


def _pairs(words: Sequence[str] | None) -> dict[str, str] | None:
    """`["ours=theirs", …]` as a mapping."""
    if not words:
        return None
    pairs = dict(word.partition("=")[::2] for word in words)
    if not all(pairs.values()):
        raise ConfigError("--map takes OURS=THEIRS, such as train/roll/ep_rew_mean=reward.")
    return pairs


def resolve_config(
    env: str | None = None,
    *,
    algo: str | None = None,
    config: str | Path | None = None,
    preset: bool = True,
    **overrides: Any,
) -> Resolved:
    """The whole config that `train` would use, and where each value comes from."""
    from dressage.presets.resolve import read_config_file, resolve

    file = read_config_file(Path(config)) if config else None
    return resolve(env, algo, overrides, file, use_preset=preset)


def _named(
    run: str | Path | Run | Group, runs: str | Path | None
) -> tuple[Run | Group, str | None]:
    if isinstance(run, Run | Group):
        return run, None
    return find_checkpoint(str(run), runs_root(runs))


__all__ = [
    "DressageError",
    "Group",
    "Run",
    "diagnose",
    "evaluate",
    "load",
    "play",
    "report",
    "resolve_config",
    "train",
]

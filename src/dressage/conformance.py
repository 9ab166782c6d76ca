"""The conformance suite: what every algorithm must keep, as checks to run on your own one too.

    from dressage.conformance import check_algorithm
    check_algorithm("my_pkg.my_algo")          # raises AssertionError with everything that failed

or, one test a case, with pytest:

    from dressage import conformance

    @pytest.mark.parametrize("case", conformance.cases("my_pkg.my_algo"), ids=str)
    def test_conformance(case, tmp_path):
        conformance.check_case("my_pkg.my_algo", case, tmp_path)

The environments are those of `dressage.envs.toys`. Settings that an algorithm has by the names of
`TINY` are made small; give `settings=` for others.
"""

from __future__ import annotations

import fnmatch
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dressage.core.config import RunConfig
from dressage.core.hooks import Hook, Moment
from dressage.core.steps import tree_map
from dressage.runs.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from dressage.runs.differences import differences as differences
from dressage.runs.group import Group
from dressage.runs.run import Run

TOY = "dressage.envs.toys:Kinds"
TINY: dict[str, Any] = {
    "n_steps": 16,
    "batch_size": 16,
    "n_epochs": 2,
    "sequence_length": 8,
    "net_arch": [8],
    "hidden_size": 4,
    "learning_rate": "linear(0.01, 0.001)",
    "ent_coef": 0.01,
    "gamma": 0.95,
    "momentum": 0.9,
    "buffer_size": 200,
    "learning_starts": 20,
    "train_freq": 8,
    "target_update_interval": 32,
    "policy_delay": 2,
}
EVERYTHING = {"normalize_obs": True, "normalize_reward": True}
ITERATIONS = 7  # of a run
STOP_AFTER = 4  # iterations: within a log interval, with episodes half played
ROW_EVERY = 3  # iterations
SEED = 7
SEEDS = (7, 8, 9, 10, 11, 12)


@dataclass(frozen=True)
class Case:
    """One kind of task. `needs`: what an algorithm must declare to be given it."""

    name: str
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


CASES = (
    Case("discrete", needs=("categorical",)),
    Case("discrete-normalised", settings=EVERYTHING, needs=("categorical",)),
    Case("continuous", {"action": "continuous"}, needs=("continuous",)),
    Case("multi-discrete", {"action": "multi_discrete"}, needs=("categorical",)),
    Case("multi-binary", {"action": "multi_binary"}, needs=("categorical",)),
    Case("hybrid-tuple", {"action": "hybrid_tuple"}, needs=("categorical", "continuous")),
    Case("hybrid-dict", {"action": "hybrid_dict"}, needs=("categorical", "continuous")),
    Case("masked", {"masked": True}, needs=("categorical", "masks")),
    Case(
        "masked-hybrid",
        {"masked": True, "action": "hybrid_dict"},
        needs=("categorical", "continuous", "masks"),
    ),
    Case("gru", settings={"recurrent": "gru"}, needs=("categorical", "recurrent")),
    Case(
        "lstm-continuous",
        {"action": "continuous"},
        {"recurrent": "lstm", **EVERYTHING},
        ("continuous", "recurrent"),
    ),
    Case(
        "masked-lstm",
        {"masked": True, "action": "multi_discrete"},
        {"recurrent": "lstm"},
        ("categorical", "masks", "recurrent"),
    ),
    Case(
        "masked-gru-shared",
        {"masked": True},
        {"recurrent": "gru", "share_features": True},
        ("categorical", "masks", "recurrent"),
    ),
    Case("image", {"observation": "image"}, needs=("categorical",)),
    Case("dict-observation", {"observation": "dict"}, EVERYTHING, ("categorical",)),
)


def cases(algo: str, settings: Mapping[str, Any] | None = None) -> list[Case]:
    """The cases that an algorithm's NEEDS allow, with `settings` on top of each."""
    module = _module(algo)
    needs, known = module.NEEDS, {*RunConfig.model_fields, *module.Config.model_fields}
    has = {*needs.actions, *(name for name in ("recurrent", "masks") if getattr(needs, name))}
    fit = [case for case in CASES if has >= set(case.needs) and known >= set(case.settings)]
    if needs.tabular:
        fit = [with_discrete(case) for case in fit if "observation" not in case.env_kwargs]
    return [replace(case, settings={**case.settings, **(settings or {})}) for case in fit]


def with_discrete(case: Case) -> Case:
    """The same for a table, which observations are counted in and not scaled."""
    return replace(
        case,
        env_kwargs={**case.env_kwargs, "observation": "discrete"},
        settings={**case.settings, "normalize_obs": False},
    )


def check_algorithm(
    algo: str, folder: Path | None = None, settings: Mapping[str, Any] | None = None
) -> list[str]:
    """Runs every check; returns the names of those that passed, or raises with all that failed."""
    checks: dict[str, Callable[[Path], object]] = {
        case.name: lambda path, case=case: check_case(algo, case, path)  # type: ignore[misc]
        for case in cases(algo, settings)
    }
    checks |= {
        "fresh process": lambda path: check_fresh_process(algo, path, settings),
        "saved parts": lambda path: check_saved_parts(algo, path, settings),
        "seed in a group": lambda path: check_group(algo, path, settings),
    }
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, check in checks.items():
            path = (folder or Path(temporary)) / name.replace(" ", "-")
            try:
                check(path)
            except Exception as error:
                failed.append(f"{name}: {type(error).__name__}: {error}")
    assert not failed, f"{algo} fails {len(failed)} of {len(checks)} checks:\n" + "\n".join(failed)
    return list(checks)


# -- checks --------------------------------------------------------------------------------------


def check_case(algo: str, case: Case, folder: Path) -> None:
    """Runs, finite, declared metrics, deterministic evaluation, policy from disk, exact resume."""
    with _reference(algo, case, folder) as (session, emitted):
        _check_finite(session)
        _check_declared(algo, emitted)
        _check_evaluation(session)
        _check_policy(session)
        whole = Run(session.writer.path)
    stopped = _stopped(algo, case, folder)
    _resume(stopped)
    _expect_equal(whole.path, stopped.path, "a run stopped and resumed")


def check_fresh_process(algo: str, folder: Path, settings: Mapping[str, Any] | None = None) -> None:
    """A run stopped here and resumed in a new process equals one that was never stopped."""
    case = demanding_case(algo, settings)
    with _reference(algo, case, folder) as (session, _):
        whole = session.writer.path
    stopped = _stopped(algo, case, folder)
    code = "import sys, dressage; dressage.train(resume=sys.argv[1], trust=True)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(stopped.path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"resuming in a fresh process failed:\n{done.stderr}"
    _expect_equal(whole, stopped.path, "a run resumed in a fresh process")


def check_saved_parts(
    algo: str, folder: Path, settings: Mapping[str, Any] | None = None
) -> list[str]:
    """Every saved part matters: with any one as it was at the start, resuming is seen to differ.

    Returns the parts that were tried.
    """
    unseen: set[Piece] | None = None
    tried: dict[str, None] = {}
    for seed in SEEDS:  # a counter that happens not to matter with one seed may with the next
        case = demanding_case(algo, {**(settings or {}), "seed": seed})
        with _reference(algo, case, folder) as (session, _):
            whole = session.writer.path
        stopped = _stopped(algo, case, folder)
        saved = load_checkpoint(stopped.checkpoint())
        with _session(algo, case, folder) as fresh:
            first = load_checkpoint(Run(fresh.writer.path).checkpoint())
        doctored = {piece: without(piece, saved, first) for piece in unseen or pieces(saved)}
        changed = {piece: one for piece, one in doctored.items() if one is not None}
        tried |= dict.fromkeys(map(str, changed))
        unseen = {p for p, one in changed.items() if _goes_unseen(one, stopped, whole, folder)}
        if not unseen:
            return list(tried)
    raise AssertionError(
        f"dropping {', '.join(map(str, unseen or ()))} from a checkpoint changed nothing with the "
        f"seeds {SEEDS}: either it is not needed, or what needs it does not use it after a resume"
    )


def _goes_unseen(doctored: Checkpoint, stopped: Run, whole: Path, folder: Path) -> bool:
    """Whether resuming from a doctored checkpoint gives the same run without a word."""
    copied = folder / "doctored"
    shutil.copytree(stopped.path, copied)
    try:
        save_checkpoint(copied, doctored.env_steps, doctored.parts, doctored.meta, doctored.offsets)
        _resume(Run(copied))
        return not differences(whole, copied)
    except Exception:  # it said so
        return False
    finally:
        shutil.rmtree(copied)


def check_group(algo: str, folder: Path, settings: Mapping[str, Any] | None = None) -> None:
    """A seed in a group equals that seed alone, bit for bit."""
    import dressage

    case = demanding_case(algo, settings)
    asked = _settings(algo, case)
    group = dressage.train(TOY, algo=algo, runs=folder, **{**asked, "seeds": 2})
    assert isinstance(group, Group), f"seeds=2 gave a {type(group).__name__}, expected a Group"
    alone = dressage.train(TOY, algo=algo, runs=folder, **{**asked, "seed": SEED + 1})
    assert isinstance(alone, Run)
    member = next(run for run in group.members if run.config["seed"] == SEED + 1)
    _expect_equal(alone.path, member.path, f"seed {SEED + 1} in a group")
    first = next(run for run in group.members if run.config["seed"] == SEED)
    assert differences(first.path, member.path), "two seeds of a group gave the same run"


def demanding_case(algo: str, settings: Mapping[str, Any] | None = None) -> Case:
    """The case in which the most parts matter: normalisers on, memory and all actions if it can."""
    needs = _module(algo).NEEDS
    case = Case("demanding", {"action": "discrete"}, {**EVERYTHING, **(settings or {})})
    if needs.tabular:
        case = with_discrete(case)
    if "continuous" in needs.actions:
        hybrid = "categorical" in needs.actions
        case = replace(case, env_kwargs={"action": "hybrid_tuple" if hybrid else "continuous"})
    if needs.recurrent:
        case = replace(case, settings={"recurrent": "lstm", **case.settings})
    return case


# -- what the checks look at ---------------------------------------------------------------------


def _check_finite(session: Any) -> None:
    for name, array in session.trainer.learner.weights().items():
        assert np.isfinite(array).all(), f"the weights {name} are not finite after training"
    for name, column in Run(session.writer.path).metrics("train/loss/*").items():
        assert np.isfinite(column).all(), f"{name} is not finite: {column}"


def _check_declared(algo: str, emitted: Sequence[set[str]]) -> None:
    """What `prepare` and `update` gave in the log interval is what NEEDS declares."""
    needs = _module(algo).NEEDS
    seen = set().union(*emitted)
    missing = [name for name in needs.metrics if not fnmatch.filter(seen, name)]
    assert not missing, f"NEEDS.metrics declares {missing}, but no update gave them"
    declared = (*needs.metrics, *needs.metrics_at_times)
    odd = sorted(name for name in seen if not any(fnmatch.fnmatchcase(name, d) for d in declared))
    assert not odd, f"{odd} were given, but neither NEEDS.metrics nor metrics_at_times has them"


def _check_evaluation(session: Any) -> None:
    """The policy from disk repeats the run's last evaluation, episode by episode."""
    from dressage.core.evaluate import evaluate
    from dressage.policy import load_policy

    trainer, recorded = session.trainer, session.trainer.evaluation.returns
    policy = load_policy(Run(session.writer.path), "last", trust=True, device="cpu")
    again = evaluate(
        lambda obs, carry, mask: policy.choose(obs, carry, mask),
        trainer.eval_batch,
        len(recorded),
        trainer.rng,
        trainer.clock.evaluations - 1,
        policy.carry_size,
    )
    assert np.array_equal(again.returns, recorded), (
        f"the policy from disk got {again.returns}, the run's evaluation {recorded}"
    )


def _check_policy(session: Any) -> None:
    """`predict` on raw observations gives what the trainer's own policy chooses."""
    from dressage.policy import load_policy

    trainer = session.trainer
    policy = load_policy(Run(session.writer.path), "last", trust=True, device="cpu")
    spec, size = policy.spec, policy.carry_size
    env = _env_of(session)
    obs, info = env.reset(seed=SEED)
    state, carry, seen = None, np.zeros((1, size), np.float32) if size else None, []
    for _ in range(6):
        given = info.get("action_mask")
        mask = None if given is None else spec.action.mask(given)[None]
        encoded = spec.obs.encode(obs)
        rows = tree_map(lambda leaf: leaf[None], encoded)
        acted = trainer._choose(rows, carry, mask)
        if state is not None:  # without one, each call begins an episode with draws of its own
            twice = [
                policy.predict(obs, state, mask=given, deterministic=False)[0] for _ in range(2)
            ]
            assert _same(twice[0], twice[1]), f"one draw gave two actions: {twice}"
        action, state = policy.predict(obs, state, mask=given)
        expected = spec.action.decode(acted.action[0])
        assert _same(action, expected), f"predict gave {action}, the trainer's policy {expected}"
        seen.append((obs, given, action))
        carry = acted.carry
        obs, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    env.close()
    if size:
        return  # a batch has one state a row, and these steps followed one another
    observations, masks, actions = map(list, zip(*seen, strict=True))
    batch, _ = policy.predict_batch(observations, masks=None if masks[0] is None else masks)
    for one, of_batch in zip(actions, batch, strict=True):
        close = np.allclose(spec.action.encode(one), spec.action.encode(of_batch), atol=1e-4)
        assert close, f"predict gave {one}, predict_batch {of_batch}"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return np.array_equal(a, b)


# -- runs ----------------------------------------------------------------------------------------


class StopAfter(Hook):
    """Ends a run after some iterations, as Ctrl-C would."""

    def __init__(self, iterations: int) -> None:
        self.left = iterations

    def on_iteration(self, moment: Moment) -> None:
        self.left -= 1
        if self.left == 0:
            moment.stop("conformance")


class _Spy:
    """An algorithm on its engine, with the names of the metrics that it gives written down."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.emitted: list[set[str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def prepare(self, *args: Any) -> Any:
        steps, metrics = self._module.prepare(*args)
        self.emitted.append(set(metrics))
        return steps, metrics

    def update(self, *args: Any) -> Any:
        metrics = self._module.update(*args)
        self.emitted += map(set, [metrics] if isinstance(metrics, dict) else metrics)
        return metrics


def _module(algo: str) -> Any:
    from dressage.algos import load_algorithm

    return load_algorithm(algo)


def _settings(algo: str, case: Case) -> dict[str, Any]:
    module = _module(algo)
    fields = module.Config.model_fields
    # one that is `auto`, such as a learned temperature, stays so: there is more to be wrong
    tiny = {k: v for k, v in TINY.items() if k in fields and fields[k].default != "auto"}
    asked = {**tiny, **case.settings}
    cfg = module.Config(**{k: v for k, v in asked.items() if k in module.Config.model_fields})
    n_envs = 2
    iteration = module.rollout_length(cfg) * n_envs
    return {
        "seed": SEED,
        "n_envs": n_envs,
        "backend": "inline",
        "env_steps": ITERATIONS * iteration,
        "log_every": ROW_EVERY * iteration,
        "eval_every": ROW_EVERY * iteration,
        "checkpoint_every": ROW_EVERY * iteration,
        "keep_checkpoints": ITERATIONS,
        "eval_episodes": 2,
        "final_eval_episodes": 3,
        "guard": "off",  # it has a state of its own, which changes no number
        "env_kwargs": dict(case.env_kwargs),
        **asked,
    }


@contextmanager
def _session(algo: str, case: Case, folder: Path) -> Iterator[Any]:
    """A run that has not begun yet."""
    from dressage.assemble import start_run
    from dressage.presets.resolve import resolve
    from dressage.runs.find import new_run_id

    resolved = resolve(TOY, algo, _settings(algo, case), use_preset=False)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / new_run_id(TOY, algo, SEED, folder)
    session = start_run(resolved, path)
    try:
        yield session
    finally:
        session.close()


@contextmanager
def _reference(algo: str, case: Case, folder: Path) -> Iterator[tuple[Any, list[set[str]]]]:
    """A run that was never stopped, with its parts still in memory."""
    with _session(algo, case, folder) as session:
        spy = session.trainer.algo = _Spy(session.trainer.algo)
        session.trainer.run()
        yield session, spy.emitted


def _env_of(session: Any) -> Any:
    from dressage.envs.make import make_env

    run = session.trainer.cfg_run
    return make_env(run.env, env_kwargs=run.env_kwargs)


def _stopped(algo: str, case: Case, folder: Path) -> Run:
    import dressage

    run = dressage.train(
        TOY, algo=algo, runs=folder, hooks=[StopAfter(STOP_AFTER)], **_settings(algo, case)
    )
    assert isinstance(run, Run) and run.status == "stopped", f"{run} did not stop when asked"
    return run


def _resume(run: Run) -> None:
    import dressage

    dressage.train(resume=run, trust=True)


# -- equality ------------------------------------------------------------------------------------


def _expect_equal(whole: Path, other: Path, what: str) -> None:
    found = differences(whole, other)
    assert not found, f"{what} differs from one that was not: {'; '.join(found[:5])}"


# -- dropping parts ------------------------------------------------------------------------------

# Said once more on loading, or only looked at: losing them must not change the continuation. The
# best mean return counts only after a fall, which few runs as short as these have.
NOT_STATE = (
    "clock/wall_seconds",
    "collector/obs_hashes",
    "clock/lost_iterations",
    "recorder/best",
)


@dataclass(frozen=True)
class Piece:
    """Something that a checkpoint holds: arrays of one part, or one entry of the manifest."""

    where: str  # parts or meta
    part: str
    prefix: str

    def __str__(self) -> str:
        return f"{self.part}/{self.prefix}"


def pieces(checkpoint: Checkpoint) -> list[Piece]:
    """Each thing that could be forgotten alone: the weights, one counter, one normaliser, …"""
    found: dict[Piece, None] = {}
    for part, arrays in checkpoint.parts.items():
        for name in arrays:
            kind = name if part != "policy" or name.startswith("normalizer/") else "weights"
            kind = {"optimizer": "moments"}.get(part, kind)
            found[Piece("parts", part, "trace/" if kind.startswith("trace/") else kind)] = None
    for part, plain in checkpoint.meta.items():
        if isinstance(plain, dict):
            found |= dict.fromkeys(Piece("meta", part, key) for key in plain)
    not_state = set(NOT_STATE)
    if "carry" not in checkpoint.parts.get("collector", {}):
        not_state.add("collector/first")  # only recurrent networks look at it
    return [piece for piece in found if str(piece) not in not_state]


def without(piece: Piece, saved: Checkpoint, first: Checkpoint) -> Checkpoint | None:
    """`saved`, with one piece as in `first`; None where they are equal."""
    if piece.where == "meta":
        now, then = saved.meta[piece.part], first.meta[piece.part]
        if now[piece.prefix] == then.get(piece.prefix):
            return None
        kept = {k: v for k, v in now.items() if k != piece.prefix}
        old = {piece.prefix: then[piece.prefix]} if piece.prefix in then else {}
        return replace(saved, meta={**saved.meta, piece.part: kept | old})

    def belongs(name: str) -> bool:
        if piece.prefix == "weights":
            return not name.startswith("normalizer/")
        return piece.prefix == "moments" or name.startswith(piece.prefix)

    arrays, before = saved.parts[piece.part], first.parts[piece.part]
    kept_arrays = {name: array for name, array in arrays.items() if not belongs(name)}
    old_arrays = {name: array for name, array in before.items() if belongs(name)}
    merged = kept_arrays | old_arrays
    if merged.keys() == arrays.keys() and all(
        np.array_equal(merged[name], array) for name, array in arrays.items()
    ):
        return None
    return replace(saved, parts={**saved.parts, piece.part: merged})

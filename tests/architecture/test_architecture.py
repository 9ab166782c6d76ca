"""What keeps the code as DESIGN.md says: imports point one way, reading needs no torch."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dressage

SRC = Path(dressage.__file__).parent
FILES = sorted(SRC.rglob("*.py"))
LONGEST = 600  # lines of a file

# A part imports only those before it, and its own.
ORDER = (
    ("lazy", "errors"),
    ("math",),
    ("runs",),
    ("envs",),
    ("core",),
    ("sb3",),
    ("nets",),
    ("explore",),
    ("native",),
    ("algos",),
    ("presets",),
    ("reporting",),
    ("diagnosis",),
    ("prove",),
    ("advise",),
    ("deploy",),
    ("trackers",),
    ("assemble",),
    ("policy",),
    ("probing",),
    ("proving",),
    ("tuning",),
    ("sensing",),
    ("judge",),
    ("training", "members", "seeds"),  # a group is runs, a run may be a member
    ("project",),
    ("api",),
    ("conformance",),
    ("ui",),
)
RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}


def part_of(file: Path) -> str:
    return file.relative_to(SRC).parts[0].removesuffix(".py")


def imports(file: Path) -> Iterator[tuple[str, int]]:
    """Every `dressage.…` that a file imports, types and late imports included."""
    package = ["dressage", *file.relative_to(SRC).parent.parts]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "dressage":
                for alias in node.names:
                    yield f"dressage.{alias.name}", node.lineno
            else:
                yield module, node.lineno


def test_every_part_has_its_place() -> None:
    parts = {part_of(file) for file in FILES} - {"__init__"}
    assert parts <= set(RANK), f"give {parts - set(RANK)} a place in ORDER"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SRC)))
def test_imports_point_one_way(file: Path) -> None:
    part = part_of(file)
    if part == "__init__":
        return
    for module, line in imports(file):
        top, _, rest = module.partition(".")
        if top != "dressage" or not rest:
            continue
        other = rest.partition(".")[0]
        if other == "__version__":
            continue
        assert RANK[other] <= RANK[part], f"{file}:{line}: {part} imports {module}"


def calls(tree: ast.AST) -> Iterator[tuple[str, int, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno, node


FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "yaml.load", "yaml.unsafe_load"}
FORBIDDEN_CALLS |= {"torch.load", "torch.save", "yaml.full_load", "os.system", "torch.jit.load"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SRC)))
def test_nothing_that_executes_files(file: Path) -> None:
    tree = ast.parse(file.read_text())
    for module, line in imports(file):
        assert module.partition(".")[0] not in FORBIDDEN_MODULES, f"{file}:{line}: {module}"
    for name, line, call in calls(tree):
        assert name not in FORBIDDEN_CALLS, f"{file}:{line}: {name}()"
        for keyword in call.keywords:
            assert keyword.arg != "allow_pickle", f"{file}:{line}: allow_pickle"
            assert keyword.arg != "shell", f"{file}:{line}: shell="


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SRC)))
def test_files_are_short(file: Path) -> None:
    lines = len(file.read_text().splitlines())
    assert lines <= LONGEST, f"{file} has {lines} lines: split it"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SRC)))
def test_slow_modules_are_imported_late(file: Path) -> None:
    """Module level: no torch outside nets/, no scipy.stats, no pandas, no matplotlib anywhere."""
    slow = {"pandas", "scipy.stats", "matplotlib"} | (
        set() if part_of(file) == "nets" else {"torch"}
    )
    tree = ast.parse(file.read_text())
    for node in tree.body:  # types only (under `if TYPE_CHECKING`) and functions are not looked at
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            heads = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
            assert not heads & slow, f"{file}:{node.lineno} imports {name} at module level"


def run_python(source: str, *args: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", source, *args],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


ALGORITHM_MODULES = [
    f"dressage.algos.{file.stem}"
    for file in (SRC / "algos").glob("*.py")
    if file.stem != "__init__"
]
QUICK = [
    "dressage",
    "dressage.api",
    "dressage.runs",
    "dressage.runs.find",
    "dressage.reporting",
    "dressage.diagnosis.report",
    "dressage.diagnosis.watch",
    "dressage.presets.resolve",
    "dressage.trackers",
    "dressage.assemble",
    "dressage.training",
    "dressage.members",
    "dressage.seeds",
    "dressage.policy",
    "dressage.ui.cli",
    *ALGORITHM_MODULES,
]


SLOW = ("torch", "stable_baselines3", "pandas", "scipy.stats", "matplotlib", "pickletools")


def test_importing_is_quick() -> None:
    """One process for all: none of them may import torch, SB3, pandas or scipy.stats."""
    source = f"""
import importlib, sys
for name in {QUICK!r}:
    importlib.import_module(name)
    for slow in {SLOW!r}:
        assert slow not in sys.modules, f"{{name}} imports {{slow}}"
"""
    run_python(source)


# As if torch, pandas and scipy.stats were not installed.
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "pandas", "scipy.stats"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run and what looks like a group of it."""
    import shutil

    from dressage.runs.group import write_group

    root = tmp_path_factory.mktemp("runs")
    run = dressage.train(
        "CartPole-v1",
        runs=root,
        engine="torch",
        n_envs=2,
        n_steps=32,
        batch_size=32,
        n_epochs=1,
        env_steps=256,
        eval_every=128,
        eval_episodes=1,
        final_eval_episodes=1,
        net_arch=[8],
    )
    for seed in (0, 1):
        shutil.copytree(run.path, root / "group" / str(seed))
    write_group(root / "group", [{"seed": s, "path": str(s), "status": "finished"} for s in (0, 1)])
    run.path.rename(root / "single")
    return root


def test_reading_needs_no_torch(runs: Path) -> None:
    source = (
        WITHOUT
        + """
from pathlib import Path
import dressage
from dressage import api
from dressage.runs.find import find, list_runs
from dressage.runs.metrics import METRICS, describe

root = Path(sys.argv[1])
assert len(list_runs(root)) == 2
for name in ("single", "group"):
    run = find(name, root)
    run.summary(), run._repr_html_(), repr(run), run.status, run.config
    for member in run.members:
        assert member.metrics()["env_steps"].size
        member.episodes(), member.events(), member.checkpoints(), member.best, member.spec
        member.system, member.checkpoint("last"), member.checkpoint("best"), member.sources
    api.report(run, html=root / f"{name}.html", runs=root)
    assert (root / f"{name}.html").stat().st_size > 1000
assert describe("train/loss/policy").unit is not None and METRICS
resolved = api.resolve_config("CartPole-v1")
assert resolved.values()["env"] == "CartPole-v1" and resolved.sources
try:
    dressage.load("single", runs=root)
except dressage.DressageError as error:
    assert "pip install 'dressage[torch]'" in str(error), error
else:
    raise AssertionError("a policy was loaded without torch")
"""
    )
    run_python(source, str(runs))


def test_public_functions_stay_functions() -> None:
    """Importing a package sets its name in the parent: none may be named like a function."""
    run_python("import dressage, dressage.reporting; assert callable(dressage.report)")


COMMANDS = [
    ["runs"],
    ["runs", "--json"],
    ["report", "single"],
    ["report", "group"],
    ["report", "single", "--json"],
    ["diagnose", "single"],
    ["diagnose", "group", "--json"],
    ["config", "CartPole-v1"],
    ["config", "Pendulum-v1:ppo", "--json"],
    ["explain", "train/loss/policy"],
    ["explain", "train/metrics/kl_divergence", "--json"],
    ["presets"],
    ["--help"],
    ["train", "--help"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_reading_commands_need_no_torch(command: list[str], runs: Path) -> None:
    source = (
        WITHOUT
        + """
from dressage.ui.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert "torch" not in sys.modules and "pandas" not in sys.modules
"""
    )
    said = run_python(source, *command, DRESSAGE_RUNS=str(runs), NO_COLOR="1")
    assert said.strip()

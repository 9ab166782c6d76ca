"""One tiny run for all tests of the command line, and a group made of copies of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ui_helpers import TINY

from dressage.ui.cli import main


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The last line of standard output; anything JSON does not know is an error."""

        def refuse(word: str) -> None:
            raise ValueError(word)

        return json.loads(self.out.splitlines()[-1], parse_constant=refuse)


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """`cli("runs", "--json")` as a shell would run it."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*words: object) -> Result:
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        return Result(int(end.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs with one run in it; not to be changed."""
    import dressage

    root = tmp_path_factory.mktemp("runs")
    settings = dict(word.split("=") for word in TINY)
    dressage.train("CartPole-v1", runs=root, **{key: int(v) for key, v in settings.items()})
    return root


@pytest.fixture
def root(trained: Path, tmp_path: Path) -> Path:
    """A copy to be changed at will."""
    return Path(shutil.copytree(trained, tmp_path / "runs", symlinks=True))


@pytest.fixture
def group_root(root: Path) -> Path:
    """A folder of runs whose `@last` is a group of two seeds."""
    from dressage.runs.find import find, set_last
    from dressage.runs.group import write_group

    member = find("@last", root).path
    group = root / "cartpole-v1-ppo-group"
    for seed in (0, 1):
        shutil.copytree(member, group / str(seed))
        config = json.loads((group / str(seed) / "config.json").read_text())
        config["values"]["seed"] = seed
        (group / str(seed) / "config.json").write_text(json.dumps(config))
    write_group(group, [{"seed": seed, "path": str(seed)} for seed in (0, 1)])
    set_last(root, group.name)
    return root

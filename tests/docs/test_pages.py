"""Every `dressage` command and every Python block of the documentation runs, with tiny budgets."""

from __future__ import annotations

import functools
import os
import re
import runpy
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from dressage import api
from dressage.algos import load_algorithm
from dressage.core.config import RunConfig
from dressage.presets.resolve import split_env_algo
from dressage.ui.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FEW: dict[str, Any] = {
    "n_envs": 2,
    "n_steps": 32,
    "backend": "inline",
    "eval_every": 512,
    "eval_episodes": 1,
    "final_eval_episodes": 1,
}
LARGEST = 512  # env steps of any run here


def blocks(page: str, language: str) -> list[tuple[str, str]]:
    """(attributes after the language, content) of a page's code blocks in one language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [(rest, body) for kind, rest, body in FENCE.findall(text) if kind == language]


def few(env: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that make a run cheap, unless the page sets them."""
    named = settings.get("algo") or split_env_algo(str(env))[1]
    other = named is not None
    known = load_algorithm(named or "ppo").Config.model_fields.keys() | RunConfig.model_fields
    extra: dict[str, Any] = {k: v for k, v in FEW.items() if k not in settings and k in known}
    extra["env_steps"] = min(settings.get("env_steps", LARGEST), LARGEST)
    return extra if other else extra | {"batch_size": 32, "n_epochs": 1}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the examples, and runs of its own."""
    shutil.copytree(DOCS / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("DRESSAGE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    return tmp_path


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """`dressage.train` with a small budget, so that the pages may show sensible ones."""
    train = api.train

    @functools.wraps(train)
    def small(env: Any = None, **settings: Any) -> Any:
        if settings.get("resume") is None:
            settings |= few(env, settings)
        return train(env, **settings)

    monkeypatch.setattr(api, "train", small)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "bash")])
def test_commands(page: str, project: Path, cheap: None) -> None:
    for rest, body in blocks(page, "yaml"):
        if title := re.search(r'title="([^"]+)"', rest):
            (project / title[1]).write_text(body, encoding="utf-8")
    lines = [line for _, body in blocks(page, "bash") for line in body.splitlines()]
    for line in lines:
        words = shlex.split(line, comments=True)
        if not words or words[0] != "dressage":
            continue
        if "trackers" in line:
            for name in line.partition("trackers=")[2].split(","):
                pytest.importorskip(name)
        with pytest.raises(SystemExit) as ended:
            main(words[1:])
        assert ended.value.code == 0, line


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_python(page: str, project: Path, cheap: None) -> None:
    parts = [body for _, body in blocks(page, "python") if "--8<--" not in body]
    if not parts:
        return
    script = project / "page.py"
    script.write_text("\n".join(parts), encoding="utf-8")
    runpy.run_path(str(script), run_name="__main__")


def test_pages_speak_of_no_machine() -> None:
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(home|work|root|Users|tmp)/", text), page


def test_examples_are_shown() -> None:
    shown = "".join((DOCS / page).read_text(encoding="utf-8") for page in PAGES)
    for example in (DOCS / "examples").glob("*.py"):
        assert f'--8<-- "examples/{example.name}"' in shown


def test_the_site_builds(tmp_path: Path) -> None:
    """Strict: a broken link, a missing page or a failing generator is an error."""
    pytest.importorskip("material")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    config = load_config(str(DOCS.parent / "mkdocs.yml"), site_dir=str(tmp_path), strict=True)
    build(config)
    assert "clip_range" in (tmp_path / "reference" / "algorithms" / "index.html").read_text()
    assert os.listdir(tmp_path / "own")

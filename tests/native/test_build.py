"""The library builds, says what it is, and its absence breaks nothing."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dressage.errors import DressageError
from dressage.native import available, build, face, library


@pytest.fixture
def fresh_face(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Loads anew in the test, and again after it."""
    face._load.cache_clear()
    face._tell.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    face._load.cache_clear()


def test_it_builds_and_loads() -> None:
    assert build.compiler()
    assert available(), face.reason()
    assert library().variant in library().variants
    assert library().variants[-1] == "plain"


def test_a_missing_library_is_told_once(
    fresh_face: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fresh_face.setattr(build, "LIBRARY", tmp_path / "_native.so")
    with caplog.at_level(logging.WARNING):
        assert not available()
        assert not available()
    assert [r.message for r in caplog.records] == [
        "The native engine is not available, dressage runs on torch: it was not built when "
        "dressage was installed (is there a C compiler?)"
    ]
    with pytest.raises(DressageError, match="not available"):
        library()


def test_a_stale_or_broken_library_is_not_loaded(
    fresh_face: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fresh_face.setattr(build, "digest", lambda: "another")
    assert "older than its sources" in face.reason()
    face._load.cache_clear()
    broken = tmp_path / "_native.so"
    broken.write_bytes(b"no library")
    fresh_face.setattr(build, "LIBRARY", broken)
    assert "_native.so" in face.reason()


def test_the_variant_can_be_chosen(fresh_face: pytest.MonkeyPatch) -> None:
    fresh_face.setenv(face.VARIANT_VARIABLE, "plain")
    assert library().variant == "plain"
    face._load.cache_clear()
    fresh_face.setenv(face.VARIANT_VARIABLE, "abacus")
    assert "abacus" in face.reason()


def test_an_unknown_function_is_named() -> None:
    with pytest.raises(DressageError, match="no function 'nothing' for f32"):
        library().kernel("nothing", "f32", [])


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(build.BuildError, match="no C compiler"):
        build.build(tmp_path / "out.so")


def test_an_error_shows_what_the_compiler_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "env_wrong.c").write_text("int wrong(void) { return nothing; }\n")
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    with pytest.raises(build.BuildError, match="nothing"):
        build.build(tmp_path / "out.so")
    assert not (tmp_path / "out.so").exists()


def test_objects_depend_on_the_headers_they_include(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    (tmp_path / "a.h").write_text('#include "b.h"\n')
    (tmp_path / "b.h").write_text("")
    (tmp_path / "c.h").write_text("")
    (tmp_path / "env_a.c").write_text('#include "a.h"\n#include <math.h>\n')
    names = [file.name for file in build.included(tmp_path / "env_a.c")]
    assert names == ["env_a.c", "a.h", "b.h"]


def test_loading_needs_neither_numpy_nor_torch() -> None:
    source = "import sys; from dressage import native; native.library(); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "'torch'" not in done.stdout and "'numpy'" not in done.stdout


def wheel(tmp_path: Path, **variables: str) -> tuple[str, list[str]]:
    """Name and contents of the wheel of a clean checkout."""
    root, copy = build.HERE.parents[2], tmp_path / "checkout"
    shutil.copytree(root / "src", copy / "src", ignore=shutil.ignore_patterns("*.so", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(root / name, copy)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", str(tmp_path), str(copy)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | variables
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(found) as archive:
        return found.name, archive.namelist()


@pytest.mark.long_native
def test_a_wheel_serves_every_python_of_a_platform(tmp_path: Path) -> None:
    name, files = wheel(tmp_path)
    assert "-py3-none-" in name and not name.endswith("-any.whl")
    assert {"dressage/native/_native.so", "dressage/native/c/update.c"} <= set(files)


@pytest.mark.long_native
def test_a_wheel_is_made_without_a_compiler(tmp_path: Path) -> None:
    _, files = wheel(tmp_path, CC="false")
    assert "dressage/native/face.py" in files and "dressage/native/_native.so" not in files

"""Drivers in C (sanitize_*.c) under the sanitizers of memory, undefined behaviour and threads."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dressage.native import build, face

from .libraries import building

MEMORY, RACES = "address,undefined", "thread"
DRIVERS = sorted(path.stem for path in Path(__file__).parent.glob("sanitize_*.c"))
LEVELS = tuple(build.VARIANTS)


def run_driver(
    driver: str, real: str, level: str, sanitizers: str, rounds: int, tmp_path: Path
) -> None:
    """The driver sees the macros of dressage.h; its argument says how much to do."""
    if level not in face.library().variants:
        pytest.skip(f"this CPU does not run {level}")
    cc, folder, program = build.compiler(), build.objects_folder(), tmp_path / driver
    assert folder is not None
    flags = ("-O1", "-g", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all")
    with building():
        objects = build.objects(cc, flags, folder, (level,), (real,))
    source = Path(__file__).with_name(f"{driver}.c")
    told = (*build.defines(real, level), f"-I{build.SOURCES}", str(source))
    try:
        build.run(
            [*cc, *build.COMMON, *flags, *told, *objects, "-o", str(program), *build.LIBRARIES]
        )
    except build.BuildError as error:
        if "cannot find" in str(error):
            pytest.skip(f"this compiler has no sanitizer for {sanitizers}")
        raise
    done = subprocess.run([str(program), str(rounds)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == "clean\n", done.stderr


@pytest.mark.parametrize("driver", DRIVERS)
def test_memory_is_clean(driver: str, tmp_path: Path) -> None:
    run_driver(driver, "f32", face.library().variant, MEMORY, 20, tmp_path)


@pytest.mark.long_native
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("real", build.REALS)
@pytest.mark.parametrize("level", LEVELS)
def test_memory_is_clean_everywhere(driver: str, real: str, level: str, tmp_path: Path) -> None:
    run_driver(driver, real, level, MEMORY, 300, tmp_path)


@pytest.mark.long_native
@pytest.mark.parametrize("driver", DRIVERS)
def test_threads_do_not_race(driver: str, tmp_path: Path) -> None:
    run_driver(driver, "f32", "plain", RACES, 100, tmp_path)

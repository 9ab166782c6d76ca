"""Builds the C library beside this file: `python -m dressage.native.build`.

Standard library only, and no import of dressage: setup.py loads this file by its path before
anything is installed. The library is plain C11 behind ctypes, so no Python, numpy or torch header
is needed and one build serves every Python of a platform.

Sources are compiled in three ways:

- ONCE: generators and environments, which must give the same bits everywhere: without contraction
  of floating point, without vector extensions beyond the platform's baseline;
- PER_REAL: the same, once for float and once for double (`gae_f32`, `gae_f64`);
- all others: for float and double, and on x86 for each level of vector extensions
  (`mlp_forward_f32_avx2`). `face.py` chooses the level when it loads the library, by the CPU.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "c"
LIBRARY = HERE / "_native.so"

ONCE = ("library.c", "rng.c", "seeding.c", "env*.c")
PER_REAL = ("gae.c", "normalise.c")
REALS = {"f32": "float", "f64": "double"}
VARIANTS = {
    "avx512": ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx2", "-mfma"),
    "avx2": ("-mavx2", "-mfma"),
    "plain": (),
}
# No flag here may change a result: errno and trapping exceptions are the only things given up.
COMMON = ("-std=c11", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-Wall", "-Wextra")
EXACT = ("-ffp-contract=off",)
FAST = ("-ffp-contract=fast",)
OPTIMISED = ("-O3",)
LIBRARIES = ("-lm", "-lpthread")
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


class BuildError(Exception):
    """The library cannot be built here; the message says why."""


@dataclass(frozen=True)
class Unit:
    """One call of the compiler."""

    source: Path
    flags: tuple[str, ...]


def compiler() -> list[str]:
    """The C compiler: $CC, the one that built Python, or the first of the usual names."""
    for command in (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc", "gcc", "clang"):
        words = shlex.split(command) if command else []
        if words and shutil.which(words[0]):
            return words[:1] if command == sysconfig.get_config_var("CC") else words
    raise BuildError("no C compiler was found (looked for $CC, cc, gcc and clang)")


def variants(cc: Sequence[str]) -> tuple[str, ...]:
    """The levels of vector extensions that this compiler knows for this machine's family."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return ("plain",)  # ARM: NEON belongs to the baseline, the compiler uses it by itself
    return tuple(name for name, flags in VARIANTS.items() if _accepts(cc, flags))


def _accepts(cc: Sequence[str], flags: Sequence[str]) -> bool:
    if not flags:
        return True
    command = [*cc, *flags, "-x", "c", "-c", os.devnull, "-o", os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def digest(sources: Path = SOURCES) -> str:
    """A hash of all sources, which the library carries: a stale one is not loaded."""
    found = hashlib.blake2b(digest_size=8)
    for file in sorted(sources.glob("*.[ch]")):
        found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


def _defines(real: str, level: str | None = None) -> tuple[str, ...]:
    """What dressage.h makes `real`, REAL_NAME and NAME of."""
    ctype = REALS[real]
    defines = (f"-DREAL={ctype}", f"-DREAL_IS_{ctype.upper()}", f"-DREAL_SUFFIX=_{real}")
    return (*defines, f"-DSUFFIX=_{real}_{level}") if level else defines


def units(cc: Sequence[str]) -> Iterator[Unit]:
    levels = variants(cc)
    listed = f'-DDRESSAGE_VARIANTS="{",".join(levels)}"'
    for source in sorted(SOURCES.glob("*.c")):
        if any(source.match(pattern) for pattern in ONCE):
            named = (f'-DDRESSAGE_SOURCES="{digest()}"', listed)
            yield Unit(source, EXACT + (named if source.name == "library.c" else ()))
            continue
        for real in REALS:
            if source.name in PER_REAL:
                yield Unit(source, (*EXACT, *_defines(real)))
                continue
            for level in levels:
                yield Unit(source, (*FAST, *VARIANTS[level], *_defines(real, level)))


def included(source: Path) -> list[Path]:
    """A source and the headers beside it that it includes, directly or not."""
    found = [source]
    for file in found:  # grows while it is walked
        names = re.findall(r'^ *# *include "([^"]+)"', file.read_text(), re.MULTILINE)
        found += [SOURCES / name for name in names if SOURCES / name not in found]
    return found


def _compile(cc: Sequence[str], unit: Unit, flags: Sequence[str], folder: Path) -> Path:
    """The object file, named by the hash of all that went into it: unchanged ones are kept."""
    arguments = [*COMMON, *flags, *unit.flags]
    name = hashlib.blake2b("\0".join([*cc, *arguments]).encode(), digest_size=12)
    for file in included(unit.source):
        name.update(file.read_bytes())
    target = folder / f"{unit.source.stem}-{name.hexdigest()}.o"
    if not target.exists():
        partial = target.with_suffix(f".{os.getpid()}.tmp")
        _run([*cc, *arguments, "-c", str(unit.source), "-o", str(partial)])
        partial.replace(target)
    return target


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")
    if done.stderr:
        print(done.stderr, file=sys.stderr)


def _objects(cc: Sequence[str], flags: Sequence[str], folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(_compile, cc, unit, flags, folder) for unit in units(cc)]
        return [str(job.result()) for job in jobs]


def build(target: Path = LIBRARY, folder: Path | None = None) -> Path:
    """Compiles everything into a shared library; `folder` keeps objects for the next time."""
    cc = compiler()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        objects = _objects(cc, OPTIMISED, folder or Path(temporary))
        # Renamed into place: a process that has the old library loaded keeps it.
        partial = target.with_suffix(f".{os.getpid()}.tmp")
        _run([*cc, *OPTIMISED, "-shared", *objects, "-o", str(partial), *LIBRARIES])
        partial.replace(target)
    return target


def sanitize(drivers: Sequence[Path], folder: Path | None = None) -> int:
    """Runs C programs against sanitized objects, for each real and variant; how many failed.

    A driver sees the macros of dressage.h, and VARIANT; its main() returns at once where
    dressage_cpu_runs(VARIANT) says that this machine cannot run it.
    """
    cc, failed = compiler(), 0
    with tempfile.TemporaryDirectory() as temporary:
        objects = _objects(cc, SANITIZED, folder or Path(temporary))
        program = Path(temporary) / "driver"
        for driver in drivers:
            for real in REALS:
                for level in variants(cc):
                    told = (*_defines(real, level), f'-DVARIANT="{level}"', f"-I{SOURCES}")
                    flags = (*COMMON, *SANITIZED, *told, "-o", str(program))
                    _run([*cc, *flags, str(driver), *objects, *LIBRARIES])
                    failed += subprocess.run([str(program)], check=False).returncode != 0
    return failed


def objects_folder() -> Path | None:
    """Where a checkout keeps its objects; None for an installed package."""
    root = HERE.parents[2]
    return root / "build" / "native" if (root / "pyproject.toml").exists() else None


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the native engine in place.")
    parser.add_argument("--out", type=Path, default=LIBRARY, help="the file to write")
    parser.add_argument(
        "--sanitize", type=Path, nargs="+", metavar="DRIVER.c", help="run these with sanitizers"
    )
    chosen = parser.parse_args()
    try:
        if chosen.sanitize:
            return sanitize(chosen.sanitize, objects_folder())
        print(build(chosen.out, objects_folder()))
        return 0
    except BuildError as error:
        print(f"The native engine cannot be built: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())

"""Builds the C library beside this file: `python -m dressage.native.build`.

Standard library only, and no import of dressage: setup.py loads this file by its path before
anything is installed. The library is plain C11 behind ctypes, so no Python, numpy or torch header
is needed and one build serves every Python of a platform.

Sources are compiled in three ways:

- ONCE: generators, environments and text, which must give the same bits everywhere: without
  contraction of floating point, without vector extensions beyond the platform's baseline;
- PER_REAL: the same, but written for any real (`gae_f32`);
- all others: on x86 for each level of vector extensions (`mlp_forward_f32_avx2`). `face.py` chooses
  the level when it loads the library, by the CPU.

The library that is installed computes in float. Tests build another in double, in which C and torch
agree to 1e-9.
"""

from __future__ import annotations

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

ONCE = ("library.c", "rng.c", "seeding.c", "sum_tree.c", "text.c", "threads.c", "env*.c")
PER_REAL = ("gae.c", "normalise.c", "summary.c")
REALS = {"f32": "float", "f64": "double"}
INSTALLED = ("f32",)
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


def digest() -> str:
    """A hash of all sources and of this file: the library carries it."""
    found = hashlib.blake2b(digest_size=8)
    for file in (Path(__file__), *sorted(SOURCES.glob("*.[ch]"))):
        found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


def is_current(library: Path = LIBRARY) -> bool:
    """Whether the library was built from the sources as they stand; a stale one is not loaded."""
    return library.exists() and digest().encode() in library.read_bytes()


def defines(real: str, level: str | None = None) -> tuple[str, ...]:
    """What dressage.h makes `real`, REAL_NAME and NAME of."""
    ctype = REALS[real]
    defines = (f"-DREAL={ctype}", f"-DREAL_IS_{ctype.upper()}", f"-DREAL_SUFFIX=_{real}")
    return (*defines, f"-DSUFFIX=_{real}_{level}") if level else defines


def units(levels: Sequence[str], reals: Sequence[str]) -> Iterator[Unit]:
    told = (f'-DDRESSAGE_SOURCES="{digest()}"', f'-DDRESSAGE_VARIANTS="{",".join(levels)}"')
    for source in sorted(SOURCES.glob("*.c")):
        if any(source.match(pattern) for pattern in ONCE):
            yield Unit(source, EXACT + (told if source.name == "library.c" else ()))
            continue
        for real in reals:
            if source.name in PER_REAL:
                yield Unit(source, (*EXACT, *defines(real)))
                continue
            for level in levels:
                yield Unit(source, (*FAST, *VARIANTS[level], *defines(real, level)))


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
        run([*cc, *arguments, "-c", str(unit.source), "-o", str(partial)])
        partial.replace(target)
    return target


def run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")
    if done.stderr:
        print(done.stderr, file=sys.stderr)


def objects(
    cc: Sequence[str],
    flags: Sequence[str],
    folder: Path,
    levels: Sequence[str],
    reals: Sequence[str],
) -> list[str]:
    """Compiles everything, on all cores; what `folder` has already is kept."""
    from concurrent.futures import ThreadPoolExecutor  # late: loading the library imports this file

    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(_compile, cc, u, flags, folder) for u in units(levels, reals)]
        return [str(job.result()) for job in jobs]


def build(
    target: Path = LIBRARY,
    folder: Path | None = None,
    reals: Sequence[str] = INSTALLED,
    levels: Sequence[str] | None = None,
) -> Path:
    """Makes the shared library, unless it is current; `folder` keeps objects for the next time."""
    if is_current(target):
        target.touch()  # for make
        return target
    cc = compiler()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        kept = folder or Path(temporary)
        found = objects(cc, OPTIMISED, kept, levels or variants(cc), reals)
        # Renamed into place: a process that has the old library loaded keeps it.
        partial = target.with_suffix(f".{os.getpid()}.tmp")
        run([*cc, *OPTIMISED, "-shared", *found, "-o", str(partial), *LIBRARIES])
        partial.replace(target)
    return target


def objects_folder() -> Path | None:
    """Where a checkout keeps its objects; None for an installed package."""
    root = HERE.parents[2]
    return root / "build" / "native" if (root / "pyproject.toml").exists() else None


def main() -> int:
    """Builds the library in place."""
    try:
        print(build(folder=objects_folder()))
        return 0
    except BuildError as error:
        print(f"The native engine cannot be built: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())

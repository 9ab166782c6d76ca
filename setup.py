"""Builds the C library of the native engine; everything else stands in pyproject.toml."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

BUILD = Path(__file__).parent / "src" / "dressage" / "native" / "build.py"
LIBRARY = Extension("dressage.native._native", sources=[], optional=True)


def load_build() -> Any:
    """native/build.py by its path: dressage cannot be imported before it is installed."""
    spec = importlib.util.spec_from_file_location("dressage_native_build", BUILD)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


class BuildLibrary(build_ext):
    """A shared library beside native/build.py instead of a Python extension."""

    def get_ext_filename(self, fullname: str) -> str:
        return str(Path(*fullname.split("."))) + ".so"

    def build_extension(self, ext: Extension) -> None:
        native = load_build()
        try:
            native.build(Path(self.get_ext_fullpath(ext.name)), native.objects_folder())
        except native.BuildError as error:  # the package runs on torch then, and says so
            print(f"warning: dressage is installed without its native engine: {error}")

    def copy_extensions_to_source(self) -> None:
        if Path(self.build_lib, self.get_ext_filename(LIBRARY.name)).exists():
            super().copy_extensions_to_source()


class AnyPythonWheel(bdist_wheel):
    """Behind ctypes one library serves every Python of a platform."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(
    ext_modules=[LIBRARY],
    cmdclass={"build_ext": BuildLibrary, "bdist_wheel": AnyPythonWheel},
)

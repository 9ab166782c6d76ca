"""The tests of the native engine run on the sources as they stand."""

from __future__ import annotations

import contextlib

import pytest

from dressage.native import build, face

from .libraries import build_installed


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Builds before anything runs; where that fails, only the test of the build says so."""
    if any("tests/native" in str(item.path) for item in items):
        with contextlib.suppress(build.BuildError):
            build_installed()


@pytest.fixture(autouse=True)
def _library(request: pytest.FixtureRequest) -> None:
    if face.reason() and "test_build" not in request.node.nodeid:
        pytest.skip(f"no native engine: {face.reason()}")

"""The tests of the native engine run on the sources as they stand."""

from __future__ import annotations

import pytest

from dressage.native import build, face


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Builds before anything runs; where that fails, only the test of the build says so."""
    if any("tests/native" in str(item.path) for item in items):
        try:
            if face.reason():
                build.build(folder=build.objects_folder())
                face._load.cache_clear()
        except build.BuildError:
            pass


@pytest.fixture(autouse=True)
def _library(request: pytest.FixtureRequest) -> None:
    if face.reason() and "test_build" not in request.node.nodeid:
        pytest.skip(f"no native engine: {face.reason()}")

"""Fixtures of the contract tests; a test file imports them by name."""

import re

import pytest

from . import backend as contract


def point_of(function_name):
    return re.sub(r"^test_", "", function_name)


@pytest.fixture(scope="module", params=contract.backends(),
                ids=lambda cls: cls.__name__.lower())
def started(request, tmp_path_factory, tools):
    cls = request.param
    if cls.missing() is not None:
        pytest.skip(cls.missing())
    b = cls(tmp_path_factory.mktemp(cls.__name__.lower()), tools)
    try:
        b.start()
        yield b
    finally:
        b.stop()


@pytest.fixture
def backend(request, started):
    """A started backend whose zone is empty; skips the point that its
    `not_applicable` names."""
    point = point_of(request.function.__name__)
    if point in started.not_applicable:
        pytest.skip(f"{started.title}: {started.not_applicable[point]}")
    started.heal()
    started.seed([])
    yield started
    started.heal()

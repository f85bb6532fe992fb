"""Fixtures of the client tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .members import Members


@pytest.fixture
def members() -> Iterator[Members]:
    """Members of consumer groups, closed after the test."""
    group = Members()
    yield group
    group.close()

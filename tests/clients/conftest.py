"""Fixtures of the client tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.wire.conftest import group  # noqa: F401  (the members' group, as the wire tells of it; it has the topic's name)

from .kit import LIBRARIES, Record, make_topic
from .members import Members

PARTITIONS = 4
EACH = 25


@pytest.fixture
def filled(cluster: Any, name: str) -> str:
    """Four partitions with 25 records each."""
    make_topic(cluster, name, partitions=PARTITIONS)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [
        Record(b"%d" % n, partition=p) for p in range(PARTITIONS) for n in range(EACH)])
    return name


@pytest.fixture
def members() -> Iterator[Members]:
    """Members of consumer groups, closed after the test."""
    made = Members()
    yield made
    made.close()

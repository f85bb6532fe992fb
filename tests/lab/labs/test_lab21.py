"""Elective 21: the teams and the adversary find at real brokers what the check finds by the authorizer."""
from __future__ import annotations

from contextlib import closing

import pytest

from minikafka.lab.labs.lab21.live import at_work
from minikafka.lab.labs.lab21.office import open_office

ROWS = [("ALLOW", "User:dispatch", "WRITE", "TOPIC", "LITERAL", "trips"),
        ("ALLOW", "User:pricing", "READ", "TOPIC", "LITERAL", "trips"),
        ("ALLOW", "User:visitor", "READ", "TOPIC", "PREFIXED", "pay")]


def test_a_missing_right_and_an_open_door_are_seen_by_real_clients(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a team works without its right, if the adversary misses a door, or if a second call is not as the first."""
    with closing(open_office()) as cluster:
        for _ in range(2):
            capsys.readouterr()
            at_work(cluster, lambda: ROWS)
            told = capsys.readouterr().out
            assert "20 trips written" in told and "no trips read: GroupAuthorizationFailedError" in told
            assert "no prices written: TopicAuthorizationFailedError" in told
            assert "60 doors, 3 open that should not be: visitor may READ payments-cash" in told

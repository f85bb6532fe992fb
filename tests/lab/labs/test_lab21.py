"""Elective 21: the teams and the adversary find at real brokers what the check finds by the authorizer."""
from __future__ import annotations

from contextlib import closing

import pytest
from confluent_kafka import KafkaError

from minikafka.lab.labs.lab21.attempt import _best, complaint
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


def test_half_a_message_is_no_other_message() -> None:
    """Fails if what librdkafka says of a handshake that ends at once is taken before the whole message, or for another one."""
    half = "sasl_ssl://127.0.0.1:9092/bootstrap: error:0A000086:SSL routines::certificate verify failed"
    whole = "sasl_ssl://127.0.0.1:9092/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed" \
            ": broker certificate could not be verified"
    errors = [KafkaError(KafkaError._SSL, half), KafkaError(KafkaError._ALL_BROKERS_DOWN), KafkaError(KafkaError._SSL, whole)]
    assert _best(errors) == whole and _best(errors[:2]) == half
    assert complaint(half) == complaint(whole) == "certificate verify failed"
    assert complaint("sasl_ssl://127.0.0.1:9092/1: Disconnected") == "Disconnected"

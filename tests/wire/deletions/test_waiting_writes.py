"""Deletions that meet a write with acks=all that waits for a follower, which is paused: both engines answer alike."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from kafka.protocol.admin import DeleteTopicsRequest

from minikafka import Cluster
from minikafka.protocol.errors import Err
from tests.conftest import SETTINGS, own_cluster
from tests.wire.conftest import Place, describe, place
from tests.wire.consumer_groups.consumer_protocol import until
from tests.wire.deletions.scene import Waiting
from tests.wire.raw import Raw
from tests.wire.test_alter_configs import TOPIC, incremental
from tests.wire.test_delete_records import delete
from tests.wire.test_partition_admin import move
from tests.wire.test_produce import batch, message, produce
from tests.wire.test_topics import ask, topic

pytestmark = [pytest.mark.slow]
# Three brokers that take no silent one out of the ISR.
patient = own_cluster(3, config=SETTINGS | {"broker.session.timeout.ms": 60_000, "replica.lag.time.max.ms": 60_000})


def delete_topic(at: Place) -> int:
    row = DeleteTopicsRequest.DeleteTopicState(name=at.name, topic_id=None)
    return int(at.raw.ask(DeleteTopicsRequest(topics=[row], timeout_ms=30000), 6).responses[0].error_code)


def delete_topic_and_create_it(at: Place) -> int:
    """Create it after the leader has deleted it: a leader of Apache Kafka that applies both records at once finds a partition
    of this name with no follower, and answers the write with NONE."""
    deleted = delete_topic(at)
    until(lambda: Err(describe(at.raw, at.name).topics[0].error_code) is Err.UNKNOWN_TOPIC_OR_PARTITION)
    (made,) = ask(at.raw, topic(at.name, assign=[(0, [1])]), validate_only=False)
    return deleted or int(made.error_code)


def delete_records(at: Place) -> int:
    return int(delete(at.raw, (at.name, [(0, 1)]), timeout_ms=200)[at.name, 0][1])


def remove_follower(at: Place) -> int:
    return int(move(at.raw, (at.name, 0, [1]))[2][0][2])


def remove_config(at: Place) -> int:
    """Remove nothing that the write needs: it goes on waiting until the follower is back."""
    return int(incremental(at.raw, (TOPIC, at.name, [("max.message.bytes", 1, None)]))[0][2])


# Each deletion: what it is answered, what the write is, and whether that is before the follower is back.
CASES: list[tuple[Callable[[Place], int], Err, Err, bool]] = [
    (delete_topic, Err.NONE, Err.UNKNOWN_TOPIC_OR_PARTITION, True),
    (delete_topic_and_create_it, Err.NONE, Err.UNKNOWN_TOPIC_OR_PARTITION, True),
    (remove_follower, Err.NONE, Err.NONE, True),
    (delete_records, Err.REQUEST_TIMED_OUT, Err.NONE, False),
    (remove_config, Err.NONE, Err.NONE, False),
]


def test_a_deletion_meets_a_write_that_waits(patient: Cluster, name: str) -> None:
    """Fails if a write waits on for a partition that is gone, is answered as if it were safe, or falls because of a deletion that
    does not concern it."""
    paused = next(node for node in (2, 3) if node != patient.controller())
    with ExitStack() as closing:
        places: list[Place] = []
        for number, _ in enumerate(CASES):
            with Raw(patient.plan.nodes[1].address) as raw:
                row = topic(f"{name}-{number}", assign=[(0, [1, paused])], max_message_bytes="2000")
                assert ask(raw, row, validate_only=False)[0].error_code == 0
            places.append(place(patient, f"{name}-{number}"))
            assert produce(places[-1], batch()).error_code == 0
        patient.pause(paused)
        waiting = []
        for at in places:
            raw = closing.enter_context(Raw(patient.plan.nodes[1].address))
            waiting.append(Waiting(raw, message(at, batch(), -1, timeout_ms=60_000), 9))
        found: list[Any] = [(Err(remove(at)), None, True) for at, (remove, *_) in zip(places, CASES, strict=True)]
        for late in (False, True):
            if late:
                patient.resume(paused)
            for number, (_, _, _, early) in enumerate(CASES):
                if early is not late:
                    answer = waiting[number].answer().responses[0].partition_responses[0]
                    found[number] = found[number][0], Err(answer.error_code), early
        assert found == [(told, written, early) for _, told, written, early in CASES]

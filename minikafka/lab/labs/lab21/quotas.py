"""A quota: how many bytes a second a user may write, and what its client sees of it.

    limit(cluster, 1000)          the notebook's user may write 1,000 bytes a second; None takes the quota away
    slow(right)                   two records of 12 kB: the seconds that they took, and the errors of the client

Owns: the quota of this user. Invariants: none of its own.
"""
from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, Producer
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

from minikafka.cluster.wire import WireConnection
from minikafka.lab.labs.lab21.attempt import QUIET
from minikafka.lab.labs.lab21.office import SHELF

RATE, WAIT = "producer_byte_rate", 30.0
SIZE = 12_000  # bytes of a record


class Slowness(NamedTuple):
    """The view of a client: seconds until both records were acknowledged, its errors, and for how long it was told to wait."""

    seconds: float
    errors: list[str]
    throttled: float


def limit(cluster: Any, rate: float | None) -> None:
    """Set the quota; return when the broker knows it."""
    user, entry = cluster.security.settings["sasl_plain_username"], AlterClientQuotasRequest.EntryData
    entity = entry.EntityData(entity_type="user", entity_name=user)
    change = entry.OpData(key=RATE, value=rate or 0.0, remove=rate is None)
    with WireConnection(cluster.address(1), WAIT) as wire:
        wire.ask(AlterClientQuotasRequest(entries=[entry(entity=[entity], ops=[change])], validate_only=False),
                 AlterClientQuotasResponse)
        everybody = DescribeClientQuotasRequest(components=[], strict=False)
        cluster.wait(lambda: bool(wire.ask(everybody, DescribeClientQuotasResponse).entries) == (rate is not None), WAIT)


def slow(settings: Mapping[str, Any]) -> Slowness:
    """Write two records, one after the other."""
    errors: list[str] = []
    throttled = [0.0]

    def delivered(error: KafkaError | None, _: Any) -> None:
        if error:
            errors.append(error.str())

    producer = Producer({**settings, **QUIET, "linger.ms": 0, "throttle_cb": lambda event: throttled.append(event.throttle_time),
                         "error_cb": lambda error: errors.append(error.str())})
    began = time.monotonic()
    for _ in range(2):
        producer.produce(SHELF, bytes(SIZE), on_delivery=delivered)
        producer.flush(WAIT)
    return Slowness(time.monotonic() - began, errors, max(throttled))

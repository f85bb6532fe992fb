"""A topic for a cell that may run again: what its last run wrote must not be read by the next one.

Owns: nothing. Invariants: none of its own.
"""
from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from kafka import KafkaAdminClient

GONE_WITHIN = 10.0  # seconds


def fresh_topic(bootstrap: str, topic: str, partitions: int = 1, **configs: Any) -> None:
    """Create an empty topic with three replicas; one of that name goes first, with all its records. Raises TimeoutError."""
    delete_topic(bootstrap, topic)
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        wanted = {"num_partitions": partitions, "replication_factor": 3, "configs": configs}
        admin.create_topics({topic: wanted}, wait_for_metadata=True)


def delete_topic(bootstrap: str, topic: str) -> None:
    """Delete a topic if it is there; returns when no broker that is asked knows it. Raises TimeoutError."""
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap, bootstrap_timeout_ms=2000)) as admin:
        if topic in admin.list_topics():
            admin.delete_topics([topic])
        until = time.monotonic() + GONE_WITHIN
        while topic in admin.list_topics():
            if time.monotonic() > until:
                raise TimeoutError(f"topic {topic} is still there {GONE_WITHIN:.0f} s after it was deleted")
            time.sleep(0.05)

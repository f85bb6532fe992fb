"""Which names a topic may have, and which topics are internal.

Owns: the rules of names; the texts are Kafka's.
Invariants: a name that passed check_name() is a safe file name: ASCII letters, digits, '.', '_', '-', and
neither '.' nor '..'. Source: org.apache.kafka.common.internals.Topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from minikafka.protocol.errors import Err, KafkaError

MAX_LENGTH = 249
METADATA_TOPIC = "__cluster_metadata"
OFFSETS_TOPIC, TRANSACTION_TOPIC = "__consumer_offsets", "__transaction_state"
INTERNAL_TOPICS = (OFFSETS_TOPIC, TRANSACTION_TOPIC, "__share_group_state")  # clients may not write to them
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+\Z")


def check_name(name: str) -> None:
    """Raise INVALID_TOPIC_EXCEPTION, with Kafka's text, if no topic may have this name."""
    if name == "":
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > MAX_LENGTH:
        reason = f"the length of '{name}' is longer than the max allowed length {MAX_LENGTH}"
    elif not _LEGAL.match(name):
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return
    raise KafkaError(Err.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def unify(existing: Iterable[str]) -> dict[str, str]:
    """Return the existing topics by the name of their metrics. A new topic collides with the one whose metrics have its name."""
    unified: dict[str, str] = {}
    for name in existing:
        unified.setdefault(unify_name(name), name)
    return unified


def unify_name(name: str) -> str:
    """Return the name of a topic's metrics: topics that differ only in '.' for '_' have one."""
    return name.replace(".", "_")

"""The numbers of Kafka's errors. Tests compare answers with Err by name, so Err itself is compared with kafka-python's table."""

from __future__ import annotations

from kafka import errors

from minikafka.protocol.errors import Err

OLD_NAMES = {  # which kafka-python has kept
    "UNKNOWN": Err.UNKNOWN_SERVER_ERROR, "NO_ERROR": Err.NONE, "NOT_LEADER_FOR_PARTITION": Err.NOT_LEADER_OR_FOLLOWER,
    "MESSAGE_SIZE_TOO_LARGE": Err.MESSAGE_TOO_LARGE, "INVALID_TOPIC": Err.INVALID_TOPIC_EXCEPTION,
    "INVALID_REPLICATION_ASSIGNMENT": Err.INVALID_REPLICA_ASSIGNMENT}


def test_numbers_are_those_of_kafka_python() -> None:
    """Fails if an error of ours has the number of another one: clients would take the answer for that."""
    theirs = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.BrokerResponseError)]
    named = {one.message: one.errno for one in theirs if one.errno is not None}
    assert len(named) > 120
    assert {name: int(OLD_NAMES[name] if name in OLD_NAMES else Err[name]) for name in named} == named

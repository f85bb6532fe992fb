"""The three teams at work under a student's access lists, and an adversary: clients of kafka-python, each with its own login.

    at_work(cluster, access_lists)      prints what each team has done, and the first door that is open and should not be

Owns: the users, topics and access lists of one call, which removes the lists and the topics at its end. Invariants: none of its
own.
"""
from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka.errors import KafkaError

from minikafka.broker.authorizer.acl import AclOperation
from minikafka.broker.authorizer.acl import ResourceType as Kind
from minikafka.lab.labs.lab21.teams import CARDS, Door, binding, may

USERS = "dispatch", "pricing", "audit", "visitor"
LIVE = "trips", "prices", "payments-cash", CARDS, "payroll"
TRIPS, PAYMENTS, WAIT = 20, 3, 10  # records of dispatch, and of the operator; seconds
DOORS = AclOperation.WRITE, AclOperation.READ, AclOperation.DELETE  # in this order: what is deleted cannot be read
QUIET = {"reconnect_backoff_ms": 20, "retry_backoff_ms": 20}


def at_work(cluster: Any, access_lists: Callable[[], list[Any]]) -> None:
    """Let the teams work and the adversary try, and print what became of it."""
    rows = _rows(access_lists)
    with closing(KafkaAdminClient(**cluster.for_kafka_python())) as operator:
        logins = _logins(cluster, operator)
        operator.create_topics({name: {"num_partitions": 1, "replication_factor": 1} for name in LIVE}, wait_for_metadata=True)
        lists = [_acl(row) for row in rows]
        try:
            if lists:
                operator.create_acls(lists)
            _write(cluster.for_kafka_python(), "payments-cash", PAYMENTS)
            _teams(logins)
            for topic in LIVE:  # so that each topic has something to read
                _write(cluster.for_kafka_python(), topic, 1)
            _adversary(logins)
        finally:
            if lists:
                operator.delete_acls([_filter(each) for each in lists])
            with suppress(KafkaError):  # the adversary may have deleted some
                operator.delete_topics(list(LIVE), raise_errors=False)


def _rows(access_lists: Callable[[], list[Any]]) -> list[Any]:
    try:
        rows = list(access_lists())
        for row in rows:
            binding(row)
        return rows
    except Exception:  # the student's: todo(), or whatever; the check says what is wrong with it
        print("your function returns nothing that can be used (the check says why): the teams come without access lists")
        return []


def _logins(cluster: Any, operator: Any) -> dict[str, dict[str, Any]]:
    """Give each user a password; return the settings with which they log in."""
    settings = cluster.for_kafka_python()
    mechanism = ScramMechanism[settings["sasl_mechanism"].replace("-", "_")]
    passwords = {user: secrets.token_urlsafe(9) for user in USERS}
    operator.alter_user_scram_credentials([UserScramCredentialUpsertion(user, mechanism, password)
                                           for user, password in passwords.items()])
    return {user: {**settings, **QUIET, "sasl_plain_username": user, "sasl_plain_password": password}
            for user, password in passwords.items()}


def _acl(row: Any) -> ACL:
    permission, principal, operation, kind, pattern, name = row
    return ACL(principal, "*", ACLOperation[operation], ACLPermissionType[permission],
               ResourcePattern(ResourceType[kind], name, ACLResourcePatternType[pattern]))


def _filter(acl: ACL) -> ACLFilter:
    where = acl.resource_pattern
    return ACLFilter(acl.principal, acl.host, acl.operation, acl.permission_type,
                     ResourcePatternFilter(where.resource_type, where.resource_name, where.pattern_type))


# --- the teams ------------------------------------------------------------------------------------------------------

def _teams(logins: dict[str, dict[str, Any]]) -> None:
    jobs: list[tuple[str, str, Callable[[], int]]] = [
        ("dispatch", "trips written", lambda: _write(logins["dispatch"], "trips", TRIPS)),
        ("pricing", "trips read", lambda: _read(logins["pricing"], "trips", "pricing-day", TRIPS)),
        ("pricing", "prices written", lambda: _write(logins["pricing"], "prices", TRIPS)),
        ("audit", "payments read", lambda: _read(logins["audit"], "payments-cash", "audit", PAYMENTS))]
    for team, what, job in jobs:
        try:
            print(f"{team:9}{job()} {what}")
        except KafkaError as error:
            print(f"{team:9}no {what}: {type(error).__name__}")


def _write(settings: dict[str, Any], topic: str, count: int) -> int:
    with closing(KafkaProducer(**settings, max_block_ms=WAIT * 1000)) as producer:
        for promise in [producer.send(topic, b"a record") for _ in range(count)]:
            promise.get(WAIT)
    return count


def _read(settings: dict[str, Any], topic: str, group: str, count: int) -> int:
    with closing(KafkaConsumer(topic, **settings, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
                               consumer_timeout_ms=WAIT * 1000)) as consumer:
        return sum(1 for _ in zip(range(count), consumer))


# --- the adversary --------------------------------------------------------------------------------------------------

def _adversary(logins: dict[str, dict[str, Any]]) -> None:
    """Print the first door that is open and should not be, after each user has tried to write, read and delete each topic."""
    tried = [(user, *door) for user in USERS for door in _tried(logins[user])]
    wrong = [f"{user} may {operation.name} {topic}" for user, operation, topic, opened in tried
             if opened and not may(Door(f"User:{user}", operation, Kind.TOPIC, topic))]
    print(f"adversary: {len(tried)} doors, {len(wrong)} open that should not be", *wrong[:1], sep=": " if wrong else "")


def _tried(settings: dict[str, Any]) -> Iterator[tuple[AclOperation, str, bool]]:
    with closing(KafkaProducer(**settings, max_block_ms=WAIT * 1000)) as producer, \
            closing(KafkaConsumer(**settings, enable_auto_commit=False)) as consumer, \
            closing(KafkaAdminClient(**settings)) as admin:
        tries: dict[AclOperation, Callable[[str], object]] = {
            AclOperation.WRITE: lambda topic: producer.send(topic, b"a lie").get(WAIT),
            AclOperation.READ: lambda topic: _taken(consumer, topic),
            AclOperation.DELETE: lambda topic: admin.delete_topics([topic])}
        for operation in DOORS:
            for topic in LIVE:
                yield operation, topic, _opens(tries[operation], topic)


def _taken(consumer: Any, topic: str) -> object:
    if not consumer.partitions_for_topic(topic):  # it is not there for this user
        return {}
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek(TopicPartition(topic, 0), 0)
    return consumer.poll(WAIT * 1000)


def _opens(attempt: Callable[[str], object], topic: str) -> bool:
    try:
        return attempt(topic) != {}
    except KafkaError:
        return False

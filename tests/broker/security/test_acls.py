"""Access lists on both engines: each API by people with and without the right, value by value against acls.txt.

    anonymous    a super user
    eve          may nothing
    ada          may read the topic `shown`, the groups `ada-`, and delete in them
    bob          may create and write topics `bob-`, and use the transactional id `bob-t`
    boss         may everything on every resource but read the topic `hidden`
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import CreateAclsRequest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka import Cluster
from minikafka.broker.authorizer.acl import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType
from minikafka.cluster.security import LOGIN
from tests.broker.security.acl_requests import PRODUCER, REQUESTS, about_rights, made
from tests.requests import topic
from tests.transcripts import compare
from tests.wire.raw import Raw

HERE = Path(__file__).parent
PEOPLE = ("eve", "ada", "bob", "boss")
A, R, P = AclOperation, ResourceType, PatternType
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
EVERYTHING = ((R.TOPIC, "*"), (R.GROUP, "*"), (R.TRANSACTIONAL_ID, "*"), (R.CLUSTER, "kafka-cluster"))
LISTS = [
    AclBinding(R.TOPIC, "shown", P.LITERAL, "User:ada", "*", A.READ, ALLOW),
    AclBinding(R.TOPIC, "hidden", P.LITERAL, "User:ada", "10.1.2.3", A.READ, ALLOW),
    AclBinding(R.GROUP, "ada-", P.PREFIXED, "User:ada", "127.0.0.1", A.READ, ALLOW),
    AclBinding(R.GROUP, "ada-", P.PREFIXED, "User:ada", "127.0.0.1", A.DELETE, ALLOW),
    AclBinding(R.TOPIC, "bob-", P.PREFIXED, "User:bob", "*", A.CREATE, ALLOW),
    AclBinding(R.TOPIC, "bob-", P.PREFIXED, "User:bob", "*", A.WRITE, ALLOW),
    AclBinding(R.TRANSACTIONAL_ID, "bob-t", P.LITERAL, "User:bob", "*", A.WRITE, ALLOW),
    *(AclBinding(kind, name, P.LITERAL, "User:boss", "*", A.ALL, ALLOW) for kind, name in EVERYTHING),
    AclBinding(R.TOPIC, "hidden", P.LITERAL, "User:boss", "*", A.READ, DENY),
]


class Person(Raw):
    """A connection that has logged in."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        super().__init__(cluster.address(1, "LAB"))
        assert self.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
        assert self.ask(SaslAuthenticateRequest(auth_bytes=f"\0{name}\0{name}".encode()), 2).error_code == 0


def creation(acl: AclBinding) -> Any:
    return CreateAclsRequest.AclCreation(
        resource_type=acl.resource_type, resource_name=acl.name, resource_pattern_type=acl.pattern_type, principal=acl.principal,
        host=acl.host, operation=acl.operation, permission_type=acl.permission)


@pytest.fixture(scope="module")
def guarded(engine: str) -> Iterator[Cluster]:
    """One broker with an authorizer, its topics, groups, and the access lists above."""
    users = " ".join(f'user_{name}="{name}"' for name in PEOPLE)
    with Cluster(brokers=1, engine=engine, listeners={"LAB": "127.0.0.1"}, config={
            "listener.name.lab.plain.sasl.jaas.config": f"{LOGIN['PLAIN']} required {users};",
            "listener.name.lab.sasl.enabled.mechanisms": "PLAIN", "listener.security.protocol.map": "LAB:SASL_PLAINTEXT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS", "group.initial.rebalance.delay.ms": 0, "auto.create.topics.enable": False,
            "offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}) as cluster:
        with Raw(cluster.address(1)) as raw:
            raw.create(*map(topic, ("shown", "hidden", "hidden2", "hidden3", "bob-topic")))
            created = raw.ask(CreateAclsRequest(creations=[creation(one) for one in LISTS]), 3)
            assert [(row.error_code, row.error_message) for row in created.results] == [(0, "")] * len(LISTS)
            for kind, key in ((0, "g"), (1, "bob-t")):
                wanted = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
                cluster.wait(lambda wanted=wanted: raw.ask(wanted, 4).coordinators[0].error_code == 0)  # type: ignore[misc]
            cluster.wait(lambda: raw.ask(made("InitProducerId", PRODUCER), 4).error_code == 0)
            cluster.wait(lambda: raw.ask(made("ListGroups", {}), 4).error_code == 0)
        yield cluster


def test_each_api_by_each_person(guarded: Cluster, rewrite: bool) -> None:
    """Fails if somebody may what Apache Kafka forbids, may not what it allows, or learns more by a refusal:
    what it may not describe has the same answer, there or not (I-ACL-4, I-ACL-6)."""
    people = {name: Person(guarded, name) for name in PEOPLE}
    lines: list[str] = []
    for name, versions, values in REQUESTS:
        for version in versions:
            lines.append(f"{name} v{version}")
            answers: dict[str, list[str]] = {}
            for who, raw in people.items():
                answers.setdefault(about_rights(raw.ask(made(name, values), version), version), []).append(who)
            lines += [f"    {' '.join(who)}: {text}" for text, who in answers.items()]
    compare(HERE / "acls.txt", "\n".join(lines) + "\n", rewrite)

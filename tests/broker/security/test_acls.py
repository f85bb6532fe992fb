"""Access lists on both engines: each API by people with and without the right, value by value against acls.txt.

    anonymous    a super user
    eve          may nothing
    ada          may read the topic `shown`, the groups `ada-`, and delete in them
    bob          may create and write topics `bob-`, and use the transactional id `bob-t`
    boss         may everything on every resource but read the topic `hidden`
"""

from __future__ import annotations

import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kafka.protocol.admin import CreateAclsRequest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import ProduceRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka import Cluster
from minikafka.broker.authorizer.acl import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType
from minikafka.cluster.security import LOGIN
from minikafka.log.batch import build
from minikafka.protocol.codec import encode_request
from tests.broker.security.acl_requests import BINDING, FETCHED, FILTER, PRODUCER, REQUESTS, about_rights, made
from tests.requests import create_topics, fetch, list_offsets, produce, topic
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


class Certified(Raw):
    """A connection with TLS, and the certificate of a client."""

    def __init__(self, cluster: Cluster, certificates: Path, name: str) -> None:
        super().__init__(cluster.address(1, "TLS"))
        context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
        context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
        self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and what it has signed: the broker's certificate and those of ada and eve."""
    folder = tmp_path_factory.mktemp("people")

    def openssl(command: str) -> None:
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)

    curve = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    openssl(f"req -x509 {curve} -days 2 -subj /CN=ca -keyout ca.key -out ca.pem")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    for name in ("node", "ada", "eve"):
        openssl(f"req {curve} -subj /O=taxis/CN={name.upper()} -keyout {name}.key -out {name}.csr")
        openssl(f"x509 -req -days 2 -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out {name}.pem")
    (folder / "both.pem").write_text((folder / "node.key").read_text() + (folder / "node.pem").read_text())
    return folder


@pytest.fixture(scope="module")
def guarded(engine: str, certificates: Path) -> Iterator[Cluster]:
    """One broker with an authorizer, its topics, groups, and the access lists above."""
    users = " ".join(f'user_{name}="{name}"' for name in PEOPLE)
    with Cluster(brokers=1, engine=engine, listeners={"LAB": "127.0.0.1", "TLS": "127.0.0.1"}, config={
            "ssl.keystore.type": "PEM", "ssl.keystore.location": certificates / "both.pem", "ssl.truststore.type": "PEM",
            "ssl.truststore.location": certificates / "ca.pem", "ssl.client.auth": "requested",
            "ssl.principal.mapping.rules": "RULE:^CN=(.*),O=taxis$/$1/L,DEFAULT",
            "listener.name.lab.plain.sasl.jaas.config": f"{LOGIN['PLAIN']} required {users};",
            "listener.name.lab.sasl.enabled.mechanisms": "PLAIN", "listener.security.protocol.map": "LAB:SASL_PLAINTEXT,TLS:SSL",
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


def test_the_level_of_a_logger_is_refused_without_a_text(guarded: Cluster) -> None:
    """Fails if it is refused otherwise; AlterConfigs knows no loggers, whoever asks."""
    values = {"validate_only": True, "resources": [{"resource_type": 8, "resource_name": "1", "configs": []}]}
    with Person(guarded, "eve") as raw:
        for name, version, told in (("IncrementalAlterConfigs", 1, (31, None)),
                                    ("AlterConfigs", 2, (42, "Unknown resource type 8"))):
            row = raw.ask(made(name, values), version).responses[0]
            assert (row.error_code, row.error_message) == told


# --- records ---------------------------------------------------------------------------------------------------------


def batch(**options: Any) -> bytes:
    return build([(None, b"v")], timestamp_ms=int(time.time() * 1000), **options)


def test_records_for_and_by_others(guarded: Cluster) -> None:
    """Fails if a record gets into a topic without the right, or a refusal names a place of the log."""
    raw = Person(guarded, "bob")
    end = Person(guarded, "boss").ask(list_offsets("hidden"), 7).topics[0].partitions[0].offset
    ids = {one.name: one.topic_id for one in Person(guarded, "boss").ask(made("Metadata", {"topics": None}), 12).topics}
    row = ProduceRequest.TopicProduceData

    def code(name: str, records: bytes, version: int = 9, transactional_id: str | None = None) -> Any:
        topics = [row(name=name, topic_id=ids.get(name, uuid4()), partition_data=[
            row.PartitionProduceData(index=0, records=records)])]
        request = ProduceRequest(acks=-1, timeout_ms=9000, topic_data=topics, transactional_id=transactional_id)
        one = raw.ask(request, version).responses[0].partition_responses[0]
        return one.error_code, one.error_message, one.log_start_offset

    for version in (9, 13):
        assert code("bob-topic", batch(), version) == (0, None, 0)
        assert code("hidden", batch(), version) == (29, None, -1)
        assert code("gone", batch(), version)[0] == (29 if version == 9 else 100)
    transactional = batch(producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    assert code("bob-topic", transactional, transactional_id="t") == (53, None, -1)
    assert code("bob-topic", transactional, transactional_id="bob-t")[0] != 53
    raw.send(encode_request(produce("hidden", batch(), acks=0), 9, 1, "raw"))
    assert raw.receive() is None
    with Raw(guarded.address(1)) as boss:
        assert boss.ask(fetch("hidden", end), 11).responses[0].partitions[0].high_watermark == end


def test_a_session_ends_where_a_right_ends(guarded: Cluster) -> None:
    """Fails if who has begun to fetch a topic may go on when the list is deleted; or may not when it is there again."""
    raw, fetched = Person(guarded, "eve"), fetch("shown", session_epoch=0)
    mine = AclBinding(R.TOPIC, "sho", P.PREFIXED, "User:eve", "*", A.READ, ALLOW)
    with Raw(guarded.address(1)) as boss:
        def codes(request: Any, expected: int) -> Any:
            answers: list[Any] = []

            def done() -> bool:
                answers.append(raw.ask(request, 11))
                return [p.error_code for t in answers[-1].responses for p in t.partitions] == [expected]

            guarded.wait(done)
            return answers[-1]

        codes(fetched, 29)
        boss.ask(CreateAclsRequest(creations=[creation(mine)]), 3)
        answer = codes(fetched, 0)
        deleted = boss.ask(made("DeleteAcls", {"filters": [{**FILTER, "resource_name_filter": "shown", "pattern_type_filter": 2,
                                                            "principal_filter": "User:eve"}]}), 3)
        assert [(one.resource_name, one.error_code) for one in deleted.filter_results[0].matching_acls] == [("sho", 0)]
        guarded.wait(lambda: raw.ask(list_offsets("shown"), 7).topics[0].partitions[0].error_code == 29)
        again = raw.ask(fetch("shown", session_id=answer.session_id, session_epoch=1, topics=[]), 11)
        assert again.error_code == 0 and [p.error_code for t in again.responses for p in t.partitions] == [29]


def test_ids_of_topics(guarded: Cluster) -> None:
    """Fails if an id tells the name of a topic that one may not describe, or a topic goes by its id."""
    with Raw(guarded.address(1)) as boss:
        ids = {one.name: one.topic_id for one in boss.ask(made("Metadata", {"topics": None}), 12).topics}
    raw, gone = Person(guarded, "ada"), uuid4()
    asked = [ids["shown"], ids["hidden"], gone]
    told = raw.ask(made("Metadata", {"topics": [{"topic_id": one, "name": None} for one in asked]}), 12)
    assert {(t.topic_id, t.name, t.error_code) for t in told.topics} == {
        (asked[0], "shown", 0), (asked[1], None, 29), (gone, None, 100)}
    told = raw.ask(made("DeleteTopics", {"timeout_ms": 9000, "topics": [{"name": None, "topic_id": one} for one in asked]}), 6)
    assert {(t.topic_id, t.name, t.error_code) for t in told.responses} == {
        (asked[0], "shown", 29), (asked[1], None, 29), (gone, None, 100)}
    fetched = made("Fetch", {"max_wait_ms": 0, "topics": [{"topic_id": one, "partitions": FETCHED[0]["partitions"]}
                                                          for one in asked]})
    told = raw.ask(fetched, 13)
    assert {(t.topic_id, t.partitions[0].error_code) for t in told.responses} == {(asked[0], 0), (asked[1], 29), (gone, 100)}


def test_a_certificate_is_a_principal(guarded: Cluster, certificates: Path) -> None:
    """Fails if the subject of a client's certificate, as the rules write it, is not whom the lists mean."""
    for name, code in (("ada", 0), ("eve", 29)):
        with Certified(guarded, certificates, name) as raw:
            assert raw.ask(list_offsets("shown"), 7).topics[0].partitions[0].error_code == code


def test_an_expression_finds_what_may_be_described(guarded: Cluster) -> None:
    """Fails if a member learns by a regular expression of a topic that it may not describe."""
    beat = {"group_id": "ada-regex", "member_id": "A" * 22, "member_epoch": 0, "rebalance_timeout_ms": 9000,
            "subscribed_topic_regex": "shown|hid.*", "topic_partitions": []}
    with Person(guarded, "ada") as raw:
        found = {t.name: t.topic_id for t in raw.ask(made("Metadata", {"topics": None}), 12).topics}
        assigned: list[Any] = []

        def beats() -> bool:
            told = raw.ask(made("ConsumerGroupHeartbeat", beat), 1)
            assert told.error_code == 0
            beat.update(member_epoch=told.member_epoch, subscribed_topic_regex=None, topic_partitions=None)
            if told.assignment is not None:
                assigned[:] = [one.topic_id for one in told.assignment.topic_partitions]
            return bool(assigned)

        guarded.wait(beats)
        assert list(found) == ["shown"] and assigned == [found["shown"]]


def test_quotas_are_the_users(guarded: Cluster) -> None:
    """Fails if a user's quota counts for others, or not for the user: of records, and of topics, which the controller counts."""
    with Raw(guarded.address(1)) as root:
        entity = [{"entity_type": "user", "entity_name": "bob"}]

        def limit(remove: bool) -> None:
            ops = [{"key": key, "value": value, "remove": remove}
                   for key, value in (("producer_byte_rate", 1.0), ("controller_mutation_rate", 0.01))]
            told = root.ask(made("AlterClientQuotas", {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}), 1)
            assert told.entries[0].error_code == 0

        def ask(who: str, request: Any, version: int) -> Any:
            with Person(guarded, who) as raw:           # whoever is throttled has to wait on the old connection
                return raw.ask(request, version)

        def creates(who: str) -> int:
            return int(ask(who, create_topics(topic("bob-new"), check=True), 7).topics[0].error_code)

        limit(False)
        guarded.wait(lambda: creates("bob") == 89)
        assert creates("boss") == creates("boss") == 0
        limited = produce("bob-topic", batch())
        guarded.wait(lambda: ask("bob", limited, 9).throttle_time_ms > 0)
        assert ask("boss", limited, 9).throttle_time_ms == 0
        limit(True)


def test_a_refusal_has_a_line_in_the_log(guarded: Cluster, engine: str) -> None:
    """Fails if nobody can see who was refused what; or if every refused topic of a list of all topics has a line."""
    if engine == "apache":
        pytest.skip("its log of the authorizer is another file")
    with Person(guarded, "eve") as raw:
        raw.ask(made("Metadata", {"topics": None}), 12)
        raw.ask(list_offsets("hidden2"), 7)
    lines = [line for line in guarded.log(1, 5000).splitlines() if "hidden2" in line and "eve" in line]
    assert lines and not [line for line in lines if "Metadata" in line and "hidden3" in line]
    assert lines[-1].endswith(
        "Principal = User:eve is Denied operation = DESCRIBE from host = 127.0.0.1 on resource = Topic:LITERAL:hidden2 for "
        "request = ListOffsets with resourceRefCount = 1 based on rule DefaultDeny")


def test_lists_are_described_as_they_were_made(guarded: Cluster) -> None:
    """Fails if a list changes on its way, a wrong row spoils the others, or a filter finds others (KIP-290)."""
    with Raw(guarded.address(1)) as boss:
        told = boss.ask(made("DescribeAcls", {**FILTER, "resource_type_filter": 1, "resource_name_filter": None,
                                              "pattern_type_filter": 1}), 3)
        assert (told.error_code, told.error_message) == (0, "")
        found = {AclBinding(t.resource_type, t.resource_name, t.pattern_type, a.principal, a.host, a.operation, a.permission_type)
                 for t in told.resources for a in t.acls}
        assert found == set(LISTS)
        for wrong, code, text in WRONG:
            refused = boss.ask(made("CreateAcls", {"creations": [{**BINDING, **wrong}]}), 3)
            assert [(one.error_code, one.error_message) for one in refused.results] == [(code, text)], wrong
        for version in (1, 2, 3):
            told = boss.ask(made("DescribeAcls", {**FILTER, "resource_name_filter": "ada-x", "resource_type_filter": 3,
                                                  "pattern_type_filter": 2}), version)
            assert sorted((t.resource_name, t.pattern_type, len(t.acls)) for t in told.resources) == [("*", 3, 1), ("ada-", 4, 2)]
        for wrong, text in (({"pattern_type_filter": 99}, "Unknown patternFilter."), ({"operation": 99}, "Unknown entryFilter.")):
            told = boss.ask(made("DeleteAcls", {"filters": [FILTER, {**FILTER, **wrong}]}), 3)
            assert [(one.error_code, one.error_message or "") for one in told.filter_results] == [(0, ""), (42, text)]


NO_COLON = "Could not parse principal from `{}` (no colon is present separating the principal type from the principal name)"
WRONG: list[tuple[dict[str, Any], int, str | None]] = [
    ({"resource_name": ""}, 42, "Invalid empty resource name"),
    ({"resource_type": 4}, 42, "The only valid name for the CLUSTER resource is kafka-cluster"),
    ({"resource_type": 99}, 42, "Invalid resourceType UNKNOWN"), ({"operation": 99}, 42, "Invalid operation UNKNOWN"),
    ({"permission_type": 99}, 42, "Invalid permissionType UNKNOWN"), ({"principal": "x"}, 42, NO_COLON.format("x")),
    ({"principal": ""}, 42, NO_COLON.format("")), ({"resource_type": 1}, -1, None), ({"resource_pattern_type": 1}, -1, None),
    ({"resource_pattern_type": 2}, -1, None), ({"operation": 1}, -1, None), ({"permission_type": 1}, -1, None),
]

"""Logging in with a password on both engines: PLAIN and SCRAM by each client, and how everybody else is turned away."""

from __future__ import annotations

import hashlib
import os
import struct
import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest
from kafka import KafkaProducer
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.admin import AlterUserScramCredentialsRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka import Cluster
from minikafka.broker.server.login import Login
from minikafka.broker.server.registry import ApiHandler
from minikafka.broker.server.sasl import SCRAM, Users
from minikafka.cluster import wire
from minikafka.cluster.errors import ClusterError
from minikafka.cluster.security import LOGIN, Address, Security
from minikafka.protocol.codec import encode_request
from minikafka.protocol.errors import ProtocolError
from tests.requests import topic
from tests.wire.raw import Raw

DELAY_MS = 200
USER, PASSWORD = "ada", 'a,=b"c'
MECHANISMS = ["PLAIN", *SCRAM]
JAAS = {f"listener.name.lab.{name.lower()}.sasl.jaas.config": f"{LOGIN[name]} required;" for name in SCRAM}
PLAIN = {"listener.name.lab.plain.sasl.jaas.config": f'{LOGIN["PLAIN"]} required user_ada="a,=b\\"c" user_eve="x";'}


@pytest.fixture(scope="module")
def closed(engine: str) -> Iterator[Cluster]:
    """One broker with a listener that needs a login."""
    with Cluster(brokers=1, engine=engine, listeners={"LAB": "127.0.0.1"}, config={
            **JAAS, **PLAIN, "connection.failed.authentication.delay.ms": DELAY_MS,
            "listener.name.lab.sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "listener.security.protocol.map": "LAB:SASL_PLAINTEXT"}) as cluster:
        upsert, salt = AlterUserScramCredentialsRequest.ScramCredentialUpsertion, os.urandom(16)
        with Raw(cluster.address(1)) as raw:
            raw.create(topic("doors"))
            for number, digest in SCRAM.values():
                done = raw.ask(AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsert(
                    name=USER, mechanism=number, iterations=4096, salt=salt,
                    salted_password=hashlib.pbkdf2_hmac(digest, PASSWORD.encode(), salt, 4096))]), 0)
                assert [row.error_code for row in done.results] == [0]
        yield cluster


def login(mechanism: str, user: str = USER, password: str = PASSWORD) -> Security:
    return Security({"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism, "sasl_plain_username": user,
                     "sasl_plain_password": password})


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_clients_log_in_and_write(closed: Cluster, mechanism: str) -> None:
    """Fails if one of the client libraries cannot log in by this mechanism."""
    servers, security = closed.address(1, "LAB"), login(mechanism)
    closed.wait(lambda: wire.live_brokers(Address.of(servers, security)))
    with KafkaProducer(bootstrap_servers=servers, **security.kafka_python()) as producer:
        assert producer.send("doors", b"by kafka-python").get(60).topic == "doors"
    other = confluent_kafka.Producer({"bootstrap.servers": servers, **security.librdkafka()})
    other.produce("doors", b"by librdkafka")
    assert other.flush(60) == 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("user, password", [(USER, "wrong"), ("nobody", PASSWORD)])
def test_others_are_refused_in_kafkas_words(closed: Cluster, mechanism: str, user: str, password: str) -> None:
    """Fails if somebody gets in without the password, or the text tells whether the user exists."""
    text = ("Authentication failed: Invalid username or password" if mechanism == "PLAIN" else
            f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}")
    with pytest.raises(ClusterError) as refused:
        wire.live_brokers(Address.of(closed.address(1, "LAB"), login(mechanism, user, password)))
    assert str(refused.value).endswith(text)


def test_librdkafka_reports_the_refusal(closed: Cluster) -> None:
    """Fails if the client cannot tell a wrong password from a broker that is gone."""
    told: list[confluent_kafka.KafkaError] = []
    client = confluent_kafka.Producer({"bootstrap.servers": closed.address(1, "LAB"), "error_cb": told.append,
                                       **login("SCRAM-SHA-512", USER, "wrong").librdkafka()})
    closed.wait(lambda: client.poll(0.1) or told)
    assert told[0].code() == confluent_kafka.KafkaError._AUTHENTICATION


def test_an_unknown_mechanism_is_answered_with_the_known_ones(closed: Cluster) -> None:
    """Fails if a client cannot learn how to log in, or may try on."""
    with Raw(closed.address(1, "LAB")) as raw:
        assert raw.ask(ApiVersionsRequest(), 0).error_code == 0
        answer = raw.ask(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
        assert answer.error_code == 33 and sorted(answer.mechanisms) == sorted(MECHANISMS)
        assert raw.receive() is None


@pytest.mark.parametrize("request_", [MetadataRequest(topics=[]), SaslAuthenticateRequest(auth_bytes=b"\0eve\0x")])
def test_a_request_before_the_login_ends_the_connection(closed: Cluster, request_: object) -> None:
    """Fails if anything is served to whoever has not logged in (I-LOGIN-1)."""
    with Raw(closed.address(1, "LAB")) as raw:
        raw.send(encode_request(request_, 1, 1, "raw"))  # type: ignore[arg-type]
        assert raw.receive() is None


@pytest.mark.parametrize("request_, version, answer", [
    (MetadataRequest(topics=[]), 1, "00000001 00000000 ffffffff 00000000"),
    (MetadataRequest(topics=[]), 12, "00000001 00 00000000 01 00 ffffffff 01 00"),
    (ApiVersionsRequest(), 0, "00000001 0022 00000000"),
    (ApiVersionsRequest(client_software_name="a", client_software_version="b"), 3, "00000001 0022 01 00000000 00"),
    (SaslHandshakeRequest(mechanism="PLAIN"), 1, "00000001 0022 00000000"),
])
def test_a_request_in_the_middle_of_a_login_is_refused(closed: Cluster, request_: Any, version: int, answer: str) -> None:
    """Fails if anything but the next token is served between the steps of a login, or the refusal is not that request's own with
    ILLEGAL_SASL_STATE."""
    with Raw(closed.address(1, "LAB")) as raw:
        raw.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        raw.send(encode_request(request_, version, 1, "raw"))
        assert raw.receive() == bytes.fromhex(answer)
        assert raw.receive() is None


@pytest.mark.parametrize("versions, closes", [([3, 3], True), ([0, 3], True), ([99, 3], False), ([99, 99, 0], False)])
def test_the_versions_are_asked_once(closed: Cluster, versions: list[int], closes: bool) -> None:
    """Fails if a stranger is served for as long as he asks (I-LOGIN-1), or who asks again in an older version is not."""
    with Raw(closed.address(1, "LAB")) as raw:
        for number, version in enumerate(versions):
            request = ApiVersionsRequest(client_software_name="a", client_software_version="b")
            frame = bytearray(encode_request(request, min(version, 3), 1, "raw"))
            struct.pack_into(">h", frame, 6, version)
            raw.send(bytes(frame))
            assert (raw.receive() is None) == (closes and number == len(versions) - 1)


@pytest.mark.parametrize("key, version, answer", [(18, 99, "00000001 0022 00000000"), (18, -1, "00000001 0022 00000000"),
                                                  (19, 99, None), (52, 1, None), (999, 0, None)])
def test_a_version_that_is_not_served_in_a_login(closed: Cluster, key: int, version: int, answer: str | None) -> None:
    """Fails if a request is parsed that is not served here, or ApiVersions, whose oldest answer all can read, gets none."""
    with Raw(closed.address(1, "LAB")) as raw:
        raw.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        raw.send_frame(struct.pack(">hhih", key, version, 1, -1) + bytes(30))
        assert raw.receive() == (bytes.fromhex(answer) if answer else None)


def test_a_long_request_before_the_login_is_not_read() -> None:
    """Fails if a stranger's request with 90,000 topics is read and answered row by row while all others wait (I-LOGIN-3)."""
    users = Users(("PLAIN",), {USER: PASSWORD}, lambda *_: None, b"secret")
    guest = Login(users, "nonce", {MetadataRequest.API_KEY: ApiHandler(print, 0, 13, 0, ())})
    topics = [MetadataRequest.MetadataRequestTopic(name="") for _ in range(90_000)]
    first, second = SaslHandshakeRequest(mechanism="PLAIN"), MetadataRequest(topics=topics)
    assert guest.serve(memoryview(encode_request(first, 1, 1, "raw"))[4:])
    with pytest.raises(ProtocolError, match="long request"):
        guest.serve(memoryview(encode_request(second, 1, 1, "raw"))[4:])


def test_where_scram_turns_an_unknown_user_away(closed: Cluster) -> None:
    """Fails if our answers to an unknown user and to a wrong password differ in what they say, or in their number; Kafka's first
    answer says already that the user is unknown. Of a login that succeeds the text is empty, not null."""
    refusal = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
    refused_at = {"nobody": 1 if closed.engine == "apache" else 2, USER: 2}
    for user, step in refused_at.items():
        settings = {**login("SCRAM-SHA-512", user, "wrong").settings, "host": "127.0.0.1", "mechanism": "SCRAM-SHA-512"}
        mechanism = get_sasl_mechanism("SCRAM-SHA-512")(**settings)
        with Raw(closed.address(1, "LAB")) as raw:
            raw.ask(SaslHandshakeRequest(mechanism="SCRAM-SHA-512"), 1)
            for number in range(1, step + 1):
                answer = raw.ask(SaslAuthenticateRequest(auth_bytes=mechanism.auth_bytes()), 2)
                assert (answer.error_code, answer.error_message) == ((58, refusal) if number == step else (0, ""))
                if number < step:
                    mechanism.receive(bytes(answer.auth_bytes))
            assert raw.receive() is None


@pytest.mark.parametrize("mechanism, data", [("PLAIN", b"\0" * 9), ("SCRAM-SHA-256", b"\xff\xfe\0"), ("SCRAM-SHA-512", b"")])
def test_garbage_ends_the_connection(closed: Cluster, mechanism: str, data: bytes) -> None:
    """Fails if bytes that are no token of the mechanism get anything but the refusal, or a guess costs no time."""
    with Raw(closed.address(1, "LAB")) as raw:
        assert raw.ask(SaslHandshakeRequest(mechanism=mechanism), 1).error_code == 0
        begun = time.monotonic()
        assert raw.ask(SaslAuthenticateRequest(auth_bytes=data), 2).error_code == 58
        assert time.monotonic() - begun > DELAY_MS / 1000 - 0.01
        assert raw.receive() is None


@pytest.mark.parametrize("password", [b"x", b"y"])
def test_tokens_without_a_header(closed: Cluster, password: bytes) -> None:
    """Fails if the oldest clients, which send SaslHandshake v0, cannot log in, or get in by a wrong password."""
    with Raw(closed.address(1, "LAB")) as raw:
        assert raw.ask(SaslHandshakeRequest(mechanism="PLAIN"), 0).error_code == 0
        token = b"\0eve\0" + password
        raw.send(struct.pack(">i", len(token)) + token)
        assert raw.receive() == (b"" if password == b"x" else None)
        if password == b"x":
            assert len(raw.ask(MetadataRequest(topics=[]), 1).brokers) == 1

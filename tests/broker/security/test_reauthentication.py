"""A login that ends, and one that is renewed on the same connection, on both engines (KIP-368)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import psutil
import pytest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka import Cluster
from minikafka.cluster.security import LOGIN, Security
from minikafka.protocol.codec import encode_request
from tests.requests import topic
from tests.wire.raw import Raw

SHORT_MS, LONG_MS = 1500, 600_000
ADA, EVE = b"\0ada\0x", b"\0eve\0y"
NAMES = {"SHORT": SHORT_MS, "LONG": LONG_MS, "NEVER": 0}


@pytest.fixture(scope="module")
def timed(engine: str) -> Iterator[Cluster]:
    """One broker, and for each of NAMES a listener where a login lasts that long."""
    config: dict[str, Any] = {"connections.max.reauth.ms": LONG_MS, "listener.name.never.connections.max.reauth.ms": 0,
                              "listener.name.short.plain.connections.max.reauth.ms": SHORT_MS,
                              "connection.failed.authentication.delay.ms": 100,
                              "listener.security.protocol.map": ",".join(f"{name}:SASL_PLAINTEXT" for name in NAMES)}
    for name in map(str.lower, NAMES):
        config[f"listener.name.{name}.sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256"
        config[f"listener.name.{name}.plain.sasl.jaas.config"] = f'{LOGIN["PLAIN"]} required user_ada="x" user_eve="y";'
        config[f"listener.name.{name}.scram-sha-256.sasl.jaas.config"] = f'{LOGIN["SCRAM-SHA-256"]} required;'
    with Cluster(brokers=1, engine=engine, listeners=dict.fromkeys(NAMES, "127.0.0.1"), config=config) as cluster:
        with Raw(cluster.address(1)) as raw:
            raw.create(topic("doors"))
        yield cluster


def handshake(raw: Raw, mechanism: str = "PLAIN") -> int:
    return int(raw.ask(SaslHandshakeRequest(mechanism=mechanism), 1).error_code)


def login(raw: Raw, token: bytes = ADA, version: int = 2) -> Any:
    """Log in by PLAIN, for the first time or again; return the answer to the token."""
    assert handshake(raw) == 0
    return raw.ask(SaslAuthenticateRequest(auth_bytes=token), version)


def served(raw: Raw) -> bool:
    """Whether a request is answered; False if the connection closes instead."""
    raw.send(encode_request(MetadataRequest(topics=[]), 1, 1, "raw"))
    return raw.receive() is not None


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_says_how_long_the_login_lasts(timed: Cluster, name: str) -> None:
    """Fails if a listener's or a mechanism's own value does not count, or version 0, which has no such field, is not served."""
    for version in (0, 1, 2):
        with Raw(timed.address(1, name)) as raw:
            assert getattr(login(raw, version=version), "session_lifetime_ms", 0) == (NAMES[name] if version else 0)
            assert served(raw)


def test_after_its_end_nothing_but_a_new_login_is_served(timed: Cluster) -> None:
    """Fails if a request is served after the end, or closes the connection before it, or a login that was renewed does not count
    from the renewal (I-LOGIN-2)."""
    with Raw(timed.address(1, "SHORT")) as raw:
        for _ in range(2):
            begun = time.monotonic()
            assert login(raw).session_lifetime_ms == SHORT_MS
            while time.monotonic() < begun + SHORT_MS / 1000 - 0.3:
                assert served(raw) or time.monotonic() > begun + SHORT_MS / 1000  # the machine was busy
        begun = asked = time.monotonic()
        while served(raw):
            assert asked < begun + SHORT_MS / 1000, "served for longer than the login lasts"
            asked = time.monotonic()


def test_a_login_that_has_ended_can_be_renewed(timed: Cluster) -> None:
    """Fails if a client that was silent for too long is turned away although its first request is a handshake."""
    with Raw(timed.address(1, "SHORT")) as silent, Raw(timed.address(1, "SHORT")) as clock:
        login(silent)
        login(clock)
        while served(clock):
            pass
        assert (login(silent).error_code, served(silent)) == (0, True)


def test_a_login_can_be_renewed_once_a_second(timed: Cluster) -> None:
    """Fails if a client may hold the broker up with one login after the other; the refusal costs it nothing."""
    with Raw(timed.address(1, "LONG")) as raw:
        login(raw)
        assert login(raw).error_code == 0
        begun, codes = time.monotonic(), {handshake(raw)}
        while (code := handshake(raw)) != 0:
            codes.add(code)
        assert codes == {34} and time.monotonic() - begun > 0.9
        assert raw.ask(SaslAuthenticateRequest(auth_bytes=ADA), 2).error_code == 0
        assert served(raw)


def test_a_login_without_an_end_is_not_renewed(timed: Cluster) -> None:
    """Fails if a second handshake is anything but refused, on a connection that lives on."""
    with Raw(timed.address(1, "NEVER")) as raw:
        login(raw)
        assert handshake(raw) == 34
        again = raw.ask(SaslAuthenticateRequest(auth_bytes=ADA), 2)
        assert (again.error_code, again.error_message) == (
            34, "SaslAuthenticate request received after successful authentication")
        assert served(raw)


@pytest.mark.parametrize("token, text", [
    (EVE, "Cannot change principals during re-authentication from User.ada: User.eve"),
    (b"\0ada\0y", "Authentication failed: Invalid username or password"),
])
def test_a_connection_stays_the_same_users(timed: Cluster, token: bytes, text: str) -> None:
    """Fails if a connection changes hands, or goes on after a wrong password."""
    with Raw(timed.address(1, "LONG")) as raw:
        login(raw)
        answer = login(raw, token)
        assert (answer.error_code, answer.error_message, answer.session_lifetime_ms) == (58, text, 0)
        assert raw.receive() is None


@pytest.mark.parametrize("request_", [SaslAuthenticateRequest(auth_bytes=b"n,,n=ada,r=abc"),
                                      SaslHandshakeRequest(mechanism="PLAIN"), MetadataRequest(topics=[])])
def test_the_mechanism_stays_the_same(timed: Cluster, request_: Any) -> None:
    """Fails if the second login may be another mechanism's. Its handshake is answered, the next frame ends the connection."""
    with Raw(timed.address(1, "LONG")) as raw:
        login(raw)
        assert handshake(raw, "SCRAM-SHA-256") == 0
        raw.send(encode_request(request_, 1, 1, "raw"))
        assert raw.receive() is None


def test_an_unknown_mechanism_ends_the_connection(timed: Cluster) -> None:
    """Fails if a mechanism that is not offered is answered at the second login as at the first."""
    with Raw(timed.address(1, "LONG")) as raw:
        login(raw)
        raw.send(encode_request(SaslHandshakeRequest(mechanism="GSSAPI"), 1, 1, "raw"))
        assert raw.receive() is None


@pytest.mark.parametrize("request_, version, answer", [
    (MetadataRequest(topics=[]), 12, "00000001 00 00000000 01 00 ffffffff 01 00"),
    (ApiVersionsRequest(), 0, "00000001 0022 00000000"),
])
def test_nothing_else_is_served_in_the_middle_of_a_renewal(timed: Cluster, request_: Any, version: int, answer: str) -> None:
    """Fails if the first login still counts while the second one is under way."""
    with Raw(timed.address(1, "LONG")) as raw:
        login(raw)
        assert handshake(raw) == 0
        raw.send(encode_request(request_, version, 1, "raw"))
        assert raw.receive() == bytes.fromhex(answer)
        assert raw.receive() is None


def test_a_client_writes_on_across_the_ends_of_its_logins(timed: Cluster) -> None:
    """Fails if librdkafka, which renews its logins, loses a record, or if none of its connections outlives a login.

    A busy machine may be late with a renewal: the broker closes that connection, and the client makes a new one.
    """
    address, lost = timed.address(1, "SHORT"), []
    security = Security({"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": "ada",
                         "sasl_plain_password": "x"})
    client = confluent_kafka.Producer({"bootstrap.servers": address, "linger.ms": 100, **security.librdkafka()})
    begun, oldest, port = time.monotonic(), 0.0, int(address.rpartition(":")[2])
    since: dict[int, float] = {}  # of the client's connections, by their own ports
    while oldest < 2 * SHORT_MS / 1000:
        client.produce("doors", b"x", on_delivery=lambda error, _: error and lost.append(error))
        assert client.flush(30) == 0 and not lost
        mine = {each.laddr.port for each in psutil.Process().net_connections("tcp")
                if each.status == psutil.CONN_ESTABLISHED and each.raddr.port == port}
        since = {each: since.get(each, time.monotonic()) for each in mine}
        oldest = time.monotonic() - min(since.values(), default=time.monotonic())
        assert time.monotonic() < begun + 60, f"each connection is closed when its login ends; the last one is {oldest} s old"

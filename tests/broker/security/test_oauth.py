"""Logging in with a token on both engines: each odd message as oauth.txt says, and each family of clients."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from kafka import KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest

from minikafka import Cluster
from minikafka.broker.config.definition import ConfigError
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.server.jaas import BEARER
from minikafka.broker.server.listeners import Listener, check_exposure, logs_in, takes_unproven
from minikafka.broker.server.oauth import UnsecuredTokens
from minikafka.protocol.codec import decode_response, encode_request
from tests import kafka_tools
from tests.broker.security.oauth_tokens import GOOD, first, jwt, messages
from tests.requests import topic
from tests.transcripts import compare
from tests.wire.raw import Raw

OPTIONS = {"LAB": "", "SCOPED": ' unsecuredLoginStringClaim_sub="kafka" unsecuredValidatorRequiredScope="read" '
                                'unsecuredValidatorAllowableClockSkewMs="30000"'}
SETTINGS = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
SHORT_MS = 60_000  # the longest login on SCOPED


@pytest.fixture(scope="module")
def doors(engine: str) -> Iterator[Cluster]:
    """One broker, and two listeners that take tokens, with Kafka's validator of those that are not signed."""
    config: dict[str, object] = {
        "connection.failed.authentication.delay.ms": 1, "listener.name.scoped.oauthbearer.connections.max.reauth.ms": SHORT_MS,
        "listener.security.protocol.map": ",".join(f"{name}:SASL_PLAINTEXT" for name in OPTIONS)}
    for name, options in OPTIONS.items():
        config[f"listener.name.{name.lower()}.sasl.enabled.mechanisms"] = "OAUTHBEARER"
        config[f"listener.name.{name.lower()}.oauthbearer.sasl.jaas.config"] = f"{BEARER} required{options};"
    with Cluster(brokers=1, engine=engine, listeners=dict.fromkeys(OPTIONS, "127.0.0.1"), config=config) as cluster:
        with Raw(cluster.address(1)) as raw:
            raw.create(topic("doors"))
        yield cluster


def answer(raw: Raw, data: bytes) -> SaslAuthenticateResponse | None:
    raw.send(encode_request(SaslAuthenticateRequest(auth_bytes=data), 2, 1, "raw"))
    frame = raw.receive()
    return None if frame is None else decode_response(SaslAuthenticateResponse, 2, memoryview(frame))


def told(raw: Raw, data: bytes) -> str:
    """What a message leads to; a login's length only as far as it is none or long."""
    if (found := answer(raw, data)) is None:
        return "closes"
    lasts = " lasts" if found.session_lifetime_ms > 1000 else ""
    return f"{found.error_code} {found.error_message} {bytes(found.auth_bytes).decode()}".strip() + lasts


def test_each_odd_message(doors: Cluster, rewrite: bool) -> None:
    """Fails if a message that Kafka refuses lets somebody in, or is refused in other words; the client's answer to a refusal of
    its token included."""
    lines = []
    for name in OPTIONS:
        lines.append(f"{name}:{OPTIONS[name]}")
        for what, message in messages(time.time()):
            with Raw(doors.address(1, name)) as raw:
                raw.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
                outcome = told(raw, message)
                after = f", then {told(raw, bytes([1]))}" if "status" in outcome else ""
                lines.append(f"  {what}: {outcome}{after}")
    compare(Path(__file__).with_name("oauth.txt"), "\n".join(lines) + "\n", rewrite)


def test_a_login_ends_with_its_token(doors: Cluster) -> None:
    """Fails if a login outlasts its token, or the listener's own time when that is shorter."""
    for name, seconds, lasts in (("LAB", 600, 600_000), ("SCOPED", 600, SHORT_MS), ("SCOPED", 30, 30_000)):
        with Raw(doors.address(1, name)) as raw:
            raw.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
            found = answer(raw, first(jwt(time.time(), {**GOOD, "exp": seconds, "scope": ["read"]})))
            assert found is not None and lasts - 20_000 < found.session_lifetime_ms <= lasts + 1000


def test_a_token_that_has_ended_within_the_skew(doors: Cluster) -> None:
    """Fails if the login of such a token, which lasts 0 ms, has no end at all (I-LOGIN-2)."""
    with Raw(doors.address(1, "SCOPED")) as raw:
        raw.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        found = answer(raw, first(jwt(time.time(), {**GOOD, "exp": -5, "scope": ["read"]})))
        assert found is not None and (found.error_code, bytes(found.auth_bytes), found.session_lifetime_ms) == (0, b"", 0)
        raw.send(encode_request(MetadataRequest(topics=[]), 1, 1, "raw"))
        assert raw.receive() is None


@pytest.mark.parametrize("user, text", [
    (None, "Authentication failed during re-authentication due to invalid credentials with SASL mechanism OAUTHBEARER"),
    ("eve", "Cannot change principals during re-authentication from User.ada: User.eve"), ("ada", "")])
def test_a_new_token_renews_the_login(doors: Cluster, user: str | None, text: str) -> None:
    """Fails if a client with a newer token must connect anew, or may come back as somebody else."""
    with Raw(doors.address(1, "LAB")) as raw:
        for message in (first(jwt(time.time(), GOOD)), first(jwt(time.time(), {**GOOD, "sub": user})) if user else b"x"):
            assert raw.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1).error_code == 0
            found = answer(raw, message)
        assert found is not None and found.error_message == text


def test_a_second_token_after_one_that_was_refused(doors: Cluster) -> None:
    """Fails if a client cannot try again with another token instead of ending the login."""
    with Raw(doors.address(1, "LAB")) as raw:
        raw.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        assert told(raw, first("abc")) == '0  {"status":"invalid_token"}'
        assert told(raw, first(jwt(time.time(), GOOD))) == "0 lasts"
        assert told(raw, b"\x01").startswith("34")


class Tokens(AbstractTokenProvider):
    """kafka-python's source of tokens."""

    def token(self) -> str:
        return jwt(time.time(), GOOD)


def write_by_each_library(doors: Cluster, tokens: AbstractTokenProvider, **librdkafka: Any) -> None:
    """Write a record by kafka-python and one by librdkafka, each with its own source of tokens."""
    servers = doors.address(1, "LAB")
    with KafkaProducer(bootstrap_servers=servers, sasl_oauth_token_provider=tokens, **SETTINGS) as producer:
        assert producer.send("doors", b"by kafka-python").get(60).topic == "doors"
    other = confluent_kafka.Producer({
        "bootstrap.servers": servers, **{name.replace("_", "."): value for name, value in SETTINGS.items()}, **librdkafka})
    other.produce("doors", b"by librdkafka")
    assert other.flush(60) == 0


def test_clients_log_in_and_write(doors: Cluster) -> None:
    """Fails if one of the client libraries cannot log in with a token."""
    write_by_each_library(doors, Tokens(), **{"enable.sasl.oauthbearer.unsecure.jwt": True,
                                              "sasl.oauthbearer.config": "principal=ada scope=read extension_team=taxis"})


@pytest.mark.judge_first
def test_javas_tool_logs_in(doors: Cluster, tmp_path: Path) -> None:
    """Fails if Java's client, with its own unsigned tokens, cannot log in."""
    settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": f'{BEARER} required unsecuredLoginStringClaim_sub="ada";'}
    (tmp_path / "client").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    done = kafka_tools.run("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", doors.address(1, "LAB"),
                           "--command-config", str(tmp_path / "client"), "--list")
    assert "doors" in done.stdout.split(), done.stdout + done.stderr


# --- what is not signed proves nothing -------------------------------------------------------------------------------


def config(host: str, **more: str) -> BrokerConfig:
    return BrokerConfig({"listeners": f"OUT://{host}:9092", "listener.security.protocol.map": "OUT:SASL_SSL",
                         "sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
                         **{name.replace("_", "."): value for name, value in more.items()}})


def test_a_token_that_is_not_signed_is_no_login() -> None:
    """Fails if strangers reach a listener where they may be whom they like (I-EXP-3)."""
    with pytest.raises(ConfigError, match="nobody there has to log in"):
        check_exposure(config("192.168.1.5"))
    assert check_exposure(config("192.168.1.5", minikafka_allow_remote="true"))
    one = Listener("OUT", "192.168.1.5", 9092, "SASL_SSL")
    assert not logs_in(one, config("192.168.1.5"), MetadataImage())
    assert [takes_unproven(one._replace(host=host), config(host)) for host in ("192.168.1.5", "127.0.0.1")] == [False, True]


@pytest.mark.parametrize("options", [{"AllowableClockSkewMs": "-1"}, {"AllowableClockSkewMs": "x"}, {"RequiredScope": 'a "b'}])
def test_options_that_cannot_be_read(options: dict[str, str]) -> None:
    """Fails if a listener starts with fewer conditions on a token than somebody wrote (I-OAUTH-1)."""
    with pytest.raises(ConfigError, match="unsecuredValidator"):
        UnsecuredTokens("n", {f"unsecuredValidator{name}": value for name, value in options.items()})

"""Delegation tokens on both engines (KIP-48, KIP-373): who gets, sees, renews and ends one, and who logs in with it.

    ada, eve    may nothing            bob      may describe ada's tokens
    carol       may create tokens for ada      boss     a super user
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import CreateAclsRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka import Cluster
from minikafka.broker.authorizer.acl import AclOperation, AclPermissionType, PatternType, ResourceType
from minikafka.broker.server.sasl import SCRAM
from minikafka.cluster.security import LOGIN
from minikafka.protocol.apis import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from tests import kafka_tools
from tests.broker.security.test_sasl import REFUSED, final
from tests.wire.raw import Raw

MAX_MS, RENEW_MS = 500_000, 100_000
PEOPLE = ("ada", "eve", "bob", "carol", "boss")
LISTS = [CreateAclsRequest.AclCreation(
            resource_type=ResourceType.USER, resource_name="User:ada", resource_pattern_type=PatternType.LITERAL,
            principal=f"User:{who}", host="*", operation=what, permission_type=AclPermissionType.ALLOW)
         for who, what in (("bob", AclOperation.DESCRIBE_TOKENS), ("carol", AclOperation.CREATE_TOKENS))]
Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def desk(engine: str) -> Iterator[Cluster]:
    """Two brokers that give tokens, with access lists."""
    names = ["PLAIN", *SCRAM]
    config = {"listener.security.protocol.map": "LAB:SASL_PLAINTEXT",
              "listener.name.lab.sasl.enabled.mechanisms": ",".join(names),
              "connection.failed.authentication.delay.ms": 1, "delegation.token.secret.key": "a secret",
              "delegation.token.max.lifetime.ms": MAX_MS, "delegation.token.expiry.time.ms": RENEW_MS,
              "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
              "super.users": "User:ANONYMOUS;User:boss"}
    for name in names:
        users = "".join(f' user_{who}="x"' for who in PEOPLE) if name == "PLAIN" else ""
        config[f"listener.name.lab.{name.lower()}.sasl.jaas.config"] = f"{LOGIN[name]} required{users};"
    with Cluster(brokers=2, engine=engine, listeners={"LAB": "127.0.0.1"}, config=config) as cluster:
        with Raw(cluster.address(1)) as raw:
            made = raw.ask(CreateAclsRequest(creations=LISTS), 3)
            assert {row.error_code for row in made.results} == {0}
        yield cluster


@contextmanager
def by(cluster: Cluster, user: str, broker: int = 1) -> Iterator[Raw]:
    """A connection on which this user has logged in by PLAIN."""
    with Raw(cluster.address(broker, "LAB")) as raw:
        raw.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert raw.ask(SaslAuthenticateRequest(auth_bytes=f"\0{user}\0x".encode()), 2).error_code == 0
        yield raw


def create(raw: Raw, *renewers: str, owner: str | None = None, lifetime_ms: int = -1, version: int = 3) -> Any:
    row = CreateDelegationTokenRequest.CreatableRenewers
    named = [row(principal_type=kind, principal_name=name) for kind, _, name in (one.partition(":") for one in renewers)]
    return raw.ask(CreateDelegationTokenRequest(owner_principal_type="User" if owner else None, owner_principal_name=owner,
                                                renewers=named, max_lifetime_ms=lifetime_ms), version)


def renew(raw: Raw, hmac: bytes, period_ms: int = -1) -> tuple[int, int]:
    found = raw.ask(RenewDelegationTokenRequest(hmac=bytes(hmac), renew_period_ms=period_ms), 2)
    return found.error_code, found.expiry_timestamp_ms


def expire(raw: Raw, hmac: bytes, period_ms: int = -1) -> tuple[int, int]:
    found = raw.ask(ExpireDelegationTokenRequest(hmac=bytes(hmac), expiry_time_period_ms=period_ms), 2)
    return found.error_code, found.expiry_timestamp_ms


def seen(raw: Raw, *owners: str, every: bool = False) -> list[Any]:
    row = DescribeDelegationTokenRequest.DescribeDelegationTokenOwner
    found = raw.ask(DescribeDelegationTokenRequest(
        owners=None if every else [row(principal_type="User", principal_name=owner) for owner in owners]), 3)
    assert found.error_code == 0
    return list(found.tokens)


def login(raw: Raw, name: str, password: bytes, mechanism: str = "SCRAM-SHA-256", extension: str = ",tokenauth=true") -> Any:
    """Log in by SCRAM, with the id and the hmac of a token; return the answer to the last message that was answered."""
    raw.ask(SaslHandshakeRequest(mechanism=mechanism), 1)
    first = f"n,,n={name},r=client{extension}"
    told = raw.ask(SaslAuthenticateRequest(auth_bytes=first.encode()), 2)
    if told.error_code:
        return told
    proof = final(SCRAM[mechanism][1], first, bytes(told.auth_bytes), base64.b64encode(bytes(password)).decode())
    return raw.ask(SaslAuthenticateRequest(auth_bytes=proof), 2)


def test_a_token_is_made(desk: Cluster) -> None:
    """Fails if a field of the answer is another one's, or a time is not within both limits (I-TOKEN-1)."""
    with by(desk, "ada") as raw:
        for lifetime_ms, lasts, renewed in ((-1, MAX_MS, RENEW_MS), (0, MAX_MS, RENEW_MS), (50_000, 50_000, 50_000),
                                            (1 << 62, MAX_MS, RENEW_MS)):
            for version in (1, 2, 3):
                made = create(raw, "User:bob", lifetime_ms=lifetime_ms, version=version)
                begun = made.issue_timestamp_ms
                assert abs(begun - time.time() * 1000) < 20_000
                assert (made.error_code, made.max_timestamp_ms - begun, made.expiry_timestamp_ms - begun) == (0, lasts, renewed)
                assert (made.principal_type, made.principal_name, len(made.hmac), len(made.token_id)) == ("User", "ada", 64, 22)
        assert (made.token_requester_principal_type, made.token_requester_principal_name) == ("User", "ada")


def test_who_may_make_one(desk: Cluster) -> None:
    """Fails if somebody gets a token in another's name, or a renewer is no user."""
    with by(desk, "eve") as raw:
        refused = create(raw, owner="ada")
        assert (refused.error_code, refused.principal_name, refused.token_requester_principal_name) == (65, "ada", "eve")
        assert create(raw, "Group:x").error_code == 67
        assert create(raw, "User:x", "Group:x").error_code == 67
    for user in ("carol", "boss"):
        with by(desk, user) as raw:
            made = create(raw, owner="ada")
            assert (made.error_code, made.principal_name, made.token_requester_principal_name) == (0, "ada", user)
    with Raw(desk.address(1)) as raw:
        assert create(raw).error_code == 64


def test_who_sees_which(desk: Cluster) -> None:
    """Fails if a token is shown to others than its owner, requester and renewers, and those with the right to describe."""
    with by(desk, "carol") as raw:
        made = create(raw, "User:dan", owner="ada")

    def shown(user: str, *owners: str, every: bool = False) -> bool:
        with by(desk, user) as raw:
            return any(token.token_id == made.token_id for token in seen(raw, *owners, every=every))

    desk.wait(lambda: shown("ada", every=True), 60)
    assert {user for user in PEOPLE if shown(user, every=True)} == {"ada", "bob", "carol", "boss"}
    assert {user for user in PEOPLE if shown(user, "eve", "ada")} == {"ada", "bob", "carol", "boss"}
    assert {user for user in PEOPLE if shown(user, "dan")} == {"ada", "bob", "carol", "boss"}
    assert not any(shown(user, "eve") or shown(user) for user in PEOPLE)
    with by(desk, "ada", broker=2) as raw:
        desk.wait(lambda: any(token.token_id == made.token_id for token in seen(raw, every=True)), 60)
        token = next(token for token in seen(raw, every=True) if token.token_id == made.token_id)
    assert (token.principal_name, token.token_requester_principal_name, bytes(token.hmac)) == ("ada", "carol", bytes(made.hmac))
    assert (token.issue_timestamp, token.expiry_timestamp, token.max_timestamp) == (
        made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms)
    assert [(one.principal_type, one.principal_name) for one in token.renewers] == [("User", "dan")]


def test_who_may_renew_and_end_it(desk: Cluster) -> None:
    """Fails if a stranger keeps a token alive or ends it, or a time leaves the token's own limits."""
    with by(desk, "carol") as raw, by(desk, "eve") as stranger, by(desk, "bob") as renewer:
        made = create(raw, "User:bob", owner="ada", lifetime_ms=300_000)
        most = made.max_timestamp_ms
        desk.wait(lambda: renew(stranger, made.hmac) != (62, 0), 60)
        for one in (renew, expire):
            assert one(stranger, b"no token") == (62, 0)
            assert one(stranger, made.hmac) == (63, 0)
            assert one(raw, made.hmac, 1000) == (63, 0), "who asked for it for another one is no renewer"
        code, until = renew(renewer, made.hmac)
        assert code == 0 and 0 <= until - made.expiry_timestamp_ms < 30_000
        code, until = renew(renewer, made.hmac, 50_000)
        assert code == 0 and until < made.expiry_timestamp_ms
        assert expire(renewer, made.hmac, 10_000_000) == (0, most)
        code, until = expire(renewer, made.hmac, 0)
        assert code == 0 and until < made.expiry_timestamp_ms
        desk.wait(lambda: renew(renewer, made.hmac) == (66, 0), 60)
        assert expire(renewer, made.hmac, 1000) == (66, 0)
        assert expire(renewer, made.hmac)[0] == 0
        desk.wait(lambda: renew(renewer, made.hmac) == expire(renewer, made.hmac) == (62, 0), 60)


@pytest.mark.parametrize("mechanism", SCRAM)
def test_a_token_logs_its_owner_in(desk: Cluster, mechanism: str) -> None:
    """Fails if a login with a token is another user's, outlasts the token, or may make more tokens."""
    with by(desk, "carol") as raw:
        made = create(raw, owner="ada", lifetime_ms=60_000)
    for broker in (1, 2):
        desk.wait(lambda broker=broker: in_by(desk, broker, made, mechanism), 60)
        with Raw(desk.address(broker, "LAB")) as raw:
            answer = login(raw, made.token_id, made.hmac, mechanism)
            assert answer.error_code == 0 and 0 < answer.session_lifetime_ms <= 60_000
            assert create(raw).error_code == 64
            assert renew(raw, made.hmac) == expire(raw, made.hmac) == (64, -1)
            found = raw.ask(DescribeDelegationTokenRequest(owners=None), 3)
            assert (found.error_code, found.tokens) == (64, [])
            assert raw.ask(MetadataRequest(topics=[]), 1).brokers


def in_by(desk: Cluster, broker: int, made: Any, mechanism: str = "SCRAM-SHA-256") -> bool:
    with Raw(desk.address(broker, "LAB")) as raw:
        return login(raw, made.token_id, made.hmac, mechanism).error_code == 0


def test_who_has_no_token_stays_outside(desk: Cluster) -> None:
    """Fails if an id without its hmac, a wrong hmac, a token that is not there, or one that was ended logs in."""
    with by(desk, "ada") as raw:
        made = create(raw)
        desk.wait(lambda: in_by(desk, 1, made), 60)
        for name, password, extension in ((made.token_id, b"x" * 64, ",tokenauth=true"), ("nobody", made.hmac, ",tokenauth=true"),
                                          (made.token_id, made.hmac, ""), (made.token_id, made.hmac, ",tokenauth=false")):
            with Raw(desk.address(1, "LAB")) as other:
                answer = login(other, name, password, extension=extension)
                assert (answer.error_code, answer.error_message) == (58, REFUSED.format("SCRAM-SHA-256"))
        assert expire(raw, made.hmac)[0] == 0
        desk.wait(lambda: not in_by(desk, 1, made), 60)


def test_a_token_that_has_expired(desk: Cluster) -> None:
    """Fails if ours still logs anybody in. Kafka's may, until its next look, an hour apart, removes the token."""
    with by(desk, "ada") as raw:
        made = create(raw, lifetime_ms=700)
        desk.wait(lambda: renew(raw, made.hmac) == (66, 0), 60)
        assert desk.engine == "apache" or not in_by(desk, 1, made)


def run(desk: Cluster, folder: Path, main: str, settings: dict[str, str], *arguments: str) -> str:
    """Run one of Java's tools with these settings in --command-config; return what it printed, errors too."""
    lab = {"security.protocol": "SASL_PLAINTEXT", **settings}
    (folder / "client").write_text("".join(f"{name}={value}\n" for name, value in lab.items()))
    done = kafka_tools.run(f"org.apache.kafka.tools.{main}", "--bootstrap-server", desk.address(1, "LAB"),
                           "--command-config", str(folder / "client"), *arguments)
    return done.stdout + done.stderr


def plain(user: str) -> dict[str, str]:
    return {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{LOGIN["PLAIN"]} required username="{user}" password="x";'}


@pytest.mark.judge_first
def test_javas_tool_gets_a_token_and_logs_in_with_it(desk: Cluster, tmp_path: Path) -> None:
    """Fails if Java's tool cannot use a token from beginning to end."""
    told = run(desk, tmp_path, "DelegationTokenCommand", plain("ada"), "--create", "--max-life-time-period", "-1")
    row = next(line.split() for line in told.splitlines() if "User:ada" in line)
    token = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config":
             f'{LOGIN["SCRAM-SHA-512"]} required username="{row[0]}" password="{row[1]}" tokenauth="true";'}
    assert "Exception" not in run(desk, tmp_path, "TopicCommand", token, "--list")


@pytest.mark.judge_first
def test_javas_tool_writes_access_lists(desk: Cluster, tmp_path: Path) -> None:
    """Fails if `kafka-acls` cannot add, show and remove a list, or if it can for somebody who may not."""
    about = ["--topic", "t", "--allow-principal", "User:eve", "--operation", "Read"]
    line = "(principal=User:eve, host=*, operation=READ, permissionType=ALLOW)"
    assert line in run(desk, tmp_path, "AclCommand", plain("boss"), "--add", *about)
    desk.wait(lambda: line in run(desk, tmp_path, "AclCommand", plain("boss"), "--list", "--topic", "t"), 60)
    assert "ClusterAuthorizationException" in run(desk, tmp_path, "AclCommand", plain("eve"), "--list", "--topic", "t")
    run(desk, tmp_path, "AclCommand", plain("boss"), "--remove", "--force", *about)
    desk.wait(lambda: line not in run(desk, tmp_path, "AclCommand", plain("boss"), "--list", "--topic", "t"), 60)

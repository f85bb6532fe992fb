"""Logging in with a signed token on both engines: odd messages as signed.txt says, keys that change, families of clients."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol.sasl import SaslHandshakeRequest

from minikafka import Cluster
from minikafka.broker.config.definition import ConfigError
from minikafka.broker.config.effective import HANDLER, BrokerConfig
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.server.jaas import BEARER
from minikafka.broker.server.listeners import Listener, check_exposure, logs_in
from minikafka.broker.server.login import URL, VALIDATOR, check_logins
from minikafka.broker.server.signing_keys import WebKeys, keys_at
from tests.broker.security.oauth_tokens import GOOD, first
from tests.broker.security.signed_tokens import STRICT, claims, jwk, jwks, messages, signed
from tests.broker.security.test_oauth import answer, told, write_by_each_library
from tests.requests import topic
from tests.transcripts import compare
from tests.wire.consumer_groups.consumer_protocol import until
from tests.wire.raw import Raw

RULES = {"expected.audience": "kafka,other", "expected.issuer": "https://id.example", "clock.skew.seconds": "0",
         "scope.claim.name": "scp", "sub.claim.name": "client"}
KNOWN = ("one", "ES256", "ES384", "ES512", "EdDSA", "shared", "short", "sealed")


class Web:
    """A web server on this machine that serves a JWKS; `text` None: it fails."""

    def __init__(self) -> None:
        self.text: str | None = jwks("one")
        self.asked = 0
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.asked += 1
                self.send_response(200 if web.text is not None else 500)
                self.end_headers()
                self.wfile.write((web.text or "").encode())

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __enter__(self) -> Web:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "jwks.json"
    file.write_text(jwks(*KNOWN))
    return file


@pytest.fixture(scope="module")
def doors(engine: str, keys: Path, web: Web) -> Iterator[Cluster]:
    """One broker, and listeners that take signed tokens: any; those of one issuer for one audience; by the keys of a web server,
    which are read again twice a second, or only if one is missing."""
    names, web.text = ("LAB", "STRICT", "WEB", "LATE"), jwks("one")
    config: dict[str, object] = {"connection.failed.authentication.delay.ms": 1,
                                 "listener.security.protocol.map": ",".join(f"{name}:SASL_PLAINTEXT" for name in names)}
    for name in names:
        config |= settings(name, web.url if name in ("WEB", "LATE") else keys.as_uri())
    rules = {"strict": RULES, "web": {"jwks.endpoint.refresh.ms": 500}, "late": {"jwks.endpoint.retry.backoff.ms": 10}}
    config |= {f"listener.name.{listener}.oauthbearer.sasl.oauthbearer.{name}": value
               for listener, its in rules.items() for name, value in its.items()}
    with Cluster(brokers=1, engine=engine, listeners=dict.fromkeys(names, "127.0.0.1"), config=config) as cluster:
        with Raw(cluster.address(1)) as raw:
            raw.create(topic("doors"))
        yield cluster


def settings(name: str, url: str) -> dict[str, object]:
    """The settings of a listener whose tokens are checked by the keys at `url`."""
    return {f"listener.name.{name.lower()}.{what}": value for what, value in {
        "sasl.enabled.mechanisms": "OAUTHBEARER", "oauthbearer.sasl.jaas.config": f"{BEARER} required;", HANDLER: VALIDATOR,
        "oauthbearer." + URL: url}.items()}


def shown(doors: Cluster, name: str, message: bytes) -> str:
    """What a message leads to at a listener, and what then the client's answer to a refusal of its token."""
    with Raw(doors.address(1, name)) as raw:
        raw.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        outcome = told(raw, message)
        return outcome + (f", then {told(raw, bytes([1]))}" if "status" in outcome else "")


def test_each_odd_message(doors: Cluster, rewrite: bool) -> None:
    """Fails if a token that Kafka refuses lets somebody in, or is refused in other words (I-OAUTH-1, I-OAUTH-2)."""
    lines = []
    for name, pairs in (("LAB", claims(GOOD)), ("STRICT", claims(STRICT)), ("LAB", messages(time.time()))):
        lines += [f"{name}:", *(f"  {what}: {shown(doors, name, message)}" for what, message in pairs)]
    compare(Path(__file__).with_name("signed.txt"), "\n".join(lines) + "\n", rewrite)


def outcome(doors: Cluster, listener: str, by: str, **more: Any) -> str:
    """What a good token of this key leads to."""
    with Raw(doors.address(1, listener)) as raw:
        raw.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        text = told(raw, first(signed(time.time(), by=by, **more)))
    return {"0 lasts": "in", '0  {"status":"invalid_token"}': "refused"}[text]


def test_a_file_of_keys_that_changes(doors: Cluster, keys: Path) -> None:
    """Fails if keys that were withdrawn let somebody in, or new ones nobody (I-JWKS-1)."""
    begin, old = os.stat(keys).st_mtime, keys.read_text()
    for number, (text, expected) in enumerate([
            (old, ["in", "refused"]), (jwks("two"), ["refused", "in"]), ("{", ["refused"] * 2), ("{}", ["refused"] * 2),
            (None, ["refused"] * 2), (old, ["in", "refused"])]):
        if text is None:
            keys.unlink()
        else:
            keys.write_text(text)
            os.utime(keys, (begin + number, begin + number))
        assert [outcome(doors, "LAB", by) for by in ("one", "two")] == expected, text


@contextmanager
def instead(keys: Path, text: str) -> Iterator[None]:
    """Let the file of keys have another text for a while."""
    old, modified = keys.read_text(), os.stat(keys).st_mtime

    def write(text: str, later: int) -> None:
        keys.write_text(text)
        os.utime(keys, (modified + later, modified + later))

    write(text, 1)
    try:
        yield
    finally:
        write(old, 2)


@pytest.mark.parametrize("acts, expected", [
    (["verify"], "in"), (["sign"], "refused"), (None, "in"), ("verify", "refused"), (1, "refused"), ([1, "verify"], "in")])
def test_a_key_that_is_no_good_is_left_out(doors: Cluster, keys: Path, acts: object, expected: str) -> None:
    """Fails if one odd key of a file takes the others with it, or lets somebody in."""
    odd = [{**jwk("one"), "key_ops": acts}, {**jwk("ES256"), "x": 7}, {"kty": ["RSA"]}, None]
    with instead(keys, json.dumps({"keys": [*odd, jwk("two")]})):
        assert [outcome(doors, "LAB", by) for by in ("one", "two")] == [expected, "in"]


def test_a_token_that_names_no_key(doors: Cluster, keys: Path) -> None:
    """Fails if a key of another kind is taken for it (I-OAUTH-2)."""
    with instead(keys, jwks("ES256", "ES384", "one")):
        assert [outcome(doors, "LAB", by, algorithm=algorithm, kid=None)
                for by, algorithm in (("one", "RS256"), ("ES384", "ES384"))] == ["in", "in"]


def test_keys_of_a_web_server(doors: Cluster, web: Web) -> None:
    """Fails if new keys are not read in time, or if a server that fails takes the old ones with it (I-JWKS-1)."""
    assert [outcome(doors, name, "one") for name in ("WEB", "LATE")] == ["in", "in"]
    assert outcome(doors, "WEB", "ES256", algorithm="ES256", kid=None) == "refused"
    web.text = jwks("one", "two")
    until(lambda: outcome(doors, "WEB", "two") == "in")  # refresh.ms
    assert outcome(doors, "LATE", "two") == "refused"
    until(lambda: outcome(doors, "LATE", "two") == "in")  # the key was missing
    web.text, web.asked = None, 0
    until(lambda: web.asked > 1)
    assert [outcome(doors, name, "one") for name in ("WEB", "LATE")] == ["in", "in"]


def test_a_web_server_that_fails_is_asked_again_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    """Fails if one bad answer costs a whole time between two readings, or if a server is asked for ever (I-JWKS-1)."""
    with Web() as web:
        long, short = WebKeys(web.url, 3600, 0.001, 600), WebKeys(web.url, 3600, 0, 0)
        web.text, web.asked = None, 0
        short.missed("two")
        until(lambda: "not updating local JWKS cache" in caplog.text)
        assert web.asked == 1 and [key.name for key in short.now()] == ["one"]
        long.missed("two")
        until(lambda: web.asked > 3)
        web.text = jwks("one", "two")
        until(lambda: len(long.now()) == 2)
        short.missed("three")
        until(lambda: len(short.now()) == 2)


def test_a_login_ends_with_its_token(doors: Cluster) -> None:
    """Fails if a login outlasts its token (KIP-368)."""
    with Raw(doors.address(1, "LAB")) as raw:
        raw.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        found = answer(raw, first(signed(time.time(), {**GOOD, "exp": 600})))
        assert found is not None and 580_000 < found.session_lifetime_ms <= 600_000


class Tokens(AbstractTokenProvider):
    """kafka-python's source of tokens."""

    def __init__(self, by: str, algorithm: str) -> None:
        self._by, self._algorithm = by, algorithm

    def token(self) -> str:
        return signed(time.time(), by=self._by, algorithm=self._algorithm)


@pytest.mark.parametrize("by, algorithm", [("one", "RS256"), ("ES256", "ES256")])
def test_clients_log_in_and_write(doors: Cluster, by: str, algorithm: str) -> None:
    """Fails if one of the client libraries cannot log in with a signed token."""
    tokens = Tokens(by, algorithm)
    write_by_each_library(doors, tokens, oauth_cb=lambda _: (tokens.token(), time.time() + 600))


# --- what counts as a login, and what does not start -------------------------------------------------------------------


def config(**more: str) -> BrokerConfig:
    """A listener on an open address with signed tokens, and what differs from that."""
    base = {"listeners": "INTERNAL://127.0.0.1:9091,OUT://192.168.1.5:9092", "listener.security.protocol.map":
            "INTERNAL:PLAINTEXT,OUT:SASL_SSL", **settings("OUT", "file:///keys")}
    return BrokerConfig({name: value for name, value in {**base, **more}.items() if value is not None})


def test_a_signed_token_is_a_login() -> None:
    """Fails if a listener on an open address cannot have signed tokens (I-EXP-3)."""
    check_logins(config())
    assert check_exposure(config()) == [] and logs_in(Listener("OUT", "192.168.1.5", 9092, "SASL_SSL"), config(), MetadataImage())


@pytest.mark.parametrize("more", [
    {f"listener.name.out.{HANDLER}": None}, {f"listener.name.out.{HANDLER}": "com.example.Own"},
    {f"listener.name.out.oauthbearer.{URL}": None}, {"listener.name.out.oauthbearer.sasl.oauthbearer.sub.claim.name": " "},
    {"sasl.oauthbearer.scope.claim.name": ""}, {"listener.name.out.sasl.oauthbearer.clock.skew.seconds": "soon"}])
def test_settings_that_check_no_signature(more: dict[str, str]) -> None:
    """Fails if a broker starts whose tokens are not checked as somebody meant it."""
    with pytest.raises(ConfigError, match="sasl"):
        check_logins(config(**more))


@pytest.mark.parametrize("url, why", [
    ("keys.json", "malformed: no protocol"), ("ftp://x/keys", "invalid protocol"), ("file:///gone", "doesn't exist"),
    ("", "no protocol"), ("file:///tmp", "a directory"), (Path(__file__).as_uri(), "Extra data"),
    ("http://127.0.0.1:1/keys", "Could not refresh JWKS")])
def test_keys_that_cannot_be_read(url: str, why: str) -> None:
    """Fails if a broker starts without the keys that its tokens need."""
    with pytest.raises(ConfigError, match=why):
        keys_at(lambda name: url if name == URL else 1)

"""The login of a client, without sockets: the examples of the RFCs, and how everything else is turned away."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from minikafka.broker.config.definition import ConfigError
from minikafka.broker.server.sasl import INVALID, OTHER_ID, SCRAM, SaslSession, SaslStep, ScramKeys, Users, plain_users
from minikafka.protocol.errors import Err

MECHANISMS = ("PLAIN", *SCRAM)
REFUSED = "Authentication failed during authentication due to invalid credentials with SASL mechanism {}"


def kept(digest: str, password: str, salt: bytes, iterations: int = 4096) -> ScramKeys:
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)
    stored = hashlib.new(digest, hmac.digest(salted, b"Client Key", digest)).digest()
    return ScramKeys(salt, stored, hmac.digest(salted, b"Server Key", digest), iterations)


def session(mechanism: str, nonce: str = "server", salt: bytes = b"salt" * 4, iterations: int = 4096) -> SaslSession:
    scram = {("user", n): kept(digest, "pencil", salt, iterations) for n, digest in SCRAM.values()}
    scram |= {("a,b=c", n): keys for (_, n), keys in list(scram.items())}
    made = SaslSession(Users(MECHANISMS, {"ada": "secret"}, lambda user, n: scram.get((user, n)), b"of the server",
                             lambda n: scram["user", n]), nonce)
    assert made.handshake(mechanism) == SaslStep()
    return made


def final(digest: str, first: str, told: bytes, password: str, nonce: str | None = None) -> bytes:
    """The client's last message, by the RFC."""
    parts = dict(part.split("=", 1) for part in told.decode().split(","))
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), base64.b64decode(parts["s"]), int(parts["i"]))
    key = hmac.digest(salted, b"Client Key", digest)
    bare = f"c=biws,r={nonce or parts['r']}"
    signed = f"{first.removeprefix('n,,')},{told.decode()},{bare}".encode()
    signature = hmac.digest(hashlib.new(digest, key).digest(), signed, digest)
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    return f"{bare},p={base64.b64encode(proof).decode()}".encode()


def test_the_example_of_rfc_7677() -> None:
    """Fails if SCRAM-SHA-256 is not that of the RFC, byte by byte."""
    one = session("SCRAM-SHA-256", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    first = one.token(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first == SaslStep(b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    last = one.token(b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                     b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    assert last == SaslStep(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "user")
    assert one.token(b"").code is Err.ILLEGAL_SASL_STATE


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("user, name", [("user", "user"), ("a=2Cb=3Dc", "a,b=c")])
def test_both_hashes_let_a_user_in(mechanism: str, user: str, name: str) -> None:
    """Fails if a hash is another one's, or a comma in a name is lost."""
    one, first = session(mechanism), f"n,,n={user},r=client"
    told = one.token(first.encode()).answer
    assert one.token(final(SCRAM[mechanism][1], first, told, "pencil")).user == name


@pytest.mark.parametrize("mechanism", SCRAM)
def test_a_wrong_password_and_an_unknown_user_are_told_the_same(mechanism: str) -> None:
    """Fails if a stranger can find out who has a password (I-SASL-2)."""
    told = []
    for user in ("user", "nobody", "nobody"):
        one, first = session(mechanism), f"n,,n={user},r=client"
        answer = one.token(first.encode())
        assert answer.code is Err.NONE
        told.append(answer.answer)
        assert one.token(final(SCRAM[mechanism][1], first, told[-1], "wrong")) == SaslStep(
            code=Err.SASL_AUTHENTICATION_FAILED, text=REFUSED.format(mechanism))
    assert told[1] == told[2] != told[0] and len(told[0]) == len(told[1])


@pytest.mark.parametrize("salt, iterations", [(b"d0yq4vmtqn5v9ay3apsz1a0pvv", 8192), (bytes(range(64)), 4096), (b"", 16384)])
def test_an_unknown_user_looks_like_a_known_one(salt: bytes, iterations: int) -> None:
    """Fails if a stranger tells by the length or the letters of a salt, or by the iterations, who has a password (I-SASL-2)."""
    known, unknown = (dict(part.split("=", 1) for part in session("SCRAM-SHA-256", "", salt, iterations).token(
        f"n,,n={user},r=client".encode()).answer.decode().split(",")) for user in ("user", "nobody"))
    assert base64.b64decode(known["s"]) == salt and known["i"] == unknown["i"] == str(iterations)
    made = base64.b64decode(unknown["s"])
    assert len(made) == len(salt) and made.isalnum() == salt.isalnum() and (not salt or made != salt)


def test_the_last_message_must_have_the_nonce_of_this_session() -> None:
    """Fails as CVE-2024-56128 did: the proof is right, the nonce is another one's (I-SASL-3)."""
    one, first = session("SCRAM-SHA-256"), "n,,n=user,r=client"
    told = one.token(first.encode()).answer
    assert one.token(final("sha256", first, told, "pencil", "clientother")).code is Err.SASL_AUTHENTICATION_FAILED
    assert one.token(final("sha256", first, told, "pencil")).code is Err.ILLEGAL_SASL_STATE


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"n,,", b"p=tls-unique,,n=user,r=a", b"y,,n=user,r=a", b"n,,n=,r=a",
                                  b"n,,n=us=er,r=a", b"n,,m=ext,n=user,r=a", b"n" * 100_000])
def test_garbage_is_refused(data: bytes) -> None:
    """Fails if bytes that are no first message of SCRAM raise an error, or are answered."""
    assert session("SCRAM-SHA-512").token(data) == SaslStep(
        code=Err.SASL_AUTHENTICATION_FAILED, text=REFUSED.format("SCRAM-SHA-512"))


@pytest.mark.parametrize("data, text", [
    (b"\0ada\0wrong", INVALID), (b"\0nobody\0secret", INVALID), (b"eve\0ada\0secret", OTHER_ID),
    (b"\0\0secret", "Authentication failed: username not specified"),
    (b"\0ada\0", "Authentication failed: password not specified"),
    (b"\xff\0\0", "Authentication failed: username not specified"), (b"\0ada\0\xff", INVALID),
    (b"ada", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
    (b"\0ada\0secret\0more\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
])
def test_plain_refuses_in_kafkas_words(data: bytes, text: str) -> None:
    """Fails if a wrong login enters, or the text tells more than Kafka's."""
    assert session("PLAIN").token(data) == SaslStep(code=Err.SASL_AUTHENTICATION_FAILED, text=text)


def test_plain_lets_a_user_in_once() -> None:
    """Fails if a right password is refused, or a session can be used a second time."""
    for data in (b"\0ada\0secret", b"ada\0ada\0secret"):
        one = session("PLAIN")
        assert one.token(data) == SaslStep(user="ada")
        assert one.token(data).user is None
        assert one.handshake("PLAIN").code is Err.ILLEGAL_SASL_STATE


def test_a_mechanism_comes_first() -> None:
    """Fails if a token counts before the handshake, or a mechanism that is not offered is begun (I-SASL-1)."""
    users = Users(("PLAIN",), {"ada": "secret"}, lambda *_: None, b"s")
    one = SaslSession(users, "n")
    assert one.token(b"\0ada\0secret").code is Err.ILLEGAL_SASL_STATE
    assert one.handshake("PLAIN").code is Err.ILLEGAL_SASL_STATE
    assert SaslSession(users, "n").handshake("SCRAM-SHA-256") == SaslStep(
        code=Err.UNSUPPORTED_SASL_MECHANISM, text="Unsupported SASL mechanism SCRAM-SHA-256")


MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_users_are_read_from_kafkas_jaas_text() -> None:
    """Fails if a user or a letter of a password is lost."""
    text = f'{MODULE} required username="admin" password="x" user_ada="a;\\" b=" user_eve=plain ;'
    assert plain_users("n", text) == {"ada": 'a;" b=', "eve": "plain"}


@pytest.mark.parametrize("text", ["", MODULE, f"{MODULE} required", f"{MODULE} optional;", f'{MODULE} required user_a="b;',
                                  f'{MODULE} required user_a="b"; more', "other.Module required;"])
def test_other_texts_are_refused_without_a_password_in_the_message(text: str) -> None:
    """Fails if a text that Kafka refuses starts a listener without users, or the log shows a password."""
    with pytest.raises(ConfigError, match="PlainLoginModule required") as refused:
        plain_users("listener.name.lab.plain.sasl.jaas.config", text)
    assert 'user_a="b' not in str(refused.value)

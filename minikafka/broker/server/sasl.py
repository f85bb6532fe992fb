"""SASL, the login of a client: a state machine without sockets, for PLAIN, SCRAM and OAUTHBEARER (RFC 4616, 5802, 7677, 7628).

    SaslSession: handshake(mechanism), token(bytes)  ->  SaslStep: the answer, who logged in, or the code and text of a failure

Owns: the login of one connection.
Invariants
  I-SASL-1  nobody is logged in but by the password of the user, the proof of it, or a token that counts, in one pass through
            the mechanism; after a failure every event fails.
  I-SASL-2  an unknown user gets the same steps and the same texts as one with a wrong password, and the same salt each time,
            which looks like that of a user whom there is.
  I-SASL-3  secrets are compared in constant time; the nonce of the last message is that of this session.
What Kafka does differently: its SCRAM refuses an unknown user at the first message, so a stranger learns who has a password.
Source: org.apache.kafka.common.security.authenticator.SaslServerAuthenticator, plain.internals.PlainSaslServer,
scram.internals.ScramSaslServer.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from minikafka.broker.server import jaas
from minikafka.broker.server.listeners import BEARER
from minikafka.broker.server.oauth import Bearer, FirstMessage, TokenRefusedError
from minikafka.protocol.errors import Err

LARGEST_TOKEN = 524288  # bytes of a request before the login (sasl.server.max.receive.size)
SCRAM = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}  # their numbers in the metadata, and their hashes
ITERATIONS = 4096  # of tokens
JAVAS_SALT = b"0123456789abcdefghijklmnopqrstuvwxyz"
INVALID = "Authentication failed: Invalid username or password"
OTHER_ID = "Authentication failed: Client requested an authorization id that is different from username"
_NAME = r"(?:[^=,]|=2C|=3D)+"
_FIRST = re.compile(rf"(?P<gs2>n,(?:a=(?P<id>{_NAME}))?,)"
                    rf"(?P<bare>n=(?P<user>{_NAME}),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?P<more>,.*)?)")
_FINAL = re.compile(r"(?P<bare>c=(?P<binding>[^,]+),r=(?P<nonce>[^,]+)(?:,.*)?),p=(?P<proof>[^,]+)")


class ScramKeys(NamedTuple):
    """A password as a server keeps it."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class SaslStep(NamedTuple):
    """The outcome of one event: an answer, a login, or a failure."""

    answer: bytes = b""
    user: str | None = None
    code: Err = Err.NONE
    text: str | None = None
    ends_ms: int | None = None  # of what the user has shown, in ms since 1970; None: it has no end


class TokenLogin(NamedTuple):
    """A delegation token as a login needs it: whose it is, its end in ms since 1970, and its password."""

    owner: str
    ends_ms: int
    keys: ScramKeys


class Users(NamedTuple):
    """The users of one listener, and the mechanisms by which they log in."""

    mechanisms: tuple[str, ...]
    plain: Mapping[str, str]  # user: password
    scram: Callable[[str, int], ScramKeys | None]
    secret: bytes  # of this server: makes the salts of unknown users
    any_scram: Callable[[int], ScramKeys | None] = lambda _: None  # of some user with this mechanism, whom unknown ones resemble
    token: Callable[[str, int], TokenLogin | None] = lambda *_: None  # the delegation token with this id, for a mechanism
    bearer: Callable[[str], Bearer] | None = None  # says whose a token is; TokenRefusedError
    lifetime_ms: Callable[[str, int | None], int | None] = lambda *_: None  # of such a login, in ms; None: no end


class SaslSession:
    """The login of one connection; `nonce` is new for each."""

    def __init__(self, users: Users, nonce: str, what: str = "authentication") -> None:
        self.users, self.nonce, self._what = users, nonce, what
        self.mechanism: str | None = None
        self.user: str | None = None  # who has logged in
        self.failed = self.done = False
        self.by_token = False  # SCRAM: with a delegation token
        self._ends_ms: int | None = None  # of that token
        self._told: str | None = None  # OAUTHBEARER: what was sent about a token that does not count
        self._first: tuple[str, str, ScramKeys, bool, str] | None = None  # SCRAM: what the first message led to

    def handshake(self, mechanism: str) -> SaslStep:
        """Take the client's choice of a mechanism."""
        if self.failed or self.mechanism is not None:
            return self.fail("SaslHandshake request received during SASL authentication", Err.ILLEGAL_SASL_STATE)
        if mechanism not in self.users.mechanisms:
            return self.fail(f"Unsupported SASL mechanism {mechanism}", Err.UNSUPPORTED_SASL_MECHANISM)
        self.mechanism = mechanism
        return SaslStep()

    def token(self, data: bytes) -> SaslStep:
        """Take the next message of the mechanism."""
        if self.failed or self.done or self.mechanism is None:
            return self.fail("SaslAuthenticate request received out of order", Err.ILLEGAL_SASL_STATE)
        try:
            text = data.decode(errors="replace" if self.mechanism == "PLAIN" else "strict")  # as Java reads PLAIN
        except UnicodeDecodeError:
            return self._refuse()
        if self.mechanism == "PLAIN":
            return self._plain(text)
        if self.mechanism == BEARER:
            return self._bearer(text)
        return self._scram_first(text) if self._first is None else self._scram_final(text)

    def fail(self, text: str, code: Err = Err.SASL_AUTHENTICATION_FAILED) -> SaslStep:
        """End the login without success."""
        self.failed, self.done = True, False
        return SaslStep(code=code, text=text)

    def _refuse(self) -> SaslStep:
        return self.fail(f"Authentication failed during {self._what} due to invalid credentials with SASL mechanism "
                         f"{self.mechanism}")

    def _enter(self, user: str, answer: bytes = b"", ends_ms: int | None = None) -> SaslStep:
        self.done, self.user = True, user
        return SaslStep(answer, user, ends_ms=ends_ms)

    # --- PLAIN -----------------------------------------------------------------------------------------------------

    def _plain(self, text: str) -> SaslStep:
        tokens = text.split("\0", 3)
        if len(tokens) != 3:
            return self.fail(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(tokens)}")
        identity, user, password = tokens
        if not user or not password:
            return self.fail(f"Authentication failed: {'password' if user else 'username'} not specified")
        known = self.users.plain.get(user)
        same = self._same(password, known if known is not None else self.nonce)
        if known is None or not same:
            return self.fail(INVALID)
        return self.fail(OTHER_ID) if identity not in ("", user) else self._enter(user)

    def _same(self, one: str, other: str) -> bool:
        """Compare two passwords by their hashes, so that the time does not tell their lengths either."""
        key = self.users.secret
        return hmac.compare_digest(*(hmac.digest(key, text.encode(), "sha256") for text in (one, other)))

    # --- OAUTHBEARER ------------------------------------------------------------------------------------------------

    def _bearer(self, text: str) -> SaslStep:
        if text == "\x01" and self._told is not None:
            return self.fail(self._told)
        self._told = None
        if (message := FirstMessage.of(text)) is None or self.users.bearer is None:
            return self._refuse()
        try:
            bearer = self.users.bearer(message.token)
        except TokenRefusedError as refused:
            self._told = refused.answer
            return SaslStep(refused.answer.encode())
        if message.name not in ("", bearer.user):
            return self.fail(f"Authentication failed: Client requested an authorization id ({message.name}) that is different "
                             f"from the token's principal name ({bearer.user})")
        return self._enter(bearer.user, ends_ms=bearer.ends_ms)

    # --- SCRAM -----------------------------------------------------------------------------------------------------

    def _scram_first(self, text: str) -> SaslStep:
        number, digest = SCRAM[str(self.mechanism)]
        if (first := _FIRST.fullmatch(text)) is None:
            return self._refuse()
        user = _plain_name(first["user"])
        if first["id"] is not None and _plain_name(first["id"]) != user:
            return self.fail(OTHER_ID)
        if "tokenauth=true" in (first["more"] or "").split(","):
            (kept, user), like = self._token_of(user, number), None
        else:
            kept, like = self.users.scram(user, number), self.users.any_scram(number)
        keys = kept or self._made_up(user, digest, like)
        nonce = first["nonce"] + self.nonce
        told = f"r={nonce},s={base64.b64encode(keys.salt).decode()},i={keys.iterations}"
        self._first = (user, first["gs2"], keys, kept is not None, f"{first['bare']},{told}")
        self.nonce = nonce
        return SaslStep(told.encode())

    def _token_of(self, name: str, number: int) -> tuple[ScramKeys | None, str]:
        """Return the keys of a delegation token, and its owner; without keys if there is no such token."""
        if (token := self.users.token(name, number)) is None:
            return None, name
        self.by_token, self._ends_ms = True, token.ends_ms
        return token.keys, token.owner

    def _made_up(self, user: str, digest: str, like: ScramKeys | None) -> ScramKeys:
        """Return keys for a user without any: no password has them, and they are the same each time (I-SASL-2)."""
        made = hmac.digest(self.users.secret, f"{digest} {user}".encode(), "sha512")
        size = hashlib.new(digest).digest_size
        salt = hashlib.shake_256(made).digest(len(like.salt) if like is not None else 16)
        if like is not None and like.salt.isalnum():  # made by Java's tools
            salt = bytes(JAVAS_SALT[byte % len(JAVAS_SALT)] for byte in salt)
        return ScramKeys(salt, made[:size], made[-size:], like.iterations if like is not None else ITERATIONS)

    def _scram_final(self, text: str) -> SaslStep:
        assert self._first is not None
        user, gs2, keys, known, messages = self._first
        digest = SCRAM[str(self.mechanism)][1]
        final = _FINAL.fullmatch(text)
        proof = _from_base64(final["proof"]) if final is not None else None
        if final is None or proof is None or len(proof) != len(keys.stored_key):
            return self._refuse()
        signed = f"{messages},{final['bare']}".encode()
        signature = hmac.digest(keys.stored_key, signed, digest)
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        right = hmac.compare_digest(hashlib.new(digest, client_key).digest(), keys.stored_key)
        fresh = hmac.compare_digest(final["nonce"].encode(), self.nonce.encode())
        bound = _from_base64(final["binding"]) == gs2.encode()
        if not (right and fresh and bound and known):
            return self._refuse()
        return self._enter(user, b"v=" + base64.b64encode(hmac.digest(keys.server_key, signed, digest)), self._ends_ms)


def _plain_name(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _from_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


@lru_cache(maxsize=1000)
def derived_keys(password: bytes, salt: bytes, number: int) -> ScramKeys:
    """Return what a server keeps of a password for the mechanism with this number; the cache spares each login the iterations."""
    digest = next(digest for mechanism, digest in SCRAM.values() if mechanism == number)
    salted = hashlib.pbkdf2_hmac(digest, password, salt, ITERATIONS)
    stored = hashlib.new(digest, hmac.digest(salted, b"Client Key", digest)).digest()
    return ScramKeys(salt, stored, hmac.digest(salted, b"Server Key", digest), ITERATIONS)


def plain_users(name: str, text: str) -> dict[str, str]:
    """Return {user: password} of the options `user_NAME="password"` in a JAAS text; ConfigError if it is no such text."""
    found = jaas.options(name, text, jaas.PLAIN, ' user_ADA="password of ada"')
    return {key.removeprefix("user_"): value for key, value in found.items() if key.startswith("user_")}

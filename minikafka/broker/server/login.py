"""The frames of a login: ApiVersions, SaslHandshake, SaslAuthenticate, or tokens without a header; and how long it lasts.

Owns: which request may come when, and the users of each listener, from the configuration and the metadata.
Invariants: I-LOGIN-1 on a listener with SASL nothing but one ApiVersions is served before the login; everything else ends the
              connection, after `connection.failed.authentication.delay.ms`.
            I-LOGIN-2 after the end of a login nothing is served but the next one, of the same user by the same mechanism; while
              that is under way, nothing else.
            I-LOGIN-3 a frame before the login holds up the others no longer than a slice (turns.py): it has no long lists.
What Kafka does differently: it has no deadline for a login, and it answers a long request in the middle of one before it ends it.
Source: org.apache.kafka.common.security.authenticator.SaslServerAuthenticator; KIP-43, KIP-152, KIP-368;
KafkaChannel.maybeBeginServerReauthentication.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from minikafka.broker.config.definition import ConfigError
from minikafka.broker.config.effective import HANDLER, LISTENER_PREFIX, BrokerConfig, mechanism_value, session_ms
from minikafka.broker.metadata.delegation_tokens import is_over, token_hmac
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.server import jaas
from minikafka.broker.server.listeners import (
    BEARER,
    Listener,
    mechanisms,
    nodes_and_clients,
    takes_signed,
    takes_unproven,
)
from minikafka.broker.server.node import Node
from minikafka.broker.server.oauth import Bearer, UnsecuredTokens
from minikafka.broker.server.principals import USER, SslPrincipalMapper
from minikafka.broker.server.registry import ApiHandler
from minikafka.broker.server.sasl import (
    SCRAM,
    SaslSession,
    SaslStep,
    ScramKeys,
    TokenLogin,
    Users,
    derived_keys,
    plain_users,
)
from minikafka.broker.server.signed_tokens import SignatureRules, SignedTokens
from minikafka.broker.server.turns import LONG
from minikafka.protocol.codec import (
    API_VERSIONS,
    RESPONSES,
    SIZE,
    RequestHeader,
    decode_request,
    encode_response,
    parse_header,
)
from minikafka.protocol.errors import Err, ProtocolError
from minikafka.protocol.failure import failed_response
from minikafka.protocol.reader import LongMessage

MECHANISMS = ("PLAIN", *SCRAM, BEARER)
VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
URL = "sasl.oauthbearer.jwks.endpoint.url"
LONGEST_NS = (1 << 63) - 1
RENEW_S = 1.0  # between the beginnings of two renewals of a login


class LoginReply(NamedTuple):
    """The bytes to send, and why the connection ends then; None: it goes on."""

    frame: bytes
    refused: str | None


class TimedLogin:
    """A login that has succeeded: whose it is, and until when it lasts."""

    @classmethod
    def of(cls, login: Login, now: float) -> TimedLogin | None:
        """Return a login that has an end; None: it lasts for as long as the connection."""
        return cls(login, now + login.lifetime_ms / 1000) if login.lifetime_ms is not None else None

    def __init__(self, login: Login, until: float) -> None:
        self.until = until
        self.principal, self.mechanism = login.principal, login.session.mechanism
        self.renewed_at = login.former.renewed_at if login.former is not None else None  # when the last renewal began

    def is_renewed_by(self, api_key: int, now: float) -> bool:
        """Return whether a request begins the next login. Raises ProtocolError for another one after the end (I-LOGIN-2)."""
        if api_key == SaslHandshakeRequest.API_KEY and (self.renewed_at is None or now - self.renewed_at >= RENEW_S):
            self.renewed_at = now
            return True
        if now > self.until:
            raise ProtocolError(f"the login of {self.principal} has ended")
        return False


class Login:
    """One client that has not logged in yet; or the next login of one that has, with the `former` one."""

    def __init__(self, users: Users, nonce: str, table: Mapping[int, ApiHandler], former: TimedLogin | None = None) -> None:
        self.session = SaslSession(users, nonce, "authentication" if former is None else "re-authentication")
        self.former, self._table = former, table
        self.lifetime_ms: int | None = None  # of the login when it is done; None: no end
        self._told = False  # which versions of the APIs there are
        self._bare = False  # tokens come without a header, after SaslHandshake v0

    @property
    def done(self) -> bool:
        return self.session.done

    @property
    def principal(self) -> str:
        """Return who has logged in."""
        return f"{USER}{self.session.user}"

    def serve(self, frame: memoryview) -> LoginReply | None:
        """Take one frame; None if it is a request that is served as always. Raises ProtocolError."""
        former, mechanism = self.former, self.session.mechanism
        if former is not None and mechanism not in (None, former.mechanism):
            raise ProtocolError(f"SASL mechanism '{mechanism}' requested by client is not supported for "
                                f"re-authentication of mechanism '{former.mechanism}'")
        if self._bare:
            step = self._token(bytes(frame))
            return LoginReply(b"" if step.text else SIZE.pack(len(step.answer)) + step.answer, step.text)
        header = parse_header(frame)
        expected = SaslHandshakeRequest if mechanism is None else SaslAuthenticateRequest
        if header.api_key == API_VERSIONS and expected is SaslHandshakeRequest and not self._told:
            self._told = self._serves(header)
            return None
        if header.api_key != expected.API_KEY:
            early = expected is SaslHandshakeRequest
            return LoginReply(b"" if early else self._refused(header, frame), "Unexpected Kafka request of type "
                              f"{header.api_key} during SASL {'handshake' if early else 'authentication'}.")
        if not expected.min_version <= header.version <= expected.max_version:
            raise ProtocolError(f"Version {header.version} of {expected.name} is not served")
        return (self._handshake if expected is SaslHandshakeRequest else self._authenticate)(header, frame)

    def _handshake(self, header: RequestHeader, frame: memoryview) -> LoginReply:
        step = self.session.handshake(decode_request(header, frame).mechanism)
        if self.former is not None and step.text:
            raise ProtocolError(step.text)
        self._bare = header.version == 0
        answer = SaslHandshakeResponse(error_code=int(step.code), mechanisms=list(self.session.users.mechanisms))
        return LoginReply(encode_response(answer, header.version, header.correlation_id), step.text)

    def _authenticate(self, header: RequestHeader, frame: memoryview) -> LoginReply:
        step = self._token(bytes(decode_request(header, frame).auth_bytes))
        answer = SaslAuthenticateResponse(error_code=int(step.code), error_message=step.text or "", auth_bytes=step.answer,
                                          session_lifetime_ms=self.lifetime_ms or 0)
        return LoginReply(encode_response(answer, header.version, header.correlation_id), step.text)

    def _token(self, data: bytes) -> SaslStep:
        """Take the next token. Raises ProtocolError for a login that is longer than Kafka can count."""
        former, session = self.former, self.session
        step = session.token(data)
        if step.user is None:
            return step
        if former is not None and former.principal != self.principal:
            one, other = (name.replace(":", ".", 1) for name in (former.principal, self.principal))
            return session.fail(f"Cannot change principals during re-authentication from {one}: {other}")
        lasts = self.lifetime_ms = session.users.lifetime_ms(str(session.mechanism), step.ends_ms)
        if lasts is not None and lasts * 1_000_000 > LONGEST_NS:
            raise ProtocolError(f"a login cannot last {lasts} ms")  # Kafka cannot count so far
        return step

    def _refused(self, header: RequestHeader, frame: memoryview) -> bytes:
        """Return the answer to a request that comes in the middle of a login; none to a producer that expects none."""
        kind = RESPONSES.get(header.api_key)
        if kind is None or not self._serves(header):
            if header.api_key == API_VERSIONS:
                return encode_response(ApiVersionsResponse(error_code=int(Err.ILLEGAL_SASL_STATE)), 0, header.correlation_id)
            raise ProtocolError(f"API key {header.api_key} with version {header.version} is not enabled on this listener")
        try:
            request = decode_request(header, frame, LONG)
        except LongMessage as error:
            raise ProtocolError(f"a long request of type {header.api_key} in the middle of a login") from error
        if getattr(request, "acks", -1) == 0:
            return b""
        answer = failed_response(request, kind, header.version, Err.ILLEGAL_SASL_STATE) or kind()
        return encode_response(answer, header.version, header.correlation_id)

    def _serves(self, header: RequestHeader) -> bool:
        served = self._table.get(header.api_key)
        return served is not None and served.min <= header.version <= served.max


def check_logins(config: BrokerConfig) -> None:
    """Raise ConfigError if a listener with SASL has a mechanism that is not served, or no users for PLAIN; or if the rules for
    principals cannot be read."""
    SslPrincipalMapper(config["ssl.principal.mapping.rules"])
    for listener in nodes_and_clients(config)[1]:
        if not listener.protocol.startswith("SASL"):
            continue
        names = mechanisms(listener, config, MetadataImage())
        if unknown := [name for name in names if name not in MECHANISMS]:
            raise ConfigError("sasl.enabled.mechanisms", ",".join(unknown),
                              f"{listener.name} can only have {', '.join(MECHANISMS)}")
        if "PLAIN" in names:
            _plain(listener, config)
        if BEARER in names:
            _check_tokens(listener, config)


def users_of(listener: Listener, node: Node, secret: bytes) -> Users:
    """Return who may log in at this listener now."""
    enabled = mechanisms(listener, node.config, node.image)
    tokens = takes_signed(listener, node.config) or takes_unproven(listener, node.config)
    names = tuple(name for name in enabled if name in MECHANISMS and (name != BEARER or tokens))

    def scram(user: str, mechanism: int) -> ScramKeys | None:
        kept = node.image.scram.get((user, mechanism))
        return kept and ScramKeys(kept.salt, kept.stored_key, kept.server_key, kept.iterations)

    def any_scram(mechanism: int) -> ScramKeys | None:
        return next((scram(user, mechanism) for user, number in node.image.scram if number == mechanism), None)

    plain = _plain(listener, node.config) if "PLAIN" in names else {}
    def token(name: str, mechanism: int) -> TokenLogin | None:
        kept, behind = node.image.tokens.get(name), node.config["delegation.token.secret.key"]
        if kept is None or behind is None or is_over(kept, node.env.wall_ms()):
            return None
        password, salt = base64.b64encode(token_hmac(behind, name)), hmac.digest(secret, name.encode(), "sha256")
        return TokenLogin(kept.owner.removeprefix(USER), kept.expiration_timestamp, derived_keys(password, salt[:16], mechanism))

    def lifetime_ms(mechanism: str, ends_ms: int | None) -> int | None:
        longest = session_ms(node.config, listener.name, mechanism) or None
        left = None if ends_ms is None else max(0, ends_ms - node.env.wall_ms())
        return min((limit for limit in (longest, left) if limit is not None), default=None)

    def bearer(token: str) -> Bearer:
        signed = takes_signed(listener, node.config)
        tokens = SignedTokens(rules_of(listener, node.config), node.env.keys[listener.name]) if signed else \
            _unsecured(listener, node.config)
        return tokens.check(token, node.env.wall_ms())

    return Users(names, plain, scram, hmac.digest(secret, b"unknown users", "sha256"), any_scram, token, bearer, lifetime_ms)


def _check_tokens(listener: Listener, config: BrokerConfig) -> None:
    """Raise ConfigError if a listener's tokens cannot be checked as its settings say."""
    _unsecured(listener, config)
    rules_of(listener, config)
    handler, url = config.of_listener(listener.name, HANDLER), mechanism_value(config, listener.name, BEARER, URL)
    if handler not in (None, VALIDATOR):
        raise ConfigError(HANDLER, handler, f"{listener.name} can only have {VALIDATOR}")
    if (handler is None) != (url is None):
        raise ConfigError(URL, url, f"it belongs together with {LISTENER_PREFIX}{listener.name.lower()}.{HANDLER}={VALIDATOR}: "
                          "without both no signature is checked")


def key_settings(listener: Listener, config: BrokerConfig) -> Callable[[str], Any]:  # Any: by the name
    """Return what gives the settings for tokens at a listener."""
    return partial(mechanism_value, config, listener.name, BEARER)


def rules_of(listener: Listener, config: BrokerConfig) -> SignatureRules:
    """Return the conditions on signed tokens at a listener."""
    return SignatureRules.of(key_settings(listener, config))


def _unsecured(listener: Listener, config: BrokerConfig) -> UnsecuredTokens:
    name = f"{BEARER.lower()}.sasl.jaas.config"
    text, where = config.of_listener(listener.name, name), f"listener.name.{listener.name.lower()}.{name}"
    return UnsecuredTokens(where, jaas.options(where, text, jaas.BEARER, "") if text is not None else {})


def _plain(listener: Listener, config: BrokerConfig) -> dict[str, str]:
    name = "plain.sasl.jaas.config"
    return plain_users(f"listener.name.{listener.name.lower()}.{name}", config.of_listener(listener.name, name) or "")

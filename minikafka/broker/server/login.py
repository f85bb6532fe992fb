"""The frames of a client before its login: ApiVersions, SaslHandshake, SaslAuthenticate, or tokens without a header.

Owns: which request may come when, and the users of each listener, from the configuration and the metadata.
Invariants: I-LOGIN-1 on a listener with SASL nothing but ApiVersions is served before the login; everything else ends the
              connection, after `connection.failed.authentication.delay.ms`.
What Kafka does differently: it has no deadline for a login.
Source: org.apache.kafka.common.security.authenticator.SaslServerAuthenticator; KIP-43, KIP-152.
"""

from __future__ import annotations

import hmac
from typing import NamedTuple

from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from minikafka.broker.config.definition import ConfigError
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.server.listeners import Listener, mechanisms, nodes_and_clients
from minikafka.broker.server.node import Node
from minikafka.broker.server.principals import USER, SslPrincipalMapper
from minikafka.broker.server.sasl import SCRAM, SaslSession, SaslStep, ScramKeys, Users, plain_users
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

MECHANISMS = ("PLAIN", *SCRAM)


class LoginReply(NamedTuple):
    """The bytes to send, and why the connection ends then; None: it goes on."""

    frame: bytes
    refused: str | None


class Login:
    """One client that has not logged in yet."""

    def __init__(self, users: Users, nonce: str) -> None:
        self.session = SaslSession(users, nonce)
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
        if self._bare:
            step = self.session.token(bytes(frame))
            return LoginReply(b"" if step.text else SIZE.pack(len(step.answer)) + step.answer, step.text)
        header = parse_header(frame)
        expected = SaslHandshakeRequest if self.session.mechanism is None else SaslAuthenticateRequest
        if header.api_key == API_VERSIONS and expected is SaslHandshakeRequest:
            return None
        if header.api_key != expected.API_KEY:
            early = expected is SaslHandshakeRequest
            return LoginReply(b"" if early else _refused(header, frame), f"Unexpected Kafka request of type {header.api_key} "
                              f"during SASL {'handshake' if early else 'authentication'}.")
        if not expected.min_version <= header.version <= expected.max_version:
            raise ProtocolError(f"Version {header.version} of {expected.name} is not served")
        return (self._handshake if expected is SaslHandshakeRequest else self._authenticate)(header, frame)

    def _handshake(self, header: RequestHeader, frame: memoryview) -> LoginReply:
        step = self.session.handshake(decode_request(header, frame).mechanism)
        self._bare = header.version == 0
        answer = SaslHandshakeResponse(error_code=int(step.code), mechanisms=list(self.session.users.mechanisms))
        return LoginReply(encode_response(answer, header.version, header.correlation_id), step.text)

    def _authenticate(self, header: RequestHeader, frame: memoryview) -> LoginReply:
        step: SaslStep = self.session.token(bytes(decode_request(header, frame).auth_bytes))
        answer = SaslAuthenticateResponse(error_code=int(step.code), error_message=step.text or "", auth_bytes=step.answer,
                                          session_lifetime_ms=0)
        return LoginReply(encode_response(answer, header.version, header.correlation_id), step.text)


def _refused(header: RequestHeader, frame: memoryview) -> bytes:
    """Return the answer to a request that comes in the middle of a login; none to a producer that expects none."""
    if header.api_key not in RESPONSES:
        raise ProtocolError(f"API key {header.api_key} is not enabled on this listener")
    request, kind = decode_request(header, frame), RESPONSES[header.api_key]
    if getattr(request, "acks", -1) == 0:
        return b""
    answer = failed_response(request, kind, header.version, Err.ILLEGAL_SASL_STATE) or kind()
    return encode_response(answer, header.version, header.correlation_id)


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


def users_of(listener: Listener, node: Node, secret: bytes) -> Users:
    """Return who may log in at this listener now."""
    enabled = mechanisms(listener, node.config, node.image)
    names = tuple(name for name in enabled if name in MECHANISMS)

    def scram(user: str, mechanism: int) -> ScramKeys | None:
        kept = node.image.scram.get((user, mechanism))
        return kept and ScramKeys(kept.salt, kept.stored_key, kept.server_key, kept.iterations)

    plain = _plain(listener, node.config) if "PLAIN" in names else {}
    return Users(names, plain, scram, hmac.digest(secret, b"unknown users", "sha256"))


def _plain(listener: Listener, config: BrokerConfig) -> dict[str, str]:
    name = "plain.sasl.jaas.config"
    return plain_users(f"listener.name.{listener.name.lower()}.{name}", config.of_listener(listener.name, name) or "")

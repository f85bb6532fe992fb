"""SASL where there is nothing to log in to: every request is answered, with a refusal.

The client learns that this listener takes no handshake, or not again (ILLEGAL_SASL_STATE). If the APIs were not served, the
client would only see that the connection closes.

Versions of SaslHandshake: 1 is followed by SaslAuthenticate, 0 by tokens without a header.
Versions of SaslAuthenticate: 1 the session's lifetime; 2 flexible.

Owns: nothing. Invariants: I-OFF-SEC-1 nothing here changes anything.
What Kafka does differently: nothing.
Source: KafkaApis.handleSaslHandshakeRequest; KIP-152.
"""

from __future__ import annotations

from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from minikafka.broker.server.registry import Context, handles
from minikafka.protocol.errors import Err


@handles(SaslHandshakeRequest)
def sasl_handshake(ctx: Context, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=int(Err.ILLEGAL_SASL_STATE), mechanisms=[])


@handles(SaslAuthenticateRequest)
def sasl_authenticate(ctx: Context, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=int(Err.ILLEGAL_SASL_STATE), auth_bytes=b"", session_lifetime_ms=0,
        error_message="SaslAuthenticate request received after successful authentication")

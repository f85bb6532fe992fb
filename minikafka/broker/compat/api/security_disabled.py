"""SASL where there is nothing to log in to, and delegation tokens: every request is answered, with a refusal.

The client learns that this listener takes no handshake (ILLEGAL_SASL_STATE), or that it gets no token
(DELEGATION_TOKEN_REQUEST_NOT_ALLOWED). If the APIs were not served, the client would only see that the connection closes.

Versions of SaslHandshake: 1 is followed by SaslAuthenticate, 0 by tokens without a header.
Versions of SaslAuthenticate: 1 the session's lifetime; 2 flexible.
Versions of CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, DescribeDelegationToken
  2 flexible; 3 tokens for another owner (KIP-373).

Owns: nothing. Invariants: I-OFF-SEC-1 nothing here changes anything.
What Kafka does differently: nothing, as long as the listener is PLAINTEXT; elsewhere it gives tokens.
Source: KafkaApis.handleSaslHandshakeRequest, allowTokenRequests; KIP-48, KIP-152.
"""

from __future__ import annotations

from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from minikafka.broker.quotas.throttling import ANONYMOUS
from minikafka.broker.server.registry import Context, handles
from minikafka.protocol.apis import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from minikafka.protocol.errors import Err

NO_TOKEN = int(Err.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)

@handles(SaslHandshakeRequest)
def sasl_handshake(ctx: Context, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=int(Err.ILLEGAL_SASL_STATE), mechanisms=[])


@handles(SaslAuthenticateRequest)
def sasl_authenticate(ctx: Context, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=int(Err.ILLEGAL_SASL_STATE), auth_bytes=b"", session_lifetime_ms=0,
        error_message="SaslAuthenticate request received after successful authentication")


@handles(CreateDelegationTokenRequest)
def create_delegation_token(ctx: Context, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    """Refuse a token; the response names the owner that the request names, or the client's own principal."""
    kind, name, code = request.owner_principal_type, request.owner_principal_name, NO_TOKEN
    if not name or kind is None:
        kind, name, code = "User", ANONYMOUS, int(Err.UNKNOWN_SERVER_ERROR) if name else NO_TOKEN
    return CreateDelegationTokenResponse(
        error_code=code, principal_type=kind, principal_name=name, token_requester_principal_type="User",
        token_requester_principal_name=ANONYMOUS, issue_timestamp_ms=-1, expiry_timestamp_ms=-1, max_timestamp_ms=-1,
        token_id="", hmac=b"", throttle_time_ms=0)


@handles(RenewDelegationTokenRequest)
def renew_delegation_token(ctx: Context, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=NO_TOKEN, expiry_timestamp_ms=-1, throttle_time_ms=0)


@handles(ExpireDelegationTokenRequest)
def expire_delegation_token(ctx: Context, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=NO_TOKEN, expiry_timestamp_ms=-1, throttle_time_ms=0)


@handles(DescribeDelegationTokenRequest)
def describe_delegation_token(ctx: Context, request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=NO_TOKEN, tokens=[], throttle_time_ms=0)

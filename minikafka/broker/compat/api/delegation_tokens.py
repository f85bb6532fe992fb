"""CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, decided by the controller; DescribeDelegationToken.

Versions of CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, DescribeDelegationToken
  2 flexible; 3 tokens for another owner (KIP-373).

Owns: the way between the wire and broker/metadata/delegation_tokens.py, and who may use these APIs at all: those who have logged
in, but not with a token.
Invariants: none of its own. Source: KafkaApis.allowTokenRequests, handleDescribeTokensRequest; ControllerApis.
"""

from __future__ import annotations

import base64

from kafka.protocol.api_message import ApiMessage

from minikafka.broker.authorizer.acl import AclOperation, ResourceType
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.controller.api.forwarding import forward
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.controller.shell.active_controller import ActiveController
from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.metadata.delegation_tokens import NewToken, TokenRules, expire, is_shown, token_hmac
from minikafka.broker.metadata.records import DelegationTokenRecord
from minikafka.broker.server.listeners import security_protocols
from minikafka.broker.server.principals import ANONYMOUS, USER
from minikafka.broker.server.registry import INTERNAL, Context, handles
from minikafka.broker.server.turns import pace
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
from minikafka.protocol.errors import Err, KafkaError


def token_rules(config: BrokerConfig) -> TokenRules:
    return TokenRules(config["delegation.token.secret.key"], config["delegation.token.max.lifetime.ms"],
                      config["delegation.token.expiry.time.ms"])


Row = DescribeDelegationTokenResponse.DescribedDelegationToken
NOBODY = -1  # each time of an answer that refuses without asking the controller


def _allowed(ctx: Context) -> bool:
    """Return whether a client may have to do with tokens: it has shown who it is, by anything but a token."""
    protocol = security_protocols(ctx.node.config).get(ctx.listener_name, "PLAINTEXT")
    return not (ctx.by_token or protocol == "PLAINTEXT" or protocol == "SSL" and ctx.principal == ANONYMOUS)


# --- create ----------------------------------------------------------------------------------------------------------


@handles(CreateDelegationTokenRequest, needs=(Channel,))
async def create_delegation_token(ctx: Context, request: CreateDelegationTokenRequest,
                                  channel: Channel) -> CreateDelegationTokenResponse:
    owner = _owner(ctx, request)
    if owner is None:
        return _refused(ctx.principal, ctx.principal, Err.UNKNOWN_SERVER_ERROR)
    if not _allowed(ctx):
        return _refused(owner, ctx.principal, Err.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if owner != ctx.principal and not ctx.may(AclOperation.CREATE_TOKENS, ResourceType.USER, owner):
        return _refused(owner, ctx.principal, Err.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
    if any(renewer.principal_type + ":" != USER for renewer in request.renewers):
        return _refused(owner, ctx.principal, Err.INVALID_PRINCIPAL_TYPE)
    return await forward(ctx, channel, request) or _refused(owner, ctx.principal, Err.REQUEST_TIMED_OUT)


@handles(CreateDelegationTokenRequest, on=(INTERNAL,), needs=(ActiveController,))
async def created(ctx: Context, request: CreateDelegationTokenRequest, active: ActiveController) -> CreateDelegationTokenResponse:
    owner, rules = _owner(ctx, request) or ctx.principal, token_rules(ctx.node.config)
    renewers = tuple(dict.fromkeys(f"{one.principal_type}:{one.principal_name}" for one in request.renewers))
    wanted = NewToken(owner, ctx.principal, renewers, request.max_lifetime_ms)
    token_id = base64.urlsafe_b64encode(ctx.node.env.uuid().bytes).rstrip(b"=").decode()

    def decide(controller: Controller, now: float) -> tuple[Records, CreateDelegationTokenResponse]:
        token = rules.create(wanted, token_id, ctx.node.env.wall_ms())
        answer = _refused(owner, ctx.principal, Err.NONE)
        answer.issue_timestamp_ms, answer.max_timestamp_ms = token.issue_timestamp, token.max_timestamp
        answer.expiry_timestamp_ms, answer.token_id = token.expiration_timestamp, token_id
        answer.hmac = token_hmac(rules.check(), token_id)
        return [token], answer

    try:
        return await active.decide(decide)
    except KafkaError as error:
        answer = _refused(owner, ctx.principal, error.code)
        answer.issue_timestamp_ms = answer.expiry_timestamp_ms = answer.max_timestamp_ms = 0
        return answer


def _owner(ctx: Context, request: CreateDelegationTokenRequest) -> str | None:
    """Return whose the token will be; None if the request has a name of no type."""
    if not request.owner_principal_name:
        return ctx.principal
    kind = request.owner_principal_type
    return None if kind is None else f"{kind}:{request.owner_principal_name}"


def _refused(owner: str, requester: str, code: Err) -> CreateDelegationTokenResponse:
    (kind, _, name), (other_kind, _, other) = owner.partition(":"), requester.partition(":")
    return CreateDelegationTokenResponse(
        error_code=int(code), principal_type=kind, principal_name=name, token_requester_principal_type=other_kind,
        token_requester_principal_name=other, issue_timestamp_ms=NOBODY, expiry_timestamp_ms=NOBODY, max_timestamp_ms=NOBODY,
        token_id="", hmac=b"", throttle_time_ms=0)


# --- renew and expire --------------------------------------------------------------------------------------------------


def _changes(kind: type[ApiMessage], answer: type[ApiMessage]) -> None:
    """Register the handlers of RenewDelegationToken or ExpireDelegationToken."""

    def said(code: Err, until: int) -> ApiMessage:
        return answer(error_code=int(code), expiry_timestamp_ms=until, throttle_time_ms=0)

    @handles(kind, needs=(Channel,))
    async def from_client(ctx: Context, request: ApiMessage, channel: Channel) -> ApiMessage:
        if not _allowed(ctx):
            return said(Err.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, NOBODY)
        return await forward(ctx, channel, request) or said(Err.REQUEST_TIMED_OUT, NOBODY)

    @handles(kind, on=(INTERNAL,), needs=(ActiveController,))
    async def on_controller(ctx: Context, request: ApiMessage, active: ActiveController) -> ApiMessage:
        def decide(controller: Controller, _: float) -> tuple[Records, ApiMessage]:
            now, rules = ctx.node.env.wall_ms(), token_rules(ctx.node.config)
            token = rules.find(controller.image.tokens, bytes(request.hmac))
            if isinstance(request, RenewDelegationTokenRequest):
                record = rules.renew(token, ctx.principal, request.renew_period_ms, now)
            else:
                record = expire(token, ctx.principal, request.expiry_time_period_ms, now)
            until = record.expiration_timestamp if isinstance(record, DelegationTokenRecord) else now
            return [record], said(Err.NONE, until)

        try:
            return await active.decide(decide)
        except KafkaError as error:
            return said(error.code, 0)


_changes(RenewDelegationTokenRequest, RenewDelegationTokenResponse)
_changes(ExpireDelegationTokenRequest, ExpireDelegationTokenResponse)


# --- describe ----------------------------------------------------------------------------------------------------------


@handles(DescribeDelegationTokenRequest)
async def describe_delegation_token(ctx: Context, request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    """Describe the tokens that this broker has replayed and that the client may see, with their passwords."""
    def said(code: Err, tokens: list[Row]) -> DescribeDelegationTokenResponse:
        return DescribeDelegationTokenResponse(error_code=int(code), tokens=tokens, throttle_time_ms=0)

    def may_see(token: DelegationTokenRecord) -> bool:
        return (ctx.may(AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id, quiet=True)
                or ctx.may(AclOperation.DESCRIBE_TOKENS, ResourceType.USER, token.owner, quiet=True))

    secret = token_rules(ctx.node.config).secret
    if not _allowed(ctx):
        return said(Err.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, [])
    if secret is None:
        return said(Err.DELEGATION_TOKEN_AUTH_DISABLED, [])
    owners = None if request.owners is None else {f"{one.principal_type}:{one.principal_name}" for one in request.owners}
    rows = []
    for token in list(ctx.node.image.tokens.values()) if owners is None or owners else ():
        if is_shown(token, ctx.principal, owners, may_see):
            rows.append(_row(token, secret))
        await pace()
    return said(Err.NONE, rows)


def _row(token: DelegationTokenRecord, secret: str) -> Row:
    (kind, _, name), (other_kind, _, other) = token.owner.partition(":"), token.requester.partition(":")
    renewers = [Row.DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name)
                for kind, _, name in (one.partition(":") for one in token.renewers)]
    return Row(principal_type=kind, principal_name=name, token_requester_principal_type=other_kind,
               token_requester_principal_name=other, issue_timestamp=token.issue_timestamp, max_timestamp=token.max_timestamp,
               expiry_timestamp=token.expiration_timestamp, token_id=token.token_id,
               hmac=token_hmac(secret, token.token_id), renewers=renewers)

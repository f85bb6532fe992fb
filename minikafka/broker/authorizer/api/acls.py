"""CreateAcls and DeleteAcls, decided by the controller, and DescribeAcls, answered by any broker from its own image.

Without an authorizer the client learns so (SECURITY_DISABLED).

Versions of DescribeAcls, CreateAcls, DeleteAcls: 1 patterns of names; 2 flexible; 3 the resource type User.

Owns: the way between the wire and acl_control_manager.py.
Source: AclApis, ControllerApis, CreateAclsRequest, DescribeAclsResponse; KIP-140, KIP-290.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka.protocol.admin import (
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)

from minikafka.broker.authorizer.acl import AclBinding, AclBindingFilter, PatternType
from minikafka.broker.authorizer.acl_control_manager import create_acls, delete_acls
from minikafka.broker.controller.api.forwarding import forward
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.controller.shell.active_controller import ActiveController
from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.server.registry import INTERNAL, CloseConnection, Context, handles
from minikafka.broker.server.turns import collected, each, pace
from minikafka.protocol.errors import Err, KafkaError

DISABLED = KafkaError(Err.SECURITY_DISABLED, "No Authorizer is configured.")
UNKNOWN, ANY = 0, 1  # in each enumeration of access lists
CreatedRow, FilterRow = CreateAclsResponse.AclCreationResult, DeleteAclsResponse.DeleteAclsFilterResult
MatchedRow, ResourceRow = FilterRow.DeleteAclsMatchingAcl, DescribeAclsResponse.DescribeAclsResource


def _refuse_unknown(kinds: Iterable[int]) -> None:
    """Close the connection if an enumeration has the value UNKNOWN: Kafka cannot parse such a request, and closes it too."""
    if UNKNOWN in kinds:
        raise CloseConnection("an access list with UNKNOWN elements")


def _is_filter(acl: CreateAclsRequest.AclCreation) -> bool:
    """Return whether a new binding has a word that only filters have; Kafka fails then, on the whole request."""
    return (acl.resource_pattern_type in (PatternType.ANY, PatternType.MATCH)
            or ANY in (acl.resource_type, acl.operation, acl.permission_type))


# --- CreateAcls ------------------------------------------------------------------------------------------------------


@handles(CreateAclsRequest, needs=(Channel,))
async def create_acls_from_client(ctx: Context, request: CreateAclsRequest, channel: Channel) -> CreateAclsResponse:
    """Create bindings; the response comes when the controller has committed them."""
    for acl in request.creations:
        _refuse_unknown([acl.resource_type, acl.resource_pattern_type, acl.operation, acl.permission_type])
    if ctx.node.authorizer is None:
        return await refuse_creation(request, DISABLED)
    if any(_is_filter(acl) for acl in request.creations):
        return await refuse_creation(request, KafkaError(Err.UNKNOWN_SERVER_ERROR))
    return await forward(ctx, channel, request) or await refuse_creation(request, KafkaError(Err.REQUEST_TIMED_OUT))


@handles(CreateAclsRequest, on=(INTERNAL,), needs=(ActiveController,))
async def create_acls_on_controller(ctx: Context, request: CreateAclsRequest, active: ActiveController) -> CreateAclsResponse:
    """Create bindings if this node is the active controller."""
    wanted = [AclBinding(c.resource_type, c.resource_name, c.resource_pattern_type, c.principal, c.host, c.operation,
                         c.permission_type) for c in request.creations]

    async def decide(controller: Controller, now: float) -> tuple[Records, CreateAclsResponse]:
        records, verdicts = await collected(create_acls(controller.image, wanted, ctx.node.env.uuid))
        return records, CreateAclsResponse(throttle_time_ms=0, results=await each(_created, verdicts))

    try:
        return await active.decide(decide)
    except KafkaError as error:
        return await refuse_creation(request, error)


async def refuse_creation(request: CreateAclsRequest, refusal: KafkaError) -> CreateAclsResponse:
    """Return the response that has one error for every binding."""
    return CreateAclsResponse(throttle_time_ms=0, results=await each(lambda _: _created(refusal), request.creations))


def _created(refusal: KafkaError | None) -> CreatedRow:
    if refusal is None:
        return CreatedRow(error_code=0, error_message="")
    told = refusal.message if refusal.code is not Err.UNKNOWN_SERVER_ERROR else None
    return CreatedRow(error_code=int(refusal.code), error_message=told)


# --- DeleteAcls ------------------------------------------------------------------------------------------------------


@handles(DeleteAclsRequest, needs=(Channel,))
async def delete_acls_from_client(ctx: Context, request: DeleteAclsRequest, channel: Channel) -> DeleteAclsResponse:
    """Delete bindings; the response lists them, by the filter that matches them."""
    for one in request.filters:
        _refuse_unknown([one.resource_type_filter, one.pattern_type_filter, one.operation, one.permission_type])
    if ctx.node.authorizer is None:
        return await refuse_deletion(request, DISABLED)
    return await forward(ctx, channel, request) or await refuse_deletion(request, KafkaError(Err.REQUEST_TIMED_OUT))


@handles(DeleteAclsRequest, on=(INTERNAL,), needs=(ActiveController,))
async def delete_acls_on_controller(ctx: Context, request: DeleteAclsRequest, active: ActiveController) -> DeleteAclsResponse:
    """Delete bindings if this node is the active controller."""
    filters = [_filter(one) for one in request.filters]

    async def decide(controller: Controller, now: float) -> tuple[Records, DeleteAclsResponse]:
        records, verdicts = await collected(delete_acls(controller.image, filters))
        return records, DeleteAclsResponse(throttle_time_ms=0, filter_results=await each(_deleted, verdicts))

    try:
        return await active.decide(decide)
    except KafkaError as error:
        return await refuse_deletion(request, error)


async def refuse_deletion(request: DeleteAclsRequest, refusal: KafkaError) -> DeleteAclsResponse:
    """Return the response that has one error for every filter."""
    return DeleteAclsResponse(throttle_time_ms=0, filter_results=await each(lambda _: _deleted(refusal), request.filters))


def _filter(one: DescribeAclsRequest | DeleteAclsRequest.DeleteAclsFilter) -> AclBindingFilter:
    return AclBindingFilter(one.resource_type_filter, one.resource_name_filter, one.pattern_type_filter, one.principal_filter,
                            one.host_filter, one.operation, one.permission_type)


def _deleted(verdict: list[AclBinding] | KafkaError) -> FilterRow:
    if isinstance(verdict, KafkaError):
        return FilterRow(error_code=int(verdict.code), error_message=verdict.message, matching_acls=[])
    return FilterRow(error_code=0, error_message=None, matching_acls=[
        MatchedRow(error_code=0, error_message=None, resource_type=a.resource_type, resource_name=a.name,
                   pattern_type=a.pattern_type, principal=a.principal, host=a.host, operation=a.operation,
                   permission_type=a.permission) for a in verdict])


# --- DescribeAcls ----------------------------------------------------------------------------------------------------


@handles(DescribeAclsRequest)
async def describe_acls(ctx: Context, request: DescribeAclsRequest) -> DescribeAclsResponse:
    """Describe the bindings that this broker has replayed, resource by resource."""
    _refuse_unknown([request.resource_type_filter, request.pattern_type_filter, request.operation, request.permission_type])
    if ctx.node.authorizer is None:
        return DescribeAclsResponse(throttle_time_ms=0, error_code=int(Err.SECURITY_DISABLED), resources=[],
                                    error_message="No Authorizer is configured on the broker")
    wanted = _filter(request)
    found: dict[tuple[int, str, int], list[AclBinding]] = {}
    for acl in list(ctx.node.authorizer.acls.values()):
        if wanted.matches(acl):
            found.setdefault((acl.resource_type, acl.name, acl.pattern_type), []).append(acl)
        await pace()
    rows = await each(lambda pair: _described(*pair), found.items())
    return DescribeAclsResponse(throttle_time_ms=0, error_code=0, error_message="", resources=rows)


def _described(resource: tuple[int, str, int], acls: list[AclBinding]) -> ResourceRow:
    kind, name, pattern = resource
    return ResourceRow(resource_type=kind, resource_name=name, pattern_type=pattern, acls=[
        ResourceRow.AclDescription(principal=a.principal, host=a.host, operation=a.operation, permission_type=a.permission)
        for a in acls])

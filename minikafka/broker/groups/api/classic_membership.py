"""Requests of classic group members: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

Versions of JoinGroup
  1 a rebalance timeout of its own; 4 a new member is given its id, and joins with it (KIP-394); 5 static members (KIP-345);
  6 flexible; 7 the answer names the protocol type; 8 a reason (KIP-800); 9 a leader that need not assign (KIP-814).
Versions of SyncGroup and Heartbeat: 3 static members; 4 flexible; SyncGroup 5 names protocol and type (KIP-559).
Versions of LeaveGroup: 3 many members; 4 flexible; 5 a reason (KIP-800).

Owns: the translation between the wire and the group coordinator; which versions show which fields, and
where an error stands in a response. Offsets and administration are in offsets.py and admin.py.
Source: KafkaApis, GroupCoordinatorService.
"""

from __future__ import annotations

from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

from minikafka.broker.groups.classic.messages import Join, JoinResult, Leaving, Sync, SyncResult
from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import each, pace
from minikafka.protocol.errors import Err, KafkaError

MANY = 1000       # members that leave in one step


# --- JoinGroup, SyncGroup ----------------------------------------------------------------------------------------

@handles(JoinGroupRequest, versions=(0, 9), needs=(GroupCoordinator,))
async def join_group(ctx: Context, request: JoinGroupRequest, groups: GroupCoordinator) -> JoinGroupResponse:
    """Let a member join; the response is sent when the join phase ends."""
    join = Join(
        request.member_id, request.protocol_type,
        tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
        request.session_timeout_ms,
        request.session_timeout_ms if ctx.version == 0 else request.rebalance_timeout_ms,
        ctx.client_id or "", f"/{ctx.host}", request.group_instance_id,
        must_return=ctx.version >= 4, may_skip=ctx.version >= 9)
    try:
        result = await groups.join(request.group_id, join, ctx.describes)
    except KafkaError as error:
        own = error.code in (Err.INVALID_GROUP_ID, Err.INVALID_SESSION_TIMEOUT)     # other errors do not return the member id
        result = JoinResult(error.code, request.member_id if own else "")
    return _join_response(ctx.version, result)


def _join_response(version: int, result: JoinResult) -> JoinGroupResponse:
    members = [
        JoinGroupResponse.JoinGroupResponseMember(member_id=member_id, group_instance_id=instance_id, metadata=metadata)
        for member_id, instance_id, metadata in result.members
    ]
    name = result.protocol_name or None
    return JoinGroupResponse(
        throttle_time_ms=0, error_code=int(result.error), generation_id=result.generation,
        protocol_type=result.protocol_type, protocol_name=name if version >= 7 else name or "", leader=result.leader,
        skip_assignment=result.skip_assignment, member_id=result.member_id, members=members)


@handles(SyncGroupRequest, versions=(0, 5), needs=(GroupCoordinator,))
async def sync_group(ctx: Context, request: SyncGroupRequest, groups: GroupCoordinator) -> SyncGroupResponse:
    """Take the leader's assignment, and give each member its own once the assignment is committed (rule 58)."""
    try:
        if ctx.version >= 5 and (request.protocol_type is None or request.protocol_name is None):
            raise KafkaError(Err.INCONSISTENT_GROUP_PROTOCOL)
        assignments = tuple((one.member_id, bytes(one.assignment)) for one in request.assignments)
        sync = Sync(request.member_id, request.generation_id, assignments, request.group_instance_id,
                    request.protocol_type, request.protocol_name)
        result = await groups.sync(request.group_id, sync)
    except KafkaError as error:
        result = SyncResult(error.code)
    return SyncGroupResponse(
        throttle_time_ms=0, error_code=int(result.error), protocol_type=result.protocol_type,
        protocol_name=result.protocol_name, assignment=result.assignment)


# --- Heartbeat, LeaveGroup ---------------------------------------------------------------------------------------

@handles(HeartbeatRequest, versions=(0, 4), needs=(GroupCoordinator,))
def heartbeat(ctx: Context, request: HeartbeatRequest, groups: GroupCoordinator) -> HeartbeatResponse:
    """Renew the member's session, and tell the member if it must join again."""
    try:
        error = groups.heartbeat(request.group_id, request.member_id, request.group_instance_id, request.generation_id)
    except KafkaError as refused:
        # As in Kafka: before the group is loaded the member is not known here, and must not lose its place for that.
        error = Err.NONE if refused.code is Err.COORDINATOR_LOAD_IN_PROGRESS else refused.code
    return HeartbeatResponse(throttle_time_ms=0, error_code=int(error))


@handles(LeaveGroupRequest, versions=(0, 5), needs=(GroupCoordinator,))
async def leave_group(ctx: Context, request: LeaveGroupRequest, groups: GroupCoordinator) -> LeaveGroupResponse:
    """Remove members: the sender up to version 2, each member that the request names from version 3 on."""
    single = ctx.version < 3
    leaving = [Leaving(request.member_id)] if single else [
        Leaving(member.member_id, member.group_instance_id) for member in request.members]
    whole = Err.NONE
    try:
        errors = []
        for start in range(0, len(leaving), MANY) or (0,):
            errors += await groups.leave(request.group_id, leaving[start:start + MANY])
            await pace()
    except KafkaError as refused:
        unknown = refused.code is Err.UNKNOWN_MEMBER_ID          # no such group: an error for each member
        whole = Err.NONE if unknown else refused.code
        errors = [refused.code for _ in leaving] if unknown else []
    if single:
        return LeaveGroupResponse(throttle_time_ms=0, error_code=int(errors[0] if errors else whole))
    members = await each(_left, list(zip(leaving, errors, strict=False)))
    return LeaveGroupResponse(throttle_time_ms=0, error_code=int(whole), members=members)


def _left(member: tuple[Leaving, Err]) -> LeaveGroupResponse.MemberResponse:
    leaving, error = member
    return LeaveGroupResponse.MemberResponse(member_id=leaving.member_id, group_instance_id=leaving.instance_id,
                                             error_code=int(error))

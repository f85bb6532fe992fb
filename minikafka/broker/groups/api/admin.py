"""Groups for administrators: DescribeGroups, ListGroups, DeleteGroups.

Versions of DescribeGroups: 3 authorized operations; 4 static members; 5 flexible; 6 GROUP_ID_NOT_FOUND (KIP-1043).
Versions of ListGroups: 3 flexible; 4 by state (KIP-518); 5 by type (KIP-848).
Versions of DeleteGroups: 1 as 0; 2 flexible.

Owns: the translation between the wire and the coordinator.
Source: KafkaApis, GroupCoordinatorService; KIP-518 (states), KIP-848 (types), KIP-1043 (version 6).
"""

from __future__ import annotations

from functools import partial

from kafka.protocol.admin.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)

from minikafka.broker.authorizer.acl import SUPPORTED_OPERATIONS, ResourceType
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.group import Group
from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.server.answer_size import ROW, AnswerBudget
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import each, pace
from minikafka.protocol.errors import Err, KafkaError
from minikafka.protocol.text import trim

GROUP_OPERATIONS = {*SUPPORTED_OPERATIONS[ResourceType.GROUP]}

Described = DescribeGroupsResponse.DescribedGroup


@handles(DescribeGroupsRequest, versions=(0, 6), needs=(GroupCoordinator,))
async def describe_groups(ctx: Context, request: DescribeGroupsRequest, groups: GroupCoordinator) -> DescribeGroupsResponse:
    """Describe classic groups. A group that is not classic is Dead; from version 6 on with GROUP_ID_NOT_FOUND."""
    operations, room = request.include_authorized_operations, AnswerBudget()
    described = await each(partial(_describe, ctx, groups, operations, room), request.groups)
    return DescribeGroupsResponse(throttle_time_ms=0, groups=described)


def _describe(ctx: Context, groups: GroupCoordinator, operations: bool, room: AnswerBudget, group_id: str) -> Described:
    try:
        partition = groups.loaded(group_id)
        group = partition.find(group_id, ClassicGroup)
        room.take(ROW + len(group_id) + (_size(group) if group is not None else 0))
    except KafkaError as error:
        return _described(group_id, "", error.code, error.message if error.code is Err.INVALID_REQUEST else None)
    allowed = GROUP_OPERATIONS if operations and ctx.version >= 3 else None
    if group is not None:
        return _described(group_id, group.state_name, group=group, allowed=allowed)
    if ctx.version >= 6:
        reason = "is not a classic group" if group_id in partition.groups else "not found"
        return _described(group_id, ClassicGroupState.DEAD.value, Err.GROUP_ID_NOT_FOUND, f"Group {group_id} {reason}.")
    return _described(group_id, ClassicGroupState.DEAD.value, allowed=allowed)


def _size(group: ClassicGroup) -> int:
    """Return about how many bytes the group's members take in the answer."""
    return sum(ROW + len(m.member_id) + len(m.instance_id or "") + len(m.client_id) + len(m.assignment)
               + len(m.metadata(group.protocol) if group.state is ClassicGroupState.STABLE else b"") for m in group.members)


def _described(group_id: str, state: str, error: Err = Err.NONE, text: str | None = None, group: ClassicGroup | None = None,
               allowed: set[int] | None = None) -> Described:
    stable = group is not None and group.state is ClassicGroupState.STABLE
    members = [
        Described.DescribedGroupMember(
            member_id=m.member_id, group_instance_id=m.instance_id, client_id=m.client_id, client_host=m.client_host,
            member_metadata=m.metadata(group.protocol) if stable else b"", member_assignment=m.assignment)
        for m in group.members] if group is not None else []
    return Described(
        error_code=int(error), error_message=text, group_id=group_id, group_state=state,
        protocol_type=group.protocol_type or "" if group is not None else "",
        protocol_data=group.protocol or "" if stable else "", members=members, authorized_operations=allowed)


@handles(ListGroupsRequest, versions=(0, 5), needs=(GroupCoordinator,))
async def list_groups(ctx: Context, request: ListGroupsRequest, groups: GroupCoordinator) -> ListGroupsResponse:
    """List the groups that this broker coordinates; clients ask every broker. Filters ignore case."""
    states = {trim(state.lower()) for state in request.states_filter or ()}
    types = {kind.lower() for kind in request.types_filter or ()}
    partitions = list(groups.partitions.values())
    if any(partition.loading for partition in partitions):
        return ListGroupsResponse(throttle_time_ms=0, error_code=int(Err.COORDINATOR_LOAD_IN_PROGRESS), groups=[])
    listed = await each(_listed, [group for partition in partitions for group in partition.groups.values()])
    listed = [one for one in listed if (not states or one.group_state.lower() in states)
              and (not types or one.group_type in types)]
    return ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=listed)


def _listed(group: Group) -> ListGroupsResponse.ListedGroup:
    return ListGroupsResponse.ListedGroup(group_id=group.group_id, protocol_type=group.protocol_type or "",
                                          group_state=group.state_name, group_type=group.kind)


@handles(DeleteGroupsRequest, versions=(0, 2), needs=(GroupCoordinator,))
async def delete_groups(ctx: Context, request: DeleteGroupsRequest, groups: GroupCoordinator) -> DeleteGroupsResponse:
    """Delete groups that have no members, each with its offsets."""
    results = []
    for group_id in dict.fromkeys(request.groups_names):
        error = await _delete(groups, group_id)
        results.append(DeleteGroupsResponse.DeletableGroupResult(group_id=group_id, error_code=int(error)))
        await pace()
    return DeleteGroupsResponse(throttle_time_ms=0, results=results)


async def _delete(groups: GroupCoordinator, group_id: str) -> Err:
    """Delete a group without members. Return NONE once its tombstones are committed, or the error."""
    try:
        partition = groups.loaded(group_id)
    except KafkaError as refused:
        return refused.code
    group = partition.groups.get(group_id)
    error = Err.GROUP_ID_NOT_FOUND if group is None else group.check_delete()
    return error if error is not Err.NONE else await partition.delete_group(group_id)

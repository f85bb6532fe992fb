"""A static member comes back under a new member id (KIP-345) and takes its old place, usually without a rebalance.

A consumer with a `group.instance.id` that restarts has lost its member id, and joins without one. Its instance id names the
member whose place it takes: the old member id is fenced from then on, and in a stable group the assignment stays.

Owns: the replacement of a member id and its undoing.
Invariants: I-GROUP-10 from the moment of the replacement the old id is refused with FENCED_INSTANCE_ID (rule 59).
            I-GROUP-11 a replacement that could not be stored is undone, unless the member has joined under its new id meanwhile:
              the log and the group name the same member. One exception is Kafka's too: if an instance is replaced twice and
              both records fail, the group keeps the first new id, which the log never had. No client has this id (its JoinGroup
              was answered FENCED_INSTANCE_ID), so the instance joins again or its session ends, and the next record is right.

What Kafka does differently: it undoes the replacement also if a rebalance has answered the JoinGroup meanwhile. The client is
fenced then under the id that it was given, and the group may have a protocol that the member never knew.
Source: GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin, KIP-345, KIP-814 (a returning leader is told not to
assign again).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minikafka.broker.groups.classic.members import ClassicGroupMember
from minikafka.broker.groups.classic.messages import (
    Call,
    CompleteCall,
    Effect,
    Join,
    JoinResult,
    Replaced,
    Store,
    SyncResult,
)
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.protocol.errors import Err

if TYPE_CHECKING:
    from minikafka.broker.groups.classic.group import ClassicGroup


def replace(group: ClassicGroup, call: Call, request: Join, member_id: str, now: float) -> list[Effect]:
    """Give the static member of `request.instance_id`, which joins again, the id `member_id`; the old id is fenced."""
    assert request.instance_id is not None
    old_id, old_leader = group.members.static[request.instance_id], group.members.leader or ""
    member = group.members.get(old_id)
    fenced = _fence(member)
    before = Join(old_id, member.protocol_type, member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms)
    _rename(group, request.instance_id, member_id)
    member.adopt(request)
    member.joining, member.is_new = call, False
    group.renew(member, now)
    if group.state is ClassicGroupState.STABLE and group.members.elect_protocol() == group.protocol:
        replaced = Replaced(request.instance_id, old_id, member_id, old_leader, before, request.may_skip)
        return [*fenced, Store(group.snapshot(), replaced)]
    return [*fenced, *group.rebalance_or_complete(now)]


def on_committed(group: ClassicGroup, then: Replaced, error: Err, now: float) -> list[Effect]:
    """Answer the JoinGroup that waits for the record with the new id; if the record failed, undo the replacement."""
    member = group.members.by_id.get(then.new_member_id)
    if member is None or member.joining is None:
        return []                    # replaced again, gone, or joined under its new id, while the record was on its way
    call, member.joining = member.joining, None
    if error is not Err.NONE:
        _rename(group, then.instance_id, then.old_member_id)
        member.adopt(then.before)
        result = JoinResult(error, "", group.generation, group.protocol_type, group.protocol, then.old_leader)
    elif then.may_skip:
        result = group.welcome(member, skip_assignment=group.members.leader == member.member_id)
    else:                            # an old client that gets itself as the leader would make a new assignment
        result = JoinResult(error, member.member_id, group.generation, group.protocol_type, group.protocol, then.old_leader)
    group.renew(member, now)         # its session may have ended while its call waited for the record
    return [CompleteCall(call, result)]


def _rename(group: ClassicGroup, instance_id: str, member_id: str) -> None:
    old_id = group.members.static[instance_id]
    group.members.rename(instance_id, member_id)
    group.pending_sync = {member_id if m == old_id else m: None for m in group.pending_sync}


def _fence(member: ClassicGroupMember) -> list[Effect]:
    """Answer the calls that wait under the old id with FENCED_INSTANCE_ID."""
    effects: list[Effect] = []
    if member.joining is not None:
        effects.append(CompleteCall(member.joining, JoinResult(Err.FENCED_INSTANCE_ID, member.member_id)))
    if member.syncing is not None:
        effects.append(CompleteCall(member.syncing, SyncResult(Err.FENCED_INSTANCE_ID)))
    member.joining = member.syncing = None
    return effects

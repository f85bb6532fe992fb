"""Which requests KIP-848 refuses, and with which error: asked a second time, from outside, in other words.

    valid(request, version, settings)      of a heartbeat that is invalid in every group
    refusal(before, request, context)      of a heartbeat that one group refuses
    commit_error(...), fetch_error(...)    of an OffsetCommit and an OffsetFetch

Owns: functions that return an error, NONE for a request that goes on.
Source: KIP-848, KIP-1251; ConsumerGroup.validateOffsetCommit; rule 848.
"""

from __future__ import annotations

from collections.abc import Iterable

from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat
from minikafka.broker.groups.consumer.reconciliation import TopicIdPartition
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import ConsumerGroupSettings, GroupContext, OffsetCommit
from minikafka.protocol.errors import Err

BROKEN = ("(", "[a")  # no regular expressions
JOINING, LEAVING, AWAY = 0, -1, -2
KNOWS_EPOCHS = 9  # the first version of OffsetCommit whose clients know member epochs


def valid(request: ConsumerGroupHeartbeat, version: int, settings: ConsumerGroupSettings) -> Err:
    """Return the error of a request that is invalid in every group, whatever its name; NONE for a valid one."""
    blank = [value for value in (request.instance_id, request.rack_id) if value is not None and not value.strip()]
    needs_id = version >= 1 or request.epoch == LEAVING or request.epoch > JOINING
    if blank or needs_id and not request.member_id.strip():
        return Err.INVALID_REQUEST
    if request.epoch == JOINING:
        silent = request.topics is None and request.regex is None
        if request.rebalance_timeout_ms == -1 or request.owned is None or request.owned or request.names_topics or silent:
            return Err.INVALID_REQUEST
    elif request.epoch < AWAY or request.epoch == AWAY and request.instance_id is None:
        return Err.INVALID_REQUEST
    return Err.NONE if request.assignor in (None, *settings.assignors) else Err.UNSUPPORTED_ASSIGNOR


def refusal(before: ConsumerGroupState, request: ConsumerGroupHeartbeat, context: GroupContext) -> Err:
    """Return the error of a valid heartbeat of a member that joins or stays; a classic member gives its place at once."""
    if request.regex in BROKEN:
        return _refusal(before, request, context) or Err.INVALID_REGULAR_EXPRESSION
    return _refusal(before, request, context)


def _refusal(before: ConsumerGroupState, request: ConsumerGroupHeartbeat, context: GroupContext) -> Err:
    mine, known = before.members.get(request.member_id), None
    if mine is None and len(before.members) >= context.settings.max_size:
        return Err.GROUP_MAX_SIZE_REACHED
    if request.instance_id is not None:
        known = before.static_member(request.instance_id)
        if request.epoch == JOINING:
            old = None if known is None else before.members[known]
            back = old is None or old.current.epoch == AWAY or old.metadata.classic is not None
            return Err.NONE if back else Err.UNRELEASED_INSTANCE_ID
        if known != request.member_id:
            return Err.UNKNOWN_MEMBER_ID if known is None else Err.FENCED_INSTANCE_ID
    if mine is None:
        return Err.NONE if request.epoch == JOINING else Err.UNKNOWN_MEMBER_ID
    if request.epoch in (JOINING, mine.current.epoch):
        return Err.NONE
    late = request.epoch == mine.current.previous_epoch and request.epoch < mine.current.epoch
    return Err.NONE if late and request.owned is not None and {*request.owned} <= {*mine.assigned} else Err.FENCED_MEMBER_EPOCH


def commit_error(state: ConsumerGroupState, commit: OffsetCommit, partitions: Iterable[TopicIdPartition]) -> Err:
    """Return the error of a commit (rule 848). An old epoch will do for what the member has had since then."""
    epoch, member = commit.generation, state.members.get(commit.member_id)
    nameless = not commit.member_id and commit.instance_id is None
    if epoch < 0 and not state.members or commit.transactional and epoch == -1 and nameless:
        return Err.NONE
    if member is None:
        return Err.UNKNOWN_MEMBER_ID
    classic = member.metadata.classic is not None
    if not (commit.transactional or classic) and commit.version < KNOWS_EPOCHS:
        return Err.UNSUPPORTED_VERSION
    since = {**member.revoking, **member.assigned}
    if epoch == member.current.epoch or epoch < member.current.epoch and all(
            one in since and since[one] <= epoch for one in partitions):
        return Err.NONE
    return Err.ILLEGAL_GENERATION if commit.transactional or classic else Err.STALE_MEMBER_EPOCH


def fetch_error(state: ConsumerGroupState, member_id: str | None, epoch: int) -> Err:
    """Return the error of a request for offsets."""
    member = state.members.get(member_id or "")
    if member_id is None and epoch < 0:
        return Err.NONE
    if member is None:
        return Err.UNKNOWN_MEMBER_ID
    if epoch == member.current.epoch:
        return Err.NONE
    return Err.STALE_MEMBER_EPOCH if member.metadata.classic is None else Err.ILLEGAL_GENERATION

"""What a group of the consumer protocol writes, on its way into the log and back from it.

Kafka's coordinator changes a group as soon as its records are appended, and answers when they are committed; so do we. If
they are refused nothing has changed; if they never commit, neither does anything after them, and the leadership is lost
with all that was built on them.

Owns: replay() and write() of such a group, and the ways in which a group of one kind takes the place of the other kind.
Invariants: I-CSTORE-1 records are applied once they are appended, and answered for once they are committed (rule 58).
            I-CSTORE-2 what ends a group of one kind and what begins one of the other kind is one batch.
Source: CoordinatorRuntime (timeline, deferred events), GroupMetadataManager.replay.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from minikafka.broker.coordinator.shell.coordinator_log import Record, failed
from minikafka.broker.groups.classic.group import Group
from minikafka.broker.groups.consumer import records as wire
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import Write
from minikafka.broker.groups.consumer.state import ConsumerState
from minikafka.broker.groups.records import group_key
from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.errors import Err

if TYPE_CHECKING:
    from minikafka.broker.groups.shell.shard import GroupPartition


def replay(partition: GroupPartition, key: wire.Key, value: bytes | None) -> None:
    """Take a record from the log. A group that only keeps offsets has none of its own, and makes way."""
    group = partition.groups.get(key.group)
    if not isinstance(group, ConsumerGroup):
        if value is None or key.kind == wire.PARTITIONS:
            return
        group = partition.groups[key.group] = partition.coordinator.new_consumer_group(key.group)
    if key.kind == wire.GROUP and value is None:
        del partition.groups[key.group]
    elif key.kind != wire.PARTITIONS:
        group.replay(key, None if value is None else wire.read_value(key.kind, bytes(value)))


def write(partition: GroupPartition, group: ConsumerGroup, effect: Write, before: Sequence[Record] = ()) -> None:
    """Append what the group wrote (after `before`, what makes way for it), and apply it."""
    records = [*before, *((wire.write_key(key), wire.write_value(value)) for key, value in effect.records)]
    outcome = partition.log.append(records) if records else partition.log.settled()
    _answer_later(effect.call, effect.result, outcome)
    if records and not failed(outcome):
        partition.groups[group.group_id] = group
        known = _seen(group)
        group.adopt(effect.records, partition.env.now())
        if known != _seen(group):
            partition.env.trace("group", **_told(group, partition.coordinator.broker.image))


def replace(partition: GroupPartition, group: Group, call: object, result: object) -> None:
    """A classic group with members takes the place of one of the consumer protocol, and calls them back."""
    record = partition.group_record(group.group_id, group.snapshot())
    outcome = partition.log.append([*tombstones(partition, group.group_id), record])
    _answer_later(call, result, outcome)
    if not failed(outcome):
        partition.groups[group.group_id] = group
        now = partition.env.now()
        partition.run(group, [*group.start(now), *group.rebalance_or_complete(now)])


def tombstones(partition: GroupPartition, group_id: str) -> list[Record]:
    """What deletes the group of either kind, but for its offsets."""
    group = partition.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return [(wire.write_key(key), None) for key, _ in group.state.tombstones()]
    return [(group_key(group_id), None)]


def _answer_later(call: object, result: object, outcome: Future[Err]) -> None:
    """`result` to who waits (if anybody does), or the error that kept it out of the log."""
    if call is not None:
        outcome.add_done_callback(partial(_answer, call, result))


def _answer(call: object, result: object, outcome: Future[Err]) -> None:
    assert isinstance(call, Future)
    if not call.done():                             # the client may have hung up
        call.set_result(result if outcome.result() is Err.NONE else outcome.result())


# --- for the trace -----------------------------------------------------------------------------------------------

def _seen(group: ConsumerGroup) -> tuple[ConsumerState, int, list[str]]:
    return group.state.phase, group.state.epoch, list(group.state.members)


def _told(group: ConsumerGroup, image: MetadataImage) -> dict[str, Any]:
    """In the words of a classic group: the generation is the group's epoch. Who has what is told once it is settled."""
    state, epoch, members = _seen(group)
    reported: dict[str, Any] = {"group": group.group_id, "state": state.value, "generation": epoch, "members": members}
    if state is ConsumerState.STABLE:
        known = group.state.members.items()
        reported["names"] = {m: member.metadata.instance_id or member.metadata.client_id for m, member in known}
        reported["assignment"] = {
            m: sorted(f"{topic.name}-{index}" for topic_id, index in member.assigned
                      if (topic := image.topic_by_id(topic_id)) is not None) for m, member in known}
    return reported

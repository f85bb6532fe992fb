"""What the rules say when a group changes its protocol: from classic to consumer (upgrade), and back (downgrade).

    check_upgrade(old, refused, group, context)      the consumer group as it is before the heartbeat that it was made for
    becomes_classic(before, gone, settings, most)    whether a removal must change the protocol
    check_downgrade(before, gone, stored, classic)   the classic group as it is before its rebalance

Owns: the judgement of both ways.
Invariants: I-MIGRULE-1 every member is in the new group, with the partitions, the names and the timeouts of the old one.
Source: convertToConsumerGroup, convertToClassicGroup; KIP-848 (group.consumer.migration.policy).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from minikafka.broker.groups.classic.embedded_protocol import read_assignment, read_subscription
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import StoredGroup
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.reconciliation import TopicIdPartition
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import ConsumerGroupSettings, GroupContext
from minikafka.broker.metadata.image import MetadataImage
from minikafka.proof.small_worlds.groups.classic_seen import EMPTY, same, that
from minikafka.protocol.errors import Err


def upgrade_error(old: ClassicGroup, settings: ConsumerGroupSettings) -> Err:
    """Return what a member of the consumer protocol is told that joins a classic group; NONE if the group is upgraded."""
    if old.state_name == EMPTY:
        return Err.NONE
    own = any(len(m.assignment) > 6 and read_assignment(m.assignment).user_data for m in old.members)
    broken = any(len(data) < 2 for m in old.members for _, data in m.protocols[:1])
    allowed = settings.migration_policy in ("bidirectional", "upgrade")
    fits = old.protocol_type == "consumer" and len(old.members) <= settings.max_size
    return Err.NONE if allowed and fits and not own and not broken else Err.GROUP_ID_NOT_FOUND


def check_upgrade(old: ClassicGroup, group: ConsumerGroup, context: GroupContext) -> None:
    """Check a consumer group made from a classic one (I-MIGRULE-1)."""
    state, names = group.state, _names(context.image)
    if old.state_name == EMPTY:
        same("a group that begins", state, ConsumerGroupState("g"))
        return
    epoch = max(1, old.generation)
    same("the members", [*state.members], [m.member_id for m in old.members])
    same("the epochs of the group and its target", (state.epoch, state.target.epoch), (epoch, epoch))
    same("when the target was made", state.target.made_ms, 0)
    for was in old.members:
        one = state.members[was.member_id]
        said, classic = one.metadata, one.metadata.classic
        subscription, _ = read_subscription(next((data for name, data in was.protocols if name == old.protocol),
                                                 was.protocols[0][1]))
        assert classic is not None
        same("what it had said", (said.instance_id, said.client_id, said.client_host, said.rebalance_timeout_ms, said.topics,
                                  said.regex, said.assignor, said.rack_id),
             (was.instance_id, was.client_id, was.client_host, was.rebalance_timeout_ms, tuple(sorted({*subscription.topics})),
              "", None, subscription.rack_id or None))
        same("its session, its protocols", (classic.session_timeout_ms, [(p.name, p.metadata) for p in classic.protocols]),
             (was.session_timeout_ms, [*was.protocols]))
        had = {name for name in _rows(was.assignment) if name in names.values()}
        same("its partitions", {names[p] for p in one.assigned}, had)
        same("its target", {names[p] for p in state.targets[was.member_id]}, had)
        same("its epoch and state", (one.current.epoch, one.current.previous_epoch, one.current.state, {*one.assigned.values()}),
             (epoch, epoch, 0, {epoch} if had else set()))
        that(not one.revoking, "it has something to give up")
        same("the end of its session", group.sessions.get(was.member_id), context.now + was.session_timeout_ms / 1000)


def becomes_classic(before: ConsumerGroupState, gone: Collection[str], settings: ConsumerGroupSettings, most: int) -> bool:
    """Return whether the last members of the consumer protocol go, others stay, and the settings allow a classic group."""
    kinds = {m: one.metadata.classic is None for m, one in before.members.items()}  # whether of the consumer protocol
    staying = [m for m in kinds if m not in gone]
    last = any(kinds[m] for m in kinds if m in gone) and not any(kinds[m] for m in staying)
    return last and 1 <= len(staying) <= most and settings.migration_policy in ("bidirectional", "downgrade")


def check_downgrade(before: ConsumerGroupState, gone: Collection[str], stored: StoredGroup, classic: ClassicGroup,
                    image: MetadataImage) -> None:
    """Check a classic group made from a consumer group (I-MIGRULE-1)."""
    names = _names(image)
    staying = {m: one for m, one in before.members.items() if m not in gone}
    same("the members", ([m.member_id for m in stored.members], [m.member_id for m in classic.members]),
         ([*staying], [*staying]))
    that(stored.leader in staying, "its leader is no member")
    same("the type and the generation", (stored.protocol_type, stored.generation), ("consumer", before.epoch))
    for was, one in zip(stored.members, classic.members, strict=True):
        said = staying[was.member_id].metadata
        assert said.classic is not None
        protocols = [(p.name, p.metadata) for p in said.classic.protocols]
        that(stored.protocol in dict(protocols), "not every member knows the protocol")
        same("what the record says", (was.instance_id, was.client_id, was.client_host, was.rebalance_timeout_ms,
                                      was.session_timeout_ms, was.subscription),
             (said.instance_id, said.client_id, said.client_host, said.rebalance_timeout_ms, said.classic.session_timeout_ms,
              dict(protocols)[stored.protocol or ""]))
        same("its protocols", [*one.protocols], protocols)
        target: Iterable[TopicIdPartition] = before.targets.get(was.member_id, ())
        same("its partitions", _rows(was.assignment), sorted(names[p] for p in target if p in names))
        same("its partitions in the group", one.assignment, was.assignment)


def _names(image: MetadataImage) -> Mapping[TopicIdPartition, str]:
    return {(topic.id, index): f"{topic.name}-{index}" for topic in image.topics.values() for index in topic.partitions}


def _rows(assignment: bytes) -> list[str]:
    return sorted(f"{row.topic}-{index}" for row in read_assignment(assignment).assigned_partitions for index in row.partitions)

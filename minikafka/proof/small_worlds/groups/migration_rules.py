"""What the rules say when a group changes its protocol: from classic to consumer (upgrade), and back (downgrade).

Owns: of_upgrade(), becomes_classic(): when it must; check_upgrade(), check_downgrade(): how.
Invariants: I-MIGRULE-1 every member is in the new group, with the partitions, the names and the timeouts of the old one.
Source: convertToConsumerGroup, convertToClassicGroup; KIP-848 (group.consumer.migration.policy).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from minikafka.broker.groups.classic.embedded_protocol import read_assignment, read_subscription
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import StoredGroup
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat
from minikafka.broker.groups.consumer.reconciliation import TopicIdPartition
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import ConsumerGroupSettings
from minikafka.broker.metadata.image import MetadataImage
from minikafka.proof.small_worlds.groups.classic_rules import same, that
from minikafka.proof.small_worlds.groups.faults import BROKEN, JOINING, Faults, when
from minikafka.protocol.errors import Err


def rows(assignment: bytes) -> list[str]:
    """Return the partitions of an assignment by name, sorted."""
    return sorted(f"{row.topic}-{index}" for row in read_assignment(assignment).assigned_partitions for index in row.partitions)


def named(partitions: Iterable[TopicIdPartition], image: MetadataImage) -> list[str]:
    """Return the names of partitions, sorted, without those of topics that are gone."""
    known = {(topic.id, index): f"{topic.name}-{index}" for topic in image.topics.values() for index in topic.partitions}
    return sorted(known[one] for one in partitions if one in known)


def of_upgrade(old: ClassicGroup, beat: ConsumerGroupHeartbeat, settings: ConsumerGroupSettings) -> Faults:
    """Return what is wrong with a heartbeat that meets a classic group."""
    own = any(len(m.assignment) > 6 and read_assignment(m.assignment).user_data for m in old.members)
    broken = any(len(data) < 2 for m in old.members for _, data in m.protocols[:1])
    allowed = settings.migration_policy in ("bidirectional", "upgrade") and old.protocol_type == "consumer"
    may = old.is_empty or allowed and len(old.members) <= settings.max_size and not own and not broken
    return when((Err.GROUP_ID_NOT_FOUND, beat.epoch != JOINING or not may),
                (Err.GROUP_MAX_SIZE_REACHED, len(old.members) >= settings.max_size),
                (Err.INVALID_REGULAR_EXPRESSION, beat.regex in BROKEN))


def of_classic(group: ClassicGroup, image: MetadataImage) -> dict[str, object]:
    """Return the members of a classic group with all that must go over."""
    return {m.member_id: (m.instance_id, m.client_id, m.client_host, m.rebalance_timeout_ms, m.session_timeout_ms, [*m.protocols],
                          [name for name in rows(m.assignment) if name.rsplit("-", 1)[0] in image.topics])
            for m in group.members}


def of_mixed(state: ConsumerGroupState, partitions: dict[str, Collection[TopicIdPartition]], gone: Collection[str],
             image: MetadataImage) -> dict[str, object]:
    """Return the classic members of a consumer group with all that must go over."""
    members = {m: (one.metadata, one.metadata.classic) for m, one in state.members.items() if m not in gone}
    return {m: (said.instance_id, said.client_id, said.client_host, said.rebalance_timeout_ms, classic.session_timeout_ms,
                [(p.name, p.metadata) for p in classic.protocols], named(partitions.get(m, ()), image))
            for m, (said, classic) in members.items() if classic is not None}


def check_upgrade(old: ClassicGroup, group: ConsumerGroup, image: MetadataImage) -> None:
    """Check a consumer group made from a classic one, before the heartbeat that it was made for (I-MIGRULE-1)."""
    state, epoch = group.state, max(1, old.generation)
    if old.is_empty:
        same("a group that begins", state, ConsumerGroupState("g"))
        return
    members = state.members
    same("the members", of_mixed(state, {m: one.assigned for m, one in members.items()}, (), image), of_classic(old, image))
    same("the targets", state.targets, {m: {*one.assigned} for m, one in members.items()})
    same("the epochs of the group and its target", (state.epoch, state.target.epoch, state.target.made_ms), (epoch, epoch, 0))
    for m, one in members.items():
        subscription, _ = read_subscription(old.members.get(m).metadata(old.protocol) or old.members.get(m).protocols[0][1])
        said, since = one.metadata, {*one.assigned.values(), epoch}
        same("what it reads", (said.topics, said.regex, said.assignor, said.rack_id),
             (tuple(sorted({*subscription.topics})), "", None, subscription.rack_id or None))
        same("its epoch and state", (one.current.epoch, one.current.previous_epoch, one.current.state, since, one.revoking),
             (epoch, epoch, 0, {epoch}, {}))


def becomes_classic(before: ConsumerGroupState, gone: Collection[str], settings: ConsumerGroupSettings, most: int) -> bool:
    """Return whether the last members of the consumer protocol go, others stay, and the settings allow a classic group."""
    modern = {m for m, one in before.members.items() if one.metadata.classic is None}
    allowed = settings.migration_policy in ("bidirectional", "downgrade")
    return allowed and bool(modern) and modern <= {*gone} and 1 <= len(before.members.keys() - gone) <= most


def check_downgrade(before: ConsumerGroupState, gone: Collection[str], stored: StoredGroup, classic: ClassicGroup,
                    image: MetadataImage) -> None:
    """Check a classic group made from a consumer group, before its rebalance (I-MIGRULE-1)."""
    wanted = of_mixed(before, {m: [*target] for m, target in before.targets.items()}, gone, image)
    same("the members", of_classic(classic, image), wanted)
    same("the record", classic.snapshot(), stored)
    same("the type and the generation", (stored.protocol_type, stored.generation), ("consumer", before.epoch))
    that(stored.leader in wanted and stored.protocol in classic.members.common_protocols(), "the leader or the protocol is none")

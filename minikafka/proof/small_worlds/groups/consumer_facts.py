"""What the judges of a consumer group know of it: its phase, its topics, and when an assignment or a match is due.

Owns: questions about a state, a context and the metadata image, answered in other words than those of broker/groups/consumer.
Source: KIP-848; KIP-1101 (what a change of a topic is), KIP-1263 (the assignment interval).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.reconciliation import ConsumerGroupMember
from minikafka.broker.groups.consumer.records import Regex
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import GroupContext
from minikafka.broker.metadata.image import MetadataImage
from minikafka.proof.small_worlds.groups.classic_seen import same
from minikafka.protocol.errors import Err

STABLE, UNREVOKED, UNRELEASED = 0, 1, 2  # the states of a member, as its record has them


def phase(state: ConsumerGroupState) -> str:
    """Return Kafka's name for the state of a group."""
    if not state.members:
        return "Empty"
    if state.target.epoch < state.epoch:
        return "Assigning"
    there = all(one.current.state == STABLE and one.current.epoch == state.target.epoch for one in state.members.values())
    return "Stable" if there else "Reconciling"


def unchanged(after: ConsumerGroupState, before: ConsumerGroupState) -> None:
    """Check that a group is as it was, whichever records it was made of."""
    same("a group that nothing has happened to", replace(after, written=[]), replace(before, written=[]))


def session_s(member: ConsumerGroupMember, context: GroupContext) -> float:
    """Return how long a member may be silent: a classic one says it itself."""
    classic = member.metadata.classic
    return (context.settings.session_timeout_ms if classic is None else classic.session_timeout_ms) / 1000


def described(group: ConsumerGroup, image: MetadataImage) -> None:
    """Check what the group tells administrators and the trace."""
    members = group.state.members
    same("its state", group.state_name, phase(group.state))
    same("whether it is empty, and may be deleted",
         (group.is_empty, group.check_delete() is Err.NONE), (not members, not members))
    read = {topic for topic in (*image.topics, "none") if group.reads(topic)}
    same("what it reads", read, subscribed(group.state, group.state.regexes) & {*image.topics})
    topics = {topic.id: topic.name for topic in image.topics.values()}
    same("what the trace has", group.settled_fields(image), {
        "names": {m: one.metadata.client_id if one.metadata.instance_id is None else one.metadata.instance_id
                  for m, one in members.items()},
        "assignment": {m: sorted(f"{topics[topic]}-{index}" for topic, index in one.assigned if topic in topics)
                       for m, one in members.items()}})


def matching(expression: str, context: GroupContext) -> tuple[str, ...]:
    """Return the topics that an expression matches; these expressions mean the same to Python."""
    return tuple(sorted(topic for topic in context.image.topics if re.fullmatch(expression, topic)))


def expressions(state: ConsumerGroupState) -> set[str]:
    """Return the expressions that members subscribe to."""
    return {one.metadata.regex for one in state.members.values() if one.metadata.regex}


def subscribed(state: ConsumerGroupState, regexes: Mapping[str, Regex]) -> set[str]:
    """Return the topics that members subscribe to, by name or by an expression that is resolved."""
    names = {name for one in state.members.values() for name in one.metadata.topics}
    return names | {name for one in state.members.values() if one.metadata.regex in regexes
                    for name in regexes[one.metadata.regex].topics}


def facts(state: ConsumerGroupState, regexes: Mapping[str, Regex], context: GroupContext) -> list[object]:
    """Return what a group knows of the topics that it subscribes to: a change of it asks for a new assignment."""
    topics = context.image.topics
    racks = {number: broker.rack or "" for number, broker in context.image.brokers.items()}
    return [(name, topics[name].id, [sorted(racks[node] for node in one.replicas if node in racks)
                                     for _, one in sorted(topics[name].partitions.items())])
            for name in sorted(subscribed(state, regexes)) if name in topics]


def must_resolve(known: Mapping[str, Regex], state: ConsumerGroupState, context: GroupContext) -> bool:
    """Return whether expressions must be matched: after ten seconds if expressions or topics are new, else after ten minutes."""
    used = expressions(state)
    if not used or not known:
        return bool(used)
    age = context.wall_ms - max(one.resolved_ms for one in known.values())
    news = used != {*known} or context.topics_since > max(one.version for one in known.values())
    return age > (10_000 if news else 600_000)


def may_assign(before: ConsumerGroupState, context: GroupContext) -> bool:
    """Return whether the assignment interval is over: members that join within it share one assignment (KIP-1263)."""
    interval, made = context.settings.assignment_interval_ms, before.target.made_ms
    return interval == 0 or made == 0 or context.wall_ms - made >= interval

"""Members of the classic protocol with subscriptions and assignments as consumers write them, for groups that change kind."""

from __future__ import annotations

from typing import Any

from kafka.protocol.consumer.group import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.consumer_protocol import Group


def subscription(topics: list[str], owned: dict[str, list[int]]) -> bytes:
    """Return a ConsumerProtocolSubscription of version 1, without user data."""
    row = ConsumerProtocolSubscription.TopicPartition
    rows = [row(topic=topic, partitions=found) for topic, found in owned.items()]
    return bytes(ConsumerProtocolSubscription(topics=topics, user_data=None, owned_partitions=rows).encode(version=1))


def assignment(rows: dict[str, list[int]]) -> bytes:
    """Return a ConsumerProtocolAssignment of version 0, without user data."""
    row = ConsumerProtocolAssignment.TopicPartition
    given = [row(topic=topic, partitions=found) for topic, found in rows.items()]
    return bytes(ConsumerProtocolAssignment(assigned_partitions=given, user_data=None).encode(version=0))


class Classic:
    """One classic member of a group: joins, syncs, heartbeats."""

    def __init__(self, group: Group, *topics: str, protocol: str = "range", instance: str | None = None,
                 **said: Any) -> None:
        self.said = said
        self.group, self.topics, self.protocol, self.instance = group, list(topics), protocol, instance
        self.id, self.generation = "", -1

    def ask_to_join(self, owned: dict[str, list[int]] | None = None, metadata: bytes | None = None, **said: Any) -> Any:
        return self.group.ask(self.join_request(owned, metadata, **said), 9)

    def join_request(self, owned: dict[str, list[int]] | None = None, metadata: bytes | None = None, **said: Any) -> Any:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(
            name=self.protocol, metadata=subscription(self.topics, owned or {}) if metadata is None else metadata)
        fields = {"group_id": self.group.name, "member_id": self.id, "session_timeout_ms": 60_000,
                  "rebalance_timeout_ms": 60_000, "protocol_type": "consumer", "group_instance_id": self.instance,
                  "protocols": [protocol], "reason": None}
        return JoinGroupRequest(**(fields | self.said | said))

    def join(self, owned: dict[str, list[int]] | None = None) -> Any:
        """Join, with the id that was given at the first try."""
        answer = self.ask_to_join(owned)
        if answer.error_code == Err.MEMBER_ID_REQUIRED:
            self.id = answer.member_id
            answer = self.ask_to_join(owned)
        assert answer.error_code == Err.NONE, answer
        self.id, self.generation = answer.member_id, answer.generation_id
        return answer

    def ask_to_sync(self, rows: dict[str, list[int]] | None = None) -> Any:
        given = [] if rows is None else [SyncGroupRequest.SyncGroupRequestAssignment(
            member_id=self.id, assignment=assignment(rows))]
        return self.group.ask(SyncGroupRequest(
            group_id=self.group.name, generation_id=self.generation, member_id=self.id, protocol_type="consumer",
            protocol_name=self.protocol, group_instance_id=self.instance, assignments=given), 5)

    def sync(self, rows: dict[str, list[int]] | None = None) -> dict[str, list[int]]:
        """Sync, and return the member's partitions; the leader of a group of one sends the assignment itself."""
        answer = self.ask_to_sync(rows)
        assert answer.error_code == Err.NONE, answer
        found = ConsumerProtocolAssignment.decode(bytes(answer.assignment)).assigned_partitions
        return {row.topic: sorted(row.partitions) for row in found}

    def heartbeat(self) -> int:
        return int(self.group.ask(HeartbeatRequest(
            group_id=self.group.name, generation_id=self.generation, member_id=self.id,
            group_instance_id=self.instance), 4).error_code)

    def leave(self) -> int:
        row = LeaveGroupRequest.MemberIdentity(member_id=self.id, group_instance_id=self.instance, reason=None)
        answer = self.group.ask(LeaveGroupRequest(group_id=self.group.name, members=[row]), 5)
        assert answer.error_code == Err.NONE
        return int(answer.members[0].error_code)

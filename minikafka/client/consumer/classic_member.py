"""Membership in a consumer group, classic protocol: join, sync, heartbeat, leave.

All members send JoinGroup. When all have done so, or their time is over, the coordinator begins a new generation and sends
the list of members to one of them, the leader. The leader assigns the partitions, and every member asks for its share with
SyncGroup. From then on heartbeats tell the coordinator that the member lives, and an answer tells it when to join again.

Owns: the member id, the generation, the task that joins and the one that sends heartbeats.
Invariants: a member without a valid generation has no partitions: it sets `lost` before it joins again.
            One join at a time; it goes on while the consumer polls, so a cooperative consumer reads meanwhile.
            An answer that belongs to an earlier generation changes nothing.
            A transaction's offsets are sent with the generation that was joined last, even if the member was
              removed since: by that old generation the coordinator fences it (ConsumerGroupMetadata).
Source: org.apache.kafka.clients.consumer.internals.AbstractCoordinator, ConsumerCoordinator; KIP-62, KIP-345, KIP-394.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kafka.protocol.consumer import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest

from minikafka.client.client import GROUP, Client, error_of
from minikafka.client.consumer import assignors
from minikafka.client.consumer.group_member import NO_GENERATION, GroupMember
from minikafka.client.metadata import Tp
from minikafka.client.retry import RETRIABLE
from minikafka.protocol.errors import Err, KafkaError

JOIN, SYNC, HEARTBEAT, LEAVE = 9, 5, 4, 5  # versions
CONSUMER = "consumer"
REJOIN = frozenset({Err.UNKNOWN_MEMBER_ID, Err.ILLEGAL_GENERATION})


class Membership(GroupMember):
    """One member; `wake` is called at each change that the consumer must handle."""

    brokers_assign = False

    def __init__(self, client: Client, group: str, topics: list[str], *, assignor: str = "range",
                 instance_id: str | None = None, session_timeout: float = 6.0, rebalance_timeout: float = 10.0,
                 heartbeat_interval: float = 1.0, max_poll_interval: float = 300.0,
                 wake: Callable[[], None] = lambda: None) -> None:
        super().__init__(client, group, topics, instance_id=instance_id, rebalance_timeout=rebalance_timeout,
                         max_poll_interval=max_poll_interval, wake=wake)
        self.assignor, self.session_timeout, self.heartbeat_interval = assignor, session_timeout, heartbeat_interval
        self.counts: dict[str, int] | None = None  # at the leader: number of partitions of each topic that it assigned
        self._joining: asyncio.Task[None] | None = None
        self._heartbeats: asyncio.Task[None] | None = None

    @property
    def cooperative(self) -> bool:
        return self.assignor == assignors.COOPERATIVE

    @property
    def joining(self) -> bool:
        return self._joining is not None

    @property
    def stable(self) -> bool:
        return self.generation != NO_GENERATION and not self.joining

    # --- joining ------------------------------------------------------------------------------------------------

    def join(self, owned: list[Tp]) -> None:
        """Begin to join; later `assigned`, `lost` or `error` holds the outcome."""
        assert self._joining is None
        self.needs_join = False
        self._joining = self.env.spawn(self._join(owned), f"{self.client.client_id}: join {self.group}")

    async def _join(self, owned: list[Tp]) -> None:
        attempts = 0
        try:
            while not self.left:
                error = await self._join_once(owned)
                if error is Err.NONE:
                    break
                if error in REJOIN:
                    self.forget(error)
                    if owned:
                        break  # the consumer must give up its partitions first
                elif error not in RETRIABLE and error not in (Err.MEMBER_ID_REQUIRED, Err.REBALANCE_IN_PROGRESS):
                    self.error = KafkaError(error)
                    break
                if error is not Err.MEMBER_ID_REQUIRED:
                    attempts += 1
                    await self.env.sleep(self.client.backoff.pause(attempts))
        finally:
            self._joining = None
            self.wake()

    async def _join_once(self, owned: list[Tp]) -> Err:
        metadata = assignors.encode_subscription(self.topics, owned, self.generation)
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name=self.assignor, metadata=metadata)
        error, answer = await self.client.ask_coordinator(GROUP, self.group, lambda: JoinGroupRequest(
            group_id=self.group, session_timeout_ms=int(self.session_timeout * 1000),
            rebalance_timeout_ms=int(self.rebalance_timeout * 1000), member_id=self.member_id,
            group_instance_id=self.instance_id, protocol_type=CONSUMER, protocols=[protocol], reason=None),
            JOIN, error_of, self.rebalance_timeout + self.client.request_timeout)
        if error in (Err.NONE, Err.MEMBER_ID_REQUIRED):
            self.member_id = answer.member_id
        if error is not Err.NONE:
            return error
        shares = await self._assign(answer) if answer.leader == self.member_id else {}
        return await self._sync(answer, shares)

    async def _assign(self, answer: Any) -> dict[str, list[Tp]]:
        """Compute all members' shares, as leader (KIP-814: unless the coordinator still has the assignment)."""
        members = [assignors.decode_subscription(m.member_id, m.group_instance_id, m.metadata) for m in answer.members]
        topics = sorted({topic: None for m in members for topic in m.topics})
        for topic in topics:
            self.client.metadata.wanted.setdefault(topic)
        await self.client.refresh()
        partitions = {topic: self.client.metadata.partitions(topic) for topic in topics}
        self.counts = {topic: len(found) for topic, found in partitions.items()}
        if answer.skip_assignment:
            return {}
        return assignors.ASSIGNORS[answer.protocol_name](members, partitions)

    async def _sync(self, joined: Any, shares: dict[str, list[Tp]]) -> Err:
        named = SyncGroupRequest.SyncGroupRequestAssignment
        parts = [named(member_id=m, assignment=assignors.encode_assignment(tps)) for m, tps in sorted(shares.items())]
        if joined.leader != self.member_id:
            self.counts = None
        error, answer = await self.client.ask_coordinator(GROUP, self.group, lambda: SyncGroupRequest(
            group_id=self.group, generation_id=joined.generation_id, member_id=self.member_id,
            group_instance_id=self.instance_id, protocol_type=CONSUMER, protocol_name=joined.protocol_name,
            assignments=parts), SYNC, error_of, self.rebalance_timeout + self.client.request_timeout)
        if error is Err.NONE:
            self.generation = joined.generation_id
            self.joined = self.generation, self.member_id
            self.assigned = assignors.decode_assignment(answer.assignment) if answer.assignment else []
            if self._heartbeats is None:
                self._heartbeats = self.env.spawn(self._beat(), f"{self.client.client_id}: heartbeats")
        return error

    def forget(self, error: Err) -> None:
        """Begin as a new member, or at least in a new generation: the coordinator has removed this member."""
        if error is Err.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        self.lost = self.lost or self.generation != NO_GENERATION
        self.generation, self.assigned = NO_GENERATION, None
        self.needs_join = True

    def check_counts(self) -> None:
        """Join again if a topic has more partitions, appeared or was deleted since the leader assigned the partitions."""
        if self.counts is not None and self.stable and any(
                len(self.client.metadata.partitions(topic)) != count for topic, count in self.counts.items()):
            self.counts = None
            self.needs_join = True

    # --- staying ------------------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        while not self.left:
            await self.env.sleep(self.heartbeat_interval)
            if self.left or not self.stable:
                continue
            if self.env.now() - self.polled_at > self.max_poll_interval:  # the application has stopped polling (KIP-62)
                await self._leave()
                self.forget(Err.UNKNOWN_MEMBER_ID)
                continue
            generation = self.generation
            error, _ = await self.client.ask_coordinator(GROUP, self.group, self._heartbeat, HEARTBEAT, error_of)
            if generation == self.generation and not self.joining:
                self._beaten(error)

    def _heartbeat(self) -> HeartbeatRequest:
        return HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.member_id,
                                group_instance_id=self.instance_id)

    def _beaten(self, error: Err) -> None:
        if error is Err.REBALANCE_IN_PROGRESS:
            self.needs_join = True
        elif error in REJOIN:
            self.forget(error)
        elif error is not Err.NONE and error not in RETRIABLE:
            self.error = KafkaError(error)  # FENCED_INSTANCE_ID: another member has our group.instance.id
        if error is not Err.NONE:
            self.wake()

    async def close(self, leave: bool = True) -> None:
        """Leave the group; static members stay, so that their next incarnation finds its partitions (KIP-345)."""
        was_member = self.generation != NO_GENERATION
        self.left = True
        for task in (self._joining, self._heartbeats):
            if task is not None:
                task.cancel()
        if leave and was_member and self.instance_id is None:
            await self._leave()

    async def _leave(self) -> None:
        member = LeaveGroupRequest.MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id, reason=None)
        await self.client.ask_coordinator(GROUP, self.group, lambda: LeaveGroupRequest(
            group_id=self.group, members=[member]), LEAVE, error_of)

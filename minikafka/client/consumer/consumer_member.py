"""Membership in a consumer group, the protocol of KIP-848: one request, the heartbeat.

The member sends its subscription and the partitions it owns; the coordinator answers with the partitions it should own.
No member waits for another: a member that loses a partition commits, gives the partition up, says so with its next
heartbeat, and reads the others meanwhile. Its commits carry the member's own epoch, and not a generation of the group.

Owns: the member id, for life; the epoch; the task that sends heartbeats.
Invariants: a removed member sets `lost` and sends no heartbeat until the consumer has given all partitions up.
            The member reports the partitions that the consumer owns at the start and after each change.
            After a heartbeat without an answer the next one has every field again.
Its methods have the names of those of Membership (classic_member.py), so that a Consumer can use either.
Source: org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager, ConsumerHeartbeatRequestManager.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

from minikafka.client.client import GROUP, Client, error_of
from minikafka.client.consumer.group_member import NO_GENERATION, GroupMember
from minikafka.client.metadata import Tp
from minikafka.client.retry import RETRIABLE
from minikafka.protocol.apis import ConsumerGroupHeartbeatRequest as Beat
from minikafka.protocol.errors import Err, KafkaError

VERSION = 1
JOINING, LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH = 0, -1, -2  # epochs
PUT_OUT = frozenset({Err.UNKNOWN_MEMBER_ID, Err.FENCED_MEMBER_EPOCH, Err.GROUP_ID_NOT_FOUND})


class ConsumerMembership(GroupMember):
    """One member; `wake` is called at each change that the consumer must handle."""

    cooperative, brokers_assign, joining = True, True, False

    def __init__(self, client: Client, group: str, topics: list[str], *, assignor: str | None = None,
                 instance_id: str | None = None, rebalance_timeout: float = 10.0, max_poll_interval: float = 300.0,
                 wake: Callable[[], None] = lambda: None) -> None:
        super().__init__(client, group, topics, instance_id=instance_id, rebalance_timeout=rebalance_timeout,
                         max_poll_interval=max_poll_interval, wake=wake)
        self.member_id, self.assignor = str(self.env.uuid()), assignor
        self._owned: list[Tp] = []  # the partitions that the consumer owns
        self._told: list[Tp] | None = None  # the list that the coordinator knows
        self._ids: dict[str, UUID] = {}  # the ids of the topics whose partitions we own
        self._tells_all = True
        self._now = asyncio.Event()
        self._beats: asyncio.Task[None] | None = None

    @property
    def stable(self) -> bool:
        return self.generation != NO_GENERATION

    def join(self, owned: list[Tp]) -> None:
        """Report the partitions that the consumer owns now; later `assigned`, `lost` or `error` holds the outcome."""
        self.needs_join, self._owned = False, owned
        self._now.set()
        if self._beats is None:
            self._beats = self.env.spawn(self._beat(), f"{self.client.client_id}: heartbeats")

    def check_counts(self) -> None:
        """Do nothing: in this protocol the coordinator watches the topics."""

    def forget(self, error: Err) -> None:
        """Join as a new member once all partitions are given up: the coordinator has removed this member."""
        self.lost = self.lost or self.stable
        self.generation, self.assigned, self._tells_all = NO_GENERATION, None, True
        self.needs_join = True

    # --- heartbeats ---------------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        attempts = 0
        while not self.left:
            self._now.clear()
            if self.env.now() - self.polled_at > self.max_poll_interval and self.stable:  # the application has stopped polling
                await self._leave()
                self.forget(Err.UNKNOWN_MEMBER_ID)
            pause = float("inf")
            if not self.needs_join or self.stable:  # a removed member waits until its partitions are given up
                telling = self._owned
                error, answer = await self.client.ask_coordinator(GROUP, self.group, self._heartbeat, VERSION, error_of)
                attempts = 0 if error is Err.NONE else attempts + 1
                pause = await self._beaten(error, answer, telling, attempts)
            await self._pause(pause)

    def _heartbeat(self) -> Beat:
        request = Beat(group_id=self.group, member_id=self.member_id, instance_id=self.instance_id,
                       member_epoch=self.generation if self.stable else JOINING)
        if self._tells_all:
            request.rebalance_timeout_ms = int(self.rebalance_timeout * 1000)
            request.subscribed_topic_names, request.server_assignor = self.topics, self.assignor
        if self._tells_all or self._told is not self._owned:
            parts: dict[UUID, list[int]] = {}
            for topic, partition in self._owned:
                parts.setdefault(self._ids[topic], []).append(partition)
            request.topic_partitions = [Beat.TopicPartitions(topic_id=id, partitions=p) for id, p in parts.items()]
        return request

    async def _beaten(self, error: Err, answer: Any, telling: list[Tp], attempts: int) -> float:
        """Take in the answer to a heartbeat; return the seconds until the next one."""
        if error is Err.NONE:
            await self._led_on(answer)
            self._told = telling
            return float(answer.heartbeat_interval_ms / 1000)
        self._tells_all = True  # the coordinator may not have the last heartbeat
        if error in PUT_OUT:
            self.forget(error)
        elif error not in RETRIABLE and error is not Err.UNRELEASED_INSTANCE_ID:
            self.error = KafkaError(error)  # FENCED_INSTANCE_ID: another member has our group.instance.id
        self.wake()
        return self.client.backoff.pause(attempts)

    async def _led_on(self, answer: Any) -> None:
        self.generation = answer.member_epoch
        self.joined = self.generation, self.member_id
        self._tells_all = False
        if answer.assignment is not None:
            self.assigned = await self._named(answer.assignment.topic_partitions)
            self.wake()

    async def _named(self, given: list[Any]) -> list[Tp]:
        """Return the partitions by topic name; a topic whose name is not known yet makes the client refresh its metadata."""
        names = self._names()
        if not {each.topic_id for each in given} <= names.keys():
            await self.client.refresh()
            names = self._names()
        self._ids |= {names[each.topic_id]: each.topic_id for each in given if each.topic_id in names}
        self._tells_all = any(each.topic_id not in names for each in given)
        return [(names[each.topic_id], p) for each in given if each.topic_id in names for p in each.partitions]

    def _names(self) -> dict[UUID, str]:
        return {topic.id: name for name, topic in self.client.metadata.topics.items() if topic.id is not None}

    async def _pause(self, seconds: float) -> None:
        timer = self.env.later(seconds, self._now.set) if seconds < float("inf") else None
        await self._now.wait()
        if timer is not None:
            timer.cancel()

    # --- the end ------------------------------------------------------------------------------------------------

    async def close(self, leave: bool = True) -> None:
        """Leave the group; a static member says that it will come back."""
        was_member, self.left = self.stable, True
        if self._beats is not None:
            self._beats.cancel()
        if leave and was_member:
            await self._leave()

    async def _leave(self) -> None:
        epoch = LEAVE_GROUP_MEMBER_EPOCH if self.instance_id is None else LEAVE_GROUP_STATIC_MEMBER_EPOCH
        await self.client.ask_coordinator(GROUP, self.group, lambda: Beat(
            group_id=self.group, member_id=self.member_id, instance_id=self.instance_id, member_epoch=epoch),
            VERSION, error_of)

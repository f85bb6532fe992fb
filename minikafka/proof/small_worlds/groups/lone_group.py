"""A group without a broker: classic, or a consumer group with classic members (KIP-848), and it may change its protocol.

It plays the shell's part: it finds the group for a request, begins a consumer group in the place of a classic one, and a classic
one when the last member of the consumer protocol leaves. The records of a consumer group are applied at once. The record of a
classic group is committed, or fails, when commit() is called. An answer stands in `answers` by its call.

Owns: the clock and the topics; which of the two the group is now; every record of the consumer group (`log`), the tombstones at
its end too; the records of the classic group that are on their way (`in_flight`), and the last one that was committed (`stored`).
Invariants: a request that is refused has changed nothing here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import Any
from uuid import UUID

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import (
    CompleteCall,
    GroupConfig,
    Join,
    JoinResult,
    Leaving,
    Store,
    StoredGroup,
    Sync,
    SyncResult,
)
from minikafka.broker.groups.consumer import migration
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import (
    ConsumerEffect,
    ConsumerGroupHeartbeat,
    HeartbeatResponse,
    RemoveMembers,
    ResolveRegexes,
    Write,
    check,
)
from minikafka.broker.groups.consumer.reconciliation import TopicIdPartition, unpack
from minikafka.broker.groups.consumer.records import CoordinatorRecord, read_key, read_value, write_key, write_value
from minikafka.broker.groups.group import ConsumerGroupSettings, GroupContext
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import PartitionRecord, RegisterBrokerRecord, RemoveTopicRecord, TopicRecord
from minikafka.proof.small_worlds.checks import that
from minikafka.protocol.errors import Err, KafkaError

MOST_TICKS = 200  # in one stretch of time
LATEST = 1  # version of ConsumerGroupHeartbeat


class LoneGroup:
    """One group, which begins as a classic group without members. `classic` is None while it is a consumer group."""

    def __init__(self, topics: dict[str, int], config: GroupConfig, **settings: object) -> None:
        self.image, self.now, self.topics_since, self.log = MetadataImage(), 0.0, -1, list[CoordinatorRecord]()
        self.settings, self.classic_config = replace(ConsumerGroupSettings(), **settings), config
        self._ids, self._calls = count(1), count(1)
        self.group = ConsumerGroup("g", lambda: f"made-{next(self._ids)}")
        self.classic: ClassicGroup | None = ClassicGroup("g", config, self.group.new_id)
        self.in_flight, self.stored = deque[Store](), None
        self.answers: dict[Any, Any] = {}
        for name, partitions in topics.items():
            self.create(name, partitions)

    def create(self, name: str, count: int) -> None:
        topic = UUID(int=next(self._ids) + 1000)
        self.topics_since = self.image.offset = self.image.offset + 1
        self.image.apply(TopicRecord(name, topic))
        self.grow(name, count)

    def grow(self, name: str, count: int) -> None:
        topic = self.image.topics[name]
        if count <= len(topic.partitions):
            return
        for index in range(len(topic.partitions), count):
            self.image.apply(PartitionRecord(index, topic.id, (1 + index % 2, 3), (1,), leader=1))
        self.group.topics_changed({name})

    def delete(self, name: str) -> None:
        self.image.apply(RemoveTopicRecord(self.image.topics[name].id))
        self.group.topics_changed({name})

    def move_broker(self, number: int, rack: str | None) -> None:
        """Let a broker register, or register again, in a rack."""
        self.image.apply(RegisterBrokerRecord(number, False, UUID(int=number), 1, (), rack=rack))

    @property
    def context(self) -> GroupContext:
        wall_ms = 1_000_000 + round(self.now * 1000)
        return GroupContext(self.now, wall_ms, self.image, self.settings, self.topics_since)

    def partitions(self, *names: str) -> set[TopicIdPartition]:
        """Return the partition of a name: for "t-0" the topic's id and 0."""
        return {(self.image.topics[topic].id, int(index)) for topic, index in (n.rsplit("-", 1) for n in names)}

    def names(self, partitions: Iterable[TopicIdPartition]) -> list[str]:
        topics = {topic.id: topic.name for topic in self.image.topics.values()}
        return sorted(f"{topics.get(topic, '?')}-{index}" for topic, index in partitions)

    def new_call(self, name: str) -> str:
        """Return the name of a new call of a client."""
        return f"{name}:{next(self._calls)}"

    @property
    def present(self) -> ClassicGroup | ConsumerGroup:
        return self.group if self.classic is None else self.classic

    # --- members of the consumer protocol -------------------------------------------------------------------------------

    def join(self, member: str, *topics: str, **news: object) -> HeartbeatResponse:
        return self.beat(member, 0, (), topics=topics, rebalance_timeout_ms=30_000, **news)

    def beat(self, member: str, epoch: int, owned: Iterable[str] | None = None, **news: object) -> HeartbeatResponse:
        owns = None if owned is None else frozenset(self.partitions(*owned))
        return self.send(ConsumerGroupHeartbeat(member, epoch, "c", "/h", owned=owns, **news))

    def send(self, beat: ConsumerGroupHeartbeat) -> HeartbeatResponse:
        check("g", beat, LATEST, self.settings)
        if self.classic is not None and beat.epoch != 0:
            raise KafkaError(Err.GROUP_ID_NOT_FOUND)
        if self.classic is not None:
            return self.begin(self.classic, beat)
        decide = self.group.consumer_leave if beat.epoch in (-1, -2) else self.group.consumer_heartbeat
        answer = self.carry_out(decide("call", beat, self.context))
        assert answer is not None
        return answer

    def told(self, beat: HeartbeatResponse) -> list[str] | None:
        """Return the partitions in a response, without those of deleted topics."""
        names = None if beat.assignment is None else self.names(unpack(beat.assignment))
        return names and [name for name in names if not name.startswith("?")]

    def begin(self, old: ClassicGroup, beat: ConsumerGroupHeartbeat) -> HeartbeatResponse:
        """Let a consumer group with the members of the classic one take its place. Raises KafkaError."""
        group = ConsumerGroup("g", self.group.new_id)
        if not old.is_empty:
            migration.upgrade(old, group, self.context)
        self.upgraded(old, group)
        write, *others = group.consumer_heartbeat("call", beat, self.context)
        assert isinstance(write, Write)
        self.group, self.classic = group, None
        self.in_flight.clear()
        answer = self.carry_out([replace(write, records=(*group.state.written, *write.records)), *others])
        self.carry_out_classic(migration.called_back(old))
        assert answer is not None
        return answer

    def upgraded(self, old: ClassicGroup, group: ConsumerGroup) -> None:
        """Look at a group that was upgraded just now, before the heartbeat for which it was."""

    # --- members of the classic protocol --------------------------------------------------------------------------------

    def classic_join(self, call: str, request: Join) -> None:
        """Send a JoinGroup; an empty consumer group makes room for a classic one."""
        if self.classic is None and self.group.is_empty:
            if request.member_id:
                self.answers[call] = JoinResult(Err.UNKNOWN_MEMBER_ID, request.member_id)
                return
            self.log += self.group.state.tombstones()
            self.classic, self.stored = ClassicGroup("g", self.classic_config, self.group.new_id), None
        self.ask("join", call, request)

    def classic_sync(self, call: str, request: Sync) -> None:
        """Send a SyncGroup."""
        self.ask("sync", call, request)

    def classic_leave(self, call: str, leaving: list[Leaving]) -> None:
        """Send a LeaveGroup."""
        self.ask("leave", call, leaving)

    def classic_beat(self, member_id: str, instance: str | None, generation: int) -> Err:
        """Send a Heartbeat."""
        return self.present.heartbeat(member_id, instance, generation, self.context)

    def ask(self, what: str, call: str, request: Any) -> None:
        """Ask the group that is there, and carry out what it decides."""
        carry_out: Any = self.carry_out if self.classic is None else self.carry_out_classic
        try:
            carry_out(getattr(self.present, what)(call, request, self.context))
        except KafkaError as refused:
            self.answers[call] = (JoinResult if what == "join" else SyncResult)(refused.code)

    # --- effects --------------------------------------------------------------------------------------------------------

    def carry_out(self, effects: Iterable[ConsumerEffect]) -> HeartbeatResponse | None:
        answer: Any = None
        for effect in effects:
            write = self.group.resolve(self.context) if isinstance(effect, ResolveRegexes) else effect
            if isinstance(effect, RemoveMembers):
                self.remove(effect)
            elif isinstance(write, Write):
                self.adopt(write.records)
            call = getattr(effect, "call", None)
            if call is not None:
                answer = self.answers[call] = effect.result  # type: ignore[union-attr]
        return answer

    def adopt(self, records: Iterable[CoordinatorRecord]) -> None:
        self.log += records
        self.group.adopt([*records], self.now)
        self.group.check()

    def remove(self, effect: RemoveMembers) -> None:
        """Remove members, as a shard does; the rest may be a classic group then."""
        state, gone = self.group.state, effect.member_ids
        if not migration.may_downgrade(state, gone, self.settings, self.classic_config.max_size):
            self.adopt(self.group.fence(gone, self.context))
            return
        self.stored = migration.downgrade(state, gone, self.image)
        restored = ClassicGroup.restore("g", self.stored, self.classic_config, self.group.new_id)
        self.classic = migration.restored(state, restored)
        self.log += state.tombstones()
        self.downgraded(self.stored, self.classic)
        self.serve(self.classic)
        self.carry_out_classic(self.classic.rebalance_or_complete(self.now))

    def downgraded(self, stored: StoredGroup, group: ClassicGroup) -> None:
        """Look at the classic group of a downgrade, before it serves."""

    def carry_out_classic(self, effects: Iterable[Any]) -> None:
        """Carry out the effects of a classic group."""
        for effect in effects:
            if isinstance(effect, CompleteCall):
                self.answers[effect.call] = effect.result
            elif isinstance(effect, Store):
                self.in_flight.append(effect)
        self.present.check()

    def commit(self, error: Err = Err.NONE) -> None:
        """Commit the oldest record of the classic group that is on its way, or let it fail."""
        store = self.in_flight.popleft()
        if error is Err.NONE:
            self.stored = store.group
        assert self.classic is not None
        self.carry_out_classic(self.classic.on_committed(store.then, error, self.now))

    def fail_over(self) -> None:
        """Let another coordinator load what is committed, and begin to serve; the old one answers the calls that wait."""
        if self.classic is None:
            self.group = self.replayed()
            self.carry_out(self.group.start(self.context))
            return
        self.unload(self.classic)
        self.in_flight.clear()
        new = ClassicGroup("g", self.classic_config, self.group.new_id)
        self.classic = new if self.stored is None else ClassicGroup.restore("g", self.stored, new.config, new.new_id)
        self.serve(self.classic)

    def unload(self, group: ClassicGroup) -> None:
        """Let a classic group go to another coordinator."""
        self.carry_out_classic(group.unload())

    def serve(self, group: ClassicGroup) -> None:
        """Let a classic group begin that was made from its record."""
        self.carry_out_classic(group.start(self.context))

    def replayed(self, records: Iterable[CoordinatorRecord] | None = None) -> ConsumerGroup:
        """Return the group as another coordinator loads it from the log."""
        twin = ConsumerGroup("g", self.group.new_id)
        for key, value in self.log if records is None else records:
            raw = write_value(value)
            twin.replay(read_key(write_key(key)), None if raw is None else read_value(key.kind, raw))
        return twin

    # --- time -----------------------------------------------------------------------------------------------------------

    def pass_time(self, seconds: float) -> None:
        """Move the clock on; each deadline on the way is served at its own time."""
        end, ticks = self.now + seconds, 0
        while (due := self.present.next_deadline()) is not None and due <= end:
            self.now, ticks = max(self.now, due), ticks + 1
            that("I-GROUP-8", ticks < MOST_TICKS, "it wakes up again and again, and does not do what is due")
            self.tick()
        self.now = end

    def tick(self) -> None:
        if self.classic is None:
            self.carry_out(self.group.tick(self.context))
        else:
            self.carry_out_classic(self.classic.tick(self.context))

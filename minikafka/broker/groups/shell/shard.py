"""The groups of one `__consumer_offsets` partition, while this broker leads it: loaded, served, dropped.

Groups of both protocols live here. A classic Group stores what it decided and is told when that is committed; a
ConsumerGroup hands over records and changes by them as soon as they are in the log. Either way nobody is answered before.

Owns: the state machines of the groups and the OffsetStore of the partition, their timers, and the calls that wait.
Invariants: I-GPART-1 nothing is served before every record up to the log end at the election is replayed (rule 62).
            I-GPART-2 effects of a group are carried out in order; what it stores is committed before it goes on.
            I-GPART-3 when leadership goes, every waiting call is answered NOT_COORDINATOR and all state is dropped.

What Kafka does differently: an event queue with a thread per few partitions; our event loop is that thread.
Source: GroupCoordinatorShard, GroupMetadataManager, OffsetMetadataManager, CoordinatorLoaderImpl.
"""

from __future__ import annotations

import logging
from asyncio import Future
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from minikafka.broker.coordinator.shell.coordinator_log import GroupLog, failed
from minikafka.broker.groups import records as wire
from minikafka.broker.groups.classic.group import Group
from minikafka.broker.groups.classic.messages import Effect, Moved, Reply, Store, StoredGroup
from minikafka.broker.groups.classic.states import State
from minikafka.broker.groups.consumer import records as consumer_wire
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerEffect, RemoveMembers, ResolveRegexes, Write
from minikafka.broker.groups.offset_expiration import sweep
from minikafka.broker.groups.offsets import CommittedOffset, Key, OffsetStore
from minikafka.broker.groups.records import assigned_partitions
from minikafka.broker.groups.shell import consumer_store
from minikafka.broker.groups.shell.consumer_requests import remove_members
from minikafka.broker.replication.shell.partition import LOG_END, Partition
from minikafka.broker.server.env import Timer
from minikafka.broker.transactions.transaction import Identity
from minikafka.log.batch import Header, build, checked, records
from minikafka.log.markers import is_commit, marker
from minikafka.log.records import MalformedRecord
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.groups.shell.coordinator import GroupCoordinator

log = logging.getLogger("minikafka.groups")

AnyGroup = Group | ConsumerGroup
NEW = StoredGroup("", 0, None, None, ())      # what is written when a group comes into being


class GroupPartition:
    """`epoch` is the leader epoch under which this broker serves the partition."""

    def __init__(self, coordinator: GroupCoordinator, partition: Partition, epoch: int) -> None:
        self.coordinator, self.partition, self.epoch = coordinator, partition, epoch
        self.env = coordinator.broker.env
        self.groups: dict[str, AnyGroup] = {}
        self.offsets = OffsetStore()
        self.log = GroupLog(self.env, partition, coordinator.commit_timeout_s)
        self.loading, self.closed = True, False
        self._timers: dict[str, tuple[float, Timer]] = {}
        self._entered_ms: dict[str, int] = {}       # since when each group is in its state

    # --- loading ------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Replay the partition from its start to the log end of now; gives up if leadership goes meanwhile."""
        at, end = self.partition.log.start_offset, self.partition.log.end_offset
        while at < end and not self.closed:
            try:
                data = self.partition.read(at, self.coordinator.load_buffer_size, LOG_END).records
                for header, raw in checked(data):
                    self._replay(header, raw)
                    at = header.next_offset
            except (KafkaError, MalformedRecord) as error:  # another broker may have a whole copy, and be elected
                log.error("%s cannot be loaded: %s", self.partition.name, error)
                return
            await self.env.sleep(0)
        if not self.closed:
            self._loaded()

    def _replay(self, header: Header, raw: memoryview) -> None:
        if header.is_control:
            if not header.count:                           # compaction took the whole transaction
                return
            settle = partial(self.offsets.settle, header.producer_id, is_commit(raw))
            self._when_committed(header.base_offset, lambda _: settle())
            return
        for record in records(raw):
            key = wire.read_key(record.key) if record.key else None
            if isinstance(key, wire.OffsetKey):
                self._replay_offset(key, record.value, record.offset, header)
            elif isinstance(key, consumer_wire.Key):
                consumer_store.replay(self, key, record.value)
            elif isinstance(key, wire.GroupKey) and record.value is None:
                if isinstance(self.groups.get(key.group), Group):
                    del self.groups[key.group]
            elif isinstance(key, wire.GroupKey):
                stored = wire.read_group(record.value)
                self.groups[key.group] = self.coordinator.restore_group(key.group, stored)
                self._entered_ms[key.group] = stored.current_state_timestamp

    def _replay_offset(self, key: wire.OffsetKey, value: bytes | None, offset: int, header: Header) -> None:
        apply = self._offset_change(key.group, (key.topic, key.partition), value)
        if value is not None:
            self._exists(key.group)
        if header.is_transactional and value is not None:
            committed = _committed(wire.read_offset(value), offset)
            stage = partial(self.offsets.stage, header.producer_id, key.group, (key.topic, key.partition), committed)
            # In the log's order too: a marker that waits must not settle what a later transaction has staged.
            self._when_committed(offset, lambda _: stage())
        else:
            self._when_committed(offset, apply)

    def _when_committed(self, offset: int, apply: Callable[[int], None]) -> None:
        if offset < self.partition.high_watermark:
            apply(offset)
        else:
            self.log.expect(offset + 1, offset, apply)      # not to be seen yet

    def _loaded(self) -> None:
        self.loading = False
        self.log.check(self.partition)
        for group in list(self.groups.values()):
            self.run(group, group.start(self._now(group)))
        log.info("%s loaded: %d groups", self.partition.name, len(self.groups))

    def close(self) -> None:
        """Leadership is gone (I-GPART-3)."""
        self.closed = True
        for _, timer in self._timers.values():
            timer.cancel()
        for group in self.groups.values():
            self._carry_out(group, group.unload())
        self.log.close()

    # --- groups -------------------------------------------------------------------------------------------------

    def create(self, group: Group) -> None:
        """Keep a new group and write it to the log (an empty one of the other kind makes way); raises KafkaError if it
        cannot be."""
        before = consumer_store.tombstones(self, group.group_id) if group.group_id in self.groups else []
        outcome = self.log.append([*before, self.group_record(group.group_id, NEW)])
        if failed(outcome):
            raise KafkaError(outcome.result())
        self.groups[group.group_id] = group

    def run(self, group: AnyGroup, effects: Sequence[Effect | ConsumerEffect]) -> None:
        """Carry out `effects`, and see to it that the group's next deadline is not missed."""
        self._carry_out(group, effects)
        due = group.next_deadline()
        armed, timer = self._timers.get(group.group_id, (None, None))
        if due is None or self.closed or (armed is not None and armed <= due):
            return                                  # an early timer only looks, and is set again then
        if timer is not None:
            timer.cancel()
        self._timers[group.group_id] = (due, self.env.later(due - self.env.now(), self._tick, group.group_id))

    def _now(self, group: AnyGroup) -> Any:
        """What a group of its kind wants to know of the moment."""
        return self.env.now() if isinstance(group, Group) else self.coordinator.context(group.group_id)

    def _tick(self, group_id: str) -> None:
        self._timers.pop(group_id, None)
        group = self.groups.get(group_id)
        if group is not None and not self.closed:
            self.run(group, group.tick(self._now(group)))

    def _carry_out(self, group: Any, effects: Sequence[Effect | ConsumerEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                assert isinstance(effect.call, Future)
                if not effect.call.done():          # the client may have hung up
                    effect.call.set_result(effect.result)
            elif isinstance(effect, Store):
                outcome = self.log.append([self.group_record(group.group_id, effect.group)])
                outcome.add_done_callback(partial(self._stored, group, effect.then))
            elif isinstance(effect, Write):
                consumer_store.write(self, group, effect)
            elif isinstance(effect, RemoveMembers):
                remove_members(self, group, effect)
            elif isinstance(effect, ResolveRegexes):
                resolved = group.resolve(self._now(group))
                self._carry_out(group, [resolved] if resolved is not None else [])
            else:
                self._entered_ms[group.group_id] = self.env.wall_ms()
                self._trace(group, effect)

    def _stored(self, group: Group, then: object, outcome: Future[Err]) -> None:
        if not self.closed:
            self.run(group, group.on_committed(then, outcome.result(), self.env.now()))      # type: ignore[arg-type]

    def _trace(self, group: Group, moved: Moved) -> None:
        """Names and assignments are told once they are settled, not on the way."""
        settled: dict[str, Any] = {}
        if moved.state is State.STABLE:
            known = {m.member_id: assigned_partitions(m.assignment) for m in group.members}
            settled = {"names": {m.member_id: m.instance_id or m.client_id for m in group.members},
                       "assignment": {member: tps for member, tps in known.items() if tps is not None}}
        self.env.trace("group", group=group.group_id, state=moved.state.value, generation=moved.generation,
                       members=list(moved.members), **settled)

    def group_record(self, group_id: str, stored: StoredGroup) -> tuple[bytes, bytes]:
        return wire.group_key(group_id), wire.group_value(stored_value(stored, self.env.wall_ms()))

    # --- offsets ------------------------------------------------------------------------------------------------

    def write_offsets(self, group_id: str, values: dict[Key, bytes | None]) -> Future[Err]:
        """Append commits (or tombstones, for None), in the order of the dict; they show once committed."""
        changes = [self._offset_change(group_id, key, value) for key, value in values.items()]

        def apply(base: int) -> None:
            for number, change in enumerate(changes):
                change(base + number)

        keys = [wire.offset_key(group_id, topic, partition) for topic, partition in values]
        outcome = self.log.append(list(zip(keys, values.values(), strict=True)), apply)
        if any(values.values()) and not failed(outcome):
            self._exists(group_id)
        return outcome

    def write_pending_offsets(self, group_id: str, values: dict[Key, bytes], who: Identity, guard: object) -> Future[Err]:
        """Append commits that belong to a transaction: they wait for its marker (rule 61)."""
        keys = [wire.offset_key(group_id, topic, partition) for topic, partition in values]
        data = build(list(zip(keys, values.values(), strict=True)), timestamp_ms=self.env.wall_ms(), transactional=True,
                     producer_id=who.producer_id, producer_epoch=who.epoch)

        def apply(base: int) -> None:
            for number, (key, value) in enumerate(values.items()):
                committed = _committed(wire.read_offset(value), base + number)
                self.offsets.stage(who.producer_id, group_id, key, committed)

        outcome = self.log.write(data, apply, guard)
        if not failed(outcome):
            self._exists(group_id)
        return outcome

    def write_marker(self, who: Identity, coordinator_epoch: int, commit: bool) -> Future[Err]:
        """Append the end of a transaction; its offsets show, or vanish, when that is committed."""
        data = marker(who.producer_id, who.epoch, coordinator_epoch, commit, self.env.wall_ms())
        return self.log.write(data, lambda _: self.offsets.settle(who.producer_id, commit))

    def _exists(self, group_id: str) -> None:
        """Offsets without a group make a "simple" one: Empty, of no protocol type."""
        if group_id not in self.groups:
            self.groups[group_id] = self.coordinator.new_group(group_id)

    def _offset_change(self, group_id: str, key: Key, value: bytes | None) -> Callable[[int], None]:
        """What a record of this key and value does once it is committed, given its offset in the log."""
        if value is None:
            return lambda _: self.offsets.remove(group_id, key)
        return partial(self._take_offset, group_id, key, value)

    def _take_offset(self, group_id: str, key: Key, value: bytes, record_offset: int) -> None:
        committed = _committed(wire.read_offset(value), record_offset)
        if self.offsets.put(group_id, key, committed) and not self.loading:
            self.env.trace("commit", group=group_id, tp=f"{key[0]}-{key[1]}", offset=committed.offset)

    def expire(self, retention_ms: int) -> None:
        """Forget the offsets, and the groups, that nobody has wanted for so long (broker/groups/offset_expiration.py)."""
        now_ms = self.env.wall_ms()
        for group_id, group in list(self.groups.items()):
            entered_ms = self._entered_ms.get(group_id, now_ms)
            keys, gone = sweep(group, entered_ms, self.offsets, now_ms, retention_ms)
            if gone:
                self.delete_group(group_id)
            elif keys:
                self.write_offsets(group_id, dict.fromkeys(keys))

    def delete_group(self, group_id: str) -> Future[Err]:
        """Forget the group at once, its offsets when the tombstones are committed."""
        keys = [key for key, _ in self.offsets.of_group(group_id)]
        tombstones = [*((wire.offset_key(group_id, *key), None) for key in keys), *consumer_store.tombstones(self, group_id)]

        def apply(_: int) -> None:
            for key in keys:
                self.offsets.remove(group_id, key)

        outcome = self.log.append(tombstones, apply)
        if not failed(outcome):
            group = self.groups.pop(group_id)
            self._carry_out(group, group.unload())
            self._entered_ms.pop(group_id, None)
        return outcome



def _committed(value: wire.OffsetCommitValue, record_offset: int) -> CommittedOffset:
    return CommittedOffset(value.offset, value.leader_epoch, value.metadata, value.commit_timestamp,
                           value.expire_timestamp, record_offset)


def stored_value(stored: StoredGroup, wall_ms: int) -> wire.GroupMetadataValue:
    """The record's value for a group, stamped with the wall clock (milliseconds since 1970)."""
    members = [
        wire.GroupMetadataValue.MemberMetadata(
            member_id=m.member_id, group_instance_id=m.instance_id, client_id=m.client_id, client_host=m.client_host,
            rebalance_timeout=m.rebalance_timeout_ms, session_timeout=m.session_timeout_ms, subscription=m.subscription,
            assignment=m.assignment)
        for m in stored.members
    ]
    return wire.GroupMetadataValue(protocol_type=stored.protocol_type, generation=stored.generation,
                                   protocol=stored.protocol, leader=stored.leader, current_state_timestamp=wall_ms,
                                   members=members)

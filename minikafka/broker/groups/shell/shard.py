"""The groups of one `__consumer_offsets` partition, while this broker leads it: loaded, served, dropped.

The shard keeps groups of both kinds. A ClassicGroup stores its decision, and continues when the record is committed. A
ConsumerGroup returns records, which are applied to it as soon as they are appended, as in Kafka's coordinator. If the log
refuses them, nothing has changed. If they never commit, no later record commits either: this broker loses the leadership,
and drops every state that was built on them. In both kinds a client gets its response only after the commit.

Owns: the state machines of the groups and the OffsetStore of the partition, their timers, and the calls that wait.
Invariants: I-GPART-1 nothing is served before every record up to the log end at the election is replayed (rule 62).
            I-GPART-2 effects of a group are carried out in order; a classic group continues once its record is committed.
            I-CSTORE-1 a consumer group's records are applied once appended, and its calls answered once committed (rule 58).
            the end of a group of one kind and the beginning of one of the other kind are one batch.
            I-GPART-3 when leadership goes, every waiting call is answered NOT_COORDINATOR and all state is dropped.
            I-GPART-4 a deletion of offsets reads up to the end of the log, a client up to what is committed: no offset that was
              appended before a deletion is left after it, whether a replica or a transaction still waits for it.

What Kafka does differently: an event queue with a thread per few partitions; our event loop is that thread.
Source: GroupCoordinatorShard, GroupMetadataManager, OffsetMetadataManager, CoordinatorLoaderImpl.
"""

from __future__ import annotations

import logging
from asyncio import Future
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from minikafka.broker.coordinator.shell.coordinator_log import CoordinatorLog, EncodedRecord, failed
from minikafka.broker.groups import records as wire
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import Assigned, CompleteCall, Moved, Replaced, Store, StoredGroup
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.consumer import migration
from minikafka.broker.groups.consumer import records as consumer_wire
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import RemoveMembers, ReplyCommitted, ResolveRegexes, Write
from minikafka.broker.groups.consumer.state import ConsumerState
from minikafka.broker.groups.group import Group, GroupContext
from minikafka.broker.groups.offset_expiration import sweep
from minikafka.broker.groups.offsets import CommittedOffset, Key, OffsetChange, OffsetStore, TransactionEnd
from minikafka.broker.groups.shell.group_factory import GroupFactory
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.server.env import Timer
from minikafka.broker.server.node import Node
from minikafka.log.batch import BatchHeader, build, records
from minikafka.log.markers import is_commit, marker
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.groups")

NEW = StoredGroup("", 0, None, None, ())      # the first record of a new group
Kind = TypeVar("Kind", bound=Group)


class GroupCoordinatorShard:
    """The shard of one partition. `epoch` is the leader epoch under which this broker serves the partition."""

    def __init__(self, node: Node, factory: GroupFactory, partition: Partition, epoch: int) -> None:
        self.node, self.env, self.factory = node, node.env, factory
        self.partition, self.epoch = partition, epoch
        self.groups: dict[str, Group] = {}
        self.offsets = OffsetStore()                # as far as the log is committed: what clients see
        self.appended = OffsetStore()               # up to the end of the log: deletions read these (I-GPART-4)
        self.log = CoordinatorLog(self.env, partition, node.config["offsets.commit.timeout.ms"] / 1000)
        self.loading, self.closed = True, False
        self._timers: dict[str, tuple[float, Timer]] = {}
        self._entered_ms: dict[str, int] = {}       # since when each group is in its state

    def find(self, group_id: str, kind: type[Kind]) -> Kind | None:
        """Return the group if it is of this kind."""
        group = self.groups.get(group_id)
        return group if isinstance(group, kind) else None

    def existing(self, group_id: str) -> ConsumerGroup:
        """Return the consumer group of this name. Raises KafkaError if there is none."""
        group = self.find(group_id, ConsumerGroup)
        if group is None:
            reason = "is not a consumer group" if group_id in self.groups else "not found"
            raise KafkaError(Err.GROUP_ID_NOT_FOUND, f"Group {group_id} {reason}.")
        return group

    # --- loading ------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Replay the partition up to its present log end; stop if this broker loses the leadership meanwhile."""
        if await self.log.replay(self._replay, self.node.config["offsets.load.buffer.size"], log):
            self._loaded()

    def _replay(self, header: BatchHeader, raw: memoryview) -> None:
        if header.is_control:
            if not header.count:                           # compaction took the whole transaction
                return
            self._replay_change(header.base_offset, TransactionEnd(header.producer_id, is_commit(raw)))
            return
        for record in records(raw):
            key = wire.read_key(record.key) if record.key else None
            if isinstance(key, wire.OffsetKey):
                self._replay_offset(key, record.value, record.offset, header)
            elif isinstance(key, consumer_wire.Key):
                self._replay_consumer_group(key, record.value)
            elif isinstance(key, wire.GroupKey) and record.value is None:
                if self.find(key.group, ClassicGroup) is not None:
                    del self.groups[key.group]
            elif isinstance(key, wire.GroupKey):
                stored = wire.read_group(record.value)
                self.groups[key.group] = self.factory.restored(key.group, wire.stored_group(stored))
                self._entered_ms[key.group] = stored.current_state_timestamp

    def _replay_consumer_group(self, key: consumer_wire.Key, value: bytes | None) -> None:
        """Apply a record of a consumer group, which takes the place of a simple group of the same name."""
        group = self.find(key.group, ConsumerGroup)
        if group is None:
            if value is None or key.kind == consumer_wire.PARTITIONS:
                return
            group = self.groups[key.group] = self.factory.consumer(key.group)
        if key.kind == consumer_wire.GROUP and value is None:
            del self.groups[key.group]
        elif key.kind != consumer_wire.PARTITIONS:
            group.replay(key, None if value is None else consumer_wire.read_value(key.kind, bytes(value)))

    def _replay_offset(self, key: wire.OffsetKey, value: bytes | None, offset: int, header: BatchHeader) -> None:
        if value is not None:
            self._exists(key.group)
        producer_id = header.producer_id if header.is_transactional else None
        self._replay_change(offset, wire.offset_change(key.group, (key.topic, key.partition), value, offset, producer_id))

    def _replay_change(self, offset: int, change: OffsetChange | TransactionEnd) -> None:
        self.appended.apply(change)
        if offset < self.partition.high_watermark:
            self._show(change)
        else:       # not committed yet: no client may see it, and a marker must not settle the offsets of a later transaction
            self.log.expect(offset + 1, offset, lambda _: self._show(change))

    def _loaded(self) -> None:
        self.loading = False
        self.log.moved(self.partition)
        self.delete_stale_offsets()                     # of topics that were deleted while the group had no coordinator
        for group in list(self.groups.values()):
            self.run(group, group.start(self.context(group)))
        log.info("%s loaded: %d groups", self.partition.name, len(self.groups))

    def close(self) -> None:
        """Drop all state and answer every waiting call: this broker has lost the leadership (I-GPART-3)."""
        self.closed = True
        for _, timer in self._timers.values():
            timer.cancel()
        for group in self.groups.values():
            self._carry_out(group, group.unload())
        self.log.close()

    # --- groups -------------------------------------------------------------------------------------------------

    def create(self, group: ClassicGroup) -> None:
        """Append the record of a new group and keep the group; it replaces an empty group. KafkaError if the append fails."""
        before = self.groups[group.group_id].tombstones() if group.group_id in self.groups else []
        outcome = self.log.append([*before, self._group_record(group.group_id, NEW)])
        if failed(outcome):
            raise KafkaError(outcome.result())
        self.groups[group.group_id] = group

    def run(self, group: Group, effects: Sequence[object]) -> None:
        """Carry out `effects`, and set a timer for the group's next deadline."""
        self._carry_out(group, effects)
        group.check()
        due = group.next_deadline()
        if due is None or self.closed:
            return
        armed, timer = self._timers.get(group.group_id, (None, None))
        if armed is not None and armed <= due:
            return                                  # a timer that fires too early does nothing and is set again
        if timer is not None:
            timer.cancel()
        self._timers[group.group_id] = (due, self.env.later(due - self.env.now(), self._tick, group.group_id))

    def context(self, group: Group) -> GroupContext:
        return self.factory.context(group.group_id)

    def _tick(self, group_id: str) -> None:
        self._timers.pop(group_id, None)
        group = self.groups.get(group_id)
        if group is not None and not self.closed:
            self.run(group, group.tick(self.context(group)))

    def _carry_out(self, group: Any, effects: Sequence[object]) -> None:  # Any: of the kind that made the effects
        for effect in effects:
            self._CARRY_OUT[type(effect)](self, group, effect)

    def _complete(self, _: Group, effect: CompleteCall) -> None:
        _answer(effect.call, effect.result)

    def _reply_committed(self, _: Group, effect: ReplyCommitted) -> None:
        _answer(effect.call, AfterCommit(self.log.settled(), effect.result))

    def _group_record(self, group_id: str, stored: StoredGroup) -> tuple[bytes, bytes]:
        return wire.group_key(group_id), wire.group_value(wire.stored_value(stored, self.env.wall_ms()))

    # --- effects of a classic group -------------------------------------------------------------------------------

    def _store(self, group: ClassicGroup, effect: Store) -> None:
        outcome = self.log.append([self._group_record(group.group_id, effect.group)])
        outcome.add_done_callback(partial(self._on_committed, group, effect.then))

    def _on_committed(self, group: ClassicGroup, then: Assigned | Replaced | None, outcome: Future[Err]) -> None:
        if not self.closed:
            self.run(group, group.on_committed(then, outcome.result(), self.env.now()))

    def _moved(self, group: ClassicGroup, moved: Moved) -> None:
        """Note and trace a new state; names and assignments only in a Stable group."""
        self._entered_ms[group.group_id] = self.env.wall_ms()
        settled = group.settled_fields(self.node.image) if moved.state is ClassicGroupState.STABLE else {}
        self.env.trace("group", group=group.group_id, state=moved.state.value, generation=moved.generation,
                       members=list(moved.members), **settled)

    # --- effects of a consumer group ------------------------------------------------------------------------------

    def _write(self, group: ConsumerGroup, effect: Write) -> None:
        """Append the group's records as one batch, apply them, and answer the call once they are committed."""
        own = [(consumer_wire.write_key(key), consumer_wire.write_value(value)) for key, value in effect.records]
        outcome = self.log.append([*effect.before, *own]) if own else self.log.settled()
        _answer_later(effect.call, effect.result, outcome)
        if own and not failed(outcome):
            self.groups[group.group_id] = group
            before = _shown(group)
            group.adopt(effect.records, self.env.now())
            if _shown(group) != before:
                self._trace_consumer_group(group)

    def _remove_members(self, group: ConsumerGroup, effect: RemoveMembers) -> None:
        """Remove members. If only classic members stay, and the settings allow it, the group becomes a classic group."""
        context = self.context(group)
        if migration.may_downgrade(group.state, effect.member_ids, context.settings, self.factory.classic_config.max_size):
            stored = migration.downgrade(group.state, effect.member_ids, context.image)
            classic = migration.restored(group.state, self.factory.restored(group.group_id, stored))
            self._replace(group, classic, effect)
        else:
            self._write(group, Write(group.fence(effect.member_ids, context), effect.call, effect.result))

    def _replace(self, old: ConsumerGroup, group: ClassicGroup, effect: RemoveMembers) -> None:
        """Replace a consumer group by a classic group, in one batch, and call the members back."""
        outcome = self.log.append([*old.tombstones(), self._group_record(group.group_id, group.snapshot())])
        _answer_later(effect.call, effect.result, outcome)
        if not failed(outcome):
            self.groups[group.group_id] = group
            self.run(group, [*group.start(self.context(group)), *group.rebalance_or_complete(self.env.now())])

    def _resolve(self, group: ConsumerGroup, effect: ResolveRegexes) -> None:
        if self.groups.get(group.group_id) is group:          # a new group whose first write failed does not exist
            resolved = group.resolve(replace(self.context(group), describes=effect.describes))
            if resolved is not None:
                self._write(group, resolved)

    _CARRY_OUT: dict[type, Any] = {
        CompleteCall: _complete, ReplyCommitted: _reply_committed, Store: _store, Moved: _moved, Write: _write,
        RemoveMembers: _remove_members, ResolveRegexes: _resolve}

    def _trace_consumer_group(self, group: ConsumerGroup) -> None:
        """Trace a consumer group with the fields of a classic group: the generation is the group's epoch."""
        phase, epoch, members = _shown(group)
        settled = group.settled_fields(self.node.image) if phase is ConsumerState.STABLE else {}
        self.env.trace("group", group=group.group_id, state=phase.value, generation=epoch, members=members, **settled)

    # --- offsets ------------------------------------------------------------------------------------------------

    def write_offsets(self, group_id: str, values: Mapping[Key, bytes | None]) -> Future[Err]:
        """Append offset commits (None: a tombstone), in the order of the dict; clients see them once they are committed."""
        return self._write_offsets(group_id, values, None, partial(self.log.append, _encoded(group_id, values)))

    def write_pending_offsets(self, group_id: str, values: Mapping[Key, bytes], who: ProducerIdAndEpoch,
                              guard: object) -> Future[Err]:
        """Append offset commits of a transaction; clients see them after the transaction's commit marker (rule 61)."""
        data = build(_encoded(group_id, values), timestamp_ms=self.env.wall_ms(), transactional=True,
                     producer_id=who.producer_id, producer_epoch=who.epoch)
        return self._write_offsets(group_id, values, who.producer_id, partial(self.log.write, data, guard=guard))

    def write_marker(self, who: ProducerIdAndEpoch, coordinator_epoch: int, commit: bool) -> Future[Err]:
        """Append a transaction's marker; once that is committed, the transaction's offsets show, or are dropped."""
        data = marker(who.producer_id, who.epoch, coordinator_epoch, commit, self.env.wall_ms())
        return self._apply([TransactionEnd(who.producer_id, commit)], partial(self.log.write, data))

    def _write_offsets(self, group_id: str, values: Mapping[Key, bytes | None], producer_id: int | None,
                       write: Callable[[Callable[[int], None]], Future[Err]]) -> Future[Err]:
        base = self.partition.log.end_offset        # of the first record, if it is appended
        outcome = self._apply([wire.offset_change(group_id, key, value, base + number, producer_id)
                               for number, (key, value) in enumerate(values.items())], write)
        if any(values.values()) and not failed(outcome):
            self._exists(group_id)
        return outcome

    def _apply(self, changes: Sequence[OffsetChange | TransactionEnd],
               write: Callable[[Callable[[int], None]], Future[Err]]) -> Future[Err]:
        """Append with `write`, and apply what changes: to `appended` at once, to `offsets` once it is committed (I-GPART-4)."""
        outcome = write(lambda _: self._show(*changes))
        if not failed(outcome):
            for change in changes:
                self.appended.apply(change)
        return outcome

    def _show(self, *changes: OffsetChange | TransactionEnd) -> None:
        for change in changes:
            if self.offsets.apply(change) and not self.loading:
                self.env.trace("commit", group=change.group, tp=f"{change.key[0]}-{change.key[1]}", offset=change.value.offset)

    def _exists(self, group_id: str) -> None:
        """Create a "simple" group, Empty and without a protocol type, for offsets that have no group."""
        if group_id not in self.groups:
            self.groups[group_id] = self.factory.classic(group_id)

    def committed_offset(self, group_id: str, key: Key) -> CommittedOffset | None:
        """Return the group's offset if it belongs to the topic that has the name now (I-OFFSET-3)."""
        found = self.offsets.get(group_id, key)
        return found if found is not None and found.is_of(self.node.image.topic_id(key[0])) else None

    def delete_stale_offsets(self) -> None:
        """Delete the offsets of topics that are gone, although a new topic may have the name."""
        for group_id, keys in self.appended.stale(self.node.image.topic_id).items():
            self.write_offsets(group_id, dict.fromkeys(keys))

    def expire(self, retention_ms: int) -> None:
        """Delete expired offsets, and the groups that have neither offsets nor members then (offset_expiration.py)."""
        now_ms = self.env.wall_ms()
        for group_id, group in list(self.groups.items()):
            entered_ms = self._entered_ms.get(group_id, now_ms)
            keys, gone = sweep(group, entered_ms, self.appended, now_ms, retention_ms)
            if gone:
                self.delete_group(group_id)
            elif keys:
                self.write_offsets(group_id, dict.fromkeys(keys))

    def delete_group(self, group_id: str) -> Future[Err]:
        """Delete the group at once, and its offsets when the tombstones are committed."""
        keys = self.appended.keys_of(group_id)
        tombstones = [*_encoded(group_id, keys), *self.groups[group_id].tombstones()]
        outcome = self._apply([OffsetChange(group_id, key) for key in keys], partial(self.log.append, tombstones))
        if not failed(outcome):
            group = self.groups.pop(group_id)
            self._carry_out(group, group.unload())
            self._entered_ms.pop(group_id, None)
        return outcome


@dataclass(frozen=True, slots=True)
class AfterCommit:
    """A result for a client, to be sent once `outcome` is NONE: everything in the result is committed then."""

    outcome: Future[Err]
    result: Any


def _encoded(group_id: str, values: Mapping[Key, bytes | None]) -> list[EncodedRecord]:
    return [(wire.offset_key(group_id, *key), value) for key, value in values.items()]


async def outcome_of(call: Future[Any]) -> Any:  # Any: the result of any call
    """Return the result with which a call is answered. Raises KafkaError if the result is an error of the log."""
    result = await call
    if isinstance(result, AfterCommit):
        error = await result.outcome
        result = result.result if error is Err.NONE else error
    if isinstance(result, Err):
        raise KafkaError(result)
    return result


def _shown(group: ConsumerGroup) -> tuple[ConsumerState, int, list[str]]:
    """Return the state, epoch and members of a consumer group; a change of any of them is traced."""
    return group.state.phase, group.state.epoch, list(group.state.members)


def _answer_later(call: object, result: object, outcome: Future[Err]) -> None:
    """Answer `call` (None: no client waits) with `result` once `outcome` is NONE, or with the error."""
    if call is not None:
        outcome.add_done_callback(lambda done: _answer(call, result if done.result() is Err.NONE else done.result()))


def _answer(call: object, result: object) -> None:
    assert isinstance(call, Future)
    if not call.done():                             # the client may have hung up
        call.set_result(result)

"""One partition on this broker: the log on disk, the state machine that decides, and the answers that wait for a move.

The state machine (`replication/replica.py`, here `self.replica`) decides; this module carries out its effects
(`replication/effects.py`) in their order, tells the trace, and calls the listeners of `moved`: delayed answers, coordinators.
What an administrator looks for after a failure is in the broker's log too: another leader, another ISR, a log that was truncated.

Owns: the log, the replica, and the event `moved` of one partition.
Invariants
  I-PART-1  validation and append happen without an await in between (rule 46).
  I-PART-2  effects run from left to right; after a failure none that follows has happened.
  I-PART-3  once its disk has failed a partition answers nothing but KAFKA_STORAGE_ERROR (rule 67).
What Kafka does differently: an ISR lock, a log lock and a purgatory per kind of request. Source: kafka.cluster.Partition.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import UUID

from minikafka.broker.replication import effects, preferred_replica
from minikafka.broker.replication.isr import LONG_AGO
from minikafka.broker.replication.replica import Replica
from minikafka.broker.replication.shell.delayed_operations import MovedEvent
from minikafka.log import markers
from minikafka.log.producers import UNGUARDED
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.replication.isr import ProposedIsr
    from minikafka.broker.server.env import Env
    from minikafka.broker.server.node import Node
    from minikafka.log import AppendInfo, Log, LogConfig
    from minikafka.log.transaction_index import AbortedTransaction

log = logging.getLogger("minikafka.partition")
QUIET_S = 0.5  # as long as an idle follower's fetch may take: less is no news for the trace
LOG_END, HIGH_WATERMARK, LAST_STABLE = "log end", "high watermark", "last stable offset"


class ReplicaManagerView(Protocol):
    """The part of the ReplicaManager that a partition uses."""

    node: Node
    env: Env

    def shown_settings(self, partition: Partition) -> dict[str, object]:
        """Return the settings that the trace gets with the role of `partition`."""

    def on_leading(self, partition: Partition) -> None:
        """Take note that this broker leads `partition` in a new epoch."""

    def on_following(self, partition: Partition) -> None:
        """Begin to copy `partition` from its leader."""

    def propose(self, partition: Partition, proposal: ProposedIsr) -> None:
        """Send a proposed ISR to the controller."""

    def truncated(self, partition: Partition, lowered: bool) -> None:
        """Take note that the log was cut; `lowered`: below what checkpoints on disk say."""

    def storage_failed(self, partition: Partition, error: Exception) -> None:
        """Take the broker offline: its disk has failed under `partition`."""


class LogReadResult(NamedTuple):
    """The result of fetching one partition, by the names of a FetchResponse; offsets as they were before the read."""

    records: bytes
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    diverging_epoch: effects.EpochEnd | None = None
    aborted: list[AbortedTransaction] = []             # with read_committed: what is to be skipped (rule 54)
    preferred_read_replica: int = -1                   # nothing was read: this follower is nearer to the consumer
    error_code: int = 0                                # none: what is refused raises


class Partition:
    """Partition `index` of `topic`, of which this broker is a replica."""

    def __init__(self, manager: ReplicaManagerView, topic: str, topic_id: UUID, index: int, log: Log,
                 replica: Replica) -> None:
        self.manager, self.topic, self.topic_id, self.index = manager, topic, topic_id, index
        self.log, self.replica = log, replica
        self.name = f"{topic}-{index}"
        self.moved = MovedEvent()                         # its high watermark, its role, or only its log end
        self.lag_trace = FollowerLagTrace(self)
        self.shown: dict[str, object] = {}                # the settings that the trace has, while we lead
        self.failed = False                            # its disk has
        self.retired: Err | None = None                # it was given up: the refusal of requests that still have it
        self.storage = Storage(self)
        self._env = manager.env
        self.flushed = self._env.now()                 # when the log was flushed last

    def __repr__(self) -> str:
        return f"Partition({self.name}, leader {self.replica.leader}, epoch {self.replica.leader_epoch})"

    # --- what others ask ------------------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        return self.replica.is_leader and not self.failed

    @property
    def leader_epoch(self) -> int:
        return self.replica.leader_epoch

    @property
    def high_watermark(self) -> int:
        return self.replica.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """Return the end of what read_committed may see: the high watermark, or where an open transaction begins (rule 10)."""
        return max(self.log.producers.last_stable_offset(self.replica.high_watermark), self.log.start_offset)

    def check(self, leader_epoch: int = -1, only_leader: bool = True) -> None:
        """Refuse a request that this partition cannot serve: the disk failed, the partition was given up, this broker does not
        lead, or the request names another leader epoch (rule 22)."""
        if self.failed:
            raise KafkaError(Err.KAFKA_STORAGE_ERROR)
        if self.retired is not None:
            raise KafkaError(self.retired)
        if only_leader:
            self.replica.check_leader(leader_epoch)
        else:
            self.replica.check_epoch(leader_epoch)

    def bound(self, isolation: str) -> int:
        """Return the offset before which a fetch of this isolation must end (rule 9)."""
        if isolation == LOG_END:
            return self.log.end_offset
        return self.high_watermark if isolation == HIGH_WATERMARK else self.last_stable_offset

    # --- leader ---------------------------------------------------------------------------------------------------

    def append(self, records: bytes | memoryview, acks: int, origin: str = "client",
               request_version: int = 13, guard: object = UNGUARDED, checked: bytearray | None = None) -> AppendInfo:
        """Append one batch as the leader; raises KafkaError before a byte is written.

        `guard`: what `log.producers.guard` gave before a transactional batch was verified (rule 52). `checked`: what
        `log.validate_batch` returned for `records`.
        """
        self.check()
        self.replica.check_append(acks)
        with self.storage:
            info = self.log.append_leader(records, self.leader_epoch, self._env.wall_ms(), origin=origin,
                                          request_version=request_version, guard=guard, checked=checked)
        if not info.duplicate:
            self._trace_append(info, **_transaction(info, records))
            now = self._env.now()
            self.carry_out(self.replica.on_appended(now))
            self.lag_trace.look(now)
        return info

    def ack(self, required: int) -> Err | None:
        """Return the error code for an acks=all append that ends at `required`; None while it must wait."""
        return Err.KAFKA_STORAGE_ERROR if self.failed else self.retired or self.replica.ack(required)

    def read(self, offset: int, max_bytes: int, isolation: str, last_fetched_epoch: int = -1,
             min_one: bool = True) -> LogReadResult:
        """Read stored batches from `offset` up to the bound of `isolation`, or find where the logs diverge."""
        head = (self.high_watermark, self.last_stable_offset, self.log.start_offset)
        diverging = self.replica.divergence(offset, last_fetched_epoch)
        if diverging is not None:
            return LogReadResult(b"", *head, diverging)
        if not self.log.start_offset <= offset <= self.log.end_offset:
            raise KafkaError(Err.OFFSET_OUT_OF_RANGE)
        end = self.bound(isolation)
        if offset >= end or (max_bytes == 0 and not min_one):
            return LogReadResult(b"", *head)
        if max_bytes < 0:
            raise KafkaError(Err.UNKNOWN_SERVER_ERROR)
        with self.storage:
            records = self.log.read(offset, max_bytes, end, min_one=min_one)
        aborted = self.log.aborted_transactions(offset, self.log.end_offset) if isolation == LAST_STABLE and records else []
        return LogReadResult(records, *head, aborted=aborted)

    def preferred_read_replica(self, offset: int, rack: str) -> LogReadResult | None:
        """Return an empty read that names a follower nearer to a consumer in `rack`; None if it reads here (KIP-392)."""
        alive = {b.id: b.rack for b in self.manager.node.image.brokers.values() if not b.fenced}
        chosen = preferred_replica.choose(self.replica, offset, rack, alive)
        if chosen is None:
            return None
        return LogReadResult(b"", self.high_watermark, self.last_stable_offset, self.log.start_offset,
                    preferred_read_replica=chosen)

    def delete_records(self, before: int) -> int:
        """Raise the log's start to `before` (-1: the high watermark) and return that offset; every replica follows the
        leader there. The files go with the next check of retention."""
        self.check()
        if not self.log.config.delete:
            raise KafkaError(Err.POLICY_VIOLATION)
        before = self.high_watermark if before == -1 else before
        self.replica.check_deletion(before)
        self._begin_at(before)
        return before

    def deleted(self, before: int) -> Err | None:
        """Return the error code for a deletion up to `before`; None while a live replica still has older records."""
        try:
            self.check()
        except KafkaError as refused:
            return refused.code
        return Err.NONE if self.replica.low_watermark >= before else None

    def follower_fetched(self, replica: int, broker_epoch: int, epoch: int, offset: int, log_start: int) -> None:
        """Record the fetch of a follower that `read` has just served."""
        # Only a higher start of this follower's log can raise the low watermark; it is rare.
        start_rises = log_start > self.replica.followers[replica].log_start_offset
        low = self.replica.low_watermark if start_rises else None
        now = self._env.now()
        woken = self.carry_out(self.replica.on_follower_fetch(replica, broker_epoch, epoch, offset, log_start, now))
        self.lag_trace.look(now)
        if low is not None and not woken and self.replica.low_watermark > low:
            self.moved.tell(self)

    # --- follower -------------------------------------------------------------------------------------------------

    def append_fetched(self, records: bytes | memoryview, high_watermark: int, log_start: int) -> None:
        """Append what the leader sent, byte for byte, and take over its watermark and log start.

        The log start is taken over first. After a DeleteRecords the leader's first batch may begin below its log start, and
        this log, if it was a leader's, may hold other records there.
        """
        moved, grown = False, len(records) > 0
        if log_start > self.log.start_offset:
            moved = self.carry_out(self.replica.on_fetched(high_watermark))
            self._begin_at(min(log_start, self.log.end_offset))
        if grown:
            with self.storage:
                info = self.log.append_follower(records, self._env.wall_ms())
            if info is not None:
                self._trace_append(info)
        moved = self.carry_out(self.replica.on_fetched(high_watermark)) or moved
        if grown and not moved:
            self.carry_out([effects.LogEndMoved(self.log.end_offset)])

    # --- life -----------------------------------------------------------------------------------------------------

    def retain(self, now_ms: int) -> None:
        """Delete what the topic's retention allows to delete, never beyond the high watermark."""
        before = self.log.start_offset
        with self.storage:
            self.log.delete_old_segments(now_ms, self.high_watermark)
        if self.log.start_offset != before:
            self.moved.changed()
            self._env.trace("log_start", tp=self.name, start=self.log.start_offset)

    def _begin_at(self, offset: int) -> None:
        """Take over a higher log start: no record before `offset` is read any more."""
        before = self.log.start_offset
        with self.storage:
            self.log.advance_start(offset)
        self.replica.check()
        if self.log.start_offset != before:
            self.moved.changed()
            self._env.trace("log_start", tp=self.name, start=self.log.start_offset)

    def configure(self, config: LogConfig, min_insync: int) -> None:
        """Take over the settings that the topic has now."""
        self.log.config, self.replica.min_insync = config, min_insync
        if self.is_leader and (shown := self.manager.shown_settings(self)) != self.shown:
            self.shown = shown
            self._env.trace("settings", tp=self.name, **shown)

    def fail(self) -> None:
        """Answer nothing but KAFKA_STORAGE_ERROR from now on (I-PART-3)."""
        self.failed = True

    async def flush(self) -> None:
        """Flush what has been appended, on another thread: other requests go on."""
        self.flushed = self._env.now()
        with self.storage:
            flush = self.log.start_flush()
            await self._env.blocking(flush.sync)
            if not self.log.offline:                   # closed meanwhile: the topic was deleted
                self.log.finish_flush(flush)

    def retire(self, refusal: Err) -> None:
        """Give the partition up: this broker has no replica of it any more. Clients that wait are refused."""
        self.replica.resign()
        self.retired = refusal
        self.moved.tell(self)

    # --- effects --------------------------------------------------------------------------------------------------

    def carry_out(self, decided: list[effects.Effect]) -> bool:
        """Carry out the effects that the replica has decided on, in order; True if one of them was a move."""
        woken = False
        self.moved.changed(len(decided))
        for effect in decided:
            woken = self._CARRY_OUT[type(effect)](self, effect) or woken
        self.replica.check()
        return woken

    def _assign_epoch(self, e: effects.AssignEpoch) -> None:
        with self.storage:
            self.log.epochs.assign(e.epoch, e.start_offset)

    def _lead(self, e: effects.Lead) -> bool:
        self.lag_trace.reset()
        self.shown = self.manager.shown_settings(self)
        self._trace_role("leader", replicas=list(self.replica.replicas), **self.shown)
        if self.leader_epoch > 0:  # a new topic's first leader is no news
            log.info("%s: leader epoch %d starts here at offset %d, high watermark %d, ISR %s", self.name, self.leader_epoch,
                     self.log.end_offset, self.high_watermark, list(self.replica.isr.committed))
        self.manager.on_leading(self)
        self.moved.tell(self)
        return True

    def _follow(self, e: effects.Follow) -> bool:
        self._trace_role("follower" if e.leader >= 0 else "leaderless")
        self.manager.on_following(self)
        self.moved.tell(self)
        return True

    def _moved_high_watermark(self, e: effects.HighWatermark) -> bool:
        self.log.producers.replicated(e.offset)
        stable = self.last_stable_offset
        open_transaction = {"lso": stable} if stable < e.offset else {}
        self._env.trace("hw", tp=self.name, hw=e.offset, **open_transaction)
        self.moved.tell(self)
        return True

    def _moved_log_end(self, e: effects.LogEndMoved) -> bool:
        self.moved.tell(self, log_end=True)
        return True

    def _propose(self, e: effects.ProposeIsr) -> None:
        self.manager.propose(self, e.proposal)

    def _isr_committed(self, e: effects.IsrCommitted) -> None:
        self._env.trace("isr", tp=self.name, isr=list(e.isr), leader_epoch=self.leader_epoch,
                        partition_epoch=e.partition_epoch, why=e.why)
        log.info("%s: ISR is %s (%s)", self.name, list(e.isr), e.why)

    def _truncate(self, e: effects.Truncate) -> bool:
        self._cut(self.log.truncate, e.offset)
        return self.carry_out(self.replica.on_truncated())

    def _start_at(self, e: effects.StartAt) -> None:
        self._cut(self.log.truncate_fully, e.offset)

    def _cut(self, truncate: Callable[[int], None], offset: int) -> None:
        end, start = self.log.end_offset, self.log.start_offset
        with self.storage:
            safe = self.log.recovery_point
            truncate(offset)
            self.manager.truncated(self, lowered=self.log.recovery_point < safe)
        # Counted by offsets: transaction markers, and gaps that compaction left, count as records too.
        lost = end - offset if start <= offset <= end else end - start
        self._env.trace("truncate", tp=self.name, to=offset, records=lost, **{"from": end})
        if lost:
            log.warning("%s: truncated from %d to %d: leader %d of epoch %d has other records from there on", self.name, end,
                        offset, self.replica.leader, self.leader_epoch)

    _CARRY_OUT: dict[type, Any] = {
        effects.AssignEpoch: _assign_epoch, effects.Lead: _lead, effects.Follow: _follow,
        effects.HighWatermark: _moved_high_watermark, effects.LogEndMoved: _moved_log_end,
        effects.ProposeIsr: _propose, effects.IsrCommitted: _isr_committed, effects.Truncate: _truncate,
        effects.StartAt: _start_at}

    # --- trace ----------------------------------------------------------------------------------------------------

    def _trace_append(self, info: AppendInfo, **more: object) -> None:
        self._env.trace("append", tp=self.name, base=info.base_offset, last=info.last_offset, epoch=info.leader_epoch,
                        count=info.count, bytes=info.bytes, **more)

    def _trace_role(self, role: str, **more: object) -> None:
        self._env.trace("role", tp=self.name, role=role, epoch=self.leader_epoch, leader=self.replica.leader,
                        isr=list(self.replica.isr.committed), hw=self.high_watermark, **more)


class FollowerLagTrace:
    """The trace of how long each follower has been behind, by the clock with which its leader judges it (isr.py). It is
    written for followers that are late, when the figure has changed. Kafka has metrics of the lag in records (MaxLag).

    Event: behind{tp, epoch, follower, behind, check_in, every}: in leader epoch `epoch`, `behind` seconds ago it was caught up
    (null: it is again), in `check_in` seconds the leader looks next, then every `every` seconds. Durations, because clocks of
    processes differ.
    """

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self._told: dict[int, float] = {}  # follower -> the time it was told to be caught up last

    def reset(self) -> None:
        """Forget all followers: a new leader epoch begins."""
        self._told.clear()

    def look(self, now: float) -> None:
        """Tell of every follower that has become late, later, or caught up."""
        core = self.partition.replica
        end = core.log.end_offset
        for replica, follower in core.followers.items():
            caught_up = follower.last_caught_up_time
            if follower.log_end_offset >= end or now - caught_up <= QUIET_S:
                if replica in self._told:
                    del self._told[replica]
                    self._tell(replica, None, now)
            elif caught_up != LONG_AGO and self._told.get(replica) != caught_up:
                self._told[replica] = caught_up
                self._tell(replica, now - caught_up, now)

    def _tell(self, follower: int, behind: float | None, now: float) -> None:
        manager = self.partition.manager
        fields = {"check_in": round(manager.next_check - now, 6), "every": manager.check_every}
        manager.env.trace("behind", tp=self.partition.name, epoch=self.partition.leader_epoch, follower=follower,
                          behind=None if behind is None else round(behind, 6), **fields)


class Storage:
    """The guard around every use of a partition's disk: a failed write or fsync is never tried again (rule 67). A class,
    because a generator would cost more than the short reads that it stands around."""

    __slots__ = ("_partition",)

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError) or isinstance(error, KafkaError) and error.code == Err.KAFKA_STORAGE_ERROR:
            self._partition.manager.storage_failed(self._partition, error)
        if isinstance(error, OSError):
            raise KafkaError(Err.KAFKA_STORAGE_ERROR) from error


def _transaction(info: AppendInfo, batch: bytes | memoryview) -> dict[str, object]:
    """Return what the trace tells of a batch that belongs to a transaction: whose it is, and what a marker decides."""
    header = info.transactional
    if header is None:
        return {}
    decision = {"marker": "commit" if markers.is_commit(batch) else "abort"} if header.is_control else {}
    return {"txn": header.producer_id, **decision}

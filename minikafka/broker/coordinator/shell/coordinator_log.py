"""Replay one partition of a coordinator's topic (`__consumer_offsets`, `__transaction_state`), then append records to it and
wait until they are committed.

The leader appends a record at once; the record takes effect when the high watermark has passed it. Until then no client may
see its content (rules 58 and 60). An appended record stays on the list even if its author no longer waits: a record whose
author was answered with a timeout may still be committed, and then it takes effect.

Owns: the load loop, and the list of appended and not yet committed records, in log order.
Invariants: I-GLOG-1 `apply` runs once per record that commits, in log order, before its author is answered.
            an author is answered once: NONE, or an error of the kind that group requests give.

What Kafka does differently: it collects the writes of a few milliseconds into one batch.
Source: CoordinatorRuntime (deferred events), CoordinatorPartitionWriter (required acks 1, then the high watermark).
"""

from __future__ import annotations

import logging
from asyncio import Future
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from minikafka.broker.replication.shell.partition import LOG_END, Partition
from minikafka.broker.server.env import Env
from minikafka.log import batch
from minikafka.log.producers import UNGUARDED
from minikafka.log.records import MalformedRecord
from minikafka.protocol.errors import Err, KafkaError

EncodedRecord = tuple[bytes, bytes | None]     # (key, value); a null value is a tombstone

# The errors of an append, translated to errors that clients of a coordinator know (CoordinatorOperationExceptionHelper).
TRANSLATED = {
    Err.UNKNOWN_TOPIC_OR_PARTITION: Err.COORDINATOR_NOT_AVAILABLE,
    Err.NOT_ENOUGH_REPLICAS: Err.COORDINATOR_NOT_AVAILABLE,
    Err.REQUEST_TIMED_OUT: Err.COORDINATOR_NOT_AVAILABLE,
    Err.NOT_LEADER_OR_FOLLOWER: Err.NOT_COORDINATOR,
    Err.KAFKA_STORAGE_ERROR: Err.NOT_COORDINATOR,
    Err.MESSAGE_TOO_LARGE: Err.UNKNOWN_SERVER_ERROR,
    Err.RECORD_LIST_TOO_LARGE: Err.UNKNOWN_SERVER_ERROR,
    Err.INVALID_FETCH_SIZE: Err.UNKNOWN_SERVER_ERROR,
}


@dataclass(slots=True)
class DeferredAppend:
    """Records in the log that the high watermark has not passed; `required` is the offset after the last."""

    required: int
    apply: Callable[[int], None] | None      # called with the offset of the first record
    base: int
    outcome: Future[Err]


class CoordinatorLog:
    """The coordinator's view of one partition that this broker leads: an observer that is called when the partition moves."""

    def __init__(self, env: Env, partition: Partition, timeout_s: float, acks: int = 1) -> None:
        """Observe `partition`. `timeout_s`: how long an author waits; `acks` -1: refuse appends while the ISR is too small."""
        self.env, self.partition, self.timeout_s, self.acks = env, partition, timeout_s, acks
        self.waiting: deque[DeferredAppend] = deque()
        self.closed = False
        partition.moved.add_first(self)

    async def replay(
            self, apply: Callable[[batch.BatchHeader, memoryview], None], read_bytes: int, logger: logging.Logger) -> bool:
        """Pass every batch up to the present log end to `apply`, reading about `read_bytes` at a time. Return False if
        this broker lost the leadership meanwhile, or if the log cannot be read, which is written to `logger`."""
        at, end = self.partition.log.start_offset, self.partition.log.end_offset
        while at < end and not self.closed:
            try:
                for header, raw in batch.checked(self.partition.read(at, read_bytes, LOG_END).records):
                    apply(header, raw)
                    at = header.next_offset
            except (KafkaError, MalformedRecord) as error:  # another replica may be intact, and become leader
                logger.error("%s cannot be loaded: %s", self.partition.name, error)
                return False
            except Exception as error:
                self.env.report(f"loading {self.partition.name}", error)
                return False
            await self.env.sleep(0)
        return not self.closed

    def append(self, records: list[EncodedRecord], apply: Callable[[int], None] | None = None) -> Future[Err]:
        """Append `records` as one batch. The future's result is NONE once they are committed, else an error or a timeout.
        `apply` runs when they are committed, with the offset of the first record."""
        return self.write(batch.build(records, timestamp_ms=self.env.wall_ms()), apply)

    def write(self, data: bytes, apply: Callable[[int], None] | None = None, guard: object = UNGUARDED) -> Future[Err]:
        """Append an encoded batch, as append() does; `guard`: as in `Partition.append`."""
        outcome: Future[Err] = self.env.future()
        try:
            info = self.partition.append(data, self.acks, "coordinator", guard=guard)
        except KafkaError as error:
            outcome.set_result(TRANSLATED.get(error.code, error.code))
            return outcome
        self.expect(info.last_offset + 1, info.base_offset, apply, outcome)
        self._limit(outcome)
        self.moved(self.partition)
        return outcome

    def expect(self, required: int, base: int, apply: Callable[[int], None] | None,
               outcome: Future[Err] | None = None) -> None:
        """Wait for records that are in the log already (a new leader finds some above the high watermark)."""
        self.waiting.append(DeferredAppend(required, apply, base, self.env.future() if outcome is None else outcome))

    def settled(self) -> Future[Err]:
        """Return a future that is NONE once everything appended so far is committed. A read waits for it if it must show every
        commit that was appended before."""
        outcome: Future[Err] = self.env.future()
        if not self.waiting:
            outcome.set_result(Err.NONE)
            return outcome
        last = self.waiting[-1]
        self.expect(last.required, last.base, None, outcome)
        self._limit(outcome)
        return outcome

    def _limit(self, outcome: Future[Err]) -> None:
        timer = self.env.later(self.timeout_s, _answer, outcome, TRANSLATED[Err.REQUEST_TIMED_OUT])
        outcome.add_done_callback(lambda _: timer.cancel())

    def moved(self, partition: Partition) -> None:
        """Apply the records that are committed now, in log order, and answer their authors."""
        while self.waiting:
            error = partition.ack(self.waiting[0].required)
            if error is None:
                break
            first = self.waiting.popleft()
            if error not in (Err.NONE, Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND):     # the latter means committed, too
                _answer(first.outcome, TRANSLATED.get(error, error))
                continue
            if first.apply is not None:
                first.apply(first.base)
            _answer(first.outcome, Err.NONE)

    def close(self) -> None:
        """Answer every waiting author with NOT_COORDINATOR: this broker has lost the leadership."""
        self.closed = True
        self.partition.moved.discard(self)
        while self.waiting:
            _answer(self.waiting.popleft().outcome, Err.NOT_COORDINATOR)


def failed(outcome: Future[Err]) -> bool:
    """Return whether it is known already that nothing was appended."""
    return outcome.done() and outcome.result() is not Err.NONE


def _answer(outcome: Future[Err], error: Err) -> None:
    if not outcome.done():
        outcome.set_result(error)

"""Transactions as a producer sees them: one id, one coordinator; begin, write, then all becomes visible or nothing.

    version 1 (KIP-98)    the producer announces each partition to the coordinator before its first batch goes there. The
                          epoch stays, so a late request looks like one of the next transaction
    version 2 (KIP-890)   the partition's leader announces it when the first batch comes (Produce 12). Each end of a
                          transaction raises the epoch (EndTxn 5), so a late request is refused

Owns: the state, the partitions of the transaction, the conversation with the coordinator.
Invariants: I-TRANSACTOR-1 no EndTxn is sent before every batch of the transaction is done, and every announcement.
            After an error only an abort is possible; after a fatal error nothing is.
            I-TRANSACTOR-3 a commit or abort without an answer is sent again, never replaced by the other; until one answer tells,
              every error is `Unsure`.
Source: org.apache.kafka.clients.producer.internals.TransactionManager; KIP-98, KIP-360, KIP-447, KIP-890.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.producer.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from minikafka.client.client import GROUP, TRANSACTION, Client, error_of
from minikafka.client.metadata import Tp
from minikafka.client.producer.idempotence import Idempotence
from minikafka.client.retry import RETRIABLE, Unsure
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.client.consumer.classic_member import Membership

FENCED = frozenset({Err.PRODUCER_FENCED, Err.INVALID_PRODUCER_EPOCH})
FATAL = FENCED | {Err.INVALID_TXN_STATE, Err.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Err.UNSUPPORTED_VERSION}
NOT_CARRIED_OUT = frozenset({Err.CONCURRENT_TRANSACTIONS, Err.COORDINATOR_LOAD_IN_PROGRESS})
SOON = 0.02  # seconds between two requests while the markers of the last transaction are being written


class ProducerTransactionState(Enum):
    UNINITIALIZED = 1
    READY = 2
    OPEN = 3
    ENDING = 4
    ABORT_ONLY = 5
    FATAL = 6


class TransactionManager:
    """The transactions of one producer, one after another."""

    def __init__(self, client: Client, numbers: Idempotence, transactional_id: str, version: int = 2,
                 timeout: float = 60.0, max_block: float = 20.0) -> None:
        self.client, self.env, self.numbers, self.id = client, client.env, numbers, transactional_id
        self.version, self.timeout, self.max_block = version, timeout, max_block
        self.state, self.error = ProducerTransactionState.UNINITIALIZED, Err.NONE
        self.partitions: dict[Tp, None] = {}  # of the open transaction, known to the coordinator
        self.pending: dict[Tp, None] = {}  # to be announced first
        self.started = False  # the coordinator may know of the transaction
        self.bump = False  # ask for a new epoch after the abort (version 1)
        self.ending: bool | None = None  # the requested end: commit or not
        self.unsure = False  # it may have been carried out
        self.wake: Callable[[], None] = lambda: None  # the sender's
        self._announcement: asyncio.Task[None] | None = None  # under way

    # --- state --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._require(ProducerTransactionState.READY)
        self.state = ProducerTransactionState.OPEN

    def failed(self, error: Err) -> None:
        """Note that a batch or a request to the coordinator failed for good: the transaction can only be aborted."""
        if self.state is ProducerTransactionState.FATAL:
            return
        self.error = error
        if error in FATAL and error is not Err.INVALID_PRODUCER_EPOCH:
            self.state = ProducerTransactionState.FATAL
        elif self.state in (ProducerTransactionState.OPEN, ProducerTransactionState.ENDING):
            self.state = ProducerTransactionState.ABORT_ONLY
            self.bump = self.version == 1
        self.wake()

    @property
    def doomed(self) -> bool:
        """Return whether the open transaction can only be aborted."""
        return self.state in (ProducerTransactionState.ABORT_ONLY, ProducerTransactionState.FATAL)

    @property
    def dead(self) -> bool:
        """Return whether the producer can do nothing any more (a fatal error)."""
        return self.state is ProducerTransactionState.FATAL

    def check(self) -> None:
        """Raise the error that forbids to write, if there is one."""
        if self.doomed:
            raise KafkaError(self.error)
        self._require(ProducerTransactionState.OPEN)

    def _require(self, *states: ProducerTransactionState) -> None:
        if self.state is ProducerTransactionState.FATAL:
            raise KafkaError(self.error)
        if self.state not in states:
            raise KafkaError(Err.INVALID_TXN_STATE, f"the producer is {self.state.name}, not {states[0].name}")

    # --- partitions ---------------------------------------------------------------------------------------------

    def add(self, tp: Tp) -> None:
        """Note that a record of the transaction goes to this partition."""
        if self.version == 2:
            self.partitions.setdefault(tp)
            self.started = True
        elif tp not in self.partitions:
            self.pending.setdefault(tp)

    def allows(self, tp: Tp) -> bool:
        """Return whether batches of the partition may be sent; batches that were sent before may always be retried."""
        return tp in self.partitions and self.state is not ProducerTransactionState.FATAL

    def look(self) -> None:
        """Announce the pending partitions; the sender calls this at each turn."""
        if self.pending and self._announcement is None and self.state is ProducerTransactionState.OPEN:
            self._announcement = self.env.spawn(self._announce(), f"{self.id}: announce partitions")

    async def _announce(self) -> None:
        try:
            tps = list(self.pending)
            self.started = True  # an announcement whose answer is lost may have opened it, too
            await self._until_done(lambda: self._add_partitions(tps), 3, _worst, soon=not self.partitions)
            for tp in tps:
                self.pending.pop(tp, None)
                self.partitions.setdefault(tp)
        except KafkaError as error:
            self.pending.clear()
            self.failed(error.code)
        finally:
            self._announcement = None
            self.wake()

    def _add_partitions(self, tps: list[Tp]) -> ApiMessage:
        topics: dict[str, list[int]] = {}
        for name, index in tps:
            topics.setdefault(name, []).append(index)
        named = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        who = self._identity
        return AddPartitionsToTxnRequest(
            transactions=[], v3_and_below_transactional_id=self.id, v3_and_below_producer_id=who.producer_id,
            v3_and_below_producer_epoch=who.epoch,
            v3_and_below_topics=[named(name=name, partitions=parts) for name, parts in topics.items()])

    # --- the conversation with the coordinator ------------------------------------------------------------------

    @property
    def _identity(self) -> ProducerIdAndEpoch:
        assert self.numbers.identity is not None
        return self.numbers.identity

    async def initialize(self) -> None:
        """Get a producer id and epoch: this fences every older producer of the id and aborts its open transaction."""
        who = self.numbers.identity if self.bump and self.numbers.identity else ProducerIdAndEpoch(-1, -1)
        request = InitProducerIdRequest(transactional_id=self.id, transaction_timeout_ms=int(self.timeout * 1000),
                                        producer_id=who.producer_id, producer_epoch=who.epoch)
        answer = await self._until_done(lambda: request, 4, error_of)
        self.numbers.begin(ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))
        self._complete()

    async def end(self, commit: bool) -> None:
        """End the transaction, all of whose batches are done (I-TRANSACTOR-1). Raises `Unsure` while the end is unknown."""
        try:
            await self._end(commit)
        except Unsure:
            self.unsure = True
            raise
        except KafkaError as error:
            if self.unsure:
                raise Unsure(error.code) from error
            raise

    async def _end(self, commit: bool) -> None:
        self._check_end(commit)
        self.pending.clear()  # there is no batch that waits for it
        if self._announcement is not None:  # of partitions whose batches were dropped
            await asyncio.wait([self._announcement])
            self._check_end(commit)
        if not self.started:
            self._complete()
            return
        self.state, self.ending = ProducerTransactionState.ENDING, commit
        who = self._identity
        request = EndTxnRequest(transactional_id=self.id, producer_id=who.producer_id, producer_epoch=who.epoch,
                                committed=commit)
        answer = await self._until_done(lambda: request, 5 if self.version == 2 else 3, error_of)
        if self.version == 2:
            self.numbers.begin(ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))
        elif self.bump:
            await self.initialize()
        self._complete()

    def _check_end(self, commit: bool) -> None:
        if commit and self.ending is not True:
            self.check()
        else:
            self._require(ProducerTransactionState.OPEN, ProducerTransactionState.ABORT_ONLY, ProducerTransactionState.ENDING)
        if self.ending is not None and self.ending != commit:
            raise KafkaError(Err.INVALID_TXN_STATE, "a commit was requested before this abort, or an abort before this commit")

    def _complete(self) -> None:
        self.state, self.error = ProducerTransactionState.READY, Err.NONE
        self.bump, self.started, self.ending, self.unsure = False, False, None, False
        self.partitions.clear()
        self.pending.clear()

    async def send_offsets(self, offsets: dict[Tp, int], group: Membership) -> None:
        """Make a group's offsets part of the transaction (KIP-447: the group's generation fences zombies)."""
        self.check()
        self.started = True
        if self.version == 1:
            who = self._identity
            announce = AddOffsetsToTxnRequest(transactional_id=self.id, producer_id=who.producer_id, producer_epoch=who.epoch,
                                              group_id=group.group)
            await self._until_done(lambda: announce, 3, error_of)
        await self._until_done(lambda: self._offset_commit(offsets, group), 5 if self.version == 2 else 3,
                               _worst_offset, GROUP, group.group)

    def _offset_commit(self, offsets: dict[Tp, int], group: Membership) -> ApiMessage:
        named = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        topics: dict[str, list[Any]] = {}
        for (name, index), offset in offsets.items():
            part = named.TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset,
                                                         committed_leader_epoch=-1, committed_metadata="")
            topics.setdefault(name, []).append(part)
        generation, member_id = group.joined
        return TxnOffsetCommitRequest(
            transactional_id=self.id, group_id=group.group, producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch, generation_id=generation, member_id=member_id,
            group_instance_id=group.instance_id,
            topics=[named(name=name, partitions=parts) for name, parts in topics.items()])

    async def _until_done(self, message: Callable[[], ApiMessage], version: int, error_of: Callable[[Any], Err],
                          kind: int = TRANSACTION, key: str | None = None, soon: bool = False) -> Any:
        """Send to the coordinator until it succeeds. Raises KafkaError, or `Unsure` if it may have been carried out."""
        attempts, unsure = 0, False
        try:
            async with asyncio.timeout(self.max_block):
                while True:
                    # until the answer says otherwise
                    before, unsure = unsure, True
                    error, answer = await self.client.ask_coordinator(kind, key or self.id, message, version, error_of)
                    if error is Err.NONE:
                        return answer
                    unsure = before or (error in RETRIABLE and error not in NOT_CARRIED_OUT)
                    if error not in RETRIABLE:
                        break
                    attempts += 1
                    busy = soon and error is Err.CONCURRENT_TRANSACTIONS
                    await self.env.sleep(SOON if busy else self.client.backoff.pause(attempts))
        except TimeoutError:
            error = Err.REQUEST_TIMED_OUT
        if error is not Err.REQUEST_TIMED_OUT:
            self.failed(Err.PRODUCER_FENCED if error in FENCED else error)
        raise Unsure(error) if unsure else KafkaError(error)


def _worst(answer: Any) -> Err:
    """Return the first error of AddPartitionsToTxn that is not a mere consequence of another."""
    codes = [Err(p.partition_error_code) for t in answer.results_by_topic_v3_and_below for p in t.results_by_partition]
    errors = [code for code in codes if code is not Err.NONE]
    causes = [code for code in errors if code is not Err.OPERATION_NOT_ATTEMPTED]
    return (causes or errors or [Err.NONE])[0]


def _worst_offset(answer: Any) -> Err:
    codes = [Err(p.error_code) for t in answer.topics for p in t.partitions]
    errors = [code for code in codes if code is not Err.NONE]
    return next((e for e in errors if e not in RETRIABLE), errors[0] if errors else Err.NONE)

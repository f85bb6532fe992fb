"""A producer that a story controls: one request at a time, to the broker that the story names.

A real client hides what these stories are about: which request was sent twice, on which connection the first one hangs, under
which epoch. This producer speaks the protocol of KIP-890: Produce 12 adds the partition to the transaction, EndTxn 5 gives a
new epoch. With `classic` it speaks the one before: AddPartitionsToTxn first, Produce 11, EndTxn 3, and one epoch for all
transactions.

Owns: the producer's identity and its sequences; and its part of the history.
Invariants: a value is one `send` in the history however often it goes out; an end of a transaction likewise.
Source: TransactionManager, Sender; KIP-98, KIP-890.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest
from kafka.protocol.producer.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    TxnOffsetCommitRequest,
)

from minikafka.broker.server.peer import Peer
from minikafka.log.batch import build
from minikafka.log.markers import marker
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.proof.stories.telling.client import NO_ANSWER, StoryClient
from minikafka.proof.stories.telling.ending import CoordinatedStory
from minikafka.proof.stories.telling.story import PATIENCE
from minikafka.protocol.errors import Err

TRIES = 5
PAUSE = 0.05  # seconds before a request is sent again
NOT_YET = (Err.CONCURRENT_TRANSACTIONS, Err.COORDINATOR_LOAD_IN_PROGRESS, Err.COORDINATOR_NOT_AVAILABLE,
           Err.NOT_COORDINATOR)


class StoryWriter(StoryClient):
    """One producer. `home` is the broker that coordinates its transactions; without one it is merely idempotent."""

    classic = False  # the protocol before KIP-890; a weakened rule 52 sets it

    def __init__(self, story: CoordinatedStory, name: str, home: int | None = None, node: int = 1,
                 id: str | None = None) -> None:
        """`id`: its transactional id, if that is not its name; `node`: who gives an identity to one without a home."""
        super().__init__(story, name)
        self.home, self.node = home, home or node
        self.transactional_id = (id or name) if home is not None else None
        self.who = ProducerIdAndEpoch(-1, -1)
        self.txn: str | None = None  # the transaction's name in the history
        self._transactions = 0
        self._next: dict[str, int] = {}  # the next sequence, by topic
        self._added: dict[str, None] = {}
        self._batches: dict[str, bytes] = {}
        self._open: dict[str, Any] = {}  # operations of the history that have no end yet, by value
        self._ending: Any = None
        story.at_last.append(self._give_up)

    def _give_up(self) -> None:
        """Wait for nothing any more: operations without an answer stay open."""
        for operation in [*self._open.values(), *([self._ending] if self._ending else [])]:
            self.story.history.info(operation)
        self._open.clear()
        self._ending = None

    # --- who am I -------------------------------------------------------------------------------------------------

    async def _request(self, request: Any, version: int, timeout: float = PATIENCE,
                   error: Callable[[Any], int] = lambda answer: int(answer.error_code), to: int | None = None) -> Any:
        """Return the coordinator's first real answer: while it is busy, or loading, the request is sent again."""
        peer = self.peer(to or self.node)
        while True:
            answer = await peer.request(request, version, timeout)
            if Err(error(answer)) not in NOT_YET:
                return answer
            await self.story.env.sleep(PAUSE)

    async def init(self) -> StoryWriter:
        """Get an identity from the coordinator or (idempotent) from any broker; return this producer."""
        request = InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=20_000)
        answer = await self._request(request, 4)
        assert answer.error_code == 0, Err(answer.error_code).name
        self._become(ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))
        return self

    def _become(self, who: ProducerIdAndEpoch) -> None:
        if who != self.who:
            self.who = who
            self._next.clear()  # sequences begin again at 0 in a new epoch
            self.story.note(f"{self.name}: epoch {who.epoch}")

    def raise_epoch(self) -> None:
        """Go on under the next epoch, with sequences from 0, as an idempotent producer that waits no longer: records without
        an answer will be sent again like that (KIP-360)."""
        self._become(ProducerIdAndEpoch(self.who.producer_id, self.who.epoch + 1))
        for value, operation in self._open.items():
            self._batches[value] = self._build(value, operation["topic"], operation.get("key"), transactional=False)

    # --- records --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin the next transaction; nothing is sent."""
        self._transactions += 1
        self.txn = f"{self.name}-{self._transactions}"
        self._added.clear()
        self.story.history.record(self.name, "ok", "begin", txn=self.txn, producer=self.name)

    def send(self, value: str, topic: str, to: int, timeout: float = PATIENCE, key: str | None = None,
             source: tuple[str, int, int] | None = None, marked: bool = True) -> asyncio.Task[str]:
        """Produce one record, perhaps a copy of the one at `source` (topic, partition, offset); a value that was sent
        before is sent again as it was. The result is the answer. Without `marked` the batch of a transactional
        producer does not set the transactional flag."""
        if value not in self._batches:
            fields: dict[str, Any] = {"topic": topic, "partition": 0, "value": value, "acks": -1}
            fields |= {"txn": self.txn} if self.txn else {}
            fields |= {"source": list(source)} if source else {}
            fields |= {"key": key} if key else {}
            self._open[value] = self.story.history.invoke(self.name, "send", **fields)
            self._batches[value] = self._build(value, topic, key, marked and self.home is not None)
        return self.story.env.spawn(self._send(value, topic, self.peer(to), timeout), f"{self.name} sends {value}")

    def _build(self, value: str, topic: str, key: str | None, transactional: bool) -> bytes:
        sequence = self._next.get(topic, 0)
        self._next[topic] = sequence + 1
        return build([(key.encode() if key else None, value.encode())], timestamp_ms=self.story.env.wall_ms(),
                     producer_id=self.who.producer_id, producer_epoch=self.who.epoch, base_sequence=sequence,
                     transactional=transactional)

    async def _send(self, value: str, topic: str, leader: Peer, timeout: float) -> str:
        if self.home is not None and self.classic:
            await self.add(topic)
        host = self.host
        try:
            found = await self._produce(self._batches[value], topic, leader, timeout)
        except (OSError, TimeoutError):
            self.story.note(f"{self.name}: no answer for {value}")
            return NO_ANSWER
        error = Err(found.error_code)
        if host != self.host:
            return self.too_late(value, error)
        return self._sent(value, error, found.base_offset)

    async def _produce(self, batch: bytes, topic: str, leader: Peer, timeout: float = PATIENCE) -> Any:
        named = ProduceRequest.TopicProduceData
        partition = named.PartitionProduceData(index=0, records=batch)
        request = ProduceRequest(transactional_id=self.transactional_id, acks=-1, timeout_ms=int(timeout * 1000),
                                 topic_data=[named(name=topic, partition_data=[partition])])
        answer = await leader.request(request, 11 if self.classic else 12, timeout)
        return answer.responses[0].partition_responses[0]

    async def forge(self, topic: str, commit: bool, to: int) -> None:
        """Write the marker of this transaction, as if it were the coordinator's."""
        batch = marker(*self.who, coordinator_epoch=0, commit=commit, timestamp_ms=self.story.env.wall_ms())
        found = await self._produce(batch, topic, self.peer(to))
        error = Err(found.error_code)
        result = f"acknowledged at offset {found.base_offset}" if error is Err.NONE else error.name
        self.story.note(f"{self.name}: marker {result}")

    async def insist(self, value: str, topic: str) -> None:
        """Send a value to the topic's leader again and again until it is acknowledged, or the tries are used up."""
        for _ in range(TRIES):
            await self.story.until(lambda: any(self.story.leads(n, topic) for n in self.story.world.brokers))
            leader = next(n for n in self.story.world.brokers if self.story.leads(n, topic))
            if await self.send(value, topic, to=leader) == Err.NONE.name:
                return
            await self.story.env.sleep(1.0)

    def _sent(self, value: str, error: Err, offset: int) -> str:
        if error is Err.NONE:
            self.story.note(f"{self.name}: {value} acknowledged at offset {offset}")
            if (operation := self._open.pop(value, None)) is not None:
                self.story.history.ok(operation, offset=offset)
        else:
            self.story.note(f"{self.name}: {value} {error.name}")
        return error.name

    async def add(self, topic: str) -> None:
        """Send AddPartitionsToTxn, as the classic client does before its first record to a partition; nothing with KIP-890."""
        if not self.classic or topic in self._added:
            return
        self._added[topic] = None
        named = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=[0])
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id, v3_and_below_producer_id=self.who.producer_id,
            v3_and_below_producer_epoch=self.who.epoch, v3_and_below_topics=[named])
        answer = await self._request(request, 3, error=_first_error)
        error = Err(_first_error(answer))
        self.story.note(f"{self.name}: {topic} added to the transaction" if error is Err.NONE else
                       f"{self.name}: {topic} not added, {error.name}")

    async def offsets(self, group: str, topic: str, offset: int, home: int) -> str:
        """Commit a group's offset in the transaction (KIP-447), at the group's coordinator `home`."""
        operation = self.story.history.invoke(self.name, "commit", group=group, offsets={f"{topic}-0": offset},
                                              txn=self.txn)
        if self.classic:
            add = AddOffsetsToTxnRequest(transactional_id=self.transactional_id, producer_id=self.who.producer_id,
                                         producer_epoch=self.who.epoch, group_id=group)
            await self._request(add, 3)
        named = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        part = named.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(transactional_id=self.transactional_id, group_id=group,
                                         producer_id=self.who.producer_id, producer_epoch=self.who.epoch, member_id="",
                                         topics=[named(name=topic, partitions=[part])])
        answer = await self._request(request, 3 if self.classic else 5, error=_offset_error, to=home)
        error = Err(_offset_error(answer))
        (self.story.history.ok if error is Err.NONE else self.story.history.fail)(operation)
        done = "in the transaction" if error is Err.NONE else error.name
        self.story.note(f"{self.name}: offset {offset} of group {group} {done}")
        return error.name

    # --- the end --------------------------------------------------------------------------------------------------

    def end(self, commit: bool, timeout: float = PATIENCE) -> asyncio.Task[str]:
        """Send the end of this transaction; a repeated request is the same operation."""
        word = "commit" if commit else "abort"
        if self._ending is None:
            self._ending = self.story.history.invoke(self.name, "end", txn=self.txn, commit=commit, producer=self.name)
        return self.story.env.spawn(self._end(self._ending, commit, word, timeout), f"{self.name}: {word}")

    async def _end(self, operation: Any, commit: bool, word: str, timeout: float) -> str:
        request = EndTxnRequest(transactional_id=self.transactional_id, producer_id=self.who.producer_id,
                                producer_epoch=self.who.epoch, committed=commit)
        host = self.host
        try:
            answer = await self._request(request, 3 if self.classic else 5, timeout)
        except (OSError, TimeoutError):
            self.story.note(f"{self.name}: no answer to {word}")
            return NO_ANSWER
        error = Err(answer.error_code)
        if host != self.host:
            return self.too_late(word, error)
        self.story.note(f"{self.name}: {word} {'done' if error is Err.NONE else error.name}")
        if self._ending is operation:
            self._ending = None
            (self.story.history.ok if error is Err.NONE else self.story.history.info)(operation)
        if error is Err.NONE and not self.classic:
            self._become(ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))
        return error.name


def _offset_error(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].error_code)


def _first_error(answer: Any) -> int:
    return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

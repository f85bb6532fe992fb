"""The requests about positions that a consumer sends before it can fetch: where a log begins or ends, and where an epoch ended.

Owns: the requests in flight.
Invariants: one request at a time about each partition; after an error a pause.
            An answer about the end of an epoch counts only while the position is in that epoch: while the
              request is in flight, poll may return records fetched earlier, and move the position.
Source: org.apache.kafka.clients.consumer.internals.OffsetFetcher, OffsetsForLeaderEpochClient; KIP-320.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import ListOffsetsRequest, OffsetForLeaderEpochRequest

from minikafka.client.client import Client
from minikafka.client.consumer.positions import FetchPosition, Phase, Positions
from minikafka.client.metadata import Tp
from minikafka.client.retry import STALE_METADATA
from minikafka.protocol.errors import Err, KafkaError

TIMESTAMPS = {"latest": -1, "earliest": -2}
LIST_VERSION, EPOCH_VERSION = 7, 4
CONSUMER = -1  # replica id


class Questions:
    """The questions of one consumer."""

    def __init__(self, client: Client, positions: Positions, *, committed_only: bool, wake: Callable[[], None],
                 stale: Callable[[], None], lost_track: Callable[[Tp, KafkaError, int, int], None]) -> None:
        self.client, self.positions, self.committed_only = client, positions, committed_only
        self.wake, self.stale, self.lost_track = wake, stale, lost_track

    def ask(self) -> None:
        """Ask the leaders about all positions that need it."""
        now = self.client.env.now()
        for phase, asker in ((Phase.RESET, self._list), (Phase.VALIDATE, self._epochs)):
            by_node: dict[int, list[Tp]] = {}
            for tp in self.positions.waiting(phase, now):
                by_node.setdefault(self.client.leader(tp).node, []).append(tp)
            for node, tps in by_node.items():
                if node < 0:
                    self.stale()
                else:
                    asked = {tp: (self.positions.of[tp].turn, self.positions.of[tp].epoch) for tp in tps}
                    for tp in tps:
                        self.positions.of[tp].asking = True
                    self.client.env.spawn(self._about(node, asked, *asker(tps)), f"{self.client.client_id}: {phase.name}")

    async def _about(self, node: int, asked: dict[Tp, tuple[int, int]], message: ApiMessage, version: int) -> None:
        answer = await self.client.ask(node, message, version)
        for tp in asked:
            if tp in self.positions.of:
                self.positions.of[tp].asking = False
        for tp, part in _partitions(answer, list(asked)).items():
            turn, epoch = asked[tp]
            position = self.positions.same(tp, turn)
            if position is not None and position.epoch == epoch:  # otherwise poll has moved it meanwhile
                self._answered(tp, position, part)
        self.wake()

    def _answered(self, tp: Tp, position: FetchPosition, part: Any) -> None:
        error = Err.NETWORK_EXCEPTION if part is None else Err(part.error_code)
        if error is not Err.NONE:
            position.not_before = self.client.env.now() + self.client.backoff.pause(1)
            if error in STALE_METADATA:
                self.stale()
        elif position.phase is Phase.RESET:
            position.go(part.offset, -1, self.client.leader(tp))
        elif position.phase is Phase.VALIDATE:
            self._validated(tp, position, part)

    def _validated(self, tp: Tp, position: FetchPosition, part: Any) -> None:
        if part.end_offset < 0 or part.leader_epoch < 0 or part.end_offset < position.offset:
            why = KafkaError(Err.OFFSET_OUT_OF_RANGE, f"the log of {tp[0]}-{tp[1]} was truncated")
            self.lost_track(tp, why, part.end_offset, part.leader_epoch)
        else:
            position.phase, position.leader = Phase.FETCH, self.client.leader(tp)

    def _list(self, tps: list[Tp]) -> tuple[ApiMessage, int]:
        Topic = ListOffsetsRequest.ListOffsetsTopic
        topics = _by_topic(tps, lambda tp: Topic.ListOffsetsPartition(
            partition_index=tp[1], current_leader_epoch=self.client.leader(tp).epoch,
            timestamp=TIMESTAMPS[self.positions.of[tp].strategy]))
        return ListOffsetsRequest(replica_id=CONSUMER, isolation_level=int(self.committed_only), topics=[
            Topic(name=name, partitions=parts) for name, parts in topics.items()]), LIST_VERSION

    def _epochs(self, tps: list[Tp]) -> tuple[ApiMessage, int]:
        Topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
        topics = _by_topic(tps, lambda tp: Topic.OffsetForLeaderPartition(
            partition=tp[1], current_leader_epoch=self.client.leader(tp).epoch,
            leader_epoch=self.positions.of[tp].epoch))
        return OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=[
            Topic(topic=name, partitions=parts) for name, parts in topics.items()]), EPOCH_VERSION


def _by_topic(tps: list[Tp], make: Callable[[Tp], Any]) -> dict[str, list[Any]]:
    topics: dict[str, list[Any]] = {}
    for tp in tps:
        topics.setdefault(tp[0], []).append(make(tp))
    return topics


def _partitions(answer: Any, tps: list[Tp]) -> dict[Tp, Any]:
    """Return the answer by partition; None for a partition that it does not mention."""
    told: dict[Tp, Any] = dict.fromkeys(tps)
    for topic in answer.topics if answer is not None else ():
        name = topic.name if hasattr(topic, "name") else topic.topic
        for part in topic.partitions:
            index = part.partition_index if hasattr(part, "partition_index") else part.partition
            told[name, index] = part
    return told

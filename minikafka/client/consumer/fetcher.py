"""Fetching: for each broker at most one request in flight, for all partitions whose fetched records poll has returned.

Owns: the fetched records that poll has not returned yet, and the fetch sessions.
Invariants: I-FETCHER-1 records are returned in the order of their offsets, each once, from the position on; records that
              were fetched for a position that has moved since are dropped.
What Kafka does differently: it asks the leader for a nearer follower again every five minutes.
Source: org.apache.kafka.clients.consumer.internals.Fetcher, FetchCollector, FetchBuffer; KIP-392.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kafka.protocol.consumer import FetchRequest

from minikafka.client.client import Client
from minikafka.client.connection import BrokerConnection
from minikafka.client.consumer.fetch_session import FetchSessionHandler, Key
from minikafka.client.consumer.fetched_records import Chunk, ConsumerRecord, visible
from minikafka.client.consumer.positions import FetchPosition, Positions
from minikafka.client.metadata import LeaderAndEpoch, Tp
from minikafka.client.retry import STALE_METADATA
from minikafka.protocol.errors import Err, KafkaError

VERSION = 16  # by topic id; an error tells the new leader (KIP-951)
PURPOSE = "fetch"
PAUSE = 0.1  # seconds before a partition is asked for again after an error


@dataclass
class Fetched:
    """The rest of one partition's answer; valid for one position."""

    turn: int
    chunks: deque[Chunk]


class Fetcher:
    """The fetcher of one consumer; `lost_track` is called for a position outside the log, or behind a truncation."""

    def __init__(self, client: Client, positions: Positions, *, committed_only: bool, max_wait: float, max_bytes: int,
                 diverging: bool, rack: str, wake: Callable[[], None], stale: Callable[[], None],
                 lost_track: Callable[[Tp, KafkaError, int, int], None]) -> None:
        self.client, self.positions = client, positions
        self.committed_only, self.max_wait, self.max_bytes = committed_only, max_wait, max_bytes
        self.diverging, self.rack = diverging, rack
        self.wake, self.stale, self.lost_track = wake, stale, lost_track
        self.fetched: dict[Tp, Fetched] = {}
        self.sessions: dict[int, FetchSessionHandler] = {}
        self.error: KafkaError | None = None

    # --- asking -------------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Send the fetches that may be sent now."""
        by_node: dict[int, list[Tp]] = {}
        for tp in self.positions.fetchable(self.client.env.now()):
            if tp not in self.fetched:
                by_node.setdefault(self.positions.of[tp].source, []).append(tp)
        for node, tps in by_node.items():
            if node < 0:
                self.stale()
            elif (connection := self.client.ready(node, PURPOSE)) is None:
                self.client.prepare(node, PURPOSE, lambda opened, node=node: self._connected(node, opened))
            elif not connection.in_flight:
                self._send(connection, node, tps)

    def _connected(self, node: int, opened: bool) -> None:
        self.wake()
        if not opened:
            self._gone(node)

    def _gone(self, node: int) -> None:
        """Read the partitions of a node that does not answer from their leader again, which may be another by now."""
        self.stale()
        for position in self.positions.of.values():
            if position.nearer == node:
                position.nearer = -1

    def _send(self, connection: BrokerConnection, node: int, tps: list[Tp]) -> None:
        question, asked = self._question(node, tps)
        connection.send(question, VERSION, self.max_wait + self.client.request_timeout,
                        lambda answer: self._answered(node, asked, answer))

    def _question(self, node: int, tps: list[Tp]) -> tuple[FetchRequest, dict[Key, tuple[Tp, int]]]:
        """Return the request, and for each partition the `turn` of the position that its answer belongs to."""
        session = self.sessions.setdefault(node, FetchSessionHandler())
        asked = {(self._topic_id(tp), tp[1]): (tp, self.positions.of[tp].turn) for tp in tps}
        wanted = {key: self._want(self.positions.of[tp]) for key, (tp, _) in asked.items()}
        return FetchRequest(max_wait_ms=int(self.max_wait * 1000), min_bytes=1, max_bytes=self.max_bytes,
                            isolation_level=int(self.committed_only), rack_id=self.rack,
                            **session.request(wanted)), asked

    def _topic_id(self, tp: Tp) -> UUID:
        known = self.client.metadata.topics.get(tp[0])
        return known.id if known and known.id else UUID(int=0)

    def _want(self, position: FetchPosition) -> tuple[int, ...]:
        last_epoch = position.epoch if self.diverging else -1
        return position.leader.epoch, position.offset, last_epoch, self.max_bytes

    # --- answers ------------------------------------------------------------------------------------------------

    def _answered(self, node: int, asked: dict[Key, tuple[Tp, int]], answer: Any) -> None:
        self.wake()
        if isinstance(answer, Exception):
            self.sessions[node].lost()
            self._gone(node)
            return
        self.sessions[node].answered(Err(answer.error_code), answer.session_id)
        for topic in answer.responses:
            for part in topic.partitions:
                tp, turn = asked.get((topic.topic_id or UUID(int=0), part.partition_index), (None, 0))
                position = self.positions.same(tp, turn) if tp is not None else None
                if tp is not None and position is not None:
                    self._take(tp, position, part)

    def _take(self, tp: Tp, position: FetchPosition, part: Any) -> None:
        error = Err(part.error_code)
        if error is not Err.NONE:
            self._refused(tp, position, error, part)
        elif part.diverging_epoch is not None and part.diverging_epoch.epoch >= 0:
            why = KafkaError(Err.OFFSET_OUT_OF_RANGE, f"the log of {tp} was truncated")
            self.lost_track(tp, why, part.diverging_epoch.end_offset, part.diverging_epoch.epoch)
        elif part.preferred_read_replica >= 0:
            position.nearer = part.preferred_read_replica
        elif part.records:
            aborted = [(a.producer_id, a.first_offset) for a in part.aborted_transactions or ()]
            try:
                chunks = visible(tp, bytes(part.records), position.offset, aborted if self.committed_only else None)
                self.fetched[tp] = Fetched(position.turn, deque(chunks))
            except KafkaError as corrupt:
                self.error = corrupt

    def _refused(self, tp: Tp, position: FetchPosition, error: Err, part: Any) -> None:
        position.not_before = self.client.env.now() + PAUSE
        if position.nearer >= 0:  # the follower may be behind, or no replica any more: the leader knows
            position.nearer = -1
        elif error is Err.OFFSET_OUT_OF_RANGE:
            self.lost_track(tp, KafkaError(error), -1, -1)
        elif error in STALE_METADATA or error is Err.OFFSET_NOT_AVAILABLE:
            leader = part.current_leader
            told = leader is not None and self.client.metadata.moved(tp, LeaderAndEpoch(leader.leader_id, leader.leader_epoch))
            if not told:
                self.stale()
        elif error not in (Err.UNKNOWN_LEADER_EPOCH, Err.UNKNOWN_SERVER_ERROR):
            self.error = KafkaError(error)

    # --- handing out --------------------------------------------------------------------------------------------

    def take(self, most: int) -> list[ConsumerRecord]:
        """Return up to `most` records and move the positions behind them. Raises KafkaError if no retry can help."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        taken: list[ConsumerRecord] = []
        for tp in list(self.fetched):
            fetched, position = self.fetched[tp], self.positions.of.get(tp)
            if position is None or position.turn != fetched.turn:
                del self.fetched[tp]
            elif not position.paused:
                self._take_from(fetched, position, most, taken)
                if not fetched.chunks:
                    del self.fetched[tp]
        return taken

    def _take_from(self, fetched: Fetched, position: FetchPosition, most: int, taken: list[ConsumerRecord]) -> None:
        while fetched.chunks and len(taken) < most:
            chunk = fetched.chunks.popleft()
            assert not chunk.records or chunk.records[0].offset >= position.offset, f"I-FETCHER-1 {chunk.records[0]} is behind"
            room = most - len(taken)
            taken += chunk.records[:room]
            if rest := chunk.records[room:]:
                fetched.chunks.appendleft(chunk._replace(records=rest))
                position.offset = rest[0].offset
            else:
                position.offset = chunk.next_offset
            position.epoch = chunk.leader_epoch

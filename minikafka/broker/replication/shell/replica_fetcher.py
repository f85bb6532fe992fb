"""Followers pull: one fetcher per leader broker copies every partition that this broker follows there.

A fetcher is a client of the ordinary Fetch API that also says who it is (replica id, broker epoch), in which leader
epoch it believes, and of which epoch its last record is; the answer brings records, or says where the logs diverge.
Idle partitions cost nothing: the fetch session (KIP-227) names only what has changed, and the leader holds the request
until there is something to send.

Owns: which partition is fetched from whom, the pauses after errors, one connection and one session per leader.
Invariants
  I-FETCH-1  an answer counts only if the partition still follows the same leader epoch and its log ends where it ended
             when the request left.
  The fetch offset is the log end offset: what the request asks for is what the leader takes for replicated.
  After an answer whose watermarks were not taken over the session begins anew: the leader believes them known
    and would not repeat them before they move.
What Kafka does differently: threads, several per leader if num.replica.fetchers says so; the first pause after an error
is as long as the last; a follower that diverged gets the high watermark only when it moves.
Source: kafka.server.AbstractFetcherThread, ReplicaFetcherThread, RemoteLeaderEndPoint.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest

from minikafka.broker.replication.effects import EpochEnd
from minikafka.broker.replication.fetch_session import Key, SessionClient
from minikafka.broker.server.peer import Peer
from minikafka.protocol.errors import Err, KafkaError
from minikafka.protocol.maker import maker

if TYPE_CHECKING:
    from kafka.protocol.consumer import FetchResponse

    from minikafka.broker.controller.shell.broker_lifecycle import Lifecycle
    from minikafka.broker.replication.shell.partition import Partition
    from minikafka.broker.server.node import Node

log = logging.getLogger("minikafka.fetcher")

FETCH_VERSION, LIST_OFFSETS_VERSION = 18, 10
LATEST, EARLIEST = -1, -2
FIRST_PAUSE_S = 0.05
make_request, make_replica = maker(FetchRequest), maker(FetchRequest.ReplicaState)
make_topic, make_partition = maker(FetchRequest.FetchTopic), maker(FetchRequest.FetchTopic.FetchPartition)


class PartitionFetchState(NamedTuple):
    """The part of a fetch about one partition; equal positions need not be sent again."""

    leader_epoch: int
    offset: int
    last_epoch: int
    log_start: int


class Fetchers:
    """Every fetcher of this broker, by leader."""

    def __init__(self, node: Node, lifecycle: Lifecycle) -> None:
        self.node, self.lifecycle = node, lifecycle
        self._by_leader: dict[int, ReplicaFetcher] = {}

    def follow(self, partition: Partition) -> None:
        """Fetch `partition` from its present leader, if it has one, and from nobody else."""
        leader = partition.replica.leader
        self.drop(partition)
        if leader < 0:
            return
        if leader not in self._by_leader:
            self._by_leader[leader] = ReplicaFetcher(self.node, self.lifecycle, leader)
        self._by_leader[leader].add(partition)

    def drop(self, partition: Partition) -> None:
        """Fetch `partition` no more."""
        for leader, fetcher in list(self._by_leader.items()):
            fetcher.drop(partition)
            if not fetcher.partitions:
                self._by_leader.pop(leader).stop()

    def close(self) -> None:
        for fetcher in self._by_leader.values():
            fetcher.stop()
        self._by_leader.clear()


class ReplicaFetcher:
    """Copies partitions from `leader`."""

    def __init__(self, node: Node, lifecycle: Lifecycle, leader: int) -> None:
        self.node, self.env, self.lifecycle, self.leader = node, node.env, lifecycle, leader
        self.partitions: dict[Key, Partition] = {}
        self.session: SessionClient[PartitionFetchState] = SessionClient()
        self._pauses: dict[Key, tuple[float, float]] = {}          # (not before, length of the pause)
        self._peer: Peer | None = None
        self._added = asyncio.Event()
        config = self.node.config
        self._max_pause = config["replica.fetch.backoff.ms"] / 1000
        self._timeout = config["replica.socket.timeout.ms"] / 1000
        self._limits = {"max_wait_ms": config["replica.fetch.wait.max.ms"],
                        "min_bytes": config["replica.fetch.min.bytes"],
                        "max_bytes": config["replica.fetch.response.max.bytes"]}
        self._partition_max = config["replica.fetch.max.bytes"]
        self._task = self.env.spawn(self._run(), f"fetcher from {leader}")

    def add(self, partition: Partition) -> None:
        key = (partition.topic_id, partition.index)
        self.partitions[key] = partition
        self._pauses.pop(key, None)
        self._added.set()

    def drop(self, partition: Partition) -> None:
        key = (partition.topic_id, partition.index)
        if self.partitions.get(key) is partition:
            del self.partitions[key]
            self._pauses.pop(key, None)

    def stop(self) -> None:
        self._task.cancel()
        if self._peer is not None:
            self._peer.close()

    # --- the loop -------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            self._added.clear()
            asked = self._ready()
            if not asked:
                await self._wait_for_work()
                continue
            try:
                await self._fetch_once(asked)
            except (ConnectionError, TimeoutError) as error:
                log.info("fetching from node %d failed: %s", self.leader, error)
                self._disconnect()
                await self.env.sleep(self._max_pause)
            except Exception as error:
                self.env.report(f"fetching from node {self.leader}", error)
                self._disconnect()
                await self.env.sleep(self._max_pause)

    def _disconnect(self) -> None:
        self.session.reset()
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    def _ready(self) -> dict[Key, PartitionFetchState]:
        now, pauses = self.env.now(), self._pauses
        return {key: self._position(p) for key, p in self.partitions.items()
                if not pauses or key not in pauses or pauses[key][0] <= now}

    def _position(self, partition: Partition) -> PartitionFetchState:
        log = partition.log
        return PartitionFetchState(partition.leader_epoch, log.end_offset, log.epochs.latest, log.start_offset)

    async def _wait_for_work(self) -> None:
        """Wait until a partition is added or a pause ends."""
        timer = None
        if self._pauses:
            until = min(not_before for not_before, _ in self._pauses.values())
            timer = self.env.later(until - self.env.now(), self._added.set)
        try:
            await self._added.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _fetch_once(self, asked: dict[Key, PartitionFetchState]) -> None:
        if self._peer is None:
            self._peer = self.node.peers.private(self.leader, f"broker-{self.node.node_id}-fetcher-{self.leader}")
        answer = await self._peer.request(self._request(asked), FETCH_VERSION, self._timeout)
        # A held follower holds what has arrived: the fetch that waited at the leader must not slip through.
        await self.env.faults.follower_gate(_size(answer))
        if self.session.on_response(Err(answer.error_code), answer.session_id):
            await self._process(answer, asked)
        else:
            log.info("fetch session with node %d: %s", self.leader, Err(answer.error_code).name)

    def _request(self, asked: dict[Key, PartitionFetchState]) -> FetchRequest:
        changed, forgotten = self.session.build(asked)
        topics: dict[Any, list[FetchRequest.FetchTopic.FetchPartition]] = {}
        for (topic_id, index), position in changed.items():
            topics.setdefault(topic_id, []).append(make_partition(
                partition=index, current_leader_epoch=position.leader_epoch, fetch_offset=position.offset,
                last_fetched_epoch=position.last_epoch, log_start_offset=position.log_start,
                partition_max_bytes=self._partition_max))
        gone: dict[Any, list[int]] = {}
        for topic_id, index in forgotten:
            gone.setdefault(topic_id, []).append(index)
        me = make_replica(replica_id=self.node.node_id, replica_epoch=self.lifecycle.broker_epoch)
        return make_request(
            replica_state=me, isolation_level=0, session_id=self.session.id, session_epoch=self.session.epoch,
            topics=[make_topic(topic_id=i, partitions=ps) for i, ps in topics.items()],
            forgotten_topics_data=[FetchRequest.ForgottenTopic(topic_id=i, partitions=ps) for i, ps in gone.items()],
            rack_id="", **self._limits)

    # --- answers --------------------------------------------------------------------------------------------------

    async def _process(self, answer: FetchResponse, asked: dict[Key, PartitionFetchState]) -> None:
        out_of_range: list[Key] = []
        unheard = False
        for topic in answer.responses:
            for data in topic.partitions:
                key = (topic.topic_id, data.partition_index)
                current = self._current(key, asked)
                if current and self._take(key, data) == Err.OFFSET_OUT_OF_RANGE:
                    out_of_range.append(key)
                unheard |= not current or _diverges(data)
        if unheard:  # the leader believes that these watermarks are known
            self.session.reset(self.session.id)
        for key in out_of_range:
            if self._current(key, asked):
                await self._find_range(key, asked)

    def _current(self, key: Key, asked: dict[Key, PartitionFetchState]) -> bool:
        partition, position = self.partitions.get(key), asked.get(key)
        return (partition is not None and position is not None and partition.leader_epoch == position.leader_epoch
                and partition.log.end_offset == position.offset)

    def _take(self, key: Key, data: FetchResponse.FetchableTopicResponse.PartitionData) -> Err:
        """Use one partition's answer; returns its error code."""
        partition, error = self.partitions[key], Err(data.error_code)
        if error == Err.NONE:
            try:
                if _diverges(data):
                    end = EpochEnd(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
                    partition.carry_out(partition.replica.on_diverging(end))
                else:
                    partition.append_fetched(data.records or b"", data.high_watermark, data.log_start_offset)
                self._pauses.pop(key, None)
            except KafkaError as refused:
                log.error("%s: what node %d sent cannot be appended: %s", partition.name, self.leader, refused)
                self._pause(key)
            except Exception as bug:
                self.env.report(f"appending to {partition.name} what node {self.leader} sent", bug)
                self._pause(key)
        elif error != Err.OFFSET_OUT_OF_RANGE:
            log.info("%s: fetching from node %d: %s", partition.name, self.leader, error.name)
            self._pause(key)
        return error

    def _pause(self, key: Key) -> None:
        length = min(2 * self._pauses[key][1], self._max_pause) if key in self._pauses else FIRST_PAUSE_S
        self._pauses[key] = (self.env.now() + length, length)

    async def _find_range(self, key: Key, asked: dict[Key, PartitionFetchState]) -> None:
        """Ask where the leader's log begins and ends, in which our log end is not (rule 25)."""
        partition = self.partitions[key]
        end, start = await self._list_offset(partition, LATEST), await self._list_offset(partition, EARLIEST)
        if end is None or start is None or not self._current(key, asked):
            self._pause(key)
            return
        effects = partition.replica.on_out_of_range(start, end)
        log.warning("%s: %s is not in the log of node %d, which is [%d, %d): %s", partition.name,
                    partition.log.end_offset, self.leader, start, end, effects)
        partition.carry_out(effects)
        if not effects:
            self._pause(key)

    async def _list_offset(self, partition: Partition, timestamp: int) -> int | None:
        request = ListOffsetsRequest
        wanted = request.ListOffsetsTopic.ListOffsetsPartition(
            partition_index=partition.index, current_leader_epoch=partition.leader_epoch, timestamp=timestamp)
        topic = request.ListOffsetsTopic(name=partition.topic, partitions=[wanted])
        assert self._peer is not None
        answer = await self._peer.request(
            request(replica_id=self.node.node_id, isolation_level=0, topics=[topic], timeout_ms=0),
            LIST_OFFSETS_VERSION, self._timeout)
        found = answer.topics[0].partitions[0]
        return found.offset if found.error_code == Err.NONE else None


def _diverges(data: FetchResponse.FetchableTopicResponse.PartitionData) -> bool:
    return data.diverging_epoch is not None and data.diverging_epoch.end_offset >= 0


def _size(answer: FetchResponse) -> int:
    """Return how many bytes of records are in a fetch response."""
    return sum(len(data.records or b"") for topic in answer.responses for data in topic.partitions)

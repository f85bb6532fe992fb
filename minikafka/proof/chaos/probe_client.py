"""The probe client beside a hostile campaign: it produces, reads, commits and asks, and notes how long each request took.

Owns: its connections, the longest wait by API, what it complains of, what was acknowledged.
Invariants: only codes by which Kafka tells a client to ask again are no complaint, and nothing is one while a broker
              is being restarted (`excused`).
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.consumer.group import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse, MetadataRequest, MetadataResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from minikafka.cluster import wire
from minikafka.log.batch import build
from minikafka.proof.chaos.grammar import PROBE

PATIENCE_S = 30.0  # then an ordinary request has failed
NOW_MS = 1_790_000_000_000
AGAIN = {3, 5, 6, 7, 14, 15, 16}  # codes that a probe client answers by asking again: leaders and coordinators move


class ProbeClient(threading.Thread):
    """A client that does what clients do, over and over, and notes how long each request took."""

    def __init__(self, addresses: dict[int, str]) -> None:
        super().__init__(daemon=True)
        self.addresses, self.over = addresses, threading.Event()
        self.waits: dict[str, float] = {}
        self.troubles: Counter[str] = Counter()
        self.acked: Counter[int] = Counter()  # records by partition
        self.rounds = 0
        self.excused = False  # a broker is being restarted
        self.settled = threading.Event()
        self.links: dict[int, wire.WireConnection] = {}

    def run(self) -> None:
        while not self.over.wait(0.05):
            good = True
            for partition in range(3):
                try:
                    self._round(partition)
                except (OSError, KeyError) as error:
                    good = False
                    self.end_links()
                    if not self.excused:
                        self.troubles[f"{type(error).__name__}: {error}"] += 1
            if good:
                self.settled.set()
            self.rounds += 1
            if self.rounds % 20 == 0:
                self.end_links()  # a new connection must be had, too

    def end_links(self) -> None:
        for link in self.links.values():
            link.close()
        self.links.clear()

    def _request(self, node: int, request: ApiMessage, response: type[ApiMessage], at_most: int) -> Any:
        begun = time.monotonic()
        try:
            if node not in self.links:
                self.links[node] = wire.WireConnection(self.addresses[node], PATIENCE_S)
            return self.links[node].ask(request, response, at_most)
        finally:
            waited = time.monotonic() - begun
            if not self.excused:
                self.waits[request.name] = max(waited, self.waits.get(request.name, 0.0))

    def _code(self, what: str, code: int) -> int:
        if code and code not in AGAIN and not self.excused:
            self.troubles[f"{what}: code {code}"] += 1
        return code

    def _round(self, partition: int) -> None:
        node = sorted(self.addresses)[(self.rounds + partition) % 3]
        leader = self._leader(node, partition)
        if leader < 0:
            return
        rows = ProduceRequest.TopicProduceData
        part = rows.PartitionProduceData(index=partition, records=build([(b"k", b"v")], timestamp_ms=NOW_MS))
        sent = self._request(leader, ProduceRequest(acks=-1, timeout_ms=9000, topic_data=[
            rows(name=PROBE, partition_data=[part])]), ProduceResponse, 8).responses[0].partition_responses[0]
        if self._code("Produce", sent.error_code) == 0:
            self.acked[partition] += 1
            self._read(leader, partition, sent.base_offset)
        self._commit(node, partition)

    def _leader(self, node: int, partition: int) -> int:
        """Return the leader's id; -1 for none."""
        topic = MetadataRequest.MetadataRequestTopic(name=PROBE)
        request = MetadataRequest(topics=[topic], allow_auto_topic_creation=False)
        found = self._request(node, request, MetadataResponse, 8).topics[0]
        if self._code("Metadata", found.error_code):
            return -1
        return next((one.leader_id for one in found.partitions if one.partition_index == partition), -1)

    def _read(self, leader: int, partition: int, offset: int) -> None:
        row = FetchRequest.FetchTopic
        part = row.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1 << 20, topics=[row(topic=PROBE, partitions=[part])])
        got = self._request(leader, request, FetchResponse, 11)
        self._code("Fetch", got.responses[0].partitions[0].error_code)

    def _commit(self, node: int, partition: int) -> None:
        who = self._request(node, FindCoordinatorRequest(key_type=0, coordinator_keys=[PROBE]), FindCoordinatorResponse, 4)
        if self._code("FindCoordinator", who.coordinators[0].error_code):
            return
        node, topic = who.coordinators[0].node_id, OffsetCommitRequest.OffsetCommitRequestTopic
        part = topic.OffsetCommitRequestPartition(partition_index=partition, committed_offset=self.rounds)
        answer = self._request(node, OffsetCommitRequest(
            group_id=PROBE, member_id="", topics=[topic(name=PROBE, partitions=[part])]), OffsetCommitResponse, 8)
        if self._code("OffsetCommit", answer.topics[0].partitions[0].error_code):
            return
        group = OffsetFetchRequest.OffsetFetchRequestGroup
        kept = self._request(node, OffsetFetchRequest(groups=[group(group_id=PROBE, topics=None)]), OffsetFetchResponse, 8)
        self._code("OffsetFetch", kept.groups[0].error_code)

    def ends(self) -> dict[int, int]:
        """Return the end of each partition, as its leader tells it."""
        found = {}
        for partition in range(3):
            leader = self._leader(next(iter(self.addresses)), partition)
            row = ListOffsetsRequest.ListOffsetsTopic
            part = row.ListOffsetsPartition(partition_index=partition, timestamp=-1)
            request = ListOffsetsRequest(topics=[row(name=PROBE, partitions=[part])])
            found[partition] = self._request(leader, request, ListOffsetsResponse, 5).topics[0].partitions[0].offset
        return found

"""The few requests that a cluster itself sends to its brokers, of any engine, in Kafka's protocol.

Owns nothing but the connection of one request. Its sockets block: the caller is a notebook or a test.

What real Kafka does differently: nothing. Kafka's Metadata response names a random live broker as the controller, so the true
controller comes from DescribeQuorum (KIP-595).
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from itertools import count
from typing import Any

from kafka.protocol.admin import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse

from .security import Address, security_of

CLIENT_ID = "minikafka-cluster"
PROBE_TOPIC = "minikafka-probe"  # only ever validated, never created
LATEST = -1  # the timestamp that asks ListOffsets for the high watermark
QUORUM_TOPIC = "__cluster_metadata"


class Unanswered(OSError):
    """An error: no answer came in time, or the answer was cut short."""


@dataclass(frozen=True)
class PartitionInfo:
    """A partition as a broker's metadata shows it; leader -1 for none."""

    leader: int
    epoch: int
    replicas: list[int]
    isr: list[int]


class WireConnection:
    """A connection for a few requests, in the newest version that both sides know."""

    def __init__(self, address: str, timeout: float) -> None:
        host, _, port = address.rpartition(":")
        security = security_of(address)
        self._socket = security.open(host, int(port), timeout)
        self._ids = count(1)
        try:
            answer = self._ask(ApiVersionsRequest(), ApiVersionsResponse, 0)
            security.log_in(host, self._ask)
        except BaseException:
            self.close()
            raise
        self.versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}

    def __enter__(self) -> WireConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def serves(self, request: type[ApiMessage]) -> bool:
        return request.API_KEY in self.versions

    def ask(self, request: ApiMessage, response: type[ApiMessage], at_most: int = 1 << 15) -> Any:
        """Send a request and return its answer; `at_most`: the newest version to use. Raises OSError if no answer comes."""
        _, highest = self.versions[request.API_KEY]
        return self._ask(request, response, min(highest, request.max_version, at_most))

    def _ask(self, request: ApiMessage, response: type[ApiMessage], version: int) -> Any:
        request.API_VERSION = version
        request.with_header(correlation_id=next(self._ids), client_id=CLIENT_ID)
        self._socket.sendall(request.encode(header=True, framed=True))
        return response.decode(read_frame(self._socket), version=version, header=True)


def read_frame(connection: socket.socket) -> bytes:
    """Read one whole frame, and return it without its size. Raises Unanswered if the connection is closed before its end."""
    return _read(connection, int.from_bytes(_read(connection, 4), "big"))


def _read(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        chunk = connection.recv(min(size - len(parts), 1 << 20))
        if not chunk:
            raise Unanswered("the connection was closed in the middle of an answer")
        parts += chunk
    return bytes(parts)


def live_brokers(address: str, timeout: float = 2.0) -> dict[int, str]:
    """Return the brokers that the broker at `address` knows as registered and unfenced, with their addresses; one logs in there
    as at `address`."""
    with WireConnection(address, timeout) as broker:
        answer = broker.ask(MetadataRequest(topics=[], allow_auto_topic_creation=False), MetadataResponse)
    return {node.node_id: Address.of(f"{node.host}:{node.port}", security_of(address)) for node in answer.brokers}


def partitions(address: str, topics: list[str] | None = None, timeout: float = 2.0) -> dict[str, PartitionInfo]:
    """Return leaders and in-sync replicas by "topic-partition", of the named topics or of all."""
    wanted = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    with WireConnection(address, timeout) as broker:
        answer = broker.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=False), MetadataResponse)
    return {f"{topic.name}-{p.partition_index}": PartitionInfo(p.leader_id, p.leader_epoch, p.replica_nodes, p.isr_nodes)
            for topic in answer.topics for p in topic.partitions}


def end_offsets(address: str, tps: list[tuple[str, int]], timeout: float = 2.0) -> dict[str, int]:
    """Return high watermarks by "topic-partition", as the broker at `address` reports them for the partitions that it leads."""
    topics: dict[str, list[int]] = {}
    for topic, index in tps:
        topics.setdefault(topic, []).append(index)
    Topic = ListOffsetsRequest.ListOffsetsTopic
    question = ListOffsetsRequest(timeout_ms=int(timeout * 1000), topics=[
        Topic(name=topic, partitions=[Topic.ListOffsetsPartition(
            partition_index=index, timestamp=LATEST) for index in indexes])
        for topic, indexes in topics.items()])
    with WireConnection(address, timeout) as broker:
        answer = broker.ask(question, ListOffsetsResponse)
    return {f"{topic.name}-{p.partition_index}": p.offset
            for topic in answer.topics for p in topic.partitions if p.error_code == 0}


def quorum_leader(address: str, timeout: float = 2.0) -> tuple[int, int] | None:
    """Return (id, epoch) of the leading controller as the broker at `address` knows it; None where none leads or the broker
    does not serve DescribeQuorum."""
    Topic = DescribeQuorumRequest.TopicData
    question = DescribeQuorumRequest(
        topics=[Topic(topic_name=QUORUM_TOPIC, partitions=[Topic.PartitionData(partition_index=0)])])
    with WireConnection(address, timeout) as broker:
        if not broker.serves(DescribeQuorumRequest):
            return None
        answer = broker.ask(question, DescribeQuorumResponse)
    if answer.error_code or answer.topics[0].partitions[0].error_code:
        return None
    partition = answer.topics[0].partitions[0]
    return (partition.leader_id, partition.leader_epoch) if partition.leader_id >= 0 else None


def controller_leads(address: str, timeout: float = 5.0) -> bool:
    """Return whether a controller answers when the broker at `address` lets it validate the creation of a topic."""
    topic = CreateTopicsRequest.CreatableTopic(name=PROBE_TOPIC, num_partitions=1, replication_factor=1)
    question = CreateTopicsRequest(topics=[topic], timeout_ms=int(timeout * 1000), validate_only=True)
    with WireConnection(address, timeout) as broker:
        answer = broker.ask(question, CreateTopicsResponse)
    return all(topic.error_code == 0 for topic in answer.topics)

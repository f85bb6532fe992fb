"""The requests of the Raft core to the other nodes, and their responses.

Owns: the connections to the other voters.
Invariants: each request of the core ends with one event: `on_response`, or `on_failure`.
            Fetches wait at the leader and nothing overtakes on a connection, so they have a connection of their own.
            I-QNET-3 records or a snapshot that do not match their checksum reach neither the core nor the log.
Source: org.apache.kafka.raft.KafkaNetworkChannel.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from minikafka.broker.raft import wire
from minikafka.broker.raft.effects import Send
from minikafka.broker.raft.messages import Fetch, FetchAnswer, FetchSnapshot, Response, SnapshotAnswer
from minikafka.broker.raft.raft import Raft
from minikafka.broker.raft.shell.snapshot_files import SnapshotFiles
from minikafka.broker.server.node import Node
from minikafka.broker.server.peer import Peer
from minikafka.log import batch as batches
from minikafka.protocol.errors import Err, KafkaError, ProtocolError

log = logging.getLogger("minikafka.quorum")

FETCH_GRACE_S = 0.5  # seconds that the response to a long poll may be late


class QuorumNetwork:
    """Carries out the effect Send."""

    def __init__(self, node: Node, raft: Raft, snapshots: SnapshotFiles, post: Callable[..., None]) -> None:
        """`post` queues an event of the core with its arguments (Quorum.post)."""
        self.node, self.raft, self.snapshots, self.post = node, raft, snapshots, post
        self._peers: dict[tuple[int, bool], Peer] = {}

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()

    def send(self, send: Send) -> None:
        """Send the request; its response, or its failure, becomes an event later."""
        self.node.env.spawn(self._request(send), f"quorum request to {send.to}")

    async def _request(self, send: Send) -> None:
        message, version = wire.encode_request(send.request, send.to, self.node.cluster_id)
        timeout = self.node.config["controller.quorum.request.timeout.ms"] / 1000
        is_fetch = isinstance(send.request, Fetch | FetchSnapshot)
        if isinstance(send.request, Fetch):
            timeout = max(timeout, send.request.max_wait + FETCH_GRACE_S)
        try:
            peer = self._peer(send.to, is_fetch)
            answer = self._checked(wire.decode_response(await peer.request(message, version, timeout)))
        except (OSError, TimeoutError, KafkaError, ProtocolError):
            self.post(self.raft.on_failure, send.id)
        else:
            self.post(self.raft.on_response, send.id, answer)

    def _checked(self, answer: Response) -> Response:
        """Return the answer, with an error in place of what is damaged, for example by the leader's disk. The core then pauses
        and asks again; by then another node may lead (I-QNET-3)."""
        records = answer.records if isinstance(answer, FetchAnswer) else b""
        sound = all(batches.crc_ok(records, at, header) for at, header in batches.frames(records))
        if sound and not (isinstance(answer, SnapshotAnswer) and self.snapshots.is_corrupt(answer)):
            return answer
        log.error("node %d sent metadata that does not match its checksum", answer.leader)
        return replace(answer, error=Err.CORRUPT_MESSAGE)

    def _peer(self, node_id: int, is_fetch: bool) -> Peer:
        key = (node_id, is_fetch)  # a fetch that waits at the leader holds up no vote
        if key not in self._peers:
            self._peers[key] = self.node.peers.private(node_id, f"raft-{self.node.node_id}")
        return self._peers[key]

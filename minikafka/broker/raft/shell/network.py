"""The quorum on the wire: what the Raft core sends to other nodes, and what they ask of it.

Owns: the connections to the other voters, and the futures of requests that the core has not answered yet.
Invariants: I-QNET-1 what the core sends ends with one event: the answer, or that there is none.
            I-QNET-2 fetches wait at the leader, and nothing overtakes on a connection: they have one of their own.
            I-QNET-3 what does not match its checksum reaches neither the core nor the log.
Source: org.apache.kafka.raft.KafkaNetworkChannel, kafka.server.ControllerApis (Fetch, FetchSnapshot, Vote).
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minikafka.broker.raft import wire
from minikafka.broker.raft.messages import Fetch, FetchAnswer, FetchSnapshot, Reply, Send, SnapshotAnswer
from minikafka.broker.server.peer import Peer
from minikafka.broker.server.registry import CloseConnection
from minikafka.log import batch as batches
from minikafka.protocol.errors import Err, KafkaError, ProtocolError

if TYPE_CHECKING:
    from minikafka.broker.raft.shell.quorum import Quorum

log = logging.getLogger("minikafka.quorum")

FETCH_GRACE_S = 0.5  # a long poll may be answered this much after its time


class QuorumNetwork:
    """Between one node's core and the other nodes."""

    def __init__(self, quorum: Quorum) -> None:
        self.quorum, self.broker, self.env = quorum, quorum.broker, quorum.env
        self._peers: dict[tuple[int, bool], Peer] = {}

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()

    # --- what others ask ------------------------------------------------------------------------------------------

    async def handle(self, ctx: Any, request: Any) -> Any:
        """Vote, BeginQuorumEpoch, EndQuorumEpoch."""
        try:
            message = wire.decode_request(request, self.quorum.node_id, self.broker.cluster_id)
        except KafkaError as error:
            return wire.encode_refusal(request, error.code)
        answer, _ = await self._ask(message)
        return wire.encode_response(request, answer)

    async def handle_fetch(self, ctx: Any, request: Any) -> Any:
        """Fetch of __cluster_metadata, from voters and observers."""
        try:
            fetch = wire.decode_fetch(request, self.broker.cluster_id)
        except KafkaError as error:
            return wire.encode_fetch_refusal(error.code)
        answer, records = await self._ask(fetch)
        return wire.encode_fetch_response(answer, records)

    async def handle_fetch_snapshot(self, ctx: Any, request: Any) -> Any:
        """FetchSnapshot, from voters and observers that are behind our log."""
        try:
            fetch = wire.decode_fetch_snapshot(request, self.broker.cluster_id)
        except KafkaError as error:
            return wire.encode_fetch_snapshot_refusal(error.code)
        answer, piece = await self._ask(fetch)
        return wire.encode_fetch_snapshot_response(answer, piece)

    async def _ask(self, request: Any) -> Any:
        """The core's answer, and the bytes that go with it; the future is the token by which the core knows who asks."""
        if not self.quorum.running:
            raise CloseConnection("the quorum is not running")
        token = self.env.future()
        self.quorum.post(self.quorum.raft.on_request, token, request)
        return await token

    def reply(self, reply: Reply) -> None:
        """Effect Reply: answer who asked, with the records or the piece of a snapshot that the answer speaks of."""
        data, answer, log = b"", reply.response, self.quorum.log
        if isinstance(answer, FetchAnswer) and answer.records_from is not None:
            data = log.read(answer.records_from)
        elif isinstance(answer, SnapshotAnswer) and not answer.error:
            data = log.snapshots.read_piece(answer.snapshot, answer.position, wire.MAX_BYTES)
        token: Any = reply.token
        if not token.done():
            token.set_result((answer, data))

    # --- what we ask ----------------------------------------------------------------------------------------------

    def send(self, send: Send) -> None:
        """Effect Send."""
        self.env.spawn(self._request(send), f"quorum request to {send.to}")

    async def _request(self, send: Send) -> None:
        message, version = wire.encode_request(send.request, send.to, self.broker.cluster_id)
        timeout = self.broker.config["controller.quorum.request.timeout.ms"] / 1000
        is_fetch = isinstance(send.request, Fetch | FetchSnapshot)
        if isinstance(send.request, Fetch):
            timeout = max(timeout, send.request.max_wait + FETCH_GRACE_S)
        raft = self.quorum.raft
        try:
            peer = self._peer(send.to, is_fetch)
            answer = self._believed(wire.decode_response(await peer.request(message, version, timeout)))
        except (OSError, TimeoutError, KafkaError, ProtocolError):
            self.quorum.post(raft.on_failure, send.id)
        else:
            self.quorum.post(raft.on_response, send.id, answer)

    def _believed(self, answer: Any) -> Any:
        """The answer; an error in its place if what it brings is damaged, by the leader's disk, say. Then the core pauses
        and asks again: somebody else may lead by then (I-QNET-3)."""
        records = answer.records if isinstance(answer, FetchAnswer) else b""
        sound = all(batches.crc_ok(records, at, header) for at, header in batches.frames(records))
        if sound and not (isinstance(answer, SnapshotAnswer) and self.quorum.log.snapshots.spoils(answer)):
            return answer
        log.error("node %d sent metadata that does not match its checksum", answer.leader)
        return replace(answer, error=Err.CORRUPT_MESSAGE)

    def _peer(self, node_id: int, is_fetch: bool) -> Peer:
        key = (node_id, is_fetch)  # I-QNET-2
        if key not in self._peers:
            self._peers[key] = self.broker.new_peer(node_id, f"raft-{self.quorum.node_id}")
        return self._peers[key]

"""Requests to the active controller, whichever node it is.

Owns: one connection to the controller; the search for the next controller when it moves.
Invariants: a request ends with an answer of an active controller, or with TimeoutError; until then it is sent
              again after every NOT_CONTROLLER and every broken connection. It may have taken effect more than once, so
              each request carries an epoch, or its second execution is refused (TOPIC_ALREADY_EXISTS, for example).
            When another controller is known, no request goes on waiting for the old one.
What Kafka does differently: brokers forward client requests in an envelope with the client's principal (KIP-590).
Source: kafka.server.NodeToControllerChannelManager.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.api_message import ApiMessage

from minikafka.broker.raft.shell.quorum import Quorum
from minikafka.broker.server.node import Node
from minikafka.broker.server.peer import Peer
from minikafka.protocol.errors import Err

DEFAULT_TIMEOUT_S = 30.0
RETRY_S = 0.05


class Channel:
    """One stream of requests to the controller; on one channel they are answered in order."""

    def __init__(self, node: Node, quorum: Quorum) -> None:
        self.node, self.quorum, self.env = node, quorum, node.env
        self._peer: Peer | None = None
        quorum.leader_listeners.append(self._leader_changed)

    async def request(self, message: ApiMessage, version: int, timeout: float | None = None,
                      client_id: str | None = None, decides_within: float = 0.0) -> Any:  # Any: the response class of `message`
        """Send `message` to the active controller and return its response; TimeoutError after `timeout` seconds.

        `client_id` is the id of the client for whom the request is sent; a broker's own requests have none, and no quota. A
        controller that has the request is waited for `decides_within` seconds, if that is longer than what is left.
        """
        deadline = self.env.now() + (DEFAULT_TIMEOUT_S if timeout is None else timeout)
        while (left := deadline - self.env.now()) > 0:
            leader = self.quorum.leader_id
            if leader >= 0:
                try:
                    answer = await self._to(leader).request(message, version, max(left, decides_within), client_id)
                    if not refused(answer):
                        return answer
                except (OSError, TimeoutError):
                    pass  # whether it took effect is unknown: ask again
            await self.env.sleep(min(RETRY_S, max(left, 0.0)))
        raise TimeoutError(f"no active controller answered {message.name}")

    def close(self) -> None:
        if self._peer is not None:
            self._peer.close()

    def _to(self, leader: int) -> Peer:
        if self._peer is None or self._peer.node_id != leader:
            self.close()
            self._peer = self.node.peers.private(leader, None)
        return self._peer

    def _leader_changed(self, leader: int) -> None:
        if leader >= 0 and self._peer is not None and self._peer.node_id != leader:
            self.close()  # the requests under way fail and are sent to the new one


def refused(answer: ApiMessage) -> bool:
    """Return whether the response only says that the node is not the active controller, at the top or in its first item."""
    codes = (Err.NOT_CONTROLLER, Err.NOT_LEADER_OR_FOLLOWER)
    if getattr(answer, "error_code", Err.NONE) in codes:
        return True
    names = ("topics", "responses", "results", "entries", "replica_election_results")
    lists = (getattr(answer, name, None) for name in names)
    items = next((list(found) for found in lists if found), [])
    while items and getattr(items[0], "partitions", None):
        items = list(items[0].partitions)
    return any(getattr(item, "error_code", Err.NONE) == codes[0] for item in items[:1])

"""The base of every client: connections, fresh metadata, the search for coordinators, requests with retries.

    client = Client(env, [("host", 201)], "me")
    answer = await client.request(1, HeartbeatRequest(...), 4)

Owns: the connections (opened on demand, one for each node and purpose) and the metadata.
Invariants: at most one metadata request is in flight; callers that need fresh metadata meanwhile wait for it.
            A node whose connection failed is left alone for a while that grows (reconnect backoff).
What Kafka does differently: it first agrees with the broker on versions (ApiVersions). Ours are fixed: the newest that our
brokers and Apache's serve, since all brokers of a simulated cluster run the same code. Kafka's timeouts are longer (30 s for
a request); the faults of a simulated world are over sooner.
Source: org.apache.kafka.clients.NetworkClient, ClusterConnectionStates; KIP-601.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.metadata import FindCoordinatorRequest

from minikafka.broker.server.env import Env
from minikafka.client import metadata
from minikafka.client.connection import BrokerConnection, connect
from minikafka.client.metadata import LeaderAndEpoch, Metadata, Tp
from minikafka.client.retry import WRONG_COORDINATOR, Backoff
from minikafka.protocol.errors import Err, KafkaError

GROUP, TRANSACTION = 0, 1  # kinds of coordinators
REQUEST_TIMEOUT = 5.0
METADATA_MAX_AGE = 30.0
BOOTSTRAP = -1


class Client:
    """One client; `client_id` is what brokers see. Everything is asynchronous and lives in `env`."""

    def __init__(self, env: Env, bootstrap: list[tuple[str, int]], client_id: str = "sim",
                 request_timeout: float = REQUEST_TIMEOUT) -> None:
        self.env, self.client_id, self.request_timeout = env, client_id, request_timeout
        self.metadata_max_age = METADATA_MAX_AGE
        self.metadata = Metadata(bootstrap)
        self.rng = env.rng(f"client {client_id}")
        self.backoff = Backoff(self.rng)
        self.closed = False
        self._connections: dict[tuple[int, str], BrokerConnection] = {}
        self._opening: dict[tuple[int, str], asyncio.Lock] = {}
        self._preparing: dict[tuple[int, str], None] = {}
        self._failures: dict[int, tuple[int, float]] = {}  # node: failures in a row, when to try again
        self._refresh: asyncio.Task[None] | None = None
        self._refreshed_at = float("-inf")
        self._coordinators: dict[tuple[int, str], int] = {}

    # --- connections --------------------------------------------------------------------------------------------

    def ready(self, node: int, purpose: str = "") -> BrokerConnection | None:
        """Return the open connection to a node, None if there is none."""
        found = self._connections.get((node, purpose))
        return found if found and not found.lost else None

    async def connection(self, node: int, purpose: str = "") -> BrokerConnection:
        """Return a connection to a node, opened if there is none; raises ConnectionError or TimeoutError."""
        key = node, purpose
        async with self._opening.setdefault(key, asyncio.Lock()):
            if (found := self.ready(node, purpose)) is not None:
                return found
            if self.closed:
                raise ConnectionError("this client is closed")
            await self._leave_alone(node)
            try:
                host, port = self._address(node)
                opened = await connect(self.env, host, port, node, self.client_id, self.request_timeout)
            except (ConnectionError, TimeoutError):
                self._failed(node)
                raise
            self._failures.pop(node, None)
            self._connections[key] = opened
            return opened

    def prepare(self, node: int, purpose: str, then: Callable[[bool], None]) -> None:
        """Open a connection, unless one is being opened already; then call `then` with True if it worked, else False."""
        if (node, purpose) not in self._preparing:
            self._preparing[node, purpose] = None
            self.env.spawn(self._prepare(node, purpose, then), f"{self.client_id}: connect to {node}")

    async def _prepare(self, node: int, purpose: str, then: Callable[[bool], None]) -> None:
        try:
            await self.connection(node, purpose)
            opened = True
        except (ConnectionError, TimeoutError):
            opened = False
        del self._preparing[node, purpose]
        then(opened)

    def _address(self, node: int) -> tuple[str, int]:
        if node == BOOTSTRAP:
            return self.rng.choice(self.metadata.bootstrap)
        if node not in self.metadata.brokers:
            raise ConnectionError(f"node {node} is not in the metadata")
        return self.metadata.brokers[node]

    async def _leave_alone(self, node: int) -> None:
        _, until = self._failures.get(node, (0, 0.0))
        if until > self.env.now():
            await self.env.sleep(until - self.env.now())

    def _failed(self, node: int) -> None:
        count = self._failures.get(node, (0, 0.0))[0] + 1
        self._failures[node] = count, self.env.now() + self.backoff.pause(count) / 2

    async def request(self, node: int, message: ApiMessage, version: int, timeout: float | None = None,
                      purpose: str = "") -> Any:
        """Send to a node once and return the answer; raises ConnectionError or TimeoutError."""
        connection = await self.connection(node, purpose)
        return await connection.request(message, version, timeout or self.request_timeout)

    async def ask(self, node: int, message: ApiMessage, version: int, timeout: float | None = None,
                  purpose: str = "") -> Any:
        """Send to a node once and return the answer, None for a lost connection or a timeout."""
        try:
            return await self.request(node, message, version, timeout, purpose)
        except (ConnectionError, TimeoutError):
            return None

    async def ask_any(self, message: ApiMessage, version: int, timeout: float | None = None) -> Any:
        """Send to any broker and return the answer; None when none came."""
        return await self.ask(self._any_node(), message, version, timeout)

    def close(self) -> None:
        """Close all connections; requests in flight end in ConnectionError."""
        self.closed = True
        for connection in list(self._connections.values()):
            connection.close()

    # --- metadata -----------------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Fetch metadata of all topics wanted so far; without an answer nothing changes, and the caller tries again."""
        if self._refresh is None:
            self._refresh = self.env.spawn(self._ask_for_metadata(), f"{self.client_id}: metadata")
        await shielded(self._refresh)

    async def _ask_for_metadata(self) -> None:
        try:
            answer = await self.ask_any(self.metadata.question(), metadata.VERSION)
            if answer is not None:
                self.metadata.update(answer)
                self._refreshed_at = self.env.now()
            else:
                await self.env.sleep(self.backoff.pause(1))
        finally:
            self._refresh = None

    def _any_node(self) -> int:
        """Return any broker outside its reconnect backoff; one of the bootstrap addresses if there is none (KIP-899), and until
        metadata was answered: a coordinator alone, once dead, would be the only broker that is ever asked."""
        now = self.env.now()
        good = [n for n in self.metadata.brokers if self._failures.get(n, (0, 0.0))[1] <= now]
        return self.rng.choice(good) if good and self._refreshed_at > float("-inf") else BOOTSTRAP

    async def topic(self, name: str, timeout: float = 30.0) -> list[int]:
        """Return the partitions of a topic, waiting for it to exist; raises KafkaError after `timeout` seconds."""
        self.metadata.wanted.setdefault(name)
        deadline = self.env.now() + timeout
        attempts = 0
        while not self.metadata.partitions(name) or self.metadata_is_old:
            if attempts and self.env.now() > deadline:
                raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} is not known within {timeout} s")
            if attempts:
                await self.env.sleep(self.backoff.pause(attempts))
            attempts += 1
            await self.refresh()
        return self.metadata.partitions(name)

    @property
    def metadata_is_old(self) -> bool:
        return self.env.now() - self._refreshed_at > self.metadata_max_age

    def leader(self, tp: Tp) -> LeaderAndEpoch:
        """Return the leader of a partition as far as known; node -1 for none."""
        return self.metadata.leader(tp)

    # --- requests to a role, with retries -----------------------------------------------------------------------

    async def coordinator(self, kind: int, key: str) -> int:
        """Return the node that coordinates a group (GROUP) or a transactional id (TRANSACTION), asking until one is named."""
        attempts = 0
        while (kind, key) not in self._coordinators:
            if self.closed:
                raise KafkaError(Err.NETWORK_EXCEPTION, "this client is closed")
            if attempts:
                await self.env.sleep(self.backoff.pause(attempts))
            attempts += 1
            question = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
            answer = await self.ask_any(question, 4)
            if answer is None or answer.coordinators[0].error_code != Err.NONE:
                continue
            found = answer.coordinators[0]
            self.metadata.brokers.setdefault(found.node_id, (found.host, found.port))
            self._coordinators[kind, key] = found.node_id
        return self._coordinators[kind, key]

    def known_coordinator(self, kind: int, key: str) -> int | None:
        """Return the coordinator found last; None if it has since proved wrong or not answered."""
        return self._coordinators.get((kind, key))

    def forget_coordinator(self, kind: int, key: str) -> None:
        self._coordinators.pop((kind, key), None)

    async def ask_coordinator(self, kind: int, key: str, message: Callable[[], ApiMessage], version: int,
                              error_of: Callable[[Any], Err], timeout: float | None = None) -> tuple[Err, Any]:
        """Send once to the present coordinator and return (error, answer); (NETWORK_EXCEPTION, None) without an answer. The next
        call looks for another coordinator if this one proves wrong or does not answer."""
        node = await self.coordinator(kind, key)
        answer = await self.ask(node, message(), version, timeout, "coordinator")
        error = Err.NETWORK_EXCEPTION if answer is None else Err(error_of(answer))
        if error in WRONG_COORDINATOR or error is Err.NETWORK_EXCEPTION:
            self.forget_coordinator(kind, key)
        return error, answer


def error_of(answer: Any) -> Err:
    """Return the error of an answer that has one."""
    return Err(answer.error_code)


def shielded(task: asyncio.Task[None]) -> asyncio.Future[None]:
    """Return what ends as the task does, and whose cancellation leaves the task alone.

    asyncio.shield does it in one step more since Python 3.14; so a seed of a simulated world is the same run in each version.
    """
    ends: asyncio.Future[None] = task.get_loop().create_future()

    def ended(_: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            ends.cancel()
        elif error is not None and not ends.done():
            ends.set_exception(error)
        elif not ends.done():
            ends.set_result(None)

    task.add_done_callback(ended)
    ends.add_done_callback(lambda _: task.remove_done_callback(ended))
    return ends

"""The listeners of clients, or those of nodes: who may connect, and how much memory all connections together may cost.

Owns: the connections of these listeners and the limits on them (S1 to S4); each connection is `connection.py`'s.
Invariants: I-SRV-1 the nodes' listeners have limits of their own: clients cannot crowd out replication or heartbeats. Of the
              descriptors that the machine gives, a quarter is for clients, an eighth for brokers, half for files.
            I-SRV-2 requests and answers in memory stay below `queued.max.request.bytes`, those too that are being served or
              wait for something. They count by what they hold: what was read of them, and what a wait remembers, is at most
              an eighth of it. The connection that holds the most is closed first.
            I-SRV-3 a new connection finds a place: when all are taken, the one that was silent for longest gives way, of the
              address that has the most; and before it one that has never sent a whole request.
            I-SRV-4 where nobody has to log in, programs of another user of this machine are not served, unless
              `minikafka.allow.remote` says that all who can connect are to be trusted.
What Kafka does differently: `max.connections`, `max.connections.per.ip` and `queued.max.request.bytes` are unlimited there
unless configured; here 2000 connections (or what the limit of open files leaves) and 512 MiB are the most. At
`max.connections` Kafka makes new connections of clients wait; only for a broker's it closes the one that was silent for
longest. At its memory limit it stops reading, and it counts the bytes received. Neither wait ends by itself while the clients
that hold connections or memory do nothing.
Source: kafka.network.SocketServer, ConnectionQuotas, Processor.closeExcessConnections, Selector.lowestPriorityChannel.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from operator import attrgetter

from minikafka.broker.server.connection import Connection
from minikafka.broker.server.listeners import Listener, logs_in
from minikafka.broker.server.login import Login, TimedLogin, users_of
from minikafka.broker.server.membership import GUESTS, Acceptor
from minikafka.broker.server.node import Node
from minikafka.broker.server.principals import (
    ANONYMOUS,
    CertifiedSession,
    SslPrincipalMapper,
    principal_of,
)
from minikafka.broker.server.registry import INTERNAL, ApiHandler
from minikafka.broker.server.tls import TlsTransport

log = logging.getLogger("minikafka.server")

MOST_CONNECTIONS = 2000
MOST_BYTES = 512 << 20
PARSED_SHARE = 8  # what requests take in memory beside their bytes is at most this part of all memory
SWEEP_S = 1.0


class Server:
    """All connections of the listeners `listeners`; `listener` says whom they serve, CLIENTS or INTERNAL."""

    def __init__(self, node: Node, listener: str, table: dict[int, ApiHandler], listeners: Sequence[Listener]) -> None:
        self.node, self.listener, self.table, self.listeners = node, listener, table, listeners
        config = node.config
        self.max_frame: int = config["socket.request.max.bytes"]
        self.max_bytes = config["queued.max.request.bytes"] if config["queued.max.request.bytes"] > 0 else MOST_BYTES
        self.idle_s = config["connections.max.idle.ms"] / 1000
        self.connections: dict[Connection, None] = {}
        self._count = 0

    async def start(self) -> None:
        link = self.listener if self.listener == "clients" else "accepted"
        self._stops = [await self.node.env.listen(one.host, one.port, partial(self._connection, one), link)
                       for one in self.listeners]
        self._sweep()

    def _connection(self, listener: Listener) -> asyncio.Protocol:
        connection = Connection(self, listener)
        if not listener.protocol.endswith("SSL"):
            return connection
        certificates = self.node.env.certificates[listener.name].now(self.node.image)
        return TlsTransport(connection, CertifiedSession(certificates.accepting), self.node.env)

    def close(self) -> None:
        for stop in self._stops:
            stop()
        self._sweeper.cancel()
        for connection in list(self.connections):
            connection.close()

    @property
    def max_connections(self) -> int:
        share = self.node.env.open_files // (8 if self.listener == INTERNAL else 4)  # half is for files (live.py)
        most = min(MOST_CONNECTIONS, share)
        return most if self.listener == INTERNAL else min(self.node.setting("max.connections"), most)

    @property
    def max_per_ip(self) -> int:
        return MOST_CONNECTIONS if self.listener == INTERNAL else int(self.node.setting("max.connections.per.ip"))

    def guest(self, listener: Listener, former: TimedLogin | None = None) -> Acceptor | Login | None:
        """Return what a new connection must answer before it is served, or one of which the `former` login is renewed; None if
        it is served at once."""
        env = self.node.env
        if listener.protocol.startswith("SASL"):
            return Login(users_of(listener, self.node, self._secret), env.uuid().hex + env.uuid().hex, self.table, former)
        if self.listener != INTERNAL or not env.cluster_secret:
            return None
        return Acceptor(env.cluster_secret, self.node.node_id, env.uuid().bytes)

    @cached_property
    def _mapper(self) -> SslPrincipalMapper:
        return SslPrincipalMapper(self.node.config["ssl.principal.mapping.rules"])

    def certified(self, session: CertifiedSession) -> str:
        """Return the principal of a client with TLS and without a login. Raises ProtocolError if no rule applies."""
        return principal_of(session, self._mapper) if self.listener != INTERNAL else ANONYMOUS

    @cached_property
    def _secret(self) -> bytes:
        """Return what the salts of unknown users are made of: on all brokers the same, where the cluster has a secret."""
        return self.node.env.cluster_secret or self.node.env.uuid().bytes

    def admit(self, connection: Connection) -> int:
        """Accept a new connection and return its number; 0 if a limit forbids it."""
        if sum(c.host == connection.host for c in self.connections) >= self.max_per_ip:
            log.info("Rejected connection from %s, address already has the configured maximum of %d connections.",
                     connection.host, self.max_per_ip)  # fmt: skip
            return 0
        if self._is_stranger(connection):
            log.info("Rejected connection from %s: it is another user's of this machine, or has ended", connection.host)
            return 0
        if len(self.connections) >= self.max_connections and not self._make_room_for(connection.host):
            return 0
        if isinstance(connection.guest, Acceptor):
            self._make_room_for_a_guest()
        self._count += 1
        self.connections[connection] = None
        return self._count

    def _is_stranger(self, connection: Connection) -> bool:
        """Return whether only our own user's programs may connect to this listener, and this is another's (I-SRV-4)."""
        config = self.node.config
        return (not config["minikafka.allow.remote"] and not logs_in(connection.listener, config, self.node.image)
                and self.node.env.is_stranger(connection.transport))

    def _make_room_for(self, host: str) -> bool:
        """Drop the connection that gives way to a new one of this address (I-SRV-3); False if there is none."""
        counts = Counter(connection.host for connection in self.connections)
        greediest = max(counts, key=lambda one: counts[one] + (one == host), default=None)
        if greediest is None:
            return False
        silent = min((c for c in self.connections if c.host == greediest), key=lambda c: (c.asked, c.active_at))
        silent.abort(f"all {len(self.connections)} connections are taken, and it was silent for longest")
        return True

    def _make_room_for_a_guest(self) -> None:
        """Drop the oldest connection without a proof if there are GUESTS of them."""
        guests = [c for c in self.connections if isinstance(c.guest, Acceptor)]
        if len(guests) >= GUESTS:
            guests[0].abort(f"it has not proven that it belongs to the cluster, and {GUESTS} newer ones wait, too")

    def shed_load(self) -> None:
        """Drop the connections that hold the most memory until all together fit (I-SRV-2)."""
        self._shed(attrgetter("held"), self.max_bytes)
        self._shed(attrgetter("parsed"), self.max_bytes // PARSED_SHARE)

    def _shed(self, size: Callable[[Connection], int], most: int) -> None:
        while sum(map(size, self.connections)) > most:
            largest = max(self.connections, key=size)
            largest.abort(f"it holds {size(largest)} bytes, and all connections more than {most}")

    def _sweep(self) -> None:
        now = self.node.env.now()
        for connection in list(self.connections):
            connection.check_deadlines(now)
        self.shed_load()
        self._sweeper = self.node.env.later(SWEEP_S, self._sweep)

"""The plan of a cluster: its nodes, their ports and their folders.

Owns the folder of a cluster and `cluster.json` in it, so that ports and ids survive restarts and a later process can
open the same data again.

    <folder>/cluster.json   secret   node-1/server.properties  node-1/data  node-1/metadata  node-1/log.txt  trace/*.trace

Invariants
    I-PLAN-1  A port is chosen once per cluster, outside the kernel's range for outgoing connections: from that range a
              client's connection could get the port of a broker that is down, and even connect to itself. While the cluster
              is open no other program gets the port: `reserve` holds it, also while its broker is down.

    Data and metadata are two folders, on two disks in production: `wipe` empties only the data.
    I-PLAN-3  Only the owner of a cluster can read its secret, its logs and its records.
"""

from __future__ import annotations

import base64
import contextlib
import json
import random
import secrets
import socket
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from minikafka.machine.files import write_atomic

from .errors import ClusterError

HOST = "127.0.0.1"
NAMES = "PLAINTEXT", "INTERNAL", "CONTROLLER"  # of the listeners that every cluster has
PROTOCOLS = {None: "PLAINTEXT", "tls": "SSL", "scram": "SASL_PLAINTEXT", "tls+scram": "SASL_SSL"}  # of clients, by `security`
FIRST_CONTROLLER = 101  # node ids of controllers that are no brokers
VOTERS_WHEN_COMBINED = {1: 1, 2: 1, 3: 3, 4: 3}  # five from five brokers on


@dataclass
class MoreListener:
    """One more listener for clients: where its socket is bound, and the host:port that clients learn."""

    host: str
    port: int
    advertised: str

    @property
    def bound(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def hosts(self) -> tuple[str, str]:
        """Return what makes the same listener on another broker, with a port of its own."""
        return self.host, self.advertised.removesuffix(f":{self.port}")


@dataclass
class NodePlan:
    """One process: a broker, a controller or both. `internal` is the port for replication, `control` for the quorum; `more`
    are further listeners for clients, by name."""

    id: int
    broker: bool
    voter: bool
    client: int
    internal: int
    control: int
    folder: Path
    rack: str | None = None
    more: dict[str, MoreListener] = field(default_factory=dict)

    @property
    def properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def metadata(self) -> Path:
        return self.folder / "metadata"

    @property
    def log(self) -> Path:
        return self.folder / "log.txt"

    @property
    def address(self) -> str:
        return f"{HOST}:{self.client}"


@dataclass
class Plan:
    """All nodes of a cluster and what they share."""

    folder: Path
    engine: str
    cluster_id: str
    config: dict[str, str]
    nodes: dict[int, NodePlan]
    security: str | None = None  # how it is closed (closed.py)

    def __post_init__(self) -> None:
        self.held: list[socket.socket] = []

    @property
    def brokers(self) -> list[NodePlan]:
        return [node for node in self.nodes.values() if node.broker]

    @property
    def voters(self) -> list[NodePlan]:
        return [node for node in self.nodes.values() if node.voter]

    @property
    def trace(self) -> Path:
        return self.folder / "trace"

    @property
    def client_listener(self) -> str:
        """Return the name of the clients' listener, which is that of its security protocol, too."""
        return PROTOCOLS[self.security]

    @property
    def secret(self) -> Path:
        return self.folder / "secret"

    def keep_secret(self) -> None:
        """Write the secret by which the nodes know each other, unless an earlier cluster left it in the folder."""
        if not self.secret.exists():
            write_atomic(self.secret, secrets.token_hex(16), 0o600)

    def close_doors(self, security: str) -> None:
        """Let clients in by TLS, a password or both. Raises ValueError for other words, and ClusterError if the folder has
        data of a cluster that was closed otherwise."""
        if security not in PROTOCOLS:
            raise ValueError(f"unknown security {security!r}: there is {', '.join(repr(p) for p in PROTOCOLS if p)}")
        if security != self.security and any(node.log.exists() for node in self.nodes.values()):
            raise ClusterError(f"{self.folder} holds data of a cluster with security={self.security!r}: it stays so")
        self.security = security
        self.save()

    def place(self, racks: Sequence[str]) -> None:
        """Give each broker its rack, in the order of their ids. Raises ValueError unless each broker has one."""
        if len(racks) != len(self.brokers):
            raise ValueError(f"{len(racks)} racks for {len(self.brokers)} brokers: name one for each")
        for node, rack in zip(self.brokers, racks):
            node.rack = rack
        self.save()

    def open_more(self, listeners: Mapping[str, str | tuple[str, str]]) -> None:
        """Give each broker the listeners of these names that it has not: each is bound to the host, and advertised as the second
        text of a pair, a host or host:port. Raises ValueError for a name of the cluster's own."""
        own = self.client_listener, *NAMES[1:]
        if taken := sorted(name for name in listeners if name.upper() in own):
            raise ValueError(f"listeners {', '.join(taken)}: the cluster has {', '.join(own)} itself; choose other names")
        for node in self.brokers:
            wanted = {name.upper(): hosts for name, hosts in listeners.items() if name.upper() not in node.more}
            for (name, hosts), port in zip(wanted.items(), free_ports(len(wanted), self.ports) if wanted else []):
                host, shown = (hosts, hosts) if isinstance(hosts, str) else hosts
                node.more[name] = MoreListener(host, port, shown if ":" in shown else f"{shown}:{port}")
        self.save()

    @property
    def ports(self) -> set[int]:
        """Return every port that a node has."""
        return {port for node in self.nodes.values()
                for port in (node.client, node.internal, node.control, *(one.port for one in node.more.values()))}

    def reserve(self) -> None:
        """Hold the ports of all nodes until `release`. A port that is in use is left out: its node will fail with that error."""
        for port in self.ports:
            with contextlib.suppress(OSError):
                self.held.append(hold(port))

    def release(self) -> None:
        """Give the ports back."""
        while self.held:
            self.held.pop().close()

    def listen_from(self, port: int) -> None:
        """Give the brokers the ports `port`, `port` + 1 and so on for their clients."""
        for number, node in enumerate(self.brokers):
            node.client = port + number
        self.save()

    def add_broker(self, rack: str | None = None) -> NodePlan:
        """Add a broker that does not vote: the voters of a cluster are fixed."""
        (node,) = _nodes(self.folder, [(max(n.id for n in self.brokers) + 1, True, False)])
        node.rack = rack
        self.nodes[node.id] = node
        self.open_more({name: one.hosts for name, one in self.brokers[0].more.items()})
        return node

    def save(self) -> None:
        text = {**asdict(self), "nodes": [asdict(node) for node in self.nodes.values()]}
        write_atomic(self.folder / "cluster.json", json.dumps(text, indent=1, default=str))


def new_plan(folder: Path, engine: str, brokers: int, controllers: int | None, config: dict[str, str]) -> Plan:
    """Return a plan for a new cluster in an empty folder. `controllers` None means combined mode."""
    voters = VOTERS_WHEN_COMBINED.get(brokers, 5)
    wanted = [(number, True, controllers is None and number <= voters) for number in range(1, brokers + 1)]
    wanted += [(FIRST_CONTROLLER + number, False, True) for number in range(controllers or 0)]
    nodes = {node.id: node for node in _nodes(folder, wanted)}
    plan = Plan(folder, engine, random_id(), config, nodes)
    plan.trace.mkdir(mode=0o700, parents=True, exist_ok=True)
    plan.save()
    return plan


def open_plan(folder: Path, engine: str, config: dict[str, str]) -> Plan | None:
    """Return the plan that an earlier cluster left in `folder`, with today's configuration; None if the folder is new."""
    file = folder / "cluster.json"
    if not file.exists():
        return None
    found = json.loads(file.read_text())
    if found["engine"] != engine:
        raise ClusterError(f"{folder} holds data of engine {found['engine']!r}, not of {engine!r}")
    nodes = {node["id"]: _kept(node, folder) for node in found["nodes"]}
    return Plan(folder, engine, found["cluster_id"], config, nodes, found.get("security"))


def _kept(node: dict[str, Any], folder: Path) -> NodePlan:
    more = {name: MoreListener(**listener) for name, listener in node.get("more", {}).items()}
    return NodePlan(**{**node, "folder": folder / f"node-{node['id']}", "more": more})


def random_id() -> str:
    """Return a random UUID in Kafka's spelling (22 letters of URL-safe base64), without a dash in front as in Kafka."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def _nodes(folder: Path, wanted: list[tuple[int, bool, bool]]) -> list[NodePlan]:
    ports = iter(free_ports(3 * len(wanted)))
    nodes = [NodePlan(number, broker, voter, next(ports), next(ports), next(ports), folder / f"node-{number}")
             for number, broker, voter in wanted]
    for node in nodes:
        node.folder.mkdir(parents=True, mode=0o700)
        node.data.mkdir(mode=0o700)
        node.metadata.mkdir(mode=0o700)
    return nodes


def hold(port: int) -> socket.socket:
    """Return a socket that holds a port of loopback and does not listen, so that only a broker can; raise OSError if it is taken.

    The kernel lets a broker, whose socket has SO_REUSEADDR, listen on the port if this socket has that option too. The option is
    set after the port is taken: so of two holders of one port the second is refused.
    """
    holder = socket.socket()
    try:
        holder.bind((HOST, port))
    except OSError:
        holder.close()
        raise
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return holder


def free_ports(count: int, without: Collection[int] = ()) -> list[int]:
    """Return `count` free ports on loopback, below the range of outgoing connections (I-PLAN-1), and none of `without`."""
    below = min(_first_outgoing_port(), 32768)
    candidates = random.sample(sorted({*range(max(1024, below - 16000), below)}.difference(without)), 16 * count)
    held: list[socket.socket] = []
    try:
        for port in candidates:
            with contextlib.suppress(OSError):
                held.append(hold(port))
            if len(held) == count:
                return [taken.getsockname()[1] for taken in held]
    finally:
        for taken in held:
            taken.close()
    raise ClusterError(f"no {count} free ports on {HOST}")


def _first_outgoing_port() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return 32768

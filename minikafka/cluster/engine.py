"""The interface of an engine: how one node of a cluster becomes a process.

Owns the part of `server.properties` that both engines share: names, listeners, folders, voters, Kafka's own spelling.
The engines are `ours.py` (our brokers) and `apache.py` (Apache Kafka). Simulated brokers: `sim/engine/cluster.py`.

Invariants
    The same `config` reaches both engines under the same names, so that an experiment can be repeated on
      Apache Kafka word for word.
"""

from __future__ import annotations

from typing import Protocol

from .closed import ClosedFolder
from .plan import HOST, NAMES, NodePlan, Plan
from .process import Child, Launcher


class Engine(Protocol):
    """A kind of node: how such nodes are prepared and started."""

    name: str
    link_faults: bool  # can cut and slow links, hold followers, fill disks, move clocks
    traces: bool  # its brokers write trace files

    def prepare(self, plan: Plan, node: NodePlan) -> None:
        """Write the files that the node reads at its start; called before every start."""

    def start(self, plan: Plan, node: NodePlan, launcher: Launcher) -> Child:
        """Start the node's process."""


def common_properties(plan: Plan, node: NodePlan) -> dict[str, str]:
    """Return the settings by which a node finds itself, its files and its peers; listeners are the engine's."""
    closed = ClosedFolder(plan)
    roles = ["broker"] * node.broker + ["controller"] * node.voter
    return {
        "node.id": str(node.id),
        "process.roles": ",".join(roles),
        "log.dirs": str(node.data),
        "metadata.log.dir": str(node.metadata),
        **({"broker.rack": node.rack} if node.rack is not None else {}),
        **closed.properties(),
        **plan.config,
        **closed.super_users(),
    }


def client_listeners(plan: Plan, node: NodePlan) -> tuple[list[str], list[str]]:
    """Return a broker's listeners for clients, as they are bound and as they are advertised; none for a controller."""
    first = [listener(plan.client_listener, node.client)] * node.broker
    more = node.more.items()
    return ([*first, *(f"{name}://{one.bound}" for name, one in more)],
            [*first, *(f"{name}://{one.advertised}" for name, one in more)])


def protocols(plan: Plan, node: NodePlan, of_nodes: str = "PLAINTEXT") -> str:
    """Return the security protocol of each listener, unless the configuration says otherwise of that name."""
    known = {**dict.fromkeys(NAMES[1:], of_nodes), **dict.fromkeys((plan.client_listener, *node.more), plan.client_listener)}
    known |= (pair.strip().split(":") for pair in plan.config.get("listener.security.protocol.map", "").split(",") if ":" in pair)
    return ",".join(f"{name}:{protocol}" for name, protocol in known.items())


def listener(name: str, port: int) -> str:
    return f"{name}://{HOST}:{port}"


def render(properties: dict[str, str]) -> str:
    """Return a Java properties file; values are taken as they are, so a backslash is doubled."""
    return "".join("{}={}\n".format(name, value.replace("\\", "\\\\")) for name, value in properties.items())

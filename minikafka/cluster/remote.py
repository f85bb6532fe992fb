"""A Kafka cluster that is run elsewhere, behind the interface of a cluster: for more than one machine.

Owns only the addresses; its operator stops and starts it. Faults, logs and folders belong to clusters of our own and
raise NotSupported here.
"""

from __future__ import annotations

from typing import Any

from . import wire
from .cluster import Cluster
from .errors import NotReady, NotSupported
from .folder import temporary_folder
from .plan import NodePlan, Plan
from .security import Address, Security


class _Elsewhere:
    """The engine of a cluster that is run elsewhere: it can start no process."""

    name = "remote"
    link_faults = False
    traces = False

    def prepare(self, plan: Plan, node: NodePlan) -> None:
        raise NotSupported("Cluster.connect() started no process: it cannot start one either")

    def command(self, plan: Plan, node: NodePlan) -> tuple[list[str], dict[str, str]]:
        raise NotSupported("Cluster.connect() started no process: it cannot start one either")


class RemoteCluster(Cluster):
    """A cluster made by `Cluster.connect(bootstrap, **security)`."""

    def __init__(self, bootstrap: str, settings: dict[str, Any]) -> None:
        self._engine = _Elsewhere()
        self._temporary = True
        self._given = bootstrap
        self.security = Security(settings)
        self._addresses: dict[int, str] = _discover(bootstrap, self.security)
        folder, self._lock_file = temporary_folder()  # for the trace of faults and clients
        self.plan = Plan(folder, self._engine.name, "", {}, {})
        self._prepare(folder)

    @property
    def bootstrap(self) -> str:
        return self._given

    @property
    def ids(self) -> list[int]:
        return sorted(self._addresses)

    @property
    def alive(self) -> list[int]:
        """Return the brokers that the cluster's own metadata counts as unfenced."""
        self._addresses |= (known := _discover(",".join(self._addresses.values()), self.security))
        return sorted(known)

    def address(self, broker: int, listener: str | None = None) -> str:
        if listener is not None:
            raise NotSupported(f"{self._given} tells a client the addresses of one listener: that of the bootstrap address")
        return self._addresses[broker]

    def add_broker(self, rack: str | None = None) -> int:
        raise NotSupported(f"{self._given} runs elsewhere: add_broker() cannot start a broker there. Faults "
                           "need a cluster of your own: Cluster(brokers=3), or with engine=\"apache\"")

    def _node(self, node: int) -> Any:
        raise NotSupported(f"node {node} of {self._given} runs elsewhere: its faults and its log are out of reach. They "
                           "need a cluster of your own: Cluster(brokers=3), or with engine=\"apache\"")


def _discover(addresses: str, security: Security) -> dict[int, str]:
    """Return the brokers from the first address that answers. Raises NotReady if no address answers."""
    failures = []
    for address in addresses.split(","):
        try:
            return wire.live_brokers(Address.of(address.strip(), security))
        except wire.Unanswered as error:
            failures.append(f"{address}: {error}. The request used security_protocol={security.protocol}; a listener that needs "
                            "another protocol (TLS, a password) closes the connection")
        except OSError as error:
            failures.append(f"{address}: {error}")
    raise NotReady("no broker answered: " + "; ".join(failures))

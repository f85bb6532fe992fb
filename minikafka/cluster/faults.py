"""The standing faults of a cluster (faults that last until `heal`), as commands that our brokers read on standard input.

Owns the book of standing faults, with a page for each broker. The cluster sends a broker its page, and again after a restart.

Invariants
    I-FAULT-1  A broker that restarts while a standing fault concerns it starts under that fault.
    I-FAULT-2  Both brokers of a cut get the command: each holds back the bytes of the connections that it opened.

Directions as a broker sees them: `outbound` holds what it sends to the peer, `inbound` what the peer sends to it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

CLIENTS = "clients"
Peer = int | str  # a node id, or CLIENTS


@dataclass
class LinkState:
    """The state of one link at one of its ends; latency in seconds, bandwidth in bytes a second (0: no limit)."""

    inbound: bool = False
    outbound: bool = False
    latency: float = 0.0
    bandwidth: float = 0.0


@dataclass
class BrokerFaults:
    """The standing faults of one broker."""

    links: dict[Peer, LinkState] = field(default_factory=dict)
    hold_follower: bool = False
    follower_rate: float = 0.0  # bytes a second, 0 for no limit
    disk_budget: int | None = None  # bytes that still fit, None for all there is
    clock_jump_ms: int = 0

    def commands(self) -> list[dict[str, Any]]:
        """Return all standing faults of this broker as commands; none for a healthy broker."""
        told = [self.link_command(peer) for peer in self.links]
        if self.hold_follower or self.follower_rate:
            told.append(self.follower_command())
        if self.disk_budget is not None:
            told.append(self.disk_command())
        if self.clock_jump_ms:
            told.append(self.clock_command())
        return told

    def link_command(self, peer: Peer) -> dict[str, Any]:
        return {"fault": "link", "peer": peer, **asdict(self.links[peer])}

    def follower_command(self) -> dict[str, Any]:
        return {"fault": "follower", "hold": self.hold_follower, "rate": self.follower_rate}

    def disk_command(self) -> dict[str, Any]:
        return {"fault": "disk", "budget": self.disk_budget}

    def clock_command(self) -> dict[str, Any]:
        return {"fault": "clock", "jump_ms": self.clock_jump_ms}


class FaultBook:
    """Every broker's page. Each method changes it and returns the commands to send: [(node, command)]."""

    def __init__(self) -> None:
        self.pages: dict[int, BrokerFaults] = {}

    def page(self, node: int) -> BrokerFaults:
        return self.pages.setdefault(node, BrokerFaults())

    def cut(self, source: Peer, target: Peer, one_way: bool) -> list[tuple[int, dict[str, Any]]]:
        """Hold the bytes from `source` to `target`, and from `target` to `source` unless `one_way`."""
        told = []
        for node, peer, sends in ((source, target, True), (target, source, False)):
            if isinstance(node, int):
                link = self._link(node, peer)
                link.outbound |= sends or not one_way
                link.inbound |= not sends or not one_way
                told.append((node, self.page(node).link_command(peer)))
        return told

    def slow(self, a: Peer, b: Peer, latency: float, bandwidth: float) -> list[tuple[int, dict[str, Any]]]:
        """Delay each direction by `latency` seconds and let `bandwidth` bytes a second through (0: no limit)."""
        told = []
        for node, peer in ((a, b), (b, a)):
            if isinstance(node, int):
                link = self._link(node, peer)
                link.latency, link.bandwidth = latency, bandwidth
                told.append((node, self.page(node).link_command(peer)))
        return told

    def follower(self, node: int, hold: bool, rate: float) -> list[tuple[int, dict[str, Any]]]:
        page = self.page(node)
        page.hold_follower, page.follower_rate = hold, rate
        return [(node, page.follower_command())]

    def disk(self, node: int, budget: int | None) -> list[tuple[int, dict[str, Any]]]:
        self.page(node).disk_budget = budget
        return [(node, self.page(node).disk_command())]

    def clock(self, node: int, seconds: float) -> list[tuple[int, dict[str, Any]]]:
        page = self.page(node)
        page.clock_jump_ms += round(seconds * 1000)
        return [(node, page.clock_command())]

    def heal(self) -> list[tuple[int, dict[str, Any]]]:
        """End all faults but the jumps of a clock."""
        healed = list(self.pages)
        self.pages = {node: BrokerFaults(clock_jump_ms=page.clock_jump_ms) for node, page in self.pages.items()}
        return [(node, {"fault": "heal"}) for node in healed]

    def _link(self, node: int, peer: Peer) -> LinkState:
        return self.page(node).links.setdefault(peer, LinkState())

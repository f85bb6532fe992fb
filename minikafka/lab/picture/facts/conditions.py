"""What has been done to the cluster and still holds: processes killed or paused, links cut, followers held.

A fault is told twice in a live cluster: by the cluster, which names it and its arguments, and by each broker that carries
it out. The picture takes the cluster's word (b = 0); both engines, live and simulated, say it with different fields, and
this module is the only one that knows.

Owns: the state of every process, link and replica fetcher.
Invariants
  I-CONDITION-1  `b` of a fault's event is the broker that wrote the event; `args` or `node` name the one that the fault hit
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

Event = dict[str, Any]
CLIENTS = 0            # how the picture calls "clients" among the ids of brokers
RUNNING, KILLED, STOPPED, PAUSED, STARTING, UNKNOWN = "running", "killed", "stopped", "paused", "starting", "unknown"
DOWN = (KILLED, STOPPED)


@dataclass(slots=True)
class Conditions:
    """The condition of nodes and links. `process` by node id; `cut` holds (from, to): nothing gets through in that
    direction."""

    process: dict[int, str] = field(default_factory=dict)
    since: dict[int, float] = field(default_factory=dict)       # when the process came into its state
    cut: dict[tuple[int, int], float] = field(default_factory=dict)
    slow_links: dict[tuple[int, int], float] = field(default_factory=dict)
    held: dict[int, float] = field(default_factory=dict)        # brokers that replicate nothing, since
    slowed: dict[int, float] = field(default_factory=dict)      # brokers that replicate slowly: bytes a second
    full: dict[int, float] = field(default_factory=dict)        # brokers with a full disk, since

    def copy(self) -> Conditions:
        return replace(self, process=self.process.copy(), since=self.since.copy(), cut=self.cut.copy(),
                       slow_links=self.slow_links.copy(), held=self.held.copy(), slowed=self.slowed.copy(),
                       full=self.full.copy())

    # --- questions ------------------------------------------------------------------------------------------------

    def is_down(self, node: int) -> bool:
        return self.process.get(node) in DOWN

    def works(self, node: int) -> bool:
        """Return whether the process runs and is not paused, as far as is known."""
        return self.process.get(node, UNKNOWN) in (RUNNING, STARTING, UNKNOWN)

    def shown(self, node: int) -> str:
        """Return the word for a broker: its process, or what is done to a running one."""
        process = self.process.get(node, UNKNOWN)
        if process not in (RUNNING, UNKNOWN):
            return process
        if self.cut_from(node):
            return "cut"
        if node in self.held:
            return "held"
        if node in self.slowed or any(node in link for link in self.slow_links):
            return "slow"
        return process

    def cut_from(self, node: int) -> tuple[int, ...]:
        """Return the nodes that this node cannot hear; a client's own machine, which has a name, is not counted."""
        return tuple(sorted(source for source, target in self.cut if target == node and isinstance(source, int)))

    # --- what happens ---------------------------------------------------------------------------------------------

    def enter(self, node: int, process: str, t: float) -> None:
        if self.process.get(node) != process:
            self.process[node], self.since[node] = process, t

    def started(self, node: int, t: float) -> None:
        self.enter(node, STARTING, t)

    def serves(self, node: int, t: float) -> None:
        """Note that a broker wrote something that only a running broker writes."""
        if self.process.get(node, UNKNOWN) in (STARTING, UNKNOWN):
            self.enter(node, RUNNING, t)

    def strike(self, event: Event) -> None:
        """Take note of a fault, as the cluster told it."""
        change = _FAULTS.get(event["fault"])
        if change is not None:
            change(self, arguments(event), event["t"])


def node_of(event: Event) -> int | None:
    """Return the node that the fault of a single node hit."""
    found = arguments(event)
    return found[0] if found and isinstance(found[0], int) else None


def arguments(event: Event) -> list[Any]:
    """Return [node, ...] or [from, to, ...], whichever engine told it."""
    if "args" in event:
        return [_peer(arg) for arg in event["args"]]
    if "ends" in event:
        return [*map(_peer, event["ends"]), event.get("one_way", event.get("latency")), event.get("bandwidth")]
    return [event["node"], *([event["rate"] * 1024] if "rate" in event else [])] if "node" in event else []


def _peer(name: Any) -> Any:
    return CLIENTS if name == "clients" else name


def _process(state: str) -> Callable[[Conditions, list[Any], float], None]:
    return lambda self, args, t: self.enter(args[0], state, t)


def _stop(self: Conditions, args: list[Any], t: float) -> None:
    if len(args) == 1 and self.process.get(args[0], UNKNOWN) == UNKNOWN:  # brokers with a trace say themselves that they end
        self.enter(args[0], STOPPED, t)


def _restart(self: Conditions, args: list[Any], t: float) -> None:
    if self.process.get(args[0]) in (*DOWN, UNKNOWN, None):      # otherwise its own start was told before
        self.enter(args[0], STARTING, t)


def _resume(self: Conditions, args: list[Any], t: float) -> None:
    if self.process.get(args[0]) == PAUSED:
        self.enter(args[0], RUNNING, t)


def _cut(self: Conditions, args: list[Any], t: float) -> None:
    source, target = args[:2]
    self.cut.setdefault((source, target), t)
    if not (len(args) > 2 and args[2]):
        self.cut.setdefault((target, source), t)


def _slow(self: Conditions, args: list[Any], t: float) -> None:
    if any(args[2:]):
        self.slow_links[args[0], args[1]] = t
    else:
        self.slow_links.pop((args[0], args[1]), None)


def _hold(self: Conditions, args: list[Any], t: float) -> None:
    self.held.setdefault(args[0], t)


def _slow_follower(self: Conditions, args: list[Any], t: float) -> None:
    self.held.pop(args[0], None)
    self.slowed[args[0]] = args[-1]


def _fill(self: Conditions, args: list[Any], t: float) -> None:
    self.full.setdefault(args[0], t)


def _heal(self: Conditions, args: list[Any], t: float) -> None:
    for faults in (self.cut, self.slow_links, self.held, self.slowed, self.full):
        faults.clear()


_FAULTS: dict[str, Callable[[Conditions, list[Any], float], None]] = {
    "kill": _process(KILLED), "powerloss": _process(KILLED), "stop": _stop, "pause": _process(PAUSED),
    "resume": _resume, "restart": _restart, "boot": _restart, "add_broker": _restart, "cut": _cut, "slow": _slow,
    "hold_follower": _hold, "slow_follower": _slow_follower, "fill_disk": _fill, "heal": _heal,
}

"""The faults of a simulated cluster, under the names of the live cluster's faults, and some more.

Every fault acts at once and is written to the trace. `heal` ends faults of links, disks and replica fetchers; a node that
was killed or lost power comes back by `boot`, `restart` or `mend`.

Owns: only the names and the events; hosts, links, disks and clocks carry the faults out.
Invariants: each fault has random numbers of its own, so that one more fault changes no other.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from minikafka.sim.world.hold import Hold, Message
from minikafka.sim.world.host import Host, host_name
from minikafka.sim.world.loop import DEAD, Killed
from minikafka.sim.world.net import SimNetwork

Peer = int | str  # a node id, or "clients"


class Breakable:
    """The faults of a World."""

    hosts: dict[int, Host]
    net: SimNetwork

    def rng(self, name: str) -> Random:
        raise NotImplementedError

    def tell(self, kind: str, **fields: Any) -> None:
        raise NotImplementedError

    def _fault(self, name: str, **fields: Any) -> None:
        self.tell("fault", fault=name, **fields)

    # --- faults of processes ----------------------------------------------------------------------------------

    def kill(self, node: int) -> None:
        """Kill a process (kill -9): the page cache stays, nothing else of the process does."""
        self._fault("kill", node=node)
        if self.hosts[node].state is not DEAD:
            self.hosts[node].end()

    def powerloss(self, node: int) -> None:
        """Cut the power of a node: unsynced bytes are lost in part, and no peer gets a reset."""
        host = self.hosts[node]
        host.end(silent=True)
        lost = host.disk.powerloss(self.rng(f"powerloss-{node}"))
        self._fault("powerloss", node=node, lost=lost)

    def pause(self, node: int) -> None:
        """Pause a process (SIGSTOP): it keeps its connections and its memory, and does nothing."""
        self._fault("pause", node=node)
        self.hosts[node].pause()

    def resume(self, node: int) -> None:
        """Let a paused process go on (SIGCONT): all that is late comes at once."""
        self._fault("resume", node=node)
        self.hosts[node].resume()

    def wipe(self, node: int) -> None:
        """Empty the data folder of a broker that does not run: a new disk. The metadata folder stays."""
        assert self.hosts[node].state is DEAD, f"node {node} runs"
        self._fault("wipe", node=node)
        self.hosts[node].disk.wipe("/data")

    # --- faults of links --------------------------------------------------------------------------------------

    def cut(self, a: Peer, b: Peer, one_way: bool = False) -> None:
        """Hold all bytes between two nodes, or "clients" and a node; `one_way` only those from `a` to `b`."""
        self._fault("cut", ends=[a, b], one_way=one_way)  # never `b`: that says who wrote the event
        one, other = host_name(a), host_name(b)
        self.net.link(one, other).cut = True
        if not one_way:
            self.net.link(other, one).cut = True

    def slow(self, a: Peer, b: Peer, latency: float = 0.0, bandwidth: float = 0.0) -> None:
        """Delay each direction by `latency` seconds, and let only `bandwidth` bytes a second through (0: no limit)."""
        self._fault("slow", ends=[a, b], latency=latency, bandwidth=bandwidth)
        one, other = host_name(a), host_name(b)
        low, high = self.net.latency
        for link in (self.net.link(one, other), self.net.link(other, one)):
            link.latency, link.bandwidth = (latency + low, latency + high), bandwidth

    def reset(self, a: Peer, b: Peer) -> None:
        """Break every connection between two hosts, in the middle of whatever is under way."""
        self._fault("reset", ends=[a, b])
        self.net.reset(host_name(a), host_name(b))
        self.net.reset(host_name(b), host_name(a))

    def heal(self) -> None:
        """End all faults of links, disks and replica fetchers; clocks stay as they are."""
        self._fault("heal")
        for one, other in list(self.net.links):
            self.net.heal(one, other)
        for host in self.hosts.values():
            host.disk.free = None
            host.disk.failures.clear()
            host.disk.sync_delay, host.disk.on_change = 0.0, None
            host.hold_follower(False, 0.0)

    def hold(self, match: Callable[[Message], bool]) -> Hold:
        """Hold single requests and answers on their way (hold.py). The hold's own methods release them, `heal` does not."""
        return Hold(match, self.net.holds)

    def tap(self, look: Callable[[Message], None]) -> Callable[[], None]:
        """Call `look` with every frame as it is sent; return the function that ends this."""
        self.net.taps.append(look)
        return lambda: self.net.taps.remove(look)

    # --- faults inside brokers --------------------------------------------------------------------------------

    def hold_follower(self, node: int) -> None:
        """Let a broker replicate nothing, while its heartbeats go on; ends with `heal`."""
        self._fault("hold_follower", node=node)
        self.hosts[node].hold_follower(True, 0.0)

    def slow_follower(self, node: int, rate: float) -> None:
        """Let a broker replicate only `rate` KiB a second; ends with `heal`."""
        self._fault("slow_follower", node=node, rate=rate)
        self.hosts[node].hold_follower(False, rate * 1024)

    def fill_disk(self, node: int, free: int = 0) -> None:
        """Leave only `free` bytes on a broker's disk: then a short write, then ENOSPC, which ends the broker."""
        self._fault("fill_disk", node=node, free=free)
        self.hosts[node].disk.free = free

    def fail_disk(self, node: int, what: str = "write", count: int = 1) -> None:
        """Let the next `count` operations of that kind ("read", "write", "sync") fail with EIO."""
        self._fault("fail_disk", node=node, what=what, count=count)
        self.hosts[node].disk.failures[what] = count

    def slow_disk(self, node: int, seconds: float) -> None:
        """Let every fsync take that much longer; ends with `heal`."""
        self._fault("slow_disk", node=node, seconds=seconds)
        self.hosts[node].disk.sync_delay = seconds

    def flip_bit(self, node: int, path: str | None = None, offset: int | None = None, bit: int | None = None) -> str:
        """Damage one bit of a file, at a random place unless given; return the path."""
        disk, rng = self.hosts[node].disk, self.rng(f"flip-{node}")
        path = path or rng.choice([p for p in disk.files("/data") if disk.size(p)])
        offset = rng.randrange(disk.size(path)) if offset is None else offset
        bit = rng.randrange(8) if bit is None else bit
        disk.flip_bit(path, offset, bit)
        self._fault("flip_bit", node=node, path=path, offset=offset, bit=bit)
        return path

    def crash_at_write(self, node: int, nth: int, powerloss: bool = False) -> None:
        """Let the process die right before the nth change that it makes to its disk from now on, in the middle of its work; a
        dead process dies so after its next start. `heal` or an earlier death cancels this."""
        host, left = self.hosts[node], nth

        def before_change() -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                host.disk.on_change = None
                self._fault("crash_at_write", node=node, starting=not host.serving)
                self.powerloss(node) if powerloss else self.kill(node)
                raise Killed
        host.disk.on_change = before_change

    def jump_clock(self, node: int, seconds: float) -> None:
        """Move a host's wall clock; its monotonic clock goes on undisturbed."""
        self._fault("jump_clock", node=node, seconds=seconds)
        self.hosts[node].clock.jump(seconds)

    def drift_clock(self, node: int, rate: float) -> None:
        """Let a host's clocks count `rate` seconds in one."""
        self._fault("drift_clock", node=node, rate=rate)
        self.hosts[node].drift(rate)

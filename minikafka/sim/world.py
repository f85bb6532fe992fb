"""The seeded world: a cluster of the very brokers that run live, on virtual time, a network and disks in memory.

    world = World(seed=7)
    world.run(story(world))         # async def story(world): await world.start(); world.kill(1); ...

Owns: the hosts, the merged trace, the faults (under the live cluster's names), the clients' process.
Invariants: I-WORLD-1 all that happens is a function of the seed and of the story: no wall clock, no sockets, no threads.
            I-WORLD-2 chance comes in streams by name, so that one more draw in one place changes no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any, TypeVar

from minikafka.broker.broker import Broker
from minikafka.cluster.plan import FIRST_CONTROLLER, VOTERS_WHEN_COMBINED
from minikafka.cluster.settings import PRESETS, as_text, internal_topics
from minikafka.core.configs import BrokerConfig
from minikafka.sim.clock import EPOCH_MS
from minikafka.sim.disk import SimDisk
from minikafka.sim.env import SimEnv
from minikafka.sim.hold import Hold, Message
from minikafka.sim.host import Host, host_name
from minikafka.sim.loop import DEAD, PAUSED, RUNNING, Killed, SimLoop
from minikafka.sim.log_lines import keep_log_lines
from minikafka.sim.net import SimNetwork

T = TypeVar("T")
Peer = int | str  # a node id, or CLIENTS
Event = dict[str, Any]

CLIENTS = "clients"
CLIENT_PORT, INTERNAL_PORT = 9092, 9093
POLL = 0.005  # seconds between two questions of `until`
FEW_PARTITIONS = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"}


class World:
    """`brokers` nodes with ids from 1, the first of them voters too, or `controllers` voters of their own (ids 101...).

    `config` holds Kafka's settings, the same for every node; internal topics have two partitions unless it says
    otherwise. `racks` says where each broker stands.
    """

    def __init__(self, seed: int | str, *, brokers: int = 3, controllers: int | None = None,
                 config: dict[str, Any] | None = None, preset: str | None = "class",
                 racks: Sequence[str] | None = None) -> None:
        keep_log_lines()
        self.seed = seed
        self.loop = SimLoop(seed)
        self.net = SimNetwork(self.loop, self.rng("net"))
        self.events: list[Event] = []
        self.listeners: list[Callable[[Event], None]] = []
        self.after_step = self.loop.timeline.after_step
        self.crashes: list[tuple[int, BaseException]] = []  # brokers that died by themselves, and of what
        self._numbers: dict[tuple[int, int], int] = {}
        self._chance: dict[str, Random] = {}
        self._clients: dict[str, SimEnv] = {}
        self.settings = {**FEW_PARTITIONS, **internal_topics(brokers), **PRESETS[preset], **as_text(config or {})}
        self.hosts: dict[int, Host] = {}
        voters = VOTERS_WHEN_COMBINED.get(brokers, 5)
        roles = {n: ["broker"] + ["controller"] * (controllers is None and n <= voters) for n in range(1, brokers + 1)}
        roles |= {FIRST_CONTROLLER + n: ["controller"] for n in range(controllers or 0)}
        self._voters = [n for n, role in roles.items() if "controller" in role]
        for (node, role), rack in zip(roles.items(), [*(racks or []), *[None] * len(roles)]):
            self._add(node, role, rack)

    def _add(self, node: int, roles: list[str], rack: str | None) -> Host:
        name = host_name(node)
        clients = [f"PLAINTEXT://{name}:{CLIENT_PORT}"] if "broker" in roles else []
        config = BrokerConfig({
            "node.id": str(node),
            "process.roles": ",".join(roles),
            "listeners": ",".join([*clients, f"INTERNAL://{name}:{INTERNAL_PORT}"]),
            "inter.broker.listener.name": "INTERNAL",
            "controller.quorum.voters": ",".join(f"{n}@{host_name(n)}:{INTERNAL_PORT}" for n in self._voters),
            "log.dirs": "/data",
            "metadata.log.dir": "/metadata",
            **({"broker.rack": rack} if rack is not None else {}),
            **self.settings,
        })
        host = self.hosts[node] = Host(node, self.seed, self.loop.timeline, self.net, config, self._record)
        host.on_crash = self._on_crash
        return host

    # --- what there is -------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[int]:
        """The ids of all nodes."""
        return list(self.hosts)

    @property
    def brokers(self) -> list[int]:
        """The ids of the brokers."""
        return [n for n, host in self.hosts.items() if "broker" in host.config["process.roles"]]

    @property
    def alive(self) -> list[int]:
        """The ids of the nodes whose process runs and is not paused."""
        return [n for n, host in self.hosts.items() if host.state is RUNNING]

    @property
    def bootstrap(self) -> list[tuple[str, int]]:
        return [(host_name(n), CLIENT_PORT) for n in self.brokers]

    def broker(self, node: int) -> Broker | None:
        """The running (or paused) broker, None if it is dead."""
        return self.hosts[node].broker

    def controller(self) -> int | None:
        """The node that leads the quorum in the highest epoch."""
        leading = [(b.quorum.epoch, n) for n in self.nodes if (b := self.broker(n)) is not None and b.quorum.is_leader]
        return max(leading)[1] if leading else None

    def rng(self, name: str) -> Random:
        """The stream of chance of that name."""
        if name not in (known := self.__dict__.setdefault("_chance", {})):
            known[name] = Random(f"{self.seed}:{name}")
        return known[name]

    def client_env(self, name: str = CLIENTS) -> SimEnv:
        """The Env of a client's host. All clients run in the process that `run` runs; `name` is for cuts."""
        if name not in self._clients:
            env = self._clients[name] = SimEnv(self.loop, self.net, SimDisk(), f"{self.seed}:{name}", name)
            env.trace = lambda kind, **fields: self._record(None, kind, fields)
        return self._clients[name]

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Exceptions that nobody caught, of the clients and of the brokers (see loop.errors)."""
        return [*self.loop.errors, *(e for host in self.hosts.values() for e in host.errors)]

    # --- time ----------------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Seconds since the world began."""
        return self.loop.timeline.clock

    def run(self, story: Coroutine[Any, Any, T]) -> T:
        """Drive the world until the story is through; raises what it raises, RuntimeError on a deadlock."""
        return self.loop.run(story)

    async def sleep(self, seconds: float) -> None:
        await self.client_env().sleep(seconds)

    async def until(self, condition: Callable[[], Any], timeout: float = 30.0) -> Any:
        """Wait until the condition is true, and return its answer; raises TimeoutError."""
        deadline = self.now() + timeout
        while not (answer := condition()):
            if self.now() >= deadline:
                said = (condition.__doc__ or getattr(condition, "__name__", repr(condition))).strip()
                raise TimeoutError(f"seed {self.seed}: waited {timeout:g} s in vain for: {said}")
            await self.sleep(POLL)
        return answer

    # --- life of the cluster ---------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Boot every node; returns when every broker is registered, unfenced and known to all."""
        for node in self.nodes:
            self.boot(node)
        await self.ready()

    async def ready(self, timeout: float = 60.0) -> None:
        """Wait until every running node serves, and every running broker is unfenced in the eyes of all."""
        await self.until(self._is_ready, timeout)

    def _is_ready(self) -> bool:
        """every running broker serves, is unfenced in the eyes of all, and a controller leads"""
        running = [self.hosts[n] for n in self.alive]
        if not all(host.serving for host in running) or self.controller() is None:
            return False
        brokers = [host.id for host in running if host.id in self.brokers]
        images = [host.broker.image.brokers for host in running if host.broker is not None]
        return all(n in known and not known[n].fenced for known in images for n in brokers)

    async def call(self, node: int, coro: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine of a broker inside its process; ConnectionError if that dies before."""
        answer: T = await self.hosts[node].call(coro, self.loop)
        return answer

    async def add_broker(self, rack: str | None = None) -> int:
        """One more broker, which does not vote; returns its id when it is ready."""
        node = max(self.brokers) + 1
        self._add(node, ["broker"], rack)
        self.boot(node)
        await self.ready()
        return node

    def boot(self, node: int) -> None:
        """Start the process of a dead node; returns at once."""
        self._fault("boot", node=node)
        self.hosts[node].boot()

    async def restart(self, *nodes: int) -> None:
        """Start nodes that ended (running ones are stopped first), several of them together; returns when they are
        registered and unfenced."""
        for node in nodes:
            if self.hosts[node].state is not DEAD:
                await self.stop(node)
        for node in nodes:
            self.boot(node)
        await self.ready()
        for node in nodes:
            if (error := self.hosts[node].error) is not None:
                raise RuntimeError(f"node {node} died at its start") from error

    async def stop(self, node: int) -> None:
        """A controlled shutdown; returns when the process has ended. ConnectionError if it is killed meanwhile."""
        host = self.hosts[node]
        assert host.state is RUNNING, f"node {node} is {host.state}"
        self._fault("stop", node=node)
        if host.broker is not None:
            await self.call(node, host.broker.stop())
        host.end()

    # --- faults of processes ---------------------------------------------------------------------------------------------

    def kill(self, node: int) -> None:
        """kill -9: the page cache stays, nothing else of the process does."""
        self._fault("kill", node=node)
        if self.hosts[node].state is not DEAD:
            self.hosts[node].end()

    def powerloss(self, node: int) -> None:
        """The machine goes dark: what was not synced is lost in part, and nobody is told."""
        host = self.hosts[node]
        host.end(silent=True)
        lost = host.disk.powerloss(self.rng(f"powerloss-{node}"))
        self._fault("powerloss", node=node, lost=lost)

    def pause(self, node: int) -> None:
        """SIGSTOP: it keeps its connections and its memory, and does nothing."""
        self._fault("pause", node=node)
        self.hosts[node].pause()

    def resume(self, node: int) -> None:
        """SIGCONT: everything that is late comes at once."""
        self._fault("resume", node=node)
        self.hosts[node].resume()

    def wipe(self, node: int) -> None:
        """Empty the data folder of a broker that does not run: a new disk. The metadata folder stays."""
        assert self.hosts[node].state is DEAD, f"node {node} runs"
        self._fault("wipe", node=node)
        self.hosts[node].disk.wipe("/data")

    # --- faults of links -------------------------------------------------------------------------------------------------

    def cut(self, a: Peer, b: Peer, one_way: bool = False) -> None:
        """Hold all bytes between two nodes, or "clients" and a node; `one_way` only those from `a` to `b`."""
        self._fault("cut", a=a, b=b, one_way=one_way)
        one, other = host_name(a), host_name(b)
        self.net.link(one, other).cut = True
        if not one_way:
            self.net.link(other, one).cut = True

    def slow(self, a: Peer, b: Peer, latency: float = 0.0, bandwidth: float = 0.0) -> None:
        """Delay each direction by `latency` seconds, and let only `bandwidth` bytes a second through (0: no limit)."""
        self._fault("slow", a=a, b=b, latency=latency, bandwidth=bandwidth)
        one, other = host_name(a), host_name(b)
        low, high = self.net.latency
        for link in (self.net.link(one, other), self.net.link(other, one)):
            link.latency, link.bandwidth = (latency + low, latency + high), bandwidth

    def reset(self, a: Peer, b: Peer) -> None:
        """Break every connection between two hosts, in the middle of whatever is under way."""
        self._fault("reset", a=a, b=b)
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

    async def mend(self, timeout: float = 60.0) -> None:
        """heal(), resume what is paused, boot what is dead; returns when all are ready."""
        self.heal()
        for node, host in self.hosts.items():
            if host.state is PAUSED:
                self.resume(node)
            elif host.state is DEAD:
                self.boot(node)
        await self.ready(timeout)

    def hold(self, match: Callable[[Message], bool]) -> Hold:
        """Hold single requests and answers on their way; see hold.py. Released by its own methods, not by `heal`."""
        return Hold(match, self.net.holds)

    def tap(self, look: Callable[[Message], None]) -> Callable[[], None]:
        """Have every frame shown to `look` as it is sent; returns what ends it."""
        self.net.taps.append(look)
        return lambda: self.net.taps.remove(look)

    # --- faults inside brokers -------------------------------------------------------------------------------------------

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
        """Damage one bit of a file, all of it by chance unless given; returns the path."""
        disk, rng = self.hosts[node].disk, self.rng(f"flip-{node}")
        path = path or rng.choice([p for p in disk.files("/data") if disk.size(p)])
        offset = rng.randrange(disk.size(path)) if offset is None else offset
        bit = rng.randrange(8) if bit is None else bit
        disk.flip_bit(path, offset, bit)
        self._fault("flip_bit", node=node, path=path, offset=offset, bit=bit)
        return path

    def crash_at_write(self, node: int, nth: int, powerloss: bool = False) -> None:
        """Let the process die right before the nth change it makes to its disk from now on, in the middle of whatever
        it is doing; `heal` or a death before that calls it off."""
        host, left = self.hosts[node], nth

        def before_change() -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                host.disk.on_change = None
                self.powerloss(node) if powerloss else self.kill(node)
                raise Killed
        host.disk.on_change = before_change

    def jump_clock(self, node: int, seconds: float) -> None:
        """Move a host's wall clock; what it measures durations with goes on undisturbed."""
        self._fault("jump_clock", node=node, seconds=seconds)
        self.hosts[node].clock.jump(seconds)

    def drift_clock(self, node: int, rate: float) -> None:
        """Let a host's clocks make `rate` seconds of one."""
        self._fault("drift_clock", node=node, rate=rate)
        self.hosts[node].drift(rate)

    # --- the trace -------------------------------------------------------------------------------------------------------

    def trace_hash(self) -> str:
        """What two runs of the same story have in common, to the last byte sent and the last callback run."""
        state = repr((self.events, self.net.digest, self.loop.timeline.steps, self.now(), self.rng("net").random()))
        return hashlib.sha256(state.encode()).hexdigest()

    def close(self) -> None:
        """Free everything, quietly."""
        for host in self.hosts.values():
            host.close()

    def tell(self, kind: str, **fields: Any) -> None:
        """An event of the trace that no broker wrote."""
        self._record(None, kind, fields)

    def _fault(self, name: str, **fields: Any) -> None:
        self.tell("fault", fault=name, **fields)

    def _on_crash(self, host: Host) -> None:
        assert host.error is not None
        self.crashes.append((host.id, host.error))

    def _record(self, host: Host | None, kind: str, fields: dict[str, Any]) -> None:
        """Append an event, as broker/trace.py would write it, and tell the listeners."""
        now = self.loop.timeline.clock
        key = (host.id, host.incarnation) if host is not None else (0, 0)
        number = self._numbers[key] = self._numbers.get(key, 0) + 1
        wall = host.env.wall_ms() if host is not None and host.env is not None else EPOCH_MS + int(now * 1000)
        event = {"t": round(now, 6), "w": wall, "b": key[0], "i": key[1], "n": number, "k": kind, **fields}
        self.events.append(event)
        for listener in self.listeners:
            listener(event)

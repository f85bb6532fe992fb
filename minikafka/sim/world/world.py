"""The seeded world: a cluster of the very brokers that run live, on virtual time, a network and disks in memory.

    world = World(seed=7)
    world.run(story(world))         # async def story(world): await world.start(); world.kill(1); ...

Owns: the hosts, the merged trace, the clients' process. The faults are in breakable.py.
Invariants: I-WORLD-1 a run is a function of the seed and the story: no wall clock, no sockets, no threads.
            I-WORLD-2 random numbers come in streams with names, so that one more draw in one place changes no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Coroutine, Sequence
from random import Random
from typing import Any, TypeVar

from minikafka.broker.broker import Broker
from minikafka.broker.config.effective import BrokerConfig
from minikafka.cluster.plan import FIRST_CONTROLLER, VOTERS_WHEN_COMBINED
from minikafka.cluster.settings import PRESETS, as_text, internal_topics
from minikafka.sim.world.breakable import Breakable
from minikafka.sim.world.clock import EPOCH_MS
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.host import Host, host_name
from minikafka.sim.world.log_lines import keep_log_lines
from minikafka.sim.world.loop import DEAD, PAUSED, RUNNING, SimLoop, Timeline
from minikafka.sim.world.net import SimNetwork

T = TypeVar("T")
Event = dict[str, Any]

CLIENTS = "clients"
CLIENT_PORT, INTERNAL_PORT = 9092, 9093
POLL = 0.005  # seconds between two questions of `until`
RESUMED = 0.01  # seconds in which a resumed node may find that it must end: its disk was full, for example
QUIET = {"metadata.max.idle.interval.ms": "0"}  # or a record without effect would be most of what happens
FEW_PARTITIONS = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"}


def trace_hash(events: list[Event], ending: tuple[Any, ...]) -> str:
    """Return the hash of a run with these events and this World.ending."""
    return hashlib.sha256(repr((events, *ending)).encode()).hexdigest()


class World(Breakable):
    """A cluster of `brokers` nodes with ids from 1, the first of them voters too, or with `controllers` other voters (101...).

    `config` holds Kafka's settings, the same for every node; internal topics have two partitions, and an idle
    controller writes nothing, unless it says otherwise. `racks` names the rack of each broker. Worlds on one `timeline` have one
    clock, and a `port` of its own makes the addresses of each its own.
    """

    def __init__(self, seed: int | str, *, brokers: int = 3, controllers: int | None = None,
                 config: dict[str, Any] | None = None, preset: str | None = "class",
                 racks: Sequence[str] | None = None, timeline: Timeline | None = None, port: int = CLIENT_PORT) -> None:
        keep_log_lines()
        self.seed, self.port = seed, port
        self._chance: dict[str, Random] = {}
        self.loop = SimLoop(seed, timeline)
        self._began = self.loop.timeline.clock
        self.net = SimNetwork(self.loop, self.rng("net"))
        self.events: list[Event] = []
        self.listeners: list[Callable[[Event], None]] = []
        self.after_step = self.loop.timeline.after_step
        self.crashes: list[tuple[int, BaseException]] = []  # brokers that ended by an error of their own, and the error
        self._numbers: dict[tuple[int, int], int] = {}
        self._clients: dict[str, SimEnv] = {}
        self.settings = {**QUIET, **FEW_PARTITIONS, **internal_topics(brokers), **PRESETS[preset], **as_text(config or {})}
        self.hosts: dict[int, Host] = {}
        voters = VOTERS_WHEN_COMBINED.get(brokers, 5)
        roles = {n: ["broker"] + ["controller"] * (controllers is None and n <= voters) for n in range(1, brokers + 1)}
        roles |= {FIRST_CONTROLLER + n: ["controller"] for n in range(controllers or 0)}
        self._voters = [n for n, role in roles.items() if "controller" in role]
        for (node, role), rack in zip(roles.items(), [*(racks or []), *[None] * len(roles)]):
            self._add(node, role, rack)

    def _add(self, node: int, roles: list[str], rack: str | None) -> Host:
        name = host_name(node)
        clients = [f"PLAINTEXT://{name}:{self.port}"] if "broker" in roles else []
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
        host = self.hosts[node] = Host(node, self.seed, self.loop.timeline, self.net, config, self._record, self._on_crash)
        return host

    # --- what there is ----------------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[int]:
        """Return the ids of all nodes."""
        return list(self.hosts)

    @property
    def brokers(self) -> list[int]:
        """Return the ids of the brokers."""
        return [n for n, host in self.hosts.items() if "broker" in host.config["process.roles"]]

    @property
    def alive(self) -> list[int]:
        """Return the ids of the nodes whose process runs and is not paused."""
        return [n for n, host in self.hosts.items() if host.state is RUNNING]

    @property
    def bootstrap(self) -> list[tuple[str, int]]:
        return [(host_name(n), self.port) for n in self.brokers]

    def broker(self, node: int) -> Broker | None:
        """Return the running (or paused) broker, None if it is dead."""
        return self.hosts[node].broker

    def controller(self) -> int | None:
        """Return the node that leads the quorum in the highest epoch, None if none leads."""
        leading = [(b.quorum.epoch, n) for n in self.nodes if (b := self.broker(n)) is not None and b.quorum.is_leader]
        return max(leading)[1] if leading else None

    def rng(self, name: str) -> Random:
        """Return the stream of chance of that name."""
        if name not in self._chance:
            self._chance[name] = Random(f"{self.seed}:{name}")
        return self._chance[name]

    def client_env(self, name: str = CLIENTS) -> SimEnv:
        """Return the Env of a client's host. All clients run in the process that `run` runs; `name` is for cuts."""
        if name not in self._clients:
            self._clients[name] = SimEnv(self.loop, self.net, SimDisk(), f"{self.seed}:{name}", name,
                                         trace=lambda kind, **fields: self._record(None, kind, fields))
        return self._clients[name]

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Return the exceptions that no code caught, of the clients and of the brokers (see loop.errors)."""
        return [*self.loop.errors, *(e for host in self.hosts.values() for e in host.errors)]

    # --- time -------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Return the seconds since the world began."""
        return self.loop.timeline.clock - self._began

    def run(self, story: Coroutine[Any, Any, T]) -> T:
        """Drive the world until the story ends; return its result, raise what it raises, RuntimeError on a deadlock."""
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

    # --- life of the cluster ----------------------------------------------------------------------------------

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

    async def mend(self, timeout: float = 60.0, gone: Collection[int] = ()) -> None:
        """Heal links and disks, resume paused nodes and boot dead ones except those in `gone`; return when all are ready."""
        self.heal()
        paused = [node for node, host in self.hosts.items() if host.state is PAUSED]
        for node in paused:
            self.resume(node)
        if paused:
            await self.sleep(RESUMED)
        for node, host in self.hosts.items():
            if host.state is DEAD and node not in gone:
                self.boot(node)
        await self.ready(timeout)

    async def call(self, node: int, coro: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine of a broker inside its process; ConnectionError if that dies before."""
        answer: T = await self.hosts[node].call(coro, self.loop)
        return answer

    async def add_broker(self, rack: str | None = None) -> int:
        """Add a broker that does not vote; return its id when it is ready."""
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
        """Start nodes that ended (running ones are stopped first), several of them together; return when they are
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
        """Shut a node down in a controlled way; return when the process has ended. Raises ConnectionError if it is killed
        meanwhile, and the error that it dies of at its end (a full disk: OSError, KafkaError)."""
        host = self.hosts[node]
        assert host.state is RUNNING, f"node {node} is {host.state}"
        self._fault("stop", node=node)
        try:
            if host.broker is not None:
                await self.call(node, host.broker.stop())
        except ConnectionError:
            raise
        except Exception as error:
            host.die_of(error)
            raise
        host.end()

    # --- the trace --------------------------------------------------------------------------------------------

    def trace_hash(self) -> str:
        """Return a hash that is equal for equal runs, to the last byte sent and the last callback run."""
        return trace_hash(self.events, self.ending())

    def ending(self) -> tuple[Any, ...]:
        """Return the numbers in which two runs differ that have the same events, and sent other bytes or ran other callbacks."""
        return self.net.digest, self.loop.timeline.steps, self.now(), self.net.rng.getstate()

    def close(self) -> None:
        """Free everything; the clients' process ends too."""
        for host in self.hosts.values():
            host.close()
        self.loop.kill()
        self.loop.forget()

    def tell(self, kind: str, **fields: Any) -> None:
        """Record an event of the trace that no broker wrote."""
        self._record(None, kind, fields)

    def _on_crash(self, host: Host) -> None:
        assert host.error is not None
        self.crashes.append((host.id, host.error))

    def _record(self, host: Host | None, kind: str, fields: dict[str, Any]) -> None:
        """Append an event, as broker/server/trace.py would write it, and call the listeners."""
        now = self.now()
        key = (host.id, host.incarnation) if host is not None else (0, 0)
        number = self._numbers[key] = self._numbers.get(key, 0) + 1
        wall = host.env.wall_ms() if host is not None and host.env is not None else EPOCH_MS + int(now * 1000)
        event = {"t": round(now, 6), "w": wall, "b": key[0], "i": key[1], "n": number, "k": kind, **fields}
        self.events.append(event)
        for listener in self.listeners:
            listener(event)

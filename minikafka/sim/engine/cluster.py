"""`Cluster(engine="sim", seed=7)`: the live cluster's interface over a seeded world.

The calls block as they do live, but the world's time passes only inside them: each call drives the world until it is done.
The same seed and the same calls give the same outcome, to the last offset and the last millisecond.

    with Cluster(engine="sim", seed=7) as c:
        producer = c.producer()
        partition, offset = producer.send("flights", "a value")
        c.kill(c.leader("flights", partition))

Owns: the world, and the translation of the live cluster's calls to it.
Invariants: the public names of the live cluster are all here, with the same arguments and errors.
What differs: clients are the world's own (`producer`, `consumer`, `admin`), and no socket leads in from outside; there are no
folders and no process ids; all chance comes from the seed.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from minikafka.broker.config.effective import BrokerConfig
from minikafka.client import Admin, Blocking, Consumer, Producer
from minikafka.cluster.cluster import Cluster
from minikafka.cluster.errors import BrokerDied, Closed, ClusterError, NotReady, NotSupported
from minikafka.cluster.faults import CLIENTS, Peer
from minikafka.cluster.settings import preset_values
from minikafka.cluster.trace import Trace, order
from minikafka.cluster.watch import RecordNumbers
from minikafka.cluster.wire import PartitionInfo
from minikafka.cluster.words import in_words
from minikafka.sim.engine.watched import Told
from minikafka.sim.world.host import Host
from minikafka.sim.world.log_lines import keep_log_lines
from minikafka.sim.world.loop import DEAD, PAUSED, RUNNING
from minikafka.sim.world.world import FEW_PARTITIONS, World

T = TypeVar("T")
POLL = 0.05  # virtual seconds between two questions of `wait`, as live


class SimCluster(Cluster):
    """A cluster in a world of its own; `world` is that world, for callers that read it or break more."""

    passing: Any = None  # lets time pass after a button of the picture; only a cluster in a browser's page has one

    def __init__(self, brokers: int = 3, config: dict[str, Any] | None = None, preset: str | None = None,
                 data: str | Path | None = None, engine: str = "sim", controllers: int | None = None,
                 racks: Sequence[str] | None = None,
                 listeners: Mapping[str, str | tuple[str, str]] | None = None, security: str | None = None,
                 seed: int = 0) -> None:
        if data is not None:
            raise NotSupported("a simulated cluster keeps no files; the same seed gives the same cluster again")
        if listeners is not None:
            raise NotSupported("a simulated broker has one listener for clients; Cluster(brokers=3) can have more")
        if security is not None:
            raise NotSupported("a simulated broker has no sockets to close; Cluster(brokers=3) takes security=...")
        if racks is not None and len(racks) != brokers:
            raise ValueError(f"{len(racks)} racks for {brokers} brokers: name one for each")
        preset_values(preset)
        keep_log_lines(logging.INFO)
        defaults = BrokerConfig({"node.id": "1"})
        as_live = {name: defaults[name] for name in FEW_PARTITIONS}
        self._closed = False
        self.turn = threading.RLock()  # held by each thread that drives or breaks the world
        self._told = 0  # deaths that were reported
        self._late: list[BaseException] = []  # errors of faults set by `at`
        self._clients = 0
        self.seed = seed
        self.world = World(seed, brokers=brokers, controllers=controllers, config=as_live | (config or {}),
                           preset=preset, racks=racks, **self._place())
        self.world.after_step.append(self._look)
        self._record_numbers = RecordNumbers()
        self._made()
        self.run(self.world.start())

    def _place(self) -> dict[str, Any]:
        """Return the timeline and the port of its world: none that another world has."""
        return {}

    def _made(self) -> None:
        """Do what else its world needs before it starts."""

    def run(self, story: Coroutine[Any, Any, T]) -> T:
        """Drive the world until a coroutine is done. Raises NotReady where something took too long in the world."""
        try:
            self._check()
            with self.turn:
                return self.world.run(story)
        except ClusterError:
            story.close()
            raise
        except TimeoutError as late:
            logs = "\n".join(f"--- node {n}:\n{self.log(n, 8)}" for n in self.world.nodes)
            raise NotReady(f"{late}\n{logs}") from late

    # --- clients ----------------------------------------------------------------------------------------------

    def producer(self, **settings: Any) -> Any:
        """Return a producer in this world, its calls blocking; settings as `client.Producer` takes them."""
        return self._client(Producer, "producer", settings)

    def consumer(self, *topics: str, **settings: Any) -> Any:
        """Return a consumer in this world, its calls blocking; settings as `client.Consumer` takes them."""
        return self._client(Consumer, "consumer", {"topics": list(topics), **settings} if topics else settings)

    def admin(self, **settings: Any) -> Any:
        """Return an admin client in this world, its calls blocking."""
        return self._client(Admin, "admin", settings)

    def _client(self, kind: Callable[..., Any], name: str, settings: dict[str, Any]) -> Any:
        self._check()
        self._clients += 1
        settings.setdefault("name", f"{name}-{self._clients}")
        with self.world.loop.entered():
            made = kind(self.world.client_env(), self.world.bootstrap, **settings)
        return Blocking(self.run, made)

    def watch(self, client: Any, name: str | None = None) -> Any:
        """Have a client made here write to the trace what it sends and reads; return the client."""
        if not isinstance(client, Blocking) or not hasattr(client, "recorder"):
            raise TypeError("watch() in a simulated cluster takes only clients that this cluster made")
        recorder = client.recorder
        recorder.history = Told(self.world, name or recorder.process, recorder.history, self._record_numbers)
        return client

    # --- what there is ----------------------------------------------------------------------------------------

    @property
    def engine(self) -> str:
        return "sim"

    @property
    def bootstrap(self) -> str:
        return ",".join(self.address(n) for n in self.ids)

    @property
    def ids(self) -> list[int]:
        return self.world.brokers

    @property
    def alive(self) -> list[int]:
        return [n for n in self.world.alive if n in self.ids]

    def address(self, broker: int, listener: str | None = None) -> str:
        if listener is not None:
            raise NotSupported(f"a simulated broker has one listener for clients, and none named {listener}")
        return f"{self._host(broker).name}:{self.world.port}"

    def controller(self) -> int | None:
        self._check()
        known = [(b.quorum.epoch, b.quorum.leader_id) for n in self.world.alive
                 if (b := self.world.broker(n)) is not None and b.quorum.leader_id >= 0]
        return max(known)[1] if known else None

    def partitions(self, *topics: str) -> dict[str, PartitionInfo]:
        self._check()
        best: dict[str, tuple[tuple[int, bool], PartitionInfo]] = {}
        for node in self.alive:
            broker = self.world.broker(node)
            assert broker is not None
            for p in broker.image.partitions():
                rank, name = (p.leader_epoch, p.leader == node), f"{p.topic}-{p.index}"
                if (not topics or p.topic in topics) and (name not in best or rank > best[name][0]):
                    best[name] = rank, PartitionInfo(p.leader, p.leader_epoch, list(p.replicas), list(p.isr))
        return {name: found for name, (_, found) in best.items()}

    @property
    def trace(self) -> Trace:
        return SimTrace(self.world)

    def pid(self, node: int) -> int:
        """Return a number that no process of this machine has: node and incarnation."""
        return 1000 * node + self._host(node).incarnation

    def log(self, node: int, lines: int = 20) -> str:
        return "\n".join(list(self._host(node).loop.lines)[-lines:])

    # --- faults -----------------------------------------------------------------------------------------------

    def kill(self, node: int) -> None:
        self._host(node)
        self.world.kill(node)

    def powerloss(self, node: int) -> None:
        """Cut the power of a node: unsynced bytes are at risk, and no peer gets a reset."""
        self._host(node)
        self.world.powerloss(node)

    def stop(self, node: int) -> None:
        host = self._host(node)
        if host.state is PAUSED:
            raise ClusterError(f"node {node} is paused: resume it before stopping it")
        if host.state is RUNNING:
            self.run(self.world.stop(node))

    def pause(self, node: int) -> None:
        if self._host(node).state is DEAD:
            raise ClusterError(f"node {node} is not running")
        if self._host(node).state is RUNNING:
            self.world.pause(node)

    def resume(self, node: int) -> None:
        if self._host(node).state is DEAD:
            raise ClusterError(f"node {node} is not running")
        self.world.resume(node)

    def restart(self, *nodes: int) -> None:
        for node in nodes:
            self.stop(node)
        with self._deaths_told():
            self.run(self.world.restart(*nodes))

    def wipe(self, broker: int) -> None:
        if self._host(broker).state is not DEAD:
            raise ClusterError(f"broker {broker} is running: kill or stop it before its disk is wiped")
        self.world.wipe(broker)

    def mend(self) -> None:
        with self._deaths_told():
            self.run(self.world.mend())

    def add_broker(self, rack: str | None = None) -> int:
        return self.run(self.world.add_broker(rack))

    def cut(self, a: Peer, b: Peer, one_way: bool = False) -> None:
        self.world.cut(self._end_of(a), self._end_of(b), one_way)

    def slow(self, a: Peer, b: Peer, latency: float = 0.0, bandwidth: float = 0.0) -> None:
        self.world.slow(self._end_of(a), self._end_of(b), latency, bandwidth)

    def heal(self) -> None:
        self._check()
        self.world.heal()

    def hold_follower(self, broker: int) -> None:
        self._host(broker)
        self.world.hold_follower(broker)

    def slow_follower(self, broker: int, rate: float) -> None:
        self._host(broker)
        self.world.slow_follower(broker, rate)

    def fill_disk(self, broker: int, free: int = 0) -> None:
        self._host(broker)
        self.world.fill_disk(broker, free)

    def jump_clock(self, broker: int, seconds: float) -> None:
        self._host(broker)
        self.world.jump_clock(broker, seconds)

    # --- time -------------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self.world.now()

    def time_passes(self) -> None:
        """Say that somebody lets this cluster's time pass in any case: a button has nothing to add."""
        self.passing = None

    def sleep(self, seconds: float) -> None:
        self.run(self.world.sleep(seconds))
        self._check()

    def wait(self, condition: Callable[[], Any], timeout: float = 10.0) -> Any:
        until = self.now() + timeout
        while not (answer := condition()):
            if self.now() >= until:
                raise NotReady(f"waited {timeout:g} s in vain for: {in_words(condition)}; the last answer was {answer!r}")
            self.sleep(POLL)
        return answer

    def at(self, when: float, fault: Callable[[], Any]) -> None:
        self._check()
        self.world.loop.call_later(max(0.0, when - self.now()), self._strike, fault)

    def _strike(self, fault: Callable[[], Any]) -> None:
        try:
            fault()
        except BaseException as error:
            self._late.append(error)

    # --- the end ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the world. Raises BrokerDied if a broker had died unnoticed."""
        if self._closed:
            return
        deaths = self._deaths()
        self._end()
        if deaths:
            raise BrokerDied("\n".join(deaths))

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self.alive)} of {len(self.ids)} brokers running"
        return f"<Cluster engine=sim seed={self.seed} {state} t={self.now():.3f}>"

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            self.world.close()
            self._tell_notebook()

    # --- inside -----------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Raise, after a step, an error of a client's own code where the caller waits for that client."""
        if self.world.loop.errors:
            raise self.world.loop.errors.pop(0)["exception"]

    def _check(self) -> None:
        """Raise an error if the cluster is closed, a broker died by itself, or a fault set by `at` or a client failed."""
        if self._closed:
            raise Closed("this cluster is closed")
        if deaths := self._deaths():
            raise BrokerDied("\n".join(deaths))
        if self._late:
            raise self._late.pop(0)
        crashed = self.world.client_env().crashed
        if crashed.done() and (error := crashed.exception()) is not None:
            raise error

    def _deaths(self) -> list[str]:
        new, self._told = self.world.crashes[self._told :], len(self.world.crashes)
        # A full disk ends a broker, so the call that filled the disk causes this death too.
        unasked = [(n, error) for n, error in new if self.world.hosts[n].disk.free is None]
        return [f"node {n} died ({error!r}). The end of its log:\n{self.log(n)}" for n, error in unasked]

    @contextmanager
    def _deaths_told(self) -> Iterator[None]:
        """Raise the error of a broker's death first: it explains the other errors that the death led to."""
        try:
            yield
        except (RuntimeError, NotReady):
            self._check()
            raise

    def _host(self, node: int) -> Host:
        self._check()
        if node not in self.world.hosts:
            raise ClusterError(f"there is no node {node}; there are {self.world.nodes}")
        return self.world.hosts[node]

    def _end_of(self, peer: Peer) -> Peer:
        return peer if peer == CLIENTS else self._host(peer).id  # type: ignore[arg-type]


class SimTrace(Trace):
    """The world's events as a trace; reading it takes no virtual time."""

    def __init__(self, world: World) -> None:
        super().__init__("")
        self._world = world
        self._seen = 0

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        found = (e for e in self._world.events if not kinds or e["k"] in kinds)
        return sorted(json.loads(json.dumps(list(found), default=str)), key=order)

    def new(self) -> list[dict[str, Any]]:
        fresh = self._world.events[self._seen :]  # one thread may read while another drives the world
        self._seen += len(fresh)
        return sorted(json.loads(json.dumps(fresh, default=str)), key=order)

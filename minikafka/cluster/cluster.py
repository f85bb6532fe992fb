"""A cluster of brokers as one object, with the same calls for every engine: start it, break it, observe it.

    with Cluster(brokers=3) as c:
        c.kill(1); c.wait(lambda: c.leader("flights", 0) != 1); c.restart(1)

Owns the folder (a temporary one is removed at the end), and the parts of a cluster: its processes and standing faults
(nodes.py), its time (clock.py), its trace. Every public method may be called from any thread.

Invariants
    I-CLUSTER-1  A cluster is ready when every broker answers, over the wire, that every broker is registered and unfenced,
                 and a controller leads. The cluster polls; it never sleeps for a guessed time.
    I-CLUSTER-2  If a broker ends that no call has ended, the next call raises BrokerDied (I-NODES-1).
    `close` and the end of this process, however it comes, end every broker (process.py).
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from minikafka.machine.files import plain

from . import wire
from .checkpoint import CheckpointWatcher
from .clock import Clock
from .closed import ClosedFolder
from .errors import BrokerDied, Closed, ClusterError, NotReady, NotSupported
from .faults import CLIENTS, Peer
from .folder import temporary_folder
from .nodes import Nodes
from .plan import NodePlan, Plan, new_plan, open_plan
from .poll import Poller
from .process import Child
from .security import OPEN, Address, Security
from .settings import as_text, internal_topics, make_engine, preset_values
from .trace import Trace, TraceWriter
from .watch import RecordNumbers, watch

SIMULATOR = "minikafka.sim.engine.cluster"  # loaded by name: the simulator knows this module, not the other way round
READY_WITHIN = 90.0  # seconds; three Java machines on a busy two-core machine
STOP_WITHIN = 60.0  # a controlled shutdown hands over its leaders first


class Cluster:
    """Brokers on this machine's loopback; `engine` is "minikafka" (ours) or "apache" (Apache Kafka from its jars).

    `Cluster(engine="sim", seed=7)` is the same interface over a seeded world in memory (minikafka/sim/engine/cluster.py).

    `config` takes Kafka's own names and is the same for every broker; `preset="class"` shortens times so that failures
    show within seconds. `controllers=3` makes the quorum processes of its own (ids 101 to 103). `racks=["a", "b", "b"]`
    says where each broker stands (broker.rack). `listeners={"LAB": "127.0.0.2"}` gives each broker one more listener for
    clients; after `{"LAB": ("127.0.0.2", "kafka.example")}` clients learn another address than the one that is bound.
    `security` closes it: "tls", "scram" or "tls+scram" (closed.py); `for_kafka_python()` and so on are how clients connect.
    `data` names a folder to keep; without it the files go with the cluster. Raises NotReady, BrokerDied, JarsMissing or
    NoJava.
    """

    security: Security = OPEN  # the security settings that clients need
    without_processes: type[Cluster] | None = None  # the class of clusters where no process can be started (minikafka/lab/page)

    def __new__(cls, *args: Any, **kwargs: Any) -> Cluster:
        engine = kwargs.get("engine", args[4] if len(args) > 4 else None)
        if cls is Cluster and engine == "sim":
            return super().__new__(import_module(SIMULATOR).SimCluster)
        if cls is Cluster and cls.without_processes is not None:
            return super().__new__(cls.without_processes)
        return super().__new__(cls)

    def __init__(self, brokers: int = 3, config: dict[str, Any] | None = None, preset: str | None = None,
                 data: str | Path | None = None, engine: str = "minikafka", controllers: int | None = None,
                 racks: Sequence[str] | None = None,
                 listeners: Mapping[str, str | tuple[str, str]] | None = None, security: str | None = None) -> None:
        settings = {**internal_topics(brokers), **preset_values(preset), **as_text(config or {})}
        self._temporary = data is None
        self._lock_file: int | None = None
        # A folder of another engine is refused first, before 56 MB are fetched.
        kept = open_plan(plain(Path(data).resolve()), engine, settings) if data is not None else None
        self._engine = make_engine(engine)
        if data is None:
            folder, self._lock_file = temporary_folder()
        else:
            folder = plain(Path(data).resolve())
        self.plan: Plan = kept or new_plan(folder, engine, brokers, controllers, settings)
        if security is not None:
            self.plan.close_doors(security)
        if racks is not None:
            self.plan.place(racks)
        if listeners is not None:
            self.plan.open_more(listeners)
        self._prepare(folder)
        closed = ClosedFolder(self.plan)
        closed.make()
        self.security = closed.for_clients()
        self.plan.reserve()
        try:
            self._nodes.start(self.plan.nodes.values())
            self._await_ready(self.plan.brokers)
        except BaseException:
            self._end()
            raise

    @classmethod
    def connect(cls, bootstrap: str, **security: Any) -> Cluster:
        """Return an existing Kafka, one's own or a managed one, behind the same interface; faults raise NotSupported.

        `security`: the security settings that clients need, by kafka-python's names (security.py): `security_protocol="SASL_SSL",
        sasl_mechanism="PLAIN", sasl_plain_username=..., sasl_plain_password=..., ssl_cafile=...`.
        """
        from .remote import RemoteCluster
        return RemoteCluster(bootstrap, security)

    def _prepare(self, folder: Path) -> None:
        """Make the parts that need no process: the bookkeeping, and the cluster's own part of the trace."""
        self.folder = folder
        self.plan.trace.mkdir(parents=True, exist_ok=True)
        self._closed = False
        self._poller: Poller | None = None
        self._clock = Clock(self._check)
        self._record_numbers = RecordNumbers()
        self.members: dict[str, Any] = {}  # by name, with kill(), pause(), resume() and `state`: what the control bar may kill
        number = len(list(self.plan.trace.glob("cluster.*.trace"))) + 1
        self._writer = TraceWriter(self.plan.trace / f"cluster.{number:04}.trace")
        self._nodes = Nodes(self.plan, self._engine, self._writer)
        self._faults = self._nodes.faults
        self._struck = False  # by a fault since the last `mend`

    # --- state --------------------------------------------------------------------------------------------------

    @property
    def engine(self) -> str:
        return self._engine.name

    @property
    def bootstrap(self) -> str:
        """Return every broker's address, as clients take it for `bootstrap_servers`. Raises Closed after close()."""
        self._check_open()
        return ",".join(node.address for node in self.plan.brokers)

    def for_kafka_python(self) -> dict[str, Any]:
        """Return the settings with which a client of kafka-python connects: `KafkaProducer(**cluster.for_kafka_python())`."""
        return {"bootstrap_servers": self.bootstrap, **self.security.kafka_python()}

    def for_confluent(self) -> dict[str, Any]:
        """Return the same for confluent-kafka: `Producer(cluster.for_confluent())`."""
        return {"bootstrap.servers": self.bootstrap, **self.security.librdkafka()}

    def for_spark(self, source: str = "kafka") -> dict[str, str]:
        """Return the same for Spark: `spark.readStream.format(source).options(**cluster.for_spark(source))`."""
        return {"kafka.bootstrap.servers": self.bootstrap, **self.security.spark(source)}

    def for_java(self) -> dict[str, str]:
        """Return the same by Java's names: lines for a file that `kafka-topics.sh` takes after --command-config."""
        return {"bootstrap.servers": self.bootstrap, **self.security.java()}

    @property
    def ids(self) -> list[int]:
        """Return the brokers' ids."""
        return [node.id for node in self.plan.brokers]

    @property
    def alive(self) -> list[int]:
        """Return the ids of brokers whose process runs and is not paused."""
        alive = self._nodes.alive
        return [broker for broker in self.ids if broker in alive]

    def address(self, broker: int, listener: str | None = None) -> str:
        """Return host:port at which one broker listens for clients, on the listener of that name. Raises Closed."""
        self._check_open()
        node = self._node(broker)
        return Address.of(node.address if listener is None else node.more[listener.upper()].bound, self.security)

    def controller(self) -> int | None:
        """Return the id of the node that leads the quorum; None if none does (as far as the living brokers know)."""
        self._check()
        leaders = [found for broker in self.alive if (found := self._ask(wire.quorum_leader, broker))]
        if leaders:
            return max(leaders, key=lambda leader: leader[1])[0]
        led = self.trace.last("raft", role="leader")
        return led["b"] if led and self._nodes.runs(led["b"]) else None

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """Return the id of a partition's leader; None if it has none, or no living broker knows the partition."""
        found = self.partitions(topic).get(f"{topic}-{partition}")
        return found.leader if found and found.leader >= 0 else None

    def isr(self, topic: str, partition: int = 0) -> list[int]:
        """Return the ids of a partition's in-sync replicas."""
        found = self.partitions(topic).get(f"{topic}-{partition}")
        return found.isr if found else []

    def partitions(self, *topics: str) -> dict[str, wire.PartitionInfo]:
        """Return leader, epoch, replicas and ISR by "topic-partition", from the living broker with the newest metadata: each
        broker is asked, for one that is cut off has old metadata."""
        self._check()
        best: dict[str, tuple[tuple[int, bool], wire.PartitionInfo]] = {}
        for broker in self.alive:
            for tp, found in (self._ask(wire.partitions, broker, list(topics) or None) or {}).items():
                rank = found.epoch, found.leader == broker  # the leader is the first to know its ISR
                if tp not in best or rank > best[tp][0]:
                    best[tp] = rank, found
        return {tp: found for tp, (_, found) in best.items()}

    @property
    def trace(self) -> Trace:
        """Return the merged events so far. If the brokers write no trace, the first call starts to poll them."""
        if not self._engine.traces and self._poller is None:
            self._poller = Poller(self, self._writer)
        self._writer.flush()
        return Trace(self.plan.trace)

    def pid(self, node: int) -> int:
        """Return the process id of a node's last start."""
        return self._child(node).pid

    def log(self, node: int, lines: int = 20) -> str:
        """Return the end of a node's log file."""
        return self._child(node).last_lines(lines)

    # --- faults of processes ------------------------------------------------------------------------------------

    def kill(self, node: int) -> None:
        """Kill the node's process with SIGKILL (kill -9)."""
        with self._fault("kill", node):
            self._child(node).kill()

    def stop(self, node: int) -> None:
        """Shut the node down in a controlled way (SIGTERM); return when its process has ended."""
        with self._fault("stop", node):
            child = self._child(node)
            if child.paused:
                raise ClusterError(f"node {node} is paused: resume it before stopping it")
            if not child.end(signal.SIGTERM, STOP_WITHIN):
                raise NotReady(f"node {node} did not stop within {STOP_WITHIN:.0f} s:\n{child.last_lines()}")

    def pause(self, node: int) -> None:
        """Pause the process (SIGSTOP): it keeps its connections and its memory, and does nothing."""
        with self._fault("pause", node):
            self._nodes.running(self._node(node).id).pause()

    def resume(self, node: int) -> None:
        """Let a paused process go on (SIGCONT); it carries out the faults that came meanwhile."""
        with self._fault("resume", node):
            self._nodes.resume(self._node(node).id)

    def restart(self, *nodes: int) -> None:
        """Start nodes that ended, together (running ones are stopped first); return when all are registered and unfenced. A
        quorum that lost its majority comes back only if enough of its voters start together."""
        with self._nodes.lock:
            for node in nodes:
                if self._nodes.runs(node):
                    self.stop(node)
            for node in nodes:
                with self._fault("restart", node):
                    self._nodes.start([self._node(node)])
        self._await_ready([self._node(node) for node in nodes])

    def wipe(self, broker: int) -> None:
        """Empty the data folder of a broker that does not run: a new disk. The metadata folder stays."""
        with self._fault("wipe", broker):
            if self._nodes.runs(broker):
                raise ClusterError(f"broker {broker} is running: kill or stop it before its disk is wiped")
            data = self._node(broker).data
            shutil.rmtree(data)
            data.mkdir(mode=0o700)

    def mend(self) -> None:
        """Undo all faults: heal, resume paused nodes, restart ended ones; return when these brokers are unfenced again.
        Without a fault since the last call, and while every node runs, nothing is undone."""
        self._check()
        if not self._struck and len(self._nodes.alive) == len(self._nodes.children):
            return
        if self._engine.link_faults:
            self.heal()
        paused = [node for node, child in self._nodes.children.items() if child.paused and child.alive]
        for node in paused:
            self.resume(node)
        self.restart(*(node for node, child in self._nodes.children.items() if not child.alive))
        if paused:
            self._await_ready([self._node(node) for node in paused])
        self._struck = False

    def add_broker(self, rack: str | None = None) -> int:
        """Add a broker, which does not vote; return its id when it is ready."""
        with self._nodes.lock:
            node = self.plan.add_broker(rack)
            with self._fault("add_broker", node.id):
                self._nodes.start([node])
        self._await_ready([node])
        return node.id

    # --- faults inside our brokers ------------------------------------------------------------------------------

    def cut(self, a: Peer, b: Peer, one_way: bool = False) -> None:
        """Hold all bytes between two nodes, or "clients" and a node; `one_way` only those from `a` to `b`."""
        self._inner("cut", self._faults.cut, self._peer(a), self._peer(b), one_way)

    def slow(self, a: Peer, b: Peer, latency: float = 0.0, bandwidth: float = 0.0) -> None:
        """Delay each direction by `latency` seconds, and let only `bandwidth` bytes a second through (0: no limit)."""
        self._inner("slow", self._faults.slow, self._peer(a), self._peer(b), latency, bandwidth)

    def heal(self) -> None:
        """End all faults inside brokers, except for jumps of the clock."""
        self._inner("heal", self._faults.heal)

    def hold_follower(self, broker: int) -> None:
        """Let a broker replicate nothing, while its heartbeats go on; ends with `heal`."""
        self._inner("hold_follower", self._faults.follower, self._node(broker).id, True, 0.0)

    def slow_follower(self, broker: int, rate: float) -> None:
        """Let a broker replicate only `rate` KiB a second; ends with `heal`."""
        self._inner("slow_follower", self._faults.follower, self._node(broker).id, False, rate * 1024)

    def fill_disk(self, broker: int, free: int = 0) -> None:
        """Leave only `free` bytes on a broker's disk: then a short write, then ENOSPC, which ends the broker. No call raises
        BrokerDied for that death; `heal` makes room again."""
        self._inner("fill_disk", self._faults.disk, self._node(broker).id, free)

    def jump_clock(self, broker: int, seconds: float) -> None:
        """Move a broker's wall clock; its monotonic clock goes on undisturbed."""
        self._inner("jump_clock", self._faults.clock, self._node(broker).id, seconds)

    # --- time ---------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Return the seconds since the cluster was made."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Let time pass. In tests prefer `wait`."""
        self._clock.sleep(seconds)

    def wait(self, condition: Callable[[], Any], timeout: float = 10.0) -> Any:
        """Call `condition` until its result is true, and return the result; raises NotReady after `timeout` seconds."""
        return self._clock.wait(condition, timeout)

    def at(self, when: float, fault: Callable[[], Any]) -> None:
        """Call `fault` when `now()` reaches `when`; its error is raised by the next call on the cluster."""
        self._clock.at(when, fault)

    def watch(self, client: Any, name: str | None = None) -> Any:
        """Write to the trace each record that a client of kafka-python, confluent-kafka or aiokafka sends or reads.

        Return the client to use from now on: `producer = c.watch(producer)`. For a Spark query give the folder of its
        checkpoint: the trace then gets the query's batches until you call `.stop()` of the object returned.
        """
        if isinstance(client, str | Path):
            return CheckpointWatcher(client, self._writer, name or Path(client).name, lambda: self._closed)
        return watch(client, self._writer, name, self._record_numbers)

    def view(self, tp: str | None = None, *, theme: str = "auto", controls: bool = True, size: str = "page",
             beside: bool = True, signs: int | None = None) -> Any:
        """Return the picture of this cluster in a notebook, live, with a control bar and the whole run to go back to.

        `tp` chooses a partition ("flights-0"); `theme` "auto", "light" or "dark"; `size` "page" or "projector". In
        JupyterLab it stands beside the text (`beside=False`: below its cell); where no widgets run it is a still picture
        (minikafka/lab/view). It has the signs that the labs up to number `signs` explain. None: those up to the lab whose
        notebook runs, elsewhere all; then its ledger is covered, too, while a guess of that lab waits for its answer.
        """
        from importlib import import_module  # the picture is a floor above: a cluster runs without it
        return import_module("minikafka.lab.view").view_of(self, tp, theme=theme, controls=controls, size=size, beside=beside,
                                                             signs=signs)

    # --- the end ------------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Return whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """End every process; a temporary folder goes too. Raises BrokerDied if a broker had died unnoticed."""
        if self._closed:
            return
        deaths = self._nodes.deaths()
        self._end()
        if deaths:
            raise BrokerDied("\n".join(deaths))

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:  # the error being raised matters more than what close() would add
            self._end()

    def __repr__(self) -> str:
        if self._closed:
            return f"<Cluster engine={self.engine} closed>"
        return f"<Cluster engine={self.engine} {len(self.alive)} of {len(self.ids)} brokers running bootstrap={self.bootstrap}>"

    def _end(self) -> None:
        with self._nodes.lock:
            if self._closed:
                return
            self._closed = True
        self._clock.close()
        if self._poller is not None:
            self._poller.close()
        self._writer.close()
        self._nodes.end(gently=not self._temporary)
        self.plan.release()
        self._tell_notebook()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    def _tell_notebook(self) -> None:
        """Let views read the last events before the trace is deleted, and let clients end; only in a notebook."""
        for listener in ("minikafka.lab.view.registry", "minikafka.lab.again"):
            if listener in sys.modules:
                sys.modules[listener].cluster_closed(self)

    # --- inside -------------------------------------------------------------------------------------------------

    def _await_ready(self, brokers: list[NodePlan]) -> None:
        """Wait until these brokers serve, and every running broker counts them as unfenced (I-CLUSTER-1)."""
        wanted = {node.id for node in brokers if node.broker}

        def ready() -> bool:
            """brokers that are registered and unfenced, and a controller that leads"""
            return self._is_ready(wanted)
        try:
            self._clock.wait(ready, READY_WITHIN)
        except NotReady as late:
            logs = "\n".join(f"--- node {n}:\n{self.log(n, 8)}" for n in self._nodes.children)
            raise NotReady(f"{late}\n{logs}") from None

    def _is_ready(self, wanted: set[int]) -> bool:
        asked = [broker for broker in self.ids if broker in wanted or broker in self.alive]
        for broker in asked:
            known = self._ask(wire.live_brokers, broker)
            if known is None or not wanted <= known.keys():
                return False
        return not asked or bool(self._ask(wire.controller_leads, asked[0]))

    def _ask(self, question: Callable[..., Any], broker: int, *args: Any) -> Any:
        """Return the answer of one broker, None if there is none."""
        try:
            return question(self.address(broker), *args)
        except OSError:
            return None

    def _inner(self, name: str, change: Callable[..., list[tuple[int, dict[str, Any]]]], *args: Any) -> None:
        """Change the book of standing faults, and send the change to the brokers concerned."""
        with self._fault(name, *args):
            if not self._engine.link_faults:
                raise NotSupported(f"{name}() works only inside our own brokers; engine {self.engine!r} offers kill, stop, "
                                   "pause, resume, restart, wipe and add_broker")
            self._nodes.tell(change(*args))

    @contextmanager
    def _fault(self, name: str, *args: Any) -> Iterator[None]:
        """Let no other call start or end a process during a fault, and write the fault to the trace."""
        self._check()
        with self._nodes.lock:
            self._struck = True
            yield
            self._writer("fault", fault=name, args=args)

    def _check(self) -> None:
        """Raise an error if the cluster is closed, a broker died by itself, or a fault set by `at` failed."""
        self._check_open()
        if deaths := self._nodes.deaths():
            raise BrokerDied("\n".join(deaths))
        self._clock.raise_error()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("this cluster is closed")

    def _node(self, node: int) -> NodePlan:
        if node not in self.plan.nodes:
            raise ClusterError(f"there is no node {node}; there are {sorted(self.plan.nodes)}")
        return self.plan.nodes[node]

    def _peer(self, peer: Peer) -> Peer:
        return peer if peer == CLIENTS else self._node(peer).id  # type: ignore[arg-type]

    def _child(self, node: int) -> Child:
        return self._nodes.children[self._node(node).id]

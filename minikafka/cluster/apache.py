"""The engine "apache": Apache Kafka itself, from its jars, as a judge of our brokers.

Owns: the properties that differ from ours, the formatting of its folders, the flags of its Java machines (small heaps, only
the fast compiler: three Java machines share one computer with the tests).

What differs from ours: the quorum has a listener of its own (CONTROLLER); no fault works inside a broker, so links cannot be
cut; the trace has the events of the cluster and its clients, and none from inside a broker.
"""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

from minikafka.machine.class_archive import ENDS_WITHIN, archive_for, make, options
from minikafka.machine.files import scratch, write_atomic
from minikafka.machine.jars import KAFKA, class_path, jars
from minikafka.machine.java import find_java

from .closed import ClosedFolder
from .engine import client_listeners, common_properties, listener, protocols, render
from .errors import ClusterError
from .plan import HOST, NodePlan, Plan, new_plan, random_id
from .process import Child, Launcher

# 1 GiB is the most, and rarely used: Kafka allocates 100 MB at once for a frame that claims them (socket.request.max.bytes).
JAVA_FLAGS = ["-Xms64m", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]
# Written into the metadata folder by Kafka's own tool; the same for every node, unlike meta.properties.
BOOTSTRAP = "bootstrap.checkpoint"
NODES_SHOW = "listener.name.internal.ssl.client.auth", "listener.name.controller.ssl.client.auth"  # a certificate
JWKS, ALLOWED = "sasl.oauthbearer.jwks.endpoint.url", "org.apache.kafka.sasl.oauthbearer.allowed.urls"  # Kafka reads no other
LOG4J = """\
Configuration:
  status: ERROR
  Appenders:
    Console: {name: out, PatternLayout: {pattern: "%d %p %m (%c{1})%n"}}
  Loggers:
    Root: {level: WARN, AppenderRef: {ref: out}}
    Logger:
      - {name: kafka.server.KafkaRaftServer, level: INFO}
      - {name: kafka.server.BrokerServer, level: INFO}
      - {name: org.apache.kafka.common.network.Selector, level: INFO}  # whose login fails
      - {name: kafka.authorizer.logger, level: INFO}                   # who is refused
"""


class Apache:
    """Starts `kafka.Kafka FILE` for a node. Raises JarsMissing or NoJava where it cannot."""

    name = "apache"
    link_faults = False
    traces = False

    def __init__(self) -> None:
        jars(KAFKA)  # fetched now, not in the middle of a start

    def prepare(self, plan: Plan, node: NodePlan) -> None:
        write_atomic(node.properties, render(self._properties(plan, node)))
        write_atomic(plan.folder / "log4j2.yaml", LOG4J)
        if empty := [folder for folder in (node.metadata, node.data) if not (folder / "meta.properties").exists()]:
            self._format(plan, node, empty)

    def start(self, plan: Plan, node: NodePlan, launcher: Launcher) -> Child:
        return launcher.start(self.command(plan, node), node.log, {})

    def command(self, plan: Plan, node: NodePlan) -> list[str]:
        """Return the command line of a node."""
        logging = f"-Dlog4j2.configurationFile={plan.folder / 'log4j2.yaml'}"
        urls = {url: None for name, url in self._properties(plan, node).items() if name.endswith(JWKS)}
        allowed = [f"-D{ALLOWED}={','.join(urls)}"] * bool(urls)
        return [*java(), logging, *allowed, "kafka.Kafka", str(node.properties)]

    def _properties(self, plan: Plan, node: NodePlan) -> dict[str, str]:
        clients, told = client_listeners(plan, node)
        internal = [listener("INTERNAL", node.internal)] * node.broker
        voters = [f"{voter.id}@{HOST}:{voter.control}" for voter in plan.voters]
        brokers_only = {"advertised.listeners": ",".join(told + internal), "inter.broker.listener.name": "INTERNAL"}
        return {
            **common_properties(plan, node),
            "listeners": ",".join(clients + internal + [listener("CONTROLLER", node.control)] * node.voter),
            "listener.security.protocol.map": protocols(plan, node, "SSL" if plan.security else "PLAINTEXT"),
            **(dict.fromkeys(NODES_SHOW, "required") if plan.security else {}),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": ",".join(voters),
            **(brokers_only if node.broker else {}),
        }

    def _format(self, plan: Plan, node: NodePlan, empty: list[Path]) -> None:
        """Format a node's empty folders: the first of a cluster by Kafka's own tool, the others as copies of the first.

        The tool costs a second per node, and its results differ between nodes only in two ids. A wiped data folder is
        formatted like a new one, as an operator does with a new disk.
        """
        example = next((other.metadata / BOOTSTRAP for other in plan.nodes.values()
                        if (other.metadata / BOOTSTRAP).exists()), None)
        if example is None:
            closed = ClosedFolder(plan)
            lines = closed.user.read_text().splitlines() if closed.scram else []
            user = [option for line in lines for option in ("--add-scram", line)]
            _run([*java(), "kafka.tools.StorageTool", "format", "-t", plan.cluster_id, "-c", str(node.properties), *user])
            return
        for folder in empty:
            (folder / BOOTSTRAP).write_bytes(example.read_bytes())
            properties = {"node.id": str(node.id), "directory.id": random_id(), "version": "1",
                          "cluster.id": plan.cluster_id}
            write_atomic(folder / "meta.properties", render(properties))


def java() -> list[str]:
    """Return the start of a command line for one of Kafka's classes: `[*java(), "kafka.Kafka", FILE]`."""
    return [str(find_java().executable), *JAVA_FLAGS, *options(archive()), "-cp", class_path(KAFKA)]


def make_archive() -> None:
    """Make the archive of a broker's classes, once for a machine: the next starts are shorter."""
    make("Apache Kafka", archive, _one_life)


def archive() -> Path:
    """Return the path of the archive for the Java and the jars of this machine, whether or not it is there."""
    return archive_for(KAFKA.folder / "classes", jars(KAFKA))


def _one_life(archiving: list[str], folder: Path) -> None:
    """Start a broker alone, and stop it when it serves; with `archiving` Java writes the archive at its end."""
    plan, engine = new_plan(folder, Apache.name, 1, None, {}), Apache()
    node = plan.nodes[1]
    engine.prepare(plan, node)
    program, *arguments = engine.command(plan, node)
    with subprocess.Popen([program, *archiving, *arguments], stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        late = threading.Timer(ENDS_WITHIN, broker.kill)
        late.start()
        try:
            if not any("Kafka Server started" in line for line in broker.stdout):
                raise ClusterError("the broker ended before it served")
            broker.terminate()
            broker.communicate()
        finally:
            late.cancel()


def _run(command: list[str]) -> None:
    """Run a program of Java. Its arguments go by a file: other users of this machine can read a command line (I-CLOSED-1)."""
    with scratch() as folder:
        write_atomic(folder / "arguments", "\n".join(command[1:]), 0o600)
        done = subprocess.run([command[0], f"@{folder / 'arguments'}"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise ClusterError(f"Apache Kafka's format failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")

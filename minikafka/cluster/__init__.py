"""One interface, several engines: our brokers as processes, Apache Kafka from its jars, an existing cluster, a simulated one.

    cluster.py     the interface: start, break, look, wait; errors.py: what it raises
    settings.py    engines by name, presets; plan.py: nodes, ports and folders, which survive restarts
    engine.py      how a node becomes a process: ours.py (our brokers), apache.py (Apache Kafka)
    nodes.py       the processes of a cluster; process.py: one of them, which ends with its parent (exec_with_parent_death.py)
    forked.py      our nodes are forked from one process that has imported everything
    faults.py      the faults that are in force, and the commands that tell brokers of them
    clock.py       now, sleep, wait, at; words.py: a condition in words
    folder.py      temporary folders, removed even after kill -9
    trace.py       the merged events of all processes
    watch.py       clients of three libraries that tell the trace what they do; checkpoint.py: the same for a Spark query
    wire.py        the few requests that a cluster itself sends; poll.py: events of brokers that write no trace
    remote.py      a cluster that somebody else runs
    closed.py      a cluster that needs TLS or a password; security.py: such settings, in the names of each client
    client_files.py   those settings as files, for Java's tools and kcat
    doctor.py      `python -m minikafka doctor`: what this machine has and lacks

The simulated engine is sim/engine/cluster.py. Promised: if a broker ends that no call has ended, the next call raises
BrokerDied (I-CLUSTER-2); and no broker outlives the process that started it (I-PROC-1).
"""

from .cluster import Cluster
from .errors import BrokerDied, Closed, ClusterError, NotReady, NotSupported
from .trace import Trace

__all__ = ["BrokerDied", "Closed", "Cluster", "ClusterError", "NotReady", "NotSupported", "Trace"]

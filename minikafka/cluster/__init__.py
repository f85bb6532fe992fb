"""One interface, several engines: our brokers as processes, Apache Kafka from its jars, an existing cluster."""

from .cluster import Cluster
from .errors import BrokerDied, ClusterError, NotReady, NotSupported
from .trace import Trace

__all__ = ["BrokerDied", "Cluster", "ClusterError", "NotReady", "NotSupported", "Trace"]

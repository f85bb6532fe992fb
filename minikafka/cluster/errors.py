"""The errors of a cluster as a whole (errors of Kafka's protocol reach the clients, not this interface)."""

from __future__ import annotations


class ClusterError(RuntimeError):
    """A call on the cluster that could not be carried out."""


class Closed(ClusterError):
    """A call on a cluster that has ended."""


class BrokerDied(ClusterError):
    """A broker ended by itself; the message has the end of its log."""


class NotSupported(ClusterError):
    """A call that this engine cannot carry out (for example, to cut a link between two Apache brokers)."""


class NotReady(ClusterError, TimeoutError):
    """The cluster did not become ready in time, or a condition did not become true."""

"""The one live test of `make quick`: a broker in a process of its own, and two real clients."""

from __future__ import annotations

from minikafka import Cluster
from tests.clients.kit import LIBRARIES, Record, make_topic


def test_a_record_goes_in_and_comes_out() -> None:
    """Fails if a broker does not start, or if librdkafka or kafka-python cannot write to it or read from it."""
    with Cluster(brokers=1, preset="class") as cluster:
        make_topic(cluster, "smoke", replicas=1)
        LIBRARIES["confluent"].send(cluster.bootstrap, "smoke", [Record(b"written by librdkafka")])
        LIBRARIES["kafka-python"].send(cluster.bootstrap, "smoke", [Record(b"written by kafka-python")])
        for library in LIBRARIES.values():
            assert [r.value for r in library.read(cluster.bootstrap, "smoke", 2)] == [
                b"written by librdkafka", b"written by kafka-python"]

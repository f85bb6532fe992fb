"""The trace of brokers that write none: what can be polled of them. On both engines, seen from outside."""

from __future__ import annotations

from minikafka import Cluster
from tests.clients.kit import LIBRARIES, Record, make_topic


def test_leaders_isr_and_high_watermarks_are_polled(cluster: Cluster, name: str) -> None:
    """Fails if there is no event of a change of leader, ISR or high watermark, or an event without a change."""
    with Cluster.connect(cluster.bootstrap) as seen:
        assert seen.trace.last("raft")["leader"] == cluster.controller()
        make_topic(cluster, name, assignments={0: [2, 3]}, configs={"min.insync.replicas": "1"})
        LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"x")] * 5)
        tp = f"{name}-0"
        first = seen.wait(lambda: seen.trace.last("hw", tp=tp, hw=5), 20)
        assert (first["b"], first["polled"]) == (2, True)
        assert seen.trace.last("role", tp=tp, role="leader")["b"] == 2
        assert seen.trace.last("isr", tp=tp)["isr"] == [2, 3]
        cluster.kill(2)
        seen.wait(lambda: seen.trace.last("role", tp=tp, role="leader")["b"] == 3, 30)
        seen.wait(lambda: seen.trace.last("isr", tp=tp)["isr"] == [3], 30)
        seen.wait(lambda: seen.trace.last("broker", id=2, state="fenced"), 30)
        assert len([e for e in seen.trace.events("isr") if e["tp"] == tp and e["isr"] == [2, 3]]) == 1

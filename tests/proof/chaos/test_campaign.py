"""Live campaigns: real brokers die under real clients, and the checker of histories finds nothing; or what is there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kafka import KafkaProducer

from minikafka import Cluster
from minikafka.proof.chaos.campaign import SETTINGS, ChaosCampaign
from minikafka.proof.chaos.command import search_hints
from minikafka.proof.chaos.final_reads import read_everything
from minikafka.proof.chaos.search import places, report_lines
from minikafka.proof.history import History, check
from tests.clients.kit import MS, PATIENCE, make_topic
from tests.conftest import SETTINGS as FAST

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.proof
@pytest.mark.ours_first
def test_nothing_acknowledged_is_lost_while_brokers_die(engine: str) -> None:
    """Half a minute, or less, of kill -9 (and of pauses and cuts) under producers, groups and transactions of two libraries.

    Fails if an acknowledged record is lost, repeated or reordered, a reader skips or goes back, a commit is forgotten,
    a transaction is torn or a copy made twice; if a broker dies unasked, or the cluster does not recover; and if too
    little was done to see any of it.
    """
    outcome = ChaosCampaign(engine, minutes=0.25 if engine == "minikafka" else 0.5, seed=3, kills=2).run()
    assert (outcome.report.violated, outcome.problems) == ([], []), f"{outcome.report}\n{search_hints(outcome)}"
    assert outcome.report.valid is True
    assert outcome.kills >= 2
    counts = outcome.report.counts
    assert counts["acked"] > 300 and counts["commits"] > 20 and counts["committed"] > 1
    shutil.rmtree(outcome.folder)


def test_a_loss_is_found(tmp_path: Path) -> None:
    """Script A14 alive: a leader that is cut off acknowledges with acks=1, and what it said is gone when it returns.

    Fails if the checker is blind on live histories; and if our leader keeps, or does not acknowledge, what is lost.
    """
    history = History()
    with Cluster(brokers=3, config={**FAST, **SETTINGS}, data=tmp_path / "cluster") as cluster:
        topic = make_topic(cluster, "lonely")
        old = cluster.leader(topic)
        others = [other for other in cluster.ids if other != old]
        producer = KafkaProducer(bootstrap_servers=cluster.address(old), acks=1, enable_idempotence=False, retries=0,
                                 request_timeout_ms=MS)
        try:
            _send(history, producer, topic, range(5), acks=1)
            cluster.wait(lambda: cluster.trace.last("hw", b=old, tp=f"{topic}-0", hw=5), PATIENCE)
            for other in others:
                cluster.cut(old, other)
            _send(history, producer, topic, range(5, 10), acks=1)
        finally:
            producer.close(timeout=1)
        # The new leader itself must know: before, bytes held by the cut could still reach it as a follower, and stay.
        cluster.wait(lambda: any(cluster.trace.last("role", b=b, tp=f"{topic}-0", role="leader") for b in others), PATIENCE)
        cluster.mend()
        cluster.wait(lambda: len(cluster.isr(topic)) == 3, 2 * PATIENCE)
        read_everything(cluster, history, {topic: 1})
    report = check(history)
    assert report.violated == ["lost-write"]
    assert report["lost-write"].count == 5
    assert {evidence.events[0]["value"] for evidence in report["lost-write"].evidence} == {"5", "6", "7", "8", "9"}
    assert places(tmp_path / "cluster", topic, 0, "4").keys() == {"node-1", "node-2", "node-3"}
    assert [line.rpartition(" of ")[2] for line in report_lines(report, tmp_path / "cluster")] == ["nobody"] * 5


def _send(history: History, producer: KafkaProducer, topic: str, values: range, acks: int) -> None:
    """One after the other; each must be acknowledged."""
    for value in values:
        op = history.invoke("producer", "send", topic=topic, partition=0, value=str(value), acks=acks)
        history.ok(op, offset=producer.send(topic, b"%d" % value, partition=0).get(PATIENCE).offset)

"""The picture of live brokers: a kill seen from beginning to end, through the trace alone."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from minikafka.cluster import Cluster
from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.frame import Frame
from tests.lab.picture.test_run import sound

TP = "flights-0"


def watch_a_kill(c: Cluster, run: RecordedRun) -> None:
    """Write, read, kill the leader, write on, bring it back; each step is waited for in the picture itself."""
    def shows(condition: Callable[[Frame], object]) -> Frame:
        def seen() -> Frame | None:
            run.refresh()
            frame = run.at(None, TP)
            sound(frame)
            return frame if frame.chosen is not None and condition(frame) else None
        return c.wait(seen, timeout=60)                # type: ignore[no-any-return]

    admin = KafkaAdminClient(bootstrap_servers=c.bootstrap)
    admin.create_topics([NewTopic("flights", 1, 3)])
    admin.close()
    producer = c.watch(KafkaProducer(bootstrap_servers=c.bootstrap, acks="all"), "pilot")
    reader = c.watch(KafkaConsumer("flights", bootstrap_servers=c.bootstrap, group_id="tower",
                                   auto_offset_reset="earliest"), "desk")
    try:
        for n in range(20):
            producer.send("flights", b"%d" % n, partition=0)
        producer.flush()
        assert reader.partitions_for_topic("flights")  # or it joins twice, and a poll may forget that (lab05/member.py)
        c.wait(lambda: reader.poll(200))
        reader.commit()
        frame = shows(lambda f: len(f.chosen.isr or ()) == 3 and f.ledger.delivered == 20 and f.groups  # type: ignore[union-attr]
                      and f.groups[0].progress and f.groups[0].progress[0].committed == 20)
        assert (frame.ledger.acknowledged, frame.ledger.readable, frame.ledger.lost) == (20, 20, 0)
        assert frame.groups[0].name == "tower" and frame.groups[0].progress[0].lag == 0
        assert frame.chosen is not None and frame.chosen.leader is not None
        old = frame.chosen.leader
        c.kill(old)
        frame = shows(lambda f: f.chosen.lanes[0].process == "killed")                   # type: ignore[union-attr]
        said = frame.sentence.text
        assert said.startswith(f"Broker {old}, which leads flights-0, was killed") or "controller" in said
        shows(lambda f: f.chosen.leader not in (old, None) and old not in f.chosen.isr)  # type: ignore[union-attr]
        producer.send("flights", b"after", partition=0).get(timeout=30)
        c.restart(old)
        frame = shows(lambda f: len(f.chosen.isr) == 3 and f.ledger.acknowledged == 21)  # type: ignore[union-attr, arg-type]
        assert frame.chosen is not None and {lane.end for lane in frame.chosen.lanes} == {21} and frame.ledger.lost == 0
        assert [e.end for e in frame.chosen.epochs] == [20, 21]
    finally:
        producer.close(timeout=1)
        reader.close()


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    with Cluster(brokers=3, preset="class", config={"min.insync.replicas": 2, "offsets.topic.num.partitions": 2}) as c:
        run = RecordedRun.of(c)
        watch_a_kill(c, run)
        path = run.save(tmp_path_factory.mktemp("run") / "kill.mk")
        assert run.live
    assert run.refresh() == 0 and not run.live, "a closed cluster leaves the run as it was (I-RUN-2)"
    return RecordedRun.open(path)


def test_the_film_of_a_kill(filmed: RecordedRun) -> None:
    """Fails if a live trace lacks a step: killed, another leads, back in the ISR."""
    texts = [mark.text for mark in filmed.marks]
    places = [next((n for n, text in enumerate(texts) if part in text), -1)
              for part in ("killed", "leads flights-0", "starts again", "in the ISR of flights-0")]
    assert -1 not in places and places == sorted(places), texts


def test_every_moment_of_it_can_be_drawn(filmed: RecordedRun) -> None:
    """Fails if the trace of real processes, with its ties and late events, has a moment without a picture."""
    t = filmed.begin
    for number in range(5000):
        frame = filmed.at(t, TP)
        sound(frame)
        if number % 100 == 0:
            assert to_svg(frame).startswith("<svg")
        if (after := filmed.step(t, +1)) == t:
            break
        t = after
    assert t == pytest.approx(filmed.end), "the film has an end"


def test_a_live_trace_may_be_refreshed_from_a_folder(tmp_path: Path) -> None:
    """Fails if a run cannot be made of what a cluster left behind."""
    with Cluster(brokers=1, data=tmp_path) as c:
        leader = c.controller()
    run = RecordedRun.open(tmp_path)
    assert run.at(run.end).quorum.voters == (1,) and leader == 1
    assert [broker.process for broker in run.at(None).brokers] == ["stopped"]

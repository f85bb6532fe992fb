"""Lab 5: the sums of its exercises beside brokers, its paper world, its chart, processes. Strict cells compare the figures."""
from __future__ import annotations

import time

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from minikafka.lab.labs.lab05 import experiment as lab05
from minikafka.lab.labs.lab05 import paper as lab05_paper
from minikafka.lab.labs.lab05 import poison
from minikafka.lab.labs.lab05.chart import bars
from minikafka.lab.labs.lab05.checks import POLICIES, sums
from minikafka.lab.labs.lab05.member import Member
from minikafka.lab.picture.draw.chart import to_svg


@pytest.fixture(scope="module")
def runs():
    """The table of section 3, by policy."""
    return {run.policy: run for run in lab05.table()}


@pytest.mark.parametrize("at", [4.95, 15.09])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_sums_of_the_exercise_are_those_of_the_brokers(policy, at):
    """The crash time changes, and every figure with it. Fails if exercise 5.3 asks for sums that no cluster keeps to (at these
    moments the time that commits take has not yet cost a record, except for the one that waits at every record).
    """
    run = lab05.crash(policy, at=at)
    measured = len(run.done), run.committed or 0, run.duplicates, run.lost
    if policy == "sync per record":
        assert measured[1:] == (measured[0], 0, 0) and 0.9 * sums(policy, at)[0] <= measured[0] <= sums(policy, at)[0]
    else:
        assert measured == sums(policy, at)


def test_a_commit_takes_about_five_milliseconds(runs):
    """"Over half a second", "a twentieth": fails if commits were free, or waited for a follower's next fetch."""
    slow = runs["sync per record"]
    assert 4 <= slow.answer_ms <= 6 and 0.5 <= slow.answer_ms * 118 / 1000 < 0.7
    assert 0.94 < len(slow.done) / len(runs["auto"].done) < 0.96


def test_the_chart_shows_every_number(runs):
    """Fails if the static picture or the plotly figure left out a row, a figure, or what is counted."""
    rows = [run.row for run in runs.values()]
    chart = bars(rows, "a crash")
    svg = to_svg(chart)
    assert ">rides</text>" in svg and chart.layout.xaxis.title.text == "rides"
    for row in rows:
        assert f">{row['policy']}</text>" in svg and f">{row['duplicates']}</text>" in svg
    assert [list(bar.x) for bar in chart.data] == [[row[name] for row in rows] for name in ("duplicates", "lost")]


@pytest.mark.parametrize("policy", ["before the work", "sync per batch"])
def test_paper_agrees_with_the_brokers(policy):
    """The loop of the lab on paper and on brokers, dead in the middle of the third batch. Fails if the paper consumer kept a
    position through a crash, or committed anything but the position.
    """
    def loop(consumer, work):
        while batches := consumer.poll():
            if policy == "before the work":
                consumer.commit()
            for ride in batches[lab05_paper.TP]:
                work(ride)
            if policy == "sync per batch":
                consumer.commit()

    world = lab05_paper.PaperWorld(size=40)
    lab05_paper.life(loop, world, dies=2 * 12 + (6 if policy == "before the work" else 5), after=True)
    paper = len(world.done), world.committed[0]
    lab05_paper.life(loop, world)
    run = lab05.crash(policy, at=2.45)
    assert paper == (len(run.done), run.committed) == sums(policy, 2.45)[:2]
    assert len(world.done) - len(set(world.done)) == run.duplicates and 40 - len(set(world.done)) == run.lost


@pytest.mark.parametrize("fails, committed", [(False, 0), (True, 10)])
def test_a_dead_process_does_nothing_and_one_with_an_error_may(fails, committed):
    """Fails if the code behind a `kill -9` still ran on paper, or if an error of `work` ended the process at once."""
    def loop(consumer, work):
        for ride in consumer.poll()[lab05_paper.TP]:
            try:
                work(ride)
            finally:
                consumer.commit()

    world = lab05_paper.PaperWorld()
    lab05_paper.life(loop, world, dies=2, fails=fails)
    assert (world.committed, world.done) == ([committed], [])


def test_poison_holds_up_what_stands_behind_it(monkeypatch):
    """Fails if the crash loop of section 11 had another cause than the two records: without them the first start commits all."""
    held_up = poison.restarts(3)
    assert {row["committed"] for row in held_up} == {"[0, 0]"} and len({row["charged"] for row in held_up}) == 1
    monkeypatch.setattr(poison, "POISON", {})
    assert [(row["committed"], row["charged"]) for row in poison.restarts(2)] == [("[13, 13]", 26), ("[13, 13]", 0)]


class WholeMembers(dict):
    """The members of a cluster, each of which has its state when it comes: the picture's thread reads it at any moment."""

    def __setitem__(self, name, member):
        assert member.state == "running"
        super().__setitem__(name, member)


def test_with_processes(cluster, name, monkeypatch):
    """kill -9 on a real process: fails if its successor skipped a record, began anywhere but at the committed offset, if
    close() left the group where auto-commit had left it, or if the picture could meet a member that has no state yet.
    """
    monkeypatch.setattr(cluster, "members", WholeMembers())
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    admin.create_topics({name: {"num_partitions": 1, "replication_factor": 3}}, wait_for_metadata=True)
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all")
    for number in range(60):
        producer.send(name, b"ride %d" % number, partition=0)
    producer.close()

    def committed():
        found = admin.list_group_offsets(name)[name].get(TopicPartition(name, 0))
        return found.offset if found else 0

    one = Member("C1", cluster, name, name, auto_commit_interval_ms=1000)
    one.pause()
    one.resume()
    one.wait(34)
    one.kill()
    died, note = time.monotonic(), committed()
    two = Member("C2", cluster, name, name, auto_commit_interval_ms=1000)
    two.wait(15)
    assert one.done == list(range(len(one.done))) and note <= len(one.done)
    assert two.done[0] == note and two.times[0] - died > 3
    two.leave()
    two.restart()
    two.wait(len(two.done) + 5)
    two.kill()
    assert [(e["client"], e["state"]) for e in cluster.trace.events("member") if e["group"] == name] == [
        ("C1", "running"), ("C1", "paused"), ("C1", "resumed"), ("C1", "killed"), ("C2", "running"), ("C2", "left"),
        ("C2", "running"), ("C2", "killed")]
    assert two.done == list(range(note, note + len(two.done))), "it had committed when it left, and goes on from there"
    admin.close()

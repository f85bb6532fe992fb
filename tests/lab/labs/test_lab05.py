"""Lab 5: that each figure follows its fault; strict cells compare the figures themselves."""
from __future__ import annotations

import time
from functools import partial

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from minikafka.lab.demos import Scene, d7
from minikafka.lab.demos.runner import record
from minikafka.lab.labs.lab05 import experiment as lab05
from minikafka.lab.labs.lab05 import late as lab05_late
from minikafka.lab.labs.lab05 import paper as lab05_paper
from minikafka.lab.labs.lab05 import stage as lab05_stage
from minikafka.lab.labs.lab05.chart import bars
from minikafka.lab.labs.lab05.checks import POLICIES, sums
from minikafka.lab.labs.lab05.member import Member
from minikafka.lab.picture.draw.chart import to_svg


@pytest.fixture(scope="module")
def runs():
    """The table of section 3, by policy."""
    return {run.policy: run for run in lab05.table()}


# --- sections 2 and 3 ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("at", [0.45, 4.95, 8.75, 15.09])
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


@pytest.mark.parametrize("out, committed", [(None, 120), (11.9, 110), (9.9, 90)])
def test_the_cable_decides_what_is_lost_on_the_way(out, committed):
    """Fails if a commit that was sent into a cut cable still counted, or if anything but the cable kept it back."""
    assert lab05.crash("async per batch", unplugged=out).committed == committed


def test_the_chart_shows_every_number(runs):
    """Fails if the static picture or the plotly figure left a row or a figure out."""
    rows = [run.row for run in runs.values()]
    chart = bars(rows, "a crash")
    svg = to_svg(chart)
    for row in rows:
        assert f">{row['policy']}</text>" in svg and f">{row['duplicates']}</text>" in svg
    assert [list(bar.x) for bar in chart.data] == [[row[name] for row in rows] for name in ("duplicates", "lost")]


# --- sections 5 and 6 ------------------------------------------------------------------------------------------------

def test_who_knew_what_and_when(runs):
    """12.00, 12.48, 18.00, 18.02: fails if the session began at anything but the last heartbeat."""
    beat, killed, joined, alone, reads = [t for t, _ in lab05.timetable(runs["auto"])]
    assert killed == 12.48 and killed < joined < killed + 0.05
    assert round(beat, 1) == 12.0 and 6.0 <= alone - beat < 6.01
    assert alone < reads < alone + 0.05 and round(reads - killed, 1) == 5.5


# --- section 8 -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("workers, done, lost", [(2, 40, 60), (6, 100, 0)])
def test_a_pool(workers, done, lost):
    """Fails if the losses did not come from the pool being slower than the poll."""
    run = lab05_late.pool(workers=workers)
    assert (run.committed, len(run.done), run.lost) == (100, done, lost)


def test_who_is_quick_enough_is_not():
    """Fails if something else than the poll interval made C1 leave: two seconds' work, a limit of ten. (C2 waits for its turn,
    and C1 takes part in the rebalance at its next poll.)
    """
    late = lab05_late.too_slow(work=0.2)
    assert late.error == "none" and late.committed == 10


def test_a_zombie():
    """Fails if the lab's detector did not see a commit of generation 1 in generation 2."""
    zombie = lab05_late.zombie()
    events = lab05_stage.group_events(zombie.stage)
    assert [e["generation"] for e in events if e["k"] == "generation"] == [1, 2]
    assert [(e["member"], e["generation"]) for e in events if e["k"] == "commit"] == [("C1", 1)]


def test_without_the_bad_second_nothing_is_overtaken():
    """Fails if the stubborn callback did harm without a fault."""
    assert lab05_late.reordered(out=(20.0, 21.0)).committed == 120


# --- section 7 -------------------------------------------------------------------------------------------------------

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


# --- section 9 -------------------------------------------------------------------------------------------------------

def test_with_processes(cluster, name):
    """kill -9 on a real process: fails if its successor skipped a record, began anywhere but at the committed offset, or if
    close() left the group where auto-commit had left it.
    """
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
    one.wait(34)
    one.kill()
    died, note = time.monotonic(), committed()
    two = Member("C2", cluster, name, name, auto_commit_interval_ms=1000)
    two.wait(15)
    assert one.done == list(range(len(one.done))) and note <= len(one.done)
    assert two.done[0] == note and two.times[0] - died > 3
    two.leave()
    assert two.done == list(range(note, note + len(two.done))) and committed() == two.done[-1] + 1
    admin.close()


# --- the demo --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("at, flag, twice", [(8.75, 50, 37), (3.25, None, 32)])
def test_d7_follows_its_crash(at, flag, twice):
    """Fails if D7's figures were not those of the run, or if auto-commit's clock began before the member had joined: another
    second, another flag, another bill (before the first commit there is none, and everything comes again).
    """
    scene = record(Scene("", partial(d7.story, at=at), lambda run, facts: []))
    done = scene.facts["done"]
    flags = [e["offset"] for e in scene.facts.of("commit", group="meter") if e["at"] < scene.facts.t("kill")]
    assert (flags[-1] if flags else None) == flag and done["C2"][0] == (flag or 0)
    assert len(set(done["C1"]) & set(done["C2"])) == twice and len(done["C1"]) == twice + (flag or 0)

"""Lab 0: its doctor, and the figures of its fleet. Its cells kill a leader under the fleet's load."""
from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from types import SimpleNamespace

import pytest
from kafka import KafkaAdminClient

import minikafka
from minikafka.cluster import wire
from minikafka.cluster.doctor import Finding
from minikafka.lab import check
from minikafka.lab.labs import console
from minikafka.lab.labs.lab00 import checks as lab00
from minikafka.lab.labs.lab00.experiment import PER_SECOND, TRUCKS, Fleet, all_know, new_topic, sent
from minikafka.machine.environment import SAID, settle
from minikafka.machine.jars import KAFKA
from minikafka.machine.java import NoJava


def test_the_doctor_tells_what_is_here():
    """Fails if a version, Java or the workers' Python is left out of what a student can send to a teacher."""
    told = check("0.0", minikafka).why
    for word in ("Python 3.", "kafka-python", "PySpark", "Java", "workers", "ports", "from this project"):
        assert word in told


@pytest.mark.parametrize("name, value, remedy", [
    ("findings", lambda: [Finding("Java", False, "none", "install one")], "install one"),
    ("findings", lambda: [Finding("loopback ports", False, "refused", "allow them")], "allow them"),
    ("pinned", lambda lock, package: "0.1", "make setup"),
])
def test_what_is_missing_is_unknown_with_the_remedy(monkeypatch, name, value, remedy):
    """Fails if a machine that lacks something passes, or if nobody says what to do."""
    monkeypatch.setattr(lab00, name, value)
    verdict = check("0.0", minikafka)
    assert verdict.outcome.value == "UNKNOWN" and remedy in verdict.why


def test_another_minikafka_is_noticed(tmp_path):
    """Fails if the other project of this name, installed somewhere, is taken for ours."""
    verdict = check("0.0", SimpleNamespace(__file__=str(tmp_path / "minikafka" / "__init__.py")))
    assert verdict.outcome.value == "UNKNOWN" and "make lab" in verdict.why


def test_a_record_that_was_set_aside_is_named(monkeypatch):
    """Fails if a student who misses a variable of another course cannot read where it has gone (I-ENV-2)."""
    monkeypatch.setenv("SPARK_HOME", "/opt/spark-2.4")
    monkeypatch.delenv(SAID, raising=False)
    settle()
    assert check("0.0", minikafka).why.endswith("set aside: SPARK_HOME") and "SPARK_HOME" not in os.environ


@pytest.mark.parametrize("exercise, answer, wanted", [
    ("0.3", lambda producer, topic, truck, position: 7, "a pair (partition, offset) is wanted"),
    ("0.4", lambda consumer, topic: 7, "a list is wanted"),
    ("0.5", lambda acknowledged, found: len(set(acknowledged) - set(found)), "a list of tuples (a number, a number) is wanted"),
])
def test_an_answer_of_another_kind_is_refused_with_the_wanted_kind(exercise, answer, wanted):
    """Fails if a beginner who returns a number gets Python's words about it (`int` object is not iterable)."""
    verdict = check(exercise, answer)
    assert verdict.outcome.value == "FAIL" and wanted in verdict.why


def test_a_new_topic_is_found_when_every_broker_knows_it():
    """Fails if a right topic is judged while a broker knows it late: asked for its settings, such a broker names none."""
    with minikafka.Cluster(brokers=3, controllers=1) as cluster, \
            closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
        cluster.slow(cluster.controller(), 3, latency=0.5)
        new_topic(admin, "late")
        assert len(lab00._found(cluster, "late")) == 3
        assert all(wire.partitions(cluster.address(broker), ["late"]) for broker in cluster.ids)


def test_a_fleet_names_what_is_lost():
    """Fails if the fleet, which counts until the student's own function passes, misses a lost record or accuses another's."""
    fleet = SimpleNamespace(acknowledged=[(0, 1), (1, 0), (0, 2)])
    assert Fleet.lost(fleet, [(0, 2), (1, 0), (2, 9)]) == [(0, 1)]


@pytest.mark.parametrize("of_2, alive, known", [(9, [2, 3], False), (10, [2, 3], True), (9, [3], True)])
def test_a_broker_may_die_when_the_next_leader_knows_the_watermark(of_2, alive, known):
    """Fails if the second plug is pulled while the last broker alone could not hand out what was promised."""
    marks = [("positions-0", 2, of_2), ("positions-0", 3, 10), ("other-0", 2, 0)]
    events = [{"tp": tp, "b": broker, "hw": mark} for tp, broker, mark in marks]
    cluster = SimpleNamespace(alive=alive, trace=SimpleNamespace(events=lambda *_: events))
    assert all_know(cluster, "positions") is known
    assert not all_know(cluster, "parcels")


def test_the_numbers_of_the_text():
    """Fails if the fleet is another one than the text says: twelve trucks, 24 positions a second, 5, 1 and 6 to a partition."""
    from kafka.partitioner.default import murmur2
    ours = [(murmur2(f"truck-{n}".encode()) & 0x7FFFFFFF) % 3 for n in range(1, TRUCKS + 1)]
    assert (TRUCKS, PER_SECOND) == (12, 24.0) and [ours.count(p) for p in range(3)] == [5, 1, 6]


def test_an_answer_is_tried_on_the_notebooks_own_cluster(cluster, name, monkeypatch):
    """Fails if a check starts brokers beside those of the notebook, leaves its topic there, or waits for a dead broker."""
    monkeypatch.setattr(lab00, "names", lambda: {"mine": cluster, "closed": SimpleNamespace(closed=True)})
    monkeypatch.setattr(lab00, "_spare", partial(pytest.fail, "another cluster was asked for"))
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    before = set(admin.list_topics())
    assert check("0.1", new_topic), "all brokers run"
    admin.create_topics({name: {"num_partitions": 3, "replication_factor": 3}}, wait_for_metadata=True)
    if cluster.engine == "minikafka":
        cluster.kill(2)
        cluster.wait(lambda: all(2 not in each.isr for each in cluster.partitions().values()), timeout=60)
    assert check("0.3", sent), "one of three is dead, as in section 6"
    cluster.wait(lambda: set(admin.list_topics()) - before <= {"__consumer_offsets", name}, timeout=30)  # Apache deletes later
    admin.close()


@pytest.mark.parametrize("name, value, said", [
    ("KAFKA", SimpleNamespace(present=False), "make apache"), ("java", lambda: _raise(NoJava("No Java 17")), "No Java 17"),
    ("shutil", SimpleNamespace(which=lambda tool: None), "brew install kcat")])
def test_a_console_tool_that_is_not_here_is_told_in_one_line(capsys, monkeypatch, name, value, said):
    """Fails if a laptop without jars, Java or kcat gets an error of ours, or does not learn what brings the tool."""
    monkeypatch.setattr(console, name, value)
    if name == "java":
        monkeypatch.setattr(console, "KAFKA", SimpleNamespace(present=True))
    console.console(None, "kcat -L" if name == "shutil" else "kafka-topics.sh --list")
    command, absent = capsys.readouterr().out.splitlines()
    assert command.startswith("$ k") and said in absent


def test_a_tool_of_kafka_talks_to_our_brokers(cluster, name, capsys):
    """Fails if a class stands behind the wrong name, or if the address is not added."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    admin.create_topics({name: {"num_partitions": 2, "replication_factor": 3}}, wait_for_metadata=True)
    admin.close()
    console.console(cluster, f"kafka-topics.sh --describe --topic {name}")
    assert ("PartitionCount: 2" if KAFKA.present else "make apache") in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"kafka-acls.sh is not known here; there are kafka-topics.sh, .* kcat"):
        console.console(cluster, "kafka-acls.sh --list")


def _raise(error):
    raise error

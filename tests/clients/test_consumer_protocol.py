"""Unmodified clients with `group.protocol=consumer` (KIP-848): librdkafka, Java's consumer, Kafka's tools, on both engines."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import confluent_kafka
import pytest

from minikafka import Cluster
from minikafka.machine.jars import KAFKA
from tests import kafka_tools
from tests.wire.consumer_groups.consumer_protocol import Group
from tests.wire.consumer_groups.test_timeouts import shorten_sessions

from .conftest import EACH, PARTITIONS
from .kit import LIBRARIES, Record, make_topic, take
from .members import MEMBERS, ConfluentMember, Member, Members
from .test_java_tools import TOOLS, committed, tool

pytestmark = pytest.mark.slow
with_jars = pytest.mark.skipif(not KAFKA.present, reason="Apache Kafka's jars are not in the cache")
LONG = 60.0
BETWEEN_COORDINATORS = {getattr(confluent_kafka.KafkaError, name) for name in (
    "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "_TRANSPORT", "_TIMED_OUT", "_WAIT_COORD")}
EVERYTHING = {(p, n) for p in range(PARTITIONS) for n in range(EACH)}


class Modern(ConfluentMember):
    """librdkafka's consumer; the session and the heartbeats' interval are the group's affair, not its own."""

    def __init__(self, bootstrap: str, group: str, *topics: str, **settings: Any) -> None:
        self.consumer = confluent_kafka.Consumer({
            "bootstrap.servers": bootstrap, "group.id": group, "group.protocol": "consumer",
            "auto.offset.reset": "earliest", "enable.auto.commit": False, **settings})
        if topics:
            self.consumer.subscribe(list(topics))

    def assigned(self) -> set[tuple[str, int]]:
        return {(tp.topic, tp.partition) for tp in self.consumer.assignment()}


def joined(members: Members, bootstrap: str, group: str, *topics: str, **settings: Any) -> Modern:
    return entered(members, Modern(bootstrap, group, *topics, **settings))


def entered(members: Members, member: Any) -> Any:
    members.all.append(member)
    members.seen[member] = []
    return member


def read(members: Members) -> set[tuple[int | None, int | None]]:
    return {(r.partition, r.offset) for r in members.records()}


def test_two_members_share_and_the_last_one_takes_over(cluster: Cluster, filled: str, members: Members, group: Group) -> None:
    """Fails if a join does not take from who has, or a leave does not give its partitions on, or a record is not read."""
    first = joined(members, cluster.bootstrap, filled, filled)
    members.until(lambda: first.assignment() == [0, 1, 2, 3], LONG)
    second = joined(members, cluster.bootstrap, filled, filled)
    members.until(lambda: members.shared(), LONG)
    assert set(group.described()) == {first.consumer.memberid(), second.consumer.memberid()}
    members.leave(first)
    members.until(lambda: second.assignment() == [0, 1, 2, 3], LONG)
    members.until(lambda: read(members) == EVERYTHING, LONG)
    members.leave(second)
    cluster.wait(lambda: group.state()[0] == "Empty", LONG)


def test_a_member_goes_on_where_the_group_committed(cluster: Cluster, filled: str, members: Members) -> None:
    """Fails if a commit with a member's epoch is refused, or the committed offset is not what the next one starts from."""
    first = joined(members, cluster.bootstrap, filled, filled)
    members.until(lambda: read(members) == EVERYTHING, LONG)
    first.commit({(filled, p): (10 + p, "text") for p in range(PARTITIONS)})
    members.leave(first)
    second = joined(members, cluster.bootstrap, filled, filled)
    expected = sorted((p, n) for p in range(PARTITIONS) for n in range(10 + p, EACH))
    members.until(lambda: len(members.seen[second]) >= len(expected), LONG)
    assert sorted((r.partition, r.offset) for r in members.seen[second]) == expected


def test_a_static_member_returns_to_its_partitions(cluster: Cluster, filled: str, members: Members, group: Group) -> None:
    """Fails if its return is a new epoch, or others get its partitions meanwhile."""
    stays = joined(members, cluster.bootstrap, filled, filled, **{"group.instance.id": "a"})
    members.until(lambda: stays.assignment() == [0, 1, 2, 3], LONG)
    goes = joined(members, cluster.bootstrap, filled, filled, **{"group.instance.id": "b"})
    members.until(lambda: members.shared() and group.is_stable(), LONG)
    kept, epoch, theirs = stays.assignment(), group.state()[1], goes.assignment()
    members.leave(goes)
    back = joined(members, cluster.bootstrap, filled, filled, **{"group.instance.id": "b"})
    members.until(lambda: bool(back.assignment()), LONG)
    assert (stays.assignment(), back.assignment(), group.state()) == (kept, theirs, ("Stable", epoch, epoch))


def test_a_subscription_by_regular_expression(cluster: Cluster, filled: str, members: Members) -> None:
    """Also of a topic that comes later. Fails if the coordinator's matches are not what the client reads."""
    member = joined(members, cluster.bootstrap, filled, f"^{filled}.*")
    members.until(lambda: member.assigned() == {(filled, p) for p in range(PARTITIONS)}, LONG)
    later = make_topic(cluster, f"{filled}-later", partitions=2)
    members.until(lambda: {(later, 0), (later, 1)} <= member.assigned(), LONG)
    members.until(lambda: read(members) == EVERYTHING, LONG)


def test_a_chosen_assignor(cluster: Cluster, filled: str, members: Members, group: Group) -> None:
    """Fails if group.remote.assignor is not heeded."""
    pair = [joined(members, cluster.bootstrap, filled, filled, **{"group.remote.assignor": "range"}) for _ in range(2)]
    members.until(lambda: members.shared() and group.is_stable(), LONG)
    assert sorted(member.assignment() for member in pair) == [[0, 1], [2, 3]]
    assert group.describe().assignor_name == "range"


FOREVER = """
import sys, confluent_kafka
bootstrap, group = sys.argv[1:]
consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": "consumer"})
consumer.subscribe([group])
while True:
    consumer.poll(0.1)
"""


def test_a_process_that_is_killed_is_missed(cluster: Cluster, filled: str, members: Members, group: Group) -> None:
    """Fails if sessions do not expire: what a dead process had is nobody's for ever."""
    shorten_sessions(group)
    stays = joined(members, cluster.bootstrap, filled, filled)
    members.until(lambda: stays.assignment() == [0, 1, 2, 3], LONG)
    doomed = subprocess.Popen([sys.executable, "-c", FOREVER, cluster.bootstrap, filled])
    try:
        members.until(lambda: len(stays.assignment()) == 2, LONG)
    finally:
        doomed.kill()
        doomed.wait()
    members.until(lambda: stays.assignment() == [0, 1, 2, 3], LONG)
    assert set(group.described()) == {stays.consumer.memberid()}


def test_the_coordinator_dies(cluster: Cluster, filled: str, members: Members, group: Group) -> None:
    """Members find the next one. Fails if they lose partitions by it, or cannot commit to it."""
    pair = [joined(members, cluster.bootstrap, filled, filled) for _ in range(2)]
    members.until(lambda: members.shared() and group.is_stable() and read(members) == EVERYTHING, LONG)
    before = [member.assignment() for member in pair]
    here = f":{group.raw.socket.getpeername()[1]}"
    cluster.kill(next(broker for broker in cluster.ids if cluster.address(broker).endswith(here)))
    group.find()
    for member in pair:
        cluster.wait(lambda member=member: commits(member, filled, 7), LONG)
    assert [member.assignment() for member in pair] == before
    assert committed(cluster, filled, filled, PARTITIONS) == [7] * PARTITIONS


def commits(member: Modern, topic: str, offset: int) -> bool:
    """The member commits for its partitions; not yet, while it does not know the coordinator."""
    try:
        member.commit({(topic, p): (offset, "") for p in member.assignment()})
    except confluent_kafka.KafkaException as refused:
        if refused.args[0].code() not in BETWEEN_COORDINATORS:
            raise
        return False
    return True


def test_copying_exactly_once(cluster: Cluster, filled: str, members: Members) -> None:
    """Read, write, commit offsets in the transaction; a second member comes in the middle, so that partitions change hands.

    Fails if an offset of a transaction is refused or lost, or a record is there twice as partitions move.
    """
    target = make_topic(cluster, f"{filled}-out")
    first = entered(members, Copier(cluster, filled, target, "1"))
    members.until(lambda: first.copied > 0, LONG)
    second = entered(members, Copier(cluster, filled, target, "2"))
    members.until(lambda: members.shared(), LONG)
    LIBRARIES["confluent"].send(cluster.bootstrap, filled, [
        Record(b"%d" % n, partition=p) for p in range(PARTITIONS) for n in range(EACH, 2 * EACH)])
    members.until(lambda: first.copied + second.copied >= 2 * EACH * PARTITIONS, LONG)
    assert second.copied > 0 and committed(cluster, filled, filled, PARTITIONS) == [2 * EACH] * PARTITIONS
    with closing(confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "unused",
                                           "isolation.level": "read_committed"})) as reader:
        reader.assign([confluent_kafka.TopicPartition(target, 0, 0)])
        found = [m.value() for m in take(lambda: reader.consume(500, 0.5), 2 * EACH * PARTITIONS)]
    assert sorted(found) == sorted(b"%d-%d" % (p, n) for p in range(PARTITIONS) for n in range(2 * EACH))


class Copier(Modern):
    """Copies what it reads; ends its transaction after each poll, and before partitions go (KIP-447)."""

    def __init__(self, cluster: Cluster, group: str, target: str, number: str) -> None:
        super().__init__(cluster.bootstrap, group)
        self.source, self.target, self.copied = group, target, 0
        self.positions: dict[int, int] = {}     # what the open transaction has read up to; empty: none is open
        self.producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0,
                                                  "transactional.id": f"{group}-{number}"})
        self.producer.init_transactions(LONG)
        self.consumer.subscribe([group], on_revoke=lambda *_: self.end())

    def poll(self) -> list[Record]:
        for wait in [0.2] + [0] * 50:
            if (message := self.consumer.poll(wait)) is None:
                break
            assert message.error() is None, message.error()
            if not self.positions:
                self.producer.begin_transaction()
            self.producer.produce(self.target, b"%d-%s" % (message.partition(), message.value()), partition=0)
            self.positions[message.partition()] = message.offset() + 1
            self.copied += 1
        self.end()
        return []

    def end(self) -> None:
        if self.positions:
            positions = [confluent_kafka.TopicPartition(self.source, p, end) for p, end in self.positions.items()]
            self.producer.send_offsets_to_transaction(positions, self.consumer.consumer_group_metadata(), LONG)
            self.producer.commit_transaction(LONG)
            self.positions.clear()


@pytest.mark.parametrize("library", MEMBERS)
def test_a_rolling_upgrade(cluster: Cluster, filled: str, members: Members, group: Group, library: str) -> None:
    """A classic member and a modern one in one group, while it changes its kind and back. Fails if one of them gets nothing,
    or the one that stays does not have everything in the end."""
    old: Member = members.join(library, cluster.bootstrap, filled, filled, session_ms=30_000)
    members.until(lambda: old.assignment() == [0, 1, 2, 3], LONG)
    new = joined(members, cluster.bootstrap, filled, filled)
    members.until(lambda: members.shared() and group.is_stable(), LONG)
    assert {m.member_type for m in group.described().values()} == {0, 1}
    members.leave(old)
    members.until(lambda: new.assignment() == [0, 1, 2, 3], LONG)
    assert [m.member_type for m in group.described().values()] == [1]
    again = members.join(library, cluster.bootstrap, filled, filled, session_ms=30_000)
    members.until(lambda: members.shared() and group.is_stable(), LONG)
    members.leave(new)
    members.until(lambda: again.assignment() == [0, 1, 2, 3], LONG)
    assert group.describe().error_message == f"Group {filled} is not a consumer group."


# --- Java -----------------------------------------------------------------------------------------------------------


class Java:
    """Kafka's VerifiableConsumer, a process that tells what happens to it."""

    def __init__(self, cluster: Cluster, group: str, *arguments: str) -> None:
        command = kafka_tools.command(TOOLS + "VerifiableConsumer", "--bootstrap-server", cluster.bootstrap, "--topic", group,
                               "--group-id", group, "--group-protocol", "consumer", "--reset-policy", "earliest", "--verbose",
                               *arguments)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.has: set[int] = set()
        self.read: set[tuple[int, int]] = set()
        self.refused: list[Any] = []
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event = json.loads(line)
            if event["name"] == "partitions_assigned":
                self.has |= {p["partition"] for p in event["partitions"]}
            elif event["name"] == "partitions_revoked":
                self.has -= {p["partition"] for p in event["partitions"]}
            elif event["name"] == "record_data":
                self.read.add((event["partition"], event["offset"]))
            elif event["name"] == "offsets_committed" and not event["success"]:
                self.refused.append(event)

    def end(self, how: Callable[[], None] | None = None) -> None:
        (how or self.process.terminate)()
        self.process.wait()
        self.thread.join()


@pytest.fixture
def java(cluster: Cluster, filled: str) -> Iterator[Callable[..., Java]]:
    started: list[Java] = []

    def start(*arguments: str) -> Java:
        started.append(Java(cluster, filled, *arguments))
        return started[-1]
    yield start
    for member in started:
        member.end(member.process.kill)


@with_jars
def test_javas_consumers_share(cluster: Cluster, filled: str, java: Callable[..., Java], group: Group) -> None:
    """One is killed, the other leaves. Fails if Java's consumer does not understand an answer, or a commit is refused."""
    shorten_sessions(group, 15_000)             # a virtual machine that starts may keep another from its heartbeats
    first = java()
    cluster.wait(lambda: first.has == {0, 1, 2, 3}, LONG)
    second = java("--group-remote-assignor", "uniform")
    cluster.wait(lambda: len(first.has) == len(second.has) == 2 and group.is_stable(), LONG)
    assert first.has | second.has == {0, 1, 2, 3}
    cluster.wait(lambda: first.read | second.read == EVERYTHING, LONG)
    first.end(first.process.kill)
    cluster.wait(lambda: second.has == {0, 1, 2, 3}, LONG)
    second.end()
    cluster.wait(lambda: group.state()[0] == "Empty", LONG)
    assert (first.refused, second.refused) == ([], [])
    assert committed(cluster, filled, filled, PARTITIONS) == [EACH] * PARTITIONS


@with_jars
def test_javas_consumer_beside_librdkafkas(cluster: Cluster, filled: str, java: Callable[..., Java], members: Members) -> None:
    """Fails if two clients that mean the same by the protocol cannot share a group."""
    first = joined(members, cluster.bootstrap, filled, filled)
    members.until(lambda: first.assignment() == [0, 1, 2, 3], LONG)
    second = java()
    members.until(lambda: len(first.assignment()) == len(second.has) == 2, LONG)
    assert set(first.assignment()) | second.has == {0, 1, 2, 3}
    second.end()
    members.until(lambda: first.assignment() == [0, 1, 2, 3], LONG)
    assert second.refused == []


@with_jars
@pytest.mark.judge_first
def test_the_tools_for_groups(cluster: Cluster, filled: str, members: Members, group: Group) -> None:
    """Fails if Kafka's tools do not see a group of the new kind as it is, or cannot reset and delete it."""
    settings = {"client.id": "reader", "max.poll.interval.ms": 3_600_000}  # nobody polls while the tools run
    member = joined(members, cluster.bootstrap, filled, filled, **settings)
    members.until(lambda: read(members) == EVERYTHING and group.is_stable(), LONG)
    member.commit({(filled, p): (3 + p, "") for p in range(PARTITIONS)})
    who, epoch = member.consumer.memberid(), str(group.state()[1])

    def told(*arguments: str) -> list[list[str]]:
        return [line.split() for line in tool(cluster, "consumer.group.ConsumerGroupCommand", *arguments)
                if line.startswith(filled)]
    describe = ("--describe", "--group", filled)
    assert told(*describe) == [
        [filled, filled, str(p), str(3 + p), str(EACH), str(EACH - 3 - p), who, "/127.0.0.1", "reader"]
        for p in range(PARTITIONS)]
    assignment = f"{filled}:0,1,2,3"
    assert told(*describe, "--members", "--verbose") == [
        [filled, who, "/127.0.0.1", "reader", "4", epoch, assignment, epoch, assignment]]
    (state,) = told(*describe, "--state", "--verbose")
    assert state[3:] == ["uniform", "Stable", epoch, epoch, "1"] and state[2].startswith("(")
    assert told("--list", "--type") == [[filled, "Consumer"]]
    assert [line.split() for line in tool(cluster, "GroupsCommand", "--list", "--group-type", "consumer")
            if line.startswith(filled)] == [[filled, "Consumer", "consumer"]]
    members.leave(member)
    assert told("--reset-offsets", "--group", filled, "--topic", f"{filled}:1", "--to-earliest", "--execute") == [
        [filled, filled, "1", "0"]]
    assert committed(cluster, filled, filled, PARTITIONS) == [3, 0, 5, 6]
    (said,) = tool(cluster, "consumer.group.ConsumerGroupCommand", "--delete", "--group", filled)
    assert said == f"Deletion of requested consumer groups ('{filled}') was successful."
    assert committed(cluster, filled, filled, PARTITIONS) == [-1001] * PARTITIONS

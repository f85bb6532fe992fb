"""What each stage of the broker is asked: the same requests as our broker, then unmodified clients.

A stage is a function over `TwoBrokers`: the student's and ours, and a topic that has the same name at both. It returns the
sentence of a PASS, or raises Wrong. First come the requests, because their answers say which byte is wrong; the clients, who
only say that something is, have the last word.

Owns: these requests, in this order, and what the clients do.
"""
from __future__ import annotations

import itertools
import re
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from minikafka.lab.exercise import Todo, Unknown, Wrong
from minikafka.lab.labs.lab20 import clients
from minikafka.lab.labs.lab20.layouts import APIS
from minikafka.lab.labs.lab20.parts import StudentsBroker, running
from minikafka.lab.labs.lab20.side_by_side import PATIENCE, NoAnswer, WireLine, difference, read_fields
from minikafka.lab.labs.one_broker import one_broker
from minikafka.lab.values import shown
from minikafka.log import batch

LATEST, EARLIEST = -1, -2
WAIT = 3000     # milliseconds for which a Fetch may wait
LATE = 60_000   # a max_wait that nobody waits for
LONG = 30_000   # letters of a client's name, for a long request
APART = 0.02    # seconds between two pieces of it; who reads them as one all the same gets away with it
ASLEEP = 0.3    # seconds after which a Fetch that was sent is waiting
TAGS = b"\x00\x01\x01\x00"  # what newer versions have behind the client's name: here nothing
TIME = 1_700_000_000_000


@dataclass
class TwoBrokers:
    """The student's broker and ours, a connection to each, and a topic."""

    broker: StudentsBroker
    mine: WireLine
    kafka: WireLine
    topic: str

    def both(self, api: str, values: Mapping[str, Any], asked: str) -> bytes:
        """Send a request to both brokers; Wrong where the student's answer differs. Return the student's answer."""
        frame = self.mine.frame(api, values)
        answer, reference = self.answer(frame, asked), self.reference(frame)
        if found := difference(api, answer, reference):
            raise Wrong(f"{asked}: {found.sentence}", found.table)
        return answer

    def each(self, api: str, mine: Mapping[str, Any], kafka: Mapping[str, Any], asked: str) -> list[dict[str, Any]]:
        """Send what differs by the members' names; return what both answers say, field by field."""
        frame = self.mine.frame(api, mine)
        answer, reference = self.answer(frame, asked), self.reference(self.mine.same(api, kafka))
        if found := difference(api, answer, reference):
            raise Wrong(f"{asked}: {found.sentence}", found.table)
        return [{field.name: field.says for field in read_fields(api, said)[0]} for said in (answer, reference)]

    def says(self, api: str, values: Mapping[str, Any], asked: str) -> dict[str, Any]:
        """Send a request to the student's broker only, and return what its answer says, field by field."""
        answer = self.answer(self.mine.frame(api, values), asked)
        return {field.name: field.says for field in read_fields(api, answer)[0]}

    def answer(self, frame: bytes, asked: str, line: WireLine | None = None) -> bytes:
        """Send a frame to the student's broker and return the answer; Wrong if none comes."""
        try:
            return (line or self.mine).exchange(frame)
        except NoAnswer as none:
            raise self.wrong(f"{asked}: {none}") from None

    def reference(self, frame: bytes) -> bytes:
        """Return our broker's answer."""
        try:
            return self.kafka.exchange(frame)
        except (NoAnswer, OSError) as none:
            raise Unknown(f"the broker to compare with did not answer ({none}). Run the cell again") from None

    def wrong(self, why: str) -> Wrong:
        return Wrong(why, self.broker.errors)


@contextmanager
def bench(exercise: str, text: str | None) -> Iterator[TwoBrokers]:
    """Start the student's broker, and ours if it does not run yet."""
    ours = one_broker()
    topic = ours.topic("orders")
    with running(exercise, text) as broker, WireLine(broker.port) as mine, WireLine(_port(ours.bootstrap)) as kafka:
        yield TwoBrokers(broker, mine, kafka, topic)


def _port(bootstrap: str) -> int:
    return int(bootstrap.rpartition(":")[2])


Stage = Callable[[TwoBrokers], str]


def run(exercise: str, stage: Stage) -> Callable[[Sequence[str]], list[str | Exception]]:
    """Return what plays a stage with each of these files: the sentence of a PASS, or what was raised."""
    def play(text: str) -> str | Exception:
        try:
            with bench(exercise, text) as both:
                return stage(both)
        except (Wrong, Todo, Unknown) as found:
            return found
    return lambda texts: [play(text) for text in texts]


def verdict(found: str | Exception) -> str:
    if isinstance(found, Exception):
        raise found
    return found


# --- 20.1 -----------------------------------------------------------------------------------------------------------


def judge_frame(bench: TwoBrokers) -> str:
    """Ask which versions there are: at once, in pieces, two requests together, from two connections, in a version too new."""
    first = bench.mine.frame("ApiVersions", {})
    try:
        bench.mine.exchange(first)
    except NoAnswer as none:
        raise bench.wrong(f"ApiVersions: {none}. The size of this request is {first[:4].hex(' ')}, that is {len(first) - 4}: "
                          "does your broker read it so?") from None
    listed(bench, "ApiVersions")
    long = bench.mine.frame("ApiVersions", {}, client="x" * LONG)
    for what, pieces, count in (("two requests in one piece", [bench.mine.frame("ApiVersions", {}) * 2], 2),
                                (f"a request of {len(long)} bytes, which comes in pieces", _pieces(long), 1)):
        try:
            for piece in pieces:
                bench.mine.send(piece)
                time.sleep(APART)
            for _ in range(count):
                bench.mine.receive()
        except NoAnswer as none:
            raise bench.wrong(f"{what}: {none}") from None
    with WireLine(bench.broker.port) as second:
        bench.answer(second.frame("ApiVersions", {}), "a second client while the first is connected", second)
    asked = "ApiVersions in version 99"
    too_new = bench.mine.frame("ApiVersions0", {}, version=99, more=TAGS)
    if found := difference("ApiVersions0", bench.answer(too_new, asked), bench.reference(too_new)):
        raise Wrong(f"{asked}, which you do not have: {found.sentence}. Clients begin so, and go down to a version of your list",
                    found.table)
    bench.both("ApiVersions0", {}, "ApiVersions in version 0, which librdkafka sends next and which has no `throttle`")
    bench.both("ApiVersions", {}, "ApiVersions once more on the same connection")
    return "framed, numbered and listed: your broker says what it can, to two clients at once and to one that wants too much"


def _pieces(frame: bytes) -> list[bytes]:
    """Return a frame cut into pieces; the first ends within the size, the second within the header."""
    cuts = [0, 3, 7, *range(1000, len(frame), 7000), len(frame)]
    return [frame[begin:end] for begin, end in itertools.pairwise(cuts)]


def listed(bench: TwoBrokers, *apis: str) -> None:
    """Raise Wrong if the list of ApiVersions lacks one of these."""
    answer = bench.both("ApiVersions", {}, "ApiVersions")
    found = {field.place: field.says for field in read_fields("ApiVersions", answer)[0]}
    rows = [f"apis[{n}]" for n in range(found["how many apis"])]
    ranges = {found[f"{row}.key"]: (found[f"{row}.lowest"], found[f"{row}.highest"]) for row in rows}
    for name in apis:
        key, version = APIS[name].key, APIS[name].version
        if key not in ranges:
            raise Wrong(f"{name} (key {key}) is not in your list of ApiVersions; no client will send it to you")
        lowest, highest = ranges[key]
        if not lowest <= version <= highest:
            raise Wrong(f"your list has {name} (key {key}) in versions {lowest} to {highest}; {version} is wanted")


# --- 20.2 -----------------------------------------------------------------------------------------------------------


def judge_metadata(bench: TwoBrokers) -> str:
    """Ask for a topic that is not there, for one that has to be created, and for all."""
    listed(bench, "Metadata")
    bench.both("Metadata", names("no-such-topic", create=0), "Metadata for a topic that is not there, and create is 0")
    answer = bench.both("Metadata", names(bench.topic), "Metadata for a new topic, and create is 1")
    said = {field.name: field.says for field in read_fields("Metadata", answer)[0]}
    if said["port"] != bench.broker.port:
        raise Wrong(f"your broker listens on port {bench.broker.port}, and Metadata sends clients to port {said['port']}")
    asked = "Metadata for all topics, the count is -1"
    every = read_fields("Metadata", bench.answer(bench.mine.frame("Metadata", {"topics": None, "create": 1}), asked))[0]
    found = [field.says for field in every if re.fullmatch(r"topics\[\d+\]\.name", field.place)]
    if found != [bench.topic]:
        raise Wrong(f"{asked}: {bench.topic} is the only one, and your answer has {shown(found, 60)}")
    who = clients.see_topic(bench.broker, bench.topic)
    return f"{who} found your broker, and {bench.topic} with one partition"


def names(*topics: str, create: int = 1) -> dict[str, Any]:
    return {"topics": [{"name": name} for name in topics], "create": create}


# --- 20.4 -----------------------------------------------------------------------------------------------------------


def three(first: int = 0) -> bytes:
    """Return a batch of three records as a producer makes it."""
    return batch.build([(b"truck-1", f"order-{n}".encode()) for n in range(first, first + 3)],
                       timestamp_ms=TIME)


def judge_produce(bench: TwoBrokers) -> str:
    """Write two batches, one that is damaged, one to a topic that is not there, and one without an acknowledgement."""
    listed(bench, "Produce", "InitProducerId")
    bench.both("Metadata", names(bench.topic), "Metadata for a new topic")
    bench.both("Produce", records(bench.topic, three()), "three records with a right checksum, for an empty partition")
    bench.both("Produce", records(bench.topic, three(3)), "three more")
    damaged = bytearray(three(6))
    damaged[-3] ^= 1
    bench.both("Produce", records(bench.topic, bytes(damaged)), "a batch in which one bit has changed on its way")
    bench.both("Produce", records("no-such-topic", three()), "a topic that is not there")
    for line in (bench.mine, bench.kafka):
        line.send(line.frame("Produce", records(bench.topic, three(6), acks=0)))
    bench.both("Produce", records(bench.topic, three(9)), "three more after three with acks=0, which get no answer at all")
    producer = {"transaction": None, "timeout": 1000}
    bench.both("InitProducerId", producer, "InitProducerId")
    first, second = (bench.says("InitProducerId", producer, "InitProducerId")["producer"] for _ in range(2))
    if first == second:
        raise Wrong(f"InitProducerId twice: both producers got the id {first}. Each one needs a number of its own")
    return clients.python_writes(bench.broker, bench.topic, 12)


def records(topic: str, data: bytes, acks: int = -1) -> dict[str, Any]:
    return {"transaction": None, "acks": acks, "timeout": 1000,
            "topics": [{"name": topic, "partitions": [{"partition": 0, "batch": data}]}]}


# --- 20.5 -----------------------------------------------------------------------------------------------------------


def judge_fetch(bench: TwoBrokers) -> str:
    """Read from the beginning, the middle and the end, beyond it, a little only, and wait for what comes later."""
    listed(bench, "Fetch")
    bench.both("Metadata", names(bench.topic), "Metadata for a new topic")
    for first in (0, 3, 6):
        bench.both("Produce", records(bench.topic, three(first)), "three records")
    bench.both("Fetch", wanted(bench.topic, 0), "Fetch from offset 0 of nine records in three batches")
    bench.both("Fetch", wanted(bench.topic, 3), "Fetch from offset 3, where the second batch begins")
    bench.both("Fetch", wanted(bench.topic, 4), "Fetch from offset 4, in the middle of a batch, which is sent whole")
    bench.both("Fetch", wanted(bench.topic, 0, most=1), "Fetch of one byte at most: the first batch is sent all the same")
    bench.both("Fetch", wanted(bench.topic, 9, wait=50), "Fetch from offset 9, the end, for 50 ms")
    bench.both("Fetch", wanted(bench.topic, 10, wait=LATE), "Fetch from offset 10, beyond the end, which is answered at once")
    bench.both("Fetch", wanted("no-such-topic", 0, wait=LATE), "Fetch from a topic that is not there, which is answered at once")
    _waits(bench)
    clients.librdkafka_writes(bench.broker, bench.topic, 12)
    return clients.both_read(bench.broker, bench.topic, 17)


def wanted(topic: str, offset: int, wait: int = 0, most: int = 1 << 20, least: int = 1) -> dict[str, Any]:
    return {"replica": -1, "max_wait": wait, "min_bytes": least, "max_bytes": most, "isolation": 0,
            "topics": [{"name": topic, "partitions": [{"partition": 0, "offset": offset, "max_bytes": most}]}]}


def _waits(bench: TwoBrokers) -> None:
    """Raise Wrong if a Fetch at the end is answered before its time without a record, or long after one has come."""
    began = time.monotonic()
    bench.answer(bench.mine.frame("Fetch", wanted(bench.topic, 9, wait=400)), "Fetch at the end for 400 ms")
    if time.monotonic() - began < 0.35:
        raise Wrong("a Fetch at the end with a max_wait of 400 ms was answered at once, with nothing: a client that waits for "
                    "records would send thousands of requests a second")
    began = time.monotonic()
    bench.answer(bench.mine.frame("Fetch", wanted(bench.topic, 0, wait=400, least=1 << 19)), "Fetch with a large min_bytes")
    if time.monotonic() - began < 0.35:
        raise Wrong(f"a Fetch with a min_bytes of {1 << 19} and a max_wait of 400 ms was answered at once, with less")
    bench.mine.send(bench.mine.frame("Fetch", wanted(bench.topic, 9, wait=WAIT)))
    writer = threading.Thread(target=_one_batch, args=(bench.broker.port, bench.topic))
    began = time.monotonic()
    writer.start()
    try:
        answer = bench.mine.receive(PATIENCE)
    except NoAnswer as none:
        raise bench.wrong(f"a Fetch that waits while three records come: {none}") from None
    finally:
        writer.join()
    took = time.monotonic() - began
    got = next((field.says for field in read_fields("Fetch", answer)[0] if field.name == "batches"), b"")
    if not got or took > WAIT / 1000 * 0.8:
        raise Wrong(f"a Fetch waits {WAIT} ms at most, and three records come at once: your answer came after {took:.1f} s with "
                    f"{len(got)} bytes. Does the waiting Fetch look again?")


def _one_batch(port: int, topic: str) -> None:
    try:
        with WireLine(port) as line:
            time.sleep(ASLEEP)
            line.exchange(line.frame("Produce", records(topic, three(9))))
    except (OSError, NoAnswer, struct.error):
        return  # the waiting Fetch shows it


# --- 20.6 -----------------------------------------------------------------------------------------------------------


def judge_list_offsets(bench: TwoBrokers) -> str:
    """Ask for the beginning and the end: of nothing, and of six records."""
    listed(bench, "ListOffsets")
    bench.both("Metadata", names(bench.topic), "Metadata for a new topic")
    for what in ("an empty partition", "a partition of six records"):
        for when, said in ((LATEST, "the end"), (EARLIEST, "the beginning")):
            bench.both("ListOffsets", at(bench.topic, when), f"ListOffsets for {said} ({when}) of {what}")
        for first in (0, 3) if "empty" in what else ():
            bench.both("Produce", records(bench.topic, three(first)), "three records")
    bench.both("ListOffsets", at("no-such-topic", LATEST), "ListOffsets for a topic that is not there")
    return clients.find_ends(bench.broker, bench.topic, 6)


def at(topic: str, when: int) -> dict[str, Any]:
    return {"replica": -1, "topics": [{"name": topic, "partitions": [{"partition": 0, "time": when}]}]}


# --- 20.7 -----------------------------------------------------------------------------------------------------------


def judge_commits(bench: TwoBrokers) -> str:
    """Ask for the coordinator, for a commit that nobody made, make one, take it back, and make one that nobody may."""
    listed(bench, "FindCoordinator", "OffsetCommit", "OffsetFetch")
    bench.both("Metadata", names(bench.topic), "Metadata for a new topic")
    for first in (0, 3):
        bench.both("Produce", records(bench.topic, three(first)), "three records")
    group = f"group-{bench.topic}"
    for name in (group, f"{group}-2"):
        _coordinated(name, bench.topic)
    answer = bench.both("FindCoordinator", {"group": group}, "FindCoordinator")
    port = next(field.says for field in read_fields("FindCoordinator", answer)[0] if field.name == "port")
    if port != bench.broker.port:
        raise Wrong(f"your broker listens on port {bench.broker.port}, and FindCoordinator sends clients to port {port}")
    bench.both("OffsetFetch", committed(group, bench.topic), "OffsetFetch of a group that has never committed")
    for offset in (5, 2):
        bench.both("OffsetCommit", commit(group, bench.topic, offset), f"OffsetCommit of {offset} by a consumer without a group")
        bench.both("OffsetFetch", committed(group, bench.topic), f"OffsetFetch after a commit of offset {offset}")
    bench.both("OffsetFetch", committed(f"{group}-2", bench.topic), "OffsetFetch of another group, which has never committed")
    return clients.commit_and_resume(bench.broker, bench.topic)


def committed(group: str, topic: str) -> dict[str, Any]:
    return {"group": group, "topics": [{"name": topic, "partitions": [{"partition": 0}]}]}


def commit(group: str, topic: str, offset: int, generation: int = -1, member: str = "") -> dict[str, Any]:
    return {"group": group, "generation": generation, "member": member, "retention": -1,
            "topics": [{"name": topic, "partitions": [{"partition": 0, "offset": offset, "note": f"note {offset}"}]}]}


# --- 20.8 -----------------------------------------------------------------------------------------------------------


def judge_group(bench: TwoBrokers) -> str:
    """Join, take a part, beat, commit as a member and as a stranger, join again, and leave."""
    listed(bench, "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
    bench.both("Metadata", names(bench.topic), "Metadata for a new topic")
    for first in (0, 3):
        bench.both("Produce", records(bench.topic, three(first)), "three records")
    group = f"group-{bench.topic}"
    _coordinated(group, bench.topic)
    asked = "JoinGroup of the first member, which has no name yet"
    joined = bench.each("JoinGroup", join(group), join(group), asked)
    if not joined[0]["leader"] or joined[0]["leader"] != joined[0]["member"]:
        raise Wrong(f"{asked}: it is {joined[0]['member']!r} in your answer, and the leader is {joined[0]['leader']!r}. You name "
                    "the member, and a group of one is led by it")
    them = [(said["generation"], said["member"]) for said in joined]
    strangers, late = [(number, "nobody") for number, _ in them], [(number + 7, name) for number, name in them]
    alone = [(-1, "")] * 2

    def by(members: list[tuple[int, str]], api: str, asked: str) -> None:
        bench.each(api, *(as_member(api, group, bench.topic, *member) for member in members), asked)
    by(them, "SyncGroup", "SyncGroup by the leader, who gives itself a part")
    by(them, "Heartbeat", "Heartbeat of the member")
    by(strangers, "Heartbeat", "Heartbeat of a member that nobody knows")
    by(late, "Heartbeat", "Heartbeat in a generation that never was")
    by(them, "OffsetCommit", "OffsetCommit by the member")
    by(strangers, "OffsetCommit", "OffsetCommit by a member that nobody knows")
    by(late, "OffsetCommit", "OffsetCommit in a generation that never was")
    by(alone, "OffsetCommit", "OffsetCommit in generation -1 without a name, while the group has a member")
    by(strangers, "SyncGroup", "SyncGroup by a member that nobody knows")
    by(late, "SyncGroup", "SyncGroup in a generation that never was")
    by(strangers, "LeaveGroup", "LeaveGroup of a member that nobody knows")
    by(them, "LeaveGroup", "LeaveGroup of the member")
    by(them, "Heartbeat", "Heartbeat after it has left")
    _newcomer(bench, f"{group}-2")
    return clients.read_as_group(bench.broker, bench.topic)


def _newcomer(bench: TwoBrokers, group: str) -> None:
    """Raise Wrong if a second member does not take the place of the first, or if one that comes again gets another name."""
    first = bench.says("JoinGroup", join(group), "JoinGroup of a first member")
    second = bench.says("JoinGroup", join(group), "JoinGroup of a second member while the first is there")
    again = bench.says("JoinGroup", join(group, second["member"]), "JoinGroup of a member that comes again")
    if first["member"] == second["member"]:
        raise Wrong(f"JoinGroup of a second member while the first is there: both are called {first['member']!r}")
    if again["member"] != second["member"]:
        raise Wrong(f"JoinGroup of {second['member']!r}, which comes again: in your answer it is {again['member']!r}")
    found = [said["generation"] for said in (first, second, again)]
    if not found[0] < found[1] < found[2]:
        raise Wrong(f"three times JoinGroup: the generations of your answers are {found}; each join is a new one")
    for said, number, what in ((first, 25, "the old member, whose place a newcomer has taken"), (again, 0, "the new member")):
        beat = {"group": group, "generation": said["generation"], "member": said["member"]}
        if (error := bench.says("Heartbeat", beat, f"Heartbeat of {what}")["error"]) != number:
            raise Wrong(f"Heartbeat of {what}: your answer has error {error}, {number} is right")


def join(group: str, member: str = "") -> dict[str, Any]:
    return {"group": group, "session": 30_000, "rebalance": 30_000, "member": member, "kind": "consumer",
            "protocols": [{"name": "range", "data": b"the topics"}, {"name": "roundrobin", "data": b"the same"}]}


def as_member(api: str, group: str, topic: str, generation: int, member: str) -> dict[str, Any]:
    """Return the values of a request of a member."""
    return {**commit(group, topic, 4, generation, member), "given": [{"member": member, "part": b"partition 0"}]}


def _coordinated(group: str, topic: str) -> None:
    """Wait until our broker is the coordinator of a group, which takes a moment for its first one."""
    with KafkaConsumer(bootstrap_servers=one_broker().bootstrap, group_id=group) as consumer:
        consumer.committed(TopicPartition(topic, 0))

"""What is open when something is deleted. A work begins, yields for the deletion, and goes on; its answers are in the transcript.

`holds`: what it works on; a deletion of none of that is not played beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from kafka.protocol.consumer.group import SyncGroupRequest
from kafka.protocol.producer.transaction import AddOffsetsToTxnRequest

from minikafka.protocol.errors import Err
from tests import requests
from tests.wire.consumer_groups.classic_members import Classic
from tests.wire.consumer_groups.consumer_protocol import JOIN, Member, beat_until, until
from tests.wire.deletions.scene import Scene, Waiting
from tests.wire.test_alter_configs import BROKER as BROKER_CONFIG
from tests.wire.test_alter_configs import DELETE, incremental, shown
from tests.wire.test_alter_configs import GROUP as GROUP_CONFIG
from tests.wire.test_alter_configs import TOPIC as TOPIC_CONFIG
from tests.wire.test_fetch import fetch
from tests.wire.test_produce import batch, new_producer, produce, sequenced
from tests.wire.test_transactions import ABORT, COMMIT, NOT_ADDED_KNOWN, V2, Id, patiently

TOPIC, GROUP, ID = "topic", "group", "transactional id"
IDLE = "idle transactional id"
GROUP_SETTINGS, BROKER_SETTINGS = "settings of a group", "settings of brokers"
INTERVAL = "consumer.heartbeat.interval.ms"
SESSION_MS = 3000   # of a group that sets it; a member of the others may be silent for 45 s
POLL_MS = 60_000    # how long a fetch waits, if nothing happens
Work = Callable[[Scene], Iterator[None]]
WORKS: dict[str, tuple[Work, frozenset[str]]] = {}


def work(title: str, *holds: str) -> Callable[[Work], Work]:
    def noted(body: Work) -> Work:
        WORKS[title] = body, frozenset(holds)
        return body
    return noted


def end(s: Scene, who: Id, commit: bool = COMMIT) -> None:
    s.tell("EndTxn", patiently(lambda: s.desk.end(who, commit, V2))[0])
    s.desk.settle()


def begin(s: Scene) -> Id:
    return s.desk.begin()


# --- transactions ---------------------------------------------------------------------------------------------------------


@work("a transaction with a record in it", TOPIC, ID)
def records(s: Scene) -> Iterator[None]:
    who = begin(s)
    assert s.desk.produce(who, 0)[0] == "NONE"
    yield
    s.tell("Produce", patiently(lambda: s.desk.produce(who, 1))[0])
    end(s, who)
    who = begin(s)
    s.tell("Produce of the next producer", patiently(lambda: s.desk.produce(who, 0))[0])
    end(s, who)


@work("a transaction that was only announced to the partition", TOPIC, ID)
def announced(s: Scene) -> Iterator[None]:
    who = begin(s)
    assert s.desk.add(who, 0) == {0: "NONE"}
    yield
    s.tell("AddPartitionsToTxn", s.desk.add(who, 0)[0])
    end(s, who, ABORT)


@work("a transaction with an offset in it", TOPIC, GROUP, ID)
def pending(s: Scene) -> Iterator[None]:
    who = begin(s)
    assert s.reader.commit(who, 5, 5) == "NONE"
    yield
    end(s, who)


@work("a transaction with an offset in it, over a committed one", TOPIC, GROUP, ID)
def pending_over_committed(s: Scene) -> Iterator[None]:
    who = begin(s)
    assert s.commit(3) == 0 and s.reader.commit(who, 5, 5) == "NONE"
    yield
    end(s, who)


@work("a transaction with an offset in it, which goes on", TOPIC, GROUP, ID)
def pending_goes_on(s: Scene) -> Iterator[None]:
    who = begin(s)
    assert s.reader.commit(who, 5, 5) == "NONE"
    yield
    s.tell("TxnOffsetCommit", s.reader.commit(who, 6, 5))
    end(s, who)


@work("a transaction with an offset in it, which is aborted", TOPIC, GROUP, ID)
def pending_aborted(s: Scene) -> Iterator[None]:
    who = begin(s)
    assert s.commit(3) == 0 and s.reader.commit(who, 5, 5) == "NONE"
    yield
    end(s, who, ABORT)


def given(who: Id, pid: int, epoch: int) -> str:
    return f"epoch {epoch} of {'the same' if pid == who[0] else 'another'} producer id"


def tell_next(s: Scene, who: Id) -> None:
    """Tell what the next producer of the id is given, and that it can write."""
    pid, epoch = begin(s)
    s.tell("InitProducerId", given(who, pid, epoch))
    s.tell("Produce", patiently(lambda: s.desk.produce((pid, epoch), 0))[0])
    end(s, (pid, epoch))


@work("a producer that writes after a pause", IDLE)
def idle(s: Scene) -> Iterator[None]:
    who = begin(s)
    yield
    s.tell("Produce", s.desk.produce(who, 0)[0])
    tell_next(s, who)


@work("a producer that writes after a commit and a pause", IDLE)
def idle_after_commit(s: Scene) -> Iterator[None]:
    pid, epoch = who = begin(s)
    assert s.desk.produce(who, 0)[0] == "NONE" and s.desk.end(who, COMMIT, V2)[0] == "NONE"
    s.desk.settle()
    yield
    s.tell("Produce", s.desk.produce((pid, epoch + 1), 0)[0])
    tell_next(s, who)


@work("a producer that goes on as before KIP-890 after a pause", IDLE)
def idle_of_old(s: Scene) -> Iterator[None]:
    who = begin(s)
    assert s.desk.add(who, 0) == {0: "NONE"} and s.desk.produce(who, 0, NOT_ADDED_KNOWN)[0] == "NONE"
    assert s.desk.end(who, COMMIT)[0] == "NONE"
    s.desk.settle()
    yield
    s.tell("AddPartitionsToTxn", s.desk.add(who, 0)[0])
    s.tell("Produce", s.desk.produce(who, 1, NOT_ADDED_KNOWN)[0])
    for what, commit in (("EndTxn to commit", COMMIT), ("EndTxn to abort", ABORT)):
        s.tell(what, s.desk.end(who, commit)[0])
    tell_next(s, who)


@work("a producer that ends nothing after a pause", IDLE)
def idle_ends(s: Scene) -> Iterator[None]:
    who = begin(s)
    yield
    for what, commit in (("EndTxn to commit", COMMIT), ("EndTxn to abort", ABORT)):
        s.tell(what, s.desk.end(who, commit, V2)[0])
    tell_next(s, who)


@work("a producer that commits an offset after a pause", IDLE)
def idle_commits(s: Scene) -> Iterator[None]:
    who = begin(s)
    assert s.commit(3) == 0
    yield
    added = AddOffsetsToTxnRequest(transactional_id=s.name, producer_id=who[0], producer_epoch=who[1], group_id=s.name)
    s.tell("AddOffsetsToTxn", s.desk.raw.ask(added, 3).error_code)
    for version in (4, 5):
        s.tell(f"TxnOffsetCommit v{version}", s.reader.commit(who, 5, version))
    tell_next(s, who)


@work("a producer that asks for its next epoch after a pause", IDLE)
def idle_continues(s: Scene) -> Iterator[None]:
    who = begin(s)
    yield
    for version in (3, 4):
        error, pid, epoch = s.desk.init(who, version=version)
        s.tell(f"InitProducerId v{version}", error if error != "NONE" else given(who, pid, epoch))
    tell_next(s, who)


@work("a producer that was fenced", IDLE)
def idle_fenced(s: Scene) -> Iterator[None]:
    old = begin(s)
    assert s.desk.produce(old, 0)[0] == "NONE"
    begin(s)
    yield
    s.tell("Produce", s.desk.produce(old, 1)[0])
    s.tell("AddPartitionsToTxn", s.desk.add(old, 0)[0])
    s.tell("EndTxn", s.desk.end(old, COMMIT, V2)[0])
    tell_next(s, old)
    s.tell("Produce", s.desk.produce(old, 1)[0])
    s.tell("EndTxn", s.desk.end(old, COMMIT, V2)[0])
    s.tell("InitProducerId", s.desk.init(old)[0])


# --- groups ---------------------------------------------------------------------------------------------------------------


@work("a committed offset", TOPIC, GROUP)
def committed(s: Scene) -> Iterator[None]:
    assert s.commit(3) == 0
    yield
    s.tell("OffsetCommit", s.commit(4))


def stable(s: Scene, instance: str | None = None) -> Classic:
    """Return a classic member that is alone in its group."""
    member = Classic(s.group, s.name, instance=instance)
    member.join()
    member.sync({s.name: [0]})
    s.members = [(member.id, instance)]
    return member


@work("a classic member", TOPIC, GROUP)
def classic(s: Scene) -> Iterator[None]:
    member = stable(s)
    assert s.commit(3, member.id, member.generation) == 0
    yield
    s.tell("Heartbeat", member.heartbeat())
    s.tell("OffsetCommit", s.commit(4, member.id, member.generation))
    s.tell("LeaveGroup", member.leave())


@work("a static classic member", GROUP)
def static(s: Scene) -> Iterator[None]:
    member = stable(s, "i")
    yield
    s.tell("Heartbeat", member.heartbeat())
    s.tell("JoinGroup", member.ask_to_join().error_code)


@work("a JoinGroup that waits", GROUP)
def joining(s: Scene) -> Iterator[None]:
    old, new = stable(s), Classic(s.group, s.name)
    asked = new.ask_to_join()
    assert asked.error_code == Err.MEMBER_ID_REQUIRED
    new.id = asked.member_id
    waiting = s.wait(s.group.raw, new.join_request(), 9)
    assert waiting.raw.waits()
    yield
    s.tell("Heartbeat of the other", old.heartbeat())
    s.tell("LeaveGroup of the other", old.leave())
    joined = waiting.answer()
    s.tell("JoinGroup", joined.error_code, f"generation {joined.generation_id}")


@work("a SyncGroup that waits", GROUP)
def syncing(s: Scene) -> Iterator[None]:
    leader, follower = stable(s), Classic(s.group, s.name)
    follower.id = follower.ask_to_join().member_id
    waiting = s.wait(s.group.raw, follower.join_request(), 9)
    assert waiting.raw.waits()
    leader.join()
    follower.generation = waiting.answer().generation_id
    sync = SyncGroupRequest(group_id=s.name, generation_id=follower.generation, member_id=follower.id, protocol_type="consumer",
                            protocol_name="range", group_instance_id=None, assignments=[])
    waiting = s.wait(s.group.raw, sync, 5)
    assert waiting.raw.waits()
    yield
    s.tell("SyncGroup of the leader", leader.ask_to_sync({s.name: [0]}).error_code)
    synced = waiting.answer()
    s.tell("SyncGroup", synced.error_code)
    s.tell("Heartbeat", follower.heartbeat())


@work("a member of the consumer protocol", TOPIC, GROUP)
def consumer(s: Scene) -> Iterator[None]:
    member = s.group.member(s.name)
    beat_until(lambda: member.owned, member)
    s.members = [(member.id, None)]
    assert s.commit(3, member.id, member.epoch) == 0
    yield
    s.tell("Heartbeat", member.ask().error_code)
    s.tell("OffsetCommit", s.commit(4, member.id, member.epoch))
    s.tell("Heartbeat of one that leaves", member.ask(-1).error_code)


@work("a static member of the consumer protocol", GROUP)
def static_consumer(s: Scene) -> Iterator[None]:
    member = s.group.member(s.name, instance_id="i")
    beat_until(lambda: member.owned, member)
    s.members = [(member.id, "i")]
    yield
    s.tell("Heartbeat", member.ask().error_code)
    s.tell("Heartbeat of one that joins", member.fresh().ask(JOIN, owned=set(), **member.said).error_code)


# --- settings -------------------------------------------------------------------------------------------------------------


@work("settings of a group without members", GROUP, GROUP_SETTINGS)
def configured(s: Scene) -> Iterator[None]:
    assert s.commit(3) == 0
    s.set(s.at.raw, GROUP_CONFIG, s.name, INTERVAL, 777)
    yield
    s.tell_soon(INTERVAL, lambda: shown(s.at.raw, GROUP_CONFIG, s.name, INTERVAL)[0])


def beats(s: Scene) -> Member:
    """Return the only member of a group with a heartbeat interval of its own, which the member has."""
    member = s.group.member(s.name)
    beat_until(lambda: member.owned, member)
    s.members = [(member.id, None)]
    s.set(s.at.raw, GROUP_CONFIG, s.name, INTERVAL, 777)
    until(lambda: member.ask().heartbeat_interval_ms == 777)
    return member


@work("a member whose group has a heartbeat interval", GROUP_SETTINGS)
def beating(s: Scene) -> Iterator[None]:
    member = beats(s)
    yield
    s.tell_soon("heartbeat interval", lambda: str(member.ask().heartbeat_interval_ms))


def misses(s: Scene, member: Member) -> bool:
    """Return whether the group drops a silent member long before 45 s, the brokers' session timeout, are over."""
    deadline = time.monotonic() + 3 * SESSION_MS / 1000
    while member.id in s.group.described() and time.monotonic() < deadline:
        time.sleep(0.1)
    return member.id not in s.group.described()


@work("a silent member whose group has a session timeout", GROUP_SETTINGS)
def silent(s: Scene) -> Iterator[None]:
    s.set(s.at.raw, GROUP_CONFIG, s.name, "consumer.session.timeout.ms", SESSION_MS)
    member = beats(s)
    yield
    s.tell("the member", "is missed" if misses(s, member) else "is still there")


@work("a member whose group has a session timeout, and which beats once more", GROUP_SETTINGS)
def silent_later(s: Scene) -> Iterator[None]:
    s.set(s.at.raw, GROUP_CONFIG, s.name, "consumer.session.timeout.ms", SESSION_MS)
    member = beats(s)
    yield
    s.tell_soon("heartbeat interval", lambda: str(member.ask().heartbeat_interval_ms))
    s.tell("the member", "is missed" if misses(s, member) else "is still there")


def assigning(s: Scene, *setting: Any) -> Iterator[None]:
    """A member joins within the assignment interval, which is 0 without the setting."""
    first, second = s.group.member(s.name), s.group.member(s.name)
    beat_until(lambda: first.owned, first)
    s.set(*setting, 15_000)

    def waits() -> bool:
        second.beat()
        return s.group.state()[0] == "Assigning" or (second.leave() and False)
    until(waits)
    yield
    s.tell_soon("state of the group", lambda: second.beat() and first.beat() and s.group.state()[0])


@work("a member that waits for its group's assignment interval", GROUP_SETTINGS)
def assigning_by_group(s: Scene) -> Iterator[None]:
    yield from assigning(s, s.at.raw, GROUP_CONFIG, s.name, "consumer.assignment.interval.ms")


@work("a member that waits for the brokers' assignment interval", BROKER_SETTINGS)
def assigning_by_brokers(s: Scene) -> Iterator[None]:
    yield from assigning(s, s.at.raw, BROKER_CONFIG, "", "group.consumer.assignment.interval.ms")


@work("a producer whose large record all brokers refuse", BROKER_SETTINGS)
def refused(s: Scene, broker: str = "") -> Iterator[None]:
    s.set(s.at.raw, BROKER_CONFIG, broker, "message.max.bytes", 2000)
    assert incremental(s.at.raw, (TOPIC_CONFIG, s.name, [("max.message.bytes", DELETE, None)]))[0][2] == 0
    assert produce(s.at, batch(b"x" * 3000)).error_code == Err.MESSAGE_TOO_LARGE
    yield
    until(lambda: produce(s.at, batch(b"x" * 3000)).error_code == 0)


@work("a producer whose large record its leader refuses", BROKER_SETTINGS)
def refused_by_leader(s: Scene) -> Iterator[None]:
    yield from refused(s, str(s.at.leader))


# --- reading and writing ----------------------------------------------------------------------------------------------------


def poll(s: Scene, offset: int, isolation: int = 0, version: int = 12) -> Waiting:
    request = requests.fetch(s.name, offset, max_wait_ms=POLL_MS, isolation_level=isolation)
    request.topics[0].topic_id = s.at.id
    return s.wait(s.at.raw, request, version)


def tell_fetch(s: Scene, answer: Any) -> None:
    rows = [p for t in answer.responses for p in t.partitions]
    s.tell("Fetch", answer.error_code, *(f"{Err(p.error_code).name}, {'records' if p.records else 'no records'}" for p in rows))


def tell_poll(s: Scene, waiting: Waiting, go_on: Callable[[], Any]) -> None:
    """Tell whether the deletion has ended the wait; if it has not, `go_on` does."""
    if not waiting.is_over(s.patience()):
        s.tell("Fetch", "still waits")
        go_on()
    tell_fetch(s, waiting.answer())


@work("a fetch that waits", TOPIC)
def fetching(s: Scene, version: int = 12) -> Iterator[None]:
    assert produce(s.at, batch()).error_code == 0
    waiting = poll(s, 1, version=version)
    yield
    tell_poll(s, waiting, lambda: produce(s.at, batch()))


@work("a fetch by the topic's id that waits", TOPIC)
def fetching_by_id(s: Scene) -> Iterator[None]:
    yield from fetching(s, 16)


@work("a read_committed fetch that waits behind an open transaction", TOPIC, ID)
def reading_committed(s: Scene) -> Iterator[None]:
    who = begin(s)
    assert s.desk.produce(who, 0)[0] == "NONE"
    waiting = poll(s, 0, isolation=1)
    yield
    tell_poll(s, waiting, lambda: end(s, who))


def in_session(s: Scene, version: int) -> Iterator[None]:
    assert produce(s.at, batch()).error_code == 0
    raw = s.another(s.at.raw)
    at = s.at._replace(raw=raw)
    session = fetch(at, 0, version, whole=True, session_epoch=0).session_id
    assert session
    yield
    for epoch in (1, 2):
        tell_fetch(s, fetch(at, 0, version, whole=True, session_id=session, session_epoch=epoch, topics=[], max_wait_ms=0))


@work("a fetch session", TOPIC)
def session(s: Scene) -> Iterator[None]:
    yield from in_session(s, 12)


@work("a fetch session by the topic's id", TOPIC)
def session_by_id(s: Scene) -> Iterator[None]:
    yield from in_session(s, 16)


@work("an idempotent producer", TOPIC)
def idempotent(s: Scene) -> Iterator[None]:
    producer = new_producer(s.at)
    for sequence in (0, 1):
        assert produce(s.at, sequenced(producer, sequence)).error_code == 0
    yield
    for what, sequence in (("again", 1), ("the next", 2), ("one too far", 9)):
        s.tell(f"Produce of {what}", produce(s.at, sequenced(producer, sequence)).error_code)


@work("records that were written", TOPIC)
def written(s: Scene) -> Iterator[None]:
    for _ in range(2):
        assert produce(s.at, batch()).error_code == 0
    assert produce(s.at, batch(b"x" * 3000)).error_code == Err.MESSAGE_TOO_LARGE
    yield
    s.tell("Produce", produce(s.at, batch()).error_code)
    s.tell("Produce of a large record", produce(s.at, batch(b"x" * 3000)).error_code)
    s.tell("Fetch", fetch(s.at, 0).error_code)

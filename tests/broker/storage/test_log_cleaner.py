"""The log cleaner and the recovery points inside running brokers, in virtual time."""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import DeleteTopicsRequest

from minikafka.broker.replication.effects import StartAt, Truncate
from minikafka.broker.storage.shell.log_cleaner import CLEAN_POINTS
from minikafka.broker.storage.shell.log_dir import RECOVERY_POINTS
from minikafka.log import batches, build, checkpoint, records
from tests.broker.replication.test_replica_manager import Replicas, replicas
from tests.requests import create_topics, topic
from tests.stage import IDS


async def compacted_topic(w: Replicas, name: str = "c") -> None:
    """A compacted topic whose segments hold a few records, on all three brokers."""
    pairs = {"cleanup.policy": "compact", "internal.segment.bytes": "400", "min.insync.replicas": "2"}
    answer = await w.ask(1, create_topics(topic(name, 1, 3, **pairs)), 7)
    assert answer.topics[0].error_code == 0
    await w.until(lambda: all((name, 0) in b.replicas.partitions for b in w.brokers.values()))
    await w.until(lambda: leader_of(w, name) is not None)


def leader_of(w: Replicas, name: str) -> int | None:
    return next((n for n in IDS if w.partition(n, name).is_leader), None)


async def put(w: Replicas, count: int, name: str = "c", first: int = 0) -> None:
    for number in range(first, first + count):
        data = build([(b"k%d" % (number % 3), b"%d" % number)], timestamp_ms=w.client.wall_ms())
        leader = leader_of(w, name)
        assert leader is not None
        await w.world.call(leader, w.brokers[leader].replicas.append(name, 0, data))


def found(w: Replicas, node: int, name: str = "c") -> list[tuple[int, bytes | None, bytes | None]]:
    """Everything in the log of `node`."""
    log, at, rows = w.partition(node, name).log, w.partition(node, name).log.start_offset, []
    while at < log.end_offset:
        for header, batch in batches(log.read(at, 1 << 20, log.end_offset)):
            rows += [(r.offset, r.key, r.value) for r in records(batch)]
            at = header.next_offset
    return rows


def points(w: Replicas, node: int, name: str) -> dict[tuple[str, int], int]:
    return checkpoint.read(w.disk(node), f"/data/{name}")


async def again(w: Replicas, node: int) -> None:
    """Start a stopped broker anew on its disk."""
    await w.world.restart(node)
    await w.until(lambda: ("c", 0) in w.brokers[node].replicas.partitions)


@replicas()
async def test_every_replica_compacts_and_a_new_one_copies_the_gaps(w: Replicas) -> None:
    """Fails if replicas are not compacted by themselves, the clean point is not written, a restarted broker finds
    another log, or an empty follower cannot copy a log with gaps."""
    await compacted_topic(w)
    await put(w, 60)
    await w.until(lambda: all(b.replicas.log_manager.cleaner.cleaned for b in w.brokers.values()))
    for node in IDS:
        log = w.partition(node, "c").log
        clean = w.brokers[node].replicas.log_manager.cleaner.clean_until["c", 0]
        rows = found(w, node)
        assert 0 < clean <= log.active.base_offset and points(w, node, CLEAN_POINTS) == {("c", 0): clean}
        assert len([row for row in rows if row[0] < clean]) == 3 and rows[-1] == (59, b"k2", b"59")
        assert points(w, node, RECOVERY_POINTS)["c", 0] >= clean
    leader = leader_of(w, "c")
    empty = next(n for n in IDS if n != leader)
    await w.world.stop(empty)
    w.disk(empty).rmtree("/data/c-0")
    await again(w, empty)
    await w.until(lambda: found(w, empty) == found(w, leader or 0))
    await put(w, 3, first=60)
    await w.until(lambda: found(w, empty)[-1] == (62, b"k2", b"62"))
    await w.world.stop(empty)
    await again(w, empty)
    await w.until(lambda: w.partition(empty, "c").log.end_offset == 63)
    assert {key: value for _, key, value in found(w, empty)} == {b"k0": b"60", b"k1": b"61", b"k2": b"62"}


@replicas()
async def test_a_topic_deleted_in_the_middle_of_its_cleaning(w: Replicas) -> None:
    """Fails if a cleaning outlives its topic: it would end the broker, or write into a topic of the same name."""
    await compacted_topic(w)
    await put(w, 30)
    cleaners = [b.replicas.log_manager.cleaner for b in w.brokers.values()]
    for _ in range(100_000):
        if any(_at_work(cleaner) for cleaner in cleaners):
            break
        await w.client.sleep(0.001)
    assert any(_at_work(cleaner) for cleaner in cleaners)
    topic = DeleteTopicsRequest.DeleteTopicState(name="c", topic_id=None)
    await w.ask(1, DeleteTopicsRequest(topics=[topic], timeout_ms=9000), 6)
    await w.until(lambda: all(("c", 0) not in b.replicas.partitions for b in w.brokers.values()))
    await compacted_topic(w)
    await put(w, 30)
    await w.until(lambda: all(len(found(w, n)) < 30 for n in IDS))
    await w.until(lambda: all(not name.endswith(".cleaned") for n in IDS for name in w.disk(n).listdir("/data/c-0")))


def _at_work(cleaner: Any) -> bool:
    """Is there an unfinished copy of a segment?"""
    fs, folder = cleaner.env.fs, f"{cleaner.dir.path}/c-0"
    return fs.exists(folder) and any(name.endswith(".cleaned") for name in fs.listdir(folder))


@replicas()
async def test_a_lowered_recovery_point_is_on_disk_at_once(w: Replicas) -> None:
    """Fails if what is appended after a truncation could be taken for recovered after a crash; also if a checkpoint
    that was under way is finished with the old point (I-POINTS-2)."""
    for value in (b"a", b"b", b"c"):
        assert (await w.send(value)).error_code == 0
    node = w.followers[0]
    w.hold(node)
    partition, manager = w.partition(node), w.brokers[node].replicas
    await w.until(lambda: partition.log.end_offset == 3)
    await w.world.call(node, partition.flush())
    await w.world.call(node, manager.log_manager.checkpoints.write_points())
    assert points(w, node, RECOVERY_POINTS)["t", 0] == 3
    under_way = manager.env.spawn(manager.log_manager.checkpoints.write_points(), "checkpoint")
    await w.client.sleep(0)
    partition.carry_out([Truncate(1)])
    assert points(w, node, RECOVERY_POINTS)["t", 0] == 1
    await w.until(under_way.done)
    assert points(w, node, RECOVERY_POINTS)["t", 0] == 1
    partition.replica.high_watermark = 0  # as Replica.on_out_of_range decides, with this effect
    partition.carry_out([StartAt(0)])
    assert points(w, node, RECOVERY_POINTS)["t", 0] == 0


@replicas()
async def test_a_truncation_lowers_the_clean_point(w: Replicas) -> None:
    """Fails if what is appended behind a truncation is never cleaned (I-CLEANER-2)."""
    await compacted_topic(w)
    await put(w, 30)
    await w.until(lambda: all(b.replicas.log_manager.cleaner.cleaned for b in w.brokers.values()))
    node = next(n for n in IDS if n != leader_of(w, "c"))
    w.hold(node)
    partition, cleaner = w.partition(node, "c"), w.brokers[node].replicas.log_manager.cleaner
    assert cleaner.clean_until["c", 0] > 5
    partition.carry_out([Truncate(5)])
    assert cleaner.clean_until["c", 0] == partition.log.active.base_offset <= 5
    assert points(w, node, CLEAN_POINTS) == {("c", 0): cleaner.clean_until["c", 0]}

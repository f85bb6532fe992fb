"""The shell around the replica cores, on three real brokers in virtual time: ISR timers, acks, long polls, disks, roles."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from kafka.protocol.admin import CreateTopicsRequest, DeleteTopicsRequest, IncrementalAlterConfigsRequest

from minikafka.broker.replication.replica import Replica
from minikafka.broker.replication.shell.delayed_operations import DelayedProduce
from minikafka.broker.replication.shell.partition import HIGH_WATERMARK, LAST_STABLE, LOG_END, Partition
from minikafka.broker.storage.shell.log_dir import HIGH_WATERMARKS, RECOVERY_POINTS
from minikafka.log import checkpoint
from minikafka.log.batch import batches, build
from minikafka.log.markers import marker
from minikafka.log.transaction_index import AbortedTransaction
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.replaced import replaced
from tests import requests
from tests.stage import IDS, Stage, play
from tests.story import Decorator, Story, as_test

LAG = 30.0                                           # replica.lag.time.max.ms, in seconds


class Replicas(Stage):
    """A world with a topic `t` of one partition, three replicas, min.insync.replicas 2."""

    async def begin(self) -> None:
        await self.start()
        await self.create("t")
        await self.until(lambda: self.leader is not None)
        await self.until(lambda: all(self.partition(n).replica.leader == self.leader for n in IDS))

    async def create(self, name: str, partitions: int = 1) -> None:
        wanted = requests.create_topics(requests.topic(name, partitions, 3, min_insync_replicas="2"))
        answer = await self.ask(1, wanted, 7)
        assert answer.topics[0].error_code == 0
        await self.until(lambda: all((name, 0) in b.replicas.partitions for b in self.brokers.values()))

    async def until(self, condition: Callable[[], bool], within: float = 120.0) -> float:
        """Wait for `condition`; returns the virtual seconds it took."""
        start = self.client.now()
        while not condition():
            assert self.client.now() - start < within, "this never happened"
            await self.client.sleep(0.05)
        return self.client.now() - start

    def partition(self, node: int, topic: str = "t") -> Partition:
        return self.brokers[node].replicas.partitions[topic, 0]

    @property
    def leader(self) -> int | None:
        return next((n for n in IDS if self.partition(n).is_leader), None)

    @property
    def followers(self) -> list[int]:
        return [n for n in IDS if n != self.leader]

    async def send(self, value: bytes, acks: int = -1, timeout: float = 9.0, node: int | None = None) -> Any:
        """One record; the partition's answer."""
        data = build([(None, value)], timestamp_ms=self.client.wall_ms())
        request = requests.produce("t", data, acks=acks, timeout_ms=int(timeout * 1000))
        answer = await self.ask(node or self.leader or 0, request, 9, timeout=120.0)
        return answer.responses[0].partition_responses[0]

    async def read(self, node: int, offset: int, wait: float = 0.0, version: int = 12, min_bytes: int = 1) -> Any:
        """One fetch from `offset`; the partition's answer."""
        request = requests.fetch("t", offset, max_wait_ms=int(wait * 1000), min_bytes=min_bytes)
        return (await self.ask(node, request, version, timeout=120.0)).responses[0].partitions[0]


def replicas(seed: int = 5, dies: Sequence[int] = ()) -> Decorator:
    """Make a test of a story in a fresh world that has its topic; a parameter `seed` of the test is the world's."""
    def run(story: Story, given: dict[str, Any]) -> None:
        async def whole(w: Replicas) -> None:
            await w.begin()
            await story(w)

        play(Replicas(given.get("seed", seed)), whole, dies)
    return as_test(run)


def offsets(answer: Any) -> list[int]:
    return [header.base_offset for header, _ in batches(bytes(answer.records or b""))]


async def timed(world: Replicas, answer: Awaitable[Any]) -> tuple[float, Any]:
    start = world.client.now()
    found = await answer
    return world.client.now() - start, found


@replicas()
async def test_folders_of_new_partitions_become_durable_together(w: Replicas) -> None:
    """Fails if each new partition costs a sync of the folder of all, or if a loss of power could take their folders."""
    disk, folder = w.world.hosts[1].disk, w.brokers[1].replicas.log_manager.dir.path
    with patch.object(disk, "sync_names", wraps=disk.sync_names) as sync:
        await w.create("many", 40)
        await w.until(lambda: ("many", 39) in w.brokers[1].replicas.partitions)
    assert 1 <= sum(call.args == (folder,) for call in sync.call_args_list) < 10
    assert all(f"{folder}/many-{index}" in disk.durable for index in range(40))


@replicas()
async def test_the_isr_shrinks_in_time_and_grows_again(w: Replicas) -> None:
    """Fails when a silent follower stays in the ISR, leaves it too early, or does not return (rules 12-15)."""
    late, good = w.followers
    assert (await w.send(b"a")).error_code == 0
    release = w.hold(late)
    await w.client.sleep(1.0)
    waiting = w.client.spawn(w.send(b"b", timeout=90.0), "send")
    took = await w.until(lambda: late not in w.partition(w.leader).replica.isr.committed)
    assert LAG - 2 <= took <= 1.5 * LAG + 1
    assert (await waiting).error_code == 0         # what waited for the late one is committed by the others
    assert sorted(w.partition(w.leader).replica.isr.committed) == sorted([w.leader, good])
    release()
    await w.until(lambda: late in w.partition(w.leader).replica.isr.committed)
    assert w.partition(late).log.end_offset == 2
    reasons = [e["why"] for e in w.events(w.leader, "isr")]
    assert reasons[-2:] == [f"{late} fell behind", f"{late} caught up"]


@replicas()
async def test_an_answer_of_a_former_epoch_is_not_used(w: Replicas) -> None:
    """Fails when a follower takes records that it asked for in another leader epoch (I-FETCH-1, rule 23)."""
    await w.create("others", partitions=6)                 # some have the leader of `t`: the fetcher goes on without `t`
    late = w.followers[0]
    release = w.hold(late)
    assert (await w.send(b"a", acks=1)).error_code == 0    # and the fetch that waits at the leader is answered
    await w.client.sleep(1.0)                              # the answer has arrived, and is held
    replicas = w.brokers[late].replicas
    fetcher = replicas.fetchers._by_leader[w.leader]
    state = replicas.node.image.partition("t", 0)
    newer = replace(state, leader_epoch=state.leader_epoch + 1, partition_epoch=state.partition_epoch + 1)
    w.brokers[late].publisher._apply(newer)
    assert replicas.fetchers._by_leader[w.leader] is fetcher and w.partition(late).leader_epoch == newer.leader_epoch
    release()
    await w.until(lambda: w.partition(late).topic_id in [topic for topic, _ in fetcher._pauses])
    assert w.partition(late).log.end_offset == 0           # the leader does not know that epoch, so nothing has come since


@replicas()
async def test_acks(w: Replicas) -> None:
    """Fails when acks=all answers before the followers have the record, loses its offset at a timeout, or acks=1 waits."""
    release = w.hold(*w.followers)
    await w.client.sleep(1.0)
    took, one = await timed(w, w.send(b"a", acks=1))
    assert (one.error_code, one.base_offset) == (0, 0) and took < 0.1
    took, everyone = await timed(w, w.send(b"b", timeout=2.0))
    assert (everyone.error_code, everyone.base_offset) == (Err.REQUEST_TIMED_OUT, 1) and 2.0 <= took < 2.2
    assert offsets(await w.read(w.leader, 0)) == []                   # nothing is committed yet
    release()
    assert (await w.send(b"c")).base_offset == 2
    assert offsets(await w.read(w.leader, 0)) == [0, 1, 2]            # late, not lost
    assert not any(isinstance(waiting, DelayedProduce) for waiting in w.partition(w.leader).moved)


@replicas()
async def test_a_long_poll_ends_with_the_first_committed_record(w: Replicas) -> None:
    """Fails when a waiting fetch misses a record, answers before it is committed, or outstays its time (I-DELAY-2)."""
    took, nothing = await timed(w, w.read(w.leader, 0, wait=3.0))
    assert offsets(nothing) == [] and 3.0 <= took < 3.1
    waiting = w.client.spawn(timed(w, w.read(w.leader, 0, wait=30.0)), "read")
    await w.client.sleep(5.0)
    w.connect(w.leader)
    await w.send(b"a")
    took, found = await waiting
    assert offsets(found) == [0] and 5.0 <= took < 6.0
    took, answer = await timed(w, w.read(w.leader, 99, wait=30.0))
    assert answer.error_code == Err.OFFSET_OUT_OF_RANGE and took < 0.1


@replicas()
async def test_followers_serve_consumers_up_to_their_own_watermark(w: Replicas) -> None:
    """Fails when a follower refuses a consumer of version 11 or later, serves an older one, or shows what is not committed."""
    near, _ = w.followers
    assert (await w.send(b"a")).error_code == 0
    await w.until(lambda: w.partition(near).high_watermark == 1)
    assert offsets(await w.read(near, 0, version=11)) == [0]
    assert (await w.read(near, 0, version=10)).error_code == Err.NOT_LEADER_OR_FOLLOWER
    beyond = await w.read(near, 1, version=12)
    assert (beyond.error_code, beyond.high_watermark) == (0, 1)


@replicas()
async def test_idle_partitions_are_not_named_in_fetches(w: Replicas) -> None:
    """Fails when replication without news sends partitions again and again instead of an empty incremental fetch."""
    assert (await w.send(b"a")).error_code == 0
    await w.client.sleep(5.0)
    manager = w.brokers[w.followers[0]].replicas
    fetcher = manager.fetchers._by_leader[w.leader]
    built: list[int] = []
    build_request = fetcher.session.build

    def counting(wanted: Any) -> Any:
        changed, forgotten = build_request(wanted)
        built.append(len(changed))
        return changed, forgotten
    fetcher.session.build = counting                # type: ignore[method-assign]
    await w.client.sleep(10.0)
    assert len(built) >= 15 and set(built) == {0}


DIES: list[int] = []


@replicas(dies=DIES)
async def test_a_failed_disk_ends_the_broker_loudly(w: Replicas) -> None:
    """Fails when a write error is retried, hidden, or survived (rule 67): KAFKA_STORAGE_ERROR, then the broker's end."""
    victim = w.leader
    assert victim is not None
    manager = w.brokers[victim].replicas
    w.world.fail_disk(victim)
    answer = await w.send(b"a", acks=1)
    assert (answer.error_code, answer.base_offset) == (Err.KAFKA_STORAGE_ERROR, -1)
    assert all(p.failed for p in manager.partitions.values())
    await w.until(lambda: victim not in w.brokers)
    DIES.append(victim)


@replicas()
async def test_listeners_hear_of_every_change_of_leader_once(w: Replicas) -> None:
    """Fails when a coordinator would miss or repeat a change of role, or hear of it out of order (I-REP-3)."""
    heard: dict[int, list[tuple[int, int | None]]] = {n: [] for n in IDS}
    for node in IDS:
        w.brokers[node].replicas.on_role("t", lambda i, e, node=node: heard[node].append((i, e)))
    first = w.leader
    assert first is not None and heard[first] == [(0, 0)]
    await w.world.stop(first)
    rest = {n: w.partition(n) for n in IDS if n != first}
    await w.until(lambda: any(p.is_leader for p in rest.values()))
    second = next(n for n, p in rest.items() if p.is_leader)
    assert heard[first] == [(0, 0), (0, None)]
    assert heard[second] == [(0, rest[second].leader_epoch)]


@replicas()
async def test_a_clean_stop_and_start_keeps_log_and_watermark(w: Replicas) -> None:
    """Fails when a clean shutdown loses records or watermarks, or its marker outlives the next start (rule 64)."""
    for value in (b"a", b"b", b"c"):
        assert (await w.send(value)).error_code == 0
    node = w.followers[0]
    await w.until(lambda: w.partition(node).high_watermark == 3)
    epoch = w.brokers[node].lifecycle.broker_epoch
    await w.world.stop(node)
    disk = w.disk(node)
    assert disk.exists("/data/.kafka_cleanshutdown")
    await w.world.restart(node)
    manager = w.brokers[node].replicas
    assert manager.log_manager.dir.clean_epoch == epoch and not disk.exists("/data/.kafka_cleanshutdown")
    assert manager.log_manager.dir.noted[HIGH_WATERMARKS]["t", 0] == 3
    await w.until(lambda: ("t", 0) in manager.partitions)
    assert (w.partition(node).log.end_offset, w.partition(node).high_watermark) == (3, 3)
    await w.until(lambda: sorted(w.partition(w.leader).replica.isr.committed) == list(IDS))


@replicas()
async def test_logs_have_the_configuration_of_their_topic(w: Replicas) -> None:
    """Fails when a change of a topic's configuration does not reach its logs, a topic of the same name inherits it, or a
    broker that starts keeps what it assumed before it had read the metadata (the answers are kept by topic)."""
    def retentions() -> set[int]:
        return {w.partition(n).log.config.retention_ms for n in IDS}
    usual = retentions()
    row = IncrementalAlterConfigsRequest.AlterConfigsResource
    change = row.AlterableConfig(name="retention.ms", config_operation=0, value="77000")
    resource = row(resource_type=2, resource_name="t", configs=[change])
    await w.ask(1, IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    await w.until(lambda: retentions() == {77_000})
    await w.world.stop(3)
    await w.world.restart(3)
    await w.until(lambda: ("t", 0) in w.brokers[3].replicas.partitions)
    assert retentions() == {77_000}
    topic = DeleteTopicsRequest.DeleteTopicState(name="t", topic_id=None)
    await w.ask(1, DeleteTopicsRequest(topics=[topic], timeout_ms=9000), 6)
    await w.until(lambda: all(("t", 0) not in b.replicas.partitions for b in w.brokers.values()))
    plain = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=3, assignments=[], configs=[])
    await w.ask(1, CreateTopicsRequest(topics=[plain], timeout_ms=9000, validate_only=False), 7)
    await w.until(lambda: all(("t", 0) in b.replicas.partitions for b in w.brokers.values()))
    assert retentions() == usual != {77_000}


@replicas()
async def test_a_topic_deleted_while_others_are_flushed(w: Replicas) -> None:
    """Fails if a checkpoint flushes a log that was closed while it flushed the one before: that looks like a failed disk."""
    await w.create("u")
    replicas = w.brokers[1].replicas
    first, second = replicas.hosted()
    for each in (first, second):
        each.log.append_follower(build([(None, b"x")], timestamp_ms=0, base_offset=each.log.end_offset))
        each.log.roll()
    flush = first.flush

    async def slow() -> None:
        await flush()
        replicas.give_up(second)

    with patch.object(first, "flush", slow):
        replicas.log_manager.checkpoints.schedule_recovery_points()
        await w.until(lambda: first.log.recovery_point == first.log.end_offset and second.log.offline)
        await w.client.sleep(1.0)
    assert not first.failed


@replicas()
async def test_a_topic_deleted_while_a_broker_was_away(w: Replicas) -> None:
    """Fails when a returning broker serves, or keeps, the log of a topic that was deleted meanwhile (I-PUB-1), or its recovery
    point (I-POINTS-3)."""
    assert (await w.send(b"old")).error_code == 0
    node = 3
    await w.world.stop(node)
    topic = DeleteTopicsRequest.DeleteTopicState(name="t", topic_id=None)
    await w.ask(1, DeleteTopicsRequest(topics=[topic], timeout_ms=9000), 6)
    disk = w.disk(node)
    assert disk.exists("/data/t-0") and ("t", 0) in checkpoint.read(disk, f"/data/{RECOVERY_POINTS}")
    await w.world.restart(node)
    await w.until(lambda: not any("t-0" in name for name in disk.listdir("/data")))
    assert ("t", 0) not in w.brokers[node].replicas.partitions
    assert ("t", 0) not in checkpoint.read(disk, f"/data/{RECOVERY_POINTS}")


@replicas()
async def test_an_empty_topic_is_deleted_and_made_again_while_its_leader_is_dead(w: Replicas) -> None:
    """Rule 68, I-LOG-5: a folder without a topic id. Fails if a kill leaves what the new topic takes for its own: epochs."""
    node, old = w.leader, w.partition(w.leader)
    assert old.log.epochs.entries and not w.disk(node).exists("/data/t-0/partition.metadata")
    w.world.kill(node)
    topic = DeleteTopicsRequest.DeleteTopicState(name="t", topic_id=None)
    other = next(n for n in IDS if n != node)
    await w.ask(other, DeleteTopicsRequest(topics=[topic], timeout_ms=9000), 6)
    await w.until(lambda: all(("t", 0) not in w.brokers[n].replicas.partitions for n in IDS if n != node))
    row = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, configs=[], assignments=[
        CreateTopicsRequest.CreatableTopic.CreatableReplicaAssignment(partition_index=0, broker_ids=[other, node])])
    made = await w.ask(other, CreateTopicsRequest(topics=[row], timeout_ms=9000, validate_only=False), 7)
    assert made.topics[0].error_code == 0
    await w.world.restart(node)
    await w.until(lambda: ("t", 0) in w.brokers[node].replicas.partitions)
    found = w.partition(node)
    assert (found.topic_id, found.log.topic_id) == (w.partition(other).topic_id,) * 2 != (old.topic_id,) * 2
    assert found.log.epochs.entries == []


@pytest.mark.parametrize("seed", [1, 2, 3])
@replicas()
async def test_min_bytes_gathers(world: Replicas, seed: int) -> None:
    """Fails when a fetch with min_bytes answers with less before its time, or waits though there is enough."""
    leader = world.leader
    assert leader is not None
    size = len(build([(None, b"x")], timestamp_ms=0))
    waiting = world.client.spawn(timed(world, world.read(leader, 0, wait=20.0, min_bytes=2 * size)), "read")
    await world.client.sleep(1.0)
    world.connect(leader)
    await world.send(b"a")
    await world.client.sleep(3.0)
    assert not waiting.done()
    await world.send(b"b")
    took, found = await waiting
    assert offsets(found) == [0, 1] and 4.0 <= took < 6.0


@replicas()
async def test_a_deletion_ends_at_the_watermark_and_every_replica_follows(w: Replicas) -> None:
    """Rule 11. Fails if records are deleted that are not committed, or if a follower, also one that copies nothing new, keeps
    what the leader has deleted."""
    for value in (b"a", b"b"):
        assert (await w.send(value)).error_code == 0
    await w.until(lambda: w.partition(w.leader).high_watermark == 2)
    release = w.hold(*w.followers)
    await w.client.sleep(1.0)
    assert (await w.send(b"c", acks=1)).base_offset == 2
    leader = w.partition(w.leader)
    assert (leader.log.end_offset, leader.high_watermark) == (3, 2)
    with pytest.raises(KafkaError) as refused:
        leader.delete_records(3)
    assert refused.value.code is Err.OFFSET_OUT_OF_RANGE and leader.log.start_offset == 0
    assert leader.delete_records(1) == 1
    release()
    await w.until(lambda: all(w.partition(n).log.start_offset == 1 for n in IDS))
    await w.until(lambda: all(w.partition(n).high_watermark == 3 for n in IDS))
    checked: list[Replica] = []
    with replaced(Replica, "check", lambda self: checked.append(self)):
        assert leader.delete_records(-1) == 3
    assert checked == [leader.replica], "what a replica asserts is asserted when its log begins anew"
    await w.until(lambda: all(w.partition(n).log.start_offset == 3 for n in IDS))


@replicas()
async def test_each_change_of_what_a_read_finds_is_a_move(w: Replicas) -> None:
    """Fails if records, a watermark, the start of the log, or giving the partition up do not count as moves: a fetch that waits
    would be answered with what it had read before (I-FET-6)."""
    leader = w.partition(w.leader or 0)
    follower = w.partition(w.followers[0])
    counts = {leader: leader.moved.change_count, follower: follower.moved.change_count}

    def moved(*those: Partition) -> None:
        for partition in those:
            assert partition.moved.change_count > counts[partition], f"{partition}: no move was counted"
        counts.update({leader: leader.moved.change_count, follower: follower.moved.change_count})

    await w.client.sleep(5.0)
    assert counts == {each: each.moved.change_count for each in (leader, follower)}, "an idle partition does not move"
    assert (await w.send(b"one")).error_code == 0
    await w.until(lambda: follower.high_watermark == 1)
    moved(leader, follower)
    leader.delete_records(1)
    moved(leader)
    await w.until(lambda: follower.log.start_offset == 1)
    moved(follower)
    assert (await w.send(b"two")).error_code == 0
    await w.until(lambda: follower.high_watermark == 2)
    moved(leader, follower)
    old = replace(leader.log.config, retention_bytes=0, segment_bytes=1)
    leader.log.config = old
    leader.retain(w.brokers[w.leader or 0].env.wall_ms())
    assert leader.log.start_offset == 2
    moved(leader)
    follower.retire(Err.NOT_LEADER_OR_FOLLOWER)
    moved(follower)


@replicas()
async def test_each_reader_reads_up_to_its_own_bound(w: Replicas) -> None:
    """Rules 9, 10, 54. Fails if read_committed sees an open transaction, or is not told that it was aborted; or if a consumer
    sees what is not replicated."""
    leader, pid = w.partition(w.leader), 7
    leader.append(build([(None, b"x")], timestamp_ms=1, producer_id=pid, producer_epoch=0, base_sequence=0,
                        transactional=True), acks=1)
    assert [len(leader.read(0, 1 << 20, level).records) > 0 for level in (LOG_END, HIGH_WATERMARK)] == [True, False]
    await w.until(lambda: leader.high_watermark == 1)
    uncommitted, committed = (leader.read(0, 1 << 20, level) for level in (HIGH_WATERMARK, LAST_STABLE))
    assert uncommitted.records and not committed.records and committed.last_stable_offset == 0
    leader.append(marker(pid, 0, 0, commit=False, timestamp_ms=2), acks=1, origin="coordinator")
    assert not leader.read(0, 1 << 20, LAST_STABLE).records
    await w.until(lambda: leader.high_watermark == 2)
    settled = leader.read(0, 1 << 20, LAST_STABLE)
    assert settled.records and settled.aborted == [AbortedTransaction(pid, 0, 1, 2)]
    assert leader.read(0, 1 << 20, HIGH_WATERMARK).aborted == []

"""The quorum's shell on whole nodes in virtual time: its commits, its files, its snapshots (KIP-630, rule 41).

Live processes are in tests/cluster and tests/wire/test_controller_dies.py, the state machine alone in test_raft_rules.py.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from minikafka.broker.metadata.records import FeatureLevelRecord, ProducerIdsRecord
from minikafka.broker.raft import api
from minikafka.broker.raft import wire as quorum_wire
from minikafka.broker.raft.messages import SnapshotId
from minikafka.broker.raft.shell.snapshot_files import build, file_name, parse
from minikafka.broker.server.registry import INTERNAL, Context
from minikafka.log import batch as batches
from minikafka.machine.jars import KAFKA
from minikafka.protocol.apis import BeginQuorumEpochRequest, VoteRequest
from minikafka.protocol.errors import Err
from minikafka.sim.world.disk import Mount
from minikafka.sim.world.loop import DEAD
from minikafka.sim.world.world import World
from tests import kafka_tools
from tests.story import in_world

FOLDER = "/metadata/__cluster_metadata-0"
EAGER = {"metadata.log.max.record.bytes.between.snapshots": "300"}  # of records: one of ours takes about 90
FORGETFUL = EAGER | {"metadata.max.retention.bytes": "1"}  # only the latest snapshot is kept


class Quorum(World):
    """A cluster whose metadata log a story appends to; `crashes` are the story's to explain."""

    def play(self, story: Callable[[Quorum], Awaitable[None]]) -> None:
        async def whole() -> None:
            await self.start()
            await story(self)

        try:
            self.run(whole())
            assert self.errors == [] and self.crashes == []
        finally:
            self.close()

    def quorum(self, node: int) -> Any:
        return self.broker(node).quorum  # type: ignore[union-attr]

    async def append(self, *values: int) -> int:
        """Let the active controller append one decision for each value; return the first offset when all are committed."""
        leader = await self.until(self.controller)
        quorum = self.quorum(leader)

        async def commit() -> int:
            offsets = [quorum.append([ProducerIdsRecord(1, 1, value)]) for value in values]
            for committed in [quorum.committed(offset) for offset in offsets]:
                await committed
            assert offsets == list(range(offsets[0], offsets[0] + len(values)))
            return offsets[0]

        return int(await self.call(leader, commit()))

    async def all_have(self, value: int) -> None:
        """Wait until every node that runs has this state, from records or from a snapshot."""
        await self.until(lambda: all(self.broker(n).image.next_producer_id == value for n in self.alive))  # type: ignore[union-attr]

    def files(self, node: int, suffix: str) -> list[str]:
        return sorted(path.rpartition("/")[2] for path in self.hosts[node].disk.files(FOLDER) if path.endswith(suffix))


@in_world(Quorum, 1, controllers=3)
async def test_a_clean_stop_hands_over_at_once(w: Quorum) -> None:
    """Fails if a stopping leader does not tell the others: they would wait for a fetch timeout."""
    old = w.controller() or 0
    deadline = min(w.quorum(n).raft.state.role.deadline for n in (101, 102, 103) if n != old)
    await w.stop(old)
    new = await w.until(w.controller)
    assert new != old and w.hosts[new].env.now() < deadline, "it waited for the fetch timeout"  # type: ignore[union-attr]


@in_world(Quorum, 1)
async def test_appends_are_committed_in_groups_and_in_order(w: Quorum) -> None:
    """Fails if concurrent appends get wrong offsets, are reordered, or are flushed one by one."""
    log, flushes = w.quorum(w.controller() or 0).log, []
    flush = log.flush
    log.flush = lambda: flushes.append(1) or flush()
    first = await w.append(*range(200))
    await w.all_have(199)
    for node in w.nodes:
        found = w.quorum(node).log.decisions(first, first + 200)
        assert [record.next_producer_id for decision in found for record in decision.records] == list(range(200))
    assert len(flushes) < 20


@in_world(Quorum, 1)
async def test_the_election_state_on_disk_is_kafkas(w: Quorum) -> None:
    """Fails if quorum-state loses a field of Kafka's, or a node starts although it cannot read its vote."""
    node = w.controller() or 0
    path, disk = f"{FOLDER}/quorum-state", Mount(w.hosts[node].disk)
    assert json.loads(disk.read(path)) == {
        "clusterId": "", "leaderId": node, "leaderEpoch": w.quorum(node).epoch, "votedId": node, "appliedOffset": 0,
        "data_version": 0, "currentVoters": [{"voterId": 1}, {"voterId": 2}, {"voterId": 3}]}
    w.kill(node)
    disk.write_atomic(path, b"{")
    w.boot(node)
    await w.until(lambda: w.hosts[node].state is DEAD)
    assert [(n, type(error)) for n, error in w.crashes] == [(node, json.JSONDecodeError)]
    w.crashes.clear()


@in_world(Quorum, 1)
async def test_a_message_of_another_cluster_or_for_another_voter_is_refused(w: Quorum) -> None:
    """Fails if a node of another cluster, or one that takes us for another, can win a vote (rule 40, I-RWIRE-1)."""
    shell, node = w.quorum(1), w.broker(1).node  # type: ignore[union-attr]
    ctx, own = Context(node, 0, 0, None, INTERNAL, "127.0.0.1", 1), node.cluster_id
    data = VoteRequest.TopicData
    part = data.PartitionData(partition_index=0, replica_epoch=9, replica_id=2, last_offset_epoch=1, last_offset=9)
    topics = [data(topic_name="__cluster_metadata", partitions=[part])]
    for cluster, voter, error in ("other", 1, Err.INCONSISTENT_CLUSTER_ID), (own, 2, Err.INVALID_VOTER_KEY):
        answer = await w.call(1, api.quorum_epoch(ctx, VoteRequest(cluster_id=cluster, voter_id=voter, topics=topics), shell))
        assert answer.error_code == error
    begin = BeginQuorumEpochRequest(cluster_id=own, voter_id=1, topics=[])
    assert (await w.call(1, api.quorum_epoch(ctx, begin, shell))).error_code == Err.INVALID_REQUEST
    assert shell.epoch < 9


# --- snapshots ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("pieces_of_100_bytes")
@in_world(Quorum, 1, config=FORGETFUL)
async def test_who_comes_too_late_for_the_log_loads_a_snapshot_and_counts(w: Quorum) -> None:
    """Fails if a node makes no snapshot, or keeps the log that it covers; if a voter or an observer that is behind the log's
    start is stuck, or loads only a part of the snapshot; or if a restart replays more than the rest."""
    late = next(node for node in w.nodes if node != w.controller())
    w.kill(late)
    for path in w.hosts[late].disk.files(FOLDER):
        w.hosts[late].disk.names.pop(path)
    for value in range(1, 21):
        await w.append(value)
    w.boot(late)
    await w.add_broker()
    await w.all_have(20)
    for node in w.nodes:
        log = w.quorum(node).log
        await w.until(lambda log=log: log.start_offset > 10)
        await w.until(lambda log=log, node=node: w.files(node, ".checkpoint") == [file_name(log.latest_snapshot)])
        assert log.start_offset == log.oldest_snapshot.end_offset
    old = w.controller() or 0
    w.kill(old)
    await w.append(21)  # the late one counts: with it there is a majority
    await w.restart(old)
    await w.all_have(21)
    recovered = [e for e in w.events if e["k"] == "recover" and e["b"] == old and e["tp"] == "__cluster_metadata-0"][-1]
    assert recovered["start"] > 10 and recovered["leo"] - recovered["start"] < 12


@pytest.fixture
def pieces_of_100_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum_wire, "MAX_BYTES", 100)


@in_world(Quorum, 1, config=EAGER)
async def test_older_snapshots_are_kept_while_they_are_small_and_young(w: Quorum) -> None:
    """Fails if a snapshot is deleted before metadata.max.retention.* say so: slow followers would need a newer one. Or if one
    that has become too old stays until the next is made."""
    for value in range(1, 21):
        await w.append(value)
    quorum = w.quorum(w.controller() or 0)
    log, maker = quorum.log, quorum.snapshotter
    await w.until(lambda: len(log.snapshots.ids) >= 3)
    assert log.start_offset == log.snapshots.ids[0].end_offset
    maker._max_bytes = 1 << 40                     # no new snapshot from now on
    await w.until(lambda: not maker._writing)
    latest, maker._max_age_ms, maker._looks_at = log.snapshots.latest, 0, 0.0
    await w.append(21)                             # it is time to look at the old ones
    await w.until(lambda: log.snapshots.ids == [latest])


RECORDS = [FeatureLevelRecord("metadata.version", 30)] + [ProducerIdsRecord(1, 1, n) for n in range(1200)]
DATA = build(SnapshotId(1201, 7), RECORDS, 1234)
LAST = list(batches.frames(DATA))[-1][0]
DAMAGED = {"empty": b"", "cut in a batch": DATA[:-1], "no footer": DATA[:LAST], "changed": DATA[:70] + b"?" + DATA[71:],
           "no header": DATA[LAST:]}


def test_a_snapshot_survives_the_file() -> None:
    """Fails if a record is lost at the border of two batches."""
    assert parse(DATA) == (1234, RECORDS)


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_snapshot_is_not_believed(data: bytes) -> None:
    """Fails if a file that was cut short, even between two batches, or changed is taken for the metadata."""
    with pytest.raises(ValueError):
        parse(data)


@pytest.mark.apache
@pytest.mark.skipif(not KAFKA.present, reason="needs Apache Kafka's jars: python -m minikafka jars")
@in_world(Quorum, 1, config=EAGER)
async def test_apache_reads_our_metadata(w: Quorum, tmp_path: Path) -> None:
    """Fails if Kafka's DumpLogSegments cannot decode a record of our metadata log or of a snapshot, or a checksum."""
    for value in range(1, 12):
        await w.append(value)
    await w.all_have(11)
    await w.until(lambda: w.quorum(1).log.latest_snapshot)
    names = [*w.files(1, ".checkpoint"), *w.files(1, ".log")]
    for name in names:
        (tmp_path / name).write_bytes(Mount(w.hosts[1].disk).read(f"{FOLDER}/{name}"))
    done = kafka_tools.run("org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--print-data-log",
                           "--files", ",".join(str(tmp_path / name) for name in names))
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    for kind in ("SnapshotHeader", "SnapshotFooter", "FEATURE_LEVEL_RECORD", "CONFIG_RECORD", "PRODUCER_IDS_RECORD"):
        assert kind in told, f"{kind} is not in what Kafka says:\n{told}"
    assert '"nextProducerId":11' in told and "isvalid: false" not in told and "xception" not in told, told

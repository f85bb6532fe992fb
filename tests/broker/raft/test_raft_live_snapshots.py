"""Snapshots of the metadata with the real shell: files, FetchSnapshot between nodes, restarts (KIP-630, rule 41)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from minikafka.broker.metadata.records import FeatureLevelRecord, ProducerIdsRecord
from minikafka.broker.raft import wire as quorum_wire
from minikafka.broker.raft.messages import SnapshotId
from minikafka.broker.raft.shell.metadata_log import MetadataLog
from minikafka.broker.raft.shell.snapshot_files import build, file_name, parse
from minikafka.broker.server.live import LiveEnv
from minikafka.log import batch as batches
from minikafka.machine.jars import KAFKA
from tests import kafka_tools
from tests.broker.raft.test_raft_live import IDS, OBSERVER, Quorum, play, until

EAGER = {"metadata_log_max_record_bytes_between_snapshots": "300"}  # of records: one of ours takes about 90
FORGETFUL = EAGER | {"metadata_max_retention_bytes": "1"}  # only the latest snapshot is kept


def snapshots(folder: Path, id: int) -> list[str]:
    return sorted(path.name for path in (folder / str(id) / "__cluster_metadata-0").glob("*.checkpoint"))


async def append_one_by_one(quorum: Quorum, values: range) -> None:
    for value in values:
        await quorum.append(value)


async def all_have(quorum: Quorum, value: int) -> None:
    """Every node that is up has this state, from records or from a snapshot."""
    await until(lambda: all(node.broker.image.next_producer_id == value for node in quorum.up.values()))


def test_every_node_snapshots_deletes_and_restarts_from_it(tmp_path: Path) -> None:
    """Fails if no snapshot is made, the log keeps what it covers, or a restart replays more or less than the rest."""

    async def story(quorum: Quorum) -> None:
        await quorum.start(*IDS)
        await append_one_by_one(quorum, range(1, 21))
        await all_have(quorum, 20)
        for node in quorum.up.values():
            log = node.broker.quorum.log
            await until(lambda log=log: log.start_offset > 10)
            await until(lambda log=log, id=node.id: snapshots(tmp_path, id) == [file_name(log.latest_snapshot)])
            assert log.start_offset == log.oldest_snapshot.end_offset
        old = next(node for node in quorum.up.values() if not node.leads)
        quorum.kill(old.id)
        await quorum.start(old.id)
        await quorum.append(21)
        await all_have(quorum, 21)
        assert old.seen == list(range(22 - len(old.seen), 22)) and len(old.seen) < 12, "the rest, and no more"

    play(tmp_path, story, **FORGETFUL)


def test_who_comes_too_late_for_the_log_loads_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a voter or an observer that is behind the log start is stuck, or loads only a part of the snapshot."""
    monkeypatch.setattr(quorum_wire, "MAX_BYTES", 100)  # several pieces

    async def story(quorum: Quorum) -> None:
        late = 3
        await quorum.start(*[id for id in IDS if id != late])
        await append_one_by_one(quorum, range(1, 15))
        await until(lambda: all(node.broker.quorum.log.start_offset > 5 for node in quorum.up.values()))
        await quorum.start(late, OBSERVER)
        await all_have(quorum, 14)
        for id in (late, OBSERVER):
            log, node = quorum.up[id].broker.quorum.log, quorum.up[id]
            assert log.start_offset > 5 and log.oldest_snapshot == log.snapshots.ids[0]
            assert 1 not in node.seen, "it was given the records"
        quorum.kill(next(id for id in IDS if id != late and quorum.up[id].leads))
        await quorum.append(15)  # the late one counts: with it there is a majority
        await all_have(quorum, 15)

    play(tmp_path, story, **FORGETFUL)


def test_older_snapshots_are_kept_while_they_are_small_and_young(tmp_path: Path) -> None:
    """Fails if a snapshot is deleted before metadata.max.retention.* say so: slow followers would need a newer one. Or if one
    that has become too old stays until the next is made."""

    async def story(quorum: Quorum) -> None:
        await quorum.start(*IDS)
        await append_one_by_one(quorum, range(1, 21))
        leader = (await quorum.leader()).broker.quorum.log
        await until(lambda: len(leader.snapshots.ids) >= 3)
        assert leader.start_offset == leader.snapshots.ids[0].end_offset
        maker = (await quorum.leader()).broker.quorum.snapshotter
        maker._max_bytes = 1 << 40                     # no new snapshot from now on
        await until(lambda: not maker._writing)
        latest, maker._max_age_ms, maker._looks_at = leader.snapshots.latest, 0, 0.0
        await quorum.append(21)                        # it is time to look at the old ones
        await until(lambda: leader.snapshots.ids == [latest])

    play(tmp_path, story, **EAGER)


# --- files --------------------------------------------------------------------------------------------------------


RECORDS = [FeatureLevelRecord("metadata.version", 30)] + [ProducerIdsRecord(1, 1, n) for n in range(1200)]


def test_a_snapshot_survives_the_file() -> None:
    """Fails if a record is lost at the border of two batches."""
    assert parse(build(SnapshotId(1201, 7), RECORDS, 1234)) == (1234, RECORDS)


DATA = build(SnapshotId(1201, 7), RECORDS, 1234)
LAST = list(batches.frames(DATA))[-1][0]
DAMAGED = {"empty": b"", "cut in a batch": DATA[:-1], "no footer": DATA[:LAST], "changed": DATA[:70] + b"?" + DATA[71:],
           "no header": DATA[LAST:]}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_snapshot_is_not_believed(data: bytes) -> None:
    """Fails if a file that was cut short, even between two batches, or changed is taken for the metadata."""
    with pytest.raises(ValueError):
        parse(data)


def test_a_log_that_ends_before_its_snapshot_begins_at_it(tmp_path: Path) -> None:
    """Fails if a crash between a received snapshot and the new log leaves a log with a gap, or pieces of another."""
    loop = asyncio.new_event_loop()
    env = LiveEnv(loop)
    log = MetadataLog(env, str(tmp_path))
    log.append(log.to_batch([ProducerIdsRecord(1, 1, 1)]), 2)
    old, new = SnapshotId(1, 2), SnapshotId(50, 3)
    for id in (old, new):
        log.snapshots.write(id, build(id, RECORDS[:3], 0))
    log.snapshots.append_piece(SnapshotId(60, 3), 0, b"a piece")
    log.log.close()
    again = MetadataLog(env, str(tmp_path))
    assert (again.start_offset, again.end_offset, again.last_epoch) == (50, 50, 3)
    assert again.snapshots.ids == [new] and again.end_offset_for(3) == (3, 50)
    assert snapshots_in(again) == [file_name(new)]
    again.close()
    loop.close()


def snapshots_in(log: MetadataLog) -> list[str]:
    return [name for name in log._env.fs.listdir(log._folder) if "checkpoint" in name and "leader" not in name]


# --- Apache Kafka reads them --------------------------------------------------------------------------------------


@pytest.mark.apache
@pytest.mark.skipif(not KAFKA.present, reason="needs Apache Kafka's jars: python -m minikafka jars")
def test_apache_reads_our_metadata(tmp_path: Path) -> None:
    """Fails if Kafka's DumpLogSegments cannot decode a record of our metadata log or of a snapshot, or a checksum."""

    async def story(quorum: Quorum) -> None:
        await quorum.start(*IDS)
        await append_one_by_one(quorum, range(1, 12))
        await all_have(quorum, 11)
        await until(lambda: all(node.broker.quorum.log.latest_snapshot for node in quorum.up.values()))

    play(tmp_path, story, **EAGER)
    folder = tmp_path / "1" / "__cluster_metadata-0"
    files = sorted([*folder.glob("*.checkpoint"), *folder.glob("*.log")])
    told = dump(files)
    for kind in ("SnapshotHeader", "SnapshotFooter", "FEATURE_LEVEL_RECORD", "CONFIG_RECORD", "PRODUCER_IDS_RECORD"):
        assert kind in told, f"{kind} is not in what Kafka says:\n{told}"
    assert '"nextProducerId":11' in told and "isvalid: false" not in told and "xception" not in told, told


def dump(files: list[Path]) -> str:
    """What Kafka's own tool says of them, errors included."""
    done = kafka_tools.run("org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--print-data-log",
                    "--files", ",".join(map(str, files)))
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr

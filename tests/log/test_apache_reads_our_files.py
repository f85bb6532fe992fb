"""Apache Kafka as judge of our files: its own DumpLogSegments reads them, and we read what its broker wrote."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from kafka import KafkaProducer

from minikafka import Cluster
from minikafka.broker.server.live import LiveFs
from minikafka.log import BatchHeader, Log, LogConfig, build, records
from minikafka.log.markers import marker
from minikafka.machine.jars import KAFKA
from tests import kafka_tools
from tests.log.kit import NOW, stored
from tests.log.test_cleaner import clean as compact

pytestmark = [pytest.mark.apache, pytest.mark.skipif(not KAFKA.present, reason="Apache Kafka's jars are not in the cache")]


def write_log(folder: Path) -> LiveFs:
    """300 batches of every codec from two idempotent producers under three leader epochs, over several segments."""
    fs = LiveFs()
    log = Log.open(fs, str(folder), LogConfig(segment_bytes=30_000), now_ms=NOW)
    for number in range(300):
        rows = [(b"k", b"%d-%d" % (number, i) + b"x" * 50, [("h", b"1")], NOW + number * 3 + i) for i in range(3)]
        batch = build(rows, timestamp_ms=0, codec=number % 5, producer_id=7 + number % 2, producer_epoch=0,
                      base_sequence=number // 2 * 3)  # fmt: skip
        log.append_leader(batch, 1 + number // 100, NOW)
    log.close()
    return fs


def test_dump_log_segments_reads_everything(tmp_path: Path) -> None:
    """Fails if a file of ours is not Kafka's in a byte that its tool looks at: batches, both indexes, snapshots."""
    folder = tmp_path / "flights-0"
    fs = write_log(folder)
    files = [f"{folder}/{name}" for name in fs.listdir(str(folder)) if name[:1].isdigit()]
    assert len([name for name in files if name.endswith(".log")]) > 1
    dump = dumped(files)
    assert [int(n) for n in re.findall(r"\| offset: (\d+)", dump)] == list(range(900))
    assert re.findall(r"producerId: (\d) .*lastSequence: 449 lastOffset: (\d+)", dump)[-2:] == [
        ("7", "896"), ("8", "899")]  # fmt: skip


def dumped(files: list[str]) -> str:
    """What DumpLogSegments says of the files; it finds nothing wrong with them."""
    dump = kafka_tools.run("org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(files))
    assert dump.returncode == 0 and not dump.stderr.replace("SLF4J", "").strip().startswith("Exception")
    assert "isvalid: false" not in dump.stdout and "ismatch" not in dump.stdout
    return dump.stdout


def test_dump_log_segments_reads_what_we_compacted(tmp_path: Path) -> None:
    """Fails if a compacted segment is not Kafka's: gaps, batches without records, delete horizons, a codec that packs
    again, rows of aborted transactions, indexes."""
    fs, folder = LiveFs(), tmp_path / "flights-0"
    log = Log.open(fs, str(folder), LogConfig(segment_bytes=8_000, cleanup_policy="compact", index_interval_bytes=500),
                   now_ms=NOW)  # fmt: skip
    for number in range(300):
        value = None if number % 9 == 0 else b"x" * 30
        rows = [(b"k%d" % ((number + i) % 40), value, [], NOW + number) for i in range(3)]
        producer = number % 3
        batch = build(rows, timestamp_ms=0, codec=number % 5, producer_id=producer, producer_epoch=0,
                      base_sequence=number // 3 * 3, transactional=producer == 2)  # fmt: skip
        log.append_leader(batch, number // 100, NOW, origin="coordinator")
        if producer == 2:
            log.append_leader(marker(2, 0, 0, number % 2 == 0, NOW + number), number // 100, NOW, origin="coordinator")
    log.roll(NOW)
    compact(log, NOW)
    compact(log, NOW + 1)
    expected = [r.offset for batch in stored(log) for r in records(batch)]
    assert 40 < len(expected) < 300 and any(BatchHeader.parse(batch).count == 0 for batch in stored(log))
    log.close()
    files = [f"{folder}/{name}" for name in fs.listdir(str(folder)) if name[:1].isdigit() and ".snapshot" not in name]
    dump = dumped(files)
    assert [int(n) for n in re.findall(r"\| offset: (\d+)", dump)] == expected
    horizons = [int(n) for n in re.findall(r"deleteHorizonMs: OptionalLong\[(\d+)\]", dump)]
    assert horizons and {*horizons} <= {NOW + 86_400_000, NOW + 86_400_001}


@pytest.mark.slow
def test_we_open_what_apache_wrote(tmp_path: Path) -> None:
    """Fails if we misread a log of Apache's own broker: batches, epochs, producers, topic id."""
    with Cluster(brokers=1, engine="apache", data=str(tmp_path / "data")) as cluster:
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all", linger_ms=1)
        sent = [b"value %d" % number for number in range(500)]
        for value in sent:
            producer.send("flights", key=b"k", value=value, partition=0).get(30)
        producer.close()
        cluster.stop(cluster.ids[0])
        [found] = [p for p in (tmp_path / "data").rglob("flights-0") if p.is_dir()]
        shutil.copytree(found, tmp_path / "flights-0")
    fs = LiveFs()
    for clean in (True, False):
        log = Log.open(fs, str(tmp_path / "flights-0"), LogConfig(), now_ms=NOW, clean=clean)
        assert log.truncated_bytes == 0
        assert [r.value for batch in stored(log) for r in records(batch)] == sent
        assert log.epochs.entries == [(0, 0)] and log.topic_id is not None
        assert [e.last_sequence for e in log.producers.entries.values()] == [499]
        log.close()

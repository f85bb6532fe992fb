"""Apache Kafka as judge of our files: its own DumpLogSegments reads them, and we read what its broker wrote."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from kafka import KafkaProducer

from minikafka import Cluster
from minikafka.broker.live import LiveFs
from minikafka.jars import KAFKA, JarsMissing, jars
from minikafka.java import use_java
from minikafka.log import Log, LogConfig, build, records
from tests.log.kit import NOW, stored

pytestmark = pytest.mark.apache


@pytest.fixture(scope="module")
def classpath() -> str:
    try:
        return ":".join(map(str, jars(KAFKA)))
    except JarsMissing as missing:
        pytest.skip(str(missing))


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


def test_dump_log_segments_reads_everything(tmp_path: Path, classpath: str) -> None:
    """Fails if a file of ours is not Kafka's in a byte that its tool looks at: batches, both indexes, snapshots."""
    folder = tmp_path / "flights-0"
    fs = write_log(folder)
    files = [f"{folder}/{name}" for name in fs.listdir(str(folder)) if name[:1].isdigit()]
    assert len([name for name in files if name.endswith(".log")]) > 1
    dump = subprocess.run(
        [str(use_java().home / "bin" / "java"), "-cp", classpath, "org.apache.kafka.tools.DumpLogSegments",
         "--deep-iteration", "--files", ",".join(files)],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert dump.returncode == 0 and not dump.stderr.replace("SLF4J", "").strip().startswith("Exception")
    assert "isvalid: false" not in dump.stdout and "ismatch" not in dump.stdout
    assert [int(n) for n in re.findall(r"\| offset: (\d+)", dump.stdout)] == list(range(900))
    assert re.findall(r"producerId: (\d) .*lastSequence: 449 lastOffset: (\d+)", dump.stdout)[-2:] == [
        ("7", "896"), ("8", "899")]  # fmt: skip


@pytest.mark.slow
def test_we_open_what_apache_wrote(tmp_path: Path, classpath: str) -> None:
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

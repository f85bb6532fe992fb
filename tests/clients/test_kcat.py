"""kcat, a program in C on librdkafka that many use from the shell, on both engines.

Ubuntu and Debian have it as a package; where it is missing these tests are skipped with that reason.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

import confluent_kafka
import pytest

from minikafka import Cluster
from minikafka.log.batch import batches
from tests.clients.kit import KEPT, LIBRARIES, PATIENCE, Record, make_topic
from tests.wire.conftest import place
from tests.wire.test_fetch import fetch

pytestmark = pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed (apt-get install kcat)")
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ERROR = re.compile(r"^(% (ERROR|FATAL)|%[0-3]\|)|Exception", re.MULTILINE)  # a warning (%4) tells of what was retried
T0 = 1_700_000_000_000


def kcat(cluster: Cluster, *arguments: str, stdin: str = "", status: int = 0) -> str:
    """What kcat wrote; fails if it ended otherwise than with `status`, or, where that is 0, told of an error."""
    done = subprocess.run(["kcat", "-b", cluster.bootstrap, *arguments], input=stdin, capture_output=True, text=True,
                          timeout=2 * PATIENCE)
    assert done.returncode == status, done.stdout + done.stderr
    assert status or not ERROR.search(done.stderr), done.stderr
    return done.stdout if status == 0 else done.stderr


def values(cluster: Cluster, topic: str, level: str) -> list[str]:
    """Lines of offset and value: all that a reader of this isolation level finds in partition 0 before its end."""
    return kcat(cluster, "-C", "-e", "-q", "-t", topic, "-p", "0", "-o", "beginning", "-f", "%o %s\n", "-X",
                f"isolation.level={level}").splitlines()


def test_keys_headers_and_every_codec(cluster: Cluster, name: str) -> None:
    """Fails if a codec is not kept as it came, or keys, headers or values come back changed."""
    make_topic(cluster, name)
    for codec in CODECS:
        kcat(cluster, "-P", "-t", name, "-p", "0", "-K", ":", "-H", f"codec={codec}", "-H", "empty=", "-z", codec,
             stdin=f"{codec}:{'x' * 300}\n")
    kcat(cluster, "-P", "-t", name, "-p", "0", "-K", ":", "-Z", "-X", "enable.idempotence=true", stdin="gone:\n")
    found = [json.loads(line) for line in kcat(cluster, "-C", "-e", "-q", "-J", "-t", name, "-o", "0").splitlines()]
    assert [(r["offset"], r["key"], r["payload"], r.get("headers")) for r in found] == [
        *((n, codec, "x" * 300, ["codec", codec, "empty", ""]) for n, codec in enumerate(CODECS)),
        (5, "gone", None, None)]
    made = place(cluster, name)
    with made.raw:
        stored = [header for header, _ in batches(bytes(fetch(made, 0).records))]
    assert [header.codec for header in stored] == [0, 1, 2, 3, 4, 0]
    assert [header.producer_id >= 0 for header in stored] == [False] * 5 + [True]


def test_metadata(cluster: Cluster, name: str) -> None:
    """Fails if `kcat -L` shows other brokers, leaders or replicas than there are, or knows a topic that is not there."""
    make_topic(cluster, name, assignments={0: [2, 3], 1: [3, 1]})
    shown = json.loads(kcat(cluster, "-L", "-J", "-t", name))
    assert {f["id"]: f["name"] for f in shown["brokers"]} == {b: cluster.address(b) for b in cluster.alive}
    (topic,) = shown["topics"]
    assert [(p["partition"], p["leader"], [r["id"] for r in p["replicas"]], sorted(r["id"] for r in p["isrs"]))
            for p in topic["partitions"]] == [(0, 2, [2, 3], [2, 3]), (1, 3, [3, 1], [1, 3])]
    assert "Unknown topic or partition" in kcat(cluster, "-C", "-t", name + "-not", "-e", status=1)


def test_offsets_by_time(cluster: Cluster, name: str) -> None:
    """Fails if ListOffsets answers a time with another record than the first one that is not older."""
    make_topic(cluster, name, configs=KEPT)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"%d" % n, timestamp=T0 + 1000 * n) for n in range(5)])
    asked = {-2: 0, T0 - 1: 0, T0: 0, T0 + 1: 1, T0 + 3000: 3, T0 + 3999: 4, T0 + 4001: -1, -1: 5}
    found = {}
    for when in asked:
        answer = json.loads(kcat(cluster, "-Q", "-J", "-t", f"{name}:0:{when}"))
        found[when] = answer[name]["0"]["offset"]
    assert found == asked
    assert kcat(cluster, "-C", "-e", "-q", "-t", name, "-o", f"s@{T0 + 1500}", "-o", f"e@{T0 + 3500}", "-f",
                "%o %T %s\n").splitlines() == [f"{n} {T0 + 1000 * n} {n}" for n in (2, 3)]


def test_a_group_goes_on_where_it_was(cluster: Cluster, name: str) -> None:
    """Fails if the second run of a group reads a record again, or misses one that came between."""
    make_topic(cluster, name, partitions=2)
    runs = []
    for word in ("first", "second"):
        LIBRARIES["confluent"].send(cluster.bootstrap, name, [
            Record(b"%s %d" % (word.encode(), n), partition=n % 2) for n in range(6)])
        runs.append(kcat(cluster, "-G", name, "-e", "-q", "-X", "auto.offset.reset=earliest", "-f",
                         "%p %o %s\n", name).splitlines())
    assert [sorted(run) for run in runs] == [sorted(f"{n % 2} {3 * r + n // 2} {word} {n}" for n in range(6))
                                             for r, word in enumerate(("first", "second"))]


def test_transactions_and_isolation(cluster: Cluster, name: str) -> None:
    """Fails if a committed reader passes the last stable offset, sees what was aborted, or markers take no offset."""
    make_topic(cluster, name)
    transactional = ("-P", "-t", name, "-p", "0", "-X", f"transactional.id={name}")
    kcat(cluster, *transactional, stdin="one\ntwo\n")
    _await(cluster, name, 2)
    other = _begun(cluster, name)
    kcat(cluster, "-P", "-t", name, "-p", "0", stdin="plain\n")
    assert values(cluster, name, "read_committed") == ["0 one", "1 two"]
    assert values(cluster, name, "read_uncommitted") == ["0 one", "1 two", "3 undecided", "4 plain"]
    other.abort_transaction(PATIENCE)
    _await(cluster, name, 3)
    kcat(cluster, *transactional, stdin="three\n")
    _await(cluster, name, 4)
    assert values(cluster, name, "read_committed") == ["0 one", "1 two", "4 plain", "6 three"]
    assert values(cluster, name, "read_uncommitted") == ["0 one", "1 two", "3 undecided", "4 plain", "6 three"]


def _await(cluster: Cluster, topic: str, count: int) -> None:
    """Wait until so many records can be read as committed: markers are written a little after the producer's answer."""
    cluster.wait(lambda: len(values(cluster, topic, "read_committed")) == count, PATIENCE)


def _begun(cluster: Cluster, topic: str) -> Any:
    """A producer in the middle of a transaction, with one record written."""
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": topic + "-other"})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce(topic, b"undecided", partition=0)
    assert producer.flush(PATIENCE) == 0
    return producer

"""compression.type of a topic, seen in the stored batches: both engines pack a client's batch again where it differs."""

from __future__ import annotations

import time
from typing import Any

import pytest

from minikafka.log.batch import BatchHeader, batches, build, crc_ok, records
from tests.wire.conftest import create, place
from tests.wire.test_fetch import fetch
from tests.wire.test_produce import produce

CODECS = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


@pytest.mark.parametrize("topic", ["producer", *CODECS])
def test_stored_in_the_codec_of_the_topic(cluster: Any, name: str, topic: str) -> None:
    """Fails if a topic's codec is not used, or a batch that is packed again loses offsets, times, headers or its
    producer; also if one that fits already is touched."""
    create(cluster.bootstrap, name, **{"compression.type": topic})
    made, now = place(cluster, name), int(time.time() * 1000)
    rows = [(b"k%d" % i, b"v" * 200, [("h", b"%d" % i)], now + i) for i in range(5)]
    with made.raw:
        for number, codec in enumerate(CODECS.values()):
            data = build(rows, timestamp_ms=now, codec=codec, producer_id=77, producer_epoch=0, base_sequence=number * 5)
            cluster.wait(lambda data=data: produce(made, data).error_code == 0, timeout=60)  # a new leader may yet refuse
            answer = produce(made, data)                   # a duplicate by now
            assert (answer.error_code, answer.base_offset) == (0, number * 5)
        found = list(batches(bytes(fetch(made, 0).records)))
    wanted = [CODECS.get(topic, codec) for codec in CODECS.values()]
    assert [header.codec for header, _ in found] == wanted
    for number, (header, stored) in enumerate(found):
        assert crc_ok(stored, 0, header) and header.max_timestamp == now + 4 and header.count == 5
        assert (header.producer_id, header.base_sequence, header.base_offset) == (77, number * 5, number * 5)
        assert [(r.key, r.value, r.headers, r.timestamp) for r in records(stored)] == rows
        if wanted[number] == [*CODECS.values()][number]:
            sent = build(rows, timestamp_ms=now, codec=header.codec, producer_id=77, producer_epoch=0,
                         base_sequence=number * 5)
            assert bytes(stored)[21:] == sent[21:] and BatchHeader.parse(stored).crc == BatchHeader.parse(sent).crc

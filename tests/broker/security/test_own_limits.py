"""Limits that Kafka does not have: each error names the number and a remedy, and minikafka/FIDELITY.md lists the limit."""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from minikafka.broker.controller.admin import replica_budget
from minikafka.broker.server import answer_size, server
from minikafka.log import compression, validate
from minikafka.log.batch import build
from minikafka.log.compression import GZIP, MEBIBYTE, ZSTD
from minikafka.log.config import LogConfig
from minikafka.log.records import MOST_HEADERS
from minikafka.log.validate import client_batch
from minikafka.proof.chaos.one_broker import OneBroker
from minikafka.protocol.errors import Err, OwnLimit
from tests.broker.security.batches import with_body, with_field
from tests.broker.security.test_record_batches import request
from tests.story import in_world

ROOT = Path(validate.__file__).parents[2]
ONE = build([(b"k", b"v")], timestamp_ms=0)


def many_records() -> bytes:
    count = validate.MOST_RECORDS + 1
    body = compression.compress(GZIP, b"\x0c\0\0\0\1\1\0" * count)
    return with_field(with_field(with_body(ONE, body, GZIP), "count", count), "last offset delta", count - 1)


def wide_window() -> bytes:
    noise = random.Random(1).randbytes(9 * MEBIBYTE)
    wide = zstandard.ZstdCompressionParameters.from_level(1, window_log=24)
    return with_body(ONE, zstandard.ZstdCompressor(compression_params=wide).compress(noise), ZSTD)


# A batch beyond the limit, the code, the limit in the text of the error, and the remedy.
BATCHES: dict[str, tuple[Callable[[], bytes], Err, str, str]] = {
    "very well compressed": (lambda: build([(b"k", b"abc" * 1_100_000)], timestamp_ms=0, codec=ZSTD), Err.MESSAGE_TOO_LARGE,
                             "100 times as many and 1 MiB, and 64 MiB in all", "Send smaller batches (batch.size), or without"),
    "many records": (many_records, Err.MESSAGE_TOO_LARGE, "1,000,000", "Send smaller batches"),
    "many headers": (lambda: build([(b"k", b"v", [("h", b"")] * (MOST_HEADERS + 1))], timestamp_ms=0),
                     Err.INVALID_RECORD, "10,000", "Put them into the value"),
    "many headers in all": (lambda: build([(b"k", b"v", [("h", b"")] * 9000)] * 2, timestamp_ms=0),
                            Err.INVALID_RECORD, "10,200", "Put them into the value"),
    "many gzip streams": (lambda: with_body(ONE, compression.compress(GZIP, b"") * 101, GZIP), Err.UNKNOWN_SERVER_ERROR, "100",
                          "Send smaller batches"),
    "many zstd frames": (lambda: with_body(ONE, compression.compress(ZSTD, b"") * 101, ZSTD), Err.UNKNOWN_SERVER_ERROR, "100",
                         "Send smaller batches"),
    "a wide zstd window": (wide_window, Err.UNKNOWN_SERVER_ERROR, "8 MiB", "Send smaller batches"),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_producer_gets_the_limit_and_the_remedy(name: str) -> None:
    """Fails if a refusal of ours has no text, or one without the number or without what to do."""
    make, code, limit, remedy = BATCHES[name]
    batch = make()
    with pytest.raises(OwnLimit) as refusal:
        client_batch(batch, LogConfig(max_message_bytes=16 * MEBIBYTE), "t-0", 0, 9)
    assert refusal.value.code is code
    assert limit in str(refusal.value.message) and remedy in str(refusal.value.message)


@in_world(OneBroker, 1)
async def test_the_text_reaches_the_producer(world: OneBroker, caplog: pytest.LogCaptureFixture) -> None:
    """Fails if the text stays with the broker although the response has a field for it, or is not in the broker's log."""
    make, code, limit, _ = BATCHES["very well compressed"]
    caplog.set_level(logging.INFO, "minikafka.produce")
    client = await world.connect()
    for version in range(7, 13):
        row = (await client.request(request(make()), version)).responses[0].partition_responses[0]
        assert row.error_code == code
        assert version < 8 or limit in row.error_message
    assert limit in caplog.text


def test_an_answer_that_is_too_large_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Fails if the broker's log has no line (some responses have no field for a text), or a line for each row."""
    room = answer_size.AnswerBudget(100)
    room.take(90)
    for _ in range(3):
        with pytest.raises(OwnLimit, match="64 MiB: ask for less"):
            room.take(20)
    assert caplog.text.count("64 MiB: ask for less") == 1


def test_each_limit_is_tested_and_in_the_table() -> None:
    """Fails if a limit is added without a test above, or without its number in FIDELITY.md."""
    raised = {path.relative_to(ROOT / "minikafka").as_posix() for path in (ROOT / "minikafka").rglob("*.py")
              if re.search(r"(?<!class )\bOwnLimit\(", path.read_text())}
    assert raised == {"log/validate.py", "broker/server/answer_size.py",
                      "broker/controller/admin/replica_budget.py"}   # the last: tests/broker/controller/test_controller.py
    page = (ROOT / "minikafka" / "FIDELITY.md").read_text()
    told = page.partition("## Limits that Kafka does not have")[2].partition("\n## ")[0]
    numbers = (compression.MOST_TIMES, f"{compression.MOST_UNPACKED >> 20} MiB", f"{validate.MOST_RECORDS:,}",
               f"{MOST_HEADERS:,}", compression.MOST_STREAMS, f"{compression.ZSTD_WINDOW >> 20} MiB",
               f"{answer_size.LARGEST >> 20} MiB", f"{replica_budget.MOST_REPLICAS:,}", f"{server.MOST_CONNECTIONS:,}",
               f"{server.MOST_BYTES >> 20} MiB")
    assert [number for number in numbers if f" {number} " not in told] == []

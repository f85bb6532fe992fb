"""Lab 2, the longer experiments: four days of retention on a simulated clock, logs of any length, a torn tail.

    history = one_record_an_hour(settings)     # one broker in the simulator: 158 hours in a second or two
    compacted()                                # what compaction leaves of six records
    log = a_log(folder, records=1_000_000)     # a partition without a broker: the class that brokers write with
    reading(log, offset)                       # what a read cost, in bytes
    torn = tear(path)                          # the first half of one more batch, as a loss of power may leave it

Owns: nothing that lasts; every number comes from the log or from a client of the simulated cluster.
"""
from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from minikafka import Cluster
from minikafka.broker.server import server
from minikafka.broker.server.live import LiveFs
from minikafka.client.consumer.fetched_records import ConsumerRecord
from minikafka.lab.picture.draw.chart import BLUE, GREY, RED, Chart, to_svg
from minikafka.lab.picture.draw.element import image
from minikafka.log import BatchHeader, Log, LogConfig, batches, build
from minikafka.log.batch import crc_ok, restamp_time
from minikafka.log.segment import Segment

HOUR_MS = 3600 * 1000
WEEK_MS = 7 * 24 * HOUR_MS
MIB = 1 << 20
RECORD = 104_700  # bytes of a value: ten fill a segment of 1 MiB, with their headers

# --- retention -------------------------------------------------------------------------------------------------------

# What ticks every few seconds in a broker is slowed down, so that hours cost little; retention itself looks every
# five minutes, as everywhere.
UNHURRIED = {"broker.heartbeat.interval.ms": HOUR_MS // 2, "broker.session.timeout.ms": 2 * HOUR_MS,
             "replica.high.watermark.checkpoint.interval.ms": HOUR_MS, "log.cleaner.enable": "false",
             "transaction.abort.timed.out.transaction.cleanup.interval.ms": HOUR_MS,
             "offsets.retention.check.interval.ms": HOUR_MS, "log.flush.offset.checkpoint.interval.ms": HOUR_MS,
             "log.flush.start.offset.checkpoint.interval.ms": HOUR_MS}


class Sample(NamedTuple):
    """The log at one hour: its first offset and the one after its last."""

    hour: int
    start: int
    end: int

    @property
    def oldest(self) -> int | None:
        """Return the age in hours of the oldest record that can be read (record n was written at hour n); None if there
        is none."""
        return self.hour - self.start if self.start < self.end else None

    def __str__(self) -> str:
        if self.oldest is None:
            return f"hour {self.hour}: no record; the next one gets offset {self.end}"
        return f"hour {self.hour}: offsets {self.start} to {self.end - 1}, the oldest is {self.oldest} hours old"


@dataclass
class TopicHistory:
    """One topic, hour by hour; `retention_hours` is what its settings promise."""

    samples: list[Sample]
    retention_hours: float

    def at(self, hour: int) -> Sample:
        """Return the sample taken just after the record of that hour was written."""
        return self.samples[hour]

    def until(self, hour: int) -> TopicHistory:
        """Return the same history without what came later."""
        return TopicHistory(self.samples[: hour + 1], self.retention_hours)

    @property
    def oldest(self) -> int:
        """Return the age in hours of the oldest record that could be read at any of the hours."""
        return max(sample.oldest or 0 for sample in self.samples)

    @property
    def together(self) -> float:
        """Return how many records went at once, on average; 0 if none went."""
        went = [after.start - before.start for before, after in pairwise(self.samples) if after.start > before.start]
        return sum(went) / len(went) if went else 0

    def _repr_html_(self) -> str:
        return image(to_svg(chart(self)))

    def __repr__(self) -> str:
        last = self.samples[-1]
        return f"{len(self.samples)} hours, oldest record up to {self.oldest} h; at the end offsets {last.start} to {last.end}"


def one_record_an_hour(settings: Mapping[str, object], hours: int = 109, silence: int = 49) -> TopicHistory:
    """Send one record to a topic with these settings at each hour 0, 1 ... `hours` - 1 and then, for `silence` hours, none;
    return an hourly sample of it. KafkaError if the broker refuses the settings.

    A record has 104,700 bytes: ten records fill a segment of 1 MiB, the smallest that Kafka takes.
    """
    samples = []
    with unhurried(), Cluster(brokers=1, engine="sim", seed=2, config=UNHURRIED) as cluster:
        admin = cluster.admin()
        admin.create_topic("positions", 1, 1, {name: str(value) for name, value in settings.items()})
        began = cluster.now()
        for hour in range(hours + silence):
            cluster.sleep(began + 3600 * hour - cluster.now())
            if hour < hours:
                producer = cluster.producer()
                producer.send("positions", b"." * RECORD)
                producer.close()
            samples.append(Sample(hour, *(admin.offset("positions", 0, end) for end in ("earliest", "latest"))))
    return TopicHistory(samples, int(str(settings.get("retention.ms", WEEK_MS))) / HOUR_MS)


def compacted() -> list[ConsumerRecord]:
    """Write the homes of three trucks, six records, into a compacted topic; return what is left of them after its broker
    has cleaned.

    A cleaner leaves the active segment alone: a seventh record, of a truck that nobody asks for, begins another one.
    """
    homes = [("truck-1", "Front Street 1"), ("truck-2", "Front Street 2"), ("truck-1", "Mill Lane 7"),
             ("truck-3", "Front Street 3"), ("truck-2", "Harbour Road 2"), ("truck-2", "Mill Lane 8")]
    with Cluster(brokers=1, engine="sim", seed=2) as cluster:
        cluster.admin().create_topic("homes", 1, 1, {"cleanup.policy": "compact", "segment.ms": "60000",
                                                     "min.cleanable.dirty.ratio": "0"})
        producer = cluster.producer()
        for truck, home in homes:
            producer.send("homes", home, key=truck)
        cluster.sleep(120)
        producer.send("homes", "nowhere", key="truck-4")
        cluster.sleep(60)
        with cluster.consumer("homes") as reader:
            return [record for record in reader.poll(2.0) if record.offset < len(homes)]


@contextmanager
def unhurried() -> Iterator[None]:
    """Make brokers look for idle connections every ten minutes; every second would be 570,000 times in 158 hours."""
    before, server.SWEEP_S = server.SWEEP_S, 600.0
    try:
        yield
    finally:
        server.SWEEP_S = before


def chart(history: TopicHistory) -> Chart:
    """Return the age of the oldest record as it was sampled, with the promise of retention.ms as a dashed line."""
    made = Chart("age of the oldest record", repr(history), 320, xaxis_title="hour", yaxis_title="hours")
    made.add_scatter(x=[sample.hour for sample in history.samples], y=[sample.oldest or 0 for sample in history.samples],
                     name="oldest record", mode="lines", line={"color": BLUE, "width": 3})
    if empty := [sample.hour for sample in history.samples if sample.oldest is None]:
        made.add_scatter(x=empty[:1], y=[0], name="empty", mode="markers", marker={"color": RED, "symbol": "diamond", "size": 12})
    made.add_hline(y=history.retention_hours, line={"color": GREY, "dash": "dash"}, annotation_position="top left",
                   annotation_text=f"retention.ms = {history.retention_hours:g} h")
    return made


# --- a partition without a broker ------------------------------------------------------------------------------------

START_MS = 1_748_844_000_000  # 2025-06-02 06:00 UTC, when the trucks of this course set out
PER_BATCH, APART_MS = 100, 100
BASE_TIMESTAMP = struct.Struct(">q")  # at byte 27 of a batch


def a_log(folder: Path, records: int) -> Log:
    """Return a log of `records` small records (a multiple of 100), ten a second, in batches of a hundred.

    Every batch is the same but for its times and its place, so that a million records take a second.
    """
    log = Log.open(LiveFs(), f"{folder}/positions-{records}", LogConfig(), now_ms=START_MS)
    rows = [(b"truck-%d" % (n % 12), b"a position", [], START_MS + APART_MS * n) for n in range(PER_BATCH)]
    batch = bytearray(build(rows, timestamp_ms=START_MS))
    for first in range(0, records, PER_BATCH):
        then = START_MS + APART_MS * first
        BASE_TIMESTAMP.pack_into(batch, 27, then)
        restamp_time(batch, 0, then + APART_MS * (PER_BATCH - 1))
        log.append_leader(batch, 0, then, origin="raft")  # "raft": as of the broker's own making, spares the checks
    return log


class Cost(NamedTuple):
    """The cost of a read: bytes that came from the file, and those of them that were whole batches asked for."""

    read: int
    wanted: int

    @property
    def extra(self) -> int:
        """Return how many bytes were read only to find the position."""
        return self.read - self.wanted


class Counting:
    """A file of the log that counts what is read from it."""

    def __init__(self, file: object) -> None:
        self._file, self.read = file, 0

    def pread(self, size: int, offset: int) -> bytes:
        data = self._file.pread(size, offset)  # type: ignore[attr-defined]
        self.read += len(data)
        return data

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


def reading(log: Log, offset: int) -> Cost:
    """Read about 4 KiB from `offset` on, as a broker does for a consumer, and count."""
    segment = next(s for s in reversed(log.segments) if s.base_offset <= offset)
    with _counted(segment) as counter:
        data = log.read(offset, 4096, log.end_offset)
    return Cost(counter.read, len(data))


def reading_from_the_start(log: Log, offset: int) -> Cost:
    """Find the same batch without the index, from the first byte on."""
    size = 0
    for header, _ in batches(Path(log.active.path(".log")).read_bytes()):
        size += header.size
        if header.last_offset >= offset:
            return Cost(size, header.size)
    raise ValueError(f"there is no offset {offset}")


class _counted:
    def __init__(self, segment: Segment) -> None:
        self.segment, self.counter = segment, Counting(segment.log)

    def __enter__(self) -> Counting:
        self.segment.log = self.counter  # type: ignore[assignment]
        return self.counter

    def __exit__(self, *_: object) -> None:
        self.segment.log = self.counter._file  # type: ignore[assignment]


def index_entries(log: Log) -> list[tuple[int, int]]:
    """Return the sparse index as (offset, position in the file): the batch at that position reaches up to that offset."""
    return list(zip(log.active.index.keys, log.active.index.values, strict=True))


# --- a torn tail -----------------------------------------------------------------------------------------------------

def last_batch(data: bytes) -> tuple[BatchHeader, bytes]:
    """Return header and bytes of the last whole batch."""
    *_, (header, batch) = batches(data)
    return header, bytes(batch)


def tear(path: Path) -> int:
    """Append the first half of a batch, as a loss of power in the middle of a write may leave it; returns its bytes.

    It begins as a next batch would, so that only its missing end shows that it is torn.
    """
    header, batch = last_batch(path.read_bytes())
    half = header.next_offset.to_bytes(8, "big") + batch[8 : len(batch) // 2]
    with path.open("ab") as file:
        file.write(half)
    return len(half)


def flip(path: Path, position: int) -> None:
    """Invert every bit of one byte of a file, where it lies; doing it again undoes it."""
    with path.open("r+b") as file:
        (byte,) = os.pread(file.fileno(), 1, position)
        os.pwrite(file.fileno(), bytes([byte ^ 0xFF]), position)


def checksum_holds(batch: bytes, place: int) -> bool:
    """Return whether a batch still matches its checksum when every bit of the byte at `place` is inverted."""
    changed = bytearray(batch)
    changed[place] ^= 0xFF
    return crc_ok(changed, 0, BatchHeader.parse(changed))

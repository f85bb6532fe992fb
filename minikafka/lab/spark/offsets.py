"""The driver's requests to Kafka: partitions, where they begin and end; and the offsets that a micro-batch reads.

Owns: KafkaOffsets (the questions, with retries) and the arithmetic on offsets (pure functions).

Invariants
  I-SPARK-3  A trigger reads at most maxOffsetsPerTrigger records, shared over the partitions in proportion to what
             waits in each; a partition with something waiting gets at least one (so the sum may exceed a limit smaller
             than their number).
  I-SPARK-4  Offsets that go back, partitions that vanish, partitions that do not begin at 0: reported as data loss,
             with the connector's words, and fatal unless failOnDataLoss is false.
  No consumer group is used: nothing is committed to Kafka, no other query is disturbed. (The connector needs
    none for this either: its offsets come from the Admin client.)
"""
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError, UnknownTopicOrPartitionError, for_code

from .options import (
    EARLIEST,
    LATEST,
    AtTimes,
    Everywhere,
    Key,
    Limit,
    Offsets,
    SourceOptions,
    refuse,
    tp_name,
    tp_names,
)
from .pattern import topic_pattern

T = TypeVar("T")
CHANGED = ("This could be either 1) a user error that the start offset (option startingOffsets) is set beyond available offset "
           "when starting query, or 2) the kafka topic-partition is deleted and re-created.")
API_TIMEOUT_S = 60.0                             # default.api.timeout.ms: how long a retriable error is retried


class KafkaIllegalState(RuntimeError):
    """The state of Kafka does not allow what the query asks. Named after the connector's exception."""


class KafkaDataLoss(KafkaIllegalState):
    """Records that the query was to read are no longer there."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "Some data may have been lost because they are not available in Kafka any more: aged out, or the topic "
            "was deleted before all of it was processed. If the query shall go on nevertheless, set the source "
            f"option failOnDataLoss to false.\nReason: {reason}"
        )


@dataclass(frozen=True)
class OffsetRange:
    """Offsets [start, end) of one partition: the work of one Spark task."""
    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def cut(self, parts: int) -> list["OffsetRange"]:
        """Return that number of ranges, at most one for each offset; the rest of the division goes to the last ranges."""
        out, start = [], self.start
        for left in range(min(parts, self.size), 0, -1):
            end = start + (self.end - start) // left
            out.append(OffsetRange(self.topic, self.partition, start, end))
            start = end
        return out


class KafkaOffsets:
    """The driver's questions to Kafka. Every answer is fresh; retriable errors (an election) are retried."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options

    @cached_property
    def _admin(self) -> KafkaAdminClient:
        known = KafkaAdminClient.DEFAULT_CONFIG
        return KafkaAdminClient(**{k: v for k, v in self.options.client.items() if k in known})

    def close(self) -> None:
        """Close the connection, if there is one."""
        if "_admin" in self.__dict__:
            self.__dict__.pop("_admin").close()

    def partitions(self) -> list[Key]:
        """Return the partitions that the query is about, as of now, sorted. A subscribed topic must exist."""
        wanted = self.options.wanted
        if self.options.strategy == "subscribePattern":
            topics = list(filter(topic_pattern(str(wanted)), self._ask(lambda: self._admin.list_topics())))
        else:
            topics = sorted({item if isinstance(item, str) else item[0] for item in wanted})
        found = [(d["name"], p["partition_index"]) for d in self._describe(topics) if not d["is_internal"]
                 for p in d["partitions"]]
        return sorted(tp for tp in found if self.options.strategy != "assign" or tp in wanted)

    def _describe(self, topics: list[str]) -> list[dict[str, Any]]:
        def ask() -> list[dict[str, Any]]:
            answer = self._admin.describe_topics(topics) if topics else []
            for topic in answer:
                if topic["error_code"]:
                    error = for_code(topic["error_code"])
                    raise error(f"topic {topic['name']} of the option '{self.options.strategy}': {error.description}")
            return answer
        return self._ask(ask)

    def latest(self, known: Offsets | None = None) -> Offsets:
        """Return the end of every partition; one below `known` is asked for again: a new leader may not know it yet
        (KIP-207)."""
        for attempt in range(self.options.retries):
            ends = self._list(dict.fromkeys(self.partitions(), LATEST))
            if not known or all(ends[tp] >= known.get(tp, 0) for tp in ends):
                break
            if attempt < self.options.retries - 1:
                time.sleep(self.options.retry_interval_s)
        return ends

    def earliest(self, partitions: Iterable[Key]) -> Offsets:
        """Return the first offset of each of these partitions that still exists."""
        exist = self.partitions()
        return self._list({tp: EARLIEST for tp in partitions if tp in exist})

    def limits(self, limit: Limit, starting: bool) -> Offsets:
        """Return what the options say for each partition, as of now: an offset, EARLIEST or LATEST."""
        partitions = self.partitions()
        if isinstance(limit, Everywhere):
            return dict.fromkeys(partitions, limit.offset)
        if isinstance(limit, AtTimes):
            return self._at_times(limit, partitions, starting)
        _must_match(limit.offsets, partitions, limit.option,
                    "Partitions specified for Kafka start offsets don't match what are assigned. Maybe topic partitions are "
                    "created or deleted while the query is running. Use -1 for latest, -2 for earliest.")
        return limit.offsets

    def resolve(self, limits: Offsets) -> Offsets:
        """Return those limits with EARLIEST and LATEST replaced by what they are now."""
        return limits | self._list({tp: offset for tp, offset in limits.items() if offset < 0})

    def _at_times(self, limit: AtTimes, partitions: list[Key], starting: bool) -> Offsets:
        times = dict.fromkeys(partitions, limit.times) if isinstance(limit.times, int) else limit.times
        _must_match(times, partitions, limit.option,
                    f"Partitions specified for Kafka timestamp based {'start' if starting else 'end'} offsets don't match what "
                    "are assigned. Maybe topic partitions are created or deleted while the query is running, or you didn't "
                    "specify all the partitions.")
        found = self._list(times)
        none = [tp for tp in partitions if found[tp] < 0]
        if none and starting and not limit.latest_if_none:
            raise refuse(
                f"Option '{limit.option}': No offset matched from request of topic-partition {tp_name(none[0])} and timestamp "
                f"{times[none[0]]}. To begin at the end instead, set startingOffsetsByTimestampStrategy to latest"
            )
        return found | dict.fromkeys(none, LATEST)

    def _list(self, specs: Offsets) -> Offsets:
        """Return what ListOffsets answers to EARLIEST, LATEST or a time for each partition; -1 where no record is as
        late as the time."""
        if not specs:
            return {}
        isolation = self.options.client.get("isolation_level", "read_uncommitted")
        asked = {TopicPartition(*tp): spec for tp, spec in specs.items()}
        answer = self._ask(lambda: self._admin.list_partition_offsets(asked, isolation_level=isolation))
        return {(tp.topic, tp.partition): found.offset for tp, found in answer.items()}

    def _ask(self, question: Callable[[], T]) -> T:
        """Retry retriable errors until API_TIMEOUT_S; an unknown topic only `fetchOffset.numRetries` times: it may be new."""
        deadline, attempt = time.monotonic() + API_TIMEOUT_S, 0
        while True:
            attempt += 1
            try:
                return question()
            except KafkaError as error:
                unknown = isinstance(error, UnknownTopicOrPartitionError)
                if not error.retriable or time.monotonic() > deadline or (unknown and attempt >= self.options.retries):
                    raise
                time.sleep(self.options.retry_interval_s if unknown else 0.2)


def _must_match(given: Offsets, partitions: list[Key], option: str, problem: str) -> None:
    if sorted(given) != partitions:
        raise KafkaIllegalState(f"{problem} Specified: {tp_names(given)} Assigned: {tp_names(partitions)} (Option '{option}'.)")


def rate_limit(limit: int, start: Offsets, end: Offsets) -> Offsets:
    """Return `end`, cut so that about `limit` records lie between (I-SPARK-3). A partition without a start is not cut."""
    waiting = {tp: end[tp] - start[tp] for tp in end if tp in start and end[tp] > start[tp]}
    total = sum(waiting.values())
    return {tp: min(end[tp], start[tp] + max(1, limit * waiting[tp] // total)) if tp in waiting else end[tp] for tp in end}


def batch_ranges(start: Offsets, end: Offsets, named: str) -> list[OffsetRange]:
    """Return the ranges of a batch query, whose offsets were just resolved: one for each partition, empty ones too.

    named: which options say so, for the error."""
    for tp in sorted(end):
        if start[tp] > end[tp]:
            raise KafkaIllegalState(
                f"The resolved start offset {start[tp]} is greater than the resolved end offset {end[tp]} "
                f"for topic {tp[0]} partition {tp[1]}. {named}"
            )
    return [OffsetRange(*tp, start[tp], end[tp]) for tp in sorted(end)]


def stream_ranges(start: Offsets, end: Offsets, first_of_new: Offsets, report: Callable[[str], None]) -> list[OffsetRange]:
    """Return the ranges of a micro-batch; what looks like lost data goes to `report` (I-SPARK-4)."""
    added, gone = sorted(end.keys() - start.keys()), sorted(start.keys() - end.keys())
    if deleted := [tp for tp in added if tp not in first_of_new]:
        report(f"Cannot find initial offsets for partitions {tp_names(deleted)}. They may have been deleted.")
    for tp in added:
        if first_of_new.get(tp, 0) != 0:
            report(f"Added partition {tp_name(tp)} starts from {first_of_new[tp]} instead of 0.")
    if gone:
        report(f"Partitions {tp_names(gone)} have been deleted.")
    begin = start | first_of_new
    for tp in sorted(end.keys() & begin.keys()):
        if end[tp] < begin[tp]:
            report(f"Partition {tp_name(tp)} offset was changed from {begin[tp]} to {end[tp]}. {CHANGED}")
    return [OffsetRange(*tp, begin[tp], end[tp]) for tp in sorted(end) if tp in begin and begin[tp] < end[tp]]


def split(ranges: list[OffsetRange], min_partitions: int | None, max_records: int | None) -> list[OffsetRange]:
    """Return the ranges of the tasks, without empty ones (Spark's KafkaOffsetRangeCalculator).

    First each range is cut into parts of at most `max_records` offsets; if there are then fewer than `min_partitions`, the
    long ones are cut in proportion to their length, so that there are about that number.
    """
    ranges = [r for r in ranges if r.size > 0]
    if max_records is not None:
        ranges = [part for r in ranges for part in r.cut(-(-r.size // max_records))]
    if min_partitions is None or min_partitions <= len(ranges):
        return ranges
    total = sum(r.size for r in ranges)
    short = [r for r in ranges if _share(r, total, min_partitions) == 1]
    whole = {(r.topic, r.partition) for r in short}                  # of which the connector cuts no other range either
    total, parts = total - sum(r.size for r in short), max(1, min_partitions - len(short))
    return [part for r in ranges for part in r.cut(1 if (r.topic, r.partition) in whole else _share(r, total, parts))]


def _share(r: OffsetRange, total: int, parts: int) -> int:
    return max(1, math.floor(r.size / total * parts + 0.5))          # a half goes up, as in Java

"""The parts of the Spark source that need neither a JVM nor a cluster: options, arithmetic on offsets."""
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import IllegalArgumentException
from pyspark.sql.datasource import CaseInsensitiveDict

from minikafka.lab.spark.offsets import CHANGED, OffsetRange, rate_limit, split, stream_ranges
from minikafka.lab.spark.options import (
    EARLIEST,
    AtTimes,
    Everywhere,
    Exactly,
    SourceOptions,
    client_config,
    offsets_from_json,
    offsets_to_json,
)

PARTITIONS = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3))
OFFSETS = st.dictionaries(PARTITIONS, st.integers(0, 1000), min_size=1)


def options(**given: str) -> SourceOptions:
    return SourceOptions.parse(CaseInsensitiveDict({"kafka.bootstrap.servers": "a:1,b:2", "subscribe": "t"} | given))


@given(OFFSETS, st.data(), st.integers(1, 2000))
def test_rate_limit(start, data, limit):
    """I-SPARK-3. Fails if a partition with something waiting were starved, went past its end or back before its start,
    or if the limit were exceeded by more than the one record that each partition is sure of."""
    end = {tp: offset + data.draw(st.integers(0, 500)) for tp, offset in start.items()}
    cut = rate_limit(limit, start, end)
    assert all(start[tp] + (end[tp] > start[tp]) <= cut[tp] <= end[tp] for tp in start)
    assert sum(cut[tp] - start[tp] for tp in start) <= limit + len(start)
    if sum(end.values()) - sum(start.values()) <= limit:
        assert cut == end


@given(
    st.lists(st.tuples(PARTITIONS, st.integers(0, 99), st.integers(0, 500)), unique_by=lambda r: r[0]),
    st.none() | st.integers(1, 30),
    st.none() | st.integers(1, 100),
)
def test_split(drawn, wanted, most):
    """Fails if a record were left out or read twice when partitions are cut, or a part were longer than it may be."""
    ranges = [OffsetRange(*tp, start, start + size) for tp, start, size in drawn]
    parts = split(ranges, wanted, most)
    assert [(r.topic, r.partition, o) for r in parts for o in range(r.start, r.end)] == [
        (r.topic, r.partition, o) for r in ranges for o in range(r.start, r.end)]
    assert all(0 < r.size <= (most or r.size) for r in parts)


def test_split_as_the_connector_does():
    """Fails if both options together cut otherwise than KafkaOffsetRangeCalculator of Spark 4.2, whose numbers these are."""
    ranges = [OffsetRange("t", 0, 0, 30), OffsetRange("t", 1, 0, 20)]
    for wanted, most, number in ((None, 7, 8), (11, 7, 8), (11, 30, 11)):
        assert len(split(ranges, wanted, most)) == number, (wanted, most)


def test_what_counts_as_data_loss():
    """I-SPARK-4. Fails if one of the four signs of lost data were not reported, or an ordinary batch were."""
    told: list[str] = []
    start = {("t", 0): 5, ("t", 1): 5, ("t", 2): 9}
    end = {("t", 0): 8, ("t", 1): 3, ("t", 3): 4, ("t", 4): 6, ("t", 5): 1}
    ranges = stream_ranges(start, end, {("t", 3): 0, ("t", 4): 2}, told.append)
    assert ranges == [OffsetRange("t", 0, 5, 8), OffsetRange("t", 3, 0, 4), OffsetRange("t", 4, 2, 6)]
    assert told == ["Cannot find initial offsets for partitions Set(t-5). They may have been deleted.",
                    "Added partition t-4 starts from 2 instead of 0.", "Partitions Set(t-2) have been deleted.",
                    f"Partition t-1 offset was changed from 5 to 3. {CHANGED}"]
    told.clear()
    assert stream_ranges(start, start, {}, told.append) == [] and told == []


@given(OFFSETS)
def test_offsets_in_the_checkpoint(offsets):
    """I-SPARK-9. Fails if the connector's form of offsets changed."""
    assert offsets_from_json(offsets_to_json(offsets)) == offsets


def test_options():
    """I-SPARK-1. Fails if a default, a precedence or the case-insensitivity of option names changed."""
    plain = options()
    assert (plain.starting, plain.ending, plain.fail_on_data_loss, plain.include_headers) == (None, None, True, False)
    assert (plain.poll_timeout_s, plain.retries, plain.client) == (120.0, 3, {"bootstrap_servers": ["a:1", "b:2"]})
    assert options(STARTINGOFFSETS=" Earliest ").starting == Everywhere(EARLIEST)
    assert options(startingOffsets='{"t":{"0":7,"1":-1}}').starting == Exactly({("t", 0): 7, ("t", 1): -1}, "startingOffsets")
    both = options(startingOffsets="earliest", startingOffsetsByTimestamp='{"t":{"0":5}}', endingTimestamp="9")
    assert (both.starting, both.ending) == (AtTimes({("t", 0): 5}, "startingOffsetsByTimestamp"),
                                           AtTimes(9, "endingTimestamp"))
    config = options(**{"kafka.request.timeout.ms": "700", "kafka.group.id": "g", "kafka.acks": "all"}).client
    assert config["request_timeout_ms"] == 700 and "group_id" not in config and "acks" not in config


def test_bootstrap_is_required():
    """Fails if the source fell back to kafka-python's default, localhost."""
    with pytest.raises(IllegalArgumentException, match=r"'kafka.bootstrap.servers' must be specified"):
        client_config({}, {})

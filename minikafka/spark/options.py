"""The options of Spark's Kafka connector, understood by our Python source and sink: names, defaults, refusals.

Owns: parsing and checking of options. No network, no Spark session: pure functions over a dictionary of strings.

Invariants
  I-SPARK-1  An option has the name, the meaning and the default of the official connector, and wrong ones are refused
             with its words.
  I-SPARK-2  An option that we cannot honour is refused, never ignored (except groupIdPrefix and kafka.group.id: we use
             no group).

Differences from the connector: `kafka.*` options are kafka-python's, which has most of the Java client's; the others
are refused by name. minOffsetsPerTrigger and maxTriggerDelay do not exist: the Python Data Source API passes no time to
the source.
"""
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from pyspark.errors import IllegalArgumentException

EARLIEST, LATEST = -2, -1                        # as in Kafka's ListOffsets
Key = tuple[str, int]                            # topic, partition
Offsets = dict[Key, int]

STRATEGIES = ("subscribe", "subscribePattern", "assign")
UNSUPPORTED = ("minOffsetsPerTrigger", "maxTriggerDelay")
OURS = ("auto.offset.reset", "key.deserializer", "value.deserializer", "enable.auto.commit", "interceptor.classes",
        "key.serializer", "value.serializer")    # the source decides these itself
NOT_USED = ("group.id",)


def refuse(text: str) -> IllegalArgumentException:
    """Return the exception for a wrong option, as the connector raises it."""
    return IllegalArgumentException(message=text)


@dataclass(frozen=True)
class Everywhere:
    """The same for all partitions: EARLIEST or LATEST."""
    offset: int


@dataclass(frozen=True)
class Exactly:
    """An offset for each partition (EARLIEST and LATEST allowed)."""
    offsets: Offsets


@dataclass(frozen=True)
class AtTimes:
    """The first record at or after a time (ms), for each partition or, where `times` is an int, for all."""
    times: Offsets | int
    latest_if_none: bool = False                 # startingOffsetsByTimestampStrategy


Limit = Everywhere | Exactly | AtTimes


@dataclass(frozen=True)
class SourceOptions:
    """Everything the source needs to know, picklable."""
    strategy: str                                # one of STRATEGIES
    wanted: tuple[Key, ...] | tuple[str, ...] | str
    starting: Limit | None                       # None: the default of batch (earliest) or streaming (latest)
    ending: Limit | None
    max_offsets_per_trigger: int | None
    min_partitions: int | None
    max_records_per_partition: int | None
    fail_on_data_loss: bool
    include_headers: bool
    poll_timeout_s: float
    retries: int
    retry_interval_s: float
    client: dict[str, Any]                       # for KafkaConsumer and KafkaAdminClient

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "SourceOptions":
        """Check what batch and streaming share; raises IllegalArgumentException."""
        for name in UNSUPPORTED:
            if name in options:
                raise refuse(f"Option '{name}' is not supported by the Python source; the official connector has it")
        strategy = _strategy(options)
        return cls(
            strategy,
            _wanted(strategy, options[strategy]),
            _limit(options, "starting"),
            _limit(options, "ending"),
            _positive(options, "maxOffsetsPerTrigger"),
            _positive(options, "minPartitions"),
            _positive(options, "maxRecordsPerPartition"),
            _boolean(options, "failOnDataLoss", True),
            _boolean(options, "includeHeaders", False),
            _whole(options, "kafkaConsumer.pollTimeoutMs", 120_000) / 1000,
            _whole(options, "fetchOffset.numRetries", 3),
            _whole(options, "fetchOffset.retryIntervalMs", 1000) / 1000,
            client_config(options, KafkaConsumer.DEFAULT_CONFIG),
        )

    def check_batch(self) -> None:
        """Raise for what a batch query cannot ask for."""
        if self.starting == Everywhere(LATEST):
            raise refuse("starting offset can't be latest for batch queries on Kafka")
        if self.ending == Everywhere(EARLIEST):
            raise refuse("ending offset can't be earliest for batch queries on Kafka")
        _none_is(self.starting, LATEST, "startingOffsets for {} can't be latest for batch queries on Kafka")
        _none_is(self.ending, EARLIEST, "ending offset for {} can't be earliest for batch queries on Kafka")
        if isinstance(self.starting, Exactly) and isinstance(self.ending, Exactly):
            for tp, start in self.starting.offsets.items():
                end = self.ending.offsets.get(tp, LATEST)
                if start > end >= 0:
                    raise refuse(f"The specified start offset {start} is greater than the end offset {end} "
                                 f"for topic {tp[0]} partition {tp[1]}.")

    def check_stream(self) -> None:
        """Raise for what a streaming query cannot ask for."""
        if isinstance(self.ending, AtTimes):
            raise refuse("ending timestamp not valid in streaming queries")
        if self.ending is not None:
            raise refuse("ending offset not valid in streaming queries")


def client_config(options: Mapping[str, str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `kafka.*` options as arguments of a kafka-python client whose DEFAULT_CONFIG is `known`.

    A name that only the other of the two clients has is left out; one that neither has is refused.
    """
    if "kafka.bootstrap.servers" not in options:
        raise refuse("Option 'kafka.bootstrap.servers' must be specified for configuring Kafka consumer")
    config: dict[str, Any] = {}
    for option, value in options.items():
        name = option.lower().removeprefix("kafka.")
        if name == option.lower() or name in NOT_USED:
            continue
        if name in OURS:
            raise refuse(f"Kafka option '{name}' is not supported")
        name = name.replace(".", "_")
        if name not in KafkaConsumer.DEFAULT_CONFIG and name not in KafkaProducer.DEFAULT_CONFIG:
            raise refuse(f"Kafka option '{option}' is unknown to kafka-python, which the Python source and sink use")
        if name in known:
            config[name] = _as_type_of(known[name], value)
    config["bootstrap_servers"] = config["bootstrap_servers"].split(",")
    return config


def tp_name(tp: Key) -> str:
    """Return topic-partition, as Kafka prints it."""
    return f"{tp[0]}-{tp[1]}"


def offsets_to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Return offsets in the connector's form, also in the checkpoint: {"topic": {"0": 23}}."""
    out: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        out.setdefault(topic, {})[str(partition)] = offset
    return out


def offsets_from_json(value: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Return the offsets of that JSON; ValueError or AttributeError if it has another form."""
    return {(topic, int(partition)): int(offset)
            for topic, partitions in value.items() for partition, offset in partitions.items()}


def _strategy(options: Mapping[str, str]) -> str:
    given = [name for name in STRATEGIES if name in options]
    if len(given) != 1:
        problem = "Only one of the following options can be" if given else "One of the following options must be"
        raise refuse(
            f"{problem} specified for Kafka source: subscribe, subscribepattern, assign. See the docs for more details."
        )
    return given[0]


def _wanted(strategy: str, value: str) -> tuple[Key, ...] | tuple[str, ...] | str:
    if strategy == "subscribePattern":
        if not value.strip():
            raise refuse(f"Pattern to subscribe is empty as specified value for option 'subscribePattern' is '{value}'")
        return value.strip()
    if strategy == "subscribe":
        topics = tuple(name.strip() for name in value.split(",") if name.strip())
        if not topics:
            raise refuse(f"No topics to subscribe to as specified value for option 'subscribe' is '{value}'")
        return topics
    if not value.strip().startswith("{"):
        raise refuse(f"No topicpartitions to assign as specified value for option 'assign' is '{value}'")
    return _json(value, lambda v: tuple((topic, int(p)) for topic, partitions in v.items() for p in partitions),
                 '{"topicA":[0,1],"topicB":[0,1]}')


def _limit(options: Mapping[str, str], side: str) -> Limit | None:
    """Choose startingTimestamp before startingOffsetsByTimestamp before startingOffsets, as the connector does."""
    latest_if_none = options.get("startingOffsetsByTimestampStrategy", "error").lower() == "latest"
    if f"{side}Timestamp" in options:
        return AtTimes(_whole(options, f"{side}Timestamp", 0), latest_if_none)
    if f"{side}OffsetsByTimestamp" in options:
        return AtTimes(
            _json(options[f"{side}OffsetsByTimestamp"], offsets_from_json, '{"topicA":{"0":123,"1":456}}'),
            latest_if_none,
        )
    value = options.get(f"{side}Offsets")
    if value is None:
        return None
    if value.strip().lower() in ("earliest", "latest"):
        return Everywhere(EARLIEST if value.strip().lower() == "earliest" else LATEST)
    return Exactly(_json(value, offsets_from_json, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'))


def _json(value: str, read: Callable[[Any], Any], example: str) -> Any:
    try:
        return read(json.loads(value))
    except (ValueError, AttributeError, TypeError):
        raise refuse(f"Expected e.g. {example}, got {value}") from None


def _none_is(limit: Limit | None, forbidden: int, text: str) -> None:
    for tp, offset in (limit.offsets if isinstance(limit, Exactly) else {}).items():
        if offset == forbidden:
            raise refuse(text.format(tp_name(tp)))


def _whole(options: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(options.get(name, default))
    except ValueError:
        raise refuse(f"Expected a single long value, got {options.get(name)}") from None


def _positive(options: Mapping[str, str], name: str) -> int | None:
    if name not in options:
        return None
    if (value := _whole(options, name, 0)) <= 0:
        raise refuse(f"{name} must be positive")
    return value


def _boolean(options: Mapping[str, str], name: str, default: bool) -> bool:
    value = str(options.get(name, default)).lower()
    if value not in ("true", "false"):
        raise refuse(f"Option '{name}' must be true or false, not '{value}'")
    return value == "true"


def _as_type_of(default: Any, value: str) -> Any:
    if isinstance(default, bool):
        return value.lower() == "true"
    if isinstance(default, (int, float)) and value not in ("all",):
        return int(value)
    return value

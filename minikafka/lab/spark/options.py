"""The options of Spark's Kafka connector, understood by our Python source and sink: names, defaults, refusals.

Owns: parsing and checking of options. No network, no Spark session: pure functions over a dictionary of strings.

Invariants
  I-SPARK-1  An option has the name, the meaning and the default of the official connector. A wrong value is refused with
             the connector's words and the option's name, which the connector often leaves out.
  I-SPARK-2  An option that we cannot honour is refused, never ignored (except groupIdPrefix and kafka.group.id: we use
             no group).

Differences from the connector
  * `kafka.*` options are kafka-python's, which has most of the Java client's; the others are refused by name.
  * kafkaConsumer.pollTimeoutMs is 120 s where it is not given, whatever spark.network.timeout says.
  * maxOffsetsPerTrigger and minOffsetsPerTrigger must be positive; the connector takes 0, and then reads nothing for ever.
  * An offset below -2 is refused. The connector finds out in the task.
"""
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from pyspark.errors import IllegalArgumentException

from .pattern import PatternError, topic_pattern

EARLIEST, LATEST = -2, -1                        # as in Kafka's ListOffsets
Key = tuple[str, int]                            # topic, partition
Offsets = dict[Key, int]

STRATEGIES = ("subscribe", "subscribePattern", "assign")
OURS = ("auto.offset.reset", "key.deserializer", "value.deserializer", "enable.auto.commit", "interceptor.classes",
        "key.serializer", "value.serializer")    # the source decides these itself
NOT_USED = ("group.id", "group.instance.id")
NO_SUCH = object()
# Options of kafka-python that are None where they are not given; every other one of those is no text, or is not for us.
TEXTS = ("compression_type", "proxy_url", "sasl_kerberos_domain_name", "sasl_kerberos_name", "sasl_mechanism",
         "sasl_plain_password", "sasl_plain_username", "socks5_proxy", "ssl_cafile", "ssl_certfile", "ssl_ciphers", "ssl_crlfile",
         "ssl_keyfile", "ssl_password")
NUMBERS = ("receive_buffer_bytes", "send_buffer_bytes")              # -1: what the operating system has
POSITIVE = ("max_in_flight_requests_per_connection", "max_poll_records", "metrics_num_samples", "request_timeout_ms")
ENUMERATIONS: dict[str, dict[str, Any]] = {
    "acks": {"all": "all", "-1": "all", "0": 0, "1": 1},
    "compression_type": {"none": None, **{kind: kind for kind in ("gzip", "snappy", "lz4", "zstd")}},
    "isolation_level": {level: level for level in ("read_uncommitted", "read_committed")},
    "security_protocol": {spelling: kind for kind in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
                          for spelling in (kind, kind.lower())},
}
UNITS_MS = {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


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
    option: str                                  # which one says so


@dataclass(frozen=True)
class AtTimes:
    """The first record at or after a time (ms), for each partition or, where `times` is an int, for all."""
    times: Offsets | int
    option: str                                  # which one says so
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
    min_offsets_per_trigger: int | None
    max_trigger_delay_s: float
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
        strategy = _strategy(options)
        most, least = _positive(options, "maxOffsetsPerTrigger"), _positive(options, "minOffsetsPerTrigger")
        if most and least and least > most:
            raise refuse("Option 'minOffsetsPerTrigger': "
                         f"The value of minOffsetPerTrigger({least}) is higher than the maxOffsetsPerTrigger({most}).")
        return cls(
            strategy,
            _wanted(strategy, options[strategy]),
            _limit(options, "starting"),
            _limit(options, "ending"),
            most,
            least,
            _duration_s(options, "maxTriggerDelay", "15m"),
            _positive(options, "minPartitions", bits=32),
            _positive(options, "maxRecordsPerPartition"),
            _boolean(options, "failOnDataLoss", True),
            _boolean(options, "includeHeaders", False),
            _whole(options, "kafkaConsumer.pollTimeoutMs", 120_000, least=1) / 1000,
            _whole(options, "fetchOffset.numRetries", 3, least=1, bits=32),
            _whole(options, "fetchOffset.retryIntervalMs", 1000, least=0) / 1000,
            client_config(options, KafkaConsumer.DEFAULT_CONFIG),
        )

    def check_batch(self) -> None:
        """Raise for what a batch query cannot ask for."""
        if self.starting == Everywhere(LATEST):
            raise refuse("Option 'startingOffsets': starting offset can't be latest for batch queries on Kafka")
        if self.ending == Everywhere(EARLIEST):
            raise refuse("Option 'endingOffsets': ending offset can't be earliest for batch queries on Kafka")
        _none_is(self.starting, LATEST, "startingOffsets for {} can't be latest for batch queries on Kafka")
        _none_is(self.ending, EARLIEST,
                 "Option 'endingOffsets': ending offset for {} can't be earliest for batch queries on Kafka")
        if isinstance(self.starting, Exactly) and isinstance(self.ending, Exactly):
            self._check_order(self.starting.offsets, self.ending.offsets, "offset")
        if isinstance(self.starting, AtTimes) and isinstance(self.ending, AtTimes):
            if isinstance(self.starting.times, dict) and isinstance(self.ending.times, dict):
                self._check_order(self.starting.times, self.ending.times, "timestamp")

    def _check_order(self, start: Offsets, end: Offsets, thing: str) -> None:
        if start.keys() != end.keys():
            raise refuse(
                "The specified start offset and end offset should have the same topic-partitions. Topic-partitions for start "
                f"offset: {tp_names(start)}, topic-partitions for end offset: {tp_names(end)}. {self.limit_options}"
            )
        for tp, first in start.items():
            if first > end[tp] >= 0:
                raise refuse(f"The specified start {thing} {first} is greater than the end {thing} {end[tp]} for topic {tp[0]} "
                             f"partition {tp[1]}. {self.limit_options}")

    @property
    def limit_options(self) -> str:
        """Return the names of the options that say where a batch begins and ends, for the text of an error."""
        given = [limit.option for limit in (self.starting, self.ending) if isinstance(limit, (Exactly, AtTimes))]
        return f"(Option {' and '.join(given)}.)"

    def check_stream(self, options: Mapping[str, str]) -> None:
        """Raise for what a streaming query cannot ask for."""
        for name, thing in (("endingOffsets", "offset"), ("endingOffsetsByTimestamp", "timestamp"),
                            ("endingTimestamp", "timestamp")):
            if name in options:
                raise refuse(f"Option '{name}': ending {thing} not valid in streaming queries")


def client_config(options: Mapping[str, str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `kafka.*` options as arguments of a kafka-python client whose DEFAULT_CONFIG is `known`.

    A name that only the other of the two clients has is checked and left out; one that neither has is refused.
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
        argument = name.replace(".", "_")
        default = (KafkaProducer.DEFAULT_CONFIG | KafkaConsumer.DEFAULT_CONFIG).get(argument, NO_SUCH)
        if not isinstance(default, (bool, int, float, str)) and argument not in TEXTS + NUMBERS:
            raise refuse(f"Kafka option '{option}' is unknown to kafka-python, which the Python source and sink use; "
                         "leave it out, or use the official connector")
        checked = _client_value(option, argument, default, value.strip())
        if argument in known and checked is not None:
            config[argument] = checked
    return config


def _client_value(option: str, argument: str, default: Any, value: str) -> Any:
    """Return the value with the type that kafka-python wants; None stands for its own default."""
    if argument == "bootstrap_servers":
        return _servers(option, value)
    if (allowed := ENUMERATIONS.get(argument)) is not None:
        if value not in allowed:
            raise refuse(f"Invalid value {value} for the option '{option}': it must be one of {', '.join(allowed)}")
        return allowed[value]
    if isinstance(default, bool):
        return _boolean({option: value}, option, default)
    if isinstance(default, (int, float)) or argument in NUMBERS:
        number = _whole({option: value}, option, 0, least=-1 if argument in NUMBERS else int(argument in POSITIVE))
        return number if number >= 0 else None
    return value


def _servers(option: str, value: str) -> list[str]:
    servers = [server.strip() for server in value.split(",") if server.strip()]
    for server in servers:
        if not re.fullmatch(r".+:\d{1,5}", server) or not 0 < int(server.rpartition(":")[2]) < 2**16:
            raise refuse(f"Invalid url in the option '{option}': {server}. Give host:port, or several with commas between them")
    if not servers:
        raise refuse(f"No resolvable bootstrap urls given in the option '{option}'. Give host:port")
    return servers


def tp_name(tp: Key) -> str:
    """Return topic-partition, as Kafka prints it."""
    return f"{tp[0]}-{tp[1]}"


def tp_names(partitions: Iterable[Key]) -> str:
    """Return the names of those partitions, as Scala prints a set."""
    return f"Set({', '.join(map(tp_name, sorted(partitions)))})"


def offsets_to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Return offsets in the connector's form, also in the checkpoint: {"topic": {"0": 23}}."""
    out: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        out.setdefault(topic, {})[str(partition)] = offset
    return out


def offsets_from_json(value: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Return the offsets of that JSON; ValueError or AttributeError if it has another form."""
    return {(topic, _int(partition, 32)): _number(offset, 64)
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
        try:
            topic_pattern(value.strip())
        except PatternError as error:
            raise refuse(f"Option 'subscribePattern' must be a regular expression of Java, without what only Java has: "
                         f"{error}: {value}. Or list the topics in the option 'subscribe'") from None
        return value.strip()
    if strategy == "subscribe":
        topics = tuple(name.strip() for name in value.split(",") if name.strip())
        if not topics:
            raise refuse(f"No topics to subscribe to as specified value for option 'subscribe' is '{value}'")
        return topics
    if not value.strip().startswith("{"):
        raise refuse(f"No topicpartitions to assign as specified value for option 'assign' is '{value}'")
    return _json("assign", value, _assigned, '{"topicA":[0,1],"topicB":[0,1]}')


def _assigned(value: Mapping[str, list[int]]) -> tuple[Key, ...]:
    if not all(isinstance(partitions, list) for partitions in value.values()):
        raise TypeError
    return tuple((topic, _number(partition, 32)) for topic, partitions in value.items() for partition in partitions)


def _limit(options: Mapping[str, str], side: str) -> Limit | None:
    """Choose startingTimestamp before startingOffsetsByTimestamp before startingOffsets, as the connector does."""
    name = "startingOffsetsByTimestampStrategy"
    if (strategy := options.get(name, "error").lower()) not in ("error", "latest"):
        raise refuse(f"Option '{name}' must be error or latest. No value found for '{strategy.upper()}'")
    if (name := f"{side}Timestamp") in options:
        try:
            return AtTimes(_int(options[name].strip(), 64), name, strategy == "latest")
        except ValueError:
            raise refuse(f"Option '{name}': Expected a single long value, got {options[name].strip()}") from None
    if (name := f"{side}OffsetsByTimestamp") in options:
        times = _json(name, options[name], offsets_from_json,
                      '{"topicA": {"0": 123456789, "1": 123456789}, "topicB": {"0": 123456789, "1": 123456789}}')
        return AtTimes(times, name, strategy == "latest")
    if (value := options.get(name := f"{side}Offsets")) is None:
        return None
    if value.strip().lower() in ("earliest", "latest"):
        return Everywhere(EARLIEST if value.strip().lower() == "earliest" else LATEST)
    offsets = _json(name, value, offsets_from_json, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}')
    for tp, offset in offsets.items():
        if offset < EARLIEST:
            raise refuse(f"Option '{name}': {offset} for {tp_name(tp)} is no offset. Use -1 for latest, -2 for earliest")
    return Exactly(offsets, name)


def _json(name: str, value: str, read: Callable[[Any], Any], example: str) -> Any:
    try:
        return read(json.loads(value))
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise refuse(f"Option '{name}': Expected e.g. {example}, got {value.strip()}") from None


def _none_is(limit: Limit | None, forbidden: int, text: str) -> None:
    for tp, offset in (limit.offsets if isinstance(limit, Exactly) else {}).items():
        if offset == forbidden:
            raise refuse(text.format(tp_name(tp)))


def _int(text: str, bits: int) -> int:
    """Return the number that Java reads; ValueError where Java raises NumberFormatException."""
    if not re.fullmatch(r"[+-]?\d+", text):
        raise ValueError
    return _number(int(text), bits)


def _number(value: Any, bits: int) -> int:
    """Return that number of a JSON text; TypeError if it is something else, ValueError if Java's type is too short for it."""
    if type(value) is not int:
        raise TypeError
    if not -2**(bits - 1) <= value < 2**(bits - 1):
        raise ValueError
    return value


def _whole(options: Mapping[str, str], name: str, default: int, least: int | None = None, bits: int = 64) -> int:
    value = options.get(name, str(default))
    try:
        number = _int(value, bits)
    except ValueError:
        raise refuse(f"Option '{name}' must be a whole number. For input string: \"{value}\"") from None
    if least is not None and number < least:
        raise refuse(f"Option '{name}' must be at least {least}, not {value}")
    return number


def _positive(options: Mapping[str, str], name: str, bits: int = 64) -> int | None:
    if name not in options:
        return None
    if (value := _whole(options, name, 0, bits=bits)) <= 0:
        raise refuse(f"{name} must be positive")
    return value


def _duration_s(options: Mapping[str, str], name: str, default: str) -> float:
    """Return seconds for a time as Spark writes it: 500, "500ms", "30s", "15m"."""
    value = options.get(name, default)
    found = re.fullmatch(r"(-?\d+)([a-z]+)?", value.strip().lower())
    if not found or (found[2] or "ms") not in UNITS_MS:
        raise refuse(f"Option '{name}': Time must be specified as seconds (s), milliseconds (ms), microseconds (us), minutes "
                     f"(m or min), hour (h), or day (d). E.g. 50s, 100ms, or 250us. Failed to parse: {value}")
    return int(found[1]) * UNITS_MS[found[2] or "ms"] / 1000


def _boolean(options: Mapping[str, str], name: str, default: bool) -> bool:
    value = str(options.get(name, default)).lower()
    if value not in ("true", "false"):
        raise refuse(f"Option '{name}' must be true or false. For input string: \"{value}\"")
    return value == "true"

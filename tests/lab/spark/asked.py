"""Every option of the official connector at good, odd and wrong values: the table that test_options.py plays on both formats.

A row has a verdict:
    same      both read or write the same, with the same tasks
    refused   both refuse before anything is asked of a broker; our text names the option
    late      both refuse once the brokers or a task say something; our text names the option
    ours      only we refuse, by name: the connector takes the value, or finds out later than we do

In values "@" stands for a topic with two partitions and a hundred records, "@-u" for one with one and seven, "@-none" for one
with two and none.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

TRIPS = {"subscribe": "@"}


@dataclass(frozen=True)
class Ask:
    """One option at one value, beside what else must be said."""
    verdict: str
    option: str
    value: str
    more: dict[str, str] = field(default_factory=dict)

    def options(self, topic: str) -> dict[str, str]:
        return {name: value.replace("@", topic) for name, value in (self.more | {self.option: self.value}).items()}


def ask(option: str, more: dict[str, str] = TRIPS, *, same: Iterable[str] = (), refused: Iterable[str] = (),
        late: Iterable[str] = (), ours: Iterable[str] = ()) -> list[Ask]:
    rows = {"same": same, "refused": refused, "late": late, "ours": ours}
    return [Ask(verdict, option, value, more) for verdict, values in rows.items() for value in values]


def at(zero: object, one: object) -> str:
    """The JSON of an offset or a time for both partitions of "@"."""
    return f'{{"@": {{"0": {zero}, "1": {one}}}}}'


NO_NUMBER = ("x", "", "2.0", " 3", "1_0", "9223372036854775808")
NO_BOOLEAN = ("yes", "", "1", " true")
BAD_OFFSETS = ("oldest", "", "-2", "0", "{", '{"x"}', at(5, "true"), at('"5"', '"6"'), '{"@": [0, 1]}', '{"@": {"zero": 0}}')
MANY = at(30, 20)

BATCH = [
    *ask("subscribe", {}, same=["@", " @ , @-u", "@,@", "@,", "@-none", "@-none,@-u"], refused=["", " , "],
         late=["@,nowhere", "a b"]),
    *ask("subscribePattern", {}, same=["@", "@-u|@$", "^@$", " @-u ", r"\Q@-u\E", "(?i)@-U$", r"@-\p{Lower}++$", "nowhere",
                                       "@-u,@", "consumer_offsets"],
         refused=["", "  ", "*", "[", "(", "a{2", r"\p{Foo}"], ours=["(?<=a*)@"]),
    *ask("assign", {}, same=['{"@": [0, 1]}', '{"@": [1]}', '{"@": [7]}', '{"@": [0, 7], "@-u": [0]}', "{}", '{"@": []}',
                             '{"@": [0, 0]}', '{"@": [-1]}', ' {"@": [0]} '],
         refused=["", "@", "{", "[]", '{"@": 0}', '{"@": ["0"]}', '{"@": {"0": 1}}', '{"@": [true]}'],
         late=['{"nowhere": [0]}'], ours=['{"@": null}', '{"@": [0.0]}', '{"@": [0]} x', '{"@": [4294967296]}']),
    *ask("subscribe", {"assign": "{}"}, refused=["@"]),
    *ask("subscribePattern", {"subscribe": "@"}, refused=["@"]),
    *ask("startingOffsets", same=["earliest", " Earliest ", at(10, -2), at(0, 0), at(50, 50), '{"@": {"00": 3, "1": 4}}'],
         refused=["latest", *BAD_OFFSETS, at(10, -1)],
         late=[at(77, 0), '{"@": {"0": 0}}', '{"@": {"0": 0, "1": 0, "2": 0}}', '{"@-u": {"0": 0}}', "{}"],
         ours=[at(-3, 0), at(1.5, 2), at("null", 1), at(0, 0) + " x"]),
    *ask("endingOffsets", same=["latest", " Latest", at(12, -1), at(0, 0)],
         refused=["earliest", *BAD_OFFSETS, at(12, -2)], late=['{"@": {"0": 1}}', "{}"], ours=[at(-3, 5)]),
    *ask("startingOffsets", TRIPS | {"endingOffsets": at(5, 1)}, same=[at(5, 0)], refused=[at(6, 0), '{"@": {"0": 0}}']),
    *ask("startingOffsetsByTimestamp", same=[at(1040000, 1041500), at(0, 0), at(-1, -2), at(-3, 0)],
         refused=["soon", "", "latest", "1040000", at('"1040000"', 0)],
         late=[at(9000000, 0), '{"@": {"0": 0}}', "{}"], ours=[at(1040000.5, 0)]),
    *ask("endingOffsetsByTimestamp", same=[at(1050000, 9000000), at(0, 0), at(-1, -2)], refused=["soon", ""],
         late=['{"@": {"0": 0}}']),
    *ask("startingOffsetsByTimestamp", TRIPS | {"endingOffsetsByTimestamp": at(1040000, 1040000)}, refused=[at(1050000, 0)]),
    *ask("startingTimestamp", same=["1060000", " 1060000 ", "0", "-1", "-2", "-3"],
         refused=["soon", "", "1e6", "1_060_000", "1060000.0", "9223372036854775808", "2020-01-01"],
         late=["9000000", "9223372036854775807"]),
    *ask("endingTimestamp", same=["1060000", " 1060000", "0", "9000000", "-1", "-2"], refused=["soon", ""]),
    *ask("startingTimestamp", TRIPS | {"endingTimestamp": "1040000"}, late=["1050000"]),
    *ask("startingTimestamp", TRIPS | {"startingOffsets": "x", "startingOffsetsByTimestamp": "x"}, same=["1050000"]),
    *ask("endingTimestamp", TRIPS | {"endingOffsets": "earliest"}, same=["1050000"]),
    *ask("startingOffsetsByTimestampStrategy", TRIPS | {"startingTimestamp": "9000000"}, same=["latest", "LATEST"],
         late=["error"], refused=["earliest", "", " latest"]),
    *ask("failOnDataLoss", same=["true", "false", "FALSE"], refused=NO_BOOLEAN),
    *ask("includeHeaders", same=["true", "false", "TRUE"], refused=NO_BOOLEAN),
    *ask("minPartitions", same=["1", "2", "3", "5", "17", "+4"], refused=["0", "-1", "3000000000", *NO_NUMBER]),
    *ask("minPartitions", {"subscribe": "@,@-u,@-none"}, same=["4", "7", "9"]),
    *ask("minPartitions", {"subscribe": "@-none"}, same=["8"]),
    *ask("maxRecordsPerPartition", same=["1", "7", "50", "9223372036854775807"], refused=["0", "-1", *NO_NUMBER]),
    *ask("maxRecordsPerPartition", TRIPS | {"endingOffsets": MANY}, same=["1", "7", "19", "20", "30", "32"]),
    *ask("maxRecordsPerPartition", TRIPS | {"endingOffsets": MANY, "minPartitions": "11"}, same=["7", "30"]),
    *ask("maxRecordsPerPartition", TRIPS | {"startingTimestamp": "1010000"}, same=["10"]),
    *ask("maxRecordsPerPartition", TRIPS | {"endingTimestamp": "1080000"}, same=["10"]),
    *ask("kafkaConsumer.pollTimeoutMs", same=["5000"], refused=["soon", "", "1.5"], ours=["-1", "0"]),
    *ask("fetchOffset.numRetries", same=["1", "3"], refused=NO_NUMBER, ours=["0", "-1"]),
    *ask("fetchOffset.retryIntervalMs", same=["0", "10"], refused=NO_NUMBER, ours=["-1"]),
    *ask("maxOffsetsPerTrigger", same=["5"], ours=["0", "x"]),
    *ask("minOffsetsPerTrigger", same=["5"], ours=["0", "x"]),
    *ask("minOffsetsPerTrigger", TRIPS | {"maxOffsetsPerTrigger": "3"}, refused=["9"]),
    *ask("maxTriggerDelay", same=["5s", "15", "-1s"], ours=["x", "", "5 s"]),
    *ask("groupIdPrefix", same=["g", ""]),
    *ask("groupIdPrefix", TRIPS | {"kafka.group.id": "g"}, same=["g"]),
    *ask("nonsense", same=["1"]),
    *ask("STARTINGoffsets", same=["earliest"]),
    *ask("kafka.group.id", same=["g"]),
    *ask("kafka.bootstrap.servers", ours=["", ",", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999"]),
    *ask("kafka.isolation.level", same=["read_committed", "read_uncommitted"], ours=["READ_COMMITTED", "banana", ""]),
    *ask("kafka.security.protocol", same=["PLAINTEXT", "plaintext"], ours=["banana"]),
    *ask("kafka.request.timeout.ms", same=["5000", " 5000 "], ours=["x", "-1", "0", "5000.0"]),
    *ask("kafka.fetch.max.bytes", same=["1000"], ours=["-1", "x"]),
    *ask("kafka.max.poll.records", same=["1"], ours=["0", "x"]),
    *ask("kafka.receive.buffer.bytes", same=["65536", "-1"], ours=["-2", "x"]),
    *ask("kafka.check.crcs", same=["true", "false"], ours=["maybe"]),
    *ask("kafka.acks", same=["all"], ours=["banana"]),
    *ask("KAFKA.CLIENT.ID", same=["me"]),
    *(row for name in ("auto.offset.reset", "key.deserializer", "value.deserializer", "enable.auto.commit", "interceptor.classes")
      for row in ask(f"kafka.{name}", refused=["x"])),
    *(row for name in ("reticulate.splines", "selector", "api.version", "key.serializer", "partition.assignment.strategy", "")
      for row in ask(f"kafka.{name}", ours=["x"])),
]

STREAM = [
    *ask("startingOffsets", same=["earliest", "latest", at(10, -1), at(10, -2)], refused=["oldest", at('"5"', 0)],
         late=['{"@": {"0": 0}}', at(77, 0)], ours=[at(-3, 0)]),
    *ask("startingTimestamp", same=["1060000"], refused=["soon"], late=["9000000"]),
    *ask("startingOffsetsByTimestamp", same=[at(1040000, 1041500)], refused=["soon"]),
    *ask("endingOffsets", refused=["latest", "nonsense"]),
    *ask("endingOffsetsByTimestamp", refused=[at(0, 0)]),
    *ask("endingTimestamp", ours=["1060000"]),
]
EARLY = TRIPS | {"startingOffsets": "earliest"}
STREAM += [
    *ask("maxOffsetsPerTrigger", EARLY, same=["1", "45", "1000"], refused=["x", ""], ours=["0", "-1"]),
    *ask("maxOffsetsPerTrigger", EARLY | {"subscribe": "@,@-u,@-none"}, same=["50"]),
    *ask("minOffsetsPerTrigger", EARLY | {"maxOffsetsPerTrigger": "40"}, same=["30"], refused=["41", "x"]),
    *ask("minOffsetsPerTrigger", EARLY, same=["30", "1000"], refused=["x", ""], ours=["0"]),
    *ask("maxTriggerDelay", EARLY | {"minOffsetsPerTrigger": "30", "maxOffsetsPerTrigger": "40"}, same=["1us", "5m", " 1H"],
         refused=["x", "", "5 s", "5y"]),
    *ask("minPartitions", EARLY | {"maxOffsetsPerTrigger": "45"}, same=["5"], refused=["0", "x"]),
    *ask("maxRecordsPerPartition", EARLY | {"maxOffsetsPerTrigger": "45"}, same=["7"], refused=["0", "x"]),
    *ask("subscribePattern", {"startingOffsets": "earliest"}, same=["@"], refused=["*"]),
    *ask("assign", {"startingOffsets": "earliest"}, same=['{"@": [1]}'], refused=["x"]),
    *ask("failOnDataLoss", EARLY, same=["false"], refused=["x"]),
    *ask("kafka.isolation.level", EARLY, same=["read_committed"]),
]

# What a sink is given: rows and their schema.
KEY_VALUE = ([("k", "v", 0), (None, "w", 0), ("k", None, 0), (None, None, 0)], "key string, value string, partition int")
TO = {"topic": "@-out"}
SINK = [
    *ask("topic", {}, same=["@-out", " @-out "], late=["", "a b"]),
    *ask("kafka.acks", TO, same=["all", "-1", "1", "0"], ours=["banana", "2"]),
    *ask("kafka.compression.type", TO, same=["none", "gzip", "snappy", "lz4", "zstd"], ours=["rar"]),
    *ask("kafka.linger.ms", TO, same=["0", "5"], ours=["-1", "x"]),
    *ask("kafka.enable.idempotence", TO, same=["true", "false"], ours=["maybe"]),
    *ask("kafka.retries", TO, same=["3"], ours=["-1", "x"]),
    *ask("kafka.transactional.id", TO, ours=["t"]),
    *ask("kafka.key.serializer", TO, refused=["x"]),
    *ask("kafka.value.serializer", TO, refused=["x"]),
    *ask("kafka.reticulate.splines", TO, ours=["x"]),
    *ask("includeHeaders", TO, same=["true", "perhaps"]),
    *ask("subscribe", TO, same=["elsewhere"]),
    *ask("nonsense", TO, same=["1"]),
]

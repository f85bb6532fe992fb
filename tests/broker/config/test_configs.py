"""Configuration (broker/config/effective.py and its tables): I-CFG-1..4. Texts are those of Apache Kafka 4.3."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from minikafka.broker.config.alter import SET, Alteration, AlterConfigOp, without_effect
from minikafka.broker.config.definition import ConfigError, to_text
from minikafka.broker.config.effective import (
    DEFAULT,
    DYNAMIC_DEFAULT_BROKER,
    DYNAMIC_TOPIC,
    STATIC_BROKER,
    BrokerConfig,
    broker_value,
    log_config,
    resolve_topic,
    topic_config,
    validate_broker_configs,
    validate_topic_configs,
)
from minikafka.broker.config.group_and_metrics import GROUP_CONFIGS, METRICS_CONFIGS, validate_metrics_configs
from minikafka.broker.config.table import BROKER_CONFIGS, TOPIC_CONFIGS
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import BROKER_RESOURCE, CLIENT_METRICS, GROUP, TOPIC_RESOURCE, ConfigRecord
from minikafka.cluster.settings import PRESETS


@pytest.mark.parametrize(("configs", "text"), [
    ({"message.format.version": "3.0"}, "Unknown topic config name: message.format.version"),
    ({"retention.ms": ""}, "Invalid value  for configuration retention.ms: Not a number of type LONG"),
    ({"retention.ms": "1_0"}, "Invalid value 1_0 for configuration retention.ms: Not a number of type LONG"),
    ({"retention.ms": "-5"}, "Invalid value -5 for configuration retention.ms: Value must be at least -1"),
    ({"segment.bytes": "99999999999"},
     "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT"),
    ({"segment.ms": "9223372036854775808"},
     "Invalid value 9223372036854775808 for configuration segment.ms: Not a number of type LONG"),
    ({"max.compaction.lag.ms": "0"},
     "Invalid value 0 for configuration max.compaction.lag.ms: Value must be at least 1"),
    ({"min.cleanable.dirty.ratio": "2"},
     "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"),
    ({"min.cleanable.dirty.ratio": "x"},
     "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"),
    ({"segment.bytes": "9" * 5000}, f"Invalid value {'9' * 5000} for configuration segment.bytes: Not a number of type INT"),
    ({"min.cleanable.dirty.ratio": "1e999"},
     "Invalid value Infinity for configuration min.cleanable.dirty.ratio: Value must be no more than 1"),
    ({"min.cleanable.dirty.ratio": "-Infinity"},
     "Invalid value -Infinity for configuration min.cleanable.dirty.ratio: Value must be at least 0"),
    ({"min.cleanable.dirty.ratio": "0x1p1"},
     "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"),
    ({"min.cleanable.dirty.ratio": "-0x.8p99999d"},
     "Invalid value -Infinity for configuration min.cleanable.dirty.ratio: Value must be at least 0"),
    ({"min.cleanable.dirty.ratio": "0x1"},
     "Invalid value 0x1 for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"),
    ({"preallocate": "x"}, "Invalid value x for configuration preallocate: Expected value to be either true or false"),
    ({"cleanup.policy": "Compact"},
     "Invalid value Compact for configuration cleanup.policy: String must be one of: compact, delete"),
    ({"compression.type": "foo"}, "Invalid value foo for configuration compression.type: String must be one of: "
     "uncompressed, zstd, lz4, snappy, gzip, producer"),
    ({"compression.gzip.level": "0"},
     "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"),
    ({"compression.zstd.level": "23"},
     "Invalid value 23 for configuration compression.zstd.level: Value must be no more than 22"),
    ({"message.timestamp.type": "x"},
     "Invalid value x for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime"),
    ({"leader.replication.throttled.replicas": "0:1,x"},
     "Invalid value [0:1, x] for configuration leader.replication.throttled.replicas: "
     "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: "
     "[partitionId]:[brokerId],[partitionId]:[brokerId],..."),
])
def test_refusals_are_in_kafkas_words(configs, text):
    """Fails if a type, a limit or a text differs from Kafka 4.3 (I-CFG-3); further ones, by value: tests/wire/test_topics.py."""
    with pytest.raises(ConfigError) as caught:
        validate_topic_configs(configs)
    assert str(caught.value) == text


@pytest.mark.parametrize("configs", [
    {"retention.ms": " 5 "}, {"retention.ms": "+5"},
    {"unclean.leader.election.enable": "TRUE"}, {"retention.bytes": "-5"},
    {"cleanup.policy": ""}, {"cleanup.policy": "compact, delete"}, {"cleanup.policy": "compact,compact"},
    {"internal.segment.bytes": "100"}, {"local.retention.ms": "100"}, {"leader.replication.throttled.replicas": ""}])
def test_what_kafka_accepts_is_accepted(configs):
    """Fails if a check is stricter than Kafka 4.3's."""
    validate_topic_configs(configs)
    for name, text in configs.items():
        assert to_text(TOPIC_CONFIGS[name].parse(to_text(TOPIC_CONFIGS[name].parse(text)))) is not None


@pytest.mark.parametrize("name", sorted({*TOPIC_CONFIGS, *BROKER_CONFIGS}))
def test_every_default_is_a_value_that_may_be_set(name):
    """Fails if a default lies outside its own limits, or prints as something else (I-CFG-1)."""
    for config in (TOPIC_CONFIGS.get(name), BROKER_CONFIGS.get(name)):
        if config is not None and config.default is not None:
            assert config.parse(config.default_text) == config.default
            assert config.doc.endswith(".")


def test_every_public_topic_configuration_of_kafka_is_there():
    """Fails if one of the 33 is missing or invented."""
    assert len([c for c in TOPIC_CONFIGS.values() if not c.internal]) == 33


def test_every_synonym_is_a_broker_configuration():
    """Fails if a synonym in the topic table is misspelt."""
    names = [synonym for config in TOPIC_CONFIGS.values() for synonym, _ in config.synonyms]
    assert [name for name in names if name not in BROKER_CONFIGS] == []


def test_unknown_broker_names_are_refused_with_the_nearest():
    """Fails if an unknown name is ignored, as Kafka does with a warning (law 7)."""
    with pytest.raises(ConfigError, match=r"Unknown configuration 'replica.lag.time.ms'. "
                                          r"Did you mean 'replica.lag.time.max.ms'\?"):
        BrokerConfig({"replica.lag.time.ms": "1"})
    with pytest.raises(ConfigError, match=r"Invalid value x for configuration num.partitions: Not a number of type"):
        BrokerConfig({"num.partitions": "x"})


def test_kafkas_other_names_are_accepted_with_a_warning():
    """Fails if a file written for Kafka is refused for its threads, or taken without a word (I-CFG-2)."""
    config = BrokerConfig({"num.network.threads": "5", "num.io.threads": "8", "num.replica.fetchers": "2",
                           "share.coordinator.state.topic.min.isr": "1", "num.partitions": "4"})
    assert config.without_effect == ["num.network.threads", "num.replica.fetchers", "share.coordinator.state.topic.min.isr"]
    with pytest.raises(ConfigError, match="Invalid value 0 for configuration num.io.threads: Value must be at least 1"):
        BrokerConfig({"num.io.threads": "0"})


def test_a_node_has_one_number_under_two_names():
    """Fails if a file of Kafka's older kind starts another node than it names."""
    assert BrokerConfig({"broker.id": "3"}).node_id == BrokerConfig({"node.id": "3"})["broker.id"] == 3


def test_a_configuration_made_from_another_keeps_the_lines_of_its_listeners():
    """Fails if what belongs to one listener is lost, or what is replaced stays."""
    line = "listener.name.OUT.ssl.client.auth"
    first = BrokerConfig({"node.id": "1", line: "required", "num.partitions": "2"})
    second = first.replaced({"num.partitions": "3"})
    assert second.of_listener("OUT", "ssl.client.auth") == "required"
    assert (first["num.partitions"], second["num.partitions"], second.node_id) == (2, 3, 1)
    assert first.replaced({"node.id": "2"})["broker.id"] == 2


def another(config):
    """A value that the type and the limits of a configuration allow, and that is not its default."""
    near = [str(config.default + step) for step in (1, -1)] if isinstance(config.default, int | float) else []
    for text in [*near, *getattr(config.valid, "allowed", ()), "true", "false", "2", "x"]:
        with suppress(ConfigError):
            if replace(config, effect="read").parse(text) != config.default:
                return text
    raise AssertionError(config)


@pytest.mark.parametrize("config", [row for row in BROKER_CONFIGS.values() if row.effect != "read"], ids=lambda row: row.name)
def test_a_setting_without_effect_is_refused_or_warned_of(config):
    """Fails if a broker starts without the protection, the limit or the plug-in that its file sets, if one that runs takes
    it, or if what does nothing is taken without a word (I-CFG-2)."""
    value = another(config)
    if config.effect == "ignored":
        assert BrokerConfig({config.name: value}).without_effect == [config.name]
        wanted = [Alteration(BROKER_RESOURCE, "", (AlterConfigOp(config.name, SET, value),), False)]
        assert without_effect(wanted) == [config.name]
        return
    refusal = f"Invalid value .* for configuration {config.name}: minikafka knows .* only its default .* works"
    with pytest.raises(ConfigError, match=refusal):
        BrokerConfig({config.name: value})
    if config.dynamic:
        with pytest.raises(ConfigError, match=refusal):
            validate_broker_configs({config.name: value}, False, BrokerConfig({"node.id": "1"}).__getitem__)


@pytest.mark.parametrize(("kind", "table"), [(TOPIC_RESOURCE, TOPIC_CONFIGS), (GROUP, GROUP_CONFIGS),
                                             (CLIENT_METRICS, METRICS_CONFIGS)], ids=["topics", "groups", "client metrics"])
def test_a_setting_without_effect_on_a_resource_is_described_so(kind, table):
    """Fails if a setting that nobody reads is taken without a word, or described like one that works."""
    ops = tuple(AlterConfigOp(name, SET, "x") for name in table)
    ignored = [name for name, row in table.items() if row.effect != "read"]
    assert ignored and without_effect([Alteration(kind, "it", ops, False)]) == ignored
    assert ["no effect here" in row.documentation for row in table.values()] == [name in ignored for name in table]


def test_every_broker_configuration_of_kafka_is_known():
    """Fails if one of those that DescribeConfigs of Kafka 4.3 shows is missing, or one more was invented."""
    public = [name for name, config in BROKER_CONFIGS.items() if not config.internal]
    assert len([name for name in public if not name.startswith("minikafka.")]) == 340


def test_the_first_place_that_sets_a_value_wins():
    """Fails if topic > broker > all brokers > file > default is out of order, or a unit is not converted (I-CFG-4)."""
    image = MetadataImage()
    broker = BrokerConfig({"node.id": "1", "log.retention.hours": "2", "log.retention.minutes": "3"})
    config = TOPIC_CONFIGS["retention.ms"]

    def value():
        sources = [entry.source for entry in resolve_topic(image, broker, "t", config)]
        return topic_config(image, broker, "t")["retention.ms"], sources

    assert value() == (180_000, [STATIC_BROKER, STATIC_BROKER])
    image.apply(ConfigRecord(BROKER_RESOURCE, "", "log.retention.ms", "9"))
    assert value() == (9, [DYNAMIC_DEFAULT_BROKER, STATIC_BROKER, STATIC_BROKER, DEFAULT])
    image.apply(ConfigRecord(TOPIC_RESOURCE, "t", "retention.ms", "7"))
    assert value()[0] == 7 and value()[1][0] == DYNAMIC_TOPIC
    assert topic_config(image, broker, "other")["retention.ms"] == 9


def test_internal_segment_bytes_overrides_the_size_of_segments():
    """Fails if small segments cannot be had in tests, or leak out as an option of the log."""
    image, broker = MetadataImage(), BrokerConfig({"node.id": "1"})
    assert log_config(image, broker, "t")["segment_bytes"] == 1 << 30
    image.apply(ConfigRecord(TOPIC_RESOURCE, "t", "internal.segment.bytes", "500"))
    values = log_config(image, broker, "t")
    assert values["segment_bytes"] == 500 and "internal_segment_bytes" not in values


@pytest.mark.parametrize("preset", [*PRESETS])
def test_presets_are_valid(preset):
    """Fails if a preset names an unknown configuration or a wrong value."""
    assert BrokerConfig(PRESETS[preset])["num.partitions"] == 1


@pytest.mark.parametrize(("configs", "everywhere", "text"), [
    ({"log.roll.jitter.ms": "-1"}, True, "requirement failed: log.roll.jitter.ms must be greater than or equal to 0"),
    ({"log.retention.ms": "0"}, True,
     "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
    ({"log.retention.ms": "-5"}, True, None),
    ({"log.cleaner.dedupe.buffer.size": "1"}, False,
     "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."),
    ({"log.cleaner.threads": "0"}, False, "/ by zero"),
    ({"log.cleaner.threads": "3"}, False, "Invalid value org.apache.kafka.common.config.ConfigException: Log cleaner threads "
     "cannot be increased to more than double the current value 1 for configuration Invalid dynamic configuration"),
    ({"max.connections": "0"}, True, "Invalid value org.apache.kafka.common.config.ConfigException: Invalid max.connections 0 "
     "for configuration Invalid dynamic configuration"),
    ({"listener.name.plaintext.max.connections": "x"}, True, "Invalid value x for configuration max.connections: Not a number "
     "of type INT"),
    ({"group.consumer.assignment.interval.ms": "2147483647"}, True, "group.consumer.assignment.interval.ms must be less than or "
     "equal to group.consumer.max.assignment.interval.ms"),
    ({"listeners": "PLAINTEXT://:1"}, True, "Cannot update these configs at default cluster level, broker id must be specified: "
     "[listeners]"),
    ({"listeners": "PLAINTEXT://:1"}, False, "Cannot update these configs dynamically: [listeners]"),
    ({"advertised.listeners": "PLAINTEXT://:1", "node.id": "7"}, False,
     "Cannot update these configs dynamically: [advertised.listeners, node.id]"),
    ({"a.plug-in's": "x"}, True, None)])
def test_a_running_broker_refuses_in_kafkas_words(configs, everywhere, text):
    """Fails if a dynamic setting that means nothing is taken, or refused in other words than Kafka 4.3's."""
    broker = BrokerConfig({"node.id": "1"})
    try:
        validate_broker_configs(configs, everywhere, broker.__getitem__)
    except ConfigError as refused:
        assert str(refused) == text
    else:
        assert text is None


def test_a_value_without_meaning_counts_as_not_set():
    """Fails if what another version wrote keeps a topic or a broker from having a configuration (I-CFG-8)."""
    image, broker = MetadataImage(), BrokerConfig({"node.id": "1"})
    for name, value in (("log.roll.jitter.ms", "-1"), ("log.retention.ms", "-9"), ("max.connections", "x")):
        image.apply(ConfigRecord(BROKER_RESOURCE, "", name, value))
    image.apply(ConfigRecord(TOPIC_RESOURCE, "t", "segment.ms", "0"))
    values = topic_config(image, broker, "t")
    assert (values["segment.jitter.ms"], values["retention.ms"], values["segment.ms"]) == (0, -1, 604_800_000)
    assert broker_value(image, broker, "max.connections") == 2**31 - 1


@pytest.mark.parametrize(("text", "good"), [
    ("P1DT2H3M4.5S", True), ("PT0.999999999S", True), ("P106751991167300D", True), ("PT99999999999999H", True), ("P", False),
    ("P1DT", False), ("P106751991167301D", False), ("P" + "9" * 5000 + "D", False), ("PT0.9999999999S", False),
    ("P\u0663D", False)])
def test_durations_are_read_as_java_reads_them(text, good):
    """Fails if a time is taken that Java cannot hold."""
    refused = False
    try:
        GROUP_CONFIGS["share.auto.offset.reset"].parse("by_duration:" + text)
    except ConfigError:
        refused = True
    assert refused is not good


@pytest.mark.parametrize("pattern", ["(" * 3000 + ")" * 3000, "(" * 15_000, "a{99999999999}", "["])
def test_expressions_that_cannot_be_read_are_refused(pattern):
    """Fails if an expression nested thousands deep, or repeated without number, is an error of ours."""
    with pytest.raises(ConfigError, match="Illegal client matching pattern"):
        validate_metrics_configs({"match": f"client_id={pattern}"})


def test_other_selectors_of_replicas_are_refused() -> None:
    """Fails if a class that cannot run here is silently ignored."""
    assert BrokerConfig({})["replica.selector.class"] is None
    name = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    assert BrokerConfig({"replica.selector.class": name})["replica.selector.class"] == name
    for other in ("com.example.Selector", "org.apache.kafka.common.replica.LeaderSelector", ""):
        with pytest.raises(ConfigError, match="replica.selector.class: String must be one of: org.apache.*RackAware"):
            BrokerConfig({"replica.selector.class": other})

"""Our Spark source and sink beside the official connector, option by option (asked.py), on both engines.

The connector is the judge: the same rows and the same tasks, or a refusal that names the option. What a refusal needs no
broker for is tried in `make test`; the whole table in `make long` and `make judge`.
"""
from __future__ import annotations

import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StringType, StructField, StructType

from minikafka.lab.spark.options import client_config
from minikafka.lab.spark.sink import KafkaDataWriter
from minikafka.lab.spark.source import KafkaSource
from tests.lab.spark import Kafka, batch, offsets_in, rows, stream, tasks, words
from tests.lab.spark.asked import BATCH, KEY_VALUE, SINK, STREAM, Ask

KINDS = {"batch": BATCH, "stream": STREAM, "sink": SINK}
VALUE = StructType([StructField("value", StringType())])
AT_ONCE = 3  # threads: much of a short query is waiting
PARTS = 5  # a part of all rows ends well before faulthandler_timeout ends the process
EVERY = 1 if os.environ.get("MINIKAFKA_NOTEBOOKS") == "whole" else 10  # all rows in `make long`; each takes some seconds


def parse(kind: str, options: dict[str, str]) -> None:
    """What our source and sink look at before they ask a broker."""
    given = CaseInsensitiveDict({"kafka.bootstrap.servers": "127.0.0.1:9092"} | options)
    source = KafkaSource(given)
    if kind == "sink":
        KafkaDataWriter.make(given, VALUE)
    elif kind == "batch":
        source.reader(source.schema())
    else:
        source.streamReader(source.schema())


def test_the_table_has_every_option_of_the_connector(spark, both):
    """Fails if the connector's class knows an option that the table does not try: a newer version has brought it."""
    provider = java_class(spark, "org.apache.spark.sql.kafka010.KafkaSourceProvider$")
    constants = {}
    for declared in provider.getDeclaredFields():
        if declared.getType().getName() == "java.lang.String":
            declared.setAccessible(True)
            constants[declared.getName().rpartition("$")[2]] = declared.get(None)
    no_options = {"DEFAULT_MAX_TRIGGER_DELAY", "MOCK_SYSTEM_TIME", "INSTRUCTION_FOR_FAIL_ON_DATA_LOSS_FALSE",
                  "CUSTOM_GROUP_ID_ERROR_MESSAGE", "serClassName", "deserClassName"}
    known = {value for name, value in constants.items() if name not in no_options}
    tried = {ask.option.lower() for asks in KINDS.values() for ask in asks}
    assert len(known) > 20 and known - tried == set() and no_options <= constants.keys()
    assert {option for option in tried if not option.startswith("kafka.")} - known == {"nonsense"}


def test_settings_of_the_java_clients(spark, both):
    """Fails if a setting of Java's clients, at its default, became something of another type for kafka-python, or were refused
    without its name."""
    wrong, taken = [], 0
    for kind, client in (("consumer.ConsumerConfig", KafkaConsumer), ("producer.ProducerConfig", KafkaProducer)):
        config = java_class(spark, f"org.apache.kafka.clients.{kind}")
        keys = next(m for m in config.getMethods() if m.getName() == "configDef").invoke(None, None).configKeys()
        for name in list(keys.keySet()):
            default = keys.get(name).getClass().getField("defaultValue").get(keys.get(name))
            default = "" if default is None else default
            value = str(default).lower() if isinstance(default, bool) else str(default)
            try:
                got = client_config({"kafka.bootstrap.servers": "a:1", f"kafka.{name}": value}, client.DEFAULT_CONFIG)
            except PySparkException as error:
                wrong += [] if names(name, str(error)) else [(name, str(error))]
                continue
            del got["bootstrap_servers"]
            taken += len(got)
            wrong += [(name, option) for option in got.items() if type(option[1]) is not type(default)]
    assert wrong == [] and taken > 30


def java_class(spark: SparkSession, name: str) -> Any:
    return spark._jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader().loadClass(name)


def names(option: str, text: str) -> bool:
    return option.lower().removeprefix("kafka.") in text.lower()


@pytest.mark.parametrize("kind", KINDS)
def test_refusals_name_their_option(kind):
    """I-SPARK-1, I-SPARK-2. Fails if a wrong value were taken, found out only later, or refused without its option's name;
    or if a right one were refused."""
    wrong = []
    for ask in KINDS[kind]:
        try:
            parse(kind, ask.options("t"))
            told = None
        except PySparkException as error:
            told = str(error)
        if (told is None) == (ask.verdict in ("refused", "ours")) or told is not None and not names(ask.option, told):
            wrong.append((ask, told))
    assert wrong == []


@pytest.mark.judge_first
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_equal_options(spark, both, kafka, name, tmp_path, kind, part):
    """Fails if a row of the table ends otherwise with our format than with the connector, or otherwise than it says."""
    kafka.create(name)
    kafka.send(name, range(100))
    kafka.create(f"{name}-u", 1)
    kafka.send(f"{name}-u", range(7), 1)
    kafka.create(f"{name}-none")
    with ThreadPoolExecutor(AT_ONCE) as threads:
        played = threads.map(lambda number: play(spark, both, kafka, name, tmp_path / str(number), kind, KINDS[kind][number]),
                             range(0, len(KINDS[kind]), EVERY)[part::PARTS])
        wrong = [row for row in played if row]
    assert wrong == []


def play(spark: SparkSession, both: list[str], kafka: Kafka, topic: str, folder: Path, kind: str, ask: Ask) -> list[Any]:
    """Return what both formats did, if the verdict is wrong."""
    do: Callable[..., Any] = {"batch": read, "stream": run, "sink": write}[kind]
    ends = []
    for source in both:
        try:
            ends.append(do(spark, source, kafka, folder / source, ask.options(topic)))
        except Exception as error:  # whatever it is: the connector raises many kinds
            ends.append(words(error))
    theirs, ours = ends
    verdict = "same" if theirs == ours else "different"
    if isinstance(ours, str):
        verdict = "refused" if isinstance(theirs, str) else "ours"
    elif isinstance(theirs, str):
        verdict = "theirs"
    named = verdict == "same" or isinstance(ours, str) and names(ask.option, ours)
    as_said = verdict == ask.verdict or verdict == "refused" and ask.verdict in ("late", "ours")
    return [] if named and as_said else [verdict, ask, *(end if isinstance(end, str) else repr(end)[:300] for end in ends)]


def read(spark: SparkSession, source: str, kafka: Kafka, folder: Path, options: dict[str, str]) -> Any:
    frame = batch(spark, source, kafka, **options)
    return tasks(frame), frame.schema, rows(frame)


def run(spark: SparkSession, source: str, kafka: Kafka, folder: Path, options: dict[str, str]) -> Any:
    batches = stream(spark, source, kafka, folder, **options)
    return batches, offsets_in(folder)


def write(spark: SparkSession, source: str, kafka: Kafka, folder: Path, options: dict[str, str]) -> Any:
    """Return what a fresh topic has after two rows were written into it."""
    topic = f"{folder.parent.parent.name}-{folder.parent.name}-{source}"
    kafka.create(topic, 1)
    given = {"kafka.bootstrap.servers": kafka.bootstrap}
    given |= {name: re.sub(r"\S+-out", topic, value) for name, value in options.items()}
    frame = spark.createDataFrame(*KEY_VALUE).coalesce(1)  # this call makes the session that of this thread
    frame.write.format(source).options(**given).mode("append").save()
    return [(r.partition, r.offset, r.key, r.value, list(r.headers)) for r in kafka.read(topic)]

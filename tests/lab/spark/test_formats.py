"""Our Python source and sink beside the official connector: equal rows, equal errors, equal resumption. On both
engines.

The connector is the judge of the source, Apache Kafka of our brokers.
"""
import json
import re
from collections import Counter

import pyspark
import pytest
from confluent_kafka import Producer
from kafka import TopicPartition

from minikafka.lab.datasets import flights
from minikafka.lab.demo.spark_job import SparkJob
from minikafka.lab.spark import python_format
from minikafka.machine.jars import CONNECTOR, jars
from tests.lab.spark import batch, offsets_in, reason, rows, stream, tasks, words

pytestmark = [pytest.mark.spark]


@pytest.mark.skipif(not CONNECTOR.present, reason="Spark's Kafka connector is not in the cache (`make apache` fetches it)")
def test_the_connector_is_the_jars_of_the_list(spark):
    """Fails if Spark looks for jars itself: its resolver knows neither our list nor this network's certificates."""
    assert spark.conf.get("spark.jars").split(",") == [str(jar) for jar in jars(CONNECTOR)]
    assert [name for name in ("packages", "repositories", "ivySettings") if spark.conf.get(f"spark.jars.{name}", "")] == []


def test_python_workers_import_what_the_driver_does(spark):
    """I-SPARK-16. Fails if they look into PySpark's zip file, where nothing is compiled."""
    assert spark.sparkContext.parallelize([1], 1).map(lambda _: __import__("pyspark").__file__).collect() == [pyspark.__file__]


def test_a_task_that_fails_is_tried_again(spark, tmp_path):
    """Fails if one task ends a job: a partition's leader may die while a task reads from it, and the connector's consumer then
    gives up before there is a new one (I-SPARK-8)."""
    def fails_once(number):
        if not (tmp_path / "tried").exists():
            (tmp_path / "tried").touch()
            raise RuntimeError("the first try")
        return number

    assert spark.sparkContext.parallelize([7], 1).map(fails_once).collect() == [7]


@pytest.mark.judge_first
def test_equal_rows(spark, both, kafka, name):
    """Fails if our source mixes up a column, rounds a timestamp, turns no headers into an empty list, a limit is off
    by one, or a query has other tasks; or if our broker answers a ListOffsets by time or a Fetch with other records
    than Kafka."""
    kafka.create(name)
    kafka.create(f"{name}-b", 1)
    kafka.send(name, range(100))
    kafka.send(f"{name}-b", range(7), 1)
    times = {"0": 1_040_000, "1": 1_041_500}
    asked = [
        {"subscribe": name, "includeHeaders": "true"},
        {"subscribe": f" {name}-b , {name}"},
        {"subscribePattern": f"{name}.*", "includeheaders": "true"},
        {"assign": json.dumps({name: [1]})},
        {"assign": json.dumps({name: [7]})},
        {
            "subscribe": name,
            "startingOffsets": json.dumps({name: {"0": 10, "1": -2}}),
            "endingOffsets": json.dumps({name: {"0": 12, "1": -1}}),
        },
        {
            "subscribe": name,
            "startingOffsetsByTimestamp": json.dumps({name: times}),
            "endingOffsetsByTimestamp": json.dumps({name: {"0": 1_050_000, "1": 9_000_000}}),
        },
        {"subscribe": name, "startingTimestamp": "1060000"},
        {"subscribe": name, "startingTimestamp": "9000000", "startingOffsetsByTimestampStrategy": "latest"},
        {"subscribe": name, "minPartitions": "5", "maxOffsetsPerTrigger": "3"},
        {"subscribePattern": f"{name[2:]}$"},
        {"subscribe": name, "startingTimestamp": "1010000", "endingTimestamp": "1050000", "maxRecordsPerPartition": "7"},
        {"subscribe": name, "startingTimestamp": "1098500", "startingOffsetsByTimestampStrategy": "latest"},
    ]
    for options in asked:
        theirs, ours = (batch(spark, source, kafka, **options) for source in both)
        assert (rows(ours), tasks(ours)) == (rows(theirs), tasks(theirs)), options
    log = kafka.read(name)
    got = rows(batch(spark, both[1], kafka, **asked[0]))
    assert [(r.partition, r.offset, r.key, r.value, r.timestamp.timestamp() * 1000, r.timestampType) for r in got] == [
        (r.partition, r.offset, r.key, r.value, r.timestamp, r.timestamp_type) for r in log]
    assert [[(h.key, h.value) for h in r.headers or ()] for r in got] == [list(r.headers) for r in log]


@pytest.mark.judge_first
def test_equal_refusals(spark, both, kafka, name):
    """Fails if an option that the connector refuses were accepted or ignored, or refused in other words."""
    kafka.create(name)
    kafka.send(name, range(20))
    two = {"0": 0, "1": 0}
    asked = [
        {},
        {"subscribe": name, "assign": "{}"},
        {"subscribe": " , "},
        {"subscribePattern": " "},
        {"assign": name},
        {"subscribe": name, "startingOffsets": "latest"},
        {"subscribe": name, "endingOffsets": "earliest"},
        {"subscribe": name, "startingOffsets": json.dumps({name: two | {"1": -1}})},
        {"subscribe": name, "endingOffsets": json.dumps({name: two | {"1": -2}})},
        {"subscribe": name, "startingOffsets": "oldest"},
        {"subscribe": name, "startingOffsets": "{" + name + "}"},
        {
            "subscribe": name,
            "startingOffsets": json.dumps({name: {"0": 5, "1": 0}}),
            "endingOffsets": json.dumps({name: {"0": 3, "1": 1}}),
        },
        {"subscribe": name, "startingOffsets": json.dumps({name: {"0": 77, "1": 0}})},
        {"subscribe": name, "startingTimestamp": "9000000"},
        {"subscribe": name, "minPartitions": "0"},
        {"subscribe": name, "kafka.enable.auto.commit": "true"},
    ]
    for options in asked:
        errors = []
        for source in both:
            with pytest.raises(Exception) as caught:
                rows(batch(spark, source, kafka, **options))
            errors.append(words(caught.value))
        theirs, ours = map(_anywhere, errors)
        theirs = theirs.partition("KafkaIllegalStateException: ")[2] or theirs
        assert theirs.partition(" Please investigate")[0].partition(" at org.")[0] in ours, (options, errors)


@pytest.mark.judge_first
def test_equal_resumption(spark, both, kafka, name, tmp_path):
    """A sink that fails in batch 1; a restart, which repeats exactly batch 1; more records and a new topic; another
    restart. Fails if our source ignored maxOffsetsPerTrigger, did not begin where the checkpoint says, obeyed
    startingOffsets again, or began a new topic at its end."""
    kafka.create(name)
    kafka.send(name, range(100))
    kafka.send(name, range(0, 40, 2))                                # partition 0 has more than partition 1
    options = {"subscribePattern": f"{name}.*", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "45"}
    runs = {source: [stream(spark, source, kafka, tmp_path / source, fail_at=1, **options),
                     stream(spark, source, kafka, tmp_path / source, **options)] for source in both}
    kafka.send(name, range(30))
    kafka.create(f"{name}-b", 1)
    kafka.send(f"{name}-b", range(5), 1)
    for source in both:
        runs[source].append(stream(spark, source, kafka, tmp_path / source, **(options | {"startingOffsets": "latest"})))
    theirs, ours = (runs[source] for source in both)
    assert ours == theirs and offsets_in(tmp_path / both[1]) == offsets_in(tmp_path / both[0])
    failed, repeated, resumed = ours
    assert [number for number, _ in failed] == [0, 1] and repeated[0] == failed[1]
    everything = [record for run in ([failed[0]], repeated, resumed) for _, records in run for record in records]
    assert sorted(everything) == [(r.topic, r.partition, r.offset) for t in (name, f"{name}-b") for r in kafka.read(t)]


@pytest.mark.soak
def test_equal_data_loss(spark, both, kafka, name, tmp_path):
    """A topic deleted and made again, shorter; then with fewer partitions; and a range beyond the end of the log.
    Fails if our source went on in silence, or named another reason, or with failOnDataLoss=false read other records
    (I-SPARK-7)."""
    kafka.create(name)
    kafka.send(name, range(60))
    options = {"subscribe": name, "startingOffsets": "earliest"}
    for source in both:
        assert sum(len(records) for _, records in stream(spark, source, kafka, tmp_path / source, **options)) == 60
    for partitions, records, expected in ((2, 10, "offset was changed from 30 to 5"), (1, 9, "have been deleted")):
        kafka.delete(name)
        kafka.create(name, partitions)
        kafka.send(name, range(records), partitions)
        errors = []
        for source in both:
            with pytest.raises(Exception) as caught:
                stream(spark, source, kafka, tmp_path / source, **options)
            errors.append(reason(caught.value))
        assert expected in errors[0] and _anywhere(errors[1]) == _anywhere(errors[0])
        theirs, ours = (
            stream(spark, source, kafka, tmp_path / source, failOnDataLoss="false", **options) for source in both
        )
        assert ours == theirs
    beyond = {"subscribe": name, "endingOffsets": json.dumps({name: {"0": 20}}), "kafkaConsumer.pollTimeoutMs": "1500"}
    errors = []
    for source in both:
        with pytest.raises(Exception) as caught:
            rows(batch(spark, source, kafka, **beyond))
        errors.append(reason(caught.value))
    assert errors[0] == errors[1] == f"Could not read records in offset [9, 20) for topic partition {name}-0"
    theirs, ours = (rows(batch(spark, source, kafka, failOnDataLoss="false", **beyond)) for source in both)
    assert ours == theirs and len(ours) == 9


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_equal_on_odd_logs(spark, both, kafka, name, tmp_path):
    """Transactions, one of them aborted; a header without a value; deleted records; a partition more; a checkpoint of the
    other format. Fails if our source showed a marker or an aborted record, stumbled over a gap in the offsets, took a
    deleted record for none, missed the new partition, or wrote a checkpoint that only it can read (I-SPARK-6)."""
    kafka.create(name, 1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name})
    producer.init_transactions()
    for end in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for n in range(5):
            producer.produce(name, b"%d" % n, partition=0, headers=[("h", None), ("h", b"")] if n else None)
        producer.flush()
        end()
    asked = [{"kafka.isolation.level": level, "includeHeaders": "true", "minPartitions": parts}
             for level in ("read_committed", "read_uncommitted") for parts in ("1", "5")]
    for options in asked:
        theirs, ours = (batch(spark, source, kafka, subscribe=name, **options) for source in both)
        assert (rows(ours), tasks(ours), ours.schema) == (rows(theirs), tasks(theirs), theirs.schema), options
        assert len(rows(ours)) == (10 if options["kafka.isolation.level"] == "read_committed" else 15)
    kafka.admin.delete_records({TopicPartition(name, 0): 8})
    first = {"subscribe": name, "startingOffsets": json.dumps({name: {"0": 2}})}
    for source in both:
        with pytest.raises(Exception, match=r"Could not read records in offset \[2, "):
            rows(batch(spark, source, kafka, **first))
    theirs, ours = (rows(batch(spark, source, kafka, failOnDataLoss="false", **first)) for source in both)
    assert ours == theirs and ours[0].offset == 8
    options = {"subscribe": name, "startingOffsets": "earliest"}
    begun = [stream(spark, source, kafka, tmp_path / source, **options) for source in both]
    kafka.admin.create_partitions({name: 3})
    kafka.cluster.wait(lambda: len(kafka._led(name)) == 3, timeout=60)
    kafka.send(name, range(9), 3)
    gone_on = [stream(spark, source, kafka, tmp_path / other, **options) for source, other in zip(both, reversed(both))]
    assert begun[0] == begun[1] and gone_on[0] == gone_on[1] and len(gone_on[0][-1][1]) == 9


def _anywhere(text: str) -> str:
    """Which of several partitions is named first is chance in the connector."""
    return re.sub(r"-\d+( offset| and timestamp)", r"-N\1", text)


@pytest.mark.judge_first
def test_equal_sinks(spark, both, kafka, name, tmp_path):
    """Fails if our sink dropped a header, sent a null key as empty, ignored the partition column, preferred the topic
    column to the option, or acknowledged before the brokers did; or if it took a column of a wrong type."""
    data = spark.sql("""SELECT * FROM VALUES ('a', binary('1'), 0, array(struct('h' AS key, binary('v') AS value))),
                        (null, binary(''), 1, null), ('c', null, 1, null) AS t(key, value, partition, headers)""")
    data = data.coalesce(1)
    written = []
    for source in both:
        by_option, by_column, streamed = (kafka.create(f"{name}-{source}-{n}") for n in range(3))
        target = {"kafka.bootstrap.servers": kafka.bootstrap}
        topic = data.selectExpr("*", f"'{by_column}' AS topic", "'ignored' AS other")
        topic.write.format(source).options(**target, topic=by_option).mode("append").save()
        topic.write.format(source).options(**target).mode("append").save()
        query = (
            spark.readStream.format(source)
            .options(**target, subscribe=by_option, startingOffsets="earliest", includeHeaders="true")
            .load()
            .select("key", "value", "partition", "headers")
            .writeStream.format(source)
            .options(**target, topic=streamed, checkpointLocation=str(tmp_path / source))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        written.append([[(r.partition, r.offset, r.key, r.value, list(r.headers)) for r in kafka.read(t)]
                        for t in (by_option, by_column, streamed)])
    assert written[0] == written[1]
    assert written[1][0] == written[1][1] == written[1][2] == [
        (0, 0, b"a", b"1", [("h", b"v")]), (1, 0, None, b"", []), (1, 1, b"c", None, [])]
    wrong = [(data, {}), (data.drop("value"), {"topic": name}), (spark.sql("SELECT 1 AS value"), {"topic": name}),
             (spark.sql("SELECT 'a' AS value, cast(null AS STRING) AS topic"), {})]
    for frame, options in wrong:
        errors = []
        for source in both:
            with pytest.raises(Exception) as caught:
                frame.write.format(source).options(**{"kafka.bootstrap.servers": kafka.bootstrap}, **options).mode(
                    "append"
                ).save()
            errors.append(words(caught.value))
        theirs = errors[0].partition("KafkaIllegalStateException: ")[2].partition(" at org.")[0] or errors[0]
        assert theirs in errors[1], errors


def test_a_query_is_watched_by_its_checkpoint(spark, kafka, name, tmp_path):
    """A sink fails in batch 1; the picture shows what would run again. Then it does, and all is done.
    I-CHECKPOINT-1. Fails if Spark keeps its checkpoint in another form than we read, or if a plan passes for done."""
    kafka.create(name)
    kafka.send(name, range(100))
    options = {"subscribe": name, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "40"}
    watched = kafka.cluster.watch(tmp_path, f"query-{name}")
    stream(spark, python_format(spark), kafka, tmp_path, fail_at=1, **options)
    watched.look()
    assert told(kafka.cluster, watched.name) == (offsets_in(tmp_path)[:2], [0])
    stream(spark, python_format(spark), kafka, tmp_path, **options)
    watched.stop()
    assert told(kafka.cluster, watched.name) == (offsets_in(tmp_path), [0, 1, 2])


def told(cluster, query):
    """(ends of all planned batches in the connector's form, batches that are done), from the cluster's trace."""
    events = [event for event in cluster.trace.events("batch", "batch_done") if event["client"] == query]
    ends = []
    for event in events:
        if event["k"] == "batch":
            by_topic = {}
            for tp, end in event["ends"].items():
                topic, _, partition = tp.rpartition("-")
                by_topic.setdefault(topic, {})[partition] = end
            ends.append(by_topic)
    return ends, [event["batch"] for event in events if event["k"] == "batch_done"]


@pytest.mark.soak
def test_late_rows_and_repeated_batches(spark, kafka, name, tmp_path):
    """The demo's job over a morning whose first ten flights are reported last, behind the watermark; then a batch is
    written again.
    I-DEMO-5, I-DEMO-6. Fails if late rows were taken into windows, or `rows` were counted behind the watermark, or if a
    repeated batch changed a result."""
    events = list(flights(300))
    topic, results = kafka.create(name), kafka.create(f"{name}-results", 1)
    for f in events[10:] + events[:10]:
        kafka.producer.send(topic, key=f.key, value=f.encode(), partition=f.seq % 2)
    kafka.producer.flush()
    job = SparkJob(spark, python_format(spark), kafka.bootstrap, topic, results, str(tmp_path), per_trigger=60)
    job.start(lambda condition: kafka.cluster.wait(condition, timeout=600))
    counted = job.finish()
    job._write_results(spark.read.parquet(str(tmp_path / "delays")).where("batch = 3").drop("batch").localCheckpoint(), 3)
    assert job.finish() == counted
    assert (counted.rows, counted.distinct, counted.results_differ) == (300, 300, 0)
    assert len(kafka.read(results)) > counted.results_topic == counted.results_parquet == len(counted.windows)
    assert counted.windows == Counter((int(f.scheduled.timestamp()) // 3600 * 3600, f.origin) for f in events[10:])

"""What the labs start, as one cell: it prints what came of it as JSON. A kernel runs it (place.py); nothing imports it."""
import json
import os
import tempfile

import minikafka
import minikafka.lab.labs.lab00.checks
import minikafka.lab.labs.lab12.checks
from minikafka import Cluster
from minikafka.lab import check

told = {"0.0": str(check("0.0", minikafka))}

from kafka import KafkaConsumer, KafkaProducer  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from minikafka.lab.labs.begin import begin_spark  # noqa: E402
from minikafka.lab.labs.streaming import START, Stream, seconds  # noqa: E402
from minikafka.lab.spark import kafka_format, python_format  # noqa: E402

soon = begin_spark()
cluster = Cluster(brokers=3, preset="class", config={"log.retention.ms": -1})  # the records are old
producer = KafkaProducer(bootstrap_servers=cluster.bootstrap)
at = int(START.timestamp() * 1000)
for second in range(3):
    producer.send("noon", str(second).encode(), timestamp_ms=at + 1000 * second)
producer.flush()
consumer = KafkaConsumer("noon", bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=10_000)
told["consumed"] = sorted(record.value.decode() for record, _ in zip(consumer, range(3)))
consumer.close()

spark = soon.result()
told["format"] = kafka_format(spark)
for source in (kafka_format(spark), python_format(spark)):
    rows = spark.read.format(source).option("kafka.bootstrap.servers", cluster.bootstrap).option("subscribe", "noon").load()
    told[source] = [[f"{row.timestamp:%H:%M:%S}", row.ms - at] for row in rows.select(
        "timestamp", F.unix_millis("timestamp").alias("ms")).orderBy("ms").collect()]

with Stream(spark, cluster.bootstrap, "clicks", lambda rows: rows.withWatermark("timestamp", "10 seconds").groupBy(
        F.window("timestamp", "10 seconds")).count()) as stream:
    step = stream.send(1, 4, 31)
    told["stream"] = [[seconds(row["window"]["start"]), row["count"]] for row in step.emitted]

with tempfile.TemporaryDirectory() as folder:  # a student's own checkpoint, and our own source
    name = os.path.join(folder, "checkpoint")
    found = []
    query = (spark.readStream.format(python_format(spark)).option("kafka.bootstrap.servers", cluster.bootstrap)
             .option("subscribe", "noon").option("startingOffsets", "earliest").load().writeStream
             .foreachBatch(lambda rows, batch: found.extend(str(row.timestamp) for row in rows.collect()))
             .option("checkpointLocation", name).trigger(availableNow=True).start())
    query.awaitTermination()
    told["own stream"] = sorted(found)

end = F.window("timestamp", "10 seconds").end
told["12.4"] = str(check("12.4", lambda rows, watermark: rows.where(end <= F.lit(watermark)))).splitlines()[0]
spark.stop()
producer.close()
cluster.close()
print("TOLD", json.dumps(told))

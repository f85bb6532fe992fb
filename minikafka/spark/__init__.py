"""Spark on Kafka: sessions for the course, and a Kafka source and sink in pure Python beside the official connector.

    from minikafka.spark import kafka_format, spark_session
    spark = spark_session()
    flights = (spark.readStream.format(kafka_format(spark)).option("kafka.bootstrap.servers", bootstrap)
               .option("subscribe", "flights").load())

session.py starts Spark; source.py is what Spark calls; options.py, offsets.py, fetch.py and sink.py are its parts.
"""
from .session import has_connector, kafka_format, python_format, spark_session

__all__ = ["has_connector", "kafka_format", "python_format", "spark_session"]

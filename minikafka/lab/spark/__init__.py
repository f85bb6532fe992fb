"""Spark on Kafka: sessions for the course, and a Kafka source and sink in pure Python beside the official connector.

    from minikafka.lab.spark import kafka_format, spark_session
    spark = spark_session()
    flights = (spark.readStream.format(kafka_format(spark)).option("kafka.bootstrap.servers", bootstrap)
               .option("subscribe", "flights").load())

    session.py  starts Spark
    home.py     the folder that Spark starts from, and the archive of its Java classes
    classes.py  makes the archive, once for a machine
    trial.py    starts Spark and stops it: `make doctor` and lab 10 ask so whether it can
    standalone.py  a Spark cluster on this machine: a master and workers as processes
    source.py   the source as Spark calls it: schema, partitions, offsets of each micro-batch
    options.py  the connector's options: which are served, which are refused; the settings of the Kafka client
    pattern.py  a regular expression of Java, for subscribePattern, as one of Python
    offsets.py  which offsets a query starts from and how far a micro-batch reads
    fetch.py    the records of one range of offsets, read in a Spark task
    sink.py     rows to records
"""

from .session import has_connector, kafka_format, python_format, spark_session

__all__ = ["has_connector", "kafka_format", "python_format", "spark_session"]

"""The two formats that must behave alike, and the clients of a test."""
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from minikafka import Cluster
from minikafka.lab.spark import kafka_format, python_format
from minikafka.machine.jars import CONNECTOR
from tests.lab.spark import Kafka


@pytest.fixture(scope="session")
def both(spark: SparkSession) -> list[str]:
    """Both formats, the official connector first: it is the judge of ours."""
    if not CONNECTOR.present:
        pytest.skip("Spark's Kafka connector is not in the cache (`make apache` fetches it)")
    return [kafka_format(spark), python_format(spark)]


@pytest.fixture
def kafka(cluster: Cluster) -> Iterator[Kafka]:
    with Kafka(cluster) as kafka:
        yield kafka

"""Elective 22: the registry's bytes are Avro's, its rule holds for all bytes of the topic, and a stop says why it is left out."""
from __future__ import annotations

import pytest

from minikafka.lab.labs.lab22 import ecosystem
from minikafka.lab.labs.lab22.registry import Registry, integer, varint


@pytest.mark.parametrize("number, data", [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001"), (2**31 - 1, "feffffff0f")])
def test_integers_are_avros(number, data):
    """The examples of Avro's specification. Fails if bytes are not those that Avro writes."""
    assert varint(number).hex() == data and integer(varint(number) + b"?", 0) == (number, len(data) // 2)


@pytest.fixture(scope="module")
def city():
    from minikafka import Cluster
    with Cluster(brokers=3, preset="class") as cluster:
        yield cluster


def test_a_registry_is_what_its_topic_says(city):
    """Fails if a second reader knows other schemas, a number is given twice, or a schema is let in that cannot read
    what any version has written.
    """
    registry = Registry(city.bootstrap, "schemas")
    number = registry.register("trip", ["trip:int", "taxi:string"])
    assert number == registry.register("trip", ["trip:int", "taxi:string"]) == 1
    data = registry.encode(number, {"trip": -7, "taxi": "taxi-9"})
    assert data == b"\0\0\0\0\1" + b"\x0d" + b"\x0ctaxi-9"
    with pytest.raises(ValueError, match="fare is new and has no default"):
        registry.register("trip", ["trip:int", "taxi:string", "fare:int"])
    with pytest.raises(ValueError, match="taxi changes from string to int"):
        registry.register("trip", ["trip:int", "taxi:int=0"])
    assert registry.register("trip", ["trip:int", "fare:int=3"]) == 2
    with pytest.raises(ValueError, match="fare is new"):  # version 1 is still in the topic
        registry.register("trip", ["trip:int", "fare:int"])
    assert Registry(city.bootstrap, "schemas").decode(data, as_schema=2) == {"trip": -7, "fare": 3}


def test_a_stop_names_what_is_missing(monkeypatch, tmp_path):
    """Fails if a machine without jars and network gets an error instead of a sentence."""
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    monkeypatch.setenv("MINIKAFKA_MAVEN", "none")
    assert "could not be fetched" in ecosystem.available()

"""Elective 23: a changed query is Spark's, and each night after an outage can be survived. Strict cells compare the figures."""
from __future__ import annotations

import pytest

from minikafka.lab.labs.lab23.away import AWAY, fewest, largest, played
from minikafka.lab.labs.lab23.versions import VERSIONS, went_on, wrong_values


def test_the_model_of_a_changed_query_has_the_values_of_spark():
    """The numbers are those that Spark itself gets in the cell `over-the-old`. Fails if the model counts otherwise."""
    goes_on = [name for name in VERSIONS if name != "taxi"]
    wrong = {name: len(wrong_values(went_on("keep", VERSIONS[name]).table, VERSIONS[name])) for name in goes_on}
    assert wrong == {"watermark": 0, "renamed": 0, "partitions": 0, "filter": 10, "dropoff": 26, "window": 34}
    with pytest.raises(TypeError, match="KEY_SCHEMA"):
        went_on("keep", VERSIONS["taxi"])


def test_each_night_after_an_outage_has_a_limit_and_fewest_cores():
    """Fails if no limit is enough, or if all nights want the same number of cores."""
    cores = {night.name: fewest(night) for night in AWAY}
    assert len(set(cores.values())) > 3
    assert [night.name for night in AWAY if played(night, largest(night, cores[night.name]), cores[night.name])] == []
    assert [night.name for night in AWAY if not played(night, 1, 1)] == []

"""What a correct Kafka shows is clean; spoiled in one way it is caught under the right name. For random clients."""

from __future__ import annotations

import copy
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from minikafka.proof.history import NAMES, check

from .model import Model
from .mutations import MUTATIONS

seeds = st.integers(0, 1 << 32)


@settings(max_examples=60)
@given(seeds)
def test_a_correct_log_is_clean(seed: int) -> None:
    """Fails if a check cries wolf: markers, aborted and refused sends, unknown outcomes, rebalances are all allowed."""
    report = check(Model(Random(seed)).history)
    assert (report.violated, report.valid) == ([], True)


@pytest.mark.parametrize("name", MUTATIONS)
@settings(max_examples=12, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(seeds)
def test_a_spoiled_one_is_caught(name: str, seed: int) -> None:
    """Fails if a check overlooks its anomaly among all that is allowed, or another takes its name."""
    rng = Random(seed)
    events = copy.deepcopy(Model(rng).history.events)
    assume(MUTATIONS[name](events, rng))
    report = check(events)
    assert name in report.violated
    assert report[name].evidence[0].text and report[name].evidence[0].events


def test_every_anomaly_has_its_mutation() -> None:
    """Fails when a check is new and nothing here has its anomaly; interleaved sends are allowed."""
    assert set(MUTATIONS) == set(NAMES) - {"int-send-skip"}

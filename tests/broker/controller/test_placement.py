"""Where replicas go (broker/controller/placement.py): I-PLACE-1, I-PLACE-2."""

from __future__ import annotations

import random
from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minikafka.broker.controller.placement import place
from minikafka.broker.metadata.image import BrokerRegistration
from minikafka.protocol.errors import Err, KafkaError


def brokers(*racks, fenced=()):
    return [BrokerRegistration(i, 1, UUID(int=i), (), rack, i in fenced) for i, rack in enumerate(racks, 1)]


@given(racks=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=9), seed=st.integers(0, 99),
       data=st.data())
def test_no_broker_twice_and_a_live_leader(racks, seed, data):
    """Fails if a partition has two replicas on one broker, too few of them, or a fenced leader."""
    fenced = data.draw(st.sets(st.integers(2, len(racks)))) if len(racks) > 1 else set()
    factor = data.draw(st.integers(1, len(racks)))
    for replicas in place(brokers(*racks, fenced=fenced), 12, factor, random.Random(seed)):
        assert len(set(replicas)) == len(replicas) == factor and replicas[0] not in fenced


@given(seed=st.integers(0, 99))
def test_replicas_are_spread_over_racks_and_leaders_over_brokers(seed):
    """Fails if racks do not take turns, or the brokers of a rack do not."""
    made = place(brokers("a", "a", "b", "b", "c", "c"), 6, 3, random.Random(seed))
    rack = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    assert all(len({rack[r] for r in replicas}) == 3 for replicas in made)
    assert Counter(replicas[0] for replicas in made) == Counter(range(1, 7))


@pytest.mark.parametrize("dead", [(1, 2), (3, 4), (5, 6)])
def test_a_rack_that_is_down_as_a_whole_has_its_turn_too(dead):
    """Fails if the rack whose turn it is, and which has no live leader, is passed over: two replicas would share a rack."""
    for seed in range(20):
        for replicas in place(brokers("a", "a", "b", "b", "c", "c", fenced=dead), 6, 3, random.Random(seed)):
            assert len({(r + 1) // 2 for r in replicas}) == 3 and replicas[0] not in dead


def test_live_brokers_come_before_fenced_ones():
    """Fails if a fenced broker is used while a live one of its rack is free."""
    made = place(brokers(None, None, None, fenced=[2]), 9, 2, random.Random(1))
    assert {r for replicas in made for r in replicas} == {1, 3}


def test_topics_start_at_different_brokers():
    """Fails if the start is not random: every one-partition topic would have the same leader."""
    rng = random.Random(3)
    assert {place(brokers(None, None, None), 1, 1, rng)[0][0] for _ in range(30)} == {1, 2, 3}


@pytest.mark.parametrize(("made", "text"), [
    ((brokers(None, fenced=[1]), 1, 1), "All brokers are currently fenced."),
    ((brokers(None, None), 1, 3), "The target replication factor of 3 cannot be reached because only 2 broker(s) are "
     "registered or some brokers have all their log directories cordoned."),
])
def test_impossible_placements(made, text):
    """Fails if either is accepted, or worded in another way than Kafka's."""
    with pytest.raises(KafkaError) as caught:
        place(*made, random.Random(1))
    assert (caught.value.code, caught.value.message) == (Err.INVALID_REPLICATION_FACTOR, text)

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
from minikafka.proof.small_worlds.checks import RuleFallen
from minikafka.proof.small_worlds.controller.placement_rules import check_placement
from minikafka.protocol.errors import Err, KafkaError


def brokers(*racks, fenced=()):
    return [BrokerRegistration(i, 1, UUID(int=i), (), rack, i in fenced) for i, rack in enumerate(racks, 1)]


@given(racks=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=9), seed=st.integers(0, 99),
       data=st.data())
def test_replicas_are_spread(racks, seed, data):
    """Fails if a broker has two replicas, a fenced one leads or comes before a live one, or a rack or broker loses its turn."""
    fenced = data.draw(st.sets(st.integers(2, len(racks)))) if len(racks) > 1 else set()
    factor, among = data.draw(st.integers(1, len(racks))), brokers(*racks, fenced=fenced)
    check_placement(among, place(among, 12, factor, random.Random(seed)), factor)


def test_each_broker_leads_once():
    """Fails if leaders are not spread over the brokers of all racks."""
    for seed in range(20):
        made = place(brokers("a", "a", "b", "b", "c", "c"), 6, 3, random.Random(seed))
        assert Counter(replicas[0] for replicas in made) == Counter(range(1, 7))


@pytest.mark.parametrize("assignment", [[[1, 2], [4, 1]], [[1, 1]], [[3, 1]], [[1, 4], [4, 1]], [[1, 3]]])
def test_the_judge_of_placements_sees_what_is_wrong(assignment: list[list[int]]) -> None:
    """Fails if replicas in one rack, on one broker, led by or on a fenced broker, or the same broker twice in turn, pass."""
    among = brokers("a", "a", "b", "b", fenced=[3])
    check_placement(among, [[1, 4], [4, 2]], 2)
    with pytest.raises(RuleFallen):
        check_placement(among, assignment, 2)


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

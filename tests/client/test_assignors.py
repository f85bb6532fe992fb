"""The two assignors, as functions of what the members told."""

from __future__ import annotations

import random

import pytest

from minikafka.client.consumer.assignors import (
    ASSIGNORS,
    COOPERATIVE,
    Assignment,
    JoinedMember,
    assign_cooperative_sticky,
    assign_range,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

PARTITIONS = {"a": list(range(7)), "b": list(range(4))}


def settle(members: list[JoinedMember], partitions: dict[str, list[int]]) -> tuple[Assignment, int]:
    """Rebalance until nobody has to give anything up; also how many rounds it took."""
    rounds = 0
    while True:
        rounds += 1
        result = assign_cooperative_sticky(members, partitions)
        gave_up = any(tp not in result[m.id] for m in members for tp in m.owned)
        for member in members:
            member.owned, member.generation = result[member.id], rounds
        if not gave_up:
            return result, rounds


def test_range_gives_each_topic_in_consecutive_pieces() -> None:
    """Fails if the surplus goes to the wrong members, or members are not ordered by name."""
    result = assign_range([JoinedMember("c", ["a"]), JoinedMember("a", ["a", "b"]), JoinedMember("b", ["a"])], PARTITIONS)
    assert [[p for t, p in result[m] if t == "a"] for m in "abc"] == [[0, 1, 2], [3, 4], [5, 6]]
    assert [p for t, p in result["a"] if t == "b"] == [0, 1, 2, 3]


def test_static_members_keep_their_range_when_their_member_id_changes() -> None:
    """Fails if static members are ordered by their member id, which changes with every restart."""
    def named(first: str, second: str) -> Assignment:
        return assign_range([JoinedMember(first, ["a"], instance_id="i1"), JoinedMember(second, ["a"], instance_id="i2")],
                            PARTITIONS)

    assert named("x", "y")["x"] == named("z", "y")["z"]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", sorted(ASSIGNORS))
def test_nobody_shares_nothing_is_left_and_all_have_about_the_same(name: str, seed: int) -> None:
    """Fails if a partition goes to two or to nobody, or members differ by more than one (range: per topic)."""
    rng = random.Random(seed)
    partitions = {f"t{i}": list(range(rng.randint(1, 9))) for i in range(rng.randint(1, 4))}
    every = [(topic, p) for topic in partitions for p in partitions[topic]]
    members = [JoinedMember(f"m{i}", sorted(partitions)) for i in range(rng.randint(1, 6))]
    for tp in every if name == COOPERATIVE else ():
        rng.choice(members).owned.append(tp)
    result = settle(members, partitions)[0] if name == COOPERATIVE else assign_range(members, partitions)
    assert sorted(tp for tps in result.values() for tp in tps) == sorted(every)
    topics = [None] if name == COOPERATIVE else partitions
    for topic in topics:
        sizes = [sum(1 for tp in tps if topic in (None, tp[0])) for tps in result.values()]
        assert max(sizes) - min(sizes) <= 1


def test_a_partition_moves_in_two_rounds_and_only_if_it_must() -> None:
    """Fails if a partition is given away before its owner gave it up, or more move than balance needs."""
    members = [JoinedMember("m1", ["a", "b"]), JoinedMember("m2", ["a", "b"])]
    before, rounds = settle(members, PARTITIONS)
    assert rounds == 1
    members.append(JoinedMember("m3", ["a", "b"]))
    first = assign_cooperative_sticky(members, PARTITIONS)
    assert first["m3"] == [] and all(tp in before[m] for m in ("m1", "m2") for tp in first[m])
    after, rounds = settle(members, PARTITIONS)
    assert rounds == 2
    kept = sum(1 for m in ("m1", "m2") for tp in after[m] if tp in before[m])
    assert kept == 8 and len(after["m3"]) == 3


def test_of_two_who_claim_a_partition_the_later_generation_has_it() -> None:
    """Fails if a member that was away a while takes back what it lost (KIP-429's generation in the subscription)."""
    result = assign_cooperative_sticky([JoinedMember("old", ["a"], [("a", 0)], 3), JoinedMember("new", ["a"], [("a", 0)], 4)],
                                       {"a": [0]})
    assert result == {"old": [], "new": [("a", 0)]}


def test_bytes_there_and_back() -> None:
    """Fails if a subscription or an assignment is not read as it was written."""
    told = decode_subscription("m", None, encode_subscription(["b", "a"], [("a", 3), ("b", 1)], 5))
    assert (told.topics, told.owned, told.generation) == (["a", "b"], [("a", 3), ("b", 1)], 5)
    assert decode_assignment(encode_assignment([("a", 3), ("b", 1), ("a", 4)])) == [("a", 3), ("a", 4), ("b", 1)]

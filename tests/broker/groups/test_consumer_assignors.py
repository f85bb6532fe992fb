"""What `uniform` costs in a huge group. Its promises are checked by seeds (assignors_alone), and beside Kafka in tests/wire."""

from __future__ import annotations

from uuid import UUID

from minikafka.broker.groups.consumer import assignors
from minikafka.broker.groups.consumer.assignors import MemberSubscription, uniform


def test_a_huge_group_is_assigned_without_looking_again_and_again(monkeypatch):
    """Fails if work grows with the square of the topics, or with partitions times members: nobody else was served for minutes."""
    looks, moves = [0], [0]
    balance, push = assignors._balance, assignors.heappush

    def looked(*args):
        looks[0] += 1
        return balance(*args)

    def pushed(*args):
        moves[0] += 1
        return push(*args)

    monkeypatch.setattr(assignors, "_balance", looked)
    monkeypatch.setattr(assignors, "heappush", pushed)
    topics = [UUID(int=number + 1) for number in range(300)]
    everything = frozenset((topic, index) for topic in topics for index in range(10))
    members = {f"m{number:03}": MemberSubscription(frozenset(topics), everything if number == 0 else frozenset())
               for number in range(100)}
    given = uniform(members, dict.fromkeys(topics, 10))
    assert {len(partitions) for partitions in given.values()} == {30}
    assert looks[0] < 4 * len(topics) and moves[0] < 8 * len(everything)

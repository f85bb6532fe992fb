"""Two cases of the consumer group by hand. Its seeds are in test_group_random.py, its answers beside Kafka's in tests/wire."""

from __future__ import annotations

from minikafka.broker.groups.consumer.state import ConsumerState
from minikafka.proof.small_worlds.groups.lone_consumer_group import LoneConsumerGroup


def test_a_partition_goes_over_when_it_is_given_up() -> None:
    """Fails if B is given a partition that A still has, or A is stopped for one that it keeps."""
    w = LoneConsumerGroup({"t": 2})
    w.join("A", "t")
    w.now += 2
    w.join("B", "t")
    assert w.has("B") == []
    asked = w.beat("A", 2)
    assert (asked.epoch, w.told(asked)) == (2, ["t-0"])
    assert w.group.state.phase is ConsumerState.RECONCILING
    assert w.told(w.beat("B", 3)) is None
    assert w.told(w.beat("A", 2, ["t-0", "t-1"])) is None, "it says that it still owns t-1"
    assert w.beat("A", 2, ["t-0"]).epoch == 3
    assert w.told(w.beat("B", 3)) == ["t-1"]
    assert w.group.state.phase is ConsumerState.STABLE


def test_a_static_member_that_returns_under_its_old_id_has_a_session() -> None:
    """B45. Fails if its partitions stay with it for ever when it dies after that: it was removed and added by one batch."""
    world = LoneConsumerGroup({"t": 2})
    world.join("m", "t", instance_id="i")
    world.beat("m", -2, instance_id="i")
    assert world.join("m", "t", instance_id="i").epoch > 0
    world.pass_time(46)
    assert world.group.state.members == {}

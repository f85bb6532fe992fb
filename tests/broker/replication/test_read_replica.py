"""Which follower a consumer is sent to (preferred_replica.py): I-RACK-1, I-RACK-2. Each row is one reason to choose."""

from __future__ import annotations

import pytest

from minikafka.broker.config.effective import BrokerConfig, ConfigError
from minikafka.broker.replication.isr import Isr, RemoteReplica
from minikafka.broker.replication.preferred_replica import choose
from minikafka.broker.replication.replica import Replica
from minikafka.proof.small_worlds.replication.lone_replica import ReplicaLog

RACKS: dict[int, str | None] = {1: "a", 2: "b", 3: "b", 4: None}


def leader(followers: dict[int, RemoteReplica], isr: tuple[int, ...] = (1, 2, 3, 4), node: int = 1) -> Replica:
    log = ReplicaLog()
    log.append(10, 1)
    replica = Replica(node, log, None, 10.0, leader=1, leader_epoch=1)        # type: ignore[arg-type]
    replica.isr, replica.followers = Isr(isr), followers
    return replica


def at(end: int, start: int = 0, caught_up: float = 100.0) -> RemoteReplica:
    return RemoteReplica(caught_up, end, start, 1)


@pytest.mark.parametrize(("followers", "offset", "expected"), [
    ({2: at(10), 3: at(9)}, 5, 2),                                            # most records
    ({2: at(9), 3: at(10)}, 5, 3),
    ({2: at(9, caught_up=100), 3: at(9, caught_up=99)}, 5, 2),                # at the end last
    ({2: at(10), 3: at(10)}, 5, 3),                                           # highest id
    ({2: at(5), 3: at(4)}, 5, 2),                                             # its log end may be asked for
    ({2: at(4), 3: at(4)}, 5, None),                                          # nobody has the offset yet
    ({2: at(10, start=5), 3: at(9, start=6)}, 5, 2),                          # nor any more
    ({2: at(10, start=6), 3: at(9, start=6)}, 5, None),
    ({2: RemoteReplica(), 3: RemoteReplica()}, 0, None),                                # has not fetched in this epoch
])
def test_the_most_caught_up_that_has_the_offset(followers, offset, expected) -> None:
    assert choose(leader(followers), offset, "b", RACKS) == expected


def test_only_the_isr_only_the_living_only_the_rack() -> None:
    both = {2: at(10), 3: at(10)}
    assert choose(leader(both, isr=(1, 2)), 5, "b", RACKS) == 2
    assert choose(leader(both, isr=(1,)), 5, "b", RACKS) is None
    assert choose(leader(both), 5, "b", {1: "a", 2: "b"}) == 2                # 3 is fenced
    assert choose(leader(both), 5, "c", RACKS) is None
    assert choose(leader({4: at(10)}), 5, "", RACKS) is None                  # no rack is nobody's rack


def test_a_leader_in_the_rack_keeps_its_consumer_and_a_follower_sends_nobody() -> None:
    both = {2: at(10), 3: at(10)}
    assert choose(leader(both), 5, "b", {**RACKS, 1: "b"}) is None
    assert choose(leader(both, node=4), 5, "b", RACKS) is None


def test_other_selectors_are_refused() -> None:
    """Fails if a class that cannot run here is silently ignored."""
    assert BrokerConfig({})["replica.selector.class"] is None
    name = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    assert BrokerConfig({"replica.selector.class": name})["replica.selector.class"] == name
    for other in ("com.example.Selector", "org.apache.kafka.common.replica.LeaderSelector", ""):
        with pytest.raises(ConfigError, match="replica.selector.class: String must be one of: org.apache.*RackAware"):
            BrokerConfig({"replica.selector.class": other})

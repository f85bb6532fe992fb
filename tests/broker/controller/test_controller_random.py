"""Random schedules of a controller alone (small_worlds/controller): its brokers and administrators, judged a second time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from minikafka.broker.controller import alter_partition, leader_election
from minikafka.broker.controller.admin import alter_reassignments, create_topics
from minikafka.broker.controller.controller import Controller
from minikafka.broker.controller.heartbeats import Heartbeats
from minikafka.broker.metadata.records import NO_LEADER
from minikafka.broker.metadata.registrations import BrokerRegistration, PartitionRegistration
from minikafka.proof.small_worlds.checks import RuleFallen
from minikafka.proof.small_worlds.controller.cluster_seen import Circumstances
from minikafka.proof.small_worlds.controller.controller_life import ControllerLife, controller_alone
from minikafka.proof.small_worlds.controller.election_rules import keeps_house
from minikafka.proof.small_worlds.controller.placement_rules import Placed, check_placement
from minikafka.protocol.errors import Err
from minikafka.sim.world.replaced import replaced


def test_random_schedules() -> None:
    """Fails if a controller gives an answer, or makes a record, that no rule allows, or leaves out what a rule demands."""
    assert {seed: fallen for seed in range(60) if (fallen := controller_alone(seed))} == {}


def errors(told: Any) -> set[Err]:
    """Return the error codes somewhere in an answer."""
    if isinstance(told, Err):
        return {told}
    parts = told.values() if isinstance(told, dict) else told if isinstance(told, (list, tuple)) else ()
    return {error for part in parts for error in errors(part)}


class Told(ControllerLife):
    """A life that counts what it is told, and what states its partitions are in."""

    def __init__(self, seed: int) -> None:
        self.seen: Counter[str] = Counter()
        self.lines: list[str] = []
        super().__init__(seed)

    def decide(self, what: str, decision: Any, rule: Any, told: Any = lambda answer: answer) -> Any:
        seen: list[Any] = []
        answer = super().decide(what, decision, rule, lambda answer: seen.append(told(answer)) or seen[-1])
        self.lines.append(f"{what}: {seen}")
        request = what.split()[0].split("(")[0]
        self.seen.update(f"{request} {error.name}" for error in errors([*seen, answer]))
        for p in self.controller.image.partitions():
            self.seen.update(name for name, is_so in (
                ("leaderless", p.leader == NO_LEADER), ("eligible", p.elr), ("last known leader", p.last_known_elr),
                ("recovering", p.recovering), ("moving", p.adding and p.removing)) if is_so)
        return answer


def test_the_schedules_reach_what_they_are_meant_to_reach() -> None:
    """Fails if the random schedules become too simple: each refusal, and each state of a partition, must occur."""
    seen: Counter[str] = Counter()
    for seed in range(14):
        life = Told(seed)
        life.live()
        seen += life.seen
    expected = {"leaderless", "eligible", "last known leader", "recovering", "moving"}
    expected |= {f"AlterPartition {error}" for error in (
        "UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PARTITION", "NOT_CONTROLLER", "FENCED_LEADER_EPOCH", "INVALID_REQUEST",
        "INVALID_UPDATE_VERSION", "INELIGIBLE_REPLICA", "NEW_LEADER_ELECTED", "STALE_BROKER_EPOCH")}
    expected |= {f"Registration {error}" for error in (
        "INCONSISTENT_CLUSTER_ID", "DUPLICATE_BROKER_REGISTRATION", "UNSUPPORTED_VERSION")}
    expected |= {f"CreateTopics {error}" for error in (
        "TOPIC_ALREADY_EXISTS", "INVALID_TOPIC_EXCEPTION", "INVALID_CONFIG", "INVALID_REPLICATION_FACTOR", "INVALID_PARTITIONS",
        "INVALID_REPLICA_ASSIGNMENT", "INVALID_REQUEST", "POLICY_VIOLATION", "THROTTLING_QUOTA_EXCEEDED")}
    expected |= {f"CreatePartitions {error}" for error in (
        "UNKNOWN_TOPIC_OR_PARTITION", "INVALID_PARTITIONS", "INVALID_REPLICA_ASSIGNMENT", "POLICY_VIOLATION")}
    expected |= {f"AlterPartitionReassignments {error}" for error in (
        "NO_REASSIGNMENT_IN_PROGRESS", "INVALID_REPLICATION_FACTOR", "INVALID_REPLICA_ASSIGNMENT")}
    expected |= {f"ElectLeaders {error}" for error in (
        "ELECTION_NOT_NEEDED", "PREFERRED_LEADER_NOT_AVAILABLE", "ELIGIBLE_LEADERS_NOT_AVAILABLE")}
    expected |= {"DeleteTopics UNKNOWN_TOPIC_ID", "UpdateFeatures INVALID_UPDATE_VERSION", "BrokerHeartbeat STALE_BROKER_EPOCH",
                 "UnregisterBroker BROKER_ID_NOT_REGISTERED", "AllocateProducerIds STALE_BROKER_EPOCH"}
    assert {name for name in expected if not seen[name]} == set()


def test_equal_seeds_give_equal_runs() -> None:
    """Fails if anything in the controller, or in its judges, depends on the order of a set or on hash()."""
    first, second = Told(7), Told(7)
    for life in (first, second):
        life.live()
    assert first.lines == second.lines


def without(*names: str) -> Any:
    """Return a change() that leaves these fields out of every record."""
    made = leader_election._changed_fields

    def fields(*arguments: Any) -> dict[str, Any]:
        return {name: value for name, value in made(*arguments).items() if name not in names}
    return fields


BROKEN = {
    "a silent broker is never fenced": (Heartbeats, "stale", lambda self, now: None),
    "a broker exits before the others know": (Heartbeats, "lowest_active_offset", lambda self: float("inf")),
    "a dead replica is let into an ISR": (alter_partition, "_eligible", lambda image, member: True),
    "no replica is ever eligible": (leader_election, "_with_elr", lambda *_: ()),
    "the last leader is forgotten": (leader_election, "_changed_fields", without("last_known_elr")),
    "a reassignment never ends": (leader_election, "completed", lambda assignment, isr: (assignment, isr)),
    "an epoch of a former life counts": (Controller, "check_epoch", lambda self, broker, epoch: self.image.brokers[broker]),
    "a replica may be anywhere": (create_topics, "check_assignment", lambda *_: None),
    "a move may be anywhere": (alter_reassignments, "check_assignment", lambda *_: None),
    "all replicas are put on the first brokers": (
        create_topics, "place", lambda brokers, partitions, replicas, rng: [[b.id for b in brokers][:replicas]] * partitions),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_judge_is_not_blind(name: str) -> None:
    """Fails if one of these rules can be broken unnoticed."""
    with replaced(*BROKEN[name]):
        assert any(controller_alone(seed) for seed in range(12))


def test_the_judge_of_partitions_sees_what_is_always_wrong() -> None:
    """Fails if a leader outside of the ISR, or one that is fenced, passes."""
    life = ControllerLife(0)
    for broker in life.brokers:
        life.start(broker)
        life.beat(broker)
    brokers = life.look().brokers
    around = Circumstances(frozenset(brokers), 1, True, False)
    good = PartitionRegistration("t", UUID(int=1), 0, (1, 2, 3), (1, 2), 1)
    assert keeps_house(good, around, brokers) is None
    for changes in ({"leader": 3}, {"isr": (1, 4)}, {"isr": (1, 1)}, {"elr": (2,)}, {"elr": (3,)}, {"last_known_elr": (1,)},
                    {"adding": (5,)}):
        assert keeps_house(replace(good, **changes), around, brokers) is not None, changes
    fenced = {**brokers, 1: replace(brokers[1], fenced=True)}
    assert keeps_house(good, around, fenced) is not None


@pytest.mark.parametrize("assignment", [[[1, 2], [4, 1]], [[1, 1]], [[3, 1]], [[1, 4], [4, 1]], [[1, 4], [2, 4]]])
def test_the_judge_of_placements_sees_what_is_wrong(assignment: list[list[int]]) -> None:
    """Fails if replicas in one rack, on one broker, or led by a fenced broker, or the same broker twice in turn, pass."""
    brokers = [BrokerRegistration(id, 1, UUID(int=id), (), rack, fenced=id == 3) for id, rack in enumerate("aabb", 1)]
    check_placement(brokers, Placed([[1, 4], [4, 2]], 0), 2)
    with pytest.raises(RuleFallen):
        check_placement(brokers, Placed(assignment, 0), 2)

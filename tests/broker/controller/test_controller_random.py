"""Random schedules of a controller alone (small_worlds/controller): its brokers and administrators, each decision judged."""

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
from minikafka.broker.metadata.registrations import Changes, PartitionRegistration, TopicImage
from minikafka.proof.small_worlds.controller.controller_life import ControllerLife, controller_alone
from minikafka.proof.small_worlds.controller.lone_controller import LoneController
from minikafka.protocol.errors import Err
from minikafka.sim.world.replaced import replaced


def test_random_schedules() -> None:
    """Fails if a controller gives an answer, or makes a record, that breaks a rule of its own or of its judge."""
    assert {seed: fallen for seed in range(60) if (fallen := controller_alone(seed))} == {}


class CountingLife(ControllerLife):
    """A life that counts the refusals, and the states of its partitions."""

    def __init__(self, seed: int) -> None:
        self.seen: Counter[str] = Counter()
        self.lines: list[str] = []
        super().__init__(seed)

    def judge(self, what: str, code: Err, reasons: Any) -> None:
        super().judge(what, code, reasons)
        self.lines.append(f"{what}: {code}")
        self.seen[code.name] += 1
        for p in self.image.partitions():
            self.seen.update(name for name, is_so in (
                ("leaderless", p.leader == NO_LEADER), ("eligible", p.elr), ("last known leader", p.last_known_elr),
                ("recovering", p.recovering), ("moving", p.adding and p.removing)) if is_so)


def test_the_schedules_reach_what_they_are_meant_to_reach() -> None:
    """Fails if the random schedules become too simple: each refusal, and each state of a partition, must occur."""
    seen: Counter[str] = Counter()
    for seed in range(14):
        life = CountingLife(seed)
        life.live()
        seen += life.seen
    expected = """leaderless eligible recovering moving UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PARTITION NOT_CONTROLLER
        FENCED_LEADER_EPOCH INVALID_REQUEST INVALID_UPDATE_VERSION INELIGIBLE_REPLICA STALE_BROKER_EPOCH INCONSISTENT_CLUSTER_ID
        DUPLICATE_BROKER_REGISTRATION UNSUPPORTED_VERSION BROKER_ID_NOT_REGISTERED TOPIC_ALREADY_EXISTS INVALID_TOPIC_EXCEPTION
        INVALID_CONFIG INVALID_REPLICATION_FACTOR INVALID_PARTITIONS INVALID_REPLICA_ASSIGNMENT POLICY_VIOLATION
        THROTTLING_QUOTA_EXCEEDED NO_REASSIGNMENT_IN_PROGRESS ELECTION_NOT_NEEDED PREFERRED_LEADER_NOT_AVAILABLE
        ELIGIBLE_LEADERS_NOT_AVAILABLE NONE""".split()
    assert {name for name in [*expected, "last known leader"] if not seen[name]} == set()


@pytest.mark.parametrize(("harm", "id"), [
    ({"isr": (1, 1)}, "I-PART-1"), ({"replicas": ()}, "I-PART-1"), ({"adding": (5,)}, "I-PART-1"), ({"elr": (5,)}, "I-PART-1"),
    ({"leader": 3}, "I-PART-2"), ({"elr": (2,)}, "I-PART-3"), ({"last_known_elr": (1,)}, "I-PART-3"),
    ({"isr": (1, 4)}, "I-CTL-9"), ({"elr": (9,)}, "I-ELR-2"), ({}, "I-SESS-3")])
def test_a_controller_asserts_its_invariants(harm: dict[str, Any], id: str) -> None:
    """Fails if check() passes a partition that cannot be, a fenced member of an ISR, or a session that the image contradicts."""
    world = LoneController(brokers=3)
    world.register(4)
    good = PartitionRegistration("t", UUID(int=1), 0, (1, 2, 3, 4, 9), (1, 2), 1)
    world.image.topics["t"] = TopicImage("t", UUID(int=1), {0: good})
    changes = Changes(partitions={("t", 0): None})
    world.core.check(changes)
    world.image.topics["t"].partitions[0] = replace(good, **harm)
    if not harm:
        world.core.heartbeats.fence(1)
    with pytest.raises(AssertionError, match=id):
        world.core.check(changes)


def test_equal_seeds_give_equal_runs() -> None:
    """Fails if anything in the controller, or in its judges, depends on the order of a set or on hash()."""
    first, second = CountingLife(7), CountingLife(7)
    for life in (first, second):
        life.live()
    assert first.lines == second.lines


BROKEN = {
    "a silent broker is never fenced": (Heartbeats, "stale", lambda self, now: None),
    "a broker exits before the others know": (Heartbeats, "lowest_active_offset", lambda self: float("inf")),
    "a dead replica is let into an ISR": (alter_partition, "_eligible", lambda image, member: True),
    "no replica is ever eligible": (leader_election, "_with_elr", lambda *_: ()),
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

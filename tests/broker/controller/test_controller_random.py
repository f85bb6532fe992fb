"""Random schedules of a controller alone (small_worlds/controller): its brokers and administrators, each decision judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from minikafka.broker.metadata.records import NO_LEADER
from minikafka.broker.metadata.registrations import Changes, PartitionRegistration, TopicImage
from minikafka.proof.small_worlds.controller.controller_life import ControllerLife, controller_alone
from minikafka.proof.small_worlds.controller.lone_controller import LoneController
from minikafka.proof.small_worlds.controller.lone_election import elections_alone
from minikafka.proof.weakened.swap import without
from minikafka.protocol.errors import Err


@pytest.mark.parametrize(("alone", "seeds"), [(controller_alone, range(24, 30)), (elections_alone, range(30))])
def test_random_schedules(alone: Any, seeds: range) -> None:
    """Fails if a controller gives an answer, or makes a record, that breaks a rule of its own or of its judge. The test below
    begins with the seeds of a controller before these."""
    assert {seed: fallen for seed in seeds if (fallen := alone(seed))} == {}


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
    for seed in range(24):
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


@pytest.mark.parametrize("rule", [
    "stops_before_all_know", "second_life_beside_first", "broker_epoch_not_checked", "producer_ids_twice", "registered_unfenced"])
def test_the_judge_is_not_blind(rule: str) -> None:
    """Fails if one of these rules can be broken unnoticed where no assert of the controller sees it."""
    with without(rule):
        assert any(controller_alone(seed) for seed in range(12))

"""What administrators request of the controller, where random schedules (test_controller_random.py) are silent, as of texts."""

from __future__ import annotations

import random
from dataclasses import replace
from uuid import UUID

import pytest

from minikafka.broker.config.alter import APPEND, SET, Alteration, AlterConfigOp
from minikafka.broker.controller.admin import replica_budget
from minikafka.broker.controller.admin.alter_reassignments import Reassignment, list_reassignments
from minikafka.broker.controller.admin.create_partitions import NewPartitions, create_partitions
from minikafka.broker.controller.admin.create_topics import CreateTopicsContext, NewTopic
from minikafka.broker.controller.admin.update_features import (
    ELR,
    METADATA,
    SAFE_DOWNGRADE,
    UNSAFE_DOWNGRADE,
    UPGRADE,
    FeatureUpdate,
    update_features,
)
from minikafka.broker.controller.admin.verdicts import PartitionVerdict
from minikafka.broker.controller.leader_election import Election
from minikafka.broker.controller.reassignment_steps import Assignment, reverted
from minikafka.broker.metadata.image import MetadataImage, PartitionRegistration
from minikafka.broker.metadata.records import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigRecord
from minikafka.broker.server.turns import at_once, collected
from minikafka.proof.small_worlds.controller.lone_controller import LoneController as World
from minikafka.protocol.errors import Err, KafkaError

PREFERRED = Election.PREFERRED


def code(verdicts: list[PartitionVerdict]) -> Err:
    """The verdict on the only partition."""
    (verdict,) = verdicts
    return verdict.refusal.code if verdict.refusal else Err.NONE


def elect(w: World, kind: Election) -> Err:
    return code(w.decide(w.core.elect_leaders(kind, [("t", [0])])))


# --- configurations --------------------------------------------------------------------------------------------


def test_a_minimum_of_one_topic_leaves_the_others_alone():
    """Fails if the record clears every topic's eligible leaders."""
    w = World(config={"min.insync.replicas": "2"})
    w.create("t", [1, 2])
    w.create("other", [1, 2])
    w.silence(2)
    op = AlterConfigOp("min.insync.replicas", SET, "1")
    assert w.decide(w.core.alter_configs([Alteration(TOPIC_RESOURCE, "other", (op,), whole=False)])) == [None]
    assert w.partition("t").elr == (2,) and w.partition("other").elr == ()


def test_a_value_may_not_grow_without_bound():
    """Fails if appending can make a value longer than a record of the metadata log may be."""
    w = World()
    w.create()
    w.append([ConfigRecord(BROKER_RESOURCE, "", "log.cleanup.policy", "x" * 32760)])
    ops = (AlterConfigOp("log.cleanup.policy", APPEND, "y" * 20),)
    records, refusals = at_once(collected(w.core.alter_configs([Alteration(BROKER_RESOURCE, "", ops, whole=False)])))
    assert records == [] and refusals[0].code is Err.INVALID_CONFIG
    assert refusals[0].message == ("The configuration value cannot be added because it exceeds the maximum value size "
                                   "of 32767 bytes.")


# --- elections -------------------------------------------------------------------------------------------------


def test_the_preferred_leader_is_asked_back():
    """Fails if a preferred replica outside the ISR is elected, or one inside is not."""
    w = World()
    w.create("t", [1, 2, 3])
    assert elect(w, PREFERRED) is Err.ELECTION_NOT_NEEDED
    w.silence(1)
    assert elect(w, PREFERRED) is Err.PREFERRED_LEADER_NOT_AVAILABLE
    w.join(1)
    assert elect(w, PREFERRED) is Err.PREFERRED_LEADER_NOT_AVAILABLE and w.partition().leader == 2
    w.alter([2, 3, 1])
    assert elect(w, PREFERRED) is Err.NONE and w.partition().leader == 1


# --- features --------------------------------------------------------------------------------------------------

def test_the_version_of_the_metadata_stays() -> None:
    """Fails if metadata.version can be lowered, with either kind of downgrade, or its own level is refused."""
    image = MetadataImage()
    image.features[METADATA] = 30
    for kind in (SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        with pytest.raises(KafkaError, match="Unsupported metadata.version downgrade from 30 to 20"):
            update_features(image, {METADATA: (7, 30)}, 1, [FeatureUpdate(METADATA, 20, kind)])
        assert update_features(image, {METADATA: (7, 30)}, 1, [FeatureUpdate(METADATA, 30, kind)]) == []


def test_eligible_leader_replicas_stay() -> None:
    """Fails if the feature can be switched off: the records of partitions would go on naming them."""
    image = MetadataImage()
    image.features[ELR] = 1
    with pytest.raises(KafkaError, match="Eligible leader replicas cannot be switched off here"):
        update_features(image, {ELR: (0, 1)}, 1, [FeatureUpdate(ELR, 0, SAFE_DOWNGRADE)])
    assert update_features(image, {ELR: (0, 1)}, 1, [FeatureUpdate(ELR, 1, UPGRADE)]) == []


# --- reassignment ----------------------------------------------------------------------------------------------


def test_only_the_moves_under_way_are_listed() -> None:
    """Fails if a partition that moves is left out, one at rest or unknown is listed, or a topic without any has a row."""
    w = World(4)
    for name in ("t", "u"):
        w.create(name, [1, 2], [2, 3])
    assert list_reassignments(w.image, None) == []
    assert code(w.decide(w.core.reassign([("t", [Reassignment(0, (3, 4))])], True))) is Err.NONE
    (listed,) = list_reassignments(w.image, None)
    assert listed == ("t", [w.partition()]) and list_reassignments(w.image, [("t", [0, 1, 9]), ("u", [0])]) == [listed]
    assert list_reassignments(w.image, [("t", [1]), ("none", [0])]) == []


def test_a_move_that_is_cancelled_when_only_new_replicas_are_in_sync() -> None:
    """Fails if that is refused (only a move with nothing but new replicas has nothing to go back to), or passes for clean."""
    moving = PartitionRegistration("t", UUID(int=1), 0, (4, 1, 2), (4,), adding=(4,), removing=(1, 2))
    assert reverted(moving) == (Assignment((1, 2)), (1,), True)
    with pytest.raises(KafkaError, match="addingReplicas contains all replicas"):
        reverted(replace(moving, replicas=(4,)))


# --- more partitions, fewer brokers ----------------------------------------------------------------------------


def test_a_broker_gets_no_more_replicas_than_it_can_hold(monkeypatch):
    """Fails if clients can give a broker any number of replicas: new topics, more partitions, moves, one by one or at once."""
    monkeypatch.setattr(replica_budget, "MOST_REPLICAS", 4)
    w = World()
    w.create("t", [1, 2], [1, 2], [2, 3])
    verdicts = w.request_topics(*(NewTopic(name, -1, -1, [(0, brokers)]) for name, brokers in
                                  (("a", [1]), ("b", [1]), ("c", [1, 3]), ("d", [3]), ("e", [2]))))
    refused = {name: verdict for name, verdict in verdicts if isinstance(verdict, KafkaError)}
    assert {name: verdict.code for name, verdict in refused.items()} == {"c": Err.POLICY_VIOLATION}
    assert refused["c"].message == "Broker 1 would have 5 replicas, more than the 4 that it can hold. " \
        "Ask for fewer, or add brokers."
    ctx = CreateTopicsContext(w.image, w.config, random.Random(5), lambda: UUID(int=1))
    more = [NewPartitions("a", 2, [[3]]), NewPartitions("b", 2, [[1]]), NewPartitions("e", 3, [[3], [3]])]
    told = w.decide(create_partitions(ctx, more))
    assert [one.refusal and one.refusal.code for one in told] == [None, Err.POLICY_VIOLATION, Err.POLICY_VIOLATION]
    moved = w.decide(w.core.reassign([("t", [Reassignment(2, (1, 3)), Reassignment(0, (3, 2))])], True))
    assert [one.refusal and one.refusal.code for one in moved] == [Err.POLICY_VIOLATION, None]

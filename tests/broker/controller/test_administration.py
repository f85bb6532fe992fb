"""What administrators request of the controller: configurations, elections, reassignments, partitions, unregistering."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minikafka.broker.config.alter import APPEND, SET, Alteration, AlterConfigOp
from minikafka.broker.controller.admin import create_topics as creation
from minikafka.broker.controller.admin import replica_budget
from minikafka.broker.controller.admin.alter_reassignments import Reassignment, list_reassignments
from minikafka.broker.controller.admin.create_partitions import NewPartitions, create_partitions
from minikafka.broker.controller.admin.create_topics import CreatedTopic, CreateTopicsContext, NewTopic
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
from minikafka.broker.controller.reassignment_steps import Assignment, completed, reverted, towards
from minikafka.broker.metadata.image import MetadataImage, PartitionRegistration
from minikafka.broker.metadata.records import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigRecord, FeatureLevelRecord
from minikafka.broker.server.turns import at_once, collected
from minikafka.proof.small_worlds.controller.lone_controller import LoneController as World
from minikafka.protocol.errors import Err, KafkaError

UNCLEAN, PREFERRED = Election.UNCLEAN, Election.PREFERRED


def code(verdicts: list[PartitionVerdict]) -> Err:
    """The verdict on the only partition."""
    (verdict,) = verdicts
    return verdict.refusal.code if verdict.refusal else Err.NONE


def elect(w: World, kind: Election, index: int = 0) -> Err:
    return code(w.decide(w.core.elect_leaders(kind, [("t", [index])])))


def move(w: World, replicas: list[int] | None, other_factor: bool = True) -> Err:
    wanted = Reassignment(0, None if replicas is None else tuple(replicas))
    return code(w.decide(w.core.reassign([("t", [wanted])], other_factor)))


def configure(w: World, kind: int, name: str, **values: str) -> None:
    ops = tuple(AlterConfigOp(key.replace("_", "."), SET, value) for key, value in values.items())
    records, refusals = at_once(collected(w.core.alter_configs([Alteration(kind, name, ops, whole=False)])))
    assert refusals == [None]
    w.append(records)


def state(w: World) -> tuple[Any, ...]:
    p = w.partition()
    return p.replicas, p.adding, p.removing, p.isr, p.leader, p.leader_epoch


def test_a_move_that_adds_or_removes_nobody_leaves_the_one_under_way_as_it_is() -> None:
    """Fails if replicas that are being copied, or are to go, are no longer marked: the move would be over before its end."""
    now = PartitionRegistration("t", UUID(int=1), 0, (4, 1, 2, 3), (1, 2, 3), 1, 0, 0, adding=(4,), removing=(3,))
    assert towards(now, (1, 2, 3, 4)) == Assignment((1, 2, 3, 4), adding=(4,), removing=(3,))
    assert towards(now, (1, 5)) == Assignment((1, 5, 2, 3, 4), adding=(5,), removing=(2, 3, 4))


# --- configurations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), [(TOPIC_RESOURCE, "t"), (BROKER_RESOURCE, "")])
def test_a_new_minimum_clears_the_eligible_leaders(kind, name):
    """Fails if a replica that was eligible under the old min.insync.replicas may lead under the new (I-CFG-6, KIP-966)."""
    w = World(config={"min.insync.replicas": "2"})
    w.create("t", [1, 2])
    w.silence(2)
    assert w.partition().elr == (2,)
    configure(w, TOPIC_RESOURCE, "t", retention_ms="5")
    assert w.partition().elr == (2,)
    epoch = w.partition().partition_epoch
    configure(w, kind, name, min_insync_replicas="1")
    assert (w.partition().elr, w.partition().last_known_elr, w.partition().partition_epoch) == ((), (), epoch + 1)


def test_a_minimum_of_one_topic_leaves_the_others_alone():
    """Fails if the record clears every topic's eligible leaders."""
    w = World(config={"min.insync.replicas": "2"})
    w.create("t", [1, 2])
    w.create("other", [1, 2])
    w.silence(2)
    configure(w, TOPIC_RESOURCE, "other", min_insync_replicas="1")
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


def test_an_unclean_election_is_for_the_leaderless_only():
    """Fails if a living leader is put aside, or no replica is elected without the topic's setting (I-ELECT-5)."""
    w = World(config={"min.insync.replicas": "1"})
    w.create("t", [1, 2])
    w.alter([1])
    assert elect(w, UNCLEAN) is Err.ELECTION_NOT_NEEDED
    w.silence(1)
    assert w.partition().leader == -1
    assert elect(w, PREFERRED) is Err.PREFERRED_LEADER_NOT_AVAILABLE
    assert elect(w, UNCLEAN) is Err.NONE
    assert (w.partition().leader, w.partition().isr, w.partition().recovering) == (2, (2,), True)


def test_nobody_is_there_to_be_elected():
    """Fails if a fenced replica is elected."""
    w = World(config={"min.insync.replicas": "1"})
    w.create("t", [1, 2])
    w.silence(1, 2)
    assert elect(w, UNCLEAN) is Err.ELIGIBLE_LEADERS_NOT_AVAILABLE


# --- new topics ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "refused"), [
    ("a.b", Err.TOPIC_ALREADY_EXISTS), ("a_b", Err.INVALID_TOPIC_EXCEPTION), ("", Err.INVALID_TOPIC_EXCEPTION),
    ("a/b", Err.INVALID_TOPIC_EXCEPTION), ("x" * 250, Err.INVALID_TOPIC_EXCEPTION)])
def test_a_name_that_is_taken_or_is_none_makes_no_topic(name: str, refused: Err) -> None:
    """Fails if a topic is made over another, or one whose folder or metrics would be another's."""
    w = World()
    w.create("a.b")
    before = len(w.log)
    ((_, verdict),) = w.request_topics(NewTopic(name, 1, 1, [], []))
    assert verdict.code is refused and len(w.log) == before


def test_partitions_that_are_placed_by_hand_count_too(monkeypatch) -> None:
    """Fails if the most partitions of a request can be passed by naming their replicas."""
    monkeypatch.setattr(creation, "MAX_PARTITIONS_PER_REQUEST", 2)
    w, places = World(), [(index, [1]) for index in range(3)]
    assert [v.code for _, v in w.request_topics(NewTopic("t", -1, -1, places, []))] == [Err.POLICY_VIOLATION]
    assert isinstance(w.request_topics(NewTopic("t", -1, -1, places[:2], []))[0][1], CreatedTopic)


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


@pytest.mark.parametrize(("level", "kind", "accepted"), [
    (1, UPGRADE, True), (1, SAFE_DOWNGRADE, True), (0, SAFE_DOWNGRADE, True), (0, UNSAFE_DOWNGRADE, True), (0, UPGRADE, False),
    (2, UPGRADE, True), (2, SAFE_DOWNGRADE, False), (3, UPGRADE, False), (-1, UNSAFE_DOWNGRADE, False), (0, 4, False)])
def test_a_feature_moves_as_its_update_says(level: int, kind: int, accepted: bool) -> None:
    """Fails if a downgrade passes for an upgrade or the reverse, or a level or kind that does not exist is taken."""
    image, update = MetadataImage(), FeatureUpdate("x.version", level, kind)
    image.features["x.version"] = 1
    if accepted:
        written = [] if level == 1 else [FeatureLevelRecord("x.version", level)]
        assert update_features(image, {"x.version": (0, 2)}, 1, [update]) == written
    else:
        with pytest.raises(KafkaError):
            update_features(image, {"x.version": (0, 2)}, 1, [update])


# --- reassignment ----------------------------------------------------------------------------------------------


def test_a_move_ends_with_the_isr_that_has_the_new_replicas():
    """Fails if old replicas leave before every new one is in sync (I-MOVE-1), or the leader epoch stays (rule 28)."""
    w = World(brokers=4)
    w.create("t", [1, 2])
    assert move(w, [3, 4]) is Err.NONE
    assert state(w) == ((3, 4, 1, 2), (3, 4), (1, 2), (1, 2), 1, 0)
    w.alter([1, 2, 3])
    assert state(w) == ((3, 4, 1, 2), (3, 4), (1, 2), (1, 2, 3), 1, 0)
    assert w.alter([1, 2, 3, 4]) is Err.NEW_LEADER_ELECTED
    assert state(w) == ((3, 4), (), (), (3, 4), 3, 1)


def test_a_leader_that_stays_gets_a_new_epoch_when_others_go():
    """Fails if the leader epoch does not grow with the removal of a replica: its fetches must be fenced (I-ELECT-4)."""
    w = World()
    w.create("t", [1, 2])
    assert move(w, [1, 3]) is Err.NONE
    assert w.alter([1, 2, 3]) == w.partition()
    assert state(w) == ((1, 3), (), (), (1, 3), 1, 1)


@pytest.mark.parametrize(("replicas", "after"), [
    ([2, 1], ((2, 1), (), (), (1, 2), 1, 0)),
    ([1], ((1,), (), (), (1,), 1, 1)),
    ([2], ((2,), (), (), (2,), 2, 1)),
    ([1, 2], ((1, 2), (), (), (1, 2), 1, 0))])
def test_what_needs_no_copy_is_done_at_once(replicas, after):
    """Fails if another order or fewer replicas wait for an ISR."""
    w = World()
    w.create("t", [1, 2])
    assert move(w, replicas) is Err.NONE
    assert state(w) == after


def test_cancelling_brings_the_old_replicas_back():
    """Fails if replicas of an unfinished reassignment stay, or replicas that were being removed stay away (I-MOVE-2)."""
    w = World(brokers=4)
    w.create("t", [1, 2])
    assert move(w, None) is Err.NO_REASSIGNMENT_IN_PROGRESS
    move(w, [3, 4])
    w.alter([1, 2, 3])
    assert move(w, None) is Err.NONE
    assert state(w) == ((1, 2), (), (), (1, 2), 1, 1)


def test_a_second_move_replaces_the_first():
    """Fails if a reassignment under way cannot be directed elsewhere."""
    w = World(brokers=4)
    w.create("t", [1, 2])
    move(w, [1, 3])
    move(w, [1, 4])
    assert state(w)[:3] == ((1, 4, 2, 3), (4,), (2, 3))
    w.alter([1, 2, 4])
    assert state(w) == ((1, 4), (), (), (1, 4), 1, 1)


def test_only_the_moves_under_way_are_listed() -> None:
    """Fails if a partition that moves is left out, one at rest or unknown is listed, or a topic without any has a row."""
    w = World(4)
    for name in ("t", "u"):
        w.create(name, [1, 2], [2, 3])
    assert list_reassignments(w.image, None) == []
    move(w, [3, 4])
    (listed,) = list_reassignments(w.image, None)
    assert listed == ("t", [w.partition()]) and list_reassignments(w.image, [("t", [0, 1, 9]), ("u", [0])]) == [listed]
    assert list_reassignments(w.image, [("t", [1]), ("none", [0])]) == []


def test_the_number_of_replicas_can_be_held_fast():
    """Fails if allow_replication_factor_change is ignored (KIP-860)."""
    w = World()
    w.create("t", [1, 2])
    assert move(w, [1, 2, 3], other_factor=False) is Err.INVALID_REPLICATION_FACTOR
    assert move(w, [1, 3], other_factor=False) is Err.NONE
    assert move(w, [2, 3], other_factor=False) is Err.NONE      # one comes, one goes: it is two all the time


def test_who_has_left_is_no_eligible_leader():
    """Fails if a removed replica stays in the ELR, from where it could lead, empty, when it returns."""
    w = World(config={"min.insync.replicas": "2"})
    w.create("t", [1, 2])
    move(w, [3])
    w.alter([1, 2, 3])
    assert (w.partition().isr, w.partition().elr) == ((3,), ())


BROKERS = st.lists(st.sampled_from([1, 2, 3, 4, 5]), unique=True, min_size=1).map(tuple)


@given(BROKERS, BROKERS, st.lists(BROKERS, max_size=3), BROKERS)
def test_a_move_never_loses_the_last_copy(first, isr, targets, more):
    """Fails if completed() leaves an ISR that is empty or not within the replicas (I-MOVE-1, I-MOVE-2)."""
    isr = tuple(r for r in isr if r in first) or first[:1]
    now = PartitionRegistration("t", UUID(int=1), 0, first, isr)
    for target in targets:
        a = towards(now, target)
        now = PartitionRegistration("t", UUID(int=1), 0, a.replicas, now.isr, adding=a.adding, removing=a.removing)
    grown = tuple(dict.fromkeys((*now.isr, *(r for r in more if r in now.replicas))))
    done, kept = completed(Assignment.of(now), grown)
    assert kept and set(kept) <= set(grown)
    if done.replicas != now.replicas:
        assert not done.in_progress and set(done.replicas) == set(kept)
    back, old, _ = reverted(now) if set(now.replicas) - set(now.adding) else (done, kept, False)
    assert old and set(old) <= set(back.replicas)


def test_a_move_that_is_cancelled_when_only_new_replicas_are_in_sync() -> None:
    """Fails if that is refused (only a move with nothing but new replicas has nothing to go back to), or passes for clean."""
    moving = PartitionRegistration("t", UUID(int=1), 0, (4, 1, 2), (4,), adding=(4,), removing=(1, 2))
    assert reverted(moving) == (Assignment((1, 2)), (1,), True)
    with pytest.raises(KafkaError, match="addingReplicas contains all replicas"):
        reverted(replace(moving, replicas=(4,)))


# --- more partitions, fewer brokers ----------------------------------------------------------------------------


def test_new_partitions_follow_the_old_ones():
    """Fails if their numbers leave a gap or their replicas are another number."""
    w = World()
    w.create("t", [1, 2])
    ctx = CreateTopicsContext(w.image, w.config, random.Random(5), lambda: UUID(int=1))
    w.decide(create_partitions(ctx, [NewPartitions("t", 4)]))
    assert list(w.image.topics["t"].partitions) == [0, 1, 2, 3]
    assert all(len(p.replicas) == 2 and p.isr == p.replicas for p in w.image.partitions())


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


def test_an_unregistered_broker_is_gone_from_everywhere():
    """Fails if it stays in an ISR, an ELR or the sessions; or if a broker can be unregistered twice."""
    w = World(config={"min.insync.replicas": "2"})
    w.create("t", [1, 2])
    w.silence(2)
    assert w.partition().elr == (2,)
    w.append(w.core.unregister_broker(2))
    assert (w.partition().isr, w.partition().elr) == ((1,), ()) and 2 not in w.image.brokers
    with pytest.raises(KafkaError, match="Broker ID 2 is not currently registered"):
        w.core.unregister_broker(2)
    w.join(2)
    assert not w.image.brokers[2].fenced

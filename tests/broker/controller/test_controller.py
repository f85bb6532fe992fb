"""The controller's decisions, where random schedules (test_controller_random.py) are silent: texts, Kafka's order, times."""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from minikafka.broker.config.alter import APPEND, Alteration, AlterConfigOp
from minikafka.broker.controller.admin import replica_budget
from minikafka.broker.controller.admin.alter_reassignments import Reassignment
from minikafka.broker.controller.admin.create_partitions import NewPartitions, create_partitions
from minikafka.broker.controller.admin.create_topics import CreateTopicsContext, NewTopic
from minikafka.broker.controller.heartbeats import Heartbeats
from minikafka.broker.controller.placement import place
from minikafka.broker.metadata.image import BrokerRegistration
from minikafka.broker.metadata.records import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    ConfigRecord,
    DelegationTokenRecord,
    NoOpRecord,
)
from minikafka.broker.server.turns import at_once, collected
from minikafka.proof.small_worlds.controller.lone_controller import LoneController as World
from minikafka.protocol.errors import Err, KafkaError


def registered(*fenced: bool) -> list[BrokerRegistration]:
    return [BrokerRegistration(id, 1, UUID(int=id), (), None, is_fenced) for id, is_fenced in enumerate(fenced, 1)]


@pytest.mark.parametrize(("refused", "code", "text"), [
    (lambda: World().register(1), Err.DUPLICATE_BROKER_REGISTRATION, "Another broker is registered with that broker id."),
    (lambda: World().register(4, cluster_id="other"), Err.INCONSISTENT_CLUSTER_ID,
     "Expected cluster ID cluster, but got cluster ID other"),
    (lambda: World().register(4, features=()), Err.UNSUPPORTED_VERSION,
     "Unable to register because the broker does not support finalized version 30 of metadata.version. The broker wants a "
     "version between 0 and 0, inclusive."),
    (lambda: place(registered(True), 1, 1, random.Random(1)), Err.INVALID_REPLICATION_FACTOR,
     "All brokers are currently fenced."),
    (lambda: place(registered(False, False), 1, 3, random.Random(1)), Err.INVALID_REPLICATION_FACTOR,
     "The target replication factor of 3 cannot be reached because only 2 broker(s) are registered or some brokers have all "
     "their log directories cordoned."),
])
def test_refusals_have_kafkas_words(refused, code, text):
    """Fails if one of these is accepted, or refused in other words."""
    with pytest.raises(KafkaError) as caught:
        refused()
    assert (caught.value.code, caught.value.message) == (code, text)


@pytest.mark.parametrize(("proposal", "code"), [
    ({"isr": [1, 9], "leader_epoch": 2, "partition_epoch": 0}, Err.NOT_CONTROLLER),
    ({"isr": [1, 9], "leader_epoch": 0, "partition_epoch": 9}, Err.NOT_CONTROLLER),
    ({"isr": [1, 9], "leader_epoch": 0, "partition_epoch": 0}, Err.FENCED_LEADER_EPOCH),
    ({"isr": [1, 9], "broker": 3, "partition_epoch": 0}, Err.INVALID_REQUEST),
    ({"isr": [1, 9], "partition_epoch": 0}, Err.INVALID_UPDATE_VERSION),
    ({"isr": [2, 9]}, Err.INVALID_REQUEST),
    ({"isr": [3]}, Err.INVALID_REQUEST),
    ({"isr": [2, 2]}, Err.INVALID_REQUEST),
    ({"isr": [2, 3], "recovering": True}, Err.INVALID_REQUEST),
    ({"isr": [2], "recovering": True}, Err.INVALID_REQUEST),
    ({"isr": [2, 1]}, Err.INELIGIBLE_REPLICA),
    ({"isr": [2, 3], "epochs": {3: 1}}, Err.INELIGIBLE_REPLICA),
    ({"isr": [2, 3], "epochs": {3: -1}}, None),
])
def test_proposals_are_checked_in_kafkas_order(proposal, code):
    """Fails if any check of rule 16 is missing or moves before an earlier one (the ISR [1, 9] is wrong in itself)."""
    w = World()
    w.create("t", [1, 2, 3])
    w.silence(1)                        # leader 2, leader epoch 1, partition epoch 1
    assert w.alter(**proposal) == (w.partition() if code is None else code)


# --- times -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contact", [0.0, 2.2349999999999746, 1e6 / 3])
def test_a_session_is_over_at_its_deadline(contact: float) -> None:
    """B12. Fails if a timer set for `next_deadline` finds nothing to do there: it would be set again for no time at all, and the
    controller would spin until its clock moved on (for ever, where the clock waits for it)."""
    heartbeats = Heartbeats(3.0)
    heartbeats.register(1, False, contact)
    deadline = heartbeats.next_deadline()
    assert heartbeats.valid(1, contact) and heartbeats.stale(contact + 2.999) is None
    assert heartbeats.stale(deadline) == 1 and not heartbeats.valid(1, deadline)


@pytest.mark.parametrize(("interval_ms", "written"), [("500", 10), ("0", 0)])
def test_an_idle_controller_shows_that_its_log_moves(interval_ms, written):
    """Fails if metadata.max.idle.interval.ms has no effect, or if 0 does not mean never."""
    w = World(brokers=0, config={"metadata.max.idle.interval.ms": interval_ms})
    before, end = len(w.log), w.now + 5
    while (due := w.core.next_deadline()) <= end:
        w.now = due
        w.append(w.core.tick(w.now))
    assert w.log[before:] == [NoOpRecord()] * written


def test_tokens_that_have_ended_are_removed_at_the_next_look():
    """Fails if a token outlives its end, or one that has not ended is removed."""
    w = World(brokers=0, config={"delegation.token.secret.key": "x", "delegation.token.expiry.check.interval.ms": "20000",
                                 "metadata.max.idle.interval.ms": "0"})
    w.append([DelegationTokenRecord("User:a", "User:a", (), 0, 9000, end, f"t{end}") for end in (1000, 2000, 3000)])
    w.now = w.core.next_deadline()
    while records := w.core.tick(w.now, wall_ms=2500):
        w.append(records)
    assert [*w.image.tokens] == ["t3000"] and w.core.next_deadline() == w.now + 20


def test_a_late_unclean_setting_takes_effect_at_the_next_look():
    """Fails if the controller looks at partitions without a leader only when a broker comes, and not at intervals (K5)."""
    w = World(config={"unclean.leader.election.interval.ms": "20000"})
    w.create("t", [1, 2], min_insync_replicas="1")
    w.alter([1])
    w.silence(1)
    w.append([ConfigRecord(TOPIC_RESOURCE, "t", "unclean.leader.election.enable", "true")])
    assert w.partition().leader == -1
    for _ in range(3):
        w.silence()
    assert (w.partition().leader, w.partition().recovering) == (2, True)


# --- a new cluster, and limits -----------------------------------------------------------------------------------


def test_a_new_cluster_begins_with_its_features_and_a_minimum_for_everyone():
    """Fails if bootstrap() writes nothing, or writes twice."""
    w = World(brokers=0, config={"min.insync.replicas": "2"})
    assert w.image.features == {"metadata.version": 30, "eligible.leader.replicas.version": 1, "transaction.version": 2,
                                "group.version": 1}
    assert w.image.broker_configs(None) == {"min.insync.replicas": "2"}
    assert w.core.bootstrap() == []


def test_topics_start_at_different_brokers():
    """Fails if the start is not random: every one-partition topic would have the same leader."""
    rng = random.Random(3)
    assert {place(registered(False, False, False), 1, 1, rng)[0][0] for _ in range(30)} == {1, 2, 3}


def test_a_value_may_not_grow_without_bound():
    """Fails if appending can make a value longer than a record of the metadata log may be."""
    w = World()
    w.append([ConfigRecord(BROKER_RESOURCE, "", "log.cleanup.policy", "x" * 32760)])
    ops = (AlterConfigOp("log.cleanup.policy", APPEND, "y" * 20),)
    records, refusals = at_once(collected(w.core.alter_configs([Alteration(BROKER_RESOURCE, "", ops, whole=False)])))
    assert records == [] and refusals[0].code is Err.INVALID_CONFIG
    assert refusals[0].message == ("The configuration value cannot be added because it exceeds the maximum value size "
                                   "of 32767 bytes.")


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

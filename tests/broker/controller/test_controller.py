"""The controller's decisions (broker/controller/controller.py and the files that it uses)."""

from __future__ import annotations

import pytest

from minikafka.broker.metadata.records import NoOpRecord
from minikafka.proof.small_worlds.controller.lone_controller import LoneController as World
from minikafka.protocol.errors import Err, KafkaError


def refused(code, act, *args, **kwargs):
    with pytest.raises(KafkaError) as caught:
        act(*args, **kwargs)
    assert caught.value.code == code
    return caught.value.message


# --- a broker's life -------------------------------------------------------------------------------------------


def test_a_broker_starts_fenced_and_is_unfenced_when_it_has_seen_its_registration():
    """Fails if a heartbeat unfences without comparing offsets (rule 30, I-SESS-1)."""
    w = World(brokers=0)
    epoch = w.register(1)
    assert w.image.brokers[1].fenced
    assert w.heartbeat(1, offset=epoch - 1).fenced and w.image.brokers[1].fenced
    answer = w.heartbeat(1, offset=epoch)
    assert (answer.caught_up, answer.fenced, w.image.brokers[1].fenced) == (True, False, False)


def test_a_second_process_with_a_live_broker_id_is_refused():
    """Fails without the check of the session, or if the check outlives the session (rule 29)."""
    w = World(brokers=1)
    text = refused(Err.DUPLICATE_BROKER_REGISTRATION, w.register, 1)
    assert text == "Another broker is registered with that broker id."
    w.silence(1)
    assert w.register(1) == w.image.brokers[1].epoch


def test_foreign_clusters_and_unsupported_features_are_refused():
    """Fails if cluster id or finalized features are not checked at registration."""
    w = World(brokers=1)
    text = refused(Err.INCONSISTENT_CLUSTER_ID, w.register, 2, cluster_id="other")
    assert text == "Expected cluster ID cluster, but got cluster ID other"
    text = refused(Err.UNSUPPORTED_VERSION, w.register, 2, features=())
    assert text.startswith("Unable to register because the broker does not support finalized version 30 of")


def test_an_old_broker_epoch_is_refused_everywhere():
    """Fails if a handler skips check_epoch (rule 31)."""
    w = World(brokers=1)
    refused(Err.STALE_BROKER_EPOCH, w.heartbeat, 1, epoch=0)
    refused(Err.STALE_BROKER_EPOCH, w.core.allocate_producer_ids, 1, 0)
    w.create("t", [1])
    w.image.brokers.pop(1)
    refused(Err.STALE_BROKER_EPOCH, w.core.check_epoch, 1, 5)


@pytest.mark.parametrize(("interval_ms", "written"), [("500", 10), ("0", 0)])
def test_an_idle_controller_shows_that_its_log_moves(interval_ms, written):
    """Fails if metadata.max.idle.interval.ms has no effect, or if 0 does not mean never."""
    w = World(brokers=0, config={"metadata.max.idle.interval.ms": interval_ms})
    before, end = len(w.log), w.now + 5
    while (due := w.core.next_deadline()) <= end:
        w.now = due
        w.append(w.core.tick(w.now))
    assert w.log[before:] == [NoOpRecord()] * written


def test_controlled_shutdown_moves_leaders_and_waits_until_everyone_knows():
    """Fails if SHUTDOWN_NOW comes while a live broker has not replayed the leader changes (rule 32, I-SESS-2)."""
    w = World()
    w.create("t", [1, 2, 3])
    behind = len(w.log) - 1
    assert not w.heartbeat(1, stop=True).should_shut_down
    assert (w.partition().leader, w.partition().isr) == (2, (2, 3)) and w.image.brokers[1].in_controlled_shutdown
    w.heartbeat(2)
    for offset in (behind, len(w.log) - 2):
        w.heartbeat(3, offset=offset)
        assert not w.heartbeat(1, stop=True).should_shut_down
    w.heartbeat(3)
    assert w.heartbeat(1, stop=True).should_shut_down
    assert w.image.brokers[1].fenced


def test_who_was_killed_is_no_eligible_leader_when_it_comes_back():
    """Fails if registration ignores previousBrokerEpoch (rule 33, anomaly A8)."""
    w = World()
    w.create("t", [1, 2], min_insync_replicas="2")
    w.silence(2)
    assert (w.partition().isr, w.partition().elr) == ((1,), (2,))
    w.silence(1)
    assert (w.partition().leader, w.partition().elr) == (-1, (2, 1))
    w.join(2)
    assert (w.partition().leader, w.partition().elr) == (-1, (1,))
    assert w.partition().last_known_elr == (1,)


def test_who_stopped_cleanly_is_elected_when_it_comes_back():
    """Fails if a replica that was stopped cleanly is no eligible leader any more (rule 33, K4)."""
    w = World()
    w.create("t", [1, 2], min_insync_replicas="2")
    epoch = w.image.brokers[2].epoch
    w.heartbeat(2, stop=True)
    w.silence(1)
    w.join(2, previous=epoch)
    assert (w.partition().leader, w.partition().isr, w.partition().recovering) == (2, (2,), False)


def test_a_new_incarnation_leaves_every_isr_first():
    """Fails if a rebooted broker keeps a seat it may have lost the data for (I-CTL-3, anomaly A7)."""
    w = World()
    w.create("t", [1, 2, 3])
    w.core.heartbeats.fence(2)          # its session is over, but nobody has fenced it yet
    w.register(2)
    assert w.partition().isr == (1, 3) and w.image.brokers[2].fenced


# --- AlterPartition --------------------------------------------------------------------------------------------


def test_a_leader_shrinks_and_expands_its_isr():
    """Fails if an accepted proposal does not raise the partition epoch by one, or raises the leader epoch."""
    w = World()
    w.create()
    after = w.alter([1, 2])
    assert (after.isr, after.partition_epoch, after.leader_epoch) == ((1, 2), 1, 0)
    assert w.alter([1, 2, 3]).partition_epoch == 2 and w.partition().isr == (1, 2, 3)


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


# --- periodic work, ids ----------------------------------------------------------------------------------------


def test_leadership_returns_to_the_preferred_replica_by_itself():
    """Fails if tick() never balances, or balances without auto.leader.rebalance.enable."""
    for enabled, leader in (("true", 1), ("false", 2)):
        w = World(config={"leader.imbalance.check.interval.seconds": "10", "auto.leader.rebalance.enable": enabled})
        w.create("t", [1, 2, 3])
        w.silence(1)
        w.join(1)
        w.alter([2, 3, 1])
        w.silence()
        w.silence()
        assert w.partition().leader == leader


def test_a_late_unclean_setting_takes_effect_at_the_next_look():
    """Fails if the controller looks at partitions without a leader only when a broker comes, and not at intervals (K5)."""
    from minikafka.broker.metadata.records import TOPIC_RESOURCE, ConfigRecord
    w = World(config={"unclean.leader.election.interval.ms": "20000"})
    w.create("t", [1, 2], min_insync_replicas="1")
    w.alter([1])
    w.silence(1)
    w.append([ConfigRecord(TOPIC_RESOURCE, "t", "unclean.leader.election.enable", "true")])
    assert w.partition().leader == -1
    for _ in range(3):
        w.silence()
    assert (w.partition().leader, w.partition().recovering) == (2, True)


def test_producer_id_blocks_follow_each_other():
    """Fails if two blocks overlap (I-CTL-4, rule 47)."""
    w = World()
    epochs = {b: w.image.brokers[b].epoch for b in (1, 2)}
    blocks = [w.decide(w.core.allocate_producer_ids(b, epochs[b])) for b in (1, 2, 1)]
    assert blocks == [range(1000), range(1000, 2000), range(2000, 3000)]


def test_a_new_cluster_begins_with_its_features_and_a_minimum_for_everyone():
    """Fails if bootstrap() writes nothing, or writes twice."""
    w = World(brokers=0, config={"min.insync.replicas": "2"})
    assert w.image.features == {"metadata.version": 30, "eligible.leader.replicas.version": 1, "transaction.version": 2,
                                "group.version": 1}
    assert w.image.broker_configs(None) == {"min.insync.replicas": "2"}
    assert w.core.bootstrap() == []

"""Rules of one leader and one follower, each asked directly of the state machine: what `sim mutate --rules` weakens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from minikafka.broker.replication.effects import (
    AssignEpoch,
    EpochEnd,
    HighWatermark,
    Lead,
    ProposeIsr,
    StartAt,
    Truncate,
)
from minikafka.broker.replication.isr import Isr
from minikafka.broker.replication.replica import Replica
from minikafka.proof.small_worlds.replication.lone_replica import CommittedPartition, ReplicaLog
from minikafka.protocol.errors import Err, KafkaError

EPOCH = 3  # of the leader, which is broker 1


def leader(isr: tuple[int, ...] = (1, 2, 3), records: int = 5, min_insync: int = 2) -> Replica:
    """Return the leader of an epoch that begins at offset 5, with so many records in all and 3 as its high watermark."""
    log = ReplicaLog()
    log.append(5, 1)
    brokers = {n: SimpleNamespace(epoch=10 * n, active=True) for n in (1, 2, 3)}
    replica = Replica(1, log, SimpleNamespace(brokers=brokers), 10.0, min_insync)  # type: ignore[arg-type]
    replica.high_watermark = 3
    replica.on_metadata(CommittedPartition((1, 2, 3), isr, 1, EPOCH, 7), 0.0)
    if records > 5:
        log.append(records - 5, EPOCH)
    return replica


def fetched(replica: Replica, follower: int, offset: int, epoch: int = EPOCH, broker_epoch: int | None = None) -> list[Any]:
    return replica.on_follower_fetch(follower, 10 * follower if broker_epoch is None else broker_epoch, epoch, offset, 0, 1.0)


def proposed(effects: list[Any]) -> list[tuple[tuple[int, int], ...]]:
    return [effect.proposal.isr for effect in effects if isinstance(effect, ProposeIsr)]


def refusal(call: Any, *arguments: Any) -> Err:
    with pytest.raises(KafkaError) as refused:
        call(*arguments)
    return refused.value.code


def test_rule_4_a_fetch_of_another_epoch_counts_for_nothing() -> None:
    """Fails if a fetch that names an older epoch, or none, moves what the leader knows of a follower."""
    replica = leader()
    for epoch in (EPOCH - 1, EPOCH + 1, -1):
        assert fetched(replica, 2, 5, epoch) == [] and replica.followers[2].log_end_offset == -1
    fetched(replica, 2, 5)
    assert replica.followers[2].log_end_offset == 5


def test_rule_4_each_epoch_begins_with_unknown_followers() -> None:
    """Fails if a leader that is elected once more believes what followers fetched before."""
    replica = leader()
    fetched(replica, 2, 5)
    replica.on_metadata(CommittedPartition((1, 2, 3), (1, 2, 3), 1, EPOCH + 1, 8), 2.0)
    assert replica.followers[2].log_end_offset == -1


def test_rule_4_what_is_known_of_a_follower_lasts_for_the_epoch() -> None:
    """Fails if a change of the ISR within an epoch makes the leader forget how far its followers are."""
    replica = leader()
    fetched(replica, 2, 5)
    replica.on_metadata(CommittedPartition((1, 2, 3), (1, 2), 1, EPOCH, 8), 2.0)
    assert (replica.followers[2].log_end_offset, replica.followers[2].broker_epoch) == (5, 20)


def test_rule_5_the_start_of_an_epoch_is_noted_before_anything_else() -> None:
    """Fails if a new leader is told to lead, and so to append, before its epoch cache knows where the epoch begins."""
    replica = leader(records=9)
    effects = replica.on_metadata(CommittedPartition((1, 2, 3), (1, 2, 3), 1, EPOCH + 1, 8), 2.0)
    assert effects[:2] == [AssignEpoch(EPOCH + 1, 9), Lead(EPOCH + 1, 9)] and replica.epoch_start == 9


def test_rule_6_the_latest_offset_is_not_named_too_early() -> None:
    """Fails if a new leader, whose high watermark may be behind one that a client has seen, names it."""
    replica = leader()
    assert replica.high_watermark == 3 and not replica.latest_known
    for follower in (2, 3):
        fetched(replica, follower, 5)
    assert replica.high_watermark == 5 and replica.latest_known


def test_rule_8_acks_all_needs_enough_members() -> None:
    """Fails if acks=all is taken, or confirmed, by an ISR smaller than min.insync.replicas, or acks=1 refused."""
    replica = leader(isr=(1,))
    assert refusal(replica.check_append, -1) is Err.NOT_ENOUGH_REPLICAS
    replica.check_append(1)
    assert replica.ack(3) is Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND and replica.ack(4) is None
    assert leader().ack(3) is Err.NONE and leader().ack(4) is None


@pytest.mark.parametrize(("replicas", "adding", "enough"), [
    ((1, 2), (), 2), ((1, 2, 3), (3,), 2), ((1, 2, 3), (), 3)])
def test_rule_8_no_more_members_are_asked_than_there_can_be(replicas: tuple[int, ...], adding: tuple[int, ...],
                                                            enough: int) -> None:
    """Fails if min.insync.replicas above the number of replicas refuses every write, or a replica being added counts."""
    for isr in (replicas[:enough], replicas[:enough - 1]):
        replica = leader(min_insync=4)
        replica.on_metadata(CommittedPartition(replicas, isr, 1, EPOCH, 8, adding), 0.0)
        if len(isr) == enough:
            replica.check_append(-1)
            assert replica.ack(3) is Err.NONE
        else:
            assert refusal(replica.check_append, -1) is Err.NOT_ENOUGH_REPLICAS


def test_rule_8_who_leads_no_more_confirms_nothing() -> None:
    """Fails if a deposed leader confirms an append, committed or not."""
    replica = leader()
    replica.on_metadata(CommittedPartition((1, 2, 3), (2, 3), 2, EPOCH + 1, 8), 2.0)
    assert replica.ack(3) is replica.ack(5) is Err.NOT_LEADER_OR_FOLLOWER


def test_rule_10_a_deletion_waits_for_every_live_replica() -> None:
    """Fails if DeleteRecords is answered while a live follower still has older records."""
    replica = leader()
    replica.log.start_offset = 4  # type: ignore[misc]
    assert replica.low_watermark == -1
    for follower in (2, 3):
        replica.on_follower_fetch(follower, 10 * follower, EPOCH, 5, follower, 1.0)
    assert replica.low_watermark == 2
    replica.cluster.brokers[2].active = False  # type: ignore[misc]
    assert replica.low_watermark == 3


@pytest.mark.parametrize("offset, joins", [(2, False), (4, False), (5, True)])
def test_rule_15_who_joins_has_reached_the_start_of_the_epoch(offset: int, joins: bool) -> None:
    """Fails if a follower joins that lacks records from before this epoch, or with another broker epoch than it fetched with."""
    assert proposed(fetched(leader(isr=(1, 2)), 3, offset)) == ([((1, 10), (2, -1), (3, 30))] if joins else [])


def test_rule_15_who_joins_has_reached_the_high_watermark() -> None:
    """Fails if a follower joins that lacks committed records of this epoch."""
    replica = leader(isr=(1, 2), records=9)
    fetched(replica, 2, 8)
    assert replica.high_watermark == 8 and proposed(fetched(replica, 3, 7)) == [] and proposed(fetched(replica, 3, 8)) != []


def test_rule_15_only_the_living_join() -> None:
    """Fails if a follower joins that is fenced, or whose fetch came from a former life."""
    replica = leader(isr=(1, 2))
    replica.cluster.brokers[3].active = False  # type: ignore[misc]
    assert proposed(fetched(replica, 3, 5)) == []
    replica.cluster.brokers[3].active = True  # type: ignore[misc]
    assert refusal(fetched, replica, 3, 5, EPOCH, 29) is Err.NOT_LEADER_OR_FOLLOWER
    assert proposed(fetched(replica, 3, 5, EPOCH, 31)) == [], "a life that this broker has not heard of"


def test_rules_14_and_17_a_proposal_stays_until_its_fate_is_known() -> None:
    """Fails if a second proposal is made beside the first, or if the first is given up when it may have been applied."""
    replica = leader(isr=(1,))
    (effect,) = [effect for effect in fetched(replica, 3, 5) if isinstance(effect, ProposeIsr)]
    assert proposed(fetched(replica, 2, 5)) == [] and replica.isr.maximal == (1, 3)
    assert proposed(replica.on_alter_response(effect.proposal, Err.UNKNOWN_SERVER_ERROR, 2.0)) == [effect.proposal.isr]
    assert replica.on_alter_response(effect.proposal, Err.INVALID_UPDATE_VERSION, 2.0) == [] and replica.isr.maximal == (1, 3)
    replica.on_alter_response(effect.proposal, Err.INELIGIBLE_REPLICA, 2.0)
    assert replica.isr.maximal == (1,)


@pytest.mark.parametrize("epoch, partition_epoch, taken", [(EPOCH, 8, True), (EPOCH, 6, False), (EPOCH - 1, 8, False)])
def test_rule_18_an_overtaken_answer_is_not_taken(epoch: int, partition_epoch: int, taken: bool) -> None:
    """Fails if the answer to a proposal is taken although newer metadata is here."""
    replica = leader(isr=(1, 2))
    (effect,) = [effect for effect in fetched(replica, 3, 5) if isinstance(effect, ProposeIsr)]
    replica.on_alter_response(effect.proposal, Err.NONE, 2.0, (1, 2, 3), epoch, partition_epoch)
    assert (replica.isr.committed == (1, 2, 3)) is taken


def test_rule_18_what_the_controller_answers_counts_not_what_was_proposed() -> None:
    """Fails if the leader takes its proposal for the outcome: a reassignment may have ended with it, several epochs on."""
    replica = leader(isr=(1, 2))
    (effect,) = [effect for effect in fetched(replica, 3, 5) if isinstance(effect, ProposeIsr)]
    replica.on_alter_response(effect.proposal, Err.NONE, 2.0, (3, 1), EPOCH, 10)
    assert (replica.isr, replica.partition_epoch) == (Isr((3, 1)), 10)


def test_rule_17_who_leads_no_more_proposes_nothing() -> None:
    """Fails if a deposed leader goes on with its proposal, or keeps an ISR of its own."""
    replica = leader(isr=(1, 2))
    (effect,) = [effect for effect in fetched(replica, 3, 5) if isinstance(effect, ProposeIsr)]
    replica.on_metadata(CommittedPartition((1, 2, 3), (2, 3), 2, EPOCH + 1, 8), 2.0)
    assert replica.on_alter_response(effect.proposal, Err.UNKNOWN_SERVER_ERROR, 3.0) == [] and replica.isr == Isr()


def test_rule_22_another_epoch_is_refused() -> None:
    """Fails if a request is served that names an older or a newer leader epoch."""
    replica = leader()
    replica.check_epoch(EPOCH)
    replica.check_epoch(-1)
    assert refusal(replica.check_epoch, EPOCH - 1) is Err.FENCED_LEADER_EPOCH
    assert refusal(replica.check_epoch, EPOCH + 1) is Err.UNKNOWN_LEADER_EPOCH


def test_rule_25_a_log_beyond_the_leaders_is_cut_not_dropped() -> None:
    """Fails if a follower drops all it has where only its end is beyond the leader's, or keeps what lies before its start."""
    replica = leader()
    replica.on_metadata(CommittedPartition((1, 2, 3), (2, 3), 2, EPOCH + 1, 8), 2.0)
    assert replica.on_out_of_range(0, 4) == [Truncate(4)] and replica.high_watermark == 3
    assert replica.on_out_of_range(0, 9) == []
    assert replica.on_out_of_range(6, 9)[0] == StartAt(6) and replica.high_watermark == 6


def test_rule_28_older_metadata_is_ignored() -> None:
    """Fails if metadata of the same or an older partition epoch changes what is known."""
    replica = leader()
    for partition_epoch in (6, 7):
        assert replica.on_metadata(CommittedPartition((1, 2, 3), (1,), 2, EPOCH + 1, partition_epoch), 2.0) == []
    assert replica.is_leader and replica.isr.committed == (1, 2, 3) and replica.leader_epoch == EPOCH


def test_rule_2_the_high_watermark_waits_for_who_may_be_a_member() -> None:
    """Fails if a follower that is proposed to join, or to leave, does not count before the controller has agreed."""
    replica = leader(isr=(1, 2), records=9)
    fetched(replica, 3, 5)
    fetched(replica, 2, 9)
    replica.on_tick(30.0)
    assert replica.isr.maximal == (1, 2, 3) and replica.high_watermark == 5


def test_rule_2_a_stranger_that_never_kept_up_holds_nothing_back() -> None:
    """Fails if a follower outside the ISR counts from the moment when the leader begins, not from when it has caught up."""
    replica = leader(isr=(1, 2), records=9)
    fetched(replica, 3, 0)
    fetched(replica, 2, 9)
    assert replica.high_watermark == 9


def test_rule_12_who_falls_behind_is_proposed_to_leave() -> None:
    """Fails if a member that has not been at the leader's end for max_lag stays in the ISR, or leaves before."""
    replica = leader(records=9)
    for follower, offset in ((2, 9), (3, 5)):
        fetched(replica, follower, offset)
    assert proposed(replica.on_tick(9.0)) == [] and proposed(replica.on_tick(12.0)) == [((1, 10), (2, 20))]
    assert replica.isr.maximal == (1, 2, 3) and replica.high_watermark == 5


@pytest.mark.parametrize(("theirs", "kept"), [
    (EpochEnd(1, 4), 4),  # we have more of epoch 1 than the leader
    (EpochEnd(1, 7), 5),  # we left epoch 1 at 5; what the leader has of it from there on is not in our log
    (EpochEnd(3, 6), 6),
    (EpochEnd(2, 9), 5),  # we never had epoch 2: back to where the one before it ends here
    (EpochEnd(0, 2), 0),  # all that we have is younger
])
def test_rule_21_a_follower_cuts_where_the_two_logs_part(theirs: EpochEnd, kept: int) -> None:
    """Fails if a record stays that the leader does not have. Our log has epoch 1 up to offset 5 and epoch 3 up to 9."""
    replica = leader(records=9)
    replica.on_metadata(CommittedPartition((1, 2, 3), (2, 3), 2, EPOCH + 1, 8), 2.0)
    assert replica.on_diverging(theirs)[0] == Truncate(kept)


def test_rule_7_a_follower_names_no_more_than_it_has() -> None:
    """Fails if the leader's high watermark is taken for records that this follower does not have yet."""
    replica = leader(records=9)
    replica.on_metadata(CommittedPartition((1, 2, 3), (2, 3), 2, EPOCH + 1, 8), 2.0)
    for told, known in ((12, 9), (7, 7), (9, 9)):
        replica.on_fetched(told)
        assert replica.high_watermark == known


def test_rule_7_a_follower_that_cuts_its_log_forgets_what_it_knew_beyond() -> None:
    """Fails if the high watermark stays beyond the end of a log that was cut, or if a cut above it lowers it."""
    replica = leader(records=9)
    replica.on_metadata(CommittedPartition((1, 2, 3), (2, 3), 2, EPOCH + 1, 8), 2.0)
    replica.on_fetched(6)
    for end, known in ((7, 6), (4, 4)):
        assert replica.on_diverging(EpochEnd(EPOCH if end > 5 else 1, end)) == [Truncate(end)]
        replica.log.truncate(end)  # type: ignore[attr-defined]
        replica.on_truncated()
        assert replica.high_watermark == known


def test_rule_23_a_cut_within_a_batch_takes_the_high_watermark_to_where_the_log_ends() -> None:
    """Fails if the high watermark is lowered only to the offset that was asked for: the batch around it went whole."""
    replica = leader()
    replica.on_metadata(CommittedPartition((1, 2, 3), (2, 3), 2, EPOCH + 1, 8), 2.0)
    assert replica.on_diverging(EpochEnd(1, 3)) == [Truncate(3)]
    replica.log.truncate(1)  # type: ignore[attr-defined]
    assert replica.on_truncated() == [HighWatermark(1)] and replica.high_watermark == 1


@pytest.mark.parametrize(("fields", "id"), [
    ({"high_watermark": 10}, "I-HW-1"), ({"leader_epoch": EPOCH + 1}, "I-LEAD-1"), ({"epoch_start": 10}, "I-LEAD-2"),
    ({"leader": 2}, "I-LEAD-3"), ({"partition_epoch": 8}, "I-ISR-3")])
def test_each_assert_on_the_state_can_fall(fields: dict[str, int], id: str) -> None:
    """Fails if a state that breaks one of these invariants passes, or if the healthy one does not."""
    replica = leader(isr=(1, 2), records=9)
    fetched(replica, 3, 5)
    replica.check()
    for name, value in fields.items():
        setattr(replica, name, value)
    with pytest.raises(AssertionError, match=id):
        replica.check()

"""Elections (broker/controller/leader_election.py) that are too rare in the random schedules of a controller; KIP-966."""

from __future__ import annotations

from uuid import UUID

from minikafka.broker.controller.leader_election import Rules, change
from minikafka.broker.metadata.image import PartitionRegistration


def leaderless(elr=(), last=(), replicas=(1, 2, 3)):
    """Return a partition without a leader and with an empty ISR."""
    return PartitionRegistration("t", UUID(int=1), 0, replicas, (), -1, 7, 9, False, tuple(elr), tuple(last))


def rules(*live, min_isr=2):
    return Rules(lambda r: r in live, min_isr, elr=True)


def test_an_eligible_leader_that_is_enough_by_itself_ends_eligibility():
    """Fails if others stay in the ELR although one member satisfies min.insync.replicas (I-ELR-2)."""
    p = leaderless(elr=[2, 1], last=[1])
    p = p.merge(change(p, rules(2, min_isr=1)))
    assert (p.leader, p.isr, p.elr) == (2, (2,), ())


def test_of_several_last_leaders_none_is_the_last():
    """Fails if any of several last known leaders may lead without a setting: which of them has the most is not known."""
    record = change(leaderless(last=[1, 2]), rules(1, 2))
    assert record is None or leaderless(last=[1, 2]).merge(record).leader == -1


def test_the_last_leader_may_lead_when_nobody_is_eligible():
    """Fails without the last known leader (KIP-966), or if it is not marked as recovering."""
    p = leaderless(last=[3])
    p = p.merge(change(p, rules(1, 3)))
    assert (p.leader, p.isr, p.recovering, p.last_known_elr) == (3, (3,), True, ())


def test_a_last_leader_that_is_no_replica_any_more_does_not_lead():
    """B52. Fails if the last known leader leads after the reassignment that had added it was cancelled."""
    assert change(leaderless(last=[3], replicas=(1,)), rules(1, 3)) is None

"""Elections (broker/controller/leader_election.py): I-ELECT-1..3, I-ELR-1..2; KIP-966."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from minikafka.broker.controller.leader_election import Election, Rules, Target, change
from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.broker.metadata.records import RECOVERED, RECOVERING


def part(isr, leader, elr=(), last=(), recovering=False, replicas=(1, 2, 3)):
    return PartitionRegistration("t", UUID(int=1), 0, replicas, tuple(isr), leader, 7, 9, recovering, tuple(elr), tuple(last))


def rules(*live, min_isr=2, elr=True):
    return Rules(lambda r: r in live, min_isr, elr)


def after(partition, record):
    return partition.merge(record) if record else partition


def test_the_leader_stays_while_it_may():
    """Fails if an ONLINE election prefers the first replica."""
    assert change(part([1, 2, 3], leader=3), rules(1, 2, 3)) is None


def test_a_lost_leader_is_followed_by_the_first_live_member_of_the_isr():
    """Fails if _elect() takes live replicas outside the ISR or ignores the order of assignment."""
    p = after(part([3, 2], 3, replicas=(1, 2, 3)), change(part([3, 2], 3), rules(1, 2), target=Target(isr=(2,))))
    assert (p.leader, p.isr, p.leader_epoch, p.partition_epoch) == (2, (2,), 8, 10)


def test_an_isr_change_alone_keeps_the_leader_epoch():
    """Fails if every record names a leader (rule 28)."""
    p = after(part([1, 2, 3], 1), change(part([1, 2, 3], 1), rules(1, 2), target=Target(isr=(1, 2))))
    assert (p.leader, p.isr, p.leader_epoch, p.partition_epoch) == (1, (1, 2), 7, 10)


def test_who_leaves_an_isr_below_the_minimum_is_an_eligible_leader():
    """Fails if _with_elr() drops the members that leave (I-ELR-1)."""
    p = after(part([1, 2], 1), change(part([1, 2], 1), rules(1), target=Target(isr=(1,))))
    assert (p.isr, p.elr) == ((1,), (2,))


def test_who_leaves_an_isr_that_stays_large_enough_is_not_eligible():
    """Fails if the ELR is kept at or above min.insync.replicas."""
    assert after(part([1, 2, 3], 1), change(part([1, 2, 3], 1), rules(1, 2), target=Target(isr=(1, 2)))).elr == ()


def test_the_last_member_may_leave_and_is_remembered():
    """Fails if the ISR cannot become empty with ELR, or the last leader is forgotten."""
    p = after(part([1], 1, elr=[2]), change(part([1], 1, elr=[2]), rules(), target=Target(isr=())))
    assert (p.leader, p.isr, p.elr, p.last_known_elr) == (-1, (), (2, 1), (1,))


def test_an_eligible_replica_leads_an_empty_isr():
    """Fails if ELR members cannot be elected, or do not become the ISR."""
    p = part([], -1, elr=[2, 1], last=[1])
    p = after(p, change(p, rules(2)))
    assert (p.leader, p.isr, p.elr, p.last_known_elr, p.recovering) == (2, (2,), (1,), (), False)


def test_an_eligible_leader_that_is_enough_by_itself_ends_eligibility():
    """Fails if others stay in the ELR although one member satisfies min.insync.replicas (I-ELR-2)."""
    p = part([], -1, elr=[2, 1], last=[1])
    p = after(p, change(p, rules(2, min_isr=1)))
    assert (p.leader, p.isr, p.elr) == (2, (2,), ())


def test_of_several_last_leaders_none_is_the_last():
    """Fails if any of several last known leaders may lead without a setting: which of them has the most is not known."""
    assert after(part([], -1, last=[1, 2]), change(part([], -1, last=[1, 2]), rules(1, 2))).leader == -1


def test_an_eligible_replica_waits_while_the_isr_has_members():
    """Fails if clean() looks at the ELR of a partition whose ISR is not empty (I-ELECT-1)."""
    assert after(part([1], 1, elr=[2]), change(part([1], 1, elr=[2]), rules(2))).leader == -1


def test_an_unclean_restart_ends_eligibility():
    """Fails if unclean_shutdown is not kept out of the ELR (rule 33)."""
    p = part([1], 1, elr=[2])
    assert after(p, change(p, rules(1), target=Target(unclean_shutdown=2))).elr == ()


def test_the_isr_back_at_the_minimum_clears_the_elr():
    """Fails if I-ELR-2 is not kept."""
    p = part([1], 1, elr=[2])
    assert after(p, change(p, rules(1, 2, 3), target=Target(isr=(1, 3)))).elr == ()


def test_the_last_leader_may_lead_when_nobody_is_eligible():
    """Fails without the last known leader (KIP-966), or if it is not marked as recovering."""
    p = part([], -1, last=[3])
    p = after(p, change(p, rules(1, 3)))
    assert (p.leader, p.isr, p.recovering, p.last_known_elr) == (3, (3,), True, ())


def test_a_dead_last_leader_is_waited_for():
    """Fails if the last known leader is elected without being live (a bug of early 4.0)."""
    assert change(part([], -1, last=[3]), rules(1, 2)) is None


def test_a_last_leader_that_is_no_replica_any_more_does_not_lead():
    """B52. Fails if the last known leader leads after the reassignment that had added it was cancelled."""
    assert change(part([], -1, last=[3], replicas=(1,)), rules(1, 3)) is None


def test_unclean_election_takes_any_live_replica():
    """Fails if UNCLEAN does not go beyond ISR and ELR, or keeps the old ISR (I-ELECT-3)."""
    p = part([], -1, elr=[1], last=[1])
    record = change(p, rules(2, 3), Election.UNCLEAN)
    assert record is not None and record.leader_recovery_state == RECOVERING
    assert (after(p, record).leader, after(p, record).isr, after(p, record).elr) == (2, (2,), ())


def test_a_clean_leader_is_preferred_even_if_unclean_ones_may_lead():
    """Fails if UNCLEAN looks at any live replica first."""
    p = part([1, 3], 1)
    assert after(p, change(p, rules(2, 3), Election.UNCLEAN, Target(isr=(3,)))).leader == 3


def test_preferred_election_returns_to_the_first_replica():
    """Fails if PREFERRED keeps the present leader; it must not take a preferred replica outside the ISR."""
    assert after(part([1, 2], 2), change(part([1, 2], 2), rules(1, 2), Election.PREFERRED)).leader == 1
    assert change(part([2], 2, elr=[1]), rules(1, 2), Election.PREFERRED) is None


def test_without_elr_the_last_member_stays():
    """Fails if the ISR becomes empty without the feature (rule 27)."""
    p = part([1], 1)
    p = after(p, change(p, rules(2, elr=False), target=Target(isr=())))
    assert (p.leader, p.isr, p.elr) == (-1, (1,), ())


def test_a_recovered_leader_says_so():
    """Fails if the recovery state of a proposal is dropped (KIP-704)."""
    p = part([1], 1, recovering=True)
    record = change(p, rules(1), target=Target(isr=(1,), recovering=False))
    assert record is not None and record.leader_recovery_state == RECOVERED


BROKERS = st.lists(st.sampled_from([1, 2, 3]), unique=True).map(tuple)


@given(isr=BROKERS, elr=BROKERS, live=BROKERS, target=BROKERS, last=st.sampled_from([(), (1,), (2,), (3,)]),
       min_isr=st.integers(1, 3), election=st.sampled_from(list(Election)), gone=st.sampled_from([None, 1, 2, 3]))
def test_whatever_happens_the_partition_is_consistent(isr, elr, live, target, last, min_isr, election, gone):
    """Fails if any path breaks what change() or the partition assert of leaders, ISR and ELR."""
    p = part(isr, isr[0] if isr else -1, [r for r in elr if r not in isr] if len(isr) < min_isr else (), last)
    target = tuple(r for r in target if r in live and r != gone)
    if p.leader in live and p.leader != gone and p.leader not in target:
        target += (p.leader,)           # a leader never leaves its own ISR, and proposals without it are refused
    record = change(p, rules(*[r for r in live if r != gone], min_isr=min_isr), election,
                    Target(target, unclean_shutdown=gone))
    after(p, record).check()
    assert record is None or replace(after(p, record), partition_epoch=p.partition_epoch) != p


def test_the_last_known_leader_waits_for_eligible_ones():
    """Fails if the last leader is elected while a replica is eligible that surely has every record (rule 27)."""
    assert change(part([], -1, elr=[2], last=[3]), rules(3)) is None


def test_an_unclean_leader_is_the_whole_isr():
    """Fails if an unclean leader shares the ISR with a dead member, whose records it lacks (I-ELECT-3; without ELR the last
    member stays)."""
    p = after(part([2], -1), change(part([2], -1), rules(3, elr=False), Election.UNCLEAN))
    assert (p.leader, p.isr, p.recovering) == (3, (3,), True)

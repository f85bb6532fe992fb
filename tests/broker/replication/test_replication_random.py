"""Random schedules: fetch sessions and a replica alone, judged by what must be true of each answer (small_worlds/replication)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from minikafka.broker.replication.fetch_session import MOST_PARTITIONS, FetchSessions
from minikafka.proof.small_worlds.replication.fetch_session_life import FetchSessionLife, fetch_sessions_alone
from minikafka.proof.small_worlds.replication.replica_life import ReplicaLife, replica_alone
from minikafka.proof.weakened.swap import without


@pytest.mark.parametrize(("alone", "seeds"), [(fetch_sessions_alone, range(8, 60)), (replica_alone, range(20, 60))])
def test_random_schedules(alone: Any, seeds: range) -> None:
    """Fails if a session or a replica gives an answer that no rule allows. The tests below run the seeds before these."""
    assert {seed: fallen for seed in seeds if (fallen := alone(seed))} == {}


@pytest.mark.parametrize("life", [FetchSessionLife, ReplicaLife])
def test_equal_seeds_give_equal_runs(life: Any) -> None:
    """Fails if anything depends on the order of a set or on hash()."""
    first, second = life(7), life(7)
    for one in (first, second):
        one.live()
    assert first.met == second.met and first.now == second.now


def test_fetch_sessions_meet_what_they_are_meant_to_meet() -> None:
    """Fails if the schedules become too simple: each refusal, evictions, tables without room, old sessions must occur."""
    met: Counter[str] = Counter()
    for seed in range(8):
        life = FetchSessionLife(seed)
        life.live()
        met += life.met
    errors = ("NONE", "FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH", "FETCH_SESSION_TOPIC_ID_ERROR")
    assert {*(f"request {error}" for error in errors), "incremental answer NONE",
            "incremental answer INVALID_FETCH_SESSION_EPOCH", "evicted", "no room"} <= met.keys()


def test_replicas_meet_what_they_are_meant_to_meet() -> None:
    """Fails if the schedules become too simple: each effect, refusal and verdict must occur."""
    met: Counter[str] = Counter()
    for seed in range(20):
        life = ReplicaLife(seed)
        life.live()
        met += life.met
    effects = ("AssignEpoch", "Follow", "HighWatermark", "IsrCommitted", "Lead", "LogEndMoved", "ProposeIsr", "StartAt",
               "Truncate")
    verdicts = ("NONE", "INELIGIBLE_REPLICA", "OPERATION_NOT_ATTEMPTED", "INVALID_UPDATE_VERSION", "FENCED_LEADER_EPOCH",
                "REQUEST_TIMED_OUT")
    assert {*effects, *(f"verdict {error}" for error in verdicts), "preferred", "ack NONE", "ack NoneType",
            "ack NOT_ENOUGH_REPLICAS_AFTER_APPEND", "check_append NOT_ENOUGH_REPLICAS", "check_leader FENCED_LEADER_EPOCH",
            "divergence EpochEnd", "divergence OFFSET_OUT_OF_RANGE", "on_follower_fetch NOT_LEADER_OR_FOLLOWER"} <= met.keys()


@pytest.mark.parametrize(("field", "value", "id"), [
    ("high_watermark", lambda r: r.log.end_offset + 1, "I-HW-1"), ("leader_epoch", lambda r: r.leader_epoch + 1, "I-LEAD-1"),
    ("epoch_start", lambda r: r.log.end_offset + 1, "I-LEAD-2"), ("leader", lambda r: 2, "I-LEAD-3"),
    ("partition_epoch", lambda r: r.partition_epoch + 1, "I-ISR-3")])
def test_each_assert_on_the_state_can_fall(field: str, value: Any, id: str) -> None:
    """Fails if a leader's state that breaks one of these invariants passes."""
    life = ReplicaLife(7)
    while not (life.replica.is_leader and life.replica.isr.proposal is not None):
        life.something()
    life.replica.check()
    setattr(life.replica, field, value(life.replica))
    with pytest.raises(AssertionError, match=id):
        life.replica.check()


@pytest.mark.parametrize(("field", "value"), [("partitions", MOST_PARTITIONS + 1), ("partitions", -1), ("max_sessions", 0)])
def test_each_assert_on_the_sessions_can_fall(field: str, value: int) -> None:
    """Fails if sessions beyond their limits pass."""
    sessions: FetchSessions[int] = FetchSessions(10, 120.0, lambda: 101)
    sessions.answer(sessions.open(0, 0, False, {("t", 0): 0}, (), 0.0), {}, False, False, 0.0)
    sessions.check()
    setattr(sessions, field, value)
    with pytest.raises(AssertionError, match="I-SESSION-4"):
        sessions.check()


@pytest.mark.parametrize("rule", ["acked_one_early", "gives_up_proposal", "older_epoch_served", "truncates_to_hw"])
def test_the_judge_of_a_replica_is_not_blind(rule: str) -> None:
    """Fails if one of these rules can be broken unnoticed where no assert of the replica sees it."""
    with without(rule):
        assert any(replica_alone(seed) for seed in range(10))

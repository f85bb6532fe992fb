"""Random schedules: fetch sessions and a replica alone, judged by what must be true of each answer (small_worlds/replication)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from minikafka.broker.replication.fetch_session import Cached, FetchSessions, SessionClient
from minikafka.proof.small_worlds.replication.fetch_session_life import FetchSessionLife, fetch_sessions_alone
from minikafka.proof.small_worlds.replication.replica_life import ReplicaLife, replica_alone
from minikafka.sim.world.replaced import replaced

continued = FetchSessions._continue


@pytest.mark.parametrize("alone", [fetch_sessions_alone, replica_alone])
def test_random_schedules(alone: Any) -> None:
    """Fails if a session or a replica gives an answer that no rule allows."""
    assert {seed: fallen for seed in range(60) if (fallen := alone(seed))} == {}


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


def forgets_errors(cached: Any, answer: Any) -> bool:
    """Tell nothing new after an error has ended with the same watermark."""
    news = bool(answer.records or answer.error_code or answer.high_watermark != cached.high_watermark
                or answer.log_start_offset != cached.log_start_offset or answer.preferred_read_replica >= 0
                or answer.diverging_epoch is not None)
    if not answer.error_code:
        cached.high_watermark, cached.log_start_offset = answer.high_watermark, answer.log_start_offset
    return news


def any_epoch(sessions: Any, session: Any, *arguments: Any) -> Any:
    """Continue a session without counting."""
    epoch = session.epoch
    context = continued(sessions, session, *arguments)
    session.epoch = context.epoch = epoch
    return context


@pytest.mark.parametrize(("kind", "name", "broken"), [
    (Cached, "has_news", forgets_errors), (FetchSessions, "_continue", any_epoch),
    (FetchSessions, "_make_room", lambda *_: True),
    (FetchSessions, "_end", lambda sessions, session_id: sessions.sessions.pop(session_id, None)),
    (SessionClient, "build", lambda client, wanted: (wanted, []))])
def test_the_judge_of_sessions_is_not_blind(kind: type, name: str, broken: Any) -> None:
    """Fails if a session passes that leaves out news, takes every epoch or has no end, or a fetcher that forgets nothing."""
    with replaced(kind, name, broken):
        assert any(fetch_sessions_alone(seed) for seed in range(10)), name

"""The leader's table of fetch sessions: Kafka's refusals and limits; the rest is in test_replication_random.py."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from minikafka.broker.replication.fetch_session import (
    FINAL_EPOCH,
    FetchSessions,
)
from minikafka.protocol.errors import Err
from minikafka.sim.world.replaced import replaced

A, B = ("a", 0), ("b", 0)


def table(size: int = 10) -> FetchSessions[int]:
    ids = itertools.count(101)
    return FetchSessions(size, 120.0, lambda: next(ids))


def data(records: bytes = b"", error: int = 0, hw: int = 0, start: int = 0) -> Any:
    return SimpleNamespace(records=records, error_code=error, high_watermark=hw, log_start_offset=start,
                           preferred_read_replica=-1, diverging_epoch=None)


def ask(sessions: FetchSessions[int], session: int, epoch: int, wanted: dict[Any, int], answers: dict[Any, Any],
        forgotten: tuple[Any, ...] = (), by_id: bool = False, follower: bool = False, now: float = 0.0) -> Any:
    """One request and its answer: (error, session id, partitions asked for, partitions answered)."""
    context = sessions.open(session, epoch, by_id, wanted, forgotten, now)
    found = {key: answers.get(key, data()) for key in context.wanted}
    error, session_id, news = sessions.answer(context, found, by_id, follower, now)
    return error, session_id, list(context.wanted), list(news)


def test_refusals() -> None:
    """Fails when a wrong session id, epoch or kind of key is not answered with exactly Kafka's error."""
    s = table()
    assert ask(s, 0, 1, {}, {})[:2] == (Err.FETCH_SESSION_ID_NOT_FOUND, 0)
    assert ask(s, 55, 0, {A: 0}, {})[:2] == (Err.NONE, 101)           # a full request may name a session nobody has
    assert ask(s, 55, FINAL_EPOCH, {A: 0}, {})[:2] == (Err.NONE, 0)
    assert ask(s, 101, 2, {}, {})[:2] == (Err.INVALID_FETCH_SESSION_EPOCH, 0)
    assert ask(s, 101, 1, {}, {}, by_id=True)[:2] == (Err.FETCH_SESSION_TOPIC_ID_ERROR, 0)
    assert ask(s, 101, 1, {}, {})[:2] == (Err.NONE, 101)              # none of this has disturbed the session


def test_a_session_that_ends_while_it_waits() -> None:
    """Fails when a request is answered for a session whose last partition another connection has made it forget meanwhile, or
    which has grown too large; it has no such partition any more."""
    s = table()
    ask(s, 0, 0, {A: 0}, {})
    slow = s.open(101, 1, False, {}, (), 0.0)
    assert ask(s, 101, 2, {}, {}, forgotten=(A,))[:2] == (Err.NONE, 0)
    assert s.answer(slow, {A: data(b"x")}, False, False, 0.0) == (Err.INVALID_FETCH_SESSION_EPOCH, 101, {})


def test_eviction() -> None:
    """Fails when a full table throws out a live session for a consumer, or none for a follower or when one is idle."""
    s = table(size=1)
    assert ask(s, 0, 0, {A: 0}, {})[1] == 101
    assert ask(s, 0, 0, {A: 0}, {})[1] == 0                           # full: served without a session
    assert ask(s, 0, 0, {A: 0}, {}, follower=True)[1] == 102          # a follower is worth more
    assert ask(s, 0, 0, {A: 0}, {}, follower=True)[1] == 0
    assert ask(s, 0, 0, {A: 0}, {}, now=121.0)[1] == 103              # nobody has used it for two minutes


def test_sessions_have_a_largest_size_together() -> None:
    """Fails when sessions grow without end, when what ended still counts, or when brokers pay for clients (I-SESSION-4)."""
    many = {("t", index): 0 for index in range(6)}
    s: FetchSessions[int] = FetchSessions(10, 120.0, itertools.count(101).__next__, most_partitions=8)
    assert ask(s, 0, 0, many, {})[:2] == (Err.NONE, 101)
    assert ask(s, 0, 0, {A: 0, B: 0, ("c", 0): 0}, {})[:2] == (Err.NONE, 0), "no room: no session, and a full answer"
    assert ask(s, 0, 0, {A: 0}, {})[:2] == (Err.NONE, 102)
    assert ask(s, 0, 0, many, {}, follower=True)[:2] == (Err.NONE, 103)
    assert ask(s, 101, 1, {A: 0}, {})[0] == Err.NONE
    assert ask(s, 102, 1, {B: 0}, {})[0] == Err.FETCH_SESSION_ID_NOT_FOUND
    assert s.partitions == 7 and sorted(s.sessions) == [101, 103]
    assert ask(s, 101, 2, {}, {}, forgotten=(A,))[0] == Err.NONE
    assert s.partitions == 6
    ask(s, 101, -1, {}, {})
    assert s.partitions == 0
    s.check()
    for name, value in (("partitions", 9), ("max_sessions", 0)):
        with replaced(s, name, value), pytest.raises(AssertionError, match="I-SESSION-4"):
            s.check()

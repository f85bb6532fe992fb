"""Fetch sessions (KIP-227): requests and responses name only the partitions that have changed.

The full request is sent once; the leader keeps it under a session id, and each later request names the partitions whose
position moved, each later answer those with something new. The session epoch orders the requests: 0 asks for a new
session, -1 ends one, 1, 2, 3, ... continue it (after 2^31-1 comes 1).

Owns: both ends. `FetchSessions` is the leader's table of sessions, `SessionClient` what a follower remembers of one.
Invariants
  I-SESSION-1  a request continues a session only with the epoch that is next; any other is refused whole.
  I-SESSION-2  what a partition is known by (topic id or name) never changes within a session. Of topics that are known by id
               it keeps the names: a topic that is deleted is still refused as that topic.
  I-SESSION-3  an incremental answer leaves out a partition only if neither records, errors, high watermark nor log
               start have anything new to say; a partition answered with records goes to the end of the line.
  I-SESSION-4  there are at most `max_sessions`, and all consumers' sessions together have at most `most_partitions`: a session
               without room is not made (its fetcher goes on naming everything), and one that grows too large ends.
What Kafka does differently: eviction also weighs how many partitions a session has; here the least recently used one
goes, consumers' before followers'. There a session may grow without end. Source: kafka.server.FetchSession, FetchSessionHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sized
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from minikafka.protocol.errors import Err

NO_SESSION = 0
MOST_PARTITIONS = 300_000  # of all consumers' sessions of a broker
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
MAX_EPOCH = 0x7FFFFFFF

Key = tuple[Hashable, int]            # (topic id or topic name, partition)
Wanted = TypeVar("Wanted")            # a partition of the request, opaque here


class PartitionData(Protocol):
    """The part of a Fetch response about one partition, with the fields that a session reads."""

    @property
    def error_code(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def log_start_offset(self) -> int: ...
    @property
    def preferred_read_replica(self) -> int: ...
    @property
    def diverging_epoch(self) -> object | None: ...
    @property
    def records(self) -> Sized | None: ...


Told = TypeVar("Told", bound=PartitionData)


def next_epoch(epoch: int) -> int:
    """Return the session epoch that follows `epoch`."""
    return 1 if epoch == MAX_EPOCH else epoch + 1


@dataclass(slots=True)
class Cached(Generic[Wanted]):
    """One partition of a session: the last request of it, and the last response."""

    wanted: Wanted
    high_watermark: int = -1
    log_start_offset: int = -1

    def has_news(self, answer: PartitionData) -> bool:
        """Return whether `answer` must be sent (I-SESSION-3), and remember it."""
        news = (bool(answer.records) or answer.error_code != 0 or answer.high_watermark != self.high_watermark
                or answer.log_start_offset != self.log_start_offset or answer.preferred_read_replica >= 0
                or answer.diverging_epoch is not None)
        # After an error the same watermark is news again.
        self.high_watermark = answer.high_watermark if answer.error_code == 0 else -1
        self.log_start_offset = answer.log_start_offset
        return news


@dataclass(slots=True)
class FetchSession(Generic[Wanted]):
    """One fetcher's session at the leader. `epoch` is the one expected of the next request."""

    id: int
    by_topic_id: bool
    follower: bool
    epoch: int
    created: float
    used: float
    partitions: dict[Key, Cached[Wanted]] = field(default_factory=dict)
    names: dict[Hashable, str] = field(default_factory=dict)        # by topic id


@dataclass(slots=True)
class FetchContext(Generic[Wanted]):
    """One request in the light of its session: which partitions it is about, and how it is to be answered."""

    wanted: dict[Key, Wanted]
    session: FetchSession[Wanted] | None = None      # the session this request continues
    create: bool = False                        # a full request that would like one
    error: Err = Err.NONE                       # the whole request is refused
    epoch: int = FINAL_EPOCH
    names: dict[Hashable, str] = field(default_factory=dict)        # of topics that are known by id, once they were found


class FetchSessions(Generic[Wanted]):
    """The leader's sessions: at most `max_sessions`; one unused for `evict_after` seconds may be thrown out."""

    def __init__(self, max_sessions: int, evict_after: float, new_id: Callable[[], int],
                 most_partitions: int = MOST_PARTITIONS) -> None:
        self.max_sessions, self.evict_after, self._new_id = max_sessions, evict_after, new_id
        self.sessions: dict[int, FetchSession[Wanted]] = {}
        self.most_partitions = most_partitions
        self.partitions = 0                 # of all consumers' sessions

    def open(self, session_id: int, epoch: int, by_topic_id: bool, wanted: dict[Key, Wanted],
             forgotten: Iterable[Key], now: float) -> FetchContext[Wanted]:
        """Place a request: full (epoch 0 or -1), or the next one of a session."""
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._end(session_id)
            return FetchContext(wanted, create=epoch == INITIAL_EPOCH)
        session = self.sessions.get(session_id)
        if session is None:
            return FetchContext({}, error=Err.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return FetchContext({}, error=Err.INVALID_FETCH_SESSION_EPOCH)
        if session.by_topic_id != by_topic_id:
            return FetchContext({}, error=Err.FETCH_SESSION_TOPIC_ID_ERROR)
        return self._continue(session, wanted, forgotten, now)

    def _continue(self, session: FetchSession[Wanted], wanted: dict[Key, Wanted], forgotten: Iterable[Key],
                  now: float) -> FetchContext[Wanted]:
        before = len(session.partitions)
        session.used, session.epoch = now, next_epoch(session.epoch)      # also if it ends here: who still waits is overtaken
        for key, value in wanted.items():
            if key in session.partitions:
                session.partitions[key].wanted = value
            else:
                session.partitions[key] = Cached(value)
        for key in forgotten:
            session.partitions.pop(key, None)
        if not session.follower:
            self.partitions += len(session.partitions) - before
        if self.partitions > self.most_partitions and len(session.partitions) > before:
            self._end(session.id)                        # its fetcher begins anew, and names everything
            return FetchContext({}, error=Err.FETCH_SESSION_ID_NOT_FOUND)
        if not session.partitions:                       # nothing left to wait for: the session ends
            self._end(session.id)
            return FetchContext(wanted)
        everything = {key: cached.wanted for key, cached in session.partitions.items()}
        return FetchContext(everything, session, epoch=session.epoch, names=session.names)

    def answer(self, context: FetchContext[Wanted], answers: dict[Key, Told], by_topic_id: bool, follower: bool,
               now: float) -> tuple[Err, int, dict[Key, Told]]:
        """Return (top-level error, session id, the answers to send) for a context whose partitions were read."""
        error, session_id = self.head(context)
        if error:
            return error, session_id, {}
        if context.session is not None:
            return Err.NONE, session_id, self._news(context.session, answers)
        if not context.create or not self._make_room(follower, len(answers), now):
            return Err.NONE, NO_SESSION, answers
        return Err.NONE, self._create(context, answers, by_topic_id, follower, now), answers

    @staticmethod
    def head(context: FetchContext[Wanted]) -> tuple[Err, int]:
        """Return (top-level error, session id) of an answer without partitions: no session is made, and none takes note
        of an answer."""
        session = context.session
        if session is None:
            return context.error, NO_SESSION
        # Another connection may have used the session meanwhile.
        return Err.NONE if session.epoch == context.epoch else Err.INVALID_FETCH_SESSION_EPOCH, session.id

    def _news(self, session: FetchSession[Wanted], answers: dict[Key, Told]) -> dict[Key, Told]:
        news = {}
        for key, answer in answers.items():
            cached = session.partitions[key]
            if cached.has_news(answer):
                news[key] = answer
                if answer.records:                       # served: the others come first next time
                    session.partitions[key] = session.partitions.pop(key)
        return news

    def _create(self, context: FetchContext[Wanted], answers: dict[Key, Told], by_topic_id: bool, follower: bool,
                now: float) -> int:
        session_id = self._new_id()
        while session_id == NO_SESSION or session_id in self.sessions:
            session_id = self._new_id()
        session = FetchSession[Wanted](session_id, by_topic_id, follower, next_epoch(INITIAL_EPOCH), now, now,
                                       names=context.names)
        for key, answer in answers.items():
            cached = session.partitions[key] = Cached(context.wanted[key])
            cached.has_news(answer)
        self.sessions[session_id] = session
        if not follower:
            self.partitions += len(session.partitions)
        return session_id

    def _end(self, session_id: int) -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None and not session.follower:
            self.partitions -= len(session.partitions)

    def check(self) -> None:
        """Assert what holds between two requests. The handler of Fetch calls it with each answer."""
        assert len(self.sessions) <= self.max_sessions, f"I-SESSION-4 {len(self.sessions)} sessions"
        assert 0 <= self.partitions <= self.most_partitions, f"I-SESSION-4 {self.partitions} partitions of consumers"

    def _make_room(self, follower: bool, partitions: int, now: float) -> bool:
        if not follower and self.partitions + partitions > self.most_partitions:
            return False
        if len(self.sessions) < self.max_sessions:
            return True
        oldest = min(self.sessions.values(), key=lambda s: s.used, default=None)
        if oldest is None:
            return False
        if now - oldest.used <= self.evict_after:
            # No session is idle: a follower may take the place of a consumer, a consumer takes no place.
            consumers = (s for s in self.sessions.values() if not s.follower)
            oldest = min(consumers, key=lambda s: s.used, default=None) if follower else None
        if oldest is None:
            return False
        self._end(oldest.id)
        return True


class SessionClient(Generic[Wanted]):
    """A fetcher's end of one session: decides what the next request must say."""

    def __init__(self) -> None:
        self.id, self.epoch = NO_SESSION, INITIAL_EPOCH
        self.sent: dict[Key, Wanted] = {}

    def build(self, wanted: dict[Key, Wanted]) -> tuple[dict[Key, Wanted], list[Key]]:
        """Return (partitions to name, partitions to forget) so that the leader knows `wanted`; sent with .id and .epoch."""
        if self.epoch == INITIAL_EPOCH:
            self.sent = dict(wanted)
            return wanted, []
        changed = {key: value for key, value in wanted.items() if self.sent.get(key) != value}
        kept = len(wanted) - sum(key not in self.sent for key in changed)
        forgotten = [key for key in self.sent if key not in wanted] if kept < len(self.sent) else []
        self.sent = dict(wanted)
        return changed, forgotten

    def on_response(self, error: Err, session_id: int) -> bool:
        """Take note of the answer's head; False if its partitions must not be used."""
        if error != Err.NONE:
            self.reset(session_id if error == Err.INVALID_FETCH_SESSION_EPOCH else NO_SESSION)
            return False
        if session_id == NO_SESSION:
            self.reset()
        else:
            self.epoch = 1 if self.id != session_id else next_epoch(self.epoch)
            self.id = session_id
        return True

    def reset(self, session_id: int = NO_SESSION) -> None:
        """Make the next request a full one, which closes `session_id` at the leader if the leader still has it."""
        self.id, self.epoch, self.sent = session_id, INITIAL_EPOCH, {}

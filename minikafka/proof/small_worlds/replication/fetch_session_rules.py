"""What KIP-227 says of each answer of the table of fetch sessions, and of each request of a fetcher: a second opinion.

    booked = rules.request(session_id, epoch, by_topic_id, wanted, forgotten, now)     booked.error, booked.wanted
    rules.answer(booked, found, follower, now, told)      `told`: what the table answered; raises RuleFallen
    fetcher.request(wanted), fetcher.answer(error, id)    the same for the fetcher's end

The judge knows no watermark that is cached. It remembers what each fetcher was told, and counts the requests of each session.

Owns: the book of sessions, from the one that was used longest ago to the one that was used last.
Source: KIP-227, KIP-516; kafka.server.FetchSession, FetchSessionHandler; for evictions the header of fetch_session.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from minikafka.broker.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    NO_SESSION,
    Key,
    PartitionData,
)
from minikafka.proof.small_worlds.checks import same, that
from minikafka.protocol.errors import Err

Answers = Mapping[Key, PartitionData]
Picture = tuple[int, int] | None                # high watermark and log start; None: an error, or nothing was told yet


def epoch_of(requests: int) -> int:
    """Return the epoch of a session's request after so many others: 1, 2, ..., the largest, and 1 again."""
    return requests % MAX_EPOCH + 1


@dataclass(eq=False)
class BookedSession:
    """A session as its fetcher sees it."""

    id: int
    by_topic_id: bool
    follower: bool
    used: float
    requests: int = 0                                               # that have continued it
    line: list[Key] = field(default_factory=list)                   # its partitions, in the order in which they are read
    positions: dict[Key, int] = field(default_factory=dict)
    pictures: dict[Key, Picture] = field(default_factory=dict)      # what the fetcher was told last

    def continue_with(self, wanted: Mapping[Key, int], forgotten: Sequence[Key], now: float) -> None:
        """Take note of what a request adds, moves and forgets."""
        self.requests += 1
        self.used = now
        self.positions.update(wanted)
        self.line += [key for key in wanted if key not in self.line]
        for key in forgotten:
            self.pictures.pop(key, None)
        self.line = [key for key in self.line if key not in forgotten]

    def tells(self, found: Answers) -> list[Key]:
        """Return the partitions that the next answer must tell, and note that it was told."""
        told = [key for key, one in found.items() if _says_something(one) or self.pictures.get(key) != _picture(one)]
        self.pictures.update({key: _picture(found[key]) for key in told})
        served = [key for key in told if found[key].records]
        self.line = [key for key in self.line if key not in served] + served
        return told


def _says_something(answer: PartitionData) -> bool:
    return bool(answer.error_code or answer.records) or answer.preferred_read_replica != -1 or answer.diverging_epoch is not None


def _picture(answer: PartitionData) -> Picture:
    return None if answer.error_code else (answer.high_watermark, answer.log_start_offset)


@dataclass(eq=False)
class BookedFetch:
    """A request: what it is refused with, or which partitions it reads, in this order."""

    error: Err = Err.NONE
    wanted: list[tuple[Key, int]] = field(default_factory=list)
    session: BookedSession | None = None        # which it continues
    number: int = 0                             # among the requests of that session
    opens: bool = False                         # it would like a session
    by_topic_id: bool = False


class FetchSessionRules:
    """The judge of one table."""

    def __init__(self, max_sessions: int, evict_after: float, most_partitions: int) -> None:
        self.max_sessions, self.evict_after, self.most_partitions = max_sessions, evict_after, most_partitions
        self.sessions: dict[int, BookedSession] = {}

    @property
    def partitions(self) -> int:
        """Return how many partitions all sessions of consumers have."""
        return sum(len(one.line) for one in self.sessions.values() if not one.follower)

    def request(self, session_id: int, epoch: int, by_topic_id: bool, wanted: Mapping[Key, int], forgotten: Sequence[Key],
                now: float) -> BookedFetch:
        """Return what becomes of a request (I-SESSION-1, I-SESSION-2)."""
        if epoch == INITIAL_EPOCH or epoch == FINAL_EPOCH:
            self.sessions.pop(session_id, None)
            return BookedFetch(wanted=[*wanted.items()], opens=epoch == INITIAL_EPOCH, by_topic_id=by_topic_id)
        session = self.sessions.get(session_id)
        if session is None:
            return BookedFetch(Err.FETCH_SESSION_ID_NOT_FOUND)
        if epoch != epoch_of(session.requests):
            return BookedFetch(Err.INVALID_FETCH_SESSION_EPOCH)
        if by_topic_id is not session.by_topic_id:
            return BookedFetch(Err.FETCH_SESSION_TOPIC_ID_ERROR)
        session.continue_with(wanted, forgotten, now)
        if self.partitions > self.most_partitions:
            del self.sessions[session_id]
            return BookedFetch(Err.FETCH_SESSION_ID_NOT_FOUND)
        del self.sessions[session_id]
        if not session.line:
            return BookedFetch(wanted=[*wanted.items()])
        self.sessions[session_id] = session                  # now the one that was used last
        return BookedFetch(wanted=[(key, session.positions[key]) for key in session.line], session=session,
                           number=session.requests)

    def head(self, booked: BookedFetch) -> tuple[Err, int]:
        """Return error and session of an answer that tells nothing."""
        if booked.session is None:
            return booked.error, NO_SESSION
        overtaken = booked.session.requests != booked.number
        return Err.INVALID_FETCH_SESSION_EPOCH if overtaken else Err.NONE, booked.session.id

    def answer(self, booked: BookedFetch, found: Answers, follower: bool, now: float, told: tuple[Err, int, Answers]) -> None:
        """Judge the answer to a request whose partitions are `found` so."""
        error, session_id = self.head(booked)
        if booked.opens and self._makes_room(follower, len(found), now):
            session_id = told[1]
            that("I-SESSION-1", session_id != NO_SESSION and session_id not in self.sessions,
                 f"a new session gets the id {session_id}, those in use are {[*self.sessions]}")
            session = self.sessions[session_id] = BookedSession(session_id, booked.by_topic_id, follower, now)
            session.line, session.positions = [*found], dict(booked.wanted)
            session.pictures = {key: _picture(one) for key, one in found.items()}
        same("I-SESSION-1", "the answer's error and session", told[:2], (error, session_id))
        if error:
            tells = []
        else:
            tells = [*found] if booked.session is None else booked.session.tells(found)
        same("I-SESSION-3", "the partitions told", [*told[2].items()], [(key, found[key]) for key in tells])

    def _makes_room(self, follower: bool, partitions: int, now: float) -> bool:
        """Return whether one more session may be, and let the one leave in whose place it comes (I-SESSION-4)."""
        if not follower and partitions > self.most_partitions - self.partitions:
            return False
        if len(self.sessions) < self.max_sessions:
            return True
        by_use = [*self.sessions.values()]
        idle = [one for one in by_use if one.used + self.evict_after < now]
        may_leave = idle or [one for one in by_use if follower and not one.follower]
        if not may_leave:
            return False
        del self.sessions[may_leave[0].id]
        return True


class FetcherRules:
    """The judge of a fetcher's end of a session: it remembers the last request and counts the answers."""

    def __init__(self) -> None:
        self.id, self.answers = NO_SESSION, 0          # answers in this session; with none the next request is a full one
        self.last: dict[Key, int] = {}

    @property
    def epoch(self) -> int:
        return epoch_of(self.answers - 1) if self.answers else INITIAL_EPOCH

    def request(self, wanted: Mapping[Key, int]) -> tuple[dict[Key, int], list[Key]]:
        """Return what the next request names and forgets."""
        last = self.last if self.answers else {}
        self.last = dict(wanted)
        names = {key: wanted[key] for key in wanted if (key, wanted[key]) not in last.items()}
        return names, [key for key in last if key not in wanted]

    def answer(self, error: Err, session_id: int) -> None:
        """Take note of an answer."""
        if error or session_id == NO_SESSION:
            self.begin(session_id if error is Err.INVALID_FETCH_SESSION_EPOCH else NO_SESSION)
        else:
            self.answers = self.answers + 1 if session_id == self.id and self.answers else 1
            self.id = session_id

    def begin(self, session_id: int) -> None:
        """Begin anew: the next request is a full one, which ends `session_id`."""
        self.id, self.answers = session_id, 0

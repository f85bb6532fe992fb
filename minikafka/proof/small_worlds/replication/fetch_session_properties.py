"""What must be true of the table of fetch sessions after each request and each answer, by its state before and after (KIP-227).

    before = seen(sessions)
    context = sessions.open(7, 3, False, wanted, forgotten, now)
    properties.of_request(before, (7, 3, False, wanted, forgotten, now), context)      raises RuleFallen
    properties.of_answer(before, context, found, follower, now, answered)

No second table is kept, only what cannot be seen in the first: what each fetcher was answered last, and the last request of
each session.

Owns: that memory. Source: KIP-227, KIP-516; kafka.server.FetchSession; for evictions the header of fetch_session.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from minikafka.broker.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    NO_SESSION,
    FetchContext,
    FetchSession,
    FetchSessions,
    Key,
    PartitionData,
)
from minikafka.proof.small_worlds.checks import same, that
from minikafka.protocol.errors import Err

Answers = Mapping[Key, PartitionData]
Picture = tuple[int, int] | None                # high watermark and log start; None: an error, or there was no answer yet


class SessionSeen(NamedTuple):
    """A session at one moment; `line`: its partitions in the order in which they are read, each with its position."""

    created: float                              # no two sessions were created at one moment
    by_topic_id: bool
    follower: bool
    epoch: int
    used: float
    line: list[tuple[Key, int]]


Table = Mapping[int, SessionSeen]


def seen(sessions: FetchSessions[int]) -> Table:
    """Return the sessions by id."""
    return {id: SessionSeen(one.created, one.by_topic_id, one.follower, one.epoch, one.used, [
        (key, cached.wanted) for key, cached in one.partitions.items()]) for id, one in sessions.sessions.items()}


def size(table: Iterable[SessionSeen]) -> int:
    """Return the number of partitions in all sessions of consumers."""
    return sum(len(one.line) for one in table if not one.follower)


class FetchSessionProperties:
    """The properties of one table, from its start on."""

    def __init__(self, sessions: FetchSessions[int]) -> None:
        self.sessions = sessions
        self.latest: dict[float, FetchContext[int]] = {}            # of each session, by its creation
        self.pictures: dict[float, dict[Key, Picture]] = {}

    def of_request(self, before: Table, request: tuple[Any, ...], context: FetchContext[int]) -> None:
        """Judge what a request does: it begins anew, is refused for its reason, or is its session's next one (I-SESSION-1)."""
        id, epoch, by_topic_id, wanted, forgotten, now = request
        after, old = {**seen(self.sessions)}, before.get(id)
        others = {one: it for one, it in before.items() if one != id}
        mine = after.pop(id, None)
        same("I-SESSION-1", f"the other sessions after {request}", after, others)
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            same("I-SESSION-1", f"a full request {request}", (context, mine), (FetchContext(wanted, create=not epoch), None))
        elif old is None or epoch != old.epoch or by_topic_id != old.by_topic_id:
            error = Err.FETCH_SESSION_ID_NOT_FOUND if old is None else Err.FETCH_SESSION_TOPIC_ID_ERROR if (
                epoch == old.epoch) else Err.INVALID_FETCH_SESSION_EPOCH
            same("I-SESSION-1", f"the refusal of {request}", (context, mine), (FetchContext({}, error=error), old))
        else:
            line = [item for item in ({**dict(old.line), **wanted}).items() if item[0] not in forgotten]
            new = old._replace(epoch=epoch % MAX_EPOCH + 1, used=now, line=line)
            large = len(line) > len(old.line) and size([*others.values(), new]) > self.sessions.most_partitions
            same("I-SESSION-4", f"the session after {request}", mine, new if line and not large else None)
            reads = [] if large else line or [*wanted.items()]
            same("I-SESSION-3", f"the partitions that {request} reads", ([*context.wanted.items()], context.error), (
                reads, Err.FETCH_SESSION_ID_NOT_FOUND if large else Err.NONE))
            self.latest[old.created] = context
            for key in forgotten:
                self.pictures[old.created].pop(key, None)

    def of_head(self, context: FetchContext[int], answered: tuple[Err, int]) -> None:
        """Judge error and session of an answer: another connection may have sent the session's next request."""
        session = context.session
        overtaken = session is not None and self.latest[session.created] is not context
        same("I-SESSION-1", "error and session of an answer", answered, (
            Err.INVALID_FETCH_SESSION_EPOCH if overtaken else context.error, NO_SESSION if session is None else session.id))

    def of_answer(self, before: Table, context: FetchContext[int], found: Answers, follower: bool, now: float,
                  answered: tuple[Err, int, Answers]) -> None:
        """Judge the answer to a request whose partitions are `found`."""
        error, id, answers = answered
        made = self.sessions.sessions.get(id) if context.create else None
        if context.create:
            self._of_room(before, made, len(found), follower, now)
        if made is None:
            self.of_head(context, answered[:2])
        else:
            self.pictures[made.created] = {key: _picture(one) for key, one in found.items()}
        tells = [] if error else [*found] if context.session is None else self._news(context.session, found)
        same("I-SESSION-3", "the partitions in the answer", [*answers.items()], [(key, found[key]) for key in tells])

    def _news(self, session: FetchSession[int], found: Answers) -> list[Key]:
        """Return the partitions that the answer must name; the ones with records are now read last (I-SESSION-3)."""
        pictures = self.pictures[session.created]
        answered = [key for key, one in found.items() if one.error_code or one.records or one.preferred_read_replica != -1
                or one.diverging_epoch is not None or pictures.get(key) != _picture(one)]
        pictures.update({key: _picture(found[key]) for key in answered})
        if session.id in self.sessions.sessions:
            same("I-SESSION-3", "the line", [*session.partitions], sorted(found, key=lambda key: bool(found[key].records)))
        return answered

    def _of_room(self, before: Table, made: FetchSession[int] | None, partitions: int, follower: bool, now: float) -> None:
        """Judge whether a session is made, and which one goes for it: the idle one that was used longest ago, or for a follower a
        consumer's (I-SESSION-4)."""
        table, after = self.sessions, {one.created for one in self.sessions.sessions.values()}
        by_use = sorted(before.values(), key=lambda one: one.used)
        may_go = [one for one in by_use if now - one.used > table.evict_after] or [
            one for one in by_use if follower and not one.follower]
        full, fits = len(before) >= table.max_sessions, follower or partitions + size(before.values()) <= table.most_partitions
        makes = fits and bool(may_go or not full)
        same("I-SESSION-4", f"whether there is room beside {before}", made is not None, makes)
        gone = [one for one in by_use if one.created not in after]
        same("I-SESSION-4", f"who goes from {before}", gone, may_go[:1] if makes and full else [])
        ids = {id for id, one in before.items() if one not in gone} | {NO_SESSION}
        that("I-SESSION-1", made is None or made.id not in ids, f"a new session has the id of one of {before}")


def _picture(answer: PartitionData) -> Picture:
    return None if answer.error_code else (answer.high_watermark, answer.log_start_offset)

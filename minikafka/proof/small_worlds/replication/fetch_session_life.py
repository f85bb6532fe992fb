"""One life of the fetch sessions of a leader: fetchers that add, move and forget partitions, lose answers, begin anew and
vanish; others that send wrong epochs and ids, or end the sessions of others. fetch_session_properties.py judges every answer.

    fetch_sessions_alone(seed)     () if all rules held, else what fell

Owns: what happens when, and the fetchers' pictures of the partitions.
Invariants
  I-FETCHLIFE-1  after each answer that a fetcher uses, its picture of each of its partitions is that of a full fetch: error,
                 high watermark, log start, records.
  I-FETCHLIFE-2  a fetcher's request names what has changed since its last request, no less and no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from minikafka.broker.replication.fetch_session import (
    INITIAL_EPOCH,
    MAX_EPOCH,
    MOST_PARTITIONS,
    NO_SESSION,
    FetchSession,
    FetchSessions,
    Key,
    SessionClient,
)
from minikafka.proof.small_worlds.checks import fallen, same
from minikafka.proof.small_worlds.replication.fetch_session_properties import (
    Answers,
    FetchSessionProperties,
    seen,
    size,
)
from minikafka.proof.small_worlds.replication.lone_fetch_sessions import LonePartitions, OpenFetch, PartitionAnswer
from minikafka.protocol.errors import Err

STEPS = 600
PARTITIONS = 5


def fetch_sessions_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(FetchSessionLife(seed).live)


class LoneFetcher:
    """A follower or a consumer with one session: the partitions that it wants, and its picture of them from the answers."""

    def __init__(self, rng: Random, partitions: LonePartitions) -> None:
        self.rng, self.partitions = rng, partitions
        self.follower, self.by_topic_id = rng.random() < 0.4, rng.random() < 0.5
        self.end: SessionClient[int] = SessionClient()
        self.wanted: dict[Key, int] = {}                 # the position in each partition
        self.pictures: dict[Key, tuple[int, int, int]] = {}
        self.waiting: OpenFetch | None = None
        self.sent: dict[Key, int] = {}                   # by its last request
        self.session: FetchSession[int] | None = None    # that was made for it

    def want(self) -> None:
        """Change what it wants: a partition more or less, another position, another order."""
        key = self.partitions.key(self.rng.randrange(PARTITIONS), self.by_topic_id)
        what = self.rng.random()
        if what < 0.5:
            self.wanted.setdefault(key, 0)
        elif what < 0.75:
            self.wanted.pop(key, None)
        elif what < 0.77:
            self.wanted = {}
        elif key in self.wanted:
            self.wanted[key] = self.rng.randint(0, 3)
        if self.rng.random() < 0.1:
            self.wanted = dict(reversed(self.wanted.items()))

    def request(self) -> tuple[dict[Key, int], list[Key]]:
        """Return the partitions that its request names, and the partitions that it forgets."""
        last = {} if self.end.epoch == INITIAL_EPOCH else self.sent
        self.sent = dict(self.wanted)
        names, forgets = self.end.build(self.sent)
        news = [item for item in self.sent.items() if item not in last.items()]
        same("I-FETCHLIFE-2", "the partitions named", [*names.items()], news)
        same("I-FETCHLIFE-2", "the partitions forgotten", forgets, [key for key in last if key not in self.sent])
        self.pictures = {key: one for key, one in self.pictures.items() if key in last and key in self.sent}
        return names, forgets

    def begin(self, session_id: int) -> None:
        """Begin anew: an answer was lost, or could not be used."""
        self.end.reset(session_id)
        same("I-FETCHLIFE-2", "session and epoch of a full request", (self.end.id, self.end.epoch), (session_id, INITIAL_EPOCH))

    def receive(self, error: Err, session_id: int, answered: Answers, found: dict[Key, PartitionAnswer]) -> None:
        """Use an answer; `found` is the answer to a full fetch at this moment (I-FETCHLIFE-1)."""
        usable = self.end.on_response(error, session_id)
        same("I-FETCHLIFE-2", "whether the answer may be used", usable, error is Err.NONE)
        if error or session_id == NO_SESSION:
            ends = session_id if error is Err.INVALID_FETCH_SESSION_EPOCH else NO_SESSION
            same("I-FETCHLIFE-2", f"its session and epoch after {error}", (self.end.id, self.end.epoch), (ends, INITIAL_EPOCH))
        if error:
            return
        for key, one in answered.items():
            self.pictures[key] = (one.error_code, one.high_watermark, one.log_start_offset)
            if one.records and key in self.sent and self.wanted.get(key) == self.sent[key]:
                self.wanted[key] = self.sent[key] + len(one.records)
        for key, full in found.items():
            known = self.pictures.get(key)
            same("I-FETCHLIFE-1", f"its picture of {key}", known, (full.error_code, full.high_watermark, full.log_start_offset))
            same("I-FETCHLIFE-1", f"its records of {key}", answered[key].records if key in answered else b"", full.records)


class FetchSessionLife:
    """The life that a seed decides. `met`: how often each answer was given."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(f"{seed}:fetch sessions")
        self.now = 0.0                                   # grows with every event: no two sessions were used at one moment
        sessions, idle, most = rng.choice((0, 1, 2, 4, 8)), rng.choice((6.0, 30.0)), rng.choice((2, 6, 10, MOST_PARTITIONS))
        self.sessions: FetchSessions[int] = FetchSessions(sessions, idle, lambda: rng.randrange(sessions + 3), most)
        self.properties = FetchSessionProperties(self.sessions)
        self.partitions = LonePartitions(rng, PARTITIONS)
        self.fetchers = [LoneFetcher(rng, self.partitions) for _ in range(rng.randint(1, 5))]
        self.nonsense = rng.choice((0.0, 0.01, 0.1))     # the chance that a step is a senseless request
        self.odd: list[OpenFetch] = []                # senseless requests that wait
        self.disturbed: set[float] = set()               # sessions that others have used, by their creation
        self.met: Counter[str] = Counter()

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        for _ in range(STEPS):
            self.now += 1
            self.something()
            self.sessions.check()
            same("I-SESSION-4", "the partitions of consumers", self.sessions.partitions, size(seen(self.sessions).values()))

    def something(self) -> None:
        """Let a fetcher take its turn, a partition change, time pass, or a senseless request arrive."""
        what, fetcher = self.rng.random(), self.rng.choice(self.fetchers)
        if what < 0.06:
            fetcher.want()
        elif what < 0.3:
            self.partitions.change()
        elif what < 0.33:
            self.now += self.rng.randint(1, 6)
        elif what < 0.34 and fetcher.waiting is None:
            self.grow_old(fetcher)
        elif what < 0.34 + self.nonsense:
            self.send_nonsense(fetcher)
        elif self.odd and self.rng.random() < 0.1:
            self.answer(self.odd.pop(0))
        else:
            self.turn(fetcher)

    # --- what a fetcher does --------------------------------------------------------------------------------------------

    def turn(self, fetcher: LoneFetcher) -> None:
        """Send the next request, whose answer comes at once or later; or take the answer that it waits for, or lose it."""
        if fetcher.waiting is None:
            names, forgets = fetcher.request()
            end = fetcher.end
            fetcher.waiting = self.request(end.id, end.epoch, fetcher.by_topic_id, names, forgets, fetcher.follower)
            if self.rng.random() < 0.3:
                return
        waiting, fetcher.waiting = fetcher.waiting, None
        fate = self.rng.random()
        if fate < 0.03:                                  # lost on its way
            self.answer(waiting)
            fetcher.begin(NO_SESSION)
        elif fate < 0.06:                                # over its quota: the answer names no partition
            error, session_id = self.head(waiting)
            fetcher.receive(error, session_id, {}, {})
        else:
            error, session_id, answered, found = self.answer(waiting)
            session = waiting.context.session
            if session is None:
                fetcher.session = self.sessions.sessions.get(session_id)
            own = session is None or session is fetcher.session and session.created not in self.disturbed
            fetcher.receive(error, session_id, answered, found if own and not error else {})
            goes_on = fetcher.session
            if own and not error and goes_on is not None and self.sessions.sessions.get(session_id) is goes_on:
                same("I-FETCHLIFE-2", "its next request", (fetcher.end.id, fetcher.end.epoch), (session_id, goes_on.epoch))
            if fate < 0.08 or not own:                   # it could not use the answer: its next request is a full one
                fetcher.begin(fetcher.end.id)

    def grow_old(self, fetcher: LoneFetcher) -> None:
        """Let the session be so old that its epochs are about to begin again."""
        session, others = self.sessions.sessions.get(fetcher.end.id), [one.waiting for one in self.fetchers] + self.odd
        if session is None or any(one is not None and one.context.session is session for one in others):
            return
        if fetcher.end.epoch != INITIAL_EPOCH:
            session.epoch = fetcher.end.epoch = MAX_EPOCH - 1

    # --- the leader -----------------------------------------------------------------------------------------------------

    def request(self, session_id: int, epoch: int, by_topic_id: bool, wanted: dict[Key, int], forgotten: Sequence[Key],
                follower: bool) -> OpenFetch:
        """Let a request arrive."""
        before = seen(self.sessions)
        context = self.sessions.open(session_id, epoch, by_topic_id, wanted, forgotten, self.now)
        self.properties.of_request(before, (session_id, epoch, by_topic_id, wanted, forgotten, self.now), context)
        self.met[f"request {context.error.name}"] += 1
        return OpenFetch(context, by_topic_id, follower)

    def answer(self, waiting: OpenFetch) -> tuple[Err, int, Answers, dict[Key, PartitionAnswer]]:
        """Answer a request with the present state of its partitions; return the answer, and that state."""
        found = self.partitions.fetch(waiting.context.wanted)
        before, context = seen(self.sessions), waiting.context
        answered = self.sessions.answer(context, found, waiting.by_topic_id, waiting.follower, self.now)
        self.properties.of_answer(before, context, found, waiting.follower, self.now, answered)
        kind = "full" if context.session is None else "incremental"
        self.met[f"{kind} answer {answered[0].name}"] += 1
        self.met["evicted"] += bool({*before} - {*self.sessions.sessions})
        self.met["no room"] += context.create and answered[1] == NO_SESSION
        return *answered, found

    def head(self, waiting: OpenFetch) -> tuple[Err, int]:
        answered = self.sessions.head(waiting.context)
        self.properties.of_head(waiting.context, answered)
        return answered

    def send_nonsense(self, fetcher: LoneFetcher) -> None:
        """Send what no fetcher sends: in the name of a session of another, of an epoch that is not next, known otherwise."""
        rng = self.rng
        by_topic_id = fetcher.by_topic_id if rng.random() < 0.8 else not fetcher.by_topic_id
        epoch = rng.choice((fetcher.end.epoch, fetcher.end.epoch, fetcher.end.epoch + 1, 0, -1, 1, 2, MAX_EPOCH))
        keys = [self.partitions.key(index, by_topic_id) for index in range(PARTITIONS)]
        wanted = {key: rng.randint(0, 3) for key in rng.sample(keys, rng.choice((0, 1, 1, 3)))}
        forgotten = rng.sample(keys, rng.choice((0, 0, 1, PARTITIONS)))
        session_id = rng.choice((fetcher.end.id, fetcher.end.id, rng.randrange(5)))
        waiting = self.request(session_id, epoch, by_topic_id, wanted, forgotten, rng.random() < 0.4)
        if waiting.context.session is not None:
            self.disturbed.add(waiting.context.session.created)
        self.odd.append(waiting)

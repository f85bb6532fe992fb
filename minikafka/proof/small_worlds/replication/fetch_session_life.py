"""One life of the fetch sessions of a leader: fetchers that add, move and forget partitions, lose answers, begin anew and
vanish; others that send wrong epochs and ids, or end the sessions of others. fetch_session_rules.py judges every answer.

    fetch_sessions_alone(seed)     () if all rules held, else what fell

Owns: what happens when, and the fetchers' pictures of the partitions.
Invariants
  I-FETCHLIFE-1  after each answer that a fetcher uses, it knows of all its partitions what a full fetch tells: error, high
                 watermark, log start, records.
  I-FETCHLIFE-2  a fetcher's request tells the leader what has changed since its last one, no less and no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from minikafka.broker.replication.fetch_session import (
    MAX_EPOCH,
    MOST_PARTITIONS,
    NO_SESSION,
    FetchSessions,
    Key,
    SessionClient,
)
from minikafka.proof.small_worlds.checks import fallen, same
from minikafka.proof.small_worlds.replication.fetch_session_rules import (
    Answers,
    BookedSession,
    FetcherRules,
    FetchSessionRules,
)
from minikafka.proof.small_worlds.replication.lone_fetch_sessions import LonePartitions, OpenFetch, PartitionTold
from minikafka.protocol.errors import Err

STEPS = 600
PARTITIONS = 5


def fetch_sessions_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(FetchSessionLife(seed).live)


class LoneFetcher:
    """A follower or a consumer with one session: the partitions that it wants, and what it was told of them."""

    def __init__(self, rng: Random, partitions: LonePartitions) -> None:
        self.rng, self.partitions = rng, partitions
        self.follower, self.by_topic_id = rng.random() < 0.4, rng.random() < 0.5
        self.end: SessionClient[int] = SessionClient()
        self.rules = FetcherRules()
        self.wanted: dict[Key, int] = {}                 # the position in each partition
        self.pictures: dict[Key, tuple[int, int, int]] = {}
        self.waiting: OpenFetch | None = None
        self.sent: dict[Key, int] = {}
        self.session: BookedSession | None = None        # that was made for it

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
        """Return the partitions that its request names, and those that it forgets."""
        self.sent = dict(self.wanted)
        names, forgets = self.end.build(self.sent)
        full = self.rules.answers == 0
        must_name, must_forget = self.rules.request(self.sent)
        same("I-FETCHLIFE-2", "the partitions named", [*names.items()], [*must_name.items()])
        same("I-FETCHLIFE-2", "the partitions forgotten", forgets, must_forget)
        same("I-FETCHLIFE-2", "session and epoch", (self.end.id, self.end.epoch), (self.rules.id, self.rules.epoch))
        self.pictures = {} if full else {key: one for key, one in self.pictures.items() if key in self.sent}
        return names, forgets

    def begin(self, session_id: int) -> None:
        """Begin anew: an answer was lost, or could not be used."""
        self.end.reset(session_id)
        self.rules.begin(session_id)

    def hear(self, error: Err, session_id: int, told: Answers, found: dict[Key, PartitionTold]) -> None:
        """Use an answer; `found` is what a full fetch would have told (I-FETCHLIFE-1)."""
        usable = self.end.on_response(error, session_id)
        self.rules.answer(error, session_id)
        same("I-FETCHLIFE-2", "whether the answer may be used", usable, error is Err.NONE)
        if not usable:
            return
        for key, one in told.items():
            self.pictures[key] = (one.error_code, one.high_watermark, one.log_start_offset)
            if one.records and key in self.sent and self.wanted.get(key) == self.sent[key]:
                self.wanted[key] = self.sent[key] + len(one.records)
        for key, full in found.items():
            known = self.pictures.get(key)
            same("I-FETCHLIFE-1", f"its picture of {key}", known, (full.error_code, full.high_watermark, full.log_start_offset))
            same("I-FETCHLIFE-1", f"its records of {key}", told[key].records if key in told else b"", full.records)


class FetchSessionLife:
    """The life that a seed decides. `met`: how often each answer was given."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(f"{seed}:fetch sessions")
        self.now = 0.0                                   # grows with every event: no two sessions were used at one moment
        size, idle, most = rng.choice((0, 1, 2, 4, 8)), rng.choice((6.0, 30.0)), rng.choice((2, 6, 10, MOST_PARTITIONS))
        self.sessions: FetchSessions[int] = FetchSessions(size, idle, lambda: rng.randrange(size + 3), most)
        self.rules = FetchSessionRules(size, idle, most)
        self.partitions = LonePartitions(rng, PARTITIONS)
        self.fetchers = [LoneFetcher(rng, self.partitions) for _ in range(rng.randint(1, 5))]
        self.nonsense = rng.choice((0.0, 0.01, 0.1))     # how often somebody sends some
        self.odd: list[OpenFetch] = []                # requests of nobody that wait
        self.disturbed: set[BookedSession] = set()       # which others have used
        self.met: Counter[str] = Counter()

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        for _ in range(STEPS):
            self.now += 1
            self.something()
            self.sessions.check()
            same("I-SESSION-4", "the sessions", sorted(self.sessions.sessions), sorted(self.rules.sessions))
            same("I-SESSION-4", "the partitions of consumers", self.sessions.partitions, self.rules.partitions)

    def something(self) -> None:
        """Let a fetcher take its turn, a partition change, time pass, or somebody send nonsense."""
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
        elif fate < 0.06:                                # over its quota: it is told nothing
            error, session_id = self.head(waiting)
            fetcher.hear(error, session_id, {}, {})
        else:
            error, session_id, told, found = self.answer(waiting)
            if waiting.booked.session is None:
                fetcher.session = self.rules.sessions.get(session_id)
            own = waiting.booked.session in (None, fetcher.session) and waiting.booked.session not in self.disturbed
            fetcher.hear(error, session_id, told, found if own and not error else {})
            if fate < 0.08 or not own:                   # what it was told it could not use: it asks for everything
                fetcher.begin(fetcher.end.id)

    def grow_old(self, fetcher: LoneFetcher) -> None:
        """Let the session be so old that its epochs are about to begin again."""
        session, booked = self.sessions.sessions.get(fetcher.end.id), self.rules.sessions.get(fetcher.end.id)
        others = [one.waiting for one in self.fetchers] + self.odd
        if session is None or booked is None or any(one is not None and one.booked.session is booked for one in others):
            return
        if fetcher.rules.answers:
            booked.requests = MAX_EPOCH - 2
            session.epoch = fetcher.end.epoch = MAX_EPOCH - 1
            fetcher.rules.answers = MAX_EPOCH - 1

    # --- the leader -----------------------------------------------------------------------------------------------------

    def request(self, session_id: int, epoch: int, by_topic_id: bool, wanted: dict[Key, int], forgotten: Sequence[Key],
                follower: bool) -> OpenFetch:
        """Let a request arrive."""
        booked = self.rules.request(session_id, epoch, by_topic_id, wanted, forgotten, self.now)
        context = self.sessions.open(session_id, epoch, by_topic_id, wanted, forgotten, self.now)
        same("I-SESSION-1", f"the error of a request of epoch {epoch}", context.error, booked.error)
        same("I-SESSION-3", "the partitions that are read", [*context.wanted.items()], booked.wanted)
        self.met[f"request {booked.error.name}"] += 1
        return OpenFetch(context, booked, by_topic_id, follower)

    def answer(self, waiting: OpenFetch) -> tuple[Err, int, Answers, dict[Key, PartitionTold]]:
        """Answer a request with what its partitions tell now; return the answer, and that."""
        found = self.partitions.fetch(waiting.context.wanted)
        before = {*self.rules.sessions}
        told = self.sessions.answer(waiting.context, found, waiting.by_topic_id, waiting.follower, self.now)
        self.rules.answer(waiting.booked, found, waiting.follower, self.now, told)
        kind = "full" if waiting.booked.session is None else "incremental"
        self.met[f"{kind} answer {told[0].name}"] += 1
        self.met["evicted"] += bool(before - {*self.rules.sessions})
        self.met["no room"] += waiting.booked.opens and told[1] == NO_SESSION
        return *told, found

    def head(self, waiting: OpenFetch) -> tuple[Err, int]:
        told = self.sessions.head(waiting.context)
        same("I-SESSION-1", "error and session of an empty answer", told, self.rules.head(waiting.booked))
        return told

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
        if waiting.booked.session is not None:
            self.disturbed.add(waiting.booked.session)
        self.odd.append(waiting)

"""A frame: everything that one picture of a cluster shows, as values that a renderer only has to arrange.

What it is: frozen dataclasses between the two halves of the picture. `compose.py` makes a frame from what the trace told
until a moment; `svg.py` and `text.py` draw it. Neither half looks past the frame.

Units: times in seconds since the run began; offsets as Kafka counts them (an end is the next offset to be written).
`None` always means "the trace does not tell" and is drawn as "?"; it is never the same as 0 or "none".

Invariants
  I-FRAME-1  a frame is a value: equal frames, equal pictures, byte for byte
  a renderer computes layout, never facts: every number and word on the picture stands in the frame
"""
from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """A thing's state, from good to bad; each has a colour and a shape of its own."""

    GOOD = "good"
    WAIT = "wait"        # held up, and it will resolve by itself or by a timer
    BAD = "bad"          # something is refused, unavailable or lost
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sentence:
    """The sentence above the picture: what the cluster waits for or lacks now, with the numbers."""

    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One record of a lane. `readable`: below the high watermark. `epoch`: the leader epoch it was written in. `aborted`: its
    transaction was, so that read_committed passes over it."""

    offset: int
    epoch: int | None
    readable: bool | None
    acked: bool = False      # a producer was told that this very record is stored
    aborted: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets [start, end) drawn as one box: what is too much or too old for cells."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Ghost:
    """Records that were here and were cut off: offsets [start, end) of `epoch`; `acked` of them had been acknowledged."""

    start: int
    end: int
    epoch: int | None
    acked: int
    t: float


@dataclass(frozen=True, slots=True)
class Lane:
    """One replica of the chosen partition."""

    broker: int
    role: str                      # "leader", "follower", "unknown"
    process: str                   # "running", "killed", "stopped", "paused", "cut", "held", "slow", "starting", "unknown"
    cut_from: tuple[int, ...]      # brokers it cannot hear; 0 stands for the clients
    epoch: int | None              # the leader epoch it knows
    believes_leader: bool          # it acts as a leader; two may, for a while
    in_sync: bool | None
    behind_for: float | None       # seconds since it was last caught up (leader's judgement); None: unknown or leader
    lag_limit: float | None        # replica.lag.time.max.ms in seconds
    next_check: float | None       # seconds until the leader checks it again
    start: int | None              # log start offset
    high_watermark: int | None     # as this replica knows it
    end: int | None                # log end offset
    cells: tuple[Cell, ...]
    folded: tuple[Span, ...]
    ghosts: tuple[Ghost, ...]
    rate: float | None             # records a second appended over the last second


@dataclass(frozen=True, slots=True)
class EpochSpan:
    """The offsets [start, end) that one leader epoch wrote; `leader` is the broker that led then."""

    epoch: int
    start: int
    end: int
    leader: int | None


@dataclass(frozen=True, slots=True)
class Finger:
    """A place on the offset axis: a consumer's position or a group's committed offset."""

    who: str
    kind: str                      # "position" or "committed"
    offset: int


@dataclass(frozen=True, slots=True)
class ShownBatch:
    """A micro-batch of a Spark query: it reads the offsets [start, end). `done`: its commit is in the checkpoint."""

    number: int
    start: int | None
    end: int
    done: bool


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """A record of the chosen partition in a query's sink: how many times it was written, and how many rows it has."""

    offset: int
    times: int
    rows: int


@dataclass(frozen=True, slots=True)
class ShownTask:
    """One task of Spark: it reads the offsets [start, end) of one partition for a micro-batch. `start` None: not known."""

    batch: int
    partition: str                 # "clicks-0"
    start: int | None
    end: int
    done: bool


@dataclass(frozen=True, slots=True)
class ShownQuery:
    """A watched Spark query, as its checkpoint has it; `watermark` in milliseconds of event time, 0 if there is none.

    `batches` are of the chosen partition, `tasks` of all. `running`, `sink` and `verdict` (counter, number) are known only where
    the sink's writer tells of them.
    """

    name: str
    planned: int | None
    done: int | None
    watermark: int
    batches: tuple[ShownBatch, ...]
    running: bool | None = None
    sink: tuple[ShownRecord, ...] = ()
    verdict: tuple[tuple[str, int | str], ...] = ()
    tasks: tuple[ShownTask, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownTransaction:
    """The records that one producer wrote between two decisions: [start, marker), and the marker at that offset; None:
    still open."""

    producer: int
    start: int
    marker: int | None = None
    committed: bool = False


@dataclass(frozen=True, slots=True)
class ShownPartition:
    """The chosen partition in full; lanes leader first, in-sync followers next, the rest sunk below."""

    topic: str
    index: int
    leader: int | None             # None: nobody leads (or nobody knows)
    epoch: int | None
    isr: tuple[int, ...] | None
    min_isr: int | None
    replication_factor: int | None
    high_watermark: int | None
    log_end: int | None
    log_start: int | None
    last_stable: int | None        # below it transactions are decided; None: no open transaction told of
    lanes: tuple[Lane, ...]
    epochs: tuple[EpochSpan, ...]
    fingers: tuple[Finger, ...]
    queries: tuple[ShownQuery, ...] = ()
    transactions: tuple[ShownTransaction, ...] = ()
    aborted: tuple[Span, ...] = ()  # of the records in the log that counts

    @property
    def committed_end(self) -> int | None:
        """Return where read_committed stops; read_uncommitted stops at the high watermark."""
        ends = [end for end in (self.high_watermark, self.last_stable) if end is not None]
        return min(ends) if self.high_watermark is not None else None


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """One partition in the strip of small multiples."""

    name: str                      # "flights-2"
    leader: int | None
    epoch: int | None
    isr: tuple[int, ...] | None
    replicas: tuple[int, ...] | None
    high_watermark: int | None
    log_end: int | None
    lag: int | None                # of the group that is furthest behind
    level: Level


@dataclass(frozen=True, slots=True)
class ShownProducer:
    """The counts of one watched producer: sent = acked + failed + unknown + waiting."""

    name: str
    sent: int
    acked: int
    failed: int
    unknown: int                   # answered by a timeout or a lost connection: written or not, it cannot know
    waiting: int
    last_latency: float | None     # seconds from send to acknowledgement
    oldest_wait: float | None      # seconds that the oldest unanswered record waits
    last_error: str | None
    acks: int | None = None        # -1 is "all"
    since_sent: float | None = None  # seconds since it sent something


@dataclass(frozen=True, slots=True)
class ShownProgress:
    """A group on one partition. `committed` None is "?": it has no commit, which is not 0. lag = high watermark - committed."""

    partition: str
    member: str | None
    position: int | None
    committed: int | None
    lag: int | None
    rate: int = 0                  # records that were handed out over the last second


@dataclass(frozen=True, slots=True)
class ShownMember:
    """A consumer whose process the trace tells of. `process`: "running", "killed", "died" or "paused", since `since` seconds."""

    name: str
    process: str
    since: float


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """A group. `members` are those that its coordinator counts; `processes` may be dead ones that it counts no more, or still."""

    name: str
    state: str | None
    generation: int | None
    members: tuple[str, ...]
    progress: tuple[ShownProgress, ...]
    processes: tuple[ShownMember, ...] = ()

    @property
    def assignment(self) -> dict[str, list[ShownProgress]]:
        """Return the partitions that each member reads, by member; an idle member has none."""
        return {member: [p for p in self.progress if p.member == member] for member in sorted(self.members)}

    def process(self, member: str | None) -> str:
        """Return what a member's process does; "running" where nobody tells otherwise."""
        return next((each.process for each in self.processes if each.name == member), "running")


@dataclass(frozen=True, slots=True)
class ShownVoter:
    """One controller. `role`: leader, candidate, prospective, follower, ... in `epoch`, as it said last; None: its process is
    gone, or it has said nothing. `vote`: for whom it voted in the quorum's epoch; None: for nobody, as far as is told."""

    id: int
    process: str                   # as Lane.process
    role: str | None
    epoch: int | None
    vote: int | None
    log_end: int | None


@dataclass(frozen=True, slots=True)
class ShownQuorum:
    """The controllers; the metadata log is the partition `__cluster_metadata-0`, which may be chosen like any other."""

    voters: tuple[int, ...] | None
    active: int | None
    epoch: int | None              # the newest that any of them is in; `active` may be None in it
    alive: tuple[int, ...]
    fenced: tuple[int, ...]        # brokers that the controller counts as dead
    log_end: int | None
    high_watermark: int | None
    each: tuple[ShownVoter, ...] = ()


@dataclass(frozen=True, slots=True)
class Ledger:
    """The truth of every demo, over the whole run. None: nobody told (no watched client)."""

    acknowledged: int | None
    readable: int | None           # acknowledged and now below the high watermark
    delivered: int | None          # handed out by consumers, each place once
    unknown: int | None
    lost: int | None               # acknowledged, and not in the log of the leader that there is now
    duplicate: int | None          # handed out again to the same group; what is stored twice no trace tells apart
    reordered: int | None
    committed: int | None = None   # readable at read_committed: below the last stable offset, and not aborted


class MomentKind(StrEnum):
    """The kinds of moments that one may jump to."""

    FAULT = "fault"
    ELECTION = "election"
    ISR = "isr"
    STALL = "stall"                # the high watermark stands while the log grows
    LOSS = "loss"
    REBALANCE = "rebalance"


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment worth looking at."""

    t: float
    kind: MomentKind
    text: str                      # "broker 2 killed"
    level: Level


@dataclass(frozen=True, slots=True)
class ShownBroker:
    """One process of the cluster, as the control bar and the head of the picture show it."""

    id: int
    process: str                   # as Lane.process
    leads: int | None              # partitions it leads
    controller: bool               # it is the active controller


@dataclass(frozen=True, slots=True)
class ShownFlow:
    """Traffic between two ends (0: the clients): records a second over the last second, and `under_way`, those that the
    source has and the target does not have yet (of the chosen partition; of clients: not answered yet).

    `broken` if a fault holds it.
    """

    source: int
    target: int
    what: str                      # "produce", "fetch"
    rate: float
    broken: bool
    under_way: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture."""

    t: float
    begin: float
    end: float                     # the end of what is known; `t == end` and `live` means "now"
    live: bool
    engine: str
    sentence: Sentence
    brokers: tuple[ShownBroker, ...]
    rows: tuple[PartitionRow, ...]
    chosen: ShownPartition | None
    flows: tuple[ShownFlow, ...]
    producers: tuple[ShownProducer, ...]
    groups: tuple[ShownGroup, ...]
    quorum: ShownQuorum
    ledger: Ledger
    marks: tuple[Mark, ...]
    hidden: frozenset[str] = frozenset()  # signs that this picture does not have (signs.py)
    covered: str = ""                     # what uncovers the ledger; "" if it is open

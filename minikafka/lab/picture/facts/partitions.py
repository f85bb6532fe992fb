"""One partition as the trace tells it: the replicas, who leads, who is in sync, who is behind and since when.

Owns: the replicas of a partition and what leader and controller said about it.
Invariants
  I-PARTITION-1  the leader is the broker named in the highest leader epoch so far; an event of an older epoch changes nothing
  I-PARTITION-2  a follower is behind since the leader last saw it at its end: the leader's own figure where it told one,
                 else the moment at which the first record that the follower lacks was written
"""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from minikafka.lab.picture.facts.logs import LogFacts
from minikafka.lab.picture.facts.transactions import TransactionRecords
from minikafka.lab.picture.frame import ShownTransaction

NOBODY = -1
STEP = 0.1             # seconds between two remembered ends of a leader's log
REMEMBERED = 300       # of them; a follower further behind than that has been out of the ISR for long


@dataclass(slots=True)
class ReplicaFacts:
    """The replica of the partition on one broker. `epoch`, `leader`: as this broker knows them; None before it said."""

    log: LogFacts = field(default_factory=LogFacts)
    role: str = "unknown"
    epoch: int | None = None
    leader: int | None = None
    polled: bool = False

    def copy(self) -> ReplicaFacts:
        return ReplicaFacts(self.log.copy(), self.role, self.epoch, self.leader, self.polled)


@dataclass(frozen=True, slots=True)
class Behind:
    """The leader's word on a follower. `since`: when it was last caught up; None: it is caught up."""

    since: float | None
    check: float | None                                # when the leader checks its followers next
    every: float | None                                # seconds between two looks


@dataclass(slots=True)
class TopicFacts:
    """Settings of one partition's topic that the picture shows; None: not told."""

    min_isr: int | None = None
    unclean: bool | None = None


@dataclass(slots=True)
class PartitionFacts:
    """All that is known of one partition. `leader` None: not told; -1: nobody leads."""

    name: str
    replicas: dict[int, ReplicaFacts] = field(default_factory=dict)
    assigned: tuple[int, ...] | None = None            # the replicas that the controller wants
    leader: int | None = None
    epoch: int = NOBODY
    leader_since: float | None = None
    led_by: dict[int, int] = field(default_factory=dict)      # leader of each epoch
    isr: tuple[int, ...] | None = None
    isr_version: tuple[int, int] = (NOBODY, NOBODY)
    elr: tuple[int, ...] = ()
    settings: TopicFacts = field(default_factory=TopicFacts)
    behind: dict[int, Behind] = field(default_factory=dict)
    ends: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))    # (t, offset) the leader wrote
    stalled: float | None = None                       # since when the high watermark stands below the log end
    births: dict[int | None, tuple[float, float, int, int]] = field(default_factory=dict)
    transactions: tuple[ShownTransaction, ...] = ()         # the leader's (transactions.py)
    written: tuple[TransactionRecords, ...] = ()            # in its transactions

    def copy(self) -> PartitionFacts:
        settings = TopicFacts(self.settings.min_isr, self.settings.unclean)
        return replace(self, replicas={b: r.copy() for b, r in self.replicas.items()}, led_by=self.led_by.copy(),
                       settings=settings, behind=self.behind.copy(), ends=self.ends.copy(), births=self.births.copy())

    # --- names ----------------------------------------------------------------------------------------------------

    @property
    def topic(self) -> str:
        return self.name.rpartition("-")[0]

    @property
    def index(self) -> int:
        return int(self.name.rpartition("-")[2])

    @property
    def internal(self) -> bool:
        return self.name.startswith("__")

    # --- who ------------------------------------------------------------------------------------------------------

    def replica(self, broker: int) -> ReplicaFacts:
        if broker not in self.replicas:
            self.replicas[broker] = ReplicaFacts()
        return self.replicas[broker]

    def led(self, leader: int, epoch: int, t: float) -> None:
        """Take over the leader of an epoch, as an event names it (I-PARTITION-1)."""
        if epoch < self.epoch or epoch == self.epoch and leader in (self.leader, NOBODY):
            return
        self.leader, self.epoch, self.leader_since = leader, epoch, t
        if leader >= 0:
            self.led_by[epoch] = leader
            self.behind.clear()
            self.ends.clear()

    @property
    def last_leader(self) -> int | None:
        """Return the broker that leads, or that led last; None if none is known."""
        if self.leader is not None and self.leader >= 0:
            return self.leader
        return self.led_by[max(self.led_by)] if self.led_by else None

    @property
    def reference(self) -> LogFacts | None:
        """Return the log that counts, which is that of the present leader, or of the last one; None if there is none."""
        leader = self.last_leader
        return self.replicas[leader].log if leader in self.replicas else None

    def in_sync(self, isr: tuple[int, ...], epoch: int, version: int) -> None:
        """Take over the ISR of a leader epoch and partition epoch; an older one changes nothing."""
        if (epoch, version) >= self.isr_version:
            self.isr_version, self.isr = (epoch, version), isr

    # --- offsets --------------------------------------------------------------------------------------------------

    @property
    def high_watermark(self) -> int | None:
        log = self.reference
        return log.high_watermark if log is not None else None

    @property
    def log_end(self) -> int | None:
        log = self.reference
        return log.end if log is not None else None

    def appended(self, broker: int, epoch: int | None, base: int, end: int, t: float) -> None:
        """Take note that a replica wrote [base, end)."""
        replica = self.replica(broker)
        replica.log.append(epoch, base, end)
        if replica.role == "leader" and replica.epoch == epoch:
            first, _, low, high = self.births.get(epoch, (t, t, base, end))
            self.births[epoch] = (first, t, min(low, base), max(high, end))
            if broker == self.leader:
                self._remember(t, base)
                self._watch_stall(t)

    def _remember(self, t: float, base: int) -> None:
        if not self.ends or t - self.ends[-1][0] >= STEP:
            self.ends.append((t, base))

    def _watch_stall(self, t: float) -> None:
        end, mark = self.log_end, self.high_watermark
        if end is None or mark is None or mark >= end:
            self.stalled = None
        elif self.stalled is None:
            self.stalled = t

    def moved(self, broker: int, high_watermark: int, last_stable: int | None, t: float) -> None:
        """Take over a replica's new high watermark and last stable offset."""
        log = self.replica(broker).log
        log.high_watermark, log.last_stable = high_watermark, last_stable
        if broker == self.last_leader:
            end = self.log_end
            self.stalled = None if end is None or high_watermark >= end else t

    def born_in(self, offset: int, sent: float, acked: float) -> int | None:
        """Return the epoch of the record that was written at `offset` between two moments: the latest that fits."""
        fits = [epoch for epoch, (first, last, low, high) in self.births.items()
                if low <= offset < high and first <= acked and last >= sent]
        if fits:
            return max(fits, key=lambda epoch: -1 if epoch is None else epoch)
        log = self.reference
        return log.epoch_at(offset) if log is not None else None

    def behind_since(self, follower: int) -> float | None:
        """Return when a follower was last caught up (I-PARTITION-2); None: it is caught up now, or nothing is known."""
        told = self.behind.get(follower)
        if told is not None and told.since is not None:        # even if it has all: no fetch has said so to the leader
            return told.since
        end, replica = self.log_end, self.replicas.get(follower)
        if replica is None or replica.log.end is None or end is None or replica.log.end >= end:
            return None
        at = replica.log.end
        earlier = [t for t, base in self.ends if base <= at]
        return earlier[-1] if earlier else self.ends[0][0] if self.ends else self.leader_since

"""One partition's replica, as leader or follower: log end offset, high watermark, ISR, leader epochs.

A pure state machine. Its methods take an event and `now` (seconds) and return effects, which the shell
(`replication/shell/partition.py`) carries out from left to right. A refusal raises KafkaError before anything has changed. The
log is read through `LogView` and changed only by effects.

Owns: the high watermark, the ISR and its proposal, the leader epoch and partition epoch this broker acts on.
Invariants
  I-HW-1    high watermark <= log end offset; each is the offset after the last record that it covers (rule 1).
  I-HW-2    the leader's high watermark never goes back, and passes no member of the maximal ISR (rule 2).
  I-HW-3    the high watermark stands still while the ISR is smaller than min(min.insync.replicas, replication factor) (rule 3).
  I-HW-4    only a fetch in the leader's own epoch moves a follower's log end offset (rule 4).
  I-LEAD-1  a new leader marks (epoch, log end offset) in its epoch cache before it appends anything (rule 5).
  I-LEAD-2  a leader never truncates; a follower truncates by epochs, never to its high watermark (rules 7, 21, 24).
  I-LEAD-3  who follows has neither an ISR nor followers of its own.
  I-ISR-4   a follower joins only if it has reached both the high watermark and the start of this epoch, and its fetch
            came from the incarnation that the controller knows to be alive (rule 15).
What Kafka does differently: locks instead of a single thread; the same decisions spread over kafka.cluster.Partition,
Replica and AbstractFetcherThread. Sources: KIP-101, KIP-279, KIP-320, KIP-497, KIP-903, KIP-966.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minikafka.broker.replication.effects import (
    AssignEpoch,
    ClusterView,
    Effect,
    EpochEnd,
    Follow,
    HighWatermark,
    IsrCommitted,
    Lead,
    LogEndMoved,
    LogView,
    PartitionView,
    ProposeIsr,
    StartAt,
    Truncate,
)
from minikafka.broker.replication.isr import LONG_AGO, Isr, ProposedIsr, RemoteReplica
from minikafka.protocol.errors import Err, KafkaError

NO_BROKER = -1
NO_EPOCH = -1
UNDEFINED = -1

# Refusals that say that nothing was applied: only after these may a leader return to its committed ISR (rule 17).
REVERTIBLE = frozenset({Err.INELIGIBLE_REPLICA, Err.OPERATION_NOT_ATTEMPTED})
# After these an earlier try may have been applied: the proposal stays pending until metadata tells (rule 17).
AWAIT_METADATA = frozenset({Err.UNKNOWN_TOPIC_OR_PARTITION, Err.UNKNOWN_TOPIC_ID, Err.FENCED_LEADER_EPOCH,
                            Err.INVALID_UPDATE_VERSION, Err.INVALID_REQUEST, Err.NEW_LEADER_ELECTED})


@dataclass
class Replica:
    """The replica of one partition on broker `node_id`. `max_lag`: replica.lag.time.max.ms in seconds."""

    node_id: int
    log: LogView
    cluster: ClusterView
    max_lag: float
    min_insync: int = 1
    high_watermark: int = 0
    leader: int = NO_BROKER
    leader_epoch: int = NO_EPOCH
    partition_epoch: int = -1
    epoch_start: int | None = None                     # the leader's log end offset when its epoch began
    replicas: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    isr: Isr = field(default_factory=Isr)
    followers: dict[int, RemoteReplica] = field(default_factory=dict)

    def check(self) -> None:
        """Assert what holds between two events. The shell calls it when the effects of an event are carried out."""
        log, proposal = self.log, self.isr.proposal
        assert log.start_offset <= self.high_watermark <= log.end_offset, (
            f"I-HW-1 high watermark {self.high_watermark} of a log from {log.start_offset} to {log.end_offset}")
        if not self.is_leader:
            assert not self.followers and self.isr == Isr() and self.epoch_start is None, f"I-LEAD-3 it follows with {self.isr}"
            return
        assert log.epochs.latest == self.leader_epoch, f"I-LEAD-1 leads {self.leader_epoch}, its log ends in {log.epochs.latest}"
        assert self.epoch_start is not None and self.epoch_start <= log.end_offset, f"I-LEAD-2 cut below {self.epoch_start}"
        assert proposal is None or (proposal.leader_epoch, proposal.partition_epoch) == (
            self.leader_epoch, self.partition_epoch), f"I-ISR-3 {proposal} is under way in {self.partition_epoch}"

    # --- roles ----------------------------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        return self.leader == self.node_id

    def on_metadata(self, state: PartitionView, now: float) -> list[Effect]:
        """Apply metadata of this partition. Metadata whose partition epoch is not higher than ours is ignored (rule 28)."""
        if state.partition_epoch <= self.partition_epoch:
            return []
        new_epoch = state.leader_epoch > self.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.leader, self.leader_epoch = state.leader, max(state.leader_epoch, self.leader_epoch)
        self.replicas, self.adding = tuple(state.replicas), tuple(state.adding)
        if self.is_leader:
            return self._become_leader(tuple(state.isr), new_epoch, now)
        return self._become_follower(new_epoch)

    def _become_leader(self, isr: tuple[int, ...], new_epoch: bool, now: float) -> list[Effect]:
        effects: list[Effect] = []
        if new_epoch:
            # Every follower starts from nothing: offsets fetched in another epoch prove nothing about this one.
            self.followers = {}
            self.epoch_start = self.log.end_offset
            effects += [AssignEpoch(self.leader_epoch, self.epoch_start), Lead(self.leader_epoch, self.epoch_start)]
        others = [r for r in self.replicas if r != self.node_id]
        self.followers = {r: self.followers.get(r) or RemoteReplica(now if r in isr else LONG_AGO) for r in others}
        ours = self.isr.proposal            # may have been granted: this metadata came before the response (rule 18)
        effects += self._commit_isr(isr, ours.why if ours is not None and {*ours.members} == {*isr} else "metadata")
        return effects + self._advance(now)

    def resign(self) -> None:
        """Stop leading: this broker has given the partition up."""
        self.leader = NO_BROKER
        self._become_follower(new_epoch=False)

    def _become_follower(self, new_epoch: bool) -> list[Effect]:
        self.followers, self.isr, self.epoch_start = {}, Isr(), None
        return [Follow(self.leader, self.leader_epoch)] if new_epoch else []

    def _commit_isr(self, isr: tuple[int, ...], why: str) -> list[Effect]:
        self.isr = Isr(isr)
        return [IsrCommitted(isr, self.partition_epoch, why)]

    # --- fencing --------------------------------------------------------------------------------------------------

    def check_epoch(self, epoch: int) -> None:
        """Refuse a request that names another leader epoch than ours; -1 names none (rule 22)."""
        if epoch == NO_EPOCH or epoch == self.leader_epoch:
            return
        raise KafkaError(Err.FENCED_LEADER_EPOCH if epoch < self.leader_epoch else Err.UNKNOWN_LEADER_EPOCH)

    def check_leader(self, epoch: int = NO_EPOCH) -> None:
        """Refuse a request that only the leader may serve: another broker leads, or the request names another epoch."""
        self.check_epoch(epoch)
        if not self.is_leader:
            raise KafkaError(Err.NOT_LEADER_OR_FOLLOWER)

    # --- produce --------------------------------------------------------------------------------------------------

    @property
    def effective_min_insync(self) -> int:
        """Return min.insync.replicas, or the number of replicas if that is smaller; replicas being added do not count."""
        return min(self.min_insync, len(self.replicas) - len(self.adding))

    def check_append(self, acks: int) -> None:
        """Refuse an append before anything is written: this broker does not lead, or the ISR is too small for acks=all
        (rule 8)."""
        self.check_leader()
        if acks == -1 and len(self.isr.committed) < self.effective_min_insync:
            raise KafkaError(Err.NOT_ENOUGH_REPLICAS)

    def on_appended(self, now: float) -> list[Effect]:
        """Take note that the leader's log has grown: it commits at once if it is alone in the ISR. Returns one of two effects,
        never both: each of them wakes everything that waits for this partition."""
        return self._advance(now) or [LogEndMoved(self.log.end_offset)]

    def ack(self, required: int) -> Err | None:
        """Return the error code for an acks=all append that ends at offset `required`; None while it must wait (rule 8)."""
        if not self.is_leader:
            return Err.NOT_LEADER_OR_FOLLOWER
        if self.high_watermark < required:
            return None
        enough = len(self.isr.maximal) >= self.effective_min_insync
        return Err.NONE if enough else Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    # --- fetch, at the leader -------------------------------------------------------------------------------------

    def check_follower(self, replica: int, epoch: int) -> None:
        """Refuse a fetch by a broker that is no replica in our metadata; its own metadata may be newer than ours."""
        if replica not in self.followers:
            raise KafkaError(Err.NOT_LEADER_OR_FOLLOWER if epoch == NO_EPOCH else Err.UNKNOWN_LEADER_EPOCH)

    def divergence(self, offset: int, last_epoch: int) -> EpochEnd | None:
        """Return where the log of a follower, whose last record before `offset` has `last_epoch`, leaves ours (rule 21); None if
        our log contains it."""
        log = self.log
        if last_epoch == NO_EPOCH or last_epoch == log.epochs.latest and log.start_offset <= offset <= log.end_offset:
            return None
        end = EpochEnd(*self.log.epochs.end_offset_for(last_epoch, self.log.end_offset))
        if end.epoch == UNDEFINED or end.end_offset == UNDEFINED or offset < self.log.start_offset:
            raise KafkaError(Err.OFFSET_OUT_OF_RANGE)
        return end if end.epoch < last_epoch or end.end_offset < offset else None

    def on_follower_fetch(self, replica: int, broker_epoch: int, epoch: int, offset: int, log_start: int,
                          now: float) -> list[Effect]:
        """Take note that a follower fetched from `offset`, so it has every record below. The fetch was checked before."""
        self._check_broker_epoch(replica, broker_epoch)
        if epoch != self.leader_epoch:
            return []                                   # the fetch is served, but moves nothing (I-HW-4)
        follower = self.followers[replica]
        before = follower.log_end_offset
        follower.fetched(offset, log_start, broker_epoch, self.log.end_offset, now)
        effects = self._maybe_expand(replica)
        return effects + self._advance(now) if before != offset else effects

    def _check_broker_epoch(self, replica: int, broker_epoch: int) -> None:
        known = self.cluster.brokers.get(replica)
        if broker_epoch != -1 and known is not None and broker_epoch < known.epoch:
            raise KafkaError(Err.NOT_LEADER_OR_FOLLOWER)  # a fetch of a former incarnation (KIP-903)

    def check_deletion(self, before: int) -> None:
        """Refuse to delete records that are not committed (rule 11)."""
        if not 0 <= before <= self.high_watermark:
            raise KafkaError(Err.OFFSET_OUT_OF_RANGE)

    @property
    def low_watermark(self) -> int:
        """Return the first offset that a live replica may still have (for DeleteRecords); -1 while one has not fetched yet."""
        starts = [f.log_start_offset for r, f in self.followers.items()
                  if (known := self.cluster.brokers.get(r)) is not None and known.active]
        return min([self.log.start_offset, *starts])

    # --- high watermark -------------------------------------------------------------------------------------------

    def _advance(self, now: float) -> list[Effect]:
        """Raise the high watermark to the smallest end of the maximal ISR (rule 2), unless the ISR is too small (rule 3)."""
        if not self.is_leader or len(self.isr.committed) < self.effective_min_insync:
            return []
        end = self.log.end_offset
        counted = [f.log_end_offset for r, f in self.followers.items() if self._counts(r, f, end, now)]
        offset = min([end, *counted])
        if offset <= self.high_watermark:
            return []
        behind = [r for r in self.isr.maximal if r in self.followers and self.followers[r].log_end_offset < offset]
        assert not behind and offset <= end, f"I-HW-2 the high watermark passes {behind or end} to {offset}"
        assert len(self.isr.committed) >= self.effective_min_insync, f"I-HW-3 it rises with {self.isr}"
        self.high_watermark = offset
        return [HighWatermark(offset)]

    def _counts(self, replica: int, follower: RemoteReplica, end: int, now: float) -> bool:
        # A follower that keeps up outside the ISR counts too: otherwise it could never catch up with a leader that is alone in
        # the ISR, whose high watermark would always be ahead of it.
        return replica in self.isr.maximal or (
            follower.caught_up(end, now, self.max_lag) and self._eligible(replica, follower))

    @property
    def latest_known(self) -> bool:
        """Return False while a new leader's high watermark may be behind one that a client has seen already (rule 6)."""
        return self.epoch_start is None or self.high_watermark >= self.epoch_start

    # --- ISR ------------------------------------------------------------------------------------------------------

    def _eligible(self, replica: int, follower: RemoteReplica) -> bool:
        broker = self.cluster.brokers.get(replica)
        return broker is not None and broker.active and follower.broker_epoch in (-1, broker.epoch)

    def _maybe_expand(self, replica: int) -> list[Effect]:
        follower = self.followers[replica]
        offset = follower.log_end_offset
        assert self.epoch_start is not None, "a leader knows where its epoch starts"
        if (self.isr.proposal is not None or replica in self.isr.committed or offset < self.high_watermark
                or offset < self.epoch_start or not self._eligible(replica, follower)):
            return []
        return self._propose((*self.isr.committed, replica), f"{replica} caught up")

    def _shrink(self, now: float) -> list[Effect]:
        if self.isr.proposal is not None:
            return []
        late = [r for r in self.isr.committed if r != self.node_id and not self._in_sync(r, now)]
        if not late:
            return []
        kept = tuple(r for r in self.isr.committed if r not in late)
        return self._propose(kept, f"{', '.join(map(str, late))} fell behind")

    def _in_sync(self, replica: int, now: float) -> bool:
        follower = self.followers.get(replica)
        return follower is not None and follower.caught_up(self.log.end_offset, now, self.max_lag)

    def _propose(self, members: tuple[int, ...], why: str) -> list[Effect]:
        assert self.isr.proposal is None, f"I-ISR-3 {members} is proposed beside {self.isr.proposal}"
        least, joining = max(self.high_watermark, self.epoch_start or 0), {*members} - {*self.isr.committed}
        assert all(self._eligible(m, f) and f.log_end_offset >= least for m, f in self.followers.items() if m in joining), (
            f"I-ISR-4 {joining} may not join at {least}: {self.followers}")
        epochs = tuple((m, self._known_epoch(m)) for m in members)
        self.isr.proposal = ProposedIsr(epochs, self.leader_epoch, self.partition_epoch, why)
        return [ProposeIsr(self.isr.proposal)]

    def _known_epoch(self, member: int) -> int:
        """Return the broker epoch to propose for `member`; -1 if it has not fetched yet. If it died meanwhile, the partition
        epoch has grown, and the controller refuses the proposal (rule 16)."""
        if member == self.node_id:
            own = self.cluster.brokers.get(member)
            return own.epoch if own else -1
        follower = self.followers.get(member)
        return -1 if follower is None or follower.broker_epoch is None else follower.broker_epoch

    def on_alter_response(self, proposal: ProposedIsr, error: Err, now: float, isr: tuple[int, ...] = (),
                          leader_epoch: int = NO_EPOCH, partition_epoch: int = -1) -> list[Effect]:
        """Take the response to `proposal`. What is refused now may have been granted at an earlier try (rule 17), and the
        metadata with its outcome may have come before the response (rule 18)."""
        if self.isr.proposal is not proposal:
            return []                                   # its outcome has come with the metadata
        if error == Err.NONE:
            if leader_epoch != self.leader_epoch or partition_epoch < self.partition_epoch:
                return []
            self.partition_epoch = partition_epoch
            return [*self._commit_isr(tuple(isr), proposal.why), *self._advance(now)]
        if error in REVERTIBLE:
            self.isr.proposal = None
            return []
        return [] if error in AWAIT_METADATA else [ProposeIsr(proposal)]

    # --- time -----------------------------------------------------------------------------------------------------

    def on_tick(self, now: float) -> list[Effect]:
        """Propose to remove members that fell behind; no longer wait for followers outside the ISR that do not keep up."""
        return [*self._shrink(now), *self._advance(now)] if self.is_leader else []

    def next_deadline(self) -> float | None:
        """Return the first moment at which `on_tick` could find that a member of the ISR fell behind; None without one."""
        times = [f.last_caught_up_time + self.max_lag for r, f in self.followers.items() if r in self.isr.committed]
        return min(times, default=None)

    # --- follower -------------------------------------------------------------------------------------------------

    def on_fetched(self, leader_high_watermark: int) -> list[Effect]:
        """Take the leader's high watermark from a fetch whose records are appended, as far as our log reaches (rule 7)."""
        return self._follow_high_watermark(min(leader_high_watermark, self.log.end_offset))

    def _follow_high_watermark(self, offset: int) -> list[Effect]:
        offset = max(offset, self.log.start_offset)
        if offset == self.high_watermark:
            return []
        self.high_watermark = offset
        return [HighWatermark(offset)]

    def on_diverging(self, leader: EpochEnd) -> list[Effect]:
        """Cut the log back to where it leaves the leader's, which is where its epoch `leader.epoch` ends (rule 21)."""
        end = self.log.end_offset
        own_epoch, own_end = self.log.epochs.end_offset_for(leader.epoch, end)
        if own_end == UNDEFINED:
            offset = min(leader.end_offset, end)
        elif own_epoch != leader.epoch:
            offset = min(own_end, end)                  # we never had that epoch: go back to one we did have
        else:
            offset = min(own_end, leader.end_offset, end)
        return self._cut(offset)

    def on_out_of_range(self, leader_start: int, leader_end: int) -> list[Effect]:
        """Begin at the leader's start if it is beyond our end, or cut to the leader's end (rule 25). Our end is not in the
        leader's log, which spans [leader_start, leader_end]."""
        if leader_start > self.log.end_offset or leader_end < self.log.start_offset:
            self.high_watermark = leader_start
            return [StartAt(leader_start), HighWatermark(leader_start)]
        if leader_end < self.log.end_offset:
            return self._cut(leader_end)                # only after an unclean election
        return []

    def _cut(self, offset: int) -> list[Effect]:
        return [Truncate(max(offset, self.log.start_offset))]

    def on_truncated(self) -> list[Effect]:
        """Lower the high watermark to where the log ends now: within a batch the whole batch went (rules 1, 23)."""
        return self._follow_high_watermark(min(self.high_watermark, self.log.end_offset))

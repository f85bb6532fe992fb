"""What the rules of replication say of each answer and effect of one replica: a second opinion, out of its history.

    wanted = rules.on_follower_fetch(2, 10, 4, 7, 0, now)      what the replica must answer: effects, or the error
    rules.compare(replica)                                     whether it knows what it must know; raises RuleFallen

The judge has no watermark of a follower and no clock of its lag. It keeps every fetch that each follower made in this leader
epoch, and asks that history. Each method stands for the method of Replica with the same name.

Owns: the book of one replica. Source: rules 1 to 28; kafka.cluster.Partition, AbstractFetcherThread, RackAwareReplicaSelector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from minikafka.broker.replication.effects import (
    AssignEpoch,
    Effect,
    EpochEnd,
    Follow,
    HighWatermark,
    IsrCommitted,
    Lead,
    LogEndMoved,
    ProposeIsr,
    StartAt,
    Truncate,
)
from minikafka.broker.replication.isr import ProposedIsr
from minikafka.broker.replication.replica import Replica
from minikafka.proof.small_worlds.checks import same
from minikafka.proof.small_worlds.replication.lone_replica import NODE, CommittedPartition, FollowerBroker, ReplicaLog
from minikafka.protocol.errors import Err

NEVER = float("-inf")
ANY = -1                                                     # an epoch that a request does not name
TAKEN_BACK = (Err.INELIGIBLE_REPLICA, Err.OPERATION_NOT_ATTEMPTED)
METADATA_WILL_TELL = (Err.UNKNOWN_TOPIC_OR_PARTITION, Err.UNKNOWN_TOPIC_ID, Err.FENCED_LEADER_EPOCH,
                      Err.INVALID_UPDATE_VERSION, Err.INVALID_REQUEST, Err.NEW_LEADER_ELECTED)
Outcome = list[Effect] | Err


class FollowerFetch(NamedTuple):
    """A fetch that counts: when, from where, and where the leader's log ended then."""

    time: float
    offset: int
    log_start: int
    broker_epoch: int
    leader_end: int


@dataclass
class FollowerHistory:
    """All fetches of one follower in this leader epoch. `seated`: when it was found in the ISR, without a fetch."""

    seated: float
    fetches: list[FollowerFetch] = field(default_factory=list)

    @property
    def last(self) -> FollowerFetch:
        return self.fetches[-1] if self.fetches else FollowerFetch(NEVER, -1, -1, ANY, -1)

    @property
    def caught_up(self) -> float:
        """Return the last moment at which the follower is known to have had all that the leader had then (rule 13).

        It had so at a fetch if that fetch begins at the leader's end of that moment, or the next one does.
        """
        at_once = [one.time for one in self.fetches if one.offset >= one.leader_end]
        soon = [one.time for one, following in pairwise(self.fetches) if following.offset >= one.leader_end]
        return max([self.seated, *at_once, *soon])


class ReplicaRules:
    """The judge of one replica, from its start on."""

    def __init__(self, log: ReplicaLog, brokers: Mapping[int, FollowerBroker], max_lag: float, min_insync: int) -> None:
        self.log, self.brokers, self.max_lag, self.min_insync = log, brokers, max_lag, min_insync
        self.partition = CommittedPartition((), (), -1, -1, -1)  # as the replica must know it
        self.proposal: ProposedIsr | None = None
        self.followers: dict[int, FollowerHistory] = {}
        self.began: int | None = None                        # the log's end when this broker began to lead
        self.high = 0

    # --- what follows from the history --------------------------------------------------------------------------------

    @property
    def leads(self) -> bool:
        return self.partition.leader == NODE

    @property
    def least(self) -> int:
        """Return how many members an ISR must have; replicas that are being added do not count."""
        return min(self.min_insync, len([one for one in self.partition.replicas if one not in self.partition.adding]))

    @property
    def maximal(self) -> set[int]:
        """Return every broker that the controller may have in the ISR by now (rule 2)."""
        return {*self.partition.isr, *(self.proposal.members if self.proposal is not None else ())}

    def in_sync(self, follower: int, now: float) -> bool:
        """Return whether a follower is at the end, or was there not too long ago (rule 12)."""
        history = self.followers.get(follower)
        return history is not None and (
            history.last.offset == self.log.end_offset or history.caught_up >= now - self.max_lag)

    def may_join(self, follower: int) -> bool:
        """Return whether the incarnation that fetched last is alive, as far as the metadata knows (rule 15)."""
        broker, history = self.brokers.get(follower), self.followers[follower]
        return bool(history.fetches) and broker is not None and broker.active and (
            history.last.broker_epoch in (ANY, broker.epoch))

    def commits(self, now: float) -> list[Effect]:
        """Return the effect of the highest offset that all who count have reached, if it is a new one (rules 2, 3)."""
        if not self.leads or len(self.partition.isr) < self.least:
            return []
        count = [h for one, h in self.followers.items()
                 if one in self.maximal or self.in_sync(one, now) and self.may_join(one)]
        reached = [offset for offset in range(self.high + 1, self.log.end_offset + 1)
                   if all(history.last.offset >= offset for history in count)]
        self.high = max([self.high, *reached])
        return [HighWatermark(self.high)] if reached else []

    def proposes(self, members: Iterable[int]) -> list[Effect]:
        """Return the effect of a proposal; each member is named with the broker epoch that the leader knows of it."""
        fetched = {one: history.last.broker_epoch for one, history in self.followers.items()}
        if NODE in self.brokers:
            fetched[NODE] = self.brokers[NODE].epoch
        self.proposal = ProposedIsr(tuple((one, fetched.get(one, ANY)) for one in members), self.partition.leader_epoch,
                                    self.partition.partition_epoch, "")
        return [ProposeIsr(self.proposal)]

    # --- roles --------------------------------------------------------------------------------------------------------

    def on_metadata(self, state: CommittedPartition, now: float) -> Outcome:
        """Return what follows from metadata (rules 4, 5, 28)."""
        if state.partition_epoch <= self.partition.partition_epoch:
            return []
        new_epoch = state.leader_epoch != self.partition.leader_epoch
        granted, self.partition, self.proposal = self.proposal, state, None
        if new_epoch or not self.leads:
            self.followers, self.began = {}, None
        if not self.leads:
            return [Follow(state.leader, state.leader_epoch)] if new_epoch else []
        effects: list[Effect] = []
        if new_epoch:
            self.began = self.log.end_offset
            effects = [AssignEpoch(state.leader_epoch, self.began), Lead(state.leader_epoch, self.began)]
        self.followers = {one: self.followers.get(one, FollowerHistory(now if one in state.isr else NEVER))
                          for one in state.replicas if one != NODE}
        if granted is not None and sorted(granted.members) != sorted(state.isr):
            granted = None
        why = "metadata" if granted is None else granted.why
        return [*effects, IsrCommitted(state.isr, state.partition_epoch, why), *self.commits(now)]

    def check_epoch(self, epoch: int) -> Err | None:
        """Return the refusal of another leader epoch (rule 22)."""
        if epoch == ANY:
            return None
        older, newer = epoch < self.partition.leader_epoch, epoch > self.partition.leader_epoch
        return Err.FENCED_LEADER_EPOCH if older else Err.UNKNOWN_LEADER_EPOCH if newer else None

    def check_leader(self, epoch: int) -> Err | None:
        return self.check_epoch(epoch) or (None if self.leads else Err.NOT_LEADER_OR_FOLLOWER)

    # --- produce ------------------------------------------------------------------------------------------------------

    def check_append(self, acks: int) -> Err | None:
        """Return the refusal of an append (rule 8)."""
        if not self.leads:
            return Err.NOT_LEADER_OR_FOLLOWER
        return Err.NOT_ENOUGH_REPLICAS if acks == -1 and len(self.partition.isr) < self.least else None

    def on_appended(self, now: float) -> Outcome:
        return self.commits(now) or [LogEndMoved(self.log.end_offset)]

    def ack(self, required: int) -> Err | None:
        """Return the answer to acks=all, None while it waits (rule 8)."""
        if not self.leads:
            return Err.NOT_LEADER_OR_FOLLOWER
        if required > self.high:
            return None
        return Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND if len(self.maximal) < self.least else Err.NONE

    # --- fetch --------------------------------------------------------------------------------------------------------

    def check_follower(self, follower: int, epoch: int) -> Err | None:
        if follower in self.followers:
            return None
        return Err.NOT_LEADER_OR_FOLLOWER if epoch == ANY else Err.UNKNOWN_LEADER_EPOCH

    def divergence(self, offset: int, last_epoch: int) -> EpochEnd | Err | None:
        """Return where a log that ends at `offset` with `last_epoch` leaves this one (rules 20, 21)."""
        if last_epoch == ANY:
            return None
        known = self.log.epochs.entries
        if offset < self.log.start_offset or last_epoch > max((epoch for epoch, _ in known), default=-1):
            return Err.OFFSET_OUT_OF_RANGE
        end = min([self.log.end_offset, *(start for epoch, start in known if epoch > last_epoch)])
        shared = max((epoch for epoch, _ in known if epoch <= last_epoch), default=last_epoch)
        return None if shared == last_epoch and offset <= end else EpochEnd(shared, end)

    def on_follower_fetch(self, follower: int, broker_epoch: int, epoch: int, offset: int, log_start: int,
                          now: float) -> Outcome:
        """Return what follows from a fetch (rules 4, 14, 15)."""
        broker = self.brokers.get(follower)
        if broker is not None and broker_epoch in range(broker.epoch):
            return Err.NOT_LEADER_OR_FOLLOWER
        if epoch != self.partition.leader_epoch:
            return []
        history = self.followers[follower]
        moves = history.last.offset != offset
        history.fetches.append(FollowerFetch(now, offset, log_start, broker_epoch, self.log.end_offset))
        joins = self.proposal is None and follower not in self.partition.isr and self.may_join(follower) and (
            offset >= max(self.high, self.began or 0))
        effects = self.proposes((*self.partition.isr, follower)) if joins else []
        return effects + (self.commits(now) if moves else [])

    def preferred(self, offset: int, rack: str, racks: Mapping[int, str | None]) -> int | None:
        """Return the follower from which a consumer in `rack` should read (KIP-392)."""
        if not self.leads or not rack or racks.get(NODE) == rack:
            return None
        left = {one: history for one, history in self.followers.items() if one in self.partition.isr and racks.get(one) == rack
                and history.last.log_start <= offset <= history.last.offset}
        most = max((history.last.offset for history in left.values()), default=0)
        left = {one: history for one, history in left.items() if history.last.offset == most}
        latest = max((history.caught_up for history in left.values()), default=0)
        return max((one for one, history in left.items() if history.caught_up == latest), default=None)

    # --- ISR ----------------------------------------------------------------------------------------------------------

    def on_alter_response(self, proposal: ProposedIsr, error: Err, now: float, isr: tuple[int, ...], leader_epoch: int,
                          partition_epoch: int) -> Outcome:
        """Return what follows from the controller's verdict (rules 17, 18)."""
        if proposal is not self.proposal or error in METADATA_WILL_TELL:
            return []
        if error in TAKEN_BACK:
            self.proposal = None
            return []
        if error:
            return [ProposeIsr(proposal)]
        known = self.partition
        if leader_epoch != known.leader_epoch or partition_epoch < known.partition_epoch:
            return []
        self.partition = CommittedPartition(known.replicas, isr, NODE, leader_epoch, partition_epoch, known.adding)
        self.proposal = None
        return [IsrCommitted(isr, partition_epoch, proposal.why), *self.commits(now)]

    def on_tick(self, now: float) -> Outcome:
        """Return what time alone does: members fell behind (rules 12, 14), or are no longer waited for."""
        if not self.leads:
            return []
        kept = [one for one in self.partition.isr if one == NODE or self.in_sync(one, now)]
        shrinks = self.proposal is None and len(kept) < len(self.partition.isr)
        return (self.proposes(kept) if shrinks else []) + self.commits(now)

    # --- follower -----------------------------------------------------------------------------------------------------

    def follows(self, high: int) -> Outcome:
        """Return the effect of a high watermark, which is never outside of the log."""
        before, self.high = self.high, max(high, self.log.start_offset)
        return [HighWatermark(self.high)] if self.high != before else []

    def on_fetched(self, leader_high: int) -> Outcome:
        return self.follows(min(leader_high, self.log.end_offset))

    def on_truncated(self) -> Outcome:
        return self.follows(min(self.high, self.log.end_offset))

    def on_diverging(self, leader: EpochEnd) -> Outcome:
        """Return the cut: what stays is what the leader may have too (rule 21)."""
        ours = self.log.epochs.entries
        later = [start for epoch, start in ours if epoch > leader.epoch]
        stays = [*later, self.log.end_offset]
        if not later or not any(epoch < leader.epoch for epoch, _ in ours) or leader.epoch in dict(ours):
            stays.append(leader.end_offset)
        return [Truncate(max(min(stays), self.log.start_offset))]

    def on_out_of_range(self, leader_start: int, leader_end: int) -> Outcome:
        """Return what becomes of a log whose end the leader does not have (rule 25)."""
        start, end = self.log.start_offset, self.log.end_offset
        if end < leader_start or start > leader_end:
            self.high = leader_start
            return [StartAt(leader_start), HighWatermark(leader_start)]
        return [Truncate(leader_end)] if leader_end < end else []

    # --- what a replica must know -------------------------------------------------------------------------------------

    def compare(self, replica: Replica, now: float) -> None:
        """Compare what the replica knows and tells with the history."""
        known, high = self.partition, replica.high_watermark
        same("I-HW-2", "the high watermark", high, self.high)
        same("I-LEAD-1", "the role", (replica.leader, replica.leader_epoch, replica.partition_epoch, replica.epoch_start),
             (known.leader, known.leader_epoch, known.partition_epoch, self.began))
        same("I-ISR-2", "committed and maximal ISR", (replica.isr.committed, {*replica.isr.maximal}),
             (known.isr if self.leads else (), self.maximal if self.leads else set()))
        same("I-ISR-3", "the proposal under way", replica.isr.proposal, self.proposal)
        same("I-ISR-1", "the followers", {
            one: (f.log_end_offset, f.log_start_offset, f.last_caught_up_time) for one, f in replica.followers.items()}, {
            one: (h.last.offset, h.last.log_start, h.caught_up) for one, h in self.followers.items()})
        due = min((h.caught_up + self.max_lag for one, h in self.followers.items() if one in known.isr), default=None)
        same("I-ISR-1", "when a member may be late", replica.next_deadline(), due)
        known_to_all = self.began is None or not any(offset >= high for offset in range(self.began))
        same("I-LONEREPLICA-1", "whether the latest offset is known", replica.latest_known, known_to_all)
        live = [h for one, h in self.followers.items() if one in self.brokers and self.brokers[one].active]
        same("I-LONEREPLICA-1", "the low watermark", replica.low_watermark,
             min([self.log.start_offset, *(h.last.log_start for h in live)]))
